//! The customer answers: from the provider's webhook to the tenant's endpoint, also if processes are killed, messages are
//! lost and webhooks are repeated in another order.

use std::io::Write;
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use crate::sending::{Sending, sent_to};
use crate::stack::{Answer, QUICK_RETRIES, Stack, Workspace, kill, root};

/// The functions that may be killed at any moment. A sender that is killed during a call leaves an UNKNOWN message, so
/// `message-sender` is killed only between calls.
const KILLED: [&str; 4] = ["provider-events", "inbox", "event-relay", "webhook-delivery"];

/// Sends a text as a client does that gets no answer from a killed function: again, with the same idempotency key. Returns the id of
/// the message.
async fn says_once(stack: &Stack, workspace: &Workspace, conversation: &str, text: &str) -> String {
    let url = format!("{}/service/api/v1/workspaces/{}/messages", stack.text("baseUrl"), workspace.id);
    let body = json!({ "conversationId": conversation, "messageBody": text }).to_string();
    stack
        .wait_until("the text to be accepted", async || {
            let request = reqwest::Client::new()
                .post(&url)
                .header("x-api-key", &workspace.key)
                .header("idempotency-key", text)
                .header("content-type", "application/json")
                .body(body.clone());
            let made = Stack::answer(request).await;
            assert!([201, 502].contains(&made.status), "{}", made.text);
            made.json["messageId"].as_str().map(str::to_owned)
        })
        .await
}

/// The provider's app of the stack.
struct App {
    id: String,
    secret: String,
    url: String,
}

impl App {
    fn of(stack: &Stack) -> Self {
        let app = &stack.file["providerApps"][0];
        let text = |name: &str| app[name].as_str().unwrap_or_else(|| panic!("no {name}: {app}")).to_owned();
        let id = text("appId");
        let url = format!("{}/api/v1/whatsapp/{id}", stack.text("providerEventsUrl"));
        Self { secret: text("appSecret"), url, id }
    }

    /// Posts these bytes with a signature that `@octokit/webhooks-methods` made with this secret.
    async fn post(&self, secret: &str, body: &[u8]) -> Answer {
        let signature = signature(secret, body);
        let request = reqwest::Client::new()
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-hub-signature-256", signature)
            .body(body.to_vec());
        Stack::answer(request).await
    }
}

/// The signature of these bytes, made by a third-party library.
fn signature(secret: &str, body: &[u8]) -> String {
    let script = root().join("tests/rotation/sign.js");
    let mut signer = Command::new("node")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the signer starts");
    let given = json!({ "secret": secret, "body": String::from_utf8_lossy(body) });
    signer
        .stdin
        .take()
        .expect("the signer's input")
        .write_all(given.to_string().as_bytes())
        .expect("the signer reads its input");
    let output = signer.wait_with_output().expect("the signer's output");
    String::from_utf8(output.stdout).expect("a signature").trim().to_owned()
}

/// Lets a customer do something. Returns the provider's id of the message.
async fn customer(stack: &Stack, sending: &Sending, item: Value) -> String {
    let mut item = item;
    item["phoneNumberId"] = json!(sending.channel);
    let url = format!("{}/inbound", stack.text("providerUrl"));
    let request =
        reqwest::Client::new().post(url).header("content-type", "application/json").body(item.to_string());
    let answer = Stack::answer(request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json["messages"][0]["id"].as_str().unwrap_or_default().to_owned()
}

/// The messages of a conversation as the API lists them, oldest first.
async fn messages(stack: &Stack, workspace: &Workspace, conversation: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (vec![], None::<String>);
    loop {
        let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let path = format!("/conversations/{conversation}/messages?pageSize=7{after}");
        let page = stack.api(Method::GET, workspace, &path, None).await;
        assert_eq!(page.status, 200, "{}", page.text);
        all.extend(page.json["messages"].as_array().expect("a list").clone());
        cursor = page.json["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            all.reverse();
            return all;
        }
    }
}

/// The conversations of the workspace.
async fn conversations(stack: &Stack, workspace: &Workspace) -> Vec<Value> {
    let page = stack.api(Method::GET, workspace, "/conversations?pageSize=20", None).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.json["conversations"].as_array().expect("a list").clone()
}

fn kill_all(stack: &Stack, functions: &[&str]) {
    for function in functions {
        for process in stack.processes_of(function) {
            kill(process);
        }
    }
}

fn queue_url(stack: &Stack, queue: &str) -> String {
    let name = format!("{}-{queue}", stack.stack_name());
    let answer = stack.aws(&["sqs", "get-queue-url", "--queue-name", &name]);
    answer["QueueUrl"].as_str().expect("a URL").to_owned()
}

/// Removes every message from the queues that only name work. The queue of the inbox holds the only copy of its
/// messages; nothing may lose them.
fn lose_messages(stack: &Stack) {
    for queue in ["message-sends", "webhook-deliveries", "webhook-deliveries-slow", "lead-sends"] {
        stack.aws(&["sqs", "purge-queue", "--queue-url", &queue_url(stack, queue)]);
    }
}

/// The webhooks that the provider posted so far, as it posted them.
async fn webhooks(stack: &Stack) -> Vec<Value> {
    let ledger = stack.request(Method::GET, &format!("{}/webhooks", stack.text("providerUrl")), &[]).await;
    ledger.json.as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_conversation_of_ten_turns_survives_kills_lost_messages_and_repeated_webhooks() {
    let parameters = [
        "SendRetrySchedule=1",
        "SendThrottleSchedule=1",
        "SendTimeoutSeconds=10",
        "SenderTimeoutSeconds=20",
        "SendLeaseSeconds=30",
        "AttemptTimeoutSeconds=5",
        "DeliveryTimeoutSeconds=15",
        "LeaseSeconds=30",
        "FirstDueSeconds=1",
        QUICK_RETRIES,
    ];
    let stack = Stack::start("two-way", &parameters).await;
    // A message of a killed function comes back after this time.
    let inbox = queue_url(&stack, "inbox");
    stack.aws(&["sqs", "set-queue-attributes", "--queue-url", &inbox, "--attributes", "VisibilityTimeout=3"]);
    let sending = Sending::start(&stack, "Two-way", "1055500021");
    let workspace = &sending.workspace;
    stack.webhook(workspace, "/ok/two-way", &[]);
    // The simulator delivers and reads everything that this number gets.
    let phone = "+346004440008";
    let (mut conversation, mut answer_of_provider) = (None::<String>, None::<String>);
    let mut said = vec![];
    for turn in 1..=10 {
        let question = format!("question {turn}");
        let mut item = json!({ "type": "text", "from": phone, "name": "Ana Sample", "text": question });
        if let Some(id) = &answer_of_provider {
            item["contextId"] = json!(id);
        }
        // The functions die while the webhook is on its way.
        tokio::join!(customer(&stack, &sending, item), async { kill_all(&stack, &KILLED) });
        kill_all(&stack, &KILLED[..turn % KILLED.len()]);
        said.push(question.clone());
        let id = stack
            .wait_until(&question, async || {
                let found = conversations(&stack, workspace).await;
                let id = found.first()?["id"].as_str()?.to_owned();
                let last = messages(&stack, workspace, &id).await.pop()?;
                (last["messageBody"] == question.as_str()).then_some(id)
            })
            .await;
        assert_eq!(*conversation.get_or_insert(id.clone()), id, "every message joins the same conversation");

        kill_all(&stack, &["message-sender", "messages", "conversations"]);
        let answer = format!("answer {turn}");
        let message = says_once(&stack, workspace, &id, &answer).await;
        lose_messages(&stack);
        kill_all(&stack, &KILLED);
        said.push(answer);
        let shown = stack
            .wait_until(&format!("answer {turn} to be READ"), async || {
                stack.sweep();
                let path = format!("/messages/{message}?conversationId={id}");
                let shown = stack.api(Method::GET, workspace, &path, None).await;
                (shown.json["status"] == "READ").then_some(shown.json)
            })
            .await;
        assert!(shown["deliveredAt"].is_string() && shown["readAt"].is_string(), "{shown}");
        answer_of_provider = shown["parts"][0]["providerMessageId"].as_str().map(str::to_owned);
    }
    let id = conversation.expect("a conversation");

    // The provider repeats everything, the newest first, twice, signed by a third-party library.
    let app = App::of(&stack);
    let before = messages(&stack, workspace, &id).await;
    let posted = webhooks(&stack).await;
    for webhook in posted.iter().rev().chain(posted.iter().step_by(2)) {
        let body = serde_json::to_vec(&webhook["body"]).expect("bytes");
        assert_eq!(app.post(&app.secret, &body).await.status, 200);
    }
    stack
        .wait_until("the inbox to be empty", async || {
            let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
            let mut command = vec!["sqs", "get-queue-attributes", "--queue-url", &inbox, "--attribute-names"];
            command.extend(names);
            let counts = stack.aws(&command);
            names.iter().all(|name| counts["Attributes"][name] == "0").then_some(())
        })
        .await;
    assert_eq!(messages(&stack, workspace, &id).await, before, "a repeated webhook changes nothing");
    let texts: Vec<&str> = before.iter().filter_map(|message| message["messageBody"].as_str()).collect();
    assert_eq!(texts, said, "nothing is lost, nothing comes twice, and the order is kept");
    let sent: Vec<Value> = sent_to(&stack, phone).await;
    assert_eq!(sent.len(), 10, "every answer is sent once");
    assert_eq!(conversations(&stack, workspace).await.len(), 1);

    // The tenant's endpoint got each event, too.
    let created = stack
        .wait_until("an event for each message", async || {
            stack.sweep();
            let received = stack.received("/ok/two-way").await;
            let mut ids: Vec<(String, String)> = received
                .iter()
                .filter(|request| request.json["eventType"] == "message.created")
                .map(|request| {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    (text(&request.json["payload"]["id"]), text(&request.json["eventId"]))
                })
                .collect();
            // A delivery whose process was killed is posted again with the same event id.
            ids.sort();
            ids.dedup();
            (ids.len() >= 20).then_some(ids)
        })
        .await;
    assert_eq!(created.len(), 20, "{created:?}");
    let last_seen = &conversations(&stack, workspace).await[0]["participants"]["externals"][0]["lastSeenAt"];
    assert!(last_seen.is_string(), "{last_seen}");
}

#[tokio::test]
async fn a_webhook_is_accepted_only_with_the_signature_of_its_app() {
    let stack = Stack::start("inbound-signed", &[]).await;
    let app = App::of(&stack);
    let body = json!({ "object": "whatsapp_business_account", "entry": [] }).to_string().into_bytes();
    assert_eq!(app.post(&app.secret, &body).await.status, 200);
    let refused = app.post("another secret of this length 0000", &body).await;
    assert_eq!((refused.status, refused.text.as_str()), (403, "Forbidden"));
    let unsigned = Stack::answer(reqwest::Client::new().post(&app.url).body(body.clone())).await;
    assert_eq!((unsigned.status, unsigned.text), (403, refused.text.clone()));
    let token = stack.file["providerApps"][0]["verifyToken"].as_str().expect("a token").to_owned();
    let verify = |token: &str| {
        format!("{}?hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444", app.url)
    };
    let verified = stack.request(Method::GET, &verify(&token), &[]).await;
    assert_eq!((verified.status, verified.text.as_str()), (200, "1158201444"));
    assert_eq!(stack.request(Method::GET, &verify("another"), &[]).await.status, 403);
    assert!(!app.id.is_empty());
}
