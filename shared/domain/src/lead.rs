//! Leads: visitors of a landing page who asked to be written to, and how the first message comes to them.
//!
//! ```text
//! QUEUED --begun--> SENDING --accepted---------------------> SENT
//!    |                |  ^-----surely not taken, throttled-- (waits, and is tried again)
//!    |                |------refused, given up-------------> FAILED  --operator--> QUEUED
//!    |                '------no answer, sender died--------> UNKNOWN --operator--> QUEUED
//!    |--cannot be sent: no line, no template, ...----------> FAILED
//!    '--must not be sent: opted out, capture disabled------> SUPPRESSED
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use url::Url;
use uuid::Uuid;

use crate::captcha::Score;
use crate::capture::Capture;
use crate::contact::Contact;
use crate::conversation::{ContactRef, Conversation, ConversationStatus, External};
use crate::encoding::sha256_hex;
use crate::ids::{ContactId, ConversationId, Ids, LeadId, MessageId, TemplateId, WorkspaceId};
use crate::line::{BrandId, Line, Lines};
use crate::message::{Content, Message, MessageStatus, PartError, Progress, SentBy};
use crate::onboarding::Requested;
use crate::retry::Jitter;
use crate::secret::Secret;
use crate::sending::{End, Outcome, SendSchedule, Standing};
use crate::template::{Parameters, Template};
use crate::text::{Cellphone, PersonName, Unfit, within};
use crate::time::Timestamp;
use crate::workspace::list_shard;

/// What a landing page sends.
#[derive(Clone, Debug)]
pub struct LeadRequest {
    /// The workspace it is meant for.
    pub workspace_id: WorkspaceId,
    /// What the page says is the workspace's capture key: 1 to [`LeadRequest::MAX_KEY`] characters. That one is no
    /// secret, but by mistake it may be another key.
    pub capture_key: Secret,
    /// The visitor's number.
    pub cellphone: Cellphone,
    /// The visitor's name.
    pub name: Option<LeadName>,
    /// The brand.
    pub brand: Option<BrandId>,
    /// The page.
    pub landing_uri: LandingUri,
    /// What campaign brought the visitor there.
    pub utm: Utm,
    /// When the visitor gave permission, as the tenant claims.
    pub consented_at: Option<Timestamp>,
    /// The captcha token: 1 to [`LeadRequest::MAX_TOKEN`] characters.
    pub captcha: Secret,
}

impl LeadRequest {
    /// The greatest size of a body in bytes.
    pub const MAX_BODY: usize = 16 * 1024;
    /// The greatest number of characters of a captcha token.
    pub const MAX_TOKEN: usize = 8_192;
    /// The greatest number of characters of a capture key.
    pub const MAX_KEY: usize = 128;
}

/// A lead that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Its id: the `requestId` that was answered.
    pub id: LeadId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The visitor's number.
    pub cellphone: Cellphone,
    /// The visitor's name.
    pub name: Option<LeadName>,
    /// The brand in whose name is written.
    pub brand: BrandId,
    /// The page.
    pub landing_uri: LandingUri,
    /// What campaign brought the visitor there.
    pub utm: Utm,
    /// The permission to write. Never changes.
    pub consent: Consent,
    /// The contact: the one to be made, until [`Lead::opened`]; then whoever has the number.
    pub contact: ContactId,
    /// The conversation that is opened.
    pub conversation: ConversationId,
    /// The message that is sent in it.
    pub message: MessageId,
    /// Whether contact, conversation and message stand.
    pub opened: bool,
    /// How far it has come.
    pub state: LeadState,
    /// Why it is FAILED, UNKNOWN or SUPPRESSED.
    pub error: Option<PartError>,
    /// How sending stands.
    pub progress: Progress,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows by one with each change of its state.
    pub version: u64,
}

/// How far a lead has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadState {
    /// Accepted; nothing was sent.
    Queued,
    /// A call was begun, or is to be tried again.
    Sending,
    /// The provider accepted the message.
    Sent,
    /// It is not sent, and not to be any more.
    Failed,
    /// A call was begun whose outcome nobody knows.
    Unknown,
    /// It must not be sent.
    Suppressed,
}

impl LeadState {
    /// The words.
    pub const NAMES: &'static [&'static str] =
        &["QUEUED", "SENDING", "SENT", "FAILED", "UNKNOWN", "SUPPRESSED"];
    const ALL: [Self; 6] =
        [Self::Queued, Self::Sending, Self::Sent, Self::Failed, Self::Unknown, Self::Suppressed];

    /// Reads a word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether nothing more is done about it by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Sending)
    }

    /// Whether the visitor got no message by it and gets none: their next try is a new lead. An UNKNOWN one may have
    /// been sent.
    pub fn came_to_nothing(self) -> bool {
        matches!(self, Self::Failed | Self::Suppressed)
    }
}

/// The immutable record of a permission, as far as the service can know it: the tenant's claim, and what was seen. What
/// was seen of the visitor prints nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Consent {
    /// What the tenant claims.
    pub status: ConsentStatus,
    /// When the visitor gave it, as the tenant claims.
    pub captured_at: Option<Timestamp>,
    /// When the lead came.
    pub received_at: Timestamp,
    /// The page.
    pub landing_uri: LandingUri,
    /// The visitor's address, by [`Consent::hash_of`].
    pub address_hash: String,
    /// The visitor's browser, its first [`Consent::MAX_USER_AGENT`] characters.
    pub user_agent: Option<String>,
    /// How human the visitor seemed.
    pub score: Score,
}

impl Consent {
    /// So much of the browser's name is kept.
    pub const MAX_USER_AGENT: usize = 512;

    /// A visitor's address as it is kept: SHA-256 of lead and address in lower-case hex. It shows whether an address
    /// that somebody claims was the one, and equal addresses do not look equal. It hides nothing from whoever reads the
    /// table and tries all addresses.
    pub fn hash_of(lead: LeadId, address: &str) -> String {
        sha256_hex(format!("{lead}|{address}").as_bytes())
    }
}

impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, captured_at, received_at, score, .. } = self;
        f.debug_struct("Consent")
            .field("status", status)
            .field("captured_at", captured_at)
            .field("received_at", received_at)
            .field("score", score)
            .finish_non_exhaustive()
    }
}

/// What a tenant says of a visitor's permission to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentStatus {
    /// It was given.
    Granted,
    /// It was not: such a lead is not accepted.
    NotProvided,
}

impl ConsentStatus {
    /// The words of the API.
    pub const NAMES: &'static [&'static str] = &["GRANTED", "NOT_PROVIDED"];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "GRANTED" => Ok(Self::Granted),
            "NOT_PROVIDED" => Ok(Self::NotProvided),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A visitor's name: 1 to 100 characters after trimming. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct LeadName(String);

impl LeadName {
    /// The greatest number of characters.
    pub const MAX: usize = PersonName::MAX;

    /// Reads a name; `None` for one that is blank, as an optional field of a form that was left empty.
    pub fn read(text: &str) -> Result<Option<Self>, Unfit> {
        let trimmed = text.trim();
        within(trimmed, 0, Self::MAX)?;
        Ok((!trimmed.is_empty()).then(|| Self(trimmed.to_owned())))
    }

    /// Reads a name that is there.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::read(text)?.ok_or(Unfit::TooShort { min: 1 })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first word as the first name and the rest, if there is one, as the last.
    pub fn first_and_last(&self) -> (Option<PersonName>, Option<PersonName>) {
        let (first, rest) = self.0.split_once(char::is_whitespace).unwrap_or((&self.0, ""));
        (PersonName::parse(first).ok(), PersonName::parse(rest.trim()).ok())
    }
}

impl fmt::Debug for LeadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[LeadName]")
    }
}

/// A page's address: `http` or `https`, up to 2,048 characters. Prints redacted, as its query may tell of the visitor.
#[derive(Clone, PartialEq, Eq)]
pub struct LandingUri(String);

impl LandingUri {
    /// The greatest number of characters.
    pub const MAX: usize = 2_048;

    /// Reads an address, and keeps it as it was sent.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        // The parser forgives what is no address of a page as pages have it: `https:example.com`, `http:///spring`.
        let whole = text.split_once("://").is_some_and(|(scheme, rest)| {
            ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && !rest.starts_with('/')
        });
        let page = whole && Url::parse(text).is_ok_and(|url| url.has_host());
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        if page && plain { Ok(Self(text.to_owned())) } else { Err(Unfit::Value { reason: "not a web page" }) }
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LandingUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[LandingUri]")
    }
}

/// What campaign brought a visitor: up to 20 keys of 1 to 256 characters, values of up to 256. Prints redacted, as
/// pages put into it what they like.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Utm(BTreeMap<String, String>);

impl Utm {
    /// The greatest number of keys.
    pub const MAX: usize = 20;
    /// The greatest number of characters of a key and of a value.
    pub const MAX_TEXT: usize = 256;

    /// Checks and takes them.
    pub fn of(values: BTreeMap<String, String>) -> Result<Self, Unfit> {
        if values.len() > Self::MAX {
            return Err(Unfit::TooLong { max: Self::MAX });
        }
        for (key, value) in &values {
            within(key, 1, Self::MAX_TEXT)?;
            within(value, 0, Self::MAX_TEXT)?;
        }
        Ok(Self(values))
    }

    /// Keys and values, by key.
    pub fn values(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl fmt::Debug for Utm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[Utm]")
    }
}

/// What is known when a lead is accepted besides what was sent.
#[derive(Clone)]
pub struct Seen<'a> {
    /// The brand that it is of.
    pub brand: BrandId,
    /// How human the visitor seemed.
    pub score: Score,
    /// The visitor's address, as the gateway saw it.
    pub address: &'a str,
    /// What the visitor's browser calls itself.
    pub user_agent: Option<&'a str>,
}

/// What must be known to write to a lead. What is absent was not found.
#[derive(Clone, Copy, Debug)]
pub struct LeadKnown<'a> {
    /// The workspace's set-up.
    pub capture: Option<&'a Capture>,
    /// Whether the number's owner asked not to be written to.
    pub opted_out: bool,
    /// The line by which it is reached ([`Lead::line`]).
    pub line: Option<&'a Line>,
    /// The template that is sent.
    pub template: Option<&'a Template>,
}

/// Why a lead is not written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// It must not be.
    Suppressed(PartError),
    /// It cannot be.
    Failed(PartError),
}

/// The words of [`Lead::error`] besides those of messages.
impl PartError {
    /// No permission is on record.
    pub const NO_CONSENT: &'static str = "NO_CONSENT";
    /// Capture was disabled after the lead was accepted.
    pub const CAPTURE_DISABLED: &'static str = "CAPTURE_DISABLED";
    /// The number's owner asked not to be written to.
    pub const OPTED_OUT: &'static str = "OPTED_OUT";
    /// The template is not approved for the account behind the line.
    pub const NOT_APPROVED: &'static str = "NOT_APPROVED";
}

/// What a lead opens: written in the transaction in which it begins to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadOpening {
    /// The contact that has the number, as it is to stand.
    pub contact: Contact,
    /// The conversation.
    pub conversation: Conversation,
    /// The message.
    pub message: Message,
}

impl LeadRequest {
    /// The lead that is accepted. Contact, conversation and message get their ids now, so that whoever sends it, and
    /// however often it is tried, makes each of them once.
    pub fn accepted(self, seen: Seen<'_>, ids: &dyn Ids, now: Timestamp) -> Lead {
        let id = LeadId::generate(ids);
        let kept = |agent: &str| agent.chars().take(Consent::MAX_USER_AGENT).collect();
        Lead {
            id,
            workspace_id: self.workspace_id,
            cellphone: self.cellphone,
            name: self.name,
            brand: seen.brand,
            landing_uri: self.landing_uri.clone(),
            utm: self.utm,
            consent: Consent {
                status: ConsentStatus::Granted,
                captured_at: self.consented_at,
                received_at: now,
                landing_uri: self.landing_uri,
                address_hash: Consent::hash_of(id, seen.address),
                user_agent: seen.user_agent.map(kept),
                score: seen.score,
            },
            contact: ContactId::generate(ids),
            conversation: ConversationId::generate(ids),
            message: MessageId::generate(ids),
            opened: false,
            state: LeadState::Queued,
            error: None,
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}

impl Lead {
    /// For so long the same number and brand are the same lead, unless it came to nothing.
    pub const REPEATS: Duration = Duration::from_secs(24 * 3_600);

    /// Whether it may be sent now; `None` if nothing is to be done any more.
    pub fn standing(&self, now: Timestamp) -> Option<Standing> {
        (!self.state.is_final()).then(|| self.progress.standing(now))
    }

    /// The line by which it is reached: the one its message has, once that is made; before, its brand's.
    pub fn line<'a>(&self, message: Option<&Message>, lines: &'a Lines) -> Option<&'a Line> {
        match message.and_then(|message| message.recipients.first()) {
            Some(recipient) => lines.line(&recipient.channel),
            None => lines.resolve(None, Some(&self.brand)).ok().map(|(line, _)| line),
        }
    }

    /// The line and the template by which it is written to, as things stand now; why it is not.
    ///
    /// What forbids it comes before what stands in the way: no permission, capture disabled, opted out; then no line,
    /// no template, a template that is not approved for the line's account.
    pub fn check<'a>(&self, known: &LeadKnown<'a>) -> Result<(&'a Line, &'a Template), NotSent> {
        let suppressed = |word| Err(NotSent::Suppressed(PartError::of(word)));
        let failed = |word| NotSent::Failed(PartError::of(word));
        if self.consent.status != ConsentStatus::Granted {
            return suppressed(PartError::NO_CONSENT);
        }
        if !known.capture.is_some_and(|capture| capture.enabled) {
            return suppressed(PartError::CAPTURE_DISABLED);
        }
        if known.opted_out {
            return suppressed(PartError::OPTED_OUT);
        }
        let line = known.line.ok_or_else(|| failed(PartError::NO_LINE))?;
        let template = known.template.ok_or_else(|| failed(PartError::NO_TEMPLATE))?;
        if !template.approved_by.contains(&line.business_account) {
            return Err(failed(PartError::NOT_APPROVED));
        }
        Ok((line, template))
    }

    /// What it opens, with its message about to be sent: `found` is the contact that has the number, whose blanks are
    /// filled and nothing else; conversations stand in lists spread over `shards`.
    pub fn opening(
        &self,
        found: Option<&Contact>,
        line: &Line,
        template: TemplateId,
        shards: u8,
        now: Timestamp,
    ) -> LeadOpening {
        let contact = self.contact_of(found, now);
        let external = External {
            contact: contact.id,
            shown: ContactRef::Cellphone(self.cellphone.clone()),
            channel: line.channel.clone(),
            brand: self.brand.clone(),
            joined_at: now,
            last_seen_at: None,
        };
        let conversation = Conversation {
            id: self.conversation,
            workspace_id: self.workspace_id,
            name: None,
            status: ConversationStatus::NotAssignedToHuman,
            externals: vec![external],
            internals: vec![],
            created_at: now,
            updated_at: now,
            list_shard: list_shard(self.conversation.as_uuid(), shards),
            version: 1,
        };
        let recipients = conversation.recipients();
        let content = Content::Template(Requested { template, parameters: Parameters::new() });
        let mut parts = content.parts_for(&recipients);
        for part in &mut parts {
            part.status = MessageStatus::Sending;
        }
        let message = Message {
            id: self.message,
            workspace_id: self.workspace_id,
            conversation: self.conversation,
            seq: 1,
            sent_by: SentBy::Lead,
            content,
            reply_to: None,
            recipients,
            parts,
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        };
        LeadOpening { contact, conversation, message }
    }

    /// The contact that has the number: the one found, with its name filled in if it had none, or a new one.
    fn contact_of(&self, found: Option<&Contact>, now: Timestamp) -> Contact {
        let (first_name, last_name) = self.name.as_ref().map(LeadName::first_and_last).unwrap_or_default();
        let Some(found) = found else {
            let cellphone = Some(self.cellphone.clone());
            let blank = Contact::blank(self.contact, self.workspace_id, now);
            return Contact { cellphone, first_name, last_name, ..blank };
        };
        // A name is one thing: half of another one's is not filled up.
        let nameless = found.first_name.is_none() && found.last_name.is_none();
        if !nameless || first_name.is_none() {
            return found.clone();
        }
        let updated_at = now.max(found.updated_at.plus(Duration::from_millis(1)));
        Contact { first_name, last_name, updated_at, version: found.version + 1, ..found.clone() }
    }

    /// The lead with a call begun under this lease, in the conversation of this contact.
    pub fn begun(&self, contact: ContactId, lease: Uuid, now: Timestamp) -> Self {
        let progress = self.progress.begun(lease, now);
        let opened = Self { contact, opened: true, ..self.clone() };
        opened.moved(LeadState::Sending, None, progress, now)
    }

    /// The lead with what became of it, whether a call was begun or not; and what is then to be said of its message.
    pub fn ended(
        &self,
        end: End,
        schedule: &SendSchedule,
        jitter: Jitter,
        now: Timestamp,
    ) -> (Self, LeadWord) {
        let done = Progress::default();
        match self.progress.after(end, schedule, jitter, now) {
            Outcome::Sent(id) => (self.moved(LeadState::Sent, None, done, now), LeadWord::Sent(id)),
            Outcome::Failed(error) => {
                (self.moved(LeadState::Failed, Some(error.clone()), done, now), LeadWord::Failed(error))
            }
            Outcome::Unknown(error) => {
                (self.moved(LeadState::Unknown, Some(error.clone()), done, now), LeadWord::Unknown(error))
            }
            Outcome::Waits(progress) => (self.moved(self.state, None, progress, now), LeadWord::Waits),
        }
    }

    /// The lead that is not written to; and what is then to be said of its message, should there be one.
    pub fn not_sent(&self, why: NotSent, now: Timestamp) -> (Self, LeadWord) {
        let (state, error) = match why {
            NotSent::Suppressed(error) => (LeadState::Suppressed, error),
            NotSent::Failed(error) => (LeadState::Failed, error),
        };
        (self.moved(state, Some(error.clone()), Progress::default(), now), LeadWord::Failed(error))
    }

    /// The lead as an operator wants it tried once more; `None` unless it is UNKNOWN or FAILED. That an UNKNOWN one
    /// may be sent twice then is the operator's decision, and nobody else's.
    pub fn retried(&self, now: Timestamp) -> Option<Self> {
        let may = matches!(self.state, LeadState::Unknown | LeadState::Failed);
        may.then(|| self.moved(LeadState::Queued, None, Progress::default(), now))
    }

    fn moved(&self, state: LeadState, error: Option<PartError>, progress: Progress, now: Timestamp) -> Self {
        let mut next = Self { state, error, progress, ..self.clone() };
        if state != self.state {
            next.version += 1;
            next.updated_at = now.max(self.updated_at.plus(Duration::from_millis(1)));
        }
        next
    }
}

/// What is to be said of a lead's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadWord {
    /// It is accepted, under this id.
    Sent(String),
    /// It is not sent.
    Failed(PartError),
    /// Nobody knows.
    Unknown(PartError),
    /// Nothing: it is tried again.
    Waits,
}

impl LeadWord {
    /// A lead's message once this is said of it; `None` if that changes nothing. Statuses never go back: a message
    /// whose end was unknown, and that an operator had sent once more, can only become more certain.
    pub fn of(&self, message: &Message, now: Timestamp) -> Option<Message> {
        let (status, id, error) = match self {
            Self::Sent(id) => (MessageStatus::Sent, Some(id.clone()), None),
            Self::Failed(error) => (MessageStatus::Failed, None, Some(error.clone())),
            Self::Unknown(error) => (MessageStatus::Unknown, None, Some(error.clone())),
            Self::Waits => return None,
        };
        let mut next = message.clone();
        let part = next.parts.first_mut().filter(|part| part.status < status)?;
        part.status = status;
        part.provider_message_id = id;
        part.error = error;
        next.version += 1;
        next.updated_at = now.max(message.updated_at.plus(Duration::from_millis(1)));
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::capture::CaptureKey;
    use crate::line::{Brand, BusinessAccountId, ChannelId, Provider};
    use crate::retry::RetrySchedule;
    use crate::template::TemplateScope;
    use crate::text::Email;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const LEASE: Uuid = Uuid::from_u128(9);
    const MOMENT: Duration = Duration::from_millis(1);

    #[derive(Default)]
    struct Counting(AtomicU64);

    impl Ids for Counting {
        fn next(&self) -> Uuid {
            Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
        }
    }

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::from_u128(100))
    }

    fn brand() -> BrandId {
        BrandId::parse("brand").unwrap()
    }

    fn phone() -> Cellphone {
        Cellphone::parse("+12025550101").unwrap()
    }

    fn person(name: &str) -> Option<PersonName> {
        PersonName::parse(name).ok()
    }

    fn request(name: &str) -> LeadRequest {
        LeadRequest {
            workspace_id: workspace(),
            capture_key: Secret::new("lck_0"),
            cellphone: phone(),
            name: LeadName::read(name).unwrap(),
            brand: None,
            landing_uri: LandingUri::parse("https://www.example.com/spring?a=1").unwrap(),
            utm: Utm::of([("utm_source".to_owned(), "search".to_owned())].into()).unwrap(),
            consented_at: Some(NOW.plus(MOMENT)),
            captcha: Secret::new("token"),
        }
    }

    fn seen(address: &str) -> Seen<'_> {
        let score = Score::from_hundredths(70).unwrap();
        Seen { brand: brand(), score, address, user_agent: Some("Browser/1.0") }
    }

    fn lead_of(name: &str) -> Lead {
        request(name).accepted(seen("203.0.113.7"), &Counting::default(), NOW)
    }

    fn lead() -> Lead {
        lead_of("Ana Pérez")
    }

    fn line() -> Line {
        let account = BusinessAccountId::parse("2055500001").unwrap();
        Line::new(workspace(), ChannelId::parse("1045551234567").unwrap(), brand(), account, NOW).unwrap()
    }

    fn template() -> Template {
        Template {
            id: TemplateId::from_uuid(Uuid::from_u128(7)),
            scope: TemplateScope::Workspace(workspace()),
            provider: Provider::WhatsApp,
            name: "hello".to_owned(),
            language: "es".to_owned(),
            variables: vec![],
            approved_by: [line().business_account].into(),
            created_at: NOW,
            version: 1,
        }
    }

    fn opening(lead: &Lead, found: Option<&Contact>) -> LeadOpening {
        lead.opening(found, &line(), template().id, 4, NOW)
    }

    fn stranger() -> ContactId {
        ContactId::from_uuid(Uuid::from_u128(50))
    }

    fn ended(lead: &Lead, end: End) -> (Lead, LeadWord) {
        lead.ended(end, &SendSchedule::decided(), Jitter::NONE, NOW)
    }

    fn begun() -> Lead {
        lead().begun(stranger(), LEASE, NOW)
    }

    fn error(word: &str) -> PartError {
        PartError::of(word)
    }

    #[test]
    fn an_accepted_lead_is_queued_with_its_ids_and_its_permission() {
        let ids = Counting::default();
        let lead = request("Ana").accepted(seen("203.0.113.7"), &ids, NOW);
        assert_eq!((lead.state, lead.version, lead.opened), (LeadState::Queued, 1, false));
        assert_eq!((lead.created_at, lead.updated_at, &lead.progress), (NOW, NOW, &Progress::default()));
        assert_eq!(
            (lead.error.clone(), lead.brand.clone(), lead.cellphone.clone()),
            (None, brand(), phone())
        );
        let minted = [
            *lead.id.as_uuid(),
            *lead.contact.as_uuid(),
            *lead.conversation.as_uuid(),
            *lead.message.as_uuid(),
        ];
        assert_eq!(minted, [1, 2, 3, 4].map(Uuid::from_u128), "each its own");
        let consent = Consent {
            status: ConsentStatus::Granted,
            captured_at: Some(NOW.plus(MOMENT)),
            received_at: NOW,
            landing_uri: lead.landing_uri.clone(),
            address_hash: Consent::hash_of(lead.id, "203.0.113.7"),
            user_agent: Some("Browser/1.0".to_owned()),
            score: Score::from_hundredths(70).unwrap(),
        };
        assert_eq!(lead.consent, consent);
    }

    #[test]
    fn of_a_browsers_name_the_beginning_is_kept() {
        let long = "ñ".repeat(Consent::MAX_USER_AGENT + 1);
        let seen = Seen { user_agent: Some(&long), ..seen("") };
        let kept = request("").accepted(seen.clone(), &Counting::default(), NOW).consent.user_agent.unwrap();
        assert_eq!((kept.chars().count(), long.starts_with(&kept)), (512, true));
        let silent = Seen { user_agent: None, ..seen };
        assert_eq!(request("").accepted(silent, &Counting::default(), NOW).consent.user_agent, None);
    }

    #[test]
    fn an_address_can_be_checked_and_put_together_with_no_other() {
        let id = |n| LeadId::from_uuid(Uuid::from_u128(n));
        let hash = Consent::hash_of(id(1), "203.0.113.7");
        // printf '00000000-0000-0000-0000-000000000001|203.0.113.7' | sha256sum
        assert_eq!(hash, "d44f806fcf925965b2ac4abfe785b4bbcfabfda230fdfdffd2aef6fec5bfa36e");
        assert_ne!(hash, Consent::hash_of(id(2), "203.0.113.7"));
        assert_ne!(hash, Consent::hash_of(id(1), "203.0.113.8"));
    }

    #[test]
    fn states_and_permissions_have_their_words() {
        for (state, word, is_final, came_to_nothing) in [
            (LeadState::Queued, "QUEUED", false, false),
            (LeadState::Sending, "SENDING", false, false),
            (LeadState::Sent, "SENT", true, false),
            (LeadState::Failed, "FAILED", true, true),
            (LeadState::Unknown, "UNKNOWN", true, false),
            (LeadState::Suppressed, "SUPPRESSED", true, true),
        ] {
            assert_eq!((state.as_str(), state.is_final()), (word, is_final));
            assert_eq!(state.came_to_nothing(), came_to_nothing, "{word}");
            assert_eq!(LeadState::parse(word), Ok(state));
        }
        assert_eq!(LeadState::parse("sent"), Err(Unfit::NotOneOf { expected: LeadState::NAMES }));
        for status in [ConsentStatus::Granted, ConsentStatus::NotProvided] {
            assert_eq!(ConsentStatus::parse(status.as_str()), Ok(status));
        }
        assert_eq!(ConsentStatus::parse("granted"), Err(Unfit::NotOneOf { expected: ConsentStatus::NAMES }));
    }

    #[test]
    fn a_name_is_trimmed_and_a_blank_one_is_none() {
        let name = |text: &str| LeadName::read(text).map(|name| name.map(|name| name.as_str().to_owned()));
        assert_eq!(name(" Ana \n"), Ok(Some("Ana".to_owned())));
        assert_eq!((name(""), name(" \t ")), (Ok(None), Ok(None)));
        assert_eq!(name(&"ñ".repeat(100)), Ok(Some("ñ".repeat(100))));
        assert_eq!(name(&"ñ".repeat(101)), Err(Unfit::TooLong { max: 100 }));
        assert_eq!(name(&format!(" {} ", "ñ".repeat(100))), Ok(Some("ñ".repeat(100))));
        assert_eq!(LeadName::parse(" "), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(LeadName::parse("Ana").unwrap().as_str(), "Ana");
    }

    #[test]
    fn the_first_word_is_the_first_name_and_the_rest_the_last() {
        for (name, first, last) in [
            ("Ana", "Ana", ""),
            ("Ana Pérez", "Ana", "Pérez"),
            ("  Ana   Pérez  de Ruiz ", "Ana", "Pérez  de Ruiz"),
            ("Ana\tPérez", "Ana", "Pérez"),
            ("Ana\u{a0}Pérez", "Ana", "Pérez"),
        ] {
            assert_eq!(
                LeadName::parse(name).unwrap().first_and_last(),
                (person(first), person(last)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_landing_page_is_a_web_page_kept_as_it_was_sent() {
        let longest = format!("https://example.com/{}", "x".repeat(2_048 - 20));
        for text in
            ["https://example.com", "HTTP://Example.com/a?b=c#d", "http://localhost:8080/ñ", longest.as_str()]
        {
            assert_eq!(LandingUri::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(LandingUri::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(LandingUri::parse(&format!("{longest}x")), Err(Unfit::TooLong { max: 2_048 }));
        for text in [
            "example.com",
            "/spring",
            "ftp://example.com",
            "javascript:alert(1)",
            "mailto:a@example.com",
            "https://",
            "https:example.com",
            "https:/example.com",
            "http:///spring",
            "https:example.com?from=http://a",
            "https:// example.com",
            " https://example.com",
            "https://example.com/a b",
            "https://example.com/\n",
            "https://example.com/\u{0}",
            "data:text/html,x",
            "file:///etc/hosts",
        ] {
            assert_eq!(LandingUri::parse(text), Err(Unfit::Value { reason: "not a web page" }), "{text}");
        }
    }

    #[test]
    fn a_campaign_has_so_many_keys_of_such_a_length() {
        let utm = |values: Vec<(String, String)>| Utm::of(values.into_iter().collect());
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let keys = |count: usize| (0..count).map(|n| pair(&format!("k{n}"), "")).collect::<Vec<_>>();
        assert_eq!(utm(keys(20)).unwrap().values().len(), 20);
        assert_eq!(utm(keys(21)), Err(Unfit::TooLong { max: 20 }));
        let (longest, longer) = ("ñ".repeat(256), "ñ".repeat(257));
        assert!(utm(vec![pair(&longest, &longest)]).is_ok());
        assert_eq!(utm(vec![pair("", "x")]), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(utm(vec![pair(&longer, "")]), Err(Unfit::TooLong { max: 256 }));
        assert_eq!(utm(vec![pair("a", &longer)]), Err(Unfit::TooLong { max: 256 }));
    }

    #[test]
    fn what_tells_of_a_visitor_is_printed_nowhere() {
        let printed = format!("{:?} {:?}", request("Ana Pérez"), lead());
        for word in ["Ana", "Pérez", "spring", "+12025550101", "Browser", "search", "token"] {
            assert!(!printed.contains(word), "{word}: {printed}");
        }
    }

    /// A set-up that lets leads be written to.
    fn capture() -> Capture {
        Capture { enabled: true, ..Capture::new(workspace(), CaptureKey::from_entropy([1; 6]), NOW) }
    }

    #[test]
    fn what_forbids_a_lead_comes_before_what_stands_in_its_way() {
        let (on, line, template) = (capture(), line(), template());
        let off = Capture { enabled: false, ..on.clone() };
        let unapproved = Template { approved_by: [].into(), ..template.clone() };
        let nothing = LeadKnown { capture: None, opted_out: true, line: None, template: None };
        let not_given = {
            let mut lead = lead();
            lead.consent.status = ConsentStatus::NotProvided;
            lead
        };
        let suppressed = |word| Err(NotSent::Suppressed(error(word)));
        let failed = |word| Err(NotSent::Failed(error(word)));
        let enabled = LeadKnown { capture: Some(&on), ..nothing };
        let willing = LeadKnown { opted_out: false, ..enabled };
        let reached = LeadKnown { line: Some(&line), ..willing };
        let rows = [
            (&not_given, nothing, suppressed("NO_CONSENT")),
            (&lead(), nothing, suppressed("CAPTURE_DISABLED")),
            (&lead(), LeadKnown { capture: Some(&off), ..nothing }, suppressed("CAPTURE_DISABLED")),
            (&lead(), enabled, suppressed("OPTED_OUT")),
            (&lead(), willing, failed("NO_LINE")),
            (&lead(), LeadKnown { template: Some(&unapproved), ..willing }, failed("NO_LINE")),
            (&lead(), reached, failed("NO_TEMPLATE")),
            (&lead(), LeadKnown { template: Some(&unapproved), ..reached }, failed("NOT_APPROVED")),
            (&lead(), LeadKnown { template: Some(&template), ..reached }, Ok((&line, &template))),
        ];
        for (lead, known, expected) in rows {
            assert_eq!(lead.check(&known), expected, "{known:?}");
        }
    }

    #[test]
    fn a_lead_is_reached_by_its_brands_line_and_then_by_its_messages() {
        let other = Line { channel: ChannelId::parse("2").unwrap(), ..line() };
        let of = |line: Option<&Line>| Brand {
            line: line.map(|line| line.channel.clone()),
            ..Brand::new(brand(), workspace(), "A brand", NOW).unwrap()
        };
        let lines = |brands, default: Option<&Line>| Lines {
            lines: vec![line(), other.clone()],
            brands,
            default: default.map(|line| line.channel.clone()),
        };
        let by = |lines: &Lines, message: Option<&Message>| lead().line(message, lines).cloned();
        let message = opening(&lead(), None).message;
        for (lines, first, later) in [
            (lines(vec![of(Some(&other))], None), Some(&other), Some(line())),
            (lines(vec![of(None)], Some(&other)), Some(&other), Some(line())),
            (lines(vec![of(None)], None), None, Some(line())),
            (lines(vec![], Some(&other)), None, Some(line())),
            (Lines { lines: vec![other.clone()], ..lines(vec![of(Some(&other))], None) }, Some(&other), None),
        ] {
            assert_eq!(by(&lines, None).as_ref(), first, "{lines:?}");
            assert_eq!(by(&lines, Some(&message)), later, "{lines:?}");
        }
    }

    #[test]
    fn a_stranger_becomes_a_contact_with_the_leads_name_and_number() {
        for (name, first, last) in [("Ana Pérez", "Ana", "Pérez"), ("Ana", "Ana", ""), ("", "", "")] {
            let lead = lead_of(name);
            let expected = Contact {
                first_name: person(first),
                last_name: person(last),
                cellphone: Some(phone()),
                ..Contact::blank(lead.contact, workspace(), NOW)
            };
            assert_eq!(opening(&lead, None).contact, expected);
        }
    }

    #[test]
    fn of_a_contact_that_is_there_blanks_are_filled_and_nothing_else() {
        let later = NOW.plus(MOMENT);
        let blank = Contact {
            cellphone: Some(phone()),
            email: Email::parse("ana@example.com").ok(),
            version: 3,
            ..Contact::blank(stranger(), workspace(), NOW)
        };
        let named =
            |first, last| Contact { first_name: person(first), last_name: person(last), ..blank.clone() };
        let filled = |first, last| Contact { updated_at: later, version: 4, ..named(first, last) };
        for (name, found, expected) in [
            ("Ana Pérez", named("", ""), filled("Ana", "Pérez")),
            ("Ana", named("", ""), filled("Ana", "")),
            ("", named("", ""), named("", "")),
            ("Ana Pérez", named("María", "Gil"), named("María", "Gil")),
            // Half of another name is not filled up: María Pérez is nobody.
            ("Ana Pérez", named("María", ""), named("María", "")),
            ("Ana Pérez", named("", "Gil"), named("", "Gil")),
        ] {
            let opened = opening(&lead_of(name), Some(&found));
            assert_eq!(opened.contact, expected, "{name}");
            assert_eq!(opened.conversation.externals[0].contact, found.id);
            assert_eq!(opened.message.recipients[0].contact, found.id);
        }
        let ahead = Contact { updated_at: later, ..blank };
        assert_eq!(opening(&lead(), Some(&ahead)).contact.updated_at, later.plus(MOMENT), "time goes on");
    }

    #[test]
    fn what_a_lead_opens_is_for_nobody_yet_with_one_message_about_to_be_sent() {
        let lead = lead();
        let LeadOpening { conversation, message, .. } = opening(&lead, None);
        let external = External {
            contact: lead.contact,
            shown: ContactRef::Cellphone(phone()),
            channel: line().channel,
            brand: brand(),
            joined_at: NOW,
            last_seen_at: None,
        };
        let expected = Conversation {
            id: lead.conversation,
            workspace_id: workspace(),
            name: None,
            status: ConversationStatus::NotAssignedToHuman,
            externals: vec![external],
            internals: vec![],
            created_at: NOW,
            updated_at: NOW,
            list_shard: list_shard(lead.conversation.as_uuid(), 4),
            version: 1,
        };
        assert_eq!(conversation, expected);
        assert_eq!((message.id, message.conversation, message.seq), (lead.message, lead.conversation, 1));
        assert_eq!((message.sent_by, message.reply_to, message.version), (SentBy::Lead, None, 1));
        let template = Requested { template: template().id, parameters: Parameters::new() };
        assert_eq!(message.content, Content::Template(template));
        assert_eq!((message.status(), message.parts.len()), (MessageStatus::Sending, 1));
        assert_eq!((message.created_at, &message.progress), (NOW, &Progress::default()));
        let waits = Brand { ..Brand::new(BrandId::parse("other").unwrap(), workspace(), "x", NOW).unwrap() };
        let of_other = Lead { brand: waits.id.clone(), ..lead };
        let opened = opening(&of_other, None);
        assert_eq!(opened.conversation.externals[0].brand, waits.id, "the lead's brand, not the line's");
    }

    #[test]
    fn a_call_that_begins_makes_a_lead_sending_and_says_under_which_lease() {
        let begun = begun();
        let progress = Progress { since: Some(NOW), calling: Some(LEASE), ..Progress::default() };
        let expected = Lead {
            state: LeadState::Sending,
            opened: true,
            contact: stranger(),
            progress,
            updated_at: NOW.plus(MOMENT),
            version: 2,
            ..lead()
        };
        assert_eq!(begun, expected);
        assert_eq!(begun.standing(NOW), Some(Standing::Interrupted));
        assert_eq!(lead().standing(NOW), Some(Standing::Due));
    }

    #[test]
    fn each_end_of_a_call_has_its_state_its_error_and_its_word() {
        let id = || "wamid.1".to_owned();
        let rows = [
            (End::Sent(id()), LeadState::Sent, None, LeadWord::Sent(id())),
            (
                End::Failed(error("131026")),
                LeadState::Failed,
                Some("131026"),
                LeadWord::Failed(error("131026")),
            ),
            (
                End::Unknown(error("NO_ANSWER")),
                LeadState::Unknown,
                Some("NO_ANSWER"),
                LeadWord::Unknown(error("NO_ANSWER")),
            ),
        ];
        for (end, state, word, said) in rows {
            let expected = Lead {
                state,
                error: word.map(error),
                progress: Progress::default(),
                updated_at: begun().updated_at.plus(MOMENT),
                version: 3,
                ..begun()
            };
            assert_eq!(ended(&begun(), end.clone()), (expected, said), "{end:?}");
        }
    }

    #[test]
    fn what_was_not_taken_waits_in_the_state_it_has() {
        let seconds = |seconds| Some(NOW.plus(Duration::from_secs(seconds)));
        for (end, failures, throttled, next_at) in [
            (End::NotTaken, 1, 0, seconds(30)),
            (End::Throttled, 0, 1, seconds(5)),
            (End::NotCalled, 0, 0, None),
        ] {
            // A call that was begun, and one that could not be.
            for lead in [begun(), lead()] {
                let called = lead.state == LeadState::Sending;
                let since = (called || next_at.is_some()).then_some(NOW);
                let progress = Progress { failures, throttled, since, next_at, calling: None };
                let expected = Lead { progress, ..lead.clone() };
                assert_eq!(ended(&lead, end.clone()), (expected.clone(), LeadWord::Waits), "{end:?}");
                let standing = next_at.map_or(Standing::Due, Standing::NotBefore);
                assert_eq!(expected.standing(NOW), Some(standing));
                assert_eq!(expected.standing(NOW.plus(Duration::from_secs(30))), Some(Standing::Due));
            }
        }
    }

    #[test]
    fn what_is_never_taken_is_given_up_a_day_after_its_first_call() {
        let day = Duration::from_secs(86_400);
        let last = begun().ended(End::NotTaken, &SendSchedule::decided(), Jitter::NONE, NOW.plus(day));
        assert_eq!((last.0.state, last.0.error), (LeadState::Failed, Some(error("GIVEN_UP"))));
        assert_eq!(last.1, LeadWord::Failed(error("GIVEN_UP")));
        let before = NOW.plus(day - MOMENT);
        let waits = begun().ended(End::NotTaken, &SendSchedule::decided(), Jitter::NONE, before).0;
        assert_eq!((waits.state, waits.progress.next_at), (LeadState::Sending, Some(NOW.plus(day))));
    }

    #[test]
    fn a_lead_that_is_not_written_to_says_why() {
        for (why, state) in [
            (NotSent::Suppressed(error("OPTED_OUT")), LeadState::Suppressed),
            (NotSent::Failed(error("NO_LINE")), LeadState::Failed),
        ] {
            for lead in [lead(), ended(&begun(), End::NotTaken).0] {
                let (next, word) = lead.not_sent(why.clone(), NOW);
                let (NotSent::Suppressed(error) | NotSent::Failed(error)) = why.clone();
                assert_eq!(
                    (next.state, next.error, next.version),
                    (state, Some(error.clone()), lead.version + 1)
                );
                assert_eq!((next.progress, next.opened), (Progress::default(), lead.opened));
                assert_eq!(word, LeadWord::Failed(error));
            }
        }
    }

    #[test]
    fn an_operator_may_have_tried_again_what_failed_or_is_unknown_and_nothing_else() {
        for (state, may) in [
            (LeadState::Queued, false),
            (LeadState::Sending, false),
            (LeadState::Sent, false),
            (LeadState::Failed, true),
            (LeadState::Unknown, true),
            (LeadState::Suppressed, false),
        ] {
            let lead = Lead { state, error: Some(error("x")), ..begun() };
            let expected = Lead {
                state: LeadState::Queued,
                error: None,
                progress: Progress::default(),
                updated_at: lead.updated_at.plus(MOMENT),
                version: lead.version + 1,
                ..lead.clone()
            };
            assert_eq!(lead.retried(NOW), may.then_some(expected), "{state:?}");
            assert_eq!(lead.standing(NOW).is_none(), state.is_final());
        }
    }

    #[test]
    fn a_messages_status_never_goes_back() {
        let said = |status, id: Option<&str>, word: Option<&str>| {
            let mut message = opening(&lead(), None).message;
            message.parts[0].status = status;
            message.parts[0].provider_message_id = id.map(str::to_owned);
            message.parts[0].error = word.map(error);
            message
        };
        let words = [
            (LeadWord::Unknown(error("a")), MessageStatus::Unknown, None, Some("a")),
            (LeadWord::Failed(error("b")), MessageStatus::Failed, None, Some("b")),
            (LeadWord::Sent("c".to_owned()), MessageStatus::Sent, Some("c"), None),
        ];
        for name in MessageStatus::NAMES {
            let status = MessageStatus::parse(name).unwrap();
            let before = said(status, None, (status == MessageStatus::Unknown).then_some("before"));
            assert_eq!(LeadWord::Waits.of(&before, NOW), None);
            for (word, becomes, id, why) in &words {
                let mut expected = said(*becomes, *id, *why);
                expected.version = 2;
                expected.updated_at = NOW.plus(MOMENT);
                let expected = (status < *becomes).then_some(expected);
                assert_eq!(word.of(&before, NOW), expected, "{name} {word:?}");
            }
        }
        let empty = Message { parts: vec![], ..said(MessageStatus::Sending, None, None) };
        assert_eq!(words[2].0.of(&empty, NOW), None);
    }

    /// What happens to a lead.
    #[derive(Clone, Debug)]
    enum Happens {
        Ends(End),
        /// Nothing was begun, as something was missing.
        Misses,
        Forbidden,
        Again,
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            1 => Just(Happens::Ends(End::Sent("wamid".to_owned()))),
            1 => Just(Happens::Ends(End::Failed(PartError::of("131026")))),
            1 => Just(Happens::Ends(End::Unknown(PartError::of("NO_ANSWER")))),
            3 => Just(Happens::Ends(End::NotTaken)),
            2 => Just(Happens::Ends(End::Throttled)),
            1 => Just(Happens::Ends(End::NotCalled)),
            2 => Just(Happens::Misses),
            1 => Just(Happens::Forbidden),
            2 => Just(Happens::Again),
        ]
    }

    proptest! {
        #[test]
        fn whatever_happens_a_lead_is_sent_once_at_most_and_its_end_is_an_end(
            history in prop::collection::vec((happens(), 0..40_000_u64, any::<u128>()), 0..40)
        ) {
            let waits = |waits: &[u64]| {
                RetrySchedule::of(&waits.iter().copied().map(Duration::from_secs).collect::<Vec<_>>())
            };
            let schedule = SendSchedule {
                retries: waits(&[30, 600]),
                throttled: waits(&[5]),
                give_up: Duration::from_secs(86_400),
            };
            let (mut lead, mut message, mut now, mut sent) = (lead(), None::<Message>, NOW, 0);
            for (happens, seconds, random) in history {
                now = now.plus(Duration::from_secs(seconds));
                let (before, jitter) = (lead.clone(), Jitter::of(&Uuid::from_u128(random)));
                let (next, word) = match (happens, lead.standing(now)) {
                    (Happens::Again, _) => match lead.retried(now) {
                        Some(next) => (next, LeadWord::Waits),
                        None => continue,
                    },
                    // Nobody does anything about it.
                    (_, None | Some(Standing::NotBefore(_))) => continue,
                    (_, Some(Standing::Interrupted)) => unreachable!("each call ends here"),
                    (Happens::Forbidden, _) => lead.not_sent(NotSent::Suppressed(PartError::of("OPTED_OUT")), now),
                    (Happens::Misses, _) => lead.ended(End::NotTaken, &schedule, jitter, now),
                    (Happens::Ends(end), _) => {
                        let begun = lead.begun(lead.contact, LEASE, now);
                        prop_assert_eq!(begun.state, LeadState::Sending);
                        message.get_or_insert_with(|| opening(&lead, None).message);
                        begun.ended(end, &schedule, jitter, now)
                    }
                };
                sent += usize::from(next.state == LeadState::Sent);
                if next.state == before.state {
                    prop_assert_eq!((next.version, next.updated_at), (before.version, before.updated_at));
                } else {
                    prop_assert!(next.version > before.version && next.updated_at > before.updated_at);
                }
                prop_assert_eq!(next.error.is_some(), matches!(
                    next.state,
                    LeadState::Failed | LeadState::Unknown | LeadState::Suppressed
                ));
                prop_assert!(next.progress.calling.is_none());
                if next.state.is_final() {
                    prop_assert_eq!(&next.progress, &Progress::default());
                    prop_assert!(word != LeadWord::Waits);
                }
                // What was promised when it was accepted stays.
                prop_assert_eq!((next.id, &next.consent, next.message), (before.id, &before.consent, before.message));
                if let Some(seen) = &mut message
                    && let Some(told) = word.of(seen, now)
                {
                    prop_assert!(told.status() > seen.status() && told.version == seen.version + 1);
                    *seen = told;
                }
                prop_assert_eq!(next.opened, message.is_some());
                lead = next;
            }
            prop_assert!(sent <= 1);
            if lead.state == LeadState::Sent {
                prop_assert_eq!(message.map(|message| message.status()), Some(MessageStatus::Sent));
            }
        }
    }
}
