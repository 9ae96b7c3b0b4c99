//! The sending of a lead's first message.

use std::time::Duration;

use uuid::Uuid;

use crate::choices::Choices;
use crate::ids::ContactId;
use crate::lead::capture::Capture;
use crate::lead::consent::ConsentStatus;
use crate::lead::{Lead, LeadState};
use crate::message::{Message, MessageStatus};
use crate::retry::Jitter;
use crate::sending::{End, PartError, Progress, SendOutcome, SendSchedule, Standing};
use crate::settings::line::{Line, Lines};
use crate::settings::template::{Sendable, Template};
use crate::time::Timestamp;

/// The data that decides whether a lead can be sent. An absent item was not found.
#[derive(Clone, Copy, Debug)]
pub struct LeadKnown<'a> {
    /// The workspace's lead capture settings.
    pub capture: Option<&'a Capture>,
    /// The choices of the lead's number about templates.
    pub choices: &'a [Choices],
    /// The line that sends the message ([`Lead::line`]).
    pub line: Option<&'a Line>,
    /// The template to send.
    pub template: Option<&'a Template>,
}

/// Why a lead is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// The message must not be sent.
    Suppressed(PartError),
    /// The message cannot be sent.
    Failed(PartError),
}

/// The codes of [`Lead::error`] that messages do not have.
impl PartError {
    /// The consent record does not grant consent.
    pub const NO_CONSENT: &'static str = "NO_CONSENT";
    /// Capture was disabled after the lead was accepted.
    pub const CAPTURE_DISABLED: &'static str = "CAPTURE_DISABLED";
}

impl Lead {
    /// Whether a call may be made now. `None` if the lead is final.
    pub fn standing(&self, now: Timestamp) -> Option<Standing> {
        (!self.state.is_final()).then(|| self.progress.standing(now))
    }

    /// The line that sends the message: the line of the message if it exists, otherwise the brand's line.
    pub fn line<'a>(&self, message: Option<&Message>, lines: &'a Lines) -> Option<&'a Line> {
        match message.and_then(|message| message.recipients.first()) {
            Some(recipient) => lines.line(&recipient.channel),
            None => lines.resolve(None, Some(&self.brand)).ok().map(|(line, _)| line),
        }
    }

    /// The present line and template of the lead, or why it is not sent.
    ///
    /// Reasons that forbid sending come first: no consent, capture disabled, opted out. Reasons that prevent
    /// it follow: no line, no template, a template that is not approved for the line's account.
    pub fn check<'a>(&self, known: &LeadKnown<'a>) -> Result<(&'a Line, &'a Template), NotSent> {
        let suppressed = |word| Err(NotSent::Suppressed(PartError::of(word)));
        let failed = |word| NotSent::Failed(PartError::of(word));
        if self.consent.status != ConsentStatus::Granted {
            return suppressed(PartError::NO_CONSENT);
        }
        if !known.capture.is_some_and(|capture| capture.enabled) {
            return suppressed(PartError::CAPTURE_DISABLED);
        }
        let category = known.template.and_then(|template| template.category);
        if let Some(code) = Choices::refusal(known.choices, category, known.line.map(|line| &line.channel)) {
            return suppressed(code);
        }
        let line = known.line.ok_or_else(|| failed(PartError::NO_LINE))?;
        let template = known.template.ok_or_else(|| failed(PartError::NO_TEMPLATE))?;
        if template.sendable(&line.business_account) != Sendable::Now {
            return Err(failed(PartError::NOT_APPROVED));
        }
        Ok((line, template))
    }

    /// The lead after a call was begun under this lease. `contact` is the contact of the conversation.
    pub fn begun(&self, contact: ContactId, lease: Uuid, now: Timestamp) -> Self {
        let progress = self.progress.begun(lease, now);
        let opened = Self { contact, opened: true, ..self.clone() };
        opened.moved(LeadState::Sending, None, progress, now)
    }

    /// The lead after a send ended, with or without a call, and the update of its message.
    pub fn ended(
        &self,
        end: End,
        schedule: &SendSchedule,
        jitter: Jitter,
        now: Timestamp,
    ) -> (Self, MessageUpdate) {
        let done = Progress::default();
        match self.progress.after(end, schedule, jitter, now) {
            SendOutcome::Sent(id) => (self.moved(LeadState::Sent, None, done, now), MessageUpdate::Sent(id)),
            SendOutcome::Failed(error) => {
                (self.moved(LeadState::Failed, Some(error.clone()), done, now), MessageUpdate::Failed(error))
            }
            SendOutcome::Unknown(error) => (
                self.moved(LeadState::Unknown, Some(error.clone()), done, now),
                MessageUpdate::Unknown(error),
            ),
            SendOutcome::Waits(progress) => {
                (self.moved(self.state, None, progress, now), MessageUpdate::Waits)
            }
        }
    }

    /// The lead that is not sent, and the update of its message, if it has one.
    pub fn not_sent(&self, why: NotSent, now: Timestamp) -> (Self, MessageUpdate) {
        let (state, error) = match why {
            NotSent::Suppressed(error) => (LeadState::Suppressed, error),
            NotSent::Failed(error) => (LeadState::Failed, error),
        };
        (self.moved(state, Some(error.clone()), Progress::default(), now), MessageUpdate::Failed(error))
    }

    /// The lead after an operator requested a retry. `None` unless it is UNKNOWN or FAILED. A retry of an
    /// UNKNOWN lead may send the message twice; only an operator can decide that.
    pub fn retried(&self, now: Timestamp) -> Option<Self> {
        let may = matches!(self.state, LeadState::Unknown | LeadState::Failed);
        may.then(|| self.moved(LeadState::Queued, None, Progress::default(), now))
    }

    /// The lead after its visitor sent it again. `None` unless it ended without a message. The sender checks it
    /// as a new lead, and its consent stays the first one.
    pub fn queued_by_repeat(&self, now: Timestamp) -> Option<Self> {
        let may = self.state.ended_without_message();
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

/// The update of a lead's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageUpdate {
    /// The provider accepted the message under this id.
    Sent(String),
    /// The message was not sent.
    Failed(PartError),
    /// The outcome is unknown.
    Unknown(PartError),
    /// No update: the lead is retried.
    Waits,
}

impl MessageUpdate {
    /// The message after this update. `None` if nothing changes. A status never goes back: after an
    /// operator's retry, an UNKNOWN message can only get a higher status.
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
