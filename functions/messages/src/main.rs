//! The `messages` function: reads settings and makes clients once, then handles requests.

use edge::Api;
use lambda_http::Error;
use messages::Messages;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let messages = &Messages {
        api: Api::new(process.store()?, process.metrics(), ApiFunction::Messages),
        bucket: process.bucket()?,
        first_due: process.first_due()?,
    };
    edge::serve(|request| async move { messages::handle(messages, &request).await }).await
}
