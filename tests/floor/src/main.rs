//! The least that a function can be: it reads its event and answers the same each time.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let answer = async |_: LambdaEvent<Value>| Ok::<_, Error>(json!({ "statusCode": 200, "body": "{}" }));
    lambda_runtime::run(service_fn(answer)).await
}
