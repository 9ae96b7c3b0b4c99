//! The tenants' webhook endpoints: URL, state, event filter, limits and slots.

use std::collections::BTreeSet;
use std::time::Duration;

use uuid::Uuid;

use crate::ids::{EndpointId, WorkspaceId};
use crate::lane::Slot;
use crate::patch::Patch;
use crate::text::{Unfit, within};
use crate::time::{Timestamp, days};
use crate::webhook::endpoint_url::EndpointUrl;
use crate::webhook::event::EventType;
use crate::webhook::pace::{CapTooLow, EndpointCaps};
use crate::words::words;

/// A tenant's webhook endpoint. Its secrets are stored separately ([`crate::EndpointSecrets`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// The endpoint's id.
    pub id: EndpointId,
    /// The workspace whose events the endpoint receives.
    pub workspace_id: WorkspaceId,
    /// The URL that receives the deliveries.
    pub url: EndpointUrl,
    /// What people call the endpoint.
    pub description: Option<String>,
    /// Whether the endpoint receives deliveries.
    pub state: EndpointState,
    /// The types of events that the endpoint receives.
    pub filter: EventFilter,
    /// The limits for the requests to the endpoint.
    pub caps: EndpointCaps,
    /// The number of partitions of its deliveries. It only increases.
    pub slots: u8,
    /// Deliveries of events before this time are no longer attempted, because the endpoint was disabled for
    /// too long.
    pub forgets_before: Option<Timestamp>,
    /// Since when every attempt fails, if that was reported to the workspace ([`WebhookEndpoint::reported_failing`]).
    pub failing_since: Option<Timestamp>,
    /// When the endpoint was created.
    pub created_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

impl WebhookEndpoint {
    /// The greatest number of endpoints in a workspace.
    pub const MAX_PER_WORKSPACE: usize = 10;
    /// The greatest number of slots of an endpoint. One slot can process about 400 deliveries per second.
    pub const MAX_SLOTS: u8 = 16;

    /// The greatest number of characters in a description.
    pub const MAX_DESCRIPTION: usize = 200;

    /// Parses a description: 1 to 200 characters in one line, not blank.
    pub fn parse_description(text: &str) -> Result<String, Unfit> {
        within(text, 1, Self::MAX_DESCRIPTION)?;
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            let reason = "a description cannot be blank or contain control characters";
            return Err(Unfit::Value { reason });
        }
        Ok(text.to_owned())
    }

    /// Whether the service attempts deliveries.
    pub fn is_enabled(&self) -> bool {
        self.state == EndpointState::Enabled
    }

    /// The next version of the endpoint with these changes. `None` if nothing changes.
    pub fn changed(&self, change: &EndpointChange) -> Result<Option<Self>, ChangeRefused> {
        let slots = change.slots.unwrap_or(self.slots);
        if slots < self.slots {
            return Err(ChangeRefused::FewerSlots { has: self.slots, wanted: slots });
        }
        let caps = EndpointCaps {
            concurrency: change.max_concurrency.applied_to(&self.caps.concurrency),
            per_second: change.max_per_second.applied_to(&self.caps.per_second),
        };
        caps.check_slots(slots)?;
        let next = Self {
            url: change.url.clone().unwrap_or_else(|| self.url.clone()),
            description: change.description.applied_to(&self.description),
            filter: change.filter.clone().unwrap_or_else(|| self.filter.clone()),
            caps,
            slots,
            ..self.clone()
        };
        Ok((next != *self).then(|| Self { version: self.version + 1, ..next }))
    }

    /// The names of the settings in which another version of the endpoint differs, as the API and the console name them.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let settings = [
            ("url", self.url != other.url),
            ("description", self.description != other.description),
            ("events", self.filter != other.filter),
            ("maxConcurrency", self.caps.concurrency != other.caps.concurrency),
            ("maxPerSecond", self.caps.per_second != other.caps.per_second),
            ("slots", self.slots != other.slots),
        ];
        settings.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// The disabled endpoint. `None` if it is disabled already; its first reason stays.
    pub fn disabled(&self, reason: DisabledReason, now: Timestamp) -> Option<Self> {
        let state = EndpointState::Disabled { since: now, reason };
        self.is_enabled().then(|| Self { state, version: self.version + 1, ..self.clone() })
    }

    /// The enabled endpoint. `None` if it is enabled already. If it was disabled for longer than
    /// [`PARKED_FOR`], its older deliveries are not attempted.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        let EndpointState::Disabled { since, .. } = self.state else { return None };
        let is_too_long = now.since(since) > PARKED_FOR;
        let forgets_before = if is_too_long { Some(now) } else { self.forgets_before };
        let version = self.version + 1;
        let state = EndpointState::Enabled;
        Some(Self { state, forgets_before, failing_since: None, version, ..self.clone() })
    }

    /// The endpoint whose attempts all fail since this moment, which its workspace is now told. `None` if it was told
    /// already, or if the endpoint is disabled.
    pub fn reported_failing(&self, since: Timestamp) -> Option<Self> {
        let is_new = self.is_enabled() && self.failing_since.is_none();
        is_new.then(|| Self { failing_since: Some(since), version: self.version + 1, ..self.clone() })
    }

    /// The endpoint after an acknowledged attempt. `None` if no failure was reported.
    pub fn recovered(&self) -> Option<Self> {
        self.failing_since?;
        Some(Self { failing_since: None, version: self.version + 1, ..self.clone() })
    }

    /// The slot of the deliveries of events about this contact, conversation or lead. They share a slot, because only the
    /// visits of one slot keep an order.
    pub fn slot_of(&self, subject: &Uuid) -> Slot {
        let number = subject.as_u128() % u128::from(self.slots.max(1));
        self.slot(u8::try_from(number).unwrap_or_default())
    }

    /// All slots of the endpoint.
    pub fn all_slots(&self) -> impl Iterator<Item = Slot> {
        (0..self.slots.max(1)).map(|number| self.slot(number))
    }

    fn slot(&self, number: u8) -> Slot {
        Slot { workspace: self.workspace_id, endpoint: self.id, number }
    }

    /// Whether a delivery of an event from this time is still attempted.
    pub fn remembers(&self, created_at: Timestamp) -> bool {
        self.forgets_before.is_none_or(|before| before <= created_at)
    }
}

/// A change of an endpoint's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointChange {
    /// The new URL.
    pub url: Option<EndpointUrl>,
    /// The new description.
    pub description: Patch<String>,
    /// The new types of events.
    pub filter: Option<EventFilter>,
    /// The new cap on concurrent posts.
    pub max_concurrency: Patch<u16>,
    /// The new cap on posts per second.
    pub max_per_second: Patch<u16>,
    /// The new number of slots.
    pub slots: Option<u8>,
}

/// Why settings do not fit the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeRefused {
    /// The number of slots cannot be reduced, because slots hold deliveries.
    FewerSlots {
        /// The current number of slots.
        has: u8,
        /// The requested number of slots.
        wanted: u8,
    },
    /// The cap is lower than the number of slots, which send requests independently of each other.
    CapTooLow(CapTooLow),
}

impl From<CapTooLow> for ChangeRefused {
    fn from(cap: CapTooLow) -> Self {
        Self::CapTooLow(cap)
    }
}

/// The slots that an event is recorded for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscribers {
    /// Of the enabled endpoints: the event is delivered.
    pub enabled: Vec<Slot>,
    /// Of the disabled endpoints: the event is kept for a recovery ([`crate::JobKind::Recover`]).
    pub disabled: Vec<Slot>,
}

impl Subscribers {
    /// Those of these endpoints that subscribed to events of this type, with the slots for this subject.
    pub fn among<'a>(
        endpoints: impl IntoIterator<Item = &'a WebhookEndpoint>,
        event_type: EventType,
        subject: &Uuid,
    ) -> Self {
        let subscribed = endpoints.into_iter().filter(|endpoint| endpoint.filter.takes(event_type));
        let (enabled, disabled): (Vec<_>, Vec<_>) = subscribed.partition(|endpoint| endpoint.is_enabled());
        let slots = |of: Vec<&WebhookEndpoint>| of.iter().map(|endpoint| endpoint.slot_of(subject)).collect();
        Self { enabled: slots(enabled), disabled: slots(disabled) }
    }

    /// Whether nobody subscribed.
    pub fn is_empty(&self) -> bool {
        self.enabled.is_empty() && self.disabled.is_empty()
    }

    /// All slots: 0 to 10.
    pub fn all(&self) -> impl Iterator<Item = Slot> {
        self.enabled.iter().chain(&self.disabled).copied()
    }
}

impl From<Vec<Slot>> for Subscribers {
    /// Slots of enabled endpoints.
    fn from(enabled: Vec<Slot>) -> Self {
        Self { enabled, disabled: vec![] }
    }
}

/// How long deliveries wait for a disabled endpoint: 14 days.
pub const PARKED_FOR: Duration = days(14);

/// Whether an endpoint receives deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointState {
    /// The endpoint receives deliveries.
    Enabled,
    /// The endpoint receives no deliveries. New events are not delivered to it; pending deliveries are
    /// parked.
    Disabled {
        /// When the endpoint was disabled.
        since: Timestamp,
        /// Who or what disabled the endpoint.
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
    /// An operator disabled the endpoint.
    Operator,
    /// The tenant disabled the endpoint by the API.
    Tenant,
    /// The endpoint responded with 410.
    Gone,
    /// Every attempt failed for five days.
    Failing,
}

words!(
    /// The names in rows and lists.
    DisabledReason { Operator: "OPERATOR", Tenant: "TENANT", Gone: "GONE", Failing: "FAILING" }
);

/// The types of events that an endpoint receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// All types, including future ones.
    All,
    /// Only these types, at least one.
    Only(BTreeSet<EventType>),
}

impl EventFilter {
    /// Parses dotted names. An empty list, or a list with `*`, means all types.
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

    /// Whether an event of this type passes the filter. A trial delivery always passes, because an operator
    /// requests it.
    pub fn takes(&self, event_type: EventType) -> bool {
        match self {
            Self::All => true,
            Self::Only(types) => event_type == EventType::WebhookTest || types.contains(&event_type),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn endpoint() -> WebhookEndpoint {
        WebhookEndpoint {
            id: EndpointId::from_uuid(Uuid::from_u128(2)),
            workspace_id: WorkspaceId::from_uuid(Uuid::from_u128(1)),
            url: EndpointUrl::restore("https://example.com/").unwrap(),
            description: None,
            state: EndpointState::Enabled,
            filter: EventFilter::parse(["contact.updated"]).unwrap(),
            caps: EndpointCaps::default(),
            slots: 4,
            forgets_before: None,
            failing_since: None,
            created_at: NOW,
            version: 1,
        }
    }

    #[test]
    fn an_endpoint_is_disabled_once_and_enabled_once() {
        let first = endpoint();
        let disabled = first.disabled(DisabledReason::Gone, NOW).unwrap();
        let state = EndpointState::Disabled { since: NOW, reason: DisabledReason::Gone };
        assert_eq!(disabled, WebhookEndpoint { state, version: 2, ..first.clone() });
        assert_eq!(disabled.disabled(DisabledReason::Operator, NOW), None, "the first reason stays");
        let enabled = WebhookEndpoint { version: 3, ..first.clone() };
        assert_eq!((disabled.enabled(NOW), first.enabled(NOW)), (Some(enabled), None));
        assert_eq!((first.is_enabled(), disabled.is_enabled()), (true, false));
        assert_eq!([first.state, state].map(EndpointState::as_str), ["ENABLED", "DISABLED"]);
    }

    #[test]
    fn an_event_is_recorded_for_the_endpoints_that_subscribed_whether_they_are_enabled_or_not() {
        let (subject, first) = (Uuid::from_u128(6), endpoint());
        let second = WebhookEndpoint { id: EndpointId::from_uuid(Uuid::from_u128(9)), ..endpoint() };
        let disabled = second.disabled(DisabledReason::Gone, NOW).unwrap();
        let among = |event_type| Subscribers::among([&first, &disabled], event_type, &subject);
        let updated = among(EventType::ContactUpdated);
        let expected = Subscribers {
            enabled: vec![first.slot_of(&subject)],
            disabled: vec![disabled.slot_of(&subject)],
        };
        assert_eq!((updated.is_empty(), &updated), (false, &expected));
        assert_eq!(updated.all().map(|slot| slot.endpoint).collect::<Vec<_>>(), [first.id, disabled.id]);
        assert!(among(EventType::ContactCreated).is_empty());
        assert!(!Subscribers::among([&disabled], EventType::ContactUpdated, &subject).is_empty());
    }

    #[test]
    fn a_change_makes_the_next_version_only_if_something_differs() {
        let first = WebhookEndpoint { description: Some("orders".to_owned()), ..endpoint() };
        let url = EndpointUrl::restore("https://example.com/other").unwrap();
        let rows = [
            (EndpointChange::default(), vec![]),
            (EndpointChange { url: Some(url), ..EndpointChange::default() }, vec!["url"]),
            (EndpointChange { url: Some(first.url.clone()), ..EndpointChange::default() }, vec![]),
            (
                EndpointChange { description: Patch::Clear, slots: Some(5), ..EndpointChange::default() },
                vec!["description", "slots"],
            ),
            (
                EndpointChange {
                    filter: Some(EventFilter::All),
                    max_concurrency: Patch::Set(4),
                    max_per_second: Patch::Set(9),
                    ..EndpointChange::default()
                },
                vec!["events", "maxConcurrency", "maxPerSecond"],
            ),
            (EndpointChange { max_concurrency: Patch::Clear, ..EndpointChange::default() }, vec![]),
        ];
        for (change, fields) in rows {
            let next = first.changed(&change).unwrap();
            assert_eq!(next.as_ref().map_or(vec![], |next| first.differences(next)), fields, "{change:?}");
            assert_eq!(next.map(|next| next.version), (!fields.is_empty()).then_some(2));
        }
        let cap = |cap| EndpointChange { max_per_second: Patch::Set(cap), ..EndpointChange::default() };
        let low = CapTooLow { field: "maxPerSecond", cap: 3, slots: 4 };
        assert_eq!(first.changed(&cap(3)), Err(ChangeRefused::CapTooLow(low)));
        let fewer = EndpointChange { slots: Some(3), ..EndpointChange::default() };
        assert_eq!(first.changed(&fewer), Err(ChangeRefused::FewerSlots { has: 4, wanted: 3 }));
    }

    #[test]
    fn a_description_is_one_line_that_says_something() {
        for (text, fits) in
            [("orders", true), ("", false), (" ", false), ("a\nb", false), (&"x".repeat(200), true)]
        {
            assert_eq!(WebhookEndpoint::parse_description(text).is_ok(), fits, "{text:?}");
        }
        assert!(WebhookEndpoint::parse_description(&"x".repeat(201)).is_err());
    }

    #[test]
    fn a_failure_is_reported_once_until_an_attempt_succeeds_or_the_endpoint_is_enabled_again() {
        let first = endpoint();
        let failing = first.reported_failing(NOW).unwrap();
        assert_eq!(failing, WebhookEndpoint { failing_since: Some(NOW), version: 2, ..first.clone() });
        assert_eq!((failing.reported_failing(NOW), first.recovered()), (None, None));
        assert_eq!(failing.recovered(), Some(WebhookEndpoint { version: 3, ..first.clone() }));
        let disabled = failing.disabled(DisabledReason::Failing, NOW).unwrap();
        assert_eq!(disabled.reported_failing(NOW), None);
        assert_eq!(disabled.enabled(NOW), Some(WebhookEndpoint { version: 4, ..first }));
    }

    #[test]
    fn an_endpoint_that_was_disabled_for_over_14_days_forgets_what_waited() {
        let disabled = endpoint().disabled(DisabledReason::Operator, NOW).unwrap();
        let late = NOW.plus(days(14));
        let [moment, earlier] = [Duration::from_millis(1), Duration::from_secs(3_600)];
        let forgetful = WebhookEndpoint { forgets_before: Some(NOW.minus(earlier)), ..disabled.clone() };
        for (endpoint, at, forgets_before) in [
            (&disabled, late, None),
            (&disabled, late.plus(moment), Some(late.plus(moment))),
            (&forgetful, late, forgetful.forgets_before),
            (&forgetful, late.plus(moment), Some(late.plus(moment))),
        ] {
            assert_eq!(endpoint.enabled(at).unwrap().forgets_before, forgets_before);
        }
        assert!(disabled.remembers(Timestamp::from_millis(0)));
        let enabled = disabled.enabled(late.plus(moment)).unwrap();
        assert_eq!([late, late.plus(moment)].map(|at| enabled.remembers(at)), [false, true]);
    }

    #[test]
    fn the_deliveries_of_an_endpoint_spread_over_its_slots() {
        let slot = |endpoint: &WebhookEndpoint, number| Slot {
            workspace: endpoint.workspace_id,
            endpoint: endpoint.id,
            number,
        };
        // An endpoint without a number of slots has one.
        for (slots, numbers) in [(4, [0, 1, 2, 3, 0, 1]), (3, [0, 1, 2, 0, 1, 2]), (1, [0; 6]), (0, [0; 6])] {
            let endpoint = WebhookEndpoint { slots, ..endpoint() };
            let of = |n| endpoint.slot_of(&Uuid::from_u128(n));
            assert_eq!([0, 1, 2, 3, 4, 5].map(of), numbers.map(|number| slot(&endpoint, number)), "{slots}");
            let all: Vec<Slot> = (0..slots.max(1)).map(|number| slot(&endpoint, number)).collect();
            assert_eq!(endpoint.all_slots().collect::<Vec<_>>(), all, "{slots}");
        }
    }

    #[test]
    fn a_filter_passes_the_types_it_lists_and_an_empty_list_passes_all() {
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
