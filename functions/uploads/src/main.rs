//! The `uploads` function: reads settings and makes clients once, then processes batches.

use std::convert::Infallible;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use uploads::Uploads;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let uploads = Uploads { store: process.store()?, bucket: process.bucket()? };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<_>| {
        Ok::<_, Infallible>(uploads.handle(event.payload).await)
    }))
    .await
}
