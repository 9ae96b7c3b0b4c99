//! Every partition and sort key of every table, in one place.
//!
//! A partition key begins with the workspace id. The exceptions, all of them:
//! - `api-keys` by the key's SHA-256: the look-up that proves the workspace;
//! - `limits` by workspace and key id, kept for a day;
//! - the `due` index by shard, which the sweeper reads across workspaces;
//! - rows of the platform (the cursor key, its templates), under the nil UUID ([`PLATFORM`]).

use domain::search::PHONE_PREFIX;
use domain::{
    AttributeId, BrandId, Cellphone, ChannelId, ContactId, ConversationId, ConversationStatus, DeliveryId,
    DeliveryState, Email, EndpointId, EventId, KeyId, LeadId, MediaId, MessageId, TeamId, TemplateId,
    TemplateScope, Timestamp, UserId, WorkspaceId,
};

/// The "workspace" of rows that belong to the platform.
pub const PLATFORM: WorkspaceId = WorkspaceId::from_uuid(uuid::Uuid::nil());

/// A sort key that puts the newest first: the complement of the time, then the id.
pub(crate) fn newest_first(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{:013}#{id}", 9_999_999_999_999 - at.as_millis())
}

/// The contact itself.
pub(crate) fn contact(workspace: WorkspaceId, contact: ContactId) -> (String, &'static str) {
    (format!("{workspace}#C#{contact}"), "C")
}

/// A shard of the newest-first list of all contacts (index `list`).
pub(crate) fn contact_list(workspace: WorkspaceId, shard: u8) -> String {
    format!("{workspace}#{shard}")
}

/// The newest-first list of a user's contacts (index `owner`).
pub(crate) fn contacts_of_owner(workspace: WorkspaceId, owner: &Email) -> String {
    format!("{workspace}#O#{}", owner.canonical())
}

/// The row by which a contact has an e-mail address for itself and is found by it.
pub(crate) fn contact_email(workspace: WorkspaceId, email: &Email) -> (String, &'static str) {
    (format!("{workspace}#E#{}", email.canonical()), "U")
}

/// The row by which a contact has a phone number for itself and is found by it.
pub(crate) fn contact_cellphone(workspace: WorkspaceId, cellphone: &Cellphone) -> (String, &'static str) {
    (format!("{workspace}#P#{}", cellphone.as_str()), "U")
}

/// The partition of the search rows whose terms begin like this one.
pub(crate) fn contact_terms(workspace: WorkspaceId, term: &str) -> String {
    let first: String = term.chars().take(1).collect();
    format!("{workspace}#T#{first}")
}

/// The partition of the search rows of numbers, whole and national, that begin with the same digits.
pub(crate) fn contact_digits(workspace: WorkspaceId, digits: &str) -> String {
    format!("{workspace}#D#{}", digits.get(..PHONE_PREFIX).unwrap_or(digits))
}

/// The partition of the search rows of numbers that end with the same digits; `reversed` are the last first.
pub(crate) fn contact_last_digits(workspace: WorkspaceId, reversed: &str) -> String {
    format!("{workspace}#Z#{}", reversed.get(..PHONE_PREFIX).unwrap_or(reversed))
}

/// The sort key of a search row: what the contact is found by, then its id.
pub(crate) fn found_by(text: &str, contact: ContactId) -> String {
    format!("{text}#{contact}")
}

/// The sort key of [`found_by`] taken apart.
pub(crate) fn found(sk: &str) -> Option<(&str, ContactId)> {
    let (text, id) = sk.rsplit_once('#')?;
    Some((text, ContactId::parse(id).ok()?))
}

/// The bucket of an API key (table `limits`).
pub(crate) fn limit(workspace: WorkspaceId, key: KeyId) -> (String, &'static str) {
    (format!("{workspace}#{key}"), "L")
}

/// The keys that seal cursors (table `secrets`).
pub(crate) fn cursor_keys() -> (String, &'static str) {
    (format!("{PLATFORM}#X"), "X")
}

/// The workspace itself.
pub(crate) fn workspace(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#W"), "W")
}

/// The partition of the workspace's users.
pub(crate) fn users(workspace: WorkspaceId) -> String {
    format!("{workspace}#U")
}

/// A user.
pub(crate) fn user(workspace: WorkspaceId, user: UserId) -> (String, String) {
    (users(workspace), user.to_string())
}

/// The copy of a user by which the e-mail address finds it and is unique.
pub(crate) fn user_by_email(workspace: WorkspaceId, email: &Email) -> (String, &'static str) {
    (format!("{workspace}#UE#{}", email.canonical()), "U")
}

/// The partition of the workspace's teams.
pub(crate) fn teams(workspace: WorkspaceId) -> String {
    format!("{workspace}#T")
}

/// A team.
pub(crate) fn team(workspace: WorkspaceId, team: TeamId) -> (String, String) {
    (teams(workspace), team.to_string())
}

/// The partition of the workspace's attribute definitions.
pub(crate) fn definitions(workspace: WorkspaceId) -> String {
    format!("{workspace}#A")
}

/// An attribute definition.
pub(crate) fn definition(workspace: WorkspaceId, attribute: AttributeId) -> (String, String) {
    (definitions(workspace), attribute.to_string())
}

/// The partition of the workspace's webhook endpoints.
pub(crate) fn endpoints(workspace: WorkspaceId) -> String {
    format!("{workspace}#H")
}

/// A webhook endpoint.
pub(crate) fn endpoint(workspace: WorkspaceId, endpoint: EndpointId) -> (String, String) {
    (endpoints(workspace), endpoint.to_string())
}

/// The partition of what is left of deleted webhook endpoints.
pub(crate) fn deleted_endpoints(workspace: WorkspaceId) -> String {
    format!("{workspace}#HD")
}

/// What is left of a deleted webhook endpoint.
pub(crate) fn deleted_endpoint(workspace: WorkspaceId, endpoint: EndpointId) -> (String, String) {
    (deleted_endpoints(workspace), endpoint.to_string())
}

/// The partition of the workspace's lines and brands.
pub(crate) fn lines(workspace: WorkspaceId) -> String {
    format!("{workspace}#L")
}

/// A line.
pub(crate) fn line(workspace: WorkspaceId, channel: &ChannelId) -> (String, String) {
    (lines(workspace), format!("L#{}", channel.as_str()))
}

/// A brand.
pub(crate) fn brand(workspace: WorkspaceId, brand: &BrandId) -> (String, String) {
    (lines(workspace), format!("B#{}", brand.as_str()))
}

/// What is secret of a line (table `secrets`).
pub(crate) fn line_secret(workspace: WorkspaceId, channel: &ChannelId) -> (String, &'static str) {
    (format!("{workspace}#L#{}", channel.as_str()), "S")
}

/// The partition of the templates of one scope.
pub(crate) fn templates(scope: TemplateScope) -> String {
    let owner = match scope {
        TemplateScope::Workspace(workspace) => workspace,
        TemplateScope::Platform => PLATFORM,
    };
    format!("{owner}#M")
}

/// A template.
pub(crate) fn template(scope: TemplateScope, template: TemplateId) -> (String, String) {
    (templates(scope), template.to_string())
}

/// How many conversations a team has had assigned: whose turn is next.
pub(crate) fn team_turn(workspace: WorkspaceId, team: TeamId) -> (String, &'static str) {
    (format!("{workspace}#R#{team}"), "R")
}

/// The conversation itself (table `conversations`).
pub(crate) fn conversation(workspace: WorkspaceId, conversation: ConversationId) -> (String, &'static str) {
    (format!("{workspace}#C#{conversation}"), "C")
}

/// A shard of the newest-first list of all conversations.
pub(crate) fn conversations(workspace: WorkspaceId, shard: u8) -> String {
    format!("{workspace}#A#{shard}")
}

/// The newest-first list of a contact's conversations.
pub(crate) fn conversations_of_contact(workspace: WorkspaceId, contact: ContactId) -> String {
    format!("{workspace}#X#{contact}")
}

/// The newest-first list of a user's conversations.
pub(crate) fn conversations_of_user(workspace: WorkspaceId, user: UserId) -> String {
    format!("{workspace}#I#{user}")
}

/// The part of one of these lists that holds the conversations of one status (index `byStatus`).
pub(crate) fn with_status(list: &str, status: ConversationStatus) -> String {
    format!("{list}#{}", status.as_str())
}

/// What an idempotency key answered (tables `conversations`, `messages`, `media`).
pub(crate) fn once(workspace: WorkspaceId, route: &str, key_sha256_hex: &str) -> (String, &'static str) {
    (format!("{workspace}#R#{route}#{key_sha256_hex}"), "R")
}

/// The partition of a conversation's messages and of what is to be sent into it (table `messages`).
pub(crate) fn messages(workspace: WorkspaceId, conversation: ConversationId) -> String {
    format!("{workspace}#C#{conversation}")
}

/// Whose messages a partition holds: reads back what [`messages`] made.
pub(crate) fn read_messages(pk: &str) -> Option<(WorkspaceId, ConversationId)> {
    let (workspace, conversation) = pk.split_once("#C#")?;
    Some((WorkspaceId::parse(workspace).ok()?, ConversationId::parse(conversation).ok()?))
}

/// A message.
pub(crate) fn message(
    workspace: WorkspaceId,
    conversation: ConversationId,
    message: MessageId,
) -> (String, String) {
    (messages(workspace, conversation), format!("{MESSAGES}{message}"))
}

/// What the sort keys of messages begin with.
pub(crate) const MESSAGES: &str = "M#";

/// A conversation's lane: its sequence, the lease under which it is sent into, and when that is due.
pub(crate) fn lane(workspace: WorkspaceId, conversation: ConversationId) -> (String, &'static str) {
    (messages(workspace, conversation), LANE)
}

/// The sort key of a lane.
pub(crate) const LANE: &str = "L";

/// A conversation's onboarding plan.
pub(crate) fn plan(workspace: WorkspaceId, conversation: ConversationId) -> (String, &'static str) {
    (messages(workspace, conversation), PLAN)
}

/// The sort key of an onboarding plan. What is still to be sent follows it: one query reads both, in order.
pub(crate) const PLAN: &str = "P";

/// The sort key of the entry of a message that is still to be sent, by its place in the conversation.
pub(crate) fn open_entry(seq: u64) -> String {
    format!("Q#{seq:012}")
}

/// The place of an open entry: reads back what [`open_entry`] made; `None` for other sort keys.
pub(crate) fn read_open_entry(sk: &str) -> Option<u64> {
    sk.strip_prefix("Q#")?.parse().ok()
}

/// A file (table `media`).
pub(crate) fn media(workspace: WorkspaceId, media: MediaId) -> (String, &'static str) {
    (format!("{workspace}#M#{media}"), "M")
}

/// Which file a partition holds: reads back what [`media`] made.
pub(crate) fn read_media(pk: &str) -> Option<(WorkspaceId, MediaId)> {
    let (workspace, media) = pk.split_once("#M#")?;
    Some((WorkspaceId::parse(workspace).ok()?, MediaId::parse(media).ok()?))
}

/// The key of a file's bytes in the bucket.
pub(crate) fn media_object(workspace: WorkspaceId, media: MediaId) -> String {
    format!("{workspace}/{media}")
}

/// The partition of the `due` index of table `messages` in which a lane stands. (Ids of version 4 are random.)
pub(crate) fn due_of_lane(conversation: ConversationId) -> String {
    due(conversation.as_uuid().as_bytes()[0] % DUE_SHARDS)
}

/// A workspace's lead capture.
pub(crate) fn capture(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#K"), "K")
}

/// What is secret of a workspace's lead capture (table `secrets`).
pub(crate) fn capture_secret(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#K"), "S")
}

/// A lead (table `leads`).
pub(crate) fn lead(workspace: WorkspaceId, lead: LeadId) -> (String, &'static str) {
    (format!("{workspace}#L#{lead}"), "L")
}

/// Which lead a partition holds: reads back what [`lead`] made.
pub(crate) fn read_lead(pk: &str) -> Option<(WorkspaceId, LeadId)> {
    let (workspace, lead) = pk.split_once("#L#")?;
    Some((WorkspaceId::parse(workspace).ok()?, LeadId::parse(lead).ok()?))
}

/// The row by which a number's next lead of a brand is known to be the same as its last.
pub(crate) fn lead_repeat(
    workspace: WorkspaceId,
    cellphone: &Cellphone,
    brand: &BrandId,
) -> (String, &'static str) {
    (format!("{workspace}#D#{}#{}", cellphone.as_str(), brand.as_str()), "D")
}

/// The row by which a captcha token is accepted once.
pub(crate) fn captcha_token(workspace: WorkspaceId, token_sha256_hex: &str) -> (String, &'static str) {
    (format!("{workspace}#K#{token_sha256_hex}"), "K")
}

/// How many leads a workspace had on a day (`2026-01-02`).
pub(crate) fn leads_of_day(workspace: WorkspaceId, day: &str) -> (String, &'static str) {
    (format!("{workspace}#N#{day}"), "N")
}

/// How many leads a number had on a day.
pub(crate) fn leads_of_phone(
    workspace: WorkspaceId,
    cellphone: &Cellphone,
    day: &str,
) -> (String, &'static str) {
    (format!("{workspace}#Q#{}#{day}", cellphone.as_str()), "Q")
}

/// The partition of the numbers whose owners asked not to be written to; each is its row's sort key.
pub(crate) fn opt_outs(workspace: WorkspaceId) -> String {
    format!("{workspace}#O")
}

/// The partition of the `due` index of table `leads` in which a lead stands. (Ids of version 4 are random.)
pub(crate) fn due_of_lead(lead: LeadId) -> String {
    due(lead.as_uuid().as_bytes()[0] % DUE_SHARDS)
}

/// The newest-first list of a workspace's leads (index `byTime`).
pub(crate) fn leads_by_time(workspace: WorkspaceId) -> String {
    workspace.to_string()
}

/// What is secret of a webhook endpoint (table `secrets`).
pub(crate) fn endpoint_secrets(workspace: WorkspaceId, endpoint: EndpointId) -> (String, &'static str) {
    (format!("{workspace}#H#{endpoint}"), "S")
}

/// An API key (table `api-keys`).
pub(crate) fn api_key(sha256_hex: &str) -> (String, &'static str) {
    (sha256_hex.to_owned(), "K")
}

/// An event (table `deliveries`).
pub(crate) fn event(workspace: WorkspaceId, event: EventId) -> (String, &'static str) {
    (format!("{workspace}#V#{event}"), "V")
}

/// The gate before an endpoint.
pub(crate) fn gate(workspace: WorkspaceId, endpoint: EndpointId) -> (String, &'static str) {
    (format!("{workspace}#G#{endpoint}"), "G")
}

/// A delivery; its attempts stand in the same partition.
pub(crate) fn delivery(workspace: WorkspaceId, delivery: DeliveryId) -> (String, &'static str) {
    (format!("{workspace}#D#{delivery}"), "D")
}

/// Whose delivery a partition holds: reads back what [`delivery`] made.
pub(crate) fn read_delivery(pk: &str) -> Option<(WorkspaceId, DeliveryId)> {
    let (workspace, delivery) = pk.split_once("#D#")?;
    Some((WorkspaceId::parse(workspace).ok()?, DeliveryId::parse(delivery).ok()?))
}

/// The sort key of an attempt. Two workers may think they make the same one: the lease tells them apart.
pub(crate) fn attempt(number: u32, lease: &uuid::Uuid) -> String {
    format!("A#{number:05}#{lease}")
}

/// How many partitions the `due` index has.
pub(crate) const DUE_SHARDS: u8 = 16;

/// The partition of the `due` index with that number.
pub(crate) fn due(shard: u8) -> String {
    format!("due#{shard:02}")
}

/// The partition of the `due` index in which a delivery stands. (Delivery ids are hashes already.)
pub(crate) fn due_of(delivery: DeliveryId) -> String {
    due(delivery.as_uuid().as_bytes()[0] % DUE_SHARDS)
}

/// How many partitions the `byEndpoint` index has for each endpoint.
pub(crate) const ENDPOINT_SHARDS: u8 = 4;

/// A partition of the `byEndpoint` index.
pub(crate) fn deliveries_to(workspace: WorkspaceId, endpoint: EndpointId, shard: u8) -> String {
    format!("{workspace}#{endpoint}#{shard}")
}

/// The partition of the `byEndpoint` index in which a delivery stands.
pub(crate) fn deliveries_to_of(workspace: WorkspaceId, endpoint: EndpointId, delivery: DeliveryId) -> String {
    deliveries_to(workspace, endpoint, delivery.as_uuid().as_bytes()[1] % ENDPOINT_SHARDS)
}

/// The place of a delivery among those of its endpoint: by time, then id.
pub(crate) fn delivery_position(at: Timestamp, delivery: DeliveryId) -> String {
    format!("{:013}#{delivery}", at.as_millis())
}

/// Where the deliveries of a moment begin among those of their endpoint.
pub(crate) fn delivery_position_from(at: Timestamp) -> String {
    // Positions are compared as text: a moment of more digits, which is meant as the end of time, is held within theirs.
    format!("{:013}", at.as_millis().min(9_999_999_999_999))
}

/// Reads back what [`delivery_position`] made.
pub(crate) fn read_delivery_position(position: &str) -> Option<(Timestamp, DeliveryId)> {
    let (millis, delivery) = position.split_once('#')?;
    Some((Timestamp::from_millis(millis.parse().ok()?), DeliveryId::parse(delivery).ok()?))
}

/// The partition of the `held` index with an endpoint's deliveries of one state.
pub(crate) fn held(workspace: WorkspaceId, endpoint: EndpointId, state: DeliveryState) -> String {
    format!("{workspace}#{endpoint}#{}", state.as_str())
}
