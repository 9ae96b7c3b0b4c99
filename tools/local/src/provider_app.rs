//! The app with which the simulated provider signs its webhooks. The console creates it, as an operator would.

use serde::Deserialize;

use crate::Problem;
use crate::console::Console;
use crate::stack_file::ProviderApp;

const APP: &str = "305550000000001";
const SECRET: &str = "demo-secret-of-305550000000001";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    app_id: String,
    verify_token: String,
}

pub(crate) async fn create(console: &Console) -> Result<ProviderApp, Problem> {
    let made: Created = console.run(&["provider", "create", "--app", APP, "--secret", SECRET]).await?;
    let Created { app_id, verify_token } = made;
    Ok(ProviderApp { app_id, app_secret: SECRET.to_owned(), verify_token })
}
