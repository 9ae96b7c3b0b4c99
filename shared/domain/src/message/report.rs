//! What the provider reports about a part after it received the call.
//!
//! ```text
//!           QUEUED, SENDING   UNKNOWN     FAILED      SENT        DELIVERED   READ
//! sent      too early         SENT        -           -           -           -
//! failed    too early         FAILED      -           FAILED      -           -
//! delivered too early         DELIVERED   DELIVERED   DELIVERED   -           -
//! read      too early         READ        READ        READ        READ        -
//! ```
//!
//! The provider repeats its reports, in any order. The times of a part are the earliest that it names, so every
//! order of the same reports about one send ends in the same part. Its pricing is that of `read`, else of `delivered`. That of
//! `sent` counts only if the part changes anyway, because the provider repeats it with the next status.

use crate::message::{Message, MessageStatus, Part, Priced, PricedBy, Pricing};
use crate::sending::PartError;
use crate::time::Timestamp;

/// A report about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The provider's id of the send that the report is about.
    pub provider_message_id: String,
    /// What happened.
    pub kind: ReportKind,
    /// What the provider charges, if the report says so.
    pub pricing: Option<Pricing>,
    /// When it happened.
    pub at: Timestamp,
}

/// What happened to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The provider sent it.
    Sent,
    /// It reached the customer.
    Delivered,
    /// The customer read it.
    Read,
    /// It was not delivered.
    Failed(PartError),
}

/// What a report changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Nothing: the message has no such part.
    NoPart,
    /// Nothing yet: the outcome of the call is not recorded.
    TooEarly,
    /// Nothing: the part is as advanced already.
    Unchanged,
    /// The message is now this one.
    Changed(Box<Message>),
}

impl Message {
    /// The message after a report about the part at this position.
    pub fn reported(&self, part: usize, report: &Report, now: Timestamp) -> Reported {
        let Some(before) = self.parts.get(part) else { return Reported::NoPart };
        if !before.status.is_final() {
            return Reported::TooEarly;
        }
        let after = before.reported(report);
        if after == *before {
            return Reported::Unchanged;
        }
        let mut next = self.clone();
        next.parts[part] = after;
        next.version += 1;
        next.updated_at = self.updated_at.next_change(now);
        Reported::Changed(Box::new(next))
    }

    /// When the last of the parts reached its customer; `None` until all did.
    pub fn delivered_at(&self) -> Option<Timestamp> {
        last(self.parts.iter().map(|part| part.delivered_at))
    }

    /// When the last of the parts was read; `None` until all were.
    pub fn read_at(&self) -> Option<Timestamp> {
        last(self.parts.iter().map(|part| part.read_at))
    }
}

impl Part {
    fn reported(&self, report: &Report) -> Self {
        let known = self.provider_message_id.as_deref();
        // Another send of the part than the accepted one. That it failed says nothing about the accepted one.
        let is_other = known.is_some_and(|known| known != report.provider_message_id);
        let earliest = |time: Option<Timestamp>| Some(time.map_or(report.at, |time| time.min(report.at)));
        let to = |status: MessageStatus| Self {
            status: self.status.max(status),
            provider_message_id: Some(known.unwrap_or(&report.provider_message_id).to_owned()),
            error: None,
            is_held: false,
            ..self.clone()
        };
        let priced = |by: PricedBy, part: Self| {
            let said = report.pricing.clone().map(|pricing| Priced { by, pricing });
            let pricing = match (part.pricing.clone(), said) {
                (Some(had), Some(said)) => Some(had.or(said)),
                (had, said) => had.or(said),
            };
            Self { pricing, ..part }
        };
        match (&report.kind, self.status) {
            (ReportKind::Delivered, _) => {
                let delivered_at = earliest(self.delivered_at);
                priced(PricedBy::Delivered, Self { delivered_at, ..to(MessageStatus::Delivered) })
            }
            (ReportKind::Read, _) => {
                let (delivered_at, read_at) = (earliest(self.delivered_at), earliest(self.read_at));
                priced(PricedBy::Read, Self { delivered_at, read_at, ..to(MessageStatus::Read) })
            }
            _ if is_other => self.clone(),
            (ReportKind::Sent, MessageStatus::Unknown) => priced(PricedBy::Sent, to(MessageStatus::Sent)),
            // The provider holds it no longer.
            (ReportKind::Sent, MessageStatus::Sent) if self.is_held => {
                priced(PricedBy::Sent, to(MessageStatus::Sent))
            }
            (ReportKind::Failed(error), MessageStatus::Unknown | MessageStatus::Sent) => {
                // From SENT, this is the only step to a lower rank: the provider takes its acceptance back.
                let status = MessageStatus::Failed;
                Self { status, error: Some(error.clone()), ..to(status) }
            }
            // Of several codes for one send, the order must not decide.
            (ReportKind::Failed(error), MessageStatus::Failed) if known.is_some() => {
                let error = self.error.iter().chain([error]).min_by_key(|error| error.in_order()).cloned();
                Self { error, ..self.clone() }
            }
            _ => self.clone(),
        }
    }
}

/// The last of these times; `None` if one is absent or there are none.
fn last(times: impl Iterator<Item = Option<Timestamp>>) -> Option<Timestamp> {
    times.collect::<Option<Vec<_>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests;
