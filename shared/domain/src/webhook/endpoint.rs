//! Customers' webhook endpoints: where, whether, which events, under which secrets.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::ids::{EndpointId, EventId, WorkspaceId};
use crate::lane::Slot;
use crate::text::Unfit;
use crate::time::Timestamp;
use crate::webhook::endpoint_url::EndpointUrl;
use crate::webhook::event::EventType;
use crate::webhook::pace::EndpointCaps;

/// A customer's webhook endpoint. Its secrets stand apart ([`crate::EndpointSecrets`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// The endpoint's id.
    pub id: EndpointId,
    /// The workspace whose events it gets.
    pub workspace_id: WorkspaceId,
    /// Where deliveries go.
    pub url: EndpointUrl,
    /// Whether it gets any.
    pub state: EndpointState,
    /// Which events it gets.
    pub filter: EventFilter,
    /// What the operator allows it at most.
    pub caps: EndpointCaps,
    /// How many partitions its deliveries are spread over. It only grows.
    pub slots: u8,
    /// Deliveries of events before this moment are not attempted any more: it was disabled too long for them.
    pub forgets_before: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

impl WebhookEndpoint {
    /// The greatest number of endpoints of a workspace.
    pub const MAX_PER_WORKSPACE: usize = 10;
    /// The greatest number of slots of an endpoint. One bears about 400 deliveries a second.
    pub const MAX_SLOTS: u8 = 16;

    /// Whether an event of that type is to be delivered here.
    pub fn wants(&self, event_type: EventType) -> bool {
        self.is_enabled() && self.filter.takes(event_type)
    }

    /// Whether deliveries are attempted.
    pub fn is_enabled(&self) -> bool {
        self.state == EndpointState::Enabled
    }

    /// The endpoint once disabled; `None` when it is already, whose first reason stays.
    pub fn disabled(&self, reason: DisabledReason, now: Timestamp) -> Option<Self> {
        let state = EndpointState::Disabled { since: now, reason };
        self.is_enabled().then(|| Self { state, version: self.version + 1, ..self.clone() })
    }

    /// The endpoint once enabled; `None` when it is already. What was parked for longer than [`PARKED_FOR`] is left.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        let EndpointState::Disabled { since, .. } = self.state else { return None };
        let is_too_long = now.since(since) > PARKED_FOR;
        let forgets_before = if is_too_long { Some(now) } else { self.forgets_before };
        let version = self.version + 1;
        Some(Self { state: EndpointState::Enabled, forgets_before, version, ..self.clone() })
    }

    /// The slot that an event's delivery stands in.
    pub fn slot_of(&self, event: EventId) -> Slot {
        let number = event.as_uuid().as_u128() % u128::from(self.slots.max(1));
        self.slot(u8::try_from(number).unwrap_or_default())
    }

    /// All its slots.
    pub fn all_slots(&self) -> impl Iterator<Item = Slot> {
        (0..self.slots.max(1)).map(|number| self.slot(number))
    }

    fn slot(&self, number: u8) -> Slot {
        Slot { workspace: self.workspace_id, endpoint: self.id, number }
    }

    /// Whether a delivery of an event of that moment is still to be attempted.
    pub fn remembers(&self, created_at: Timestamp) -> bool {
        self.forgets_before.is_none_or(|before| before <= created_at)
    }
}

/// How long deliveries wait for a disabled endpoint to be enabled.
pub const PARKED_FOR: Duration = Duration::from_secs(14 * 86_400);

/// Whether an endpoint gets deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointState {
    /// It does.
    Enabled,
    /// It does not: events that come now pass it by, deliveries under way are parked.
    Disabled {
        /// Since when.
        since: Timestamp,
        /// Who or what disabled it.
        reason: DisabledReason,
    },
}

impl EndpointState {
    /// `ENABLED` or `DISABLED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "ENABLED",
            Self::Disabled { .. } => "DISABLED",
        }
    }
}

/// Why an endpoint is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    /// The operator did it.
    Operator,
    /// It answered 410.
    Gone,
    /// It did nothing but fail for five days.
    Failing,
}

impl DisabledReason {
    const ALL: &'static [(&'static str, Self)] =
        &[("OPERATOR", Self::Operator), ("GONE", Self::Gone), ("FAILING", Self::Failing)];

    /// Reads a row's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, reason)| *reason)
            .ok_or(Unfit::NotOneOf { expected: &["OPERATOR", "GONE", "FAILING"] })
    }

    /// The word for rows and lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "OPERATOR",
            Self::Gone => "GONE",
            Self::Failing => "FAILING",
        }
    }
}

/// Which events an endpoint gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// All types, future ones too.
    All,
    /// These, at least one.
    Only(BTreeSet<EventType>),
}

impl EventFilter {
    /// Reads dotted names; none, or `*` among them, means all.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Unfit> {
        let names: Vec<&str> = names.into_iter().collect();
        if names.is_empty() || names.contains(&"*") {
            return Ok(Self::All);
        }
        names.into_iter().map(EventType::parse).collect::<Result<_, _>>().map(Self::Only)
    }

    /// The dotted names; `*` for all.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::All => vec!["*"],
            Self::Only(types) => types.iter().map(|event_type| event_type.as_str()).collect(),
        }
    }

    /// Whether an event of that type passes. A trial delivery, which the operator asks for, always does.
    pub fn takes(&self, event_type: EventType) -> bool {
        match self {
            Self::All => true,
            Self::Only(types) => event_type == EventType::WebhookTest || types.contains(&event_type),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_what_it_names_and_none_named_is_all() {
        let updates = EventFilter::parse(["contact.updated", "contact.updated"]).unwrap();
        assert_eq!(updates.names(), ["contact.updated"]);
        assert!(updates.takes(EventType::ContactUpdated));
        assert!(!updates.takes(EventType::ContactCreated));
        assert!(updates.takes(EventType::WebhookTest));
        for all in [EventFilter::parse([]).unwrap(), EventFilter::parse(["contact.created", "*"]).unwrap()] {
            assert_eq!(all.names(), ["*"]);
            assert!(all.takes(EventType::LeadFailed));
        }
        assert!(EventFilter::parse(["contact.*"]).is_err());
    }
}
