//! The console relays the records that Lambda left in the failure bucket. It finds the stack's buckets and queues by
//! itself.

use serde_json::{Value, json};

use crate::stack::{Stack, Workspace, root};

/// The workspace of the events in `events/`.
const WORKSPACE: &str = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";

#[tokio::test]
async fn a_change_that_the_relay_gave_up_on_reaches_the_endpoint_after_an_operator_redrives_it() {
    let stack = Stack::start("redrive", &[]).await;
    stack.console(&["workspace", "create", "--name", "Redrive", "--id", WORKSPACE]);
    let workspace = Workspace { id: WORKSPACE.to_owned(), key: stack.key(WORKSPACE, "*") };
    stack.webhook(&workspace, "/ok/redrive", &[]);

    let event = std::fs::read_to_string(root().join("events/event-relay-contact-created.json"));
    let left_behind = json!({
        "requestContext": { "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1001 },
        "version": "1.0",
        "timestamp": "2026-01-02T03:10:49.717Z",
        "DDBStreamBatchInfo": { "shardId": "shardId-1", "batchSize": 1 },
        "payload": event.expect("the event"),
    });
    let file = stack.file_with("left-behind.json", left_behind.to_string().as_bytes());
    let bucket = failure_bucket(&stack);
    let key = "aws/lambda/14b0e6f2/shardId-1/2026/01/02/2026-01-02T03.10.49-5f0c1d2e";
    stack.aws(&["s3api", "put-object", "--bucket", &bucket, "--key", key, "--body", &file]);

    let redrive = ["events", "redrive", "--all"];
    let seen = stack.console(&[&redrive[..], &["--dry-run"]].concat());
    assert_eq!((&seen[0]["object"], &seen[0]["records"]), (&json!(key), &json!(1)));
    assert_eq!(stack.console(&redrive)[0]["relayed"], true);
    let received = stack.wait_for("/ok/redrive", 1).await.remove(0);
    assert_eq!(received.json["eventType"], "contact.created");
    assert_eq!(stack.console(&redrive), json!([]), "no record may be left");
}

fn failure_bucket(stack: &Stack) -> String {
    let stacks = stack.aws(&["cloudformation", "describe-stacks", "--stack-name", &stack.stack_name()]);
    let outputs = stacks["Stacks"][0]["Outputs"].as_array().expect("outputs").clone();
    let named = |output: &&Value| output["OutputKey"] == "FailureBucketName";
    let output = outputs.iter().find(named).expect("the bucket's name");
    output["OutputValue"].as_str().expect("a text").to_owned()
}
