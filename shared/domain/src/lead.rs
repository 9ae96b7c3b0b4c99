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

use sha2::{Digest, Sha256};
use url::Url;
use uuid::Uuid;

use crate::captcha::Score;
use crate::capture::Capture;
use crate::contact::Contact;
use crate::conversation::{ContactRef, Conversation, ConversationStatus, External};
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
}

/// The immutable record of a permission, as far as the service can know it: the tenant's claim, and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// A visitor's address as it is kept: SHA-256 of lead and address in lower-case hex. Whoever claims an address can
    /// be checked; leads of one address cannot be put together.
    pub fn hash_of(lead: LeadId, address: &str) -> String {
        let hash = Sha256::digest(format!("{lead}|{address}").as_bytes());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
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
        let page =
            Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
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
#[derive(Clone, Debug)]
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
    /// For so long the same number and brand are the same lead.
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
