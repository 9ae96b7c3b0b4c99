//! The `portal` function: reads settings once, then handles requests.

use lambda_http::Error;
use portal::Portal;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let portal = &Portal { capture_url: process.settings.required("CAPTURE_URL")? };
    edge::serve(|request| async move { portal.handle(&request) }).await
}
