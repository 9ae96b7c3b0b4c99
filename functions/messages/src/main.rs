//! The `messages` function: reads settings and makes clients once, then handles requests.

use std::convert::Infallible;
use std::time::Duration;

use edge::{Api, ApiRequest};
use lambda_http::{Error, service_fn};
use messages::Messages;
use runtime::metrics::ApiFunction;
use store::{Bucket, Store, Tables};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let tables = Tables::of_stack(&process.stack);
    let store = Store::new(process.dynamodb(), tables, process.clock(), process.ids())
        .with_retention(process.retention()?);
    let messages = Messages {
        api: Api::new(store, process.metrics(), ApiFunction::Messages),
        bucket: Bucket::new(process.s3(), process.settings.required("MEDIA_BUCKET")?, process.clock()),
        first_due: Duration::from_secs(process.settings.parsed("FIRST_DUE_SECONDS", 120)?),
    };
    lambda_http::run(service_fn(async |request| {
        Ok::<_, Infallible>(messages::handle(&messages, &ApiRequest::new(request)).await)
    }))
    .await
}
