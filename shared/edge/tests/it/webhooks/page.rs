//! `docs/webhooks.md`: these tests generate the parts between marks and compare the lists of names.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use domain::Retention;
use domain::retry::{Jitter, RetrySchedule};
use domain::webhook::{PARKED_FOR, SigningSecrets};
use domain::{
    Attempt, AttemptError, AttemptOutcome, DeliveryState, EndpointUrl, Event, EventType, WebhookEndpoint,
};
use edge::view;
use uuid::Uuid;

use super::events::{at, examples, from_customer, written_by_customers};
use super::vectors::shown_request;
use crate::made::{hold, read, with};

const PAGE: &str = "docs/webhooks.md";
const LANGUAGES: [(&str, &str); 4] =
    [("verify.py", "python"), ("verify.js", "js"), ("verify.php", "php"), ("verify.rb", "ruby")];

#[test]
fn the_page_contains_the_generated_parts_and_the_tested_programs() {
    let mut page = read(PAGE);
    for (file, language) in LANGUAGES {
        let program = read(&format!("tests/receivers/{file}"));
        assert!(program.lines().count() > 20, "tests/receivers/{file} is missing");
        page = with(&page, file, &format!("```{language}\n{program}```\n"));
    }
    page = with(&page, "request", &request());
    page = with(&page, "events", &events());
    page = with(&page, "contents", &contents());
    page = with(&page, "retries", &retries());
    page = with(&page, "limits", &limits());
    hold(PAGE, &page);
}

/// A complete request: the first of the test vectors.
fn request() -> String {
    let (headers, body, secret) = shown_request();
    let mut shown = "```\nPOST /your/path\ncontent-type: application/json\n".to_owned();
    for (name, value) in headers {
        writeln!(shown, "{name}: {value}").unwrap();
    }
    format!("{shown}\n{}\n```\n\nIt is signed with `{secret}`.\n", String::from_utf8(body).unwrap())
}

fn events() -> String {
    let mut shown = String::new();
    for example in examples() {
        let Event { event_type, .. } = example.event;
        let body = pretty(&example.body);
        let (name, entity, when) = (event_type.as_str(), event_type.entity(), example.when);
        write!(shown, "\n### `{name}`\n\n{when} `entity`: `{entity}`.\n\n```json\n{body}\n```\n").unwrap();
        if event_type == EventType::MessageCreated {
            let body = pretty(&from_customer().body);
            write!(shown, "\nA customer answered:\n\n```json\n{body}\n```\n").unwrap();
        }
    }
    shown + "\n"
}

/// What a customer's message of each type shows.
fn contents() -> String {
    let mut shown = "| `type` | `messageBody` | `content` |\n|---|---|---|\n".to_owned();
    for message in written_by_customers() {
        let view = serde_json::to_string(&view::message(&message)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&view).unwrap();
        let content = serde_json::to_string(&view::message_content(&message)).unwrap();
        let (name, body) = (read["type"].as_str().unwrap(), &read["messageBody"]);
        writeln!(shown, "| `{name}` | `{body}` | `{content}` |").unwrap();
    }
    shown
}

fn retries() -> String {
    let (schedule, begun) = (RetrySchedule::default(), at(0));
    let wait =
        |failures, jitter| schedule.next_attempt(failures, None, jitter, begun).map(|at| at.since(begun));
    let longest = Jitter::of(&Uuid::max());
    let mut shown =
        "| Attempt | After the previous failure | With jitter at most | After the first attempt, at least |\n\
                     |---|---|---|---|\n| 1 | | | |\n"
            .to_owned();
    let mut since_first = Duration::ZERO;
    for failures in 1.. {
        let (Some(least), Some(most)) = (wait(failures, Jitter::NONE), wait(failures, longest)) else {
            break;
        };
        since_first += least;
        let (least, most, since_first) = (spoken(least), spoken(most), spoken(since_first));
        writeln!(shown, "| {} | {least} | {most} | {since_first} |", failures + 1).unwrap();
    }
    shown
}

/// `2 h 30 m`.
fn spoken(time: Duration) -> String {
    let seconds = time.as_secs();
    let parts =
        [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
    parts.join(" ")
}

fn limits() -> String {
    let days = |time: Duration| format!("{} days", time.as_secs() / 86_400);
    let hours = |time: Duration| format!("{} hours", time.as_secs() / 3_600);
    let rows = [
        ("endpoints of a workspace", WebhookEndpoint::MAX_PER_WORKSPACE.to_string()),
        ("a URL", format!("{} bytes", EndpointUrl::MAX)),
        ("a body", format!("{} bytes", Event::MAX_BODY)),
        ("the kept part of your answer's body", format!("{} bytes", Attempt::MAX_ANSWER)),
        ("events, deliveries and attempts are kept", days(Retention::EVENTS)),
        ("a parked delivery waits for its endpoint", days(PARKED_FOR)),
        ("a replaced secret still signs for", hours(SigningSecrets::OVERLAP)),
    ];
    rows.iter().fold("| | |\n|---|---|\n".to_owned(), |shown, (what, limit)| {
        shown + &format!("| {what} | {limit} |\n")
    })
}

/// The body with line breaks, in the field order of the original.
fn pretty(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap();
    let (mut shown, mut depth, mut in_text, mut escaped) = (String::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        let closes_at_once = text[at + c.len_utf8()..].starts_with([']', '}']);
        let line = |depth: usize, shown: &mut String| {
            shown.push('\n');
            shown.push_str(&"  ".repeat(depth));
        };
        match c {
            _ if in_text => {
                in_text = c != '"' || escaped;
                escaped = c == '\\' && !escaped;
                shown.push(c);
            }
            '{' | '[' if !closes_at_once => {
                depth += 1;
                shown.push(c);
                line(depth, &mut shown);
            }
            '}' | ']' if !shown.ends_with(['[', '{']) => {
                depth -= 1;
                line(depth, &mut shown);
                shown.push(c);
            }
            ',' => {
                shown.push(c);
                line(depth, &mut shown);
            }
            ':' => shown.push_str(": "),
            c => {
                in_text = c == '"';
                shown.push(c);
            }
        }
    }
    let (left, right): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(&shown).unwrap(), serde_json::from_slice(body).unwrap());
    assert_eq!(left, right);
    shown
}

/// The text in backquotes at the beginning of each row of the table between these marks.
fn listed(name: &str) -> BTreeSet<String> {
    let page = read(PAGE);
    let table = page.split_once(&format!("<!-- {name}: held to the code by a test -->")).unwrap().1;
    let table = table.split_once(&format!("<!-- /{name} -->")).unwrap().0;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(word, _)| word.to_owned()).collect()
}

fn words(words: impl IntoIterator<Item = &'static str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_page_lists_exactly_the_error_codes_states_and_headers() {
    use AttemptError::*;
    let answered = [300, 400].map(|status| AttemptOutcome::Answered { status, retry_after: None });
    let failed = [Timeout, ConnectFailed, TlsFailed, DnsFailed, AddressRefused, AnswerBroken, WorkerDied];
    let codes = answered.into_iter().chain(failed.map(AttemptOutcome::Failed));
    assert_eq!(listed("errors"), words(codes.filter_map(AttemptOutcome::error_code)));
    assert_eq!(listed("states"), words(DeliveryState::NAMES.iter().copied()));
    assert_eq!(listed("headers"), words(shown_request().0.into_iter().map(|(name, _)| name)));
    assert_eq!(listed("types"), words(EventType::NAMES.iter().copied()));
}

/// The documented fields, in order.
#[test]
fn every_payload_has_the_documented_fields() {
    let message = "id conversationId workspaceId sequence direction sender type messageBody content \
                   referral referredProduct forwarded providerErrors raw rawTruncated mediaIds replyToMessageId \
                   enableExternalBroadcast status parts createdAt updatedAt editedAt revokedAt deliveredAt readAt";
    let contact = "id firstName lastName email cellphone workspaceId type languageCode ownerId customAttributes \
                   externalId providerUserIds createdAt updatedAt";
    let conversation = "id workspaceId participants createdAt updatedAt name status";
    let lead = "requestId state cellphone name error errorInWords errorDetail contactId conversationId messageId \
                brandId landingUri utm consent createdAt updatedAt";
    let summary = "conversationId messages firstMessageAt lastMessageAt participants durationSeconds";
    for example in examples() {
        let fields = match example.event.event_type {
            EventType::ContactCreated | EventType::ContactUpdated => contact,
            EventType::ConversationCreated | EventType::ConversationUpdated => conversation,
            EventType::ConversationSummaryCreated => summary,
            EventType::MessageCreated | EventType::MessageUpdated => message,
            EventType::LeadAccepted | EventType::LeadSent | EventType::LeadFailed => lead,
            EventType::ContactMerged => "contactId mergedContactId workspaceId mergedAt contact merged",
            EventType::ContactErased => "id workspaceId erasedAt",
            EventType::ContactOptedOut => "contactId workspaceId scope providerChannelId source optedOutAt",
            EventType::ContactOptedIn => "contactId workspaceId scope providerChannelId source optedInAt",
            EventType::ContactConflict => "contactId workspaceId reason otherContactId occurredAt",
            EventType::TemplateUpdated => {
                "id scope name language category parameterFormat header body footer offer buttons cards parameters statuses createdAt \
                 businessAccountId previousStatus"
            }
            EventType::LineUpdated => {
                "providerChannelId displayPhoneNumber businessAccountId verifiedName nameStatus quality messagingLimit status notice"
            }
            EventType::AccountUpdated => {
                "businessAccountId status restrictions reviewStatus messagingLimit notice"
            }
            EventType::WebhookEndpointDisabled => "endpointId url reason since parkedUntil",
            EventType::WebhookEndpointFailing => "endpointId url failingSince disabledAt",
            EventType::EventRedacted => "eventType",
            EventType::WebhookTest => "endpointId",
        };
        let shown = pretty(&example.body);
        let names = |indent: &str| -> Vec<String> {
            let lines = shown.lines().filter_map(|line| line.strip_prefix(indent)?.strip_prefix('"'));
            lines.filter_map(|line| Some(line.split_once("\": ")?.0.to_owned())).collect()
        };
        assert_eq!(names("  ").join(" "), "eventId eventType entity workspaceId timestamp payload");
        assert_eq!(names("    ").join(" "), fields, "{}", example.event.event_type.as_str());
    }
}
