//! How the first message comes to a lead.

use std::time::Duration;

use uuid::Uuid;

use crate::ids::ContactId;
use crate::lead::capture::Capture;
use crate::lead::consent::ConsentStatus;
use crate::lead::{Lead, LeadState};
use crate::message::{Message, MessageStatus};
use crate::retry::Jitter;
use crate::sending::{End, PartError, Progress, SendOutcome, SendSchedule, Standing};
use crate::settings::line::{Line, Lines};
use crate::settings::template::Template;
use crate::time::Timestamp;

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

impl Lead {
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
            SendOutcome::Sent(id) => (self.moved(LeadState::Sent, None, done, now), LeadWord::Sent(id)),
            SendOutcome::Failed(error) => {
                (self.moved(LeadState::Failed, Some(error.clone()), done, now), LeadWord::Failed(error))
            }
            SendOutcome::Unknown(error) => {
                (self.moved(LeadState::Unknown, Some(error.clone()), done, now), LeadWord::Unknown(error))
            }
            SendOutcome::Waits(progress) => (self.moved(self.state, None, progress, now), LeadWord::Waits),
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
