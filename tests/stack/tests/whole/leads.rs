//! From a landing page to the first WhatsApp message and to the customer's endpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::stack::{Answer, Stack, Workspace, kill};

const PAGE: &str = "https://www.shop.example";
const ACCOUNT: &str = "2077000001";
const PATH: &str = "/api/v1/leadscout/campaign-leads";

/// A workspace with lead capture for its page.
pub(crate) struct Capturing {
    workspace: Workspace,
    key: String,
}

impl Capturing {
    fn start(stack: &Stack, name: &str, channel: &str) -> Self {
        Self::of(stack, &stack.workspace(name), name, channel)
    }

    /// Sets lead capture up in a workspace, with a brand of this name and a line.
    pub(crate) fn of(stack: &Stack, workspace: &Workspace, name: &str, channel: &str) -> Self {
        let workspace = workspace.clone();
        let id = workspace.id.as_str();
        let brand = stack.console(&["brand", "create", "--workspace", id, "--name", name]);
        let brand = brand["brandId"].as_str().expect("an id");
        let line = ["line", "create", "--workspace", id, "--channel", channel, "--brand", brand];
        let account = ["--business-account", ACCOUNT, "--token", "line-token"];
        stack.console(&[&line[..], &account[..]].concat());
        let template =
            ["template", "create", "--workspace", id, "--name", "lead_welcome", "--language", "es"];
        let variables = ["--approved", ACCOUNT, "--variable", "name=CONTACT.firstName:friend"];
        let template = stack.console(&[&template[..], &variables[..]].concat());
        let template = template["templateId"].as_str().expect("an id");
        let enable = ["capture", "enable", "--workspace", id, "--origin", PAGE, "--brand", brand];
        let secret = ["--template", template, "--secret", "secret-for-www.shop.example"];
        let capture = stack.console(&[&enable[..], &secret[..]].concat());
        let key = capture["captureKey"].as_str().expect("a key").to_owned();
        Self { workspace, key }
    }

    fn body(&self, phone: &str, token: &str) -> Value {
        json!({
            "workspaceId": self.workspace.id,
            "captureKey": self.key,
            "cellphone": phone,
            "name": "Ana Sample",
            "landingUri": format!("{PAGE}/spring?utm_source=search"),
            "utm": {"utm_source": "search"},
            "consent": {"status": "GRANTED", "capturedAt": "2026-01-02T03:04:05Z"},
            "recaptchaToken": token,
        })
    }

    fn url(&self, stack: &Stack) -> String {
        format!("{}{PATH}?workspaceId={}", stack.text("captureUrl"), self.workspace.id)
    }

    /// Posts a lead as a page with these `Origin` headers does.
    async fn post(&self, stack: &Stack, origins: &[&str], body: &Value) -> Answer {
        Stack::answer(request(&self.url(stack), origins, body)).await
    }

    /// Posts a lead with this phone number. Returns the id in the response.
    pub(crate) async fn lead(&self, stack: &Stack, phone: &str) -> String {
        let answer = self.post(stack, &[PAGE], &self.body(phone, &format!("pass-{phone}"))).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        answer.json["requestId"].as_str().expect("an id").to_owned()
    }

    fn shown(&self, stack: &Stack, lead: &str) -> Value {
        stack.console(&["lead", "show", "--workspace", &self.workspace.id, "--lead", lead])
    }

    async fn wait_for_state(&self, stack: &Stack, lead: &str, state: &str) -> Value {
        stack
            .wait_until(&format!("lead {lead} to be {state}"), async || {
                let shown = self.shown(stack, lead);
                (shown["state"] == state).then_some(shown)
            })
            .await
    }
}

fn request(url: &str, origins: &[&str], body: &Value) -> reqwest::RequestBuilder {
    let mut headers = HeaderMap::new();
    for origin in origins {
        headers.append(HeaderName::from_static("origin"), HeaderValue::from_str(origin).expect("an origin"));
    }
    let request = reqwest::Client::new().post(url).headers(headers);
    request.header("content-type", "application/json").body(body.to_string())
}

/// The requests that the provider got, by phone number.
async fn provider_requests(stack: &Stack) -> BTreeMap<String, Vec<Value>> {
    let ledger = stack.request(Method::GET, &format!("{}/ledger", stack.text("providerUrl")), &[]).await;
    let mut by_number: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for entry in ledger.json.as_array().expect("a list") {
        // The readings of templates go to nobody.
        if let Some(to) = entry["body"]["to"].as_str() {
            by_number.entry(to.to_owned()).or_default().push(entry.clone());
        }
    }
    by_number
}

#[tokio::test]
async fn a_lead_gets_one_message_and_its_events_reach_the_receiver() {
    let stack = Stack::start("lead", &[]).await;
    let capturing = Capturing::start(&stack, "Lead", "1077000001");
    stack.webhook(&capturing.workspace, "/ok/lead", &[]);
    let phone = "+34600111999";

    let asks = [("origin", PAGE), ("access-control-request-method", "POST")];
    let preflight = stack.request(Method::OPTIONS, &capturing.url(&stack), &asks).await;
    assert_eq!((preflight.status, preflight.text.as_str()), (204, ""));
    assert_eq!(preflight.header("access-control-allow-origin"), PAGE);
    let allowed = "content-type, baggage, sentry-trace, traceparent, tracestate";
    assert_eq!(preflight.header("access-control-allow-headers"), allowed);

    let answer = capturing.post(&stack, &[PAGE], &capturing.body(phone, "pass-1")).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert_eq!(answer.header("access-control-allow-origin"), PAGE);
    let lead = answer.json["requestId"].as_str().unwrap().to_owned();
    assert_eq!(answer.json, json!({"requestId": lead}));
    let shown = capturing.wait_for_state(&stack, &lead, "SENT").await;

    // The same number within a day: a repeat after a lost response, and a new request.
    for token in ["pass-1", "pass-2"] {
        let again = capturing.post(&stack, &[PAGE], &capturing.body(phone, token)).await;
        assert_eq!((again.status, &again.json["requestId"]), (202, &json!(lead)), "{}", again.text);
    }

    let events = stack
        .wait_until("all events", async || {
            let received = stack.received("/ok/lead").await;
            let all: BTreeMap<String, Value> = received
                .into_iter()
                .map(|it| (it.json["eventType"].as_str().unwrap().to_owned(), it.json["payload"].clone()))
                .collect();
            (all.contains_key("lead.sent") && all.contains_key("message.updated")).then_some(all)
        })
        .await;
    let accepted = &events["lead.accepted"];
    assert_eq!((&accepted["state"], &accepted["contactId"]), (&json!("QUEUED"), &json!(null)));
    let sent = &events["lead.sent"];
    assert_eq!((&sent["requestId"], &sent["state"]), (&json!(lead), &json!("SENT")));
    assert_eq!(sent["utm"], json!({"utm_source": "search"}));
    assert_eq!(sent["contactId"], events["contact.created"]["id"]);
    assert_eq!(sent["conversationId"], shown["conversationId"]);
    assert_eq!(events["message.updated"]["status"], "SENT");

    let calls = &provider_requests(&stack).await[phone];
    assert_eq!(calls.len(), 1, "the provider gets one message");
    assert_eq!(calls[0]["body"]["template"]["name"], "lead_welcome");
    assert_eq!(calls[0]["body"]["template"]["components"][0]["parameters"][0]["text"], "Ana");
    assert_eq!(calls[0]["headers"]["authorization"], "Bearer line-token");

    // The API shows the conversation of the lead, and the message of an agent comes after the lead's message.
    let path = format!("/conversations/{}", sent["conversationId"].as_str().unwrap());
    let conversation = stack.api(Method::GET, &capturing.workspace, &path, None).await;
    assert_eq!(conversation.json["status"], "NOT_ASSIGNED_TO_HUMAN");
    assert_eq!(conversation.json["participants"]["externals"][0]["identifier"], phone);
    let said = json!({"conversationId": sent["conversationId"], "messageBody": "How may I help?"});
    let said = stack.api(Method::POST, &capturing.workspace, "/messages", Some(said)).await;
    assert_eq!(said.status, 201, "{}", said.text);
    let texts = stack
        .wait_until("the answer", async || {
            let calls = provider_requests(&stack).await.remove(phone)?;
            (calls.len() == 2).then_some(calls)
        })
        .await;
    assert_eq!(texts[1]["body"]["text"]["body"], "How may I help?");

    // The logs contain no data of the person.
    for personal in [phone, "Ana Sample", "utm_source", "pass-1", &capturing.key] {
        assert!(!stack.logs().contains(personal), "a log contains {personal}");
    }
}

#[tokio::test]
async fn a_request_that_may_not_send_leads_learns_nothing_and_changes_nothing() {
    let stack = Stack::start("strangers", &[]).await;
    let (mine, theirs) =
        (Capturing::start(&stack, "Mine", "1077000002"), Capturing::start(&stack, "Theirs", "1077000003"));
    let url = mine.url(&stack);
    let body = |token: &str| mine.body("+34600111888", token);
    let with = |field: &str, value: &str| {
        let mut body = body("pass-stranger");
        body[field] = json!(value);
        body
    };
    let nobody = format!("{}{PATH}", stack.text("captureUrl"));
    let rows = [
        ("a foreign page", request(&url, &["https://evil.example"], &body("pass-a"))),
        ("two origins", request(&url, &[PAGE, "https://evil.example"], &body("pass-b"))),
        ("two origins, the good one last", request(&url, &["https://evil.example", PAGE], &body("pass-c"))),
        ("another workspace's key", request(&url, &[PAGE], &with("captureKey", &theirs.key))),
        ("no key of any", request(&url, &[PAGE], &with("captureKey", "lck_"))),
        ("a machine", request(&url, &[PAGE], &body("score-0.1-d"))),
        ("another action", request(&url, &[PAGE], &body("action-login-e"))),
        ("another host", request(&url, &[PAGE], &body("host-evil.example-f"))),
        ("a token that is none", request(&url, &[PAGE], &body("made up"))),
        (
            "an unknown workspace",
            request(&nobody, &[PAGE], &with("workspaceId", "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f")),
        ),
    ];
    let mut told = BTreeSet::new();
    for (what, request) in rows {
        let answer = Stack::answer(request).await;
        assert_eq!(answer.status, 403, "{what}: {}", answer.text);
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert!(answer.headers.iter().all(|(name, _)| name != "x-request-id"), "{what}");
        told.insert(answer.text);
    }
    let refused = r#"{"type":"SERVICE.CAMPAIGN_LEADS.REJECTED","title":"Forbidden","status":403}"#;
    assert_eq!(told, BTreeSet::from([refused.to_owned()]));

    stack.console(&["capture", "disable", "--workspace", &mine.workspace.id]);
    let disabled = mine.post(&stack, &[PAGE], &body("pass-g")).await;
    assert_eq!((disabled.status, disabled.text.as_str()), (403, refused));
    assert_eq!(
        disabled.header("access-control-allow-origin"),
        PAGE,
        "the configured page may read even this response"
    );

    let unavailable = theirs.post(&stack, &[PAGE], &theirs.body("+34600111888", "status-503-h")).await;
    assert_eq!(unavailable.status, 422, "{}", unavailable.text);
    let landline = theirs.post(&stack, &[PAGE], &theirs.body("+346001118", "pass-i")).await;
    assert_eq!(landline.status, 400, "{}", landline.text);
    for workspace in [&mine.workspace, &theirs.workspace] {
        let leads = stack.console(&["lead", "list", "--workspace", &workspace.id]);
        assert_eq!(leads_in(&leads), Vec::<&Value>::new());
    }
    assert!(provider_requests(&stack).await.is_empty());
}

#[tokio::test]
async fn each_kind_of_failed_lead_reaches_its_state_and_only_an_operator_retries_it() {
    let stack = Stack::start("suppressed", &["SendRetrySchedule=1", "SendTimeoutSeconds=2"]).await;
    let capturing = Capturing::start(&stack, "Suppressed", "1077000004");
    stack.webhook(&capturing.workspace, "/ok/suppressed", &["lead.failed", "lead.sent"]);
    let id = capturing.workspace.id.clone();
    stack.console(&["opt-out", "add", "--workspace", &id, "--cellphone", "+34600112999"]);
    let opted_out = capturing.lead(&stack, "+34600112999").await;
    let shown = capturing.wait_for_state(&stack, &opted_out, "SUPPRESSED").await;
    assert_eq!(shown["error"], "OPTED_OUT");

    let unreachable = capturing.lead(&stack, "+34600110001").await;
    assert_eq!(capturing.wait_for_state(&stack, &unreachable, "FAILED").await["error"], "131026");
    let silent = capturing.lead(&stack, "+34600110005").await;
    assert_eq!(capturing.wait_for_state(&stack, &silent, "UNKNOWN").await["error"], "NO_ANSWER");
    let put_off = capturing.lead(&stack, "+34600110004").await;
    capturing.wait_for_state(&stack, &put_off, "SENT").await;

    // An operator retries the unknown lead. Nothing else retries it.
    stack.sweep();
    assert_eq!(provider_requests(&stack).await["+34600110005"].len(), 1);
    let retry = ["lead", "retry", "--workspace", &id, "--lead", &silent, "--may-send-twice"];
    stack.console(&retry);
    stack
        .wait_until("the second call", async || {
            (provider_requests(&stack).await["+34600110005"].len() == 2).then_some(())
        })
        .await;
    assert!(
        !provider_requests(&stack).await.contains_key("+34600112999"),
        "a person who opted out gets no message"
    );

    let mut told: Vec<(String, String)> = stack
        .wait_until("four failures and a success", async || {
            let received = stack.received("/ok/suppressed").await;
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let told =
                received.iter().map(|it| (text(&it.json["eventType"]), text(&it.json["payload"]["state"])));
            let told: Vec<_> = told.collect();
            (told.len() == 5).then_some(told)
        })
        .await;
    told.sort();
    let row = |event: &str, state: &str| (event.to_owned(), state.to_owned());
    let failed = |state| row("lead.failed", state);
    let expected = [
        failed("FAILED"),
        failed("SUPPRESSED"),
        failed("UNKNOWN"),
        failed("UNKNOWN"),
        row("lead.sent", "SENT"),
    ];
    assert_eq!(told, expected);
}

/// How many leads a long run has.
fn soaked() -> Option<usize> {
    std::env::var("SOAK_LEADS").ok()?.parse().ok()
}

/// While their template is paused, leads wait: all can be read at once, and none is called for. Each is sent once afterwards, and no
/// operator does anything. `SOAK_LEADS` is the number of leads (`make soak`: 1,000).
#[tokio::test]
async fn leads_wait_while_their_template_is_paused_and_are_sent_once_afterwards() {
    let many = soaked().unwrap_or(20);
    // Each look and each rescue is a visit, and the emulator has a few cores: it takes the leads before the first look.
    let look = (many / 5).max(5);
    let waits = Duration::from_secs(look as u64);
    let look = format!("TemplateLookSeconds={look}");
    let rescue = format!("FirstDueSeconds={}", (many / 20).max(1));
    let stack = Stack::start("paused", &[&rescue, &look]).await;
    let line = "1077000006";
    let capturing = Capturing::start(&stack, "Paused", line);
    let workspace = capturing.workspace.id.as_str();
    let registry = format!("{}/templates/{ACCOUNT}", stack.text("providerUrl"));
    let template = json!({
        "name": "lead_welcome", "language": "es",
        "components": [{ "type": "BODY", "text": "Hola {{1}}." }],
    });
    let data = json!({ "phoneNumberIds": [line], "data": [template] });
    let http = reqwest::Client::new();
    let set = Stack::answer(http.put(&registry).body(data.to_string())).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let command = async |command: &str, approved: Value| {
        let body = json!({ "command": command, "name": "lead_welcome", "language": "es" });
        let told = Stack::answer(http.post(&registry).body(body.to_string())).await;
        assert_eq!(told.status, 200, "{}", told.text);
        stack
            .wait_until(&format!("the effect of {command}"), async || {
                let listed = stack.console(&["template", "list", "--workspace", workspace]);
                (listed[0]["approved"] == approved).then_some(())
            })
            .await;
    };
    let states = || {
        let list = stack.console(&["lead", "list", "--workspace", workspace, "--limit", "1000"]);
        let state = |lead: &Value| lead["state"].as_str().unwrap_or_default().to_owned();
        leads_in(&list).into_iter().map(state).collect::<Vec<_>>()
    };
    let all_are = async |state: &str| {
        stack
            .wait_longer(waits, &format!("{many} leads to be {state}"), async || {
                stack.sweep();
                let states = states();
                (states.len() == many && states.iter().all(|of| of == state)).then_some(())
            })
            .await;
    };

    command("pause", json!([])).await;
    let phones: Vec<String> = (0..many).map(|n| format!("+34601{:06}", 101_000 + n)).collect();
    let accepted = post_all(&stack, &capturing, &phones).await;
    all_are("SENDING").await;
    let waits = "template cannot be sent for now, message waits";
    stack
        .wait_until("each message to be looked at", async || {
            (stack.logs().matches(waits).count() >= many).then_some(())
        })
        .await;
    // An agent sees each lead, and can call.
    for lead in accepted.values().take(20) {
        let shown = capturing.shown(&stack, lead);
        let conversation = shown["conversationId"].as_str().expect("an id");
        let path = format!("/conversations/{conversation}/messages");
        let listed = stack.api(Method::GET, &capturing.workspace, &path, None).await;
        let message = &listed.json["messages"][0];
        assert_eq!((listed.status, &message["status"]), (200, &json!("QUEUED")), "{}", listed.text);
        assert_eq!(message["content"]["name"], "lead_welcome", "{}", listed.text);
    }
    assert_eq!(provider_requests(&stack).await.len(), 0, "nothing was called for");

    command("reinstate", json!([ACCOUNT])).await;
    all_are("SENT").await;
    let asked = provider_requests(&stack).await;
    assert_eq!(asked.keys().collect::<BTreeSet<_>>(), accepted.keys().collect::<BTreeSet<_>>());
    for (phone, calls) in asked {
        let statuses: Vec<&Value> = calls.iter().map(|call| &call["answer"]["status"]).collect();
        assert_eq!(statuses, [200], "{phone}");
    }
}

/// Sends many leads while senders are killed and tasks are lost and repeated. Each number gets at most one message, and
/// each accepted lead reaches a final state. `SOAK_LEADS` is the number of leads (`make soak`: 1,000).
#[tokio::test]
async fn leads_outlive_killed_senders_lost_and_repeated_tasks() {
    let many = soaked().unwrap_or(200);
    let parameters = [
        "FirstDueSeconds=1",
        "SendRetrySchedule=1",
        "SendThrottleSchedule=1",
        "SendTimeoutSeconds=2",
        "SenderTimeoutSeconds=20",
        "SendLeaseSeconds=30",
    ];
    let stack = Stack::start("soak", &parameters).await;
    let capturing = Capturing::start(&stack, "Soak", "1077000005");
    let queue = ["sqs", "get-queue-url", "--queue-name", &format!("{}-lead-sends", stack.stack_name())];
    let queue = stack.aws(&queue)["QueueUrl"].as_str().unwrap().to_owned();

    // The last four digits select the provider's behaviour: 0001 to 0006 are the possible outcomes of a call.
    let phones: Vec<String> = (0..many).map(|n| format!("+3460{:07}", 1_110_000 + n)).collect();
    let mut accepted: BTreeMap<String, String> = BTreeMap::new();
    for (round, some) in phones.chunks(many.div_ceil(8)).enumerate() {
        accepted.extend(post_all(&stack, &capturing, some).await);
        match round % 4 {
            0 => {
                let senders = ["lead-sender", "message-sender"].map(|function| stack.processes_of(function));
                senders.into_iter().flatten().for_each(kill);
            }
            1 => _ = stack.aws(&["sqs", "purge-queue", "--queue-url", &queue]),
            2 => repeat_tasks(&stack, &capturing, &queue, accepted.values().rev().take(50)),
            _ => stack.sweep(),
        }
    }
    assert_eq!(accepted.len(), many);
    assert_eq!(accepted.values().collect::<BTreeSet<_>>().len(), many, "the ids of the leads are different");

    let states = stack
        .wait_until("all leads to have ended", async || {
            stack.sweep();
            tokio::time::sleep(Duration::from_millis(500)).await;
            let id = &capturing.workspace.id;
            let list = stack.console(&["lead", "list", "--workspace", id, "--limit", "1000"]);
            let states: BTreeMap<String, String> = leads_in(&list)
                .into_iter()
                .map(|lead| {
                    let text = |field: &str| lead[field].as_str().unwrap_or_default().to_owned();
                    (text("requestId"), text("state"))
                })
                .collect();
            let ended =
                |state: &String| ["SENT", "FAILED", "UNKNOWN", "SUPPRESSED"].contains(&state.as_str());
            (states.len() == many && states.values().all(ended)).then_some(states)
        })
        .await;
    assert_eq!(states.keys().collect::<BTreeSet<_>>(), accepted.values().collect::<BTreeSet<_>>());

    let asked = provider_requests(&stack).await;
    let mut sent = 0;
    for (phone, lead) in &accepted {
        let calls = asked.get(phone).map(Vec::as_slice).unwrap_or_default();
        let taken = calls.iter().filter(|call| call["answer"]["status"] == 200).count();
        assert!(taken <= 1, "{phone} got {taken} messages");
        let state = states[lead].as_str();
        // If a sender was killed during a call, the provider may have accepted the call or not.
        assert!(state != "SENT" || taken == 1, "{phone} is SENT but got no message");
        // What WhatsApp reports later counts, too.
        let is_refused_later = phone.ends_with("0009") && state == "FAILED";
        let is_right = ["SENT", "UNKNOWN"].contains(&state) || is_refused_later;
        assert!(taken == 0 || is_right, "{phone} got a message but is {state}");
        sent += usize::from(state == "SENT");
    }
    assert!(sent > many / 2, "{sent} of {many} were sent: {states:?}");
}

/// Posts leads, some of them concurrently. Returns their ids by phone number.
async fn post_all(stack: &Stack, capturing: &Capturing, phones: &[String]) -> BTreeMap<String, String> {
    let (mut under_way, mut accepted) = (JoinSet::new(), BTreeMap::new());
    let url = capturing.url(stack);
    for some in phones.chunks(8) {
        for phone in some {
            let request = request(&url, &[PAGE], &capturing.body(phone, &format!("pass-{phone}")));
            let phone = phone.clone();
            under_way.spawn(async move { (phone, Stack::answer(request).await) });
        }
        while let Some(answered) = under_way.join_next().await {
            let (phone, answer) = answered.expect("an answer");
            assert_eq!(answer.status, 202, "{phone}: {}", answer.text);
            accepted.insert(phone, answer.json["requestId"].as_str().expect("an id").to_owned());
        }
    }
    accepted
}

/// Queues leads again, as if each task were delivered twice.
fn repeat_tasks<'a>(
    stack: &Stack,
    capturing: &Capturing,
    queue: &str,
    leads: impl Iterator<Item = &'a String>,
) {
    let entry = |(at, lead): (usize, &String)| {
        let body = json!({"workspaceId": capturing.workspace.id, "leadId": lead}).to_string();
        json!({"Id": at.to_string(), "MessageBody": body, "MessageGroupId": capturing.workspace.id})
    };
    let entries: Vec<Value> = leads.enumerate().map(entry).collect();
    for batch in entries.chunks(10) {
        let batch = json!(batch).to_string();
        stack.aws(&["sqs", "send-message-batch", "--queue-url", queue, "--entries", &batch]);
    }
}

fn leads_in(list: &Value) -> Vec<&Value> {
    list.as_array().or_else(|| list["leads"].as_array()).expect("a list").iter().collect()
}
