//! The `attributes` function: reads settings and makes clients once, then handles requests.

use attributes::Capturing;
use edge::Api;
use lambda_http::Error;
use runtime::OsRandomness;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let api = &Api::new(process.store()?, process.metrics(), ApiFunction::Attributes);
    let url = &process.settings.required("CAPTURE_URL")?;
    let capturing = &Capturing { url, random: &OsRandomness };
    edge::serve(|request| async move { attributes::handle(api, capturing, &request).await }).await
}
