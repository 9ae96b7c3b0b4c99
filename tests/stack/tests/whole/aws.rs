//! AWS as the judge: the validator of a stack finds what AWS would refuse.

use reqwest::Method;
use serde_json::json;

use crate::stack::Stack;

#[tokio::test]
async fn a_call_that_aws_would_refuse_fails_the_test_that_made_it_and_names_the_caller() {
    let stack = Stack::start("refusable", &[]).await;
    let query = json!({
        "TableName": "refusable-leads", "KeyConditionExpression": "pk = :pk", "FilterExpression": "state = :state",
        "ExpressionAttributeValues": {":pk": {"S": "x"}, ":state": {"S": "x"}},
    });
    let call = reqwest::Client::new()
        .request(Method::POST, stack.text("awsUrl"))
        .header("x-amz-target", "DynamoDB_20120810.Query")
        .header("content-type", "application/x-amz-json-1.0")
        .header(
            "authorization",
            "AWS4-HMAC-SHA256 Credential=test/20261123/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        )
        .header("user-agent", "aws-sdk-rust/1 app/culprit")
        .body(query.to_string());
    Stack::answer(call).await;

    let judgement = stack.end();
    let found = judgement.findings.iter().find(|found| found["rule"] == "reserved_words").expect("a finding");
    assert_eq!(found["caller"], "culprit");
    assert_eq!(found["what"], "FilterExpression uses the reserved word state");
    assert!(judgement.findings.iter().all(|found| found["caller"] == "culprit"), "{:?}", judgement.findings);
    assert!(judgement.calls_of("dynamodb") > 0);
    let failed = std::panic::catch_unwind(|| judgement.hold()).expect_err("the finding fails the test");
    let message = failed.downcast_ref::<String>().expect("its message");
    assert!(message.contains("reserved word state"), "{message}");
}
