//! The app with which the simulated provider signs its webhooks. The console creates it, as an operator would.

use crate::Problem;
use crate::console::Console;
use crate::stack_file::{ProviderApp, text};

const APP: &str = "305550000000001";
const SECRET: &str = "demo-secret-of-305550000000001";

pub(crate) async fn create(console: &Console) -> Result<ProviderApp, Problem> {
    let made = console.run(&["provider", "create", "--app", APP, "--secret", SECRET]).await?;
    let verify_token = text(&made, "verifyToken");
    Ok(ProviderApp { app_id: APP.to_owned(), app_secret: SECRET.to_owned(), verify_token })
}
