//! What becomes of an accepted message.

use serde_json::{Value, json};

use super::line::{self, ACCOUNT, WebhookChange};
use super::person::CustomerIds;
use crate::simulator::whatsapp::Recipient;

/// A message that the provider accepted.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) line: String,
    pub(super) id: String,
    pub(super) to: Recipient,
    /// `biz_opaque_callback_data` of the call.
    pub(super) callback_data: Option<String>,
    /// What the provider charges for it.
    pub(super) pricing: Value,
    /// Seconds since the epoch.
    pub(super) at: u64,
}

/// The statuses of a message, in the order in which they are posted.
#[derive(Debug)]
pub(super) struct Course {
    statuses: &'static [Kind],
    /// Whether they are posted before the call is answered.
    pub(super) is_before_answer: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Sent,
    Delivered,
    Read,
    Failed,
    /// Failed, because the template was paused after it was accepted.
    Paused,
}

use Kind::{Delivered, Failed, Paused, Read, Sent};

const fn after(statuses: &'static [Kind]) -> Course {
    Course { statuses, is_before_answer: false }
}

/// The courses for the last four digits of a recipient.
static COURSES: [(&str, Course); 7] = [
    ("0007", after(&[Sent, Delivered])),
    ("0008", after(&[Sent, Delivered, Read])),
    ("0009", after(&[Sent, Failed])),
    ("0010", after(&[Read, Sent, Delivered, Read, Delivered, Sent])),
    ("0011", Course { statuses: &[Sent, Delivered], is_before_answer: true }),
    ("9013", after(&[])),
    ("9014", after(&[Paused])),
];
static ONLY_SENT: Course = after(&[Sent]);

/// The recipients whose messages the provider accepts and holds, as it does with a template whose quality it does not know yet.
const HELD: [&str; 2] = ["9013", "9014"];

/// The word for what the provider does with a message to this recipient that it accepts.
pub(super) fn message_status(to: &Recipient) -> &'static str {
    let is_held = HELD.iter().any(|digits| to.as_str().ends_with(digits));
    if is_held { "held_for_quality_assessment" } else { "accepted" }
}

/// The course of a message to this recipient.
pub(super) fn course(to: &Recipient) -> &'static Course {
    COURSES.iter().find(|(digits, _)| to.as_str().ends_with(digits)).map_or(&ONLY_SENT, |(_, course)| course)
}

impl Course {
    /// The webhooks, one for each status.
    pub(super) fn webhooks(&self, message: &Accepted) -> Vec<Value> {
        self.statuses.iter().map(|kind| line::webhook(&[change(*kind, message)])).collect()
    }
}

/// What a message costs: templates are charged, and within 24 hours of a customer's message everything else is free.
pub(super) fn pricing(body: &Value) -> Value {
    let (billable, category, kind) = match body["type"] == "template" {
        true => (true, "utility", "regular"),
        false => (false, "service", "free_customer_service"),
    };
    json!({ "billable": billable, "pricing_model": "PMP", "category": category, "type": kind })
}

/// As at Meta, a `failed` status names the recipient only as the call did, and has no contact beside it.
fn change(kind: Kind, message: &Accepted) -> WebhookChange {
    let word = match kind {
        Sent => "sent",
        Delivered => "delivered",
        Read => "read",
        Failed | Paused => "failed",
    };
    let mut status = json!({ "id": message.id, "status": word, "timestamp": message.at.to_string() });
    if let Some(data) = &message.callback_data {
        status["biz_opaque_callback_data"] = json!(data);
    }
    let mut value = line::value(&message.line);
    let mut person = CustomerIds::of(&message.to);
    if let Failed | Paused = kind {
        if let Recipient::Number(_) = message.to {
            person.user_id = None;
        }
        let (code, title, details) = match kind {
            Paused => (132_015, "Template is Paused", "The template is paused due to low quality."),
            Sent | Delivered | Read | Failed => (131_026, "Message undeliverable", "Message Undeliverable."),
        };
        status["errors"] = json!([{
            "code": code,
            "title": title,
            "message": title,
            "error_data": { "details": details },
        }]);
    } else {
        status["pricing"] = message.pricing.clone();
        value["contacts"] = json!([person.contact(None)]);
    }
    if let Some(wa_id) = person.wa_id {
        status["recipient_id"] = json!(wa_id);
    }
    if let Some(user_id) = person.user_id {
        status["recipient_user_id"] = json!(user_id);
    }
    value["statuses"] = json!([status]);
    WebhookChange { account: ACCOUNT.to_owned(), field: "messages".to_owned(), value }
}
