//! The `uploads` function: reads settings and makes clients once, then processes batches.

use std::convert::Infallible;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use store::{Bucket, Store, Tables};
use uploads::Uploads;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let tables = Tables::of_stack(&process.stack);
    let uploads = Uploads {
        store: Store::new(process.dynamodb(), tables, process.clock(), process.ids()),
        bucket: Bucket::new(process.s3(), process.settings.required("MEDIA_BUCKET")?, process.clock()),
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<_>| {
        Ok::<_, Infallible>(uploads.handle(event.payload).await)
    }))
    .await
}
