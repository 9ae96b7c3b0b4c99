//! The `files` function: reads settings and makes clients once, then handles requests.

use std::convert::Infallible;

use edge::{Api, ApiRequest};
use lambda_http::{Error, service_fn};
use runtime::metrics::ApiFunction;
use store::{Bucket, Store, Tables};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let tables = Tables::of_stack(&process.stack);
    let store = Store::new(process.dynamodb(), tables, process.clock(), process.ids());
    let api = Api::new(store, process.metrics(), ApiFunction::Files);
    let bucket = Bucket::new(process.s3(), process.settings.required("MEDIA_BUCKET")?, process.clock());
    lambda_http::run(service_fn(async |request| {
        Ok::<_, Infallible>(files::handle(&api, &bucket, &ApiRequest::new(request)).await)
    }))
    .await
}
