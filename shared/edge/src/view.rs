//! The representations of resources in the API and the webhooks. Every documented field is present; an absent
//! value is `null`.

mod received;

pub use received::{CardView, ContentView};

use std::collections::BTreeMap;

use domain::attribute::AttributeDefinition;
use domain::media::Declared;
use domain::message::Content;
use domain::{
    Contact, ContactId, Conversation, Definitions, EndpointId, Event, EventType, External, FileType,
    Internal, Lead, Media, MediaId, Message, MessageBody, MessageId, OptOut, PLATFORM, Part, Summary,
    Timestamp, User, WorkspaceId,
};
use serde::Serialize;

/// A contact in endpoints 5 to 7 and in the `contact.*` events. The four fields that the specification shows
/// for `contact.updated` come first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContactView<'a> {
    id: String,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    email: Option<&'a str>,
    cellphone: Option<&'a str>,
    workspace_id: String,
    #[serde(rename = "type")]
    contact_type: &'static str,
    language_code: Option<&'static str>,
    owner_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_attributes: Option<Vec<ContactAttributeView<'a>>>,
    created_at: String,
    updated_at: String,
}

#[derive(Debug, Serialize)]
struct ContactAttributeView<'a> {
    key: &'a str,
    values: Vec<&'a str>,
}

/// A contact with its attributes by the workspace's definitions at this time. Content of archived attributes
/// stays stored but is not shown.
pub fn contact<'a>(contact: &'a Contact, definitions: &'a Definitions, now: Timestamp) -> ContactView<'a> {
    let attributes = definitions.active(now).filter_map(|definition| contact_attribute(contact, definition));
    ContactView {
        id: contact.id.to_string(),
        first_name: contact.first_name.as_ref().map(|name| name.as_str()),
        last_name: contact.last_name.as_ref().map(|name| name.as_str()),
        email: contact.email.as_ref().map(|email| email.as_str()),
        cellphone: contact.cellphone.as_ref().map(|cellphone| cellphone.as_str()),
        workspace_id: contact.workspace_id.to_string(),
        contact_type: contact.contact_type(definitions, now).as_str(),
        language_code: contact.language.map(|language| language.as_str()),
        owner_id: contact.owner.as_ref().map(|owner| owner.id.to_string()),
        custom_attributes: Some(attributes.collect()),
        created_at: contact.created_at.to_string(),
        updated_at: contact.updated_at.to_string(),
    }
}

impl ContactView<'_> {
    /// The contact without `customAttributes`, for an event that would exceed the size limit. CLOSED
    /// attributes store the ids of their values, and the shown values can have thousands of characters.
    pub fn without_attributes(self) -> Self {
        Self { custom_attributes: None, ..self }
    }
}

fn contact_attribute<'a>(
    contact: &'a Contact,
    definition: &'a AttributeDefinition,
) -> Option<ContactAttributeView<'a>> {
    let values = contact.attributes.get(&definition.id)?.texts(definition);
    Some(ContactAttributeView { key: &definition.key_name, values })
}

/// Endpoint 5: a page of contacts. The cursor of the last page is the empty string, because its type in the
/// specification is `string`.
#[derive(Debug, Serialize)]
pub struct ContactsView<'a> {
    /// The contacts of the page.
    pub contacts: Vec<ContactView<'a>>,
    /// The cursor of the next page.
    pub cursor: String,
}

/// A custom attribute definition in endpoint 8.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttributeView<'a> {
    id: String,
    category: &'static str,
    is_required: bool,
    key_name: &'a str,
    #[serde(rename = "type")]
    attribute_type: &'static str,
    closed_attributes_values: Vec<ClosedValueView<'a>>,
    deleted_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct ClosedValueView<'a> {
    id: String,
    value: &'a str,
}

/// A definition. The list of values of an OPEN one is empty.
pub fn attribute(definition: &AttributeDefinition) -> AttributeView<'_> {
    AttributeView {
        id: definition.id.to_string(),
        category: definition.category.as_str(),
        is_required: definition.is_required,
        key_name: &definition.key_name,
        attribute_type: definition.attribute_type.as_str(),
        closed_attributes_values: definition
            .closed_values
            .iter()
            .map(|value| ClosedValueView { id: value.id.to_string(), value: &value.value })
            .collect(),
        deleted_at: definition.deleted_at.map(|at| at.to_string()),
    }
}

/// Endpoint 8: the definitions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttributesView<'a> {
    /// The definitions in the order of their creation.
    pub custom_attributes: Vec<AttributeView<'a>>,
}

/// An internal user in endpoint 9.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserView<'a> {
    id: String,
    status: &'static str,
    created_at: String,
    updated_at: String,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    email: &'a str,
    cellphone: Option<&'a str>,
    language_code: Option<&'static str>,
}

/// The representation of an internal user.
pub fn user(user: &User) -> UserView<'_> {
    UserView {
        id: user.id.to_string(),
        status: user.status.as_str(),
        created_at: user.created_at.to_string(),
        updated_at: user.updated_at.to_string(),
        first_name: user.first_name.as_ref().map(|name| name.as_str()),
        last_name: user.last_name.as_ref().map(|name| name.as_str()),
        email: user.email.as_str(),
        cellphone: user.cellphone.as_ref().map(|cellphone| cellphone.as_str()),
        language_code: user.language.map(|language| language.as_str()),
    }
}

/// A conversation in endpoints 1 to 4 and in the `conversation.*` events.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView<'a> {
    id: String,
    workspace_id: String,
    participants: ParticipantsView,
    created_at: String,
    updated_at: String,
    name: Option<&'a str>,
    status: &'static str,
}

/// The participants of a conversation.
#[derive(Debug, Serialize)]
pub struct ParticipantsView {
    externals: Vec<ParticipantView>,
    internals: Vec<ParticipantView>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParticipantView {
    identifier: String,
    identifier_type: &'static str,
    role: &'static str,
    joined_at: String,
    last_seen_at: Option<String>,
}

/// The representation of a conversation.
pub fn conversation(conversation: &Conversation) -> ConversationView<'_> {
    ConversationView {
        id: conversation.id.to_string(),
        workspace_id: conversation.workspace_id.to_string(),
        participants: participants(conversation),
        created_at: conversation.created_at.to_string(),
        updated_at: conversation.updated_at.to_string(),
        name: conversation.name.as_ref().map(|name| name.as_str()),
        status: conversation.status.as_str(),
    }
}

/// The participants, each with the caller's identifier in its canonical form.
pub fn participants(conversation: &Conversation) -> ParticipantsView {
    ParticipantsView {
        externals: conversation.externals.iter().map(external).collect(),
        internals: conversation.internals.iter().map(internal).collect(),
    }
}

fn external(external: &External) -> ParticipantView {
    ParticipantView {
        identifier: external.shown.identifier(),
        identifier_type: external.shown.identifier_type(),
        role: "EXTERNAL",
        joined_at: external.joined_at.to_string(),
        last_seen_at: external.last_seen_at.map(|at| at.to_string()),
    }
}

fn internal(internal: &Internal) -> ParticipantView {
    ParticipantView {
        identifier: internal.shown.identifier(),
        identifier_type: internal.shown.identifier_type(),
        role: "INTERNAL",
        joined_at: internal.joined_at.to_string(),
        last_seen_at: internal.last_seen_at.map(|at| at.to_string()),
    }
}

/// Endpoint 2: a page of conversations. The cursor of the last page is `null`.
#[derive(Debug, Serialize)]
pub struct ConversationsView<'a> {
    /// The conversations of the page.
    pub conversations: Vec<ConversationView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// The payload of `conversation_summary.created`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryView {
    conversation_id: String,
    messages: TallyView,
    first_message_at: Option<String>,
    last_message_at: Option<String>,
    participants: ParticipantsView,
    duration_seconds: u64,
}

#[derive(Debug, Serialize)]
struct TallyView {
    inbound: usize,
    outbound: usize,
    internal: usize,
}

/// The summary of a released conversation.
pub fn summary(summary: &Summary) -> SummaryView {
    let tally = &summary.tally;
    SummaryView {
        conversation_id: summary.conversation.id.to_string(),
        messages: TallyView { inbound: tally.inbound, outbound: tally.outbound, internal: tally.internal },
        first_message_at: tally.first.map(|at| at.to_string()),
        last_message_at: tally.last.map(|at| at.to_string()),
        participants: participants(&summary.conversation),
        duration_seconds: summary.duration().as_secs(),
    }
}

/// A lead in the `lead.*` events.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadView<'a> {
    request_id: String,
    state: &'static str,
    contact_id: Option<String>,
    conversation_id: Option<String>,
    brand_id: &'a str,
    landing_uri: &'a str,
    utm: &'a BTreeMap<String, String>,
}

/// The representation of a lead. It contains the ids of contact and conversation once both exist.
pub fn lead(lead: &Lead) -> LeadView<'_> {
    LeadView {
        request_id: lead.id.to_string(),
        state: lead.state.as_str(),
        contact_id: lead.opened.then(|| lead.contact.to_string()),
        conversation_id: lead.opened.then(|| lead.conversation.to_string()),
        brand_id: lead.brand.as_str(),
        landing_uri: lead.landing_uri.as_str(),
        utm: lead.utm.values(),
    }
}

/// The payload of `contact.opted_out` and `contact.opted_in`. It has no number: the row of an erased person has
/// none, too.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OptOutView {
    contact_id: Option<String>,
    workspace_id: String,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    opted_out_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opted_in_at: Option<String>,
}

/// The representation of a choice about templates.
pub fn opt_out(opt_out: &OptOut) -> OptOutView {
    let at = || opt_out.since.to_string();
    OptOutView {
        contact_id: opt_out.contact.map(|contact| contact.to_string()),
        workspace_id: opt_out.workspace_id.to_string(),
        source: opt_out.source.as_str(),
        opted_out_at: opt_out.is_out().then(at),
        opted_in_at: (!opt_out.is_out()).then(at),
    }
}

/// The payload of `contact.erased`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErasedView {
    id: String,
    workspace_id: String,
    erased_at: String,
}

/// The payload of the event of an erased contact.
pub fn erased(contact: ContactId, workspace: WorkspaceId, at: Timestamp) -> ErasedView {
    ErasedView { id: contact.to_string(), workspace_id: workspace.to_string(), erased_at: at.to_string() }
}

/// The payload of `event.redacted`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedactedView {
    event_type: &'static str,
}

/// The payload of an event of this type whose data was erased.
pub fn redacted(event_type: EventType) -> RedactedView {
    RedactedView { event_type: event_type.as_str() }
}

/// The body of an event whose data was erased with the person that it was about. It has the same id and says
/// what type the event had.
pub fn redacted_body(event: &Event) -> Result<Vec<u8>, serde_json::Error> {
    let note = Event { event_type: EventType::EventRedacted, ..event.clone() };
    event_body(&note, &redacted(event.event_type))
}

/// The payload of `webhook.test`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialView {
    endpoint_id: String,
}

/// The payload of a trial event for this endpoint.
pub fn trial(endpoint: EndpointId) -> TrialView {
    TrialView { endpoint_id: endpoint.to_string() }
}

/// A message in the `message.*` events and in answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageView<'a> {
    id: String,
    conversation_id: String,
    workspace_id: String,
    direction: &'static str,
    sender: SenderView,
    #[serde(rename = "type")]
    message_type: &'static str,
    message_body: Option<&'a str>,
    /// `null` for what the workspace sends and for a customer's text: the other fields show it.
    content: Option<ContentView<'a>>,
    media_ids: Vec<String>,
    reply_to_message_id: Option<String>,
    enable_external_broadcast: bool,
    status: &'static str,
    parts: Vec<PartView<'a>>,
    created_at: String,
    updated_at: String,
    delivered_at: Option<String>,
    read_at: Option<String>,
}

/// The author of a message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SenderView {
    #[serde(rename = "type")]
    sender_type: &'static str,
    contact_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PartView<'a> {
    recipient: String,
    index: usize,
    status: &'static str,
    provider_message_id: Option<&'a str>,
    error: Option<&'a str>,
    delivered_at: Option<String>,
    read_at: Option<String>,
}

/// The representation of a message. A template has neither text nor files, because the sender fills it for
/// each recipient.
pub fn message(message: &Message) -> MessageView<'_> {
    let (body, sender) = match &message.content {
        Content::Written { body, .. } => (body.as_ref().map(MessageBody::as_str), None),
        Content::Template(_) => (None, None),
        Content::Received(received) => (received.text(), Some(received)),
    };
    MessageView {
        id: message.id.to_string(),
        conversation_id: message.conversation.to_string(),
        workspace_id: message.workspace_id.to_string(),
        direction: message.direction().as_str(),
        sender: SenderView {
            sender_type: message.sent_by.as_str(),
            contact_id: sender.map(|received| received.contact.to_string()),
        },
        message_type: message.message_type().as_str(),
        message_body: body,
        content: message_content(message),
        media_ids: message.files().iter().map(|file| file.media.to_string()).collect(),
        reply_to_message_id: message.reply_to.map(|id| id.to_string()),
        enable_external_broadcast: message.is_broadcast(),
        status: message.shown_status(),
        parts: message.parts.iter().map(part).collect(),
        created_at: message.created_at.to_string(),
        updated_at: message.updated_at.to_string(),
        delivered_at: message.delivered_at().map(|at| at.to_string()),
        read_at: message.read_at().map(|at| at.to_string()),
    }
}

/// The object `content` of a message: what a customer's message shows that is neither a text nor the id of a file.
pub fn message_content(message: &Message) -> Option<ContentView<'_>> {
    match &message.content {
        Content::Received(received) => received::content(&received.what),
        Content::Written { .. } | Content::Template(_) => None,
    }
}

fn part(part: &Part) -> PartView<'_> {
    PartView {
        recipient: part.recipient.to_string(),
        index: part.index,
        status: part.status.as_str(),
        provider_message_id: part.provider_message_id.as_deref(),
        error: part.error.as_ref().map(|error| error.as_str()),
        delivered_at: part.delivered_at.map(|at| at.to_string()),
        read_at: part.read_at.map(|at| at.to_string()),
    }
}

/// Endpoint 11: the accepted message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageCreatedView {
    message_id: String,
    messaging_product: &'static str,
}

/// The representation of an accepted message.
pub fn message_created(id: MessageId) -> MessageCreatedView {
    MessageCreatedView { message_id: id.to_string(), messaging_product: PLATFORM }
}

/// A file in endpoint 10, ready for upload.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadView<'a> {
    media_id: String,
    presign_url: PresignedView<'a>,
}

#[derive(Debug, Serialize)]
struct PresignedView<'a> {
    url: String,
    method: &'static str,
    headers: UploadHeadersView<'a>,
}

/// The headers that an upload must have. The URL is signed for them.
#[derive(Debug, Serialize)]
struct UploadHeadersView<'a> {
    #[serde(rename = "Content-Type")]
    content_type: &'a str,
    #[serde(rename = "x-amz-checksum-sha256")]
    checksum: &'a str,
    #[serde(rename = "Content-Length", skip_serializing_if = "Option::is_none")]
    content_length: Option<String>,
}

/// A file with the signed URL for its upload.
pub fn upload(id: MediaId, file: &Declared, url: String) -> UploadView<'_> {
    let headers = UploadHeadersView {
        content_type: file.content_type,
        checksum: file.digest.as_str(),
        content_length: file.size.map(|size| size.to_string()),
    };
    UploadView { media_id: id.to_string(), presign_url: PresignedView { url, method: "PUT", headers } }
}

/// A page of the messages of a conversation. The cursor of the last page is `null`.
#[derive(Debug, Serialize)]
pub struct MessagesView<'a> {
    /// The messages of the page.
    pub messages: Vec<MessageView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A file that can be downloaded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileView<'a> {
    media_id: String,
    url: String,
    expires_at: String,
    file_name: &'a str,
    file_type: &'static str,
    content_type: &'static str,
    size_bytes: u64,
    checksum_base64: &'a str,
    created_at: String,
}

/// A file of this size with a signed URL for its download, which is valid until `expires_at`.
pub fn file(media: &Media, size: u64, url: String, expires_at: Timestamp) -> FileView<'_> {
    FileView {
        media_id: media.id.to_string(),
        url,
        expires_at: expires_at.to_string(),
        file_name: media.name.as_str(),
        file_type: media.file_type.as_str(),
        content_type: FileType::served_as(&media.content_type),
        size_bytes: size,
        checksum_base64: media.digest.as_str(),
        created_at: media.created_at.to_string(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventView<'a, P> {
    event_id: String,
    event_type: &'static str,
    entity: &'static str,
    workspace_id: String,
    timestamp: String,
    payload: &'a P,
}

/// The body of a webhook: the event and its payload. The bytes are made once and never change. The order of
/// the fields is fixed; the timestamp has no milliseconds.
pub fn event_body(event: &Event, payload: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&EventView {
        event_id: event.id.to_string(),
        event_type: event.event_type.as_str(),
        entity: event.event_type.entity(),
        workspace_id: event.workspace_id.to_string(),
        timestamp: event.at.to_seconds_string(),
        payload,
    })
}

#[cfg(test)]
mod tests {
    use domain::media::{Attached, FileName};
    use domain::message::Draft;
    use domain::sending::PartError;
    use domain::settings::template::Requested;
    use domain::{
        BrandId, ChannelId, ContactId, ContactRef, ConversationId, FileType, MediaId, MessageBody,
        MessageStatus, TemplateId, WorkspaceId,
    };
    use uuid::Uuid;

    use super::*;

    fn uuid(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    /// A message with a file to one customer, which answers another message.
    fn said() -> Message {
        let at = Timestamp::from_millis(1_767_323_045_678);
        let contact = ContactId::from_uuid(uuid(4));
        let conversation = Conversation {
            externals: vec![External {
                contact,
                shown: ContactRef::Id(contact),
                channel: ChannelId::parse("line").unwrap(),
                brand: BrandId::parse("brand").unwrap(),
                joined_at: at,
                last_seen_at: None,
            }],
            ..Conversation::blank(ConversationId::from_uuid(uuid(2)), WorkspaceId::from_uuid(uuid(3)), at)
        };
        let sound = Attached {
            media: MediaId::from_uuid(uuid(5)),
            file_type: FileType::Audio,
            content_type: "audio/ogg".to_owned(),
            name: FileName::parse("a.ogg").unwrap(),
            size: 1,
        };
        let draft = Draft {
            conversation: conversation.id,
            body: MessageBody::parse("Hello").ok(),
            media: vec![sound.media],
            broadcast: true,
            reply_to: Some(MessageId::from_uuid(uuid(6))),
        };
        draft.message(MessageId::from_uuid(uuid(1)), &conversation, 1, vec![sound], at)
    }

    fn shown(message: &Message) -> String {
        serde_json::to_string_pretty(&super::message(message)).unwrap()
    }

    #[test]
    fn a_message_shows_its_parts_and_the_status_of_the_least_advanced_one() {
        let mut said = said();
        said.parts[0].status = MessageStatus::Read;
        said.parts[0].provider_message_id = Some("wamid.1".to_owned());
        said.parts[0].delivered_at = Some(Timestamp::from_millis(1_767_323_047_000));
        said.parts[0].read_at = Some(Timestamp::from_millis(1_767_323_048_000));
        said.parts[1].status = MessageStatus::Failed;
        said.parts[1].error = Some(PartError::of("131026"));
        insta::assert_snapshot!(shown(&said), @r#"
        {
          "id": "00000000-0000-0000-0000-000000000001",
          "conversationId": "00000000-0000-0000-0000-000000000002",
          "workspaceId": "00000000-0000-0000-0000-000000000003",
          "direction": "OUTBOUND",
          "sender": {
            "type": "API",
            "contactId": null
          },
          "type": "MEDIA",
          "messageBody": "Hello",
          "content": null,
          "mediaIds": [
            "00000000-0000-0000-0000-000000000005"
          ],
          "replyToMessageId": "00000000-0000-0000-0000-000000000006",
          "enableExternalBroadcast": true,
          "status": "FAILED",
          "parts": [
            {
              "recipient": "00000000-0000-0000-0000-000000000004",
              "index": 0,
              "status": "READ",
              "providerMessageId": "wamid.1",
              "error": null,
              "deliveredAt": "2026-01-02T03:04:07.000Z",
              "readAt": "2026-01-02T03:04:08.000Z"
            },
            {
              "recipient": "00000000-0000-0000-0000-000000000004",
              "index": 1,
              "status": "FAILED",
              "providerMessageId": null,
              "error": "131026",
              "deliveredAt": null,
              "readAt": null
            }
          ],
          "createdAt": "2026-01-02T03:04:05.678Z",
          "updatedAt": "2026-01-02T03:04:05.678Z",
          "deliveredAt": null,
          "readAt": null
        }
        "#);
    }

    #[test]
    fn an_internal_note_shows_that_it_does_not_go_to_customers() {
        let content = Content::Written { body: None, media: vec![], broadcast: false };
        let note = Message { content, reply_to: None, recipients: vec![], parts: vec![], ..said() };
        insta::assert_snapshot!(shown(&note), @r#"
        {
          "id": "00000000-0000-0000-0000-000000000001",
          "conversationId": "00000000-0000-0000-0000-000000000002",
          "workspaceId": "00000000-0000-0000-0000-000000000003",
          "direction": "INTERNAL",
          "sender": {
            "type": "API",
            "contactId": null
          },
          "type": "TEXT",
          "messageBody": null,
          "content": null,
          "mediaIds": [],
          "replyToMessageId": null,
          "enableExternalBroadcast": false,
          "status": "QUEUED",
          "parts": [],
          "createdAt": "2026-01-02T03:04:05.678Z",
          "updatedAt": "2026-01-02T03:04:05.678Z",
          "deliveredAt": null,
          "readAt": null
        }
        "#);
    }

    #[test]
    fn a_template_shows_neither_text_nor_files() {
        let requested =
            Requested { template: TemplateId::from_uuid(uuid(7)), parameters: Default::default() };
        let template = Message { content: Content::Template(requested), ..said() };
        let shown: serde_json::Value = serde_json::from_str(&shown(&template)).unwrap();
        assert_eq!(
            (&shown["messageBody"], &shown["mediaIds"]),
            (&serde_json::Value::Null, &serde_json::json!([]))
        );
        assert_eq!(shown["enableExternalBroadcast"], true);
        assert_eq!((&shown["type"], &shown["direction"]), (&"TEMPLATE".into(), &"OUTBOUND".into()));
    }
}
