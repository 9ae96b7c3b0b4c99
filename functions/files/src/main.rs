//! The `files` function: reads settings and makes clients once, then handles requests.

use edge::Api;
use lambda_http::Error;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let api = &Api::new(process.store()?, process.metrics(), ApiFunction::Files);
    let bucket = &process.bucket()?;
    edge::serve(|request| async move { files::handle(api, bucket, &request).await }).await
}
