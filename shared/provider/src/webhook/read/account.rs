//! What the provider says about business accounts and lines.

use domain::ChannelId;
use domain::raw::Raw;
use domain::settings::reported::{AccountFact, AccountStatus, LineFact, Restriction, digits_of};
use serde_json::Value;

use super::items::{About, AccountEvent, LineName};
use super::values::{entry_moment, list, moment, text};
use crate::webhook::pieces::{ENTRY_TIME, Piece};

/// The events of an account after which it cannot send as before.
const ALARMING: [&str; 8] = [
    "ACCOUNT_RESTRICTION",
    "ACCOUNT_VIOLATION",
    "DISABLED_UPDATE",
    "ACCOUNT_DELETED",
    "ACCOUNT_OFFBOARDED",
    "PHONE_NUMBER_REMOVED",
    "PARTNER_REMOVED",
    "PARTNER_APP_UNINSTALLED",
];
/// The greatest number of bytes that are kept of a piece.
const MAX_RAW: usize = 4_096;
/// The greatest number of characters of a word of the provider, and of a sentence.
const MAX_WORD: usize = 256;
const MAX_SENTENCE: usize = 1_024;
/// The greatest number of restrictions that are kept.
const MAX_RESTRICTIONS: usize = 20;

/// The news of a piece. `None` if they are not of the documented form.
pub(super) fn event(piece: &Piece) -> Option<AccountEvent> {
    let value = &piece.value;
    let noticed = |event: String| Some((event, raw(value)));
    let (about, notice) = match piece.field.as_str() {
        "account_update" => (of_update(value)?, noticed(word(&value["event"])?)),
        "account_alerts" => {
            let info = if value["alert_info"].is_object() { &value["alert_info"] } else { value };
            (of_alert(value)?, noticed(word(&info["alert_type"])?))
        }
        "account_review_update" => {
            (About::Account(vec![(AccountFact::ReviewStatus, word(&value["decision"])?)], None), None)
        }
        "business_capability_update" => {
            let limits = ["max_daily_conversations_per_business", "max_daily_conversation_per_phone"];
            let limit = limits.iter().find_map(|name| word(&value[*name]))?;
            (About::Account(vec![(AccountFact::MessagingLimit, limit)], None), None)
        }
        "phone_number_quality_update" => {
            let event = word(&value["event"])?;
            (About::Line(by_number(value)?, of_quality(value, &event)), noticed(event))
        }
        _ => (About::Line(by_number(value)?, of_name(value)?), None),
    };
    let is_alarming = notice.as_ref().is_some_and(|(event, _)| ALARMING.contains(&event.as_str()));
    let at = entry_moment(&value[ENTRY_TIME]);
    Some(AccountEvent { account: piece.account.clone(), at, about, notice, is_alarming })
}

fn of_update(value: &Value) -> Option<About> {
    let status = match value["event"].as_str()? {
        "ACCOUNT_RESTRICTION" => Some(AccountStatus::Restricted),
        "ACCOUNT_VIOLATION" => Some(AccountStatus::Violation),
        "ACCOUNT_DELETED" => Some(AccountStatus::Deleted),
        "ACCOUNT_OFFBOARDED" => Some(AccountStatus::Offboarded),
        // The same event says that a ban begins, that it will, and that it ended.
        "DISABLED_UPDATE" => match value["ban_info"]["waba_ban_state"].as_str() {
            Some("REINSTATE") => Some(AccountStatus::Active),
            Some("SCHEDULE_FOR_DISABLE") => None,
            _ => Some(AccountStatus::Disabled),
        },
        _ => None,
    };
    let facts = status.map(|status| (AccountFact::Status, status.as_str().to_owned()));
    let restrictions = match status {
        Some(AccountStatus::Restricted) => Some(
            list(&value["restriction_info"]).iter().take(MAX_RESTRICTIONS).filter_map(restriction).collect(),
        ),
        Some(AccountStatus::Active) => Some(vec![]),
        _ => None,
    };
    Some(About::Account(facts.into_iter().collect(), restrictions))
}

fn restriction(value: &Value) -> Option<Restriction> {
    Some(Restriction {
        kind: word(&value["restriction_type"])?,
        until: moment(&value["expiration"]),
        remediation: text(&value["remediation"]).map(|words| cut(&words, MAX_SENTENCE)),
    })
}

/// An alert is about the account unless it names a line.
fn of_alert(value: &Value) -> Option<About> {
    Some(match value["entity_type"].as_str()? {
        "PHONE_NUMBER" => {
            let id = text(&value["entity_id"]).and_then(|id| ChannelId::parse(&id).ok())?;
            About::Line(LineName::Id(id), vec![])
        }
        _ => About::Account(vec![], None),
    })
}

fn of_quality(value: &Value, event: &str) -> Vec<(LineFact, String)> {
    let status = match event {
        "FLAGGED" => Some("FLAGGED"),
        "UNFLAGGED" => Some("CONNECTED"),
        _ => None,
    };
    let limits = ["max_daily_conversations_per_business", "current_limit"];
    let limit = limits.iter().find_map(|name| word(&value[*name]));
    let status = status.map(|status| (LineFact::Status, status.to_owned()));
    status.into_iter().chain(limit.map(|limit| (LineFact::MessagingLimit, limit))).collect()
}

fn of_name(value: &Value) -> Option<Vec<(LineFact, String)>> {
    let decision = word(&value["decision"])?;
    let name = word(&value["requested_verified_name"]).filter(|_| decision == "APPROVED");
    let name = name.map(|name| (LineFact::VerifiedName, name));
    Some(std::iter::once((LineFact::NameStatus, decision)).chain(name).collect())
}

fn by_number(value: &Value) -> Option<LineName> {
    let digits = digits_of(&text(&value["display_phone_number"])?);
    (!digits.is_empty()).then_some(LineName::Digits(digits))
}

/// The piece as the provider sent it, without the time of its entry.
fn raw(value: &Value) -> Raw {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.remove(ENTRY_TIME);
    }
    Raw::at_most(MAX_RAW, &value.to_string())
}

fn word(value: &Value) -> Option<String> {
    text(value).map(|word| cut(&word, MAX_WORD))
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}
