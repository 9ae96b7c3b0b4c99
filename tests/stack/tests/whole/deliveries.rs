//! From a change to the customer's endpoint, also if a process is killed or a message is lost.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::stack::{QUICK_RETRIES, Received, Stack, kill, root};

#[tokio::test]
async fn a_change_reaches_the_endpoint_with_signatures_that_third_party_libraries_verify() {
    let stack = Stack::start("signed", &[]).await;
    let workspace = stack.workspace("Signed");
    let webhook = stack.webhook(&workspace, "/ok/signed", &[]);
    let contact = stack.contact(&workspace, "Ana", "ana@example.com", "+12025550101");
    stack.wait_for("/ok/signed", 1).await;
    stack.rename(&workspace, &contact, "Zoë").await;

    let received = stack.wait_for("/ok/signed", 2).await;
    let types: Vec<&Value> = received.iter().map(|request| &request.json["eventType"]).collect();
    assert_eq!(types, ["contact.created", "contact.updated"]);
    let updated = &received[1];
    let api = stack.api(reqwest::Method::GET, &workspace, &format!("/contacts/{contact}"), None).await;
    assert_eq!(updated.json["payload"], api.json, "the payload equals the API's view of the contact");
    assert_eq!(updated.json["payload"]["firstName"], "Zoë");
    assert_eq!(updated.json["entity"], "contact_updates");
    assert_eq!(updated.json["workspaceId"], workspace.id.as_str());
    let timestamp = updated.json["timestamp"].as_str().unwrap();
    assert_eq!(timestamp.len(), "2026-01-02T03:04:05Z".len(), "{timestamp}");
    assert_eq!(updated.headers["content-type"], "application/json");
    assert_eq!(updated.headers["x-service-api-key"], "customer-key");
    assert_eq!(updated.headers["webhook-id"], updated.json["eventId"]);

    let secret = webhook["secret"].as_str().unwrap();
    for request in &received {
        assert_eq!(verify_signatures(request, secret), "both signatures verify");
        let mut forged = request.clone();
        forged.body.push(b' ');
        assert_ne!(verify_signatures(&forged, secret), "both signatures verify");
    }
    let deliveries = stack.deliveries_in(&workspace, "DELIVERED").await;
    assert_eq!(deliveries.len(), 2);
    assert!(deliveries.iter().all(|delivery| delivery["attempts"] == 1), "{deliveries:?}");
}

/// Verifies a request with `standardwebhooks` from PyPI and, for the legacy header, with Python's hmac module.
fn verify_signatures(request: &Received, secret: &str) -> String {
    const SCRIPT: &str = r#"
import base64, hashlib, hmac, json, sys
from standardwebhooks import Webhook
given = json.load(sys.stdin)
body, headers = base64.b64decode(given["body"]), given["headers"]
expected = "sha256=" + hmac.new(given["secret"].encode(), body, hashlib.sha256).hexdigest()
assert hmac.compare_digest(expected, headers["x-service-signature"]), "X-Service-Signature"
assert headers["x-service-timestamp"] == headers["webhook-timestamp"], "X-Service-Timestamp"
Webhook(given["secret"]).verify(body.decode(), headers)
print("both signatures verify")
"#;
    use base64::Engine;
    let given = json!({
        "body": base64::engine::general_purpose::STANDARD.encode(&request.body),
        "headers": request.headers,
        "secret": secret,
    });
    let mut python = Command::new(root().join(".venv/bin/python"))
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the verifier starts");
    python
        .stdin
        .take()
        .expect("the verifier's input")
        .write_all(given.to_string().as_bytes())
        .expect("the verifier reads its input");
    let output = python.wait_with_output().expect("the verifier's output");
    let said = if output.status.success() { output.stdout } else { output.stderr };
    String::from_utf8_lossy(&said).trim().to_owned()
}

#[tokio::test]
async fn after_two_failures_the_endpoint_gets_the_same_event_with_a_new_signature() {
    let stack = Stack::start("fails-twice", &[QUICK_RETRIES]).await;
    let workspace = stack.workspace("Fails twice");
    let contact = stack.contact(&workspace, "Ana", "ana@example.com", "+12025550101");
    let webhook = stack.webhook(&workspace, "/fail-first/2/here", &["contact.updated"]);
    stack.rename(&workspace, &contact, "Bea").await;

    let received = stack.wait_for("/fail-first/2/here", 3).await;
    let deliveries = stack.deliveries_in(&workspace, "DELIVERED").await;
    assert_eq!((deliveries.len(), &deliveries[0]["attempts"]), (1, &json!(3)));
    for again in &received[1..] {
        assert_eq!(again.body, received[0].body);
        assert_eq!(again.headers["webhook-id"], received[0].headers["webhook-id"]);
    }
    let stamps: Vec<&Value> =
        received.iter().map(|request| &request.headers["x-service-timestamp"]).collect();
    assert_ne!(stamps[0], stamps[2], "each attempt has its own timestamp");
    let secret = webhook["secret"].as_str().unwrap();
    assert_eq!(verify_signatures(&received[2], secret), "both signatures verify");

    let id = deliveries[0]["deliveryId"].as_str().unwrap();
    let shown = stack.console(&["delivery", "show", "--workspace", &workspace.id, "--delivery", id]);
    let statuses: Vec<&Value> =
        shown["attemptLog"].as_array().unwrap().iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!((statuses.len(), statuses[2]), (3, &json!(200)));
}

#[tokio::test]
async fn a_delivery_killed_between_the_post_and_its_record_is_delivered_again_with_the_same_id() {
    let short = [
        "AttemptTimeoutSeconds=5",
        "DeliveryTimeoutSeconds=15",
        "LeaseSeconds=30",
        "FirstDueSeconds=1",
        QUICK_RETRIES,
    ];
    let stack = Stack::start("killed", &short).await;
    let workspace = stack.workspace("Killed");
    let contact = stack.contact(&workspace, "Ana", "ana@example.com", "+12025550101");
    stack.webhook(&workspace, "/slow/2/here", &["contact.updated"]);
    stack.rename(&workspace, &contact, "Bea").await;

    // The receiver writes its ledger two seconds before it responds. In this time the delivery is not recorded yet.
    let first = stack.wait_for("/slow/2/here", 1).await.remove(0);
    let delivering = stack.processes_of("webhook-delivery");
    assert!(!delivering.is_empty(), "a process of webhook-delivery must be running");
    delivering.into_iter().for_each(kill);

    let again = stack
        .wait_until("the redelivery", async || {
            stack.sweep();
            stack.received("/slow/2/here").await.into_iter().nth(1)
        })
        .await;
    assert_eq!((again.body, &again.headers["webhook-id"]), (first.body, &first.headers["webhook-id"]));
    let deliveries = stack.deliveries_in(&workspace, "DELIVERED").await;
    assert_eq!(deliveries.len(), 1);
}

#[tokio::test]
async fn deliveries_whose_queue_messages_are_lost_are_made_by_the_sweeper() {
    let stack = Stack::start("lost-messages", &["FirstDueSeconds=1"]).await;
    let workspace = stack.workspace("Lost messages");
    let contact = stack.contact(&workspace, "Ana", "ana@example.com", "+12025550101");
    stack.webhook(&workspace, "/ok/lost", &["contact.updated"]);

    let function = format!("{}-webhook-delivery", stack.stack_name());
    let mappings = stack.aws(&["lambda", "list-event-source-mappings", "--function-name", &function]);
    let mapping =
        mappings["EventSourceMappings"][0]["UUID"].as_str().expect("the queue's mapping").to_owned();
    stack.aws(&["lambda", "update-event-source-mapping", "--uuid", &mapping, "--no-enabled"]);
    let queue = format!("{}-webhook-deliveries", stack.stack_name());
    let queue =
        stack.aws(&["sqs", "get-queue-url", "--queue-name", &queue])["QueueUrl"].as_str().unwrap().to_owned();

    stack.rename(&workspace, &contact, "Bea").await;
    stack
        .wait_until("a message in the queue", async || {
            let names = "ApproximateNumberOfMessages";
            let seen = stack.aws(&[
                "sqs",
                "get-queue-attributes",
                "--queue-url",
                &queue,
                "--attribute-names",
                names,
            ]);
            (seen["Attributes"][names] == "1").then_some(())
        })
        .await;
    stack.aws(&["sqs", "purge-queue", "--queue-url", &queue]);
    stack.aws(&["lambda", "update-event-source-mapping", "--uuid", &mapping, "--enabled"]);
    assert!(stack.received("/ok/lost").await.is_empty(), "no delivery may arrive before the sweep");

    stack
        .wait_until("the delivery that the sweeper queued", async || {
            stack.sweep();
            (!stack.received("/ok/lost").await.is_empty()).then_some(())
        })
        .await;
    let deliveries = stack.deliveries_in(&workspace, "DELIVERED").await;
    assert_eq!(deliveries.len(), 1);
}
