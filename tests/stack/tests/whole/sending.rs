//! From a conversation to WhatsApp and back to the customer's endpoint.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::stack::{Stack, Workspace, kill};

/// Schedules with short waits, so that a test sees several attempts.
const QUICK_SENDS: [&str; 3] = ["SendRetrySchedule=1", "SendThrottleSchedule=1", "SendTimeoutSeconds=2"];

/// A workspace that can send: it has a brand, a line and an account.
pub(crate) struct Sending {
    pub(crate) workspace: Workspace,
    pub(crate) channel: String,
}

const ACCOUNT: &str = "2099000001";

impl Sending {
    pub(crate) fn start(stack: &Stack, name: &str, channel: &str) -> Self {
        let workspace = stack.workspace(name);
        let id = workspace.id.as_str();
        let brand = stack.console(&["brand", "create", "--workspace", id, "--name", name]);
        let brand = brand["brandId"].as_str().expect("an id");
        stack.console(&[
            "line",
            "create",
            "--workspace",
            id,
            "--channel",
            channel,
            "--brand",
            brand,
            "--business-account",
            ACCOUNT,
            "--token",
            "line-token",
        ]);
        Self { workspace, channel: channel.to_owned() }
    }

    fn template(&self, stack: &Stack, name: &str, variables: &[&str]) -> String {
        let mut arguments = vec![
            "template",
            "create",
            "--workspace",
            &self.workspace.id,
            "--name",
            name,
            "--language",
            "es",
            "--approved",
            ACCOUNT,
        ];
        for variable in variables {
            arguments.extend(["--variable", variable]);
        }
        stack.console(&arguments)["templateId"].as_str().expect("an id").to_owned()
    }

    async fn converse(&self, stack: &Stack, phone: &str, more: Value) -> Value {
        let mut body = json!({
            "participants": {"externals": [{"identifier": phone, "identifierType": "PHONE"}]},
        });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let made = stack.api(Method::POST, &self.workspace, "/conversations", Some(body)).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.json
    }

    pub(crate) async fn say(&self, stack: &Stack, conversation: &Value, text: &str) -> String {
        let body = json!({"conversationId": conversation["id"], "messageBody": text});
        let made = stack.api(Method::POST, &self.workspace, "/messages", Some(body)).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.json["messageId"].as_str().expect("an id").to_owned()
    }
}

/// The requests that the provider got for this number, oldest first.
pub(crate) async fn sent_to(stack: &Stack, phone: &str) -> Vec<Value> {
    let ledger = stack.request(Method::GET, &format!("{}/ledger", stack.text("providerUrl")), &[]).await;
    let entries = ledger.json.as_array().expect("a list").clone();
    entries.into_iter().filter(|entry| entry["body"]["to"] == phone).collect()
}

/// The last status that the receiver got for a message, and the message's parts.
async fn last_status(stack: &Stack, path: &str, message: &str) -> Option<(String, Value)> {
    let received = stack.received(path).await;
    let of_it: Vec<&Value> = received
        .iter()
        .map(|request| &request.json["payload"])
        .filter(|payload| payload["id"] == message)
        .collect();
    let last = of_it.into_iter().max_by_key(|payload| payload["updatedAt"].as_str().unwrap_or_default())?;
    Some((last["status"].as_str()?.to_owned(), last["parts"].clone()))
}

async fn wait_for_status(stack: &Stack, path: &str, message: &str, wanted: &str) -> Value {
    stack
        .wait_until(&format!("message {message} to be {wanted}"), async || {
            let (status, parts) = last_status(stack, path, message).await?;
            (status == wanted).then_some(parts)
        })
        .await
}

#[tokio::test]
async fn onboarding_reaches_the_provider_in_order_and_its_events_reach_the_receiver() {
    let stack = Stack::start("onboarding", &[]).await;
    let sending = Sending::start(&stack, "Onboarding", "1055500001");
    stack.webhook(&sending.workspace, "/ok/onboarding", &[]);
    let names = ["welcome", "terms", "offer", "goodbye"];
    let first = sending.template(&stack, names[0], &["name=CONTACT.firstName:friend"]);
    let second = sending.template(&stack, names[1], &[]);
    let asked = sending.template(&stack, names[2], &["code=CALLER"]);
    let last = sending.template(&stack, names[3], &[]);
    let sequence = [first, second, last].join(",");
    stack.console(&[
        "onboarding",
        "set",
        "--workspace",
        &sending.workspace.id,
        "--override",
        "FIRST_ONLY",
        "--sequence",
        &sequence,
    ]);

    let phone = "+34600111222";
    let conversation = sending
        .converse(
            &stack,
            phone,
            json!({"onboardingTemplates": [{"templateId": asked, "parameters": {"code": "4711"}}]}),
        )
        .await;
    let said = sending.say(&stack, &conversation, "and now me").await;
    let sent = stack
        .wait_until("four sends", async || {
            let sent = sent_to(&stack, phone).await;
            (sent.len() >= 4).then_some(sent)
        })
        .await;
    let order: Vec<&Value> = sent
        .iter()
        .map(|entry| {
            if entry["body"]["type"] == "text" {
                &entry["body"]["text"]["body"]
            } else {
                &entry["body"]["template"]["name"]
            }
        })
        .collect();
    assert_eq!(order, ["offer", "terms", "goodbye", "and now me"]);
    assert_eq!(
        sent[0]["body"]["template"]["components"][0]["parameters"],
        json!([{"type": "text", "text": "4711"}])
    );
    assert_eq!(sent[0]["path"].as_str().unwrap().split('/').rev().nth(1), Some(sending.channel.as_str()));
    assert_eq!(sent[0]["headers"]["authorization"], "Bearer line-token");

    wait_for_status(&stack, "/ok/onboarding", &said, "SENT").await;
    let types: Vec<String> = stack
        .wait_until("a final status of each message", async || {
            let received = stack.received("/ok/onboarding").await;
            let ended = received.iter().filter(|request| request.json["payload"]["status"] == "SENT").count();
            (ended == 4).then(|| {
                received.iter().map(|it| it.json["eventType"].as_str().unwrap().to_owned()).collect()
            })
        })
        .await;
    let count = |wanted: &str| types.iter().filter(|found| *found == wanted).count();
    assert_eq!(
        (count("contact.created"), count("conversation.created"), count("message.created")),
        (1, 1, 4)
    );

    let release = json!({"status": "RELEASED"});
    let path = format!("/conversations/{}", conversation["id"].as_str().unwrap());
    assert_eq!(stack.api(Method::PATCH, &sending.workspace, &path, Some(release)).await.status, 200);
    let summary = stack
        .wait_until("the summary", async || {
            let received = stack.received("/ok/onboarding").await;
            received.into_iter().find(|request| request.json["eventType"] == "conversation_summary.created")
        })
        .await;
    assert_eq!(summary.json["payload"]["messages"], json!({"inbound": 0, "outbound": 4, "internal": 0}));
}

#[tokio::test]
async fn a_file_is_uploaded_as_a_browser_does_and_the_provider_can_fetch_it() {
    let stack = Stack::start("upload", &[]).await;
    let sending = Sending::start(&stack, "Upload", "1055500002");
    let bytes = b"%PDF-1.7 not much of a document".to_vec();
    let digest = STANDARD.encode(Sha256::digest(&bytes));
    let item = json!([{"name": "offer.pdf", "fileType": "DOCUMENT", "contentType": "application/pdf", "checksumBase64": digest}]);
    let made = stack.api(Method::POST, &sending.workspace, "/files", Some(item)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let presigned = &made.json[0]["presignUrl"];
    let url = presigned["url"].as_str().unwrap();

    // A browser sends a preflight, and then the `PUT` with its origin.
    let http = reqwest::Client::new();
    let preflight = http
        .request(Method::OPTIONS, url)
        .header("origin", "https://app.example.com")
        .header("access-control-request-method", "PUT")
        .header("access-control-request-headers", "content-type,x-amz-checksum-sha256")
        .send()
        .await
        .unwrap();
    assert!(preflight.status().is_success(), "{preflight:?}");
    assert!(preflight.headers().contains_key("access-control-allow-origin"), "{preflight:?}");
    let put = http.put(url).header("origin", "https://app.example.com").body(bytes.clone());
    let put = presigned["headers"]
        .as_object()
        .unwrap()
        .iter()
        .fold(put, |put, (name, value)| put.header(name, value.as_str().unwrap()));
    let put = put.send().await.unwrap();
    assert_eq!(put.status(), 200, "{:?}", put.text().await);

    let phone = "+34600111333";
    let conversation = sending.converse(&stack, phone, json!({})).await;
    let body = json!({"conversationId": conversation["id"], "messageBody": "Our offer", "mediaIds": [made.json[0]["mediaId"]]});
    let said = stack.api(Method::POST, &sending.workspace, "/messages", Some(body)).await;
    assert_eq!(said.status, 201, "{}", said.text);
    let sent = stack.wait_until("the document", async || sent_to(&stack, phone).await.pop()).await;
    let document = &sent["body"]["document"];
    assert_eq!((&document["filename"], &document["caption"]), (&json!("offer.pdf"), &json!("Our offer")));
    let fetched = http.get(document["link"].as_str().unwrap()).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(fetched, bytes, "the provider must be able to fetch the uploaded bytes");

    // This test calls all three services. So it shows that the validator sees their calls, and who makes them.
    let judgement = stack.end();
    judgement.hold();
    for (service, caller) in
        [("dynamodb", "files"), ("dynamodb", "console"), ("sqs", "event-relay"), ("s3", "messages")]
    {
        let callers = judgement.callers_of(service);
        assert!(judgement.calls_of(service) > 0 && callers.contains(&caller), "{service}: {callers:?}");
    }
}

#[tokio::test]
async fn every_call_outcome_has_its_consequence_and_does_not_delay_other_conversations() {
    let stack = Stack::start("endings", &QUICK_SENDS).await;
    let sending = Sending::start(&stack, "Endings", "1055500003");
    stack.webhook(&sending.workspace, "/ok/endings", &["message.created", "message.updated"]);
    let rows = [
        ("+346001110001", "FAILED", Some("131026"), 1),
        ("+346001110002", "SENT", None, 3),
        ("+346001110003", "UNKNOWN", Some("NO_ANSWER"), 1),
        ("+346001110004", "SENT", None, 2),
        ("+346001110005", "UNKNOWN", Some("NO_ANSWER"), 1),
        ("+346001110006", "FAILED", Some("132001"), 1),
        ("+346001119999", "SENT", None, 1),
    ];
    let mut messages = vec![];
    for (phone, ..) in rows {
        let conversation = sending.converse(&stack, phone, json!({})).await;
        let first = sending.say(&stack, &conversation, "first").await;
        let second = sending.say(&stack, &conversation, "second").await;
        messages.push((conversation, first, second));
    }
    for ((phone, status, error, calls), (_, first, second)) in rows.iter().zip(&messages) {
        for (message, text) in [(first, "first"), (second, "second")] {
            let parts = wait_for_status(&stack, "/ok/endings", message, status).await;
            assert_eq!(parts[0]["error"], json!(error), "{phone}");
            let of_it = sent_to(&stack, phone).await;
            let of_it: Vec<&Value> =
                of_it.iter().filter(|entry| entry["body"]["text"]["body"] == text).collect();
            assert_eq!(of_it.len(), *calls, "{phone}: {text}");
            assert_eq!(parts[0]["providerMessageId"].is_string(), *status == "SENT", "{phone}");
        }
    }
    // Each conversation keeps its order, whatever the outcome of its first message.
    for (phone, ..) in rows {
        let texts: Vec<Value> =
            sent_to(&stack, phone).await.iter().map(|entry| entry["body"]["text"]["body"].clone()).collect();
        let turn = texts.iter().position(|text| text == "second").unwrap();
        assert!(
            texts[..turn].iter().all(|text| text == "first")
                && texts[turn..].iter().all(|text| text == "second")
        );
    }
}

#[tokio::test]
async fn a_sender_killed_during_a_call_leaves_an_unknown_message_that_is_not_sent_again() {
    let parameters =
        ["SendTimeoutSeconds=10", "SenderTimeoutSeconds=20", "SendLeaseSeconds=30", "FirstDueSeconds=1"];
    let stack = Stack::start("killed-sender", &parameters).await;
    let sending = Sending::start(&stack, "Killed", "1055500004");
    stack.webhook(&sending.workspace, "/ok/killed", &["message.created", "message.updated"]);
    let phone = "+346002220003";
    let conversation = sending.converse(&stack, phone, json!({})).await;
    let message = sending.say(&stack, &conversation, "hello?").await;
    stack.wait_until("the call", async || sent_to(&stack, phone).await.pop()).await;
    for process in stack.processes_of("message-sender") {
        kill(process);
    }
    let parts = stack
        .wait_until("the message to be UNKNOWN", async || {
            stack.sweep();
            tokio::time::sleep(Duration::from_millis(500)).await;
            let (status, parts) = last_status(&stack, "/ok/killed", &message).await?;
            (status == "UNKNOWN").then_some(parts)
        })
        .await;
    assert_eq!(parts[0]["error"], "INTERRUPTED");
    assert_eq!(sent_to(&stack, phone).await.len(), 1);

    // A later message to another number is sent.
    let other = sending.converse(&stack, "+346002229999", json!({})).await;
    let message = sending.say(&stack, &other, "still there").await;
    wait_for_status(&stack, "/ok/killed", &message, "SENT").await;
}

#[tokio::test]
async fn messages_whose_queue_messages_are_lost_are_sent_after_the_sweeper_finds_them() {
    let stack = Stack::start("lost-wakes", &["FirstDueSeconds=1"]).await;
    let sending = Sending::start(&stack, "Lost", "1055500005");
    stack.webhook(&sending.workspace, "/ok/lost", &["message.created", "message.updated"]);
    let queue = stack.aws(&[
        "sqs",
        "get-queue-url",
        "--queue-name",
        &format!("{}-message-sends", stack.stack_name()),
    ]);
    let queue = queue["QueueUrl"].as_str().unwrap().to_owned();
    let mappings = stack.aws(&[
        "lambda",
        "list-event-source-mappings",
        "--function-name",
        &format!("{}-message-sender", stack.stack_name()),
    ]);
    let mapping = mappings["EventSourceMappings"][0]["UUID"].as_str().unwrap().to_owned();
    stack.aws(&["lambda", "update-event-source-mapping", "--uuid", &mapping, "--no-enabled"]);
    let phone = "+346003339999";
    let conversation = sending.converse(&stack, phone, json!({})).await;
    let message = sending.say(&stack, &conversation, "lost and found").await;
    stack.wait_for("/ok/lost", 1).await;
    stack
        .wait_until("the queue message that the test removes", async || {
            let counts = stack.aws(&[
                "sqs",
                "get-queue-attributes",
                "--queue-url",
                &queue,
                "--attribute-names",
                "ApproximateNumberOfMessages",
            ]);
            (counts["Attributes"]["ApproximateNumberOfMessages"] != "0").then_some(())
        })
        .await;
    stack.aws(&["sqs", "purge-queue", "--queue-url", &queue]);
    stack.aws(&["lambda", "update-event-source-mapping", "--uuid", &mapping, "--enabled"]);
    stack
        .wait_until("the message to be SENT", async || {
            stack.sweep();
            let (status, _) = last_status(&stack, "/ok/lost", &message).await?;
            (status == "SENT").then_some(())
        })
        .await;
    assert_eq!(sent_to(&stack, phone).await.len(), 1);
}
