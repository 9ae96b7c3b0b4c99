//! Events and their ids, which are derived from the changes.

use uuid::Uuid;

use crate::ids::{EndpointId, EventId, WorkspaceId};
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of event ids. With another namespace, old changes would get new ids, and receivers would
/// process redeliveries as new events.
const EVENTS: Uuid = Uuid::from_u128(0x7d6c_1f0a_93b4_4e57_8a21_5c0e_9be4_d316);
const REPLAYS: Uuid = Uuid::from_u128(0x91d3_5a7e_4c08_4b6f_9e2d_08c7_f51b_6ad4);

/// The id of a replay of an endpoint's deliveries. The same parameters always give the same id. `until` is
/// `None` for a replay up to the present.
pub fn replay_of(endpoint: EndpointId, since: Timestamp, until: Option<Timestamp>) -> Uuid {
    let until = until.map(|until| until.as_millis().to_string()).unwrap_or_default();
    Uuid::new_v5(&REPLAYS, format!("{endpoint}|{}|{until}", since.as_millis()).as_bytes())
}

/// The types of events, which an endpoint's filter can select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// A contact was created.
    ContactCreated,
    /// A contact changed.
    ContactUpdated,
    /// A contact became part of another one.
    ContactMerged,
    /// A contact was erased with everything that belongs to the person.
    ContactErased,
    /// A person opted out of templates.
    ContactOptedOut,
    /// A person opted in again.
    ContactOptedIn,
    /// What the provider says of a contact contradicts what is known.
    ContactConflict,
    /// A conversation was created.
    ConversationCreated,
    /// A conversation changed.
    ConversationUpdated,
    /// A conversation was released, and its summary was created.
    ConversationSummaryCreated,
    /// A message was created.
    MessageCreated,
    /// A message's status changed.
    MessageUpdated,
    /// A lead was accepted.
    LeadAccepted,
    /// A lead's first message was sent.
    LeadSent,
    /// A lead's first message could not be sent.
    LeadFailed,
    /// A message template changed.
    TemplateUpdated,
    /// What the provider says of a line changed.
    LineUpdated,
    /// What the provider says of a business account changed.
    AccountUpdated,
    /// A webhook endpoint was disabled. The endpoint itself does not get it.
    WebhookEndpointDisabled,
    /// Every attempt of a webhook endpoint fails for two and a half days. The endpoint itself does not get it.
    WebhookEndpointFailing,
    /// An event whose data was erased with the person that it was about. Its delivery carries this type
    /// instead of its own.
    EventRedacted,
    /// An operator requested a trial delivery.
    WebhookTest,
}

words!(
    /// The dotted names, in the order of the table in `docs/webhooks.md`.
    EventType {
        ContactCreated: "contact.created",
        ContactUpdated: "contact.updated",
        ContactMerged: "contact.merged",
        ContactErased: "contact.erased",
        ContactOptedOut: "contact.opted_out",
        ContactOptedIn: "contact.opted_in",
        ContactConflict: "contact.conflict",
        ConversationCreated: "conversation.created",
        ConversationUpdated: "conversation.updated",
        ConversationSummaryCreated: "conversation_summary.created",
        MessageCreated: "message.created",
        MessageUpdated: "message.updated",
        LeadAccepted: "lead.accepted",
        LeadSent: "lead.sent",
        LeadFailed: "lead.failed",
        TemplateUpdated: "template.updated",
        LineUpdated: "line.updated",
        AccountUpdated: "account.updated",
        WebhookEndpointDisabled: "webhook.endpoint_disabled",
        WebhookEndpointFailing: "webhook.endpoint_failing",
        EventRedacted: "event.redacted",
        WebhookTest: "webhook.test",
    }
);

impl EventType {
    /// The `entity` field of the body: the noun and the action, in the pattern that the specification shows
    /// for `contact.updated`.
    pub fn entity(self) -> &'static str {
        match self {
            Self::ContactCreated => "contact_creations",
            Self::ContactUpdated => "contact_updates",
            Self::ContactMerged => "contact_merges",
            Self::ContactErased => "contact_erasures",
            Self::ContactOptedOut => "contact_opt_outs",
            Self::ContactOptedIn => "contact_opt_ins",
            Self::ContactConflict => "contact_conflicts",
            Self::ConversationCreated => "conversation_creations",
            Self::ConversationUpdated => "conversation_updates",
            Self::ConversationSummaryCreated => "conversation_summary_creations",
            Self::MessageCreated => "message_creations",
            Self::MessageUpdated => "message_updates",
            Self::LeadAccepted => "lead_acceptances",
            Self::LeadSent => "lead_sends",
            Self::LeadFailed => "lead_failures",
            Self::TemplateUpdated => "template_updates",
            Self::LineUpdated => "line_updates",
            Self::AccountUpdated => "account_updates",
            Self::WebhookEndpointDisabled | Self::WebhookEndpointFailing => "webhook_endpoint_updates",
            Self::EventRedacted => "event_redactions",
            Self::WebhookTest => "webhook_tests",
        }
    }
}

/// An event without its payload: all fields of a body except `payload`, in the order of the body (`eventId`,
/// `eventType`, `entity`, `workspaceId`, `timestamp`, `payload`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id, which is derived from the change. Receivers recognise redeliveries by it.
    pub id: EventId,
    /// The type of the change.
    pub event_type: EventType,
    /// The workspace of the change.
    pub workspace_id: WorkspaceId,
    /// When the change happened; for a contact this is its `updatedAt`. Printed without milliseconds.
    pub at: Timestamp,
}

impl Event {
    /// The greatest size of a body in bytes.
    pub const MAX_BODY: usize = 256 * 1024;

    /// The event of a change. The same change always gives the same id, so a repeated stream record repeats
    /// the event and does not add one. The id includes the time, because versions repeat after a table is
    /// restored to an earlier state.
    pub fn of_change(
        event_type: EventType,
        workspace_id: WorkspaceId,
        entity_id: &Uuid,
        version: u64,
        at: Timestamp,
    ) -> Self {
        let change = format!("{}|{entity_id}|{version}|{}", event_type.as_str(), at.as_millis());
        let id = EventId::from_uuid(Uuid::new_v5(&EVENTS, change.as_bytes()));
        Self { id, event_type, workspace_id, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn event(event_type: EventType, entity: u128, version: u64) -> Event {
        let workspace = WorkspaceId::from_uuid(Uuid::from_u128(1));
        Event::of_change(event_type, workspace, &Uuid::from_u128(entity), version, AT)
    }

    #[test]
    fn each_type_parses_and_its_entity_begins_with_its_noun() {
        for event_type in EventType::ALL {
            let (name, entity) = (event_type.as_str(), event_type.entity());
            assert_eq!(EventType::parse(name), Ok(event_type));
            assert!(entity.starts_with(&format!("{}_", name.split('.').next().unwrap())), "{entity}");
        }
        assert_eq!(EventType::ContactUpdated.entity(), "contact_updates");
        assert!(EventType::parse("contact.removed").is_err());
    }

    #[test]
    fn a_body_has_at_most_256_kilobytes() {
        assert_eq!(Event::MAX_BODY, 262_144);
    }

    #[test]
    fn the_same_change_always_has_the_same_id() {
        // Fixed values: a change of the derivation would send every event a second time under another id.
        let updated = event(EventType::ContactUpdated, 2, 7);
        assert_eq!(updated.id.to_string(), "d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd");
    }

    #[test]
    fn the_same_replay_always_has_the_same_id_and_other_replays_have_others() {
        let endpoint = |n| EndpointId::from_uuid(Uuid::from_u128(n));
        let later = AT.plus(std::time::Duration::from_millis(1));
        let replay = replay_of(endpoint(3), AT, None);
        // A fixed value: a change of the derivation would make a repeated command send everything a second
        // time.
        assert_eq!(replay.to_string(), "e92c5e1c-f21b-513e-930a-1b6949bd9193");
        for other in [
            replay_of(endpoint(4), AT, None),
            replay_of(endpoint(3), later, None),
            replay_of(endpoint(3), AT, Some(later)),
        ] {
            assert_ne!(other, replay);
        }
    }

    #[test]
    fn other_changes_have_other_ids() {
        let updated = event(EventType::ContactUpdated, 2, 7);
        assert_ne!(updated.id, event(EventType::ContactUpdated, 2, 8).id);
        assert_ne!(updated.id, event(EventType::ContactCreated, 2, 7).id);
        assert_ne!(updated.id, event(EventType::ContactUpdated, 3, 7).id);
        // Versions repeat after a table was restored to an earlier time.
        let (workspace, contact) = (updated.workspace_id, Uuid::from_u128(2));
        let later = AT.plus(std::time::Duration::from_millis(1));
        assert_ne!(updated.id, Event::of_change(EventType::ContactUpdated, workspace, &contact, 7, later).id);
    }
}
