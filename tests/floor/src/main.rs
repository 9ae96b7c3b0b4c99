//! The smallest possible function: it reads its event and returns a fixed response. `make bench` compares the others
//! with it.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let answer = async |_: LambdaEvent<Value>| Ok::<_, Error>(json!({ "statusCode": 200, "body": "{}" }));
    lambda_runtime::run(service_fn(answer)).await
}
