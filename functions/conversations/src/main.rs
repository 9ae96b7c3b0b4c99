//! The `conversations` function: reads settings and makes clients once, then handles requests.

use edge::Api;
use lambda_http::Error;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let api = &Api::new(process.store()?, process.metrics(), ApiFunction::Conversations);
    let first_due = process.first_due()?;
    edge::serve(|request| async move { conversations::handle(api, first_due, &request).await }).await
}
