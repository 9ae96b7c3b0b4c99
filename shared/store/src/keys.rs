//! All partition and sort keys of all tables.
//!
//! A partition key begins with the workspace id. The only exceptions are:
//! - `api-keys` by the key's SHA-256: this look-up finds the workspace;
//! - `limits` by workspace and key id, kept for 400 days, or by the workspace of a lead as the request names it, kept for a day;
//! - the `due` index by shard, which the sweeper reads for all workspaces;
//! - rows of the platform (the cursor key, the person key, the provider's apps, its templates, the claims of lines, the accounts of
//!   lines, the list of workspaces), under the nil UUID ([`PLATFORM`]).

use domain::contact::conflict::Conflict;
use domain::contact::search::{PHONE_PREFIX, PhoneEnd};
use domain::{
    AttributeId, AuditEntryId, BrandId, BusinessAccountId, ChannelId, ContactId, ConversationId,
    ConversationStatus, Email, EndpointId, ErasureId, EventId, ExternalId, JobId, KeyId, LaneId, LaneKind,
    LeadId, MediaId, MessageId, PersonJobId, PhoneKey, ProviderAppId, ProviderUserId, Slot, TeamId,
    TemplateId, TemplateScope, Timestamp, UserId, WorkspaceId,
};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::Table;

/// The "workspace" of rows that belong to the platform.
pub const PLATFORM: WorkspaceId = WorkspaceId::from_uuid(Uuid::nil());

/// A sort key that sorts the newest first: the complement of the time, then the id.
pub(crate) fn newest_first(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{:013}#{id}", 9_999_999_999_999 - at.as_millis())
}

/// The sort keys of [`newest_first`] after this one, from `since` on and before `until`: the first and the last possible one.
/// `None` if there can be none.
pub(crate) fn newest_first_within(
    after: Option<&str>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Option<(String, String)> {
    /// Sorts before all sort keys, which begin with a digit. No sort key is between another one and the same with a space.
    const FIRST: &str = " ";
    /// The last character of ASCII: it sorts behind everything that the sort keys contain.
    const LAST: char = '~';
    // The newest come first, so a later time is an earlier position.
    let until = until.map_or_else(|| FIRST.to_owned(), |until| newest_first(until, LAST));
    let since = since.map_or_else(|| LAST.to_string(), |since| newest_first(since, LAST));
    let from = after.map_or_else(String::new, |after| format!("{after}{FIRST}")).max(until);
    (from <= since).then_some((from, since))
}

/// The contact itself.
pub(crate) fn contact(workspace: WorkspaceId, contact: ContactId) -> (String, &'static str) {
    (format!("{workspace}#C#{contact}"), "C")
}

/// A workspace, and what follows it after `between`. The id of a workspace always has the same length, so this needs no
/// search for `between`. Lists do it for each of their rows.
fn in_workspace<'a>(text: &'a str, between: &str) -> Option<(WorkspaceId, &'a str)> {
    let (workspace, rest) = text.split_at_checked(Hyphenated::LENGTH)?;
    Some((WorkspaceId::parse(workspace).ok()?, rest.strip_prefix(between)?))
}

/// The contact of a partition that [`contact`] named.
pub(crate) fn read_contact(pk: &str) -> Option<(WorkspaceId, ContactId)> {
    let (workspace, contact) = in_workspace(pk, "#C#")?;
    Some((workspace, ContactId::parse(contact).ok()?))
}

/// When a contact last wrote to a line, in the partition of the contact.
pub(crate) fn window(workspace: WorkspaceId, of: ContactId, line: &ChannelId) -> (String, String) {
    (contact(workspace, of).0, format!("{WINDOWS}{}", line.as_str()))
}

/// The line of a sort key that [`window`] made; `None` for other sort keys.
pub(crate) fn read_window(sk: &str) -> Option<ChannelId> {
    ChannelId::parse(sk.strip_prefix(WINDOWS)?).ok()
}

/// The prefix of the sort keys of windows.
const WINDOWS: &str = "W#";

/// A shard of the newest-first list of all contacts (index `list`).
pub(crate) fn contact_list(workspace: WorkspaceId, shard: u8) -> String {
    format!("{workspace}#{shard}")
}

/// The newest-first list of a user's contacts (index `owner`).
pub(crate) fn contacts_of_owner(workspace: WorkspaceId, owner: &Email) -> String {
    format!("{workspace}#O#{}", owner.key().as_str())
}

/// The row that keeps a contact's e-mail address unique and finds the contact by it.
pub(crate) fn contact_email(workspace: WorkspaceId, email: &Email) -> (String, &'static str) {
    (format!("{workspace}#E#{}", email.key().as_str()), "U")
}

/// The row that keeps a contact's phone number unique, and finds the contact by each written form of it. The number
/// under which the provider knows the contact has such a row too.
pub(crate) fn contact_phone(workspace: WorkspaceId, phone: &PhoneKey) -> (String, &'static str) {
    (format!("{workspace}#P#{}", phone.as_str()), "U")
}

/// A contact that had a phone number until it gave it up, in the partition of [`contact_phone`].
pub(crate) fn earlier_holder(
    workspace: WorkspaceId,
    phone: &PhoneKey,
    of: ContactId,
    from: Timestamp,
) -> (String, String) {
    (contact_phone(workspace, phone).0, format!("{EARLIER}{of}#{:013}", from.as_millis()))
}

/// The contact of a sort key that [`earlier_holder`] made; `None` for other sort keys.
pub(crate) fn read_earlier_holder(sk: &str) -> Option<ContactId> {
    let (contact, _) = sk.strip_prefix(EARLIER)?.split_once('#')?;
    ContactId::parse(contact).ok()
}

/// A phone number that a contact gave up, in the partition of [`contact`].
pub(crate) fn earlier_number(
    workspace: WorkspaceId,
    of: ContactId,
    phone: &PhoneKey,
    from: Timestamp,
) -> (String, String) {
    (contact(workspace, of).0, format!("{EARLIER}{}#{:013}", phone.as_str(), from.as_millis()))
}

/// The number of a sort key that [`earlier_number`] made; `None` for other sort keys.
pub(crate) fn read_earlier_number(sk: &str) -> Option<PhoneKey> {
    let (phone, _) = sk.strip_prefix(EARLIER)?.split_once('#')?;
    Some(PhoneKey::of(phone))
}

/// The prefix of the sort keys of numbers that a contact gave up. The time is part of the key, because a contact can
/// have a number more than once, with others in between.
pub(crate) const EARLIER: &str = "H#";

/// A conflict of a contact, in the partition of [`contact`].
pub(crate) fn conflict(of: &Conflict) -> (String, String) {
    let sk = format!("{CONFLICT}{}#{}", of.reason.as_str(), of.key());
    (contact(of.workspace_id, of.contact).0, sk)
}

/// The prefix of the sort keys of conflicts.
pub(crate) const CONFLICT: &str = "X#";

/// The row that keeps a contact's id at the provider unique and finds the contact by it.
pub(crate) fn contact_user_id(workspace: WorkspaceId, user_id: &ProviderUserId) -> (String, &'static str) {
    (format!("{workspace}#U#{}", user_id.as_str()), "U")
}

/// The row that keeps a contact's id in the tenant's own system unique and finds the contact by it.
pub(crate) fn contact_external_id(
    workspace: WorkspaceId,
    external_id: &ExternalId,
) -> (String, &'static str) {
    (format!("{workspace}#K#{}", external_id.as_str()), "U")
}

/// Since when a line delivers customers' messages.
pub(crate) fn inbound_line(workspace: WorkspaceId, line: &ChannelId) -> (String, &'static str) {
    (format!("{workspace}#I#{}", line.as_str()), "I")
}

/// The partition of the search rows whose terms have the same first character.
pub(crate) fn contact_terms(workspace: WorkspaceId, term: &str) -> String {
    let first: String = term.chars().take(1).collect();
    format!("{workspace}#T#{first}")
}

/// The partition of the search rows of numbers whose first (`D`) or last (`Z`) digits are the same. Numbers are there
/// with and without country code; `digits` of the last ones have the last digit first.
pub(crate) fn contact_digits(workspace: WorkspaceId, end: PhoneEnd, digits: &str) -> String {
    let end = match end {
        PhoneEnd::First => 'D',
        PhoneEnd::Last => 'Z',
    };
    format!("{workspace}#{end}#{}", digits.get(..PHONE_PREFIX).unwrap_or(digits))
}

/// The sort key of a search row: the search text, then the contact's id.
pub(crate) fn search_sort_key(text: &str, contact: ContactId) -> String {
    format!("{text}#{contact}")
}

/// The search text and the contact of a [`search_sort_key`].
pub(crate) fn read_search_sort_key(sk: &str) -> Option<(&str, ContactId)> {
    let (text, id) = sk.rsplit_once('#')?;
    Some((text, ContactId::parse(id).ok()?))
}

/// The bucket of an API key (table `limits`).
pub(crate) fn limit(workspace: WorkspaceId, key: KeyId) -> (String, &'static str) {
    (format!("{workspace}#{key}"), "L")
}

/// The bucket of the requests to a workspace's lead capture (table `limits`).
pub(crate) fn capture_limit(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#K"), "L")
}

/// The bucket of the requests that name a workspace's lead capture without its key or from a foreign origin (table
/// `limits`).
pub(crate) fn unproven_capture_limit(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#K"), "U")
}

/// The throttle state of a line (table `limits`).
pub(crate) fn line_throttle(workspace: WorkspaceId, channel: &ChannelId) -> (String, &'static str) {
    (format!("{workspace}#T#{}", channel.as_str()), "T")
}

/// The partition of a workspace's usage (table `limits`).
pub(crate) fn usage(workspace: WorkspaceId) -> String {
    format!("{workspace}#N")
}

/// A shard of the usage of an hour, in the partition of [`usage`].
pub(crate) fn usage_hour(hour: Timestamp, shard: i64) -> String {
    format!("{:013}#{shard}", hour.as_millis())
}

/// The hour of a sort key that [`usage_hour`] made.
pub(crate) fn read_usage_hour(sk: &str) -> Option<Timestamp> {
    Some(Timestamp::from_millis(sk.split_once('#')?.0.parse().ok()?))
}

/// The keys that encrypt cursors (table `secrets`).
pub(crate) fn cursor_keys() -> (String, &'static str) {
    (format!("{PLATFORM}#X"), "X")
}

/// The person key (table `secrets`), and its fingerprint (table `workspaces`).
pub(crate) fn person_key() -> (String, &'static str) {
    (format!("{PLATFORM}#HK"), "K")
}

/// The partition of the provider's apps (table `secrets`).
pub(crate) fn provider_apps() -> String {
    format!("{PLATFORM}#P")
}

/// An app of the provider, in the partition of [`provider_apps`].
pub(crate) fn provider_app(app: &ProviderAppId) -> (String, String) {
    (provider_apps(), app.as_str().to_owned())
}

/// The workspace itself.
pub(crate) fn workspace(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#W"), "W")
}

/// The list of all workspaces, which only operators read. The sort key orders it by creation.
pub(crate) fn workspace_list() -> String {
    format!("{PLATFORM}#WS")
}

/// The entry of a workspace in the [`workspace_list`].
pub(crate) fn workspace_in_list(created_at: Timestamp, workspace: WorkspaceId) -> (String, String) {
    (workspace_list(), format!("{:013}#{workspace}", created_at.as_millis()))
}

/// The partition of the workspace's users.
pub(crate) fn users(workspace: WorkspaceId) -> String {
    format!("{workspace}#U")
}

/// A user, in the partition of [`users`].
pub(crate) fn user(workspace: WorkspaceId, user: UserId) -> (String, String) {
    (users(workspace), user.to_string())
}

/// The copy of a user that finds it by e-mail address and keeps the address unique.
pub(crate) fn user_by_email(workspace: WorkspaceId, email: &Email) -> (String, &'static str) {
    (format!("{workspace}#UE#{}", email.key().as_str()), "U")
}

/// The partition of the workspace's teams.
pub(crate) fn teams(workspace: WorkspaceId) -> String {
    format!("{workspace}#T")
}

/// The workspace's own keywords for opt-outs.
pub(crate) fn keywords(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#OK"), "K")
}

/// A team, in the partition of [`teams`].
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

/// The partition of the remains of deleted webhook endpoints: id and slots.
pub(crate) fn deleted_endpoints(workspace: WorkspaceId) -> String {
    format!("{workspace}#HD")
}

/// The remains of a deleted webhook endpoint: id and slots.
pub(crate) fn deleted_endpoint(workspace: WorkspaceId, endpoint: EndpointId) -> (String, String) {
    (deleted_endpoints(workspace), endpoint.to_string())
}

/// The partition of the workspace's lines and brands.
pub(crate) fn lines(workspace: WorkspaceId) -> String {
    format!("{workspace}#L")
}

/// A line, in the partition of [`lines`].
pub(crate) fn line(workspace: WorkspaceId, channel: &ChannelId) -> (String, String) {
    (lines(workspace), format!("L#{}", channel.as_str()))
}

/// A brand, in the partition of [`lines`].
pub(crate) fn brand(workspace: WorkspaceId, brand: &BrandId) -> (String, String) {
    (lines(workspace), format!("B#{}", brand.as_str()))
}

/// The partition of the states of the workspace's lines at the provider.
pub(crate) fn line_states(workspace: WorkspaceId) -> String {
    format!("{workspace}#LS")
}

/// The state of a line at the provider, in the partition of [`line_states`].
pub(crate) fn line_state(workspace: WorkspaceId, channel: &ChannelId) -> (String, String) {
    (line_states(workspace), channel.as_str().to_owned())
}

/// The partition of the states of the business accounts of the workspace's lines.
pub(crate) fn account_reports(workspace: WorkspaceId) -> String {
    format!("{workspace}#BA")
}

/// The state of a business account at the provider, in the partition of [`account_reports`].
pub(crate) fn account_report(workspace: WorkspaceId, account: &BusinessAccountId) -> (String, String) {
    (account_reports(workspace), account.as_str().to_owned())
}

/// The claim of a line: the workspace of the deployment that has the line.
pub(crate) fn line_claim(channel: &ChannelId) -> (String, &'static str) {
    (format!("{PLATFORM}#LC#{}", channel.as_str()), "C")
}

/// The partition of the workspaces that have a line of a business account. The sort key is the workspace.
pub(crate) fn workspaces_of_account(account: &BusinessAccountId) -> String {
    format!("{PLATFORM}#BA#{}", account.as_str())
}

/// The token of a line (table `secrets`).
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

/// A template, in the partition of [`templates`].
pub(crate) fn template(scope: TemplateScope, template: TemplateId) -> (String, String) {
    (templates(scope), template.to_string())
}

/// The partition of the names of the templates of one scope. Its order is that of lists.
pub(crate) fn template_names(scope: TemplateScope) -> String {
    format!("{}N", templates(scope))
}

/// The name of a template in a language, in the partition of [`template_names`].
pub(crate) fn template_name(scope: TemplateScope, name: &str, language: &str) -> (String, String) {
    (template_names(scope), format!("{name}#{language}"))
}

/// The version of the platform's templates: it counts the changes that depend on the other templates.
pub(crate) fn platform_templates() -> (String, &'static str) {
    (format!("{PLATFORM}#MV"), "V")
}

/// The number of turns taken in a team, which decides whose turn is next.
pub(crate) fn team_turn(workspace: WorkspaceId, team: TeamId) -> (String, &'static str) {
    (format!("{workspace}#R#{team}"), "R")
}

/// The conversation itself (table `conversations`).
pub(crate) fn conversation(workspace: WorkspaceId, conversation: ConversationId) -> (String, &'static str) {
    (format!("{workspace}#C#{conversation}"), "C")
}

/// When a customer was last seen in a conversation, in the partition of [`conversation`].
pub(crate) fn seen(workspace: WorkspaceId, of: ConversationId, contact: ContactId) -> (String, String) {
    (conversation(workspace, of).0, format!("S#{contact}"))
}

/// The customer in a sort key that [`seen`] made; `None` for other sort keys.
pub(crate) fn read_seen(sk: &str) -> Option<ContactId> {
    ContactId::parse(sk.strip_prefix("S#")?).ok()
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

/// The conversations that a contact left. The sort key is the conversation's id.
pub(crate) fn conversations_left_by(workspace: WorkspaceId, contact: ContactId) -> String {
    format!("{workspace}#F#{contact}")
}

/// The conversations of one of these lists with one status (index `byStatus`).
pub(crate) fn with_status(list: &str, status: ConversationStatus) -> String {
    format!("{list}#{}", status.as_str())
}

/// The answer of an idempotency key (tables `conversations`, `messages`, `media`).
pub(crate) fn idempotency_key(
    workspace: WorkspaceId,
    route: &str,
    key_sha256_hex: &str,
) -> (String, &'static str) {
    (format!("{workspace}#R#{route}#{key_sha256_hex}"), "R")
}

/// The partition of a conversation's messages, lane, plan and entries (table `messages`).
pub(crate) fn messages(workspace: WorkspaceId, conversation: ConversationId) -> String {
    format!("{workspace}#C#{conversation}")
}

/// The conversation of a partition that [`messages`] named.
pub(crate) fn read_messages(pk: &str) -> Option<(WorkspaceId, ConversationId)> {
    let (workspace, conversation) = in_workspace(pk, "#C#")?;
    Some((workspace, ConversationId::parse(conversation).ok()?))
}

/// A message, in the partition of [`messages`].
pub(crate) fn message(
    workspace: WorkspaceId,
    conversation: ConversationId,
    message: MessageId,
) -> (String, String) {
    (messages(workspace, conversation), format!("{MESSAGES}{message}"))
}

/// The row that finds a message by the provider's id of it (table `messages`).
pub(crate) fn provider_message(workspace: WorkspaceId, id: &str) -> (String, &'static str) {
    (format!("{workspace}#P#{id}"), "P")
}

/// The prefix of the sort keys of messages.
pub(crate) const MESSAGES: &str = "M#";

/// The place of a message in the newest-first list of its conversation (index `list`): the complements of its moment and, among
/// messages of one moment, of its number.
pub(crate) fn place(at: Timestamp, seq: u64) -> String {
    format!("{:013}#{:012}", 9_999_999_999_999 - at.as_millis(), 999_999_999_999_u64.saturating_sub(seq))
}

/// A conversation's lane: its sequence, its lease, and when it is due.
pub(crate) fn conversation_lane(
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> (String, &'static str) {
    (messages(workspace, conversation), LANE)
}

/// The sort key of a lane.
pub(crate) const LANE: &str = "L";

/// A conversation's onboarding plan.
pub(crate) fn plan(workspace: WorkspaceId, conversation: ConversationId) -> (String, &'static str) {
    (messages(workspace, conversation), PLAN)
}

/// The sort key of an onboarding plan. The entries of waiting messages sort after it, so one query reads
/// both, in order.
pub(crate) const PLAN: &str = "P";

/// The sort key of the entry of a message that is still to be sent, by its number in the conversation.
pub(crate) fn open_entry(seq: u64) -> String {
    format!("Q#{seq:012}")
}

/// The number in a sort key that [`open_entry`] made; `None` for other sort keys.
pub(crate) fn read_open_entry(sk: &str) -> Option<u64> {
    sk.strip_prefix("Q#")?.parse().ok()
}

/// A file (table `media`).
pub(crate) fn media(workspace: WorkspaceId, media: MediaId) -> (String, &'static str) {
    (format!("{workspace}#M#{media}"), "M")
}

/// The file of a partition that [`media`] named.
pub(crate) fn read_media(pk: &str) -> Option<(WorkspaceId, MediaId)> {
    let (workspace, media) = in_workspace(pk, "#M#")?;
    Some((workspace, MediaId::parse(media).ok()?))
}

/// The key of a file's bytes in the bucket.
pub(crate) fn media_object(workspace: WorkspaceId, media: MediaId) -> String {
    format!("{workspace}/{media}")
}

/// The file of an object that [`media_object`] named.
pub(crate) fn read_media_object(key: &str) -> Option<(WorkspaceId, MediaId)> {
    let (workspace, media) = in_workspace(key, "/")?;
    Some((workspace, MediaId::parse(media).ok()?))
}

/// A workspace's lead capture.
pub(crate) fn capture(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#K"), "K")
}

/// The captcha secret of a workspace's lead capture (table `secrets`).
pub(crate) fn capture_secret(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#K"), "S")
}

/// A lead (table `leads`).
pub(crate) fn lead(workspace: WorkspaceId, lead: LeadId) -> (String, &'static str) {
    (format!("{workspace}#L#{lead}"), "L")
}

/// The lead of a partition that [`lead`] named.
pub(crate) fn read_lead(pk: &str) -> Option<(WorkspaceId, LeadId)> {
    let (workspace, lead) = in_workspace(pk, "#L#")?;
    Some((workspace, LeadId::parse(lead).ok()?))
}

/// The row that identifies a further lead of the same number and brand as a repeat.
pub(crate) fn lead_repeat(
    workspace: WorkspaceId,
    phone: &PhoneKey,
    brand: &BrandId,
) -> (String, &'static str) {
    (format!("{workspace}#D#{}#{}", phone.as_str(), brand.as_str()), "D")
}

/// The row that makes a captcha token valid only once.
pub(crate) fn captcha_token(workspace: WorkspaceId, token_sha256_hex: &str) -> (String, &'static str) {
    (format!("{workspace}#K#{token_sha256_hex}"), "K")
}

/// The number of leads of a workspace on a day (`2026-01-02`).
pub(crate) fn leads_of_day(workspace: WorkspaceId, day: &str) -> (String, &'static str) {
    (format!("{workspace}#N#{day}"), "N")
}

/// The number of leads of a phone number on a day.
pub(crate) fn leads_of_phone(workspace: WorkspaceId, phone: &PhoneKey, day: &str) -> (String, &'static str) {
    (format!("{workspace}#Q#{}#{day}", phone.as_str()), "Q")
}

/// The partition of the choices about templates. The sort key is a hash of the number or the user id, so an
/// opt-out stays in force after the number itself was erased.
pub(crate) fn opt_outs(workspace: WorkspaceId) -> String {
    format!("{workspace}#O")
}

/// The workspace of a partition that [`opt_outs`] named.
pub(crate) fn read_opt_outs(pk: &str) -> Option<WorkspaceId> {
    WorkspaceId::parse(pk.strip_suffix("#O")?).ok()
}

/// The newest-first list of a phone number's leads (index `byPhone`).
pub(crate) fn leads_by_phone(workspace: WorkspaceId, phone: &PhoneKey) -> String {
    format!("{workspace}#{}", phone.as_str())
}

/// The newest-first list of a workspace's leads (index `byTime`).
pub(crate) fn leads_by_time(workspace: WorkspaceId) -> String {
    workspace.to_string()
}

/// The secrets of a webhook endpoint (table `secrets`).
pub(crate) fn endpoint_secrets(workspace: WorkspaceId, endpoint: EndpointId) -> (String, &'static str) {
    (format!("{workspace}#H#{endpoint}"), "S")
}

/// An API key (table `api-keys`).
pub(crate) fn api_key(sha256_hex: &str) -> (String, &'static str) {
    (sha256_hex.to_owned(), "K")
}

/// The copy of an API key by which lists and changes find it (table `api-keys`).
pub(crate) fn api_key_copy(workspace: WorkspaceId, key: KeyId) -> (String, String) {
    (api_keys(workspace), key.to_string())
}

/// The partition of the copies of the workspace's API keys (table `api-keys`).
pub(crate) fn api_keys(workspace: WorkspaceId) -> String {
    format!("{workspace}#I")
}

/// The copy of a session by which lists and changes find it (table `api-keys`).
pub(crate) fn session_copy(workspace: WorkspaceId, session: KeyId) -> (String, String) {
    (sessions(workspace), session.to_string())
}

/// The partition of the copies of the workspace's sessions (table `api-keys`).
pub(crate) fn sessions(workspace: WorkspaceId) -> String {
    format!("{workspace}#S")
}

/// The workspace's audit log, newest first (table `audit`).
pub(crate) fn audit_log(workspace: WorkspaceId) -> String {
    workspace.to_string()
}

/// An entry of the audit log (table `audit`).
pub(crate) fn audit_entry(workspace: WorkspaceId, at: Timestamp, entry: AuditEntryId) -> (String, String) {
    (audit_log(workspace), newest_first(at, entry))
}

/// An event (table `webhooks`).
pub(crate) fn event(workspace: WorkspaceId, event: EventId) -> (String, &'static str) {
    (format!("{workspace}#V#{event}"), "V")
}

/// The mark that the data of a contact, a conversation or a lead was erased.
pub(crate) fn erased_mark(workspace: WorkspaceId, subject: &Uuid) -> (String, &'static str) {
    (format!("{workspace}#S#{subject}"), "E")
}

/// The partition of the workspace's erasures.
pub(crate) fn erasures(workspace: WorkspaceId) -> String {
    format!("{workspace}#P")
}

/// An erasure, in the partition of [`erasures`].
pub(crate) fn erasure(workspace: WorkspaceId, erasure: ErasureId) -> (String, String) {
    (erasures(workspace), erasure.to_string())
}

/// The workspace of a partition that [`erasures`] named.
pub(crate) fn read_erasures(pk: &str) -> Option<WorkspaceId> {
    WorkspaceId::parse(pk.strip_suffix("#P")?).ok()
}

/// The partition of the workspace's jobs about persons that run (table `contacts`).
pub(crate) fn person_jobs(workspace: WorkspaceId) -> String {
    format!("{workspace}#J")
}

/// A job about a person that runs, in the partition of [`person_jobs`]. It is a lane.
pub(crate) fn person_job(workspace: WorkspaceId, job: impl Into<PersonJobId>) -> (String, String) {
    (person_jobs(workspace), job.into().to_string())
}

/// The workspace of a partition that [`person_jobs`] named.
pub(crate) fn read_person_jobs(pk: &str) -> Option<WorkspaceId> {
    WorkspaceId::parse(pk.strip_suffix("#J")?).ok()
}

/// The partition of what an erasure found (table `contacts`).
pub(crate) fn erasure_targets(workspace: WorkspaceId, erasure: ErasureId) -> String {
    format!("{workspace}#J#{erasure}")
}

/// The partition of a slot of an endpoint: its lane, deliveries, attempts and jobs.
pub(crate) fn slot(slot: &Slot) -> String {
    format!("{}#E#{}#{}", slot.workspace, slot.endpoint, slot.number)
}

/// Parses a slot of a workspace from `<endpoint>#<slot>`.
pub(crate) fn read_slot(workspace: WorkspaceId, text: &str) -> Option<Slot> {
    let (endpoint, number) = text.split_once('#')?;
    Some(Slot { workspace, endpoint: EndpointId::parse(endpoint).ok()?, number: number.parse().ok()? })
}

/// The lane of a slot.
pub(crate) fn webhook_lane(of: &Slot) -> (String, &'static str) {
    (slot(of), LANE)
}

/// The prefix of the sort keys of an event's attempts.
pub(crate) fn attempts(event: EventId) -> String {
    format!("A#{event}#")
}

/// The sort key of an attempt.
pub(crate) fn attempt(event: EventId, number: u32) -> String {
    format!("{}{number:05}", attempts(event))
}

/// The prefix of the sort keys of jobs.
pub(crate) const JOBS: &str = "J#";

/// The sort key of a job. It contains only the id, so a second request for the same job finds it.
pub(crate) fn job(job: JobId) -> String {
    format!("{JOBS}{job}")
}

/// The table of the lanes of a kind.
pub(crate) fn table_of_lanes(kind: LaneKind) -> Table {
    match kind {
        LaneKind::Webhook => Table::Webhooks,
        LaneKind::Conversation => Table::Messages,
        LaneKind::Lead => Table::Leads,
        LaneKind::Person => Table::Contacts,
    }
}

/// The table and keys of a lane.
pub(crate) fn lane(lane: &LaneId) -> (Table, String, String) {
    let with_text = |(pk, sk): (String, &'static str)| (pk, sk.to_owned());
    let (pk, sk) = match lane {
        LaneId::Webhook(slot) => with_text(webhook_lane(slot)),
        LaneId::Conversation(workspace, conversation) => {
            with_text((messages(*workspace, *conversation), LANE))
        }
        LaneId::Lead(workspace, id) => with_text(lead(*workspace, *id)),
        LaneId::Person(workspace, id) => person_job(*workspace, *id),
    };
    (table_of_lanes(lane.kind()), pk, sk)
}

/// The lane of a kind with these keys, which [`lane`] made.
pub(crate) fn read_lane(kind: LaneKind, pk: &str, sk: &str) -> Option<LaneId> {
    if kind == LaneKind::Person {
        return Some(LaneId::Person(read_person_jobs(pk)?, PersonJobId::parse(sk).ok()?));
    }
    if sk != LANE {
        return None;
    }
    match kind {
        LaneKind::Person => None,
        LaneKind::Webhook => {
            let (workspace, slot) = in_workspace(pk, "#E#")?;
            read_slot(workspace, slot).map(LaneId::Webhook)
        }
        LaneKind::Conversation => {
            read_messages(pk).map(|(workspace, conversation)| LaneId::Conversation(workspace, conversation))
        }
        LaneKind::Lead => read_lead(pk).map(|(workspace, lead)| LaneId::Lead(workspace, lead)),
    }
}

/// The number of partitions of the `due` index of a kind's table. Each partition takes 1,000 writes a second;
/// all of them are read once a minute.
pub(crate) fn due_shards(kind: LaneKind) -> u8 {
    match kind {
        LaneKind::Webhook => 7,
        LaneKind::Conversation => 6,
        LaneKind::Lead => 2,
        LaneKind::Person => 1,
    }
}

/// The partition of a `due` index with this number.
pub(crate) fn due(shard: u8) -> String {
    format!("due#{shard:02}")
}

/// The partition of the `due` index that contains a lane. (Ids of version 4 are random.)
pub(crate) fn due_shard(lane: &LaneId) -> String {
    let (id, slot) = match lane {
        LaneId::Webhook(slot) => (slot.endpoint.as_uuid(), slot.number),
        LaneId::Conversation(_, conversation) => (conversation.as_uuid(), 0),
        LaneId::Lead(_, lead) => (lead.as_uuid(), 0),
        LaneId::Person(_, job) => (job.as_uuid(), 0),
    };
    due(id.as_bytes()[0].wrapping_add(slot) % due_shards(lane.kind()))
}
