//! The `access` function: reads settings and makes clients once, then handles requests.

use edge::Api;
use lambda_http::Error;
use runtime::OsRandomness;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let api = &Api::new(process.store()?, process.metrics(), ApiFunction::Access);
    edge::serve(|request| async move { access::handle(api, &OsRandomness, &request).await }).await
}
