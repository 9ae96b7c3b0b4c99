//! What becomes of a lead: whether it gets a message, and how it follows that message.

use crate::choices::Choices;
use crate::ids::{BrandId, ContactId, ConversationId, MessageId};
use crate::lead::capture::Capture;
use crate::lead::consent::ConsentStatus;
use crate::lead::{Lead, LeadState};
use crate::message::{Message, MessageStatus};
use crate::sending::PartError;
use crate::settings::line::{Line, Lines};
use crate::settings::template::{Template, TemplateCategory};
use crate::time::Timestamp;
use crate::words::words;

/// The data that decides what becomes of a lead. An absent item was not found.
#[derive(Clone, Copy, Debug)]
pub struct LeadKnown<'a> {
    /// The workspace's lead capture settings.
    pub capture: Option<&'a Capture>,
    /// The choices of the lead's number about templates.
    pub choices: &'a [Choices],
    /// The lines and brands of the workspace.
    pub lines: &'a Lines,
    /// The template to send.
    pub template: Option<&'a Template>,
}

/// What becomes of a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement<'a> {
    /// The visitor must not be contacted.
    Suppressed(PartError),
    /// The visitor is a contact, and gets no message.
    Failed {
        /// Why.
        error: PartError,
        /// The line of the conversation in which an agent can see the lead, with the brand. `None` if the workspace has no
        /// line.
        line: Option<(&'a Line, BrandId)>,
    },
    /// The visitor gets a message of this template from this line.
    Message(&'a Line, &'a Template),
}

/// The data that decides whether a lead is retried. An absent item was not found.
#[derive(Clone, Copy, Debug)]
pub struct RetryKnown<'a> {
    /// The workspace's lead capture settings.
    pub capture: Option<&'a Capture>,
    /// The category of the template to send.
    pub category: Option<TemplateCategory>,
    /// The choices of the lead's number about templates.
    pub choices: &'a [Choices],
    /// Whether the caller accepts that the visitor may get the message a second time.
    pub may_send_twice: bool,
}

/// Why a lead is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRetried {
    /// It is neither FAILED nor UNKNOWN.
    State,
    /// It is UNKNOWN, so the message may be sent twice, which the caller did not accept.
    MaySendTwice,
    /// Lead capture is disabled.
    CaptureDisabled,
    /// Its number has opted out.
    OptedOut,
}

words!(
    /// The names in responses.
    NotRetried {
        State: "STATE",
        MaySendTwice: "MAY_SEND_TWICE",
        CaptureDisabled: "CAPTURE_DISABLED",
        OptedOut: "OPTED_OUT",
    }
);

/// The codes of [`Lead::error`] that messages do not have.
impl PartError {
    /// The consent record does not grant consent.
    pub const NO_CONSENT: &'static str = "NO_CONSENT";
}

/// The codes with which the message of a lead fails because its number must not be contacted.
const FORBIDDEN: [&str; 3] =
    [PartError::OPTED_OUT, PartError::OPTED_OUT_MARKETING, PartError::CAPTURE_DISABLED];

impl Lead {
    /// What becomes of the lead.
    ///
    /// Reasons that forbid a message come first: no consent, capture disabled, opted out. Reasons that prevent it follow: no
    /// line, no template. The status of the template does not count: the message waits or fails by it.
    pub fn judge<'a>(&self, known: &LeadKnown<'a>) -> Judgement<'a> {
        let suppressed = |word| Judgement::Suppressed(PartError::of(word));
        if self.consent.status != ConsentStatus::Granted {
            return suppressed(PartError::NO_CONSENT);
        }
        if !known.capture.is_some_and(|capture| capture.enabled) {
            return suppressed(PartError::CAPTURE_DISABLED);
        }
        let line = known.lines.resolve(None, Some(&self.brand)).ok().map(|(line, _)| line);
        let category = known.template.and_then(|template| template.category);
        if let Some(code) = Choices::refusal(known.choices, category, line.map(|line| &line.channel)) {
            return suppressed(code);
        }
        match (line, known.template) {
            (Some(line), Some(template)) => Judgement::Message(line, template),
            (Some(line), None) => Judgement::Failed {
                error: PartError::of(PartError::NO_TEMPLATE),
                line: Some((line, self.brand.clone())),
            },
            (None, _) => {
                let line = known.lines.default_or_oldest().map(|line| (line, line.brand.clone()));
                Judgement::Failed { error: PartError::of(PartError::NO_LINE), line }
            }
        }
    }

    /// The lead that gets no message, because the visitor must not be contacted.
    pub fn suppressed(&self, error: PartError, now: Timestamp) -> Self {
        self.moved(LeadState::Suppressed, Some(error), now)
    }

    /// The lead after its contact and, if there is one, its conversation were opened. `error` says why there is no message.
    /// With a message, the lead is SENDING until the message ends.
    pub fn opened_for(
        &self,
        contact: ContactId,
        conversation: Option<ConversationId>,
        error: Option<PartError>,
        now: Timestamp,
    ) -> Self {
        let opened = Self {
            contact,
            conversation: conversation.unwrap_or(self.conversation),
            opened: conversation.is_some(),
            ..self.clone()
        };
        let state = if error.is_some() { LeadState::Failed } else { LeadState::Sending };
        opened.moved(state, error, now)
    }

    /// The lead after somebody requested a retry, with the id of the message that is sent then. `None` unless it is
    /// UNKNOWN or FAILED. [`Lead::retry`] judges a request.
    pub fn retried(&self, message: MessageId, now: Timestamp) -> Option<Self> {
        matches!(self.state, LeadState::Unknown | LeadState::Failed).then(|| self.queued(message, now))
    }

    /// Judges the request to retry this lead. Returns the lead that is queued, or why it is not retried. A lead that would
    /// become SUPPRESSED stays as it is, because such a lead is never retried.
    pub fn retry(
        &self,
        known: &RetryKnown<'_>,
        message: MessageId,
        now: Timestamp,
    ) -> Result<Self, NotRetried> {
        let next = self.retried(message, now).ok_or(NotRetried::State)?;
        let is_opted_out = Choices::refusal(known.choices, known.category, None).is_some();
        if self.state == LeadState::Unknown && !known.may_send_twice {
            Err(NotRetried::MaySendTwice)
        } else if !known.capture.is_some_and(|capture| capture.enabled) {
            Err(NotRetried::CaptureDisabled)
        } else if is_opted_out {
            Err(NotRetried::OptedOut)
        } else {
            Ok(next)
        }
    }

    /// The lead after its visitor sent it again, with the id of the message that is sent then. `None` unless it ended
    /// without a message. It is judged as a new lead, and its consent stays the first one.
    pub fn queued_by_repeat(&self, message: MessageId, now: Timestamp) -> Option<Self> {
        self.state.ended_without_message().then(|| self.queued(message, now))
    }

    /// The message, if it exists.
    pub fn sent_message(&self) -> Option<MessageId> {
        let exists = self.state == LeadState::Sending || self.message_version.is_some();
        exists.then_some(self.message)
    }

    fn queued(&self, message: MessageId, now: Timestamp) -> Self {
        // The message of before stays as it ended, and its later statuses do not move the lead.
        Self { message, message_version: None, ..self.moved(LeadState::Queued, None, now) }
    }

    /// The state of a lead whose message is this one, and why. The one part of the message decides.
    pub fn state_of(message: &Message) -> (LeadState, Option<PartError>) {
        let part = message.parts.first();
        let error = part.and_then(|part| part.error.clone());
        match part.map(|part| part.status) {
            None | Some(MessageStatus::Queued | MessageStatus::Sending) => (LeadState::Sending, None),
            Some(MessageStatus::Sent | MessageStatus::Delivered | MessageStatus::Read) => {
                (LeadState::Sent, None)
            }
            Some(MessageStatus::Unknown) => (LeadState::Unknown, error),
            Some(MessageStatus::Failed) => {
                let is_forbidden = error.as_ref().is_some_and(|error| FORBIDDEN.contains(&error.as_str()));
                (if is_forbidden { LeadState::Suppressed } else { LeadState::Failed }, error)
            }
        }
    }

    fn moved(&self, state: LeadState, error: Option<PartError>, now: Timestamp) -> Self {
        let updated_at = self.updated_at.next_change(now);
        Self { state, error, version: self.version + 1, updated_at, ..self.clone() }
    }
}
