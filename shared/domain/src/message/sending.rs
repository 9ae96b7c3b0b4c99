//! How a message reaches its customers: the service sends one part after another, each by calls of the
//! provider, and never repeats a call blindly.
//!
//! ```text
//! QUEUED --begun--> SENDING --accepted, also if held---------> SENT
//!    |                |  ^-----not accepted, rate limited--- (waits for a retry)
//!    |                |------rejected, given up------------> FAILED
//!    |                '------no answer, sender died--------> UNKNOWN
//!    '--cannot be sent: no address, no line, ...-----------> FAILED
//! ```
//!
//! A waiting part delays the parts after it. A FAILED or UNKNOWN part does not.

use std::fmt;

use uuid::Uuid;

use crate::choices::Choices;
use crate::contact::Contact;
use crate::contact::address::Address;
use crate::conversation::{Conversation, ConversationStatus, OnboardingPlan, Recipient};
use crate::ids::{ContactId, MessageId};
use crate::media::Attached;
use crate::message::{Content, Message, MessageBody, MessageStatus, Piece, SentBy};
use crate::phone::PhoneKey;
use crate::retry::Jitter;
use crate::sending::{End, PartError, Progress, SendOutcome, SendSchedule, Standing};
use crate::settings::line::Line;
use crate::settings::template::{
    FaultKind, Filler, Filling, Sendable, Template, TemplateContent, TemplateStatus,
};
use crate::time::Timestamp;

/// What the sender must do about a message now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing: all parts are final.
    Finished,
    /// A call was begun and its outcome was not recorded. The sender that made it is dead, because only one
    /// sender at a time works on a conversation.
    Interrupted,
    /// The current part waits until this time.
    NotBefore(Timestamp),
    /// The provider paused the template of the current part. It waits until this time.
    PausedUntil(Timestamp),
    /// The current part, which has this index, is due.
    Due(usize),
}

/// The data that decides whether a part can be sent. An absent item was not found.
#[derive(Clone, Copy, Debug)]
pub struct MessageKnown<'a> {
    /// The conversation.
    pub conversation: Option<&'a Conversation>,
    /// The recipient.
    pub contact: Option<&'a Contact>,
    /// The line.
    pub line: Option<&'a Line>,
    /// The template, if the message is one.
    pub template: Option<&'a Template>,
    /// What permits the message, if it is a lead's.
    pub lead: Option<&'a LeadPermit>,
    /// The recipient's choices about templates, for each of the ids that are known. They count only for templates.
    pub choices: &'a [Choices],
    /// The present time.
    pub now: Timestamp,
    /// Whether the provider surely refuses what is not a template ([`crate::message::ServiceWindow::is_surely_closed`]).
    pub window_closed: bool,
}

/// What permits the first message of a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadPermit {
    /// The number that the consent covers. `None` if the lead no longer exists.
    pub number: Option<PhoneKey>,
    /// Whether the workspace captures leads.
    pub is_capturing: bool,
}

/// Why a part is not ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// It cannot be sent.
    Never(PartError),
    /// The provider does not let the line's account send the template for now.
    TemplateWaits(TemplateStatus),
}

/// A part that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter<'a> {
    /// The recipient.
    pub to: Address,
    /// The content.
    pub words: Words<'a>,
}

/// The content of a part. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub enum Words<'a> {
    /// A text.
    Text(&'a MessageBody),
    /// A file with an optional caption.
    Media(&'a Attached, Option<&'a MessageBody>),
    /// A template with its values.
    Template(&'a Template, Filling),
}

impl Words<'_> {
    /// The text of a template, as it is kept with the part.
    pub fn kept_text(&self) -> Option<String> {
        match self {
            Self::Template(template, filling) => template.kept_text(filling),
            Self::Text(_) | Self::Media(..) => None,
        }
    }
}

impl fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "[Text]",
            Self::Media(..) => "[Media]",
            Self::Template(..) => "[Template]",
        })
    }
}

impl Message {
    /// What the sender must do about the message now.
    pub fn turn(&self, now: Timestamp) -> Turn {
        let Some(at) = self.part_at_hand() else { return Turn::Finished };
        match self.progress.standing(now) {
            Standing::Interrupted => Turn::Interrupted,
            Standing::NotBefore(next_at) if self.progress.is_paused => Turn::PausedUntil(next_at),
            Standing::NotBefore(next_at) => Turn::NotBefore(next_at),
            Standing::Due => Turn::Due(at),
        }
    }

    /// The recipient of a part, with the line.
    pub fn recipient_of(&self, part: usize) -> Option<&Recipient> {
        let contact = self.parts.get(part)?.recipient;
        self.recipients.iter().find(|recipient| recipient.contact == contact)
    }

    /// The part, ready to be sent, or why it is not sent now.
    pub fn letter<'a>(&'a self, part: usize, known: &MessageKnown<'a>) -> Result<Letter<'a>, NotReady> {
        let because = |word| Err(NotReady::Never(PartError::of(word)));
        if known.conversation.is_none_or(|conversation| conversation.status == ConversationStatus::Blocked) {
            return because(PartError::BLOCKED);
        }
        let Some(line) = known.line else { return because(PartError::NO_LINE) };
        let address = |contact: &'a Contact| Some((contact, contact.address(&line.business_account)?));
        let Some((contact, to)) = known.contact.and_then(address) else {
            return because(PartError::NO_ADDRESS);
        };
        let index = self.parts.get(part).map(|part| part.index);
        let words = match index.and_then(|index| self.content.pieces().get(index).copied()) {
            None => return because(PartError::NO_CONTENT),
            Some(Piece::Text(_) | Piece::Media(..)) if known.window_closed => {
                return because(PartError::OUTSIDE_WINDOW);
            }
            Some(Piece::Text(body)) => Words::Text(body),
            Some(Piece::Media(file, caption)) => Words::Media(file, caption),
            Some(Piece::Template(content)) => {
                let (template, filling) = Self::template_of(content, contact, line, known)?;
                Words::Template(template, filling)
            }
        };
        Ok(Letter { to, words })
    }

    /// The template of a part with its values.
    fn template_of<'a>(
        content: &TemplateContent,
        contact: &Contact,
        line: &Line,
        known: &MessageKnown<'a>,
    ) -> Result<(&'a Template, Filling), NotReady> {
        let never = |error| Err(NotReady::Never(error));
        // Checked first: whoever opted out gets no template, whatever else is wrong with it.
        let category = known.template.and_then(|template| template.category);
        if let Some(code) = Choices::refusal(known.choices, category, Some(&line.channel)) {
            return never(PartError::of(code));
        }
        if let Some(permit) = known.lead {
            if !permit.is_capturing {
                return never(PartError::of(PartError::CAPTURE_DISABLED));
            }
            let Some(number) = &permit.number else { return never(PartError::of(PartError::NO_CONSENT)) };
            if contact.phone_keys().all(|key| key != *number) {
                return never(PartError::of(PartError::NUMBER_CHANGED));
            }
        }
        let Some(template) = known.template else { return never(PartError::of(PartError::NO_TEMPLATE)) };
        let Some(status) = template.status(&line.business_account) else {
            return never(PartError::of(PartError::NOT_APPROVED));
        };
        if status.sendable() == Sendable::Never {
            return never(status.part_error());
        }
        let filling = template.filled(&Filler {
            given: &content.parameters,
            files: &content.files,
            contact: Some(contact.values()),
            now: known.now,
            // It was checked when the message was accepted.
            is_object: |_| true,
        });
        // The template may have changed since the message was accepted.
        let fault = filling.faults.iter().find(|fault| fault.kind != FaultKind::Foreign);
        if let Some(fault) = fault {
            let detail = format!("The value of {} {}.", fault.parameter, fault.reason);
            return never(PartError::of(fault.kind.part_error()).because(detail));
        }
        match status.sendable() {
            Sendable::Now => Ok((template, filling)),
            Sendable::Later | Sendable::Never => Err(NotReady::TemplateWaits(status)),
        }
    }

    /// The id of the message that this part answers. Only the first piece for each recipient is an answer.
    pub fn answers(&self, part: usize) -> Option<MessageId> {
        self.reply_to.filter(|_| self.parts.get(part).is_some_and(|part| part.index == 0))
    }

    /// The provider's id of the message that this customer wrote, or of the first part of the message that this
    /// customer received.
    pub fn provider_id_for(&self, contact: ContactId) -> Option<&str> {
        if let Content::Received(received) = &self.content {
            return (received.contact == contact).then_some(received.provider_message_id.as_str());
        }
        let parts = self.parts.iter().filter(|part| part.recipient == contact);
        parts.filter_map(|part| part.provider_message_id.as_deref()).next()
    }

    /// When a message whose template cannot be sent for now is looked at again. `None` if it has waited for the retry
    /// period. Nothing is recorded for a look without a call.
    pub fn looked_at_again(&self, schedule: &SendSchedule, now: Timestamp) -> Option<Timestamp> {
        let last = self.progress.since.unwrap_or(self.created_at).plus(schedule.give_up);
        (now < last).then(|| now.plus(schedule.template_look).min(last))
    }

    /// The message with the text of its current part as the recipient gets it. Only a template has one.
    pub fn with_text(&self, text: Option<&str>) -> Self {
        let mut next = self.clone();
        if let (Some(text), Some(part)) = (text, self.part_at_hand().and_then(|at| next.parts.get_mut(at))) {
            part.text = Some(text.to_owned());
        }
        next
    }

    /// The message after a call was begun for its current part under this lease.
    pub fn begun(&self, lease: Uuid, now: Timestamp) -> Self {
        self.moved(MessageStatus::Sending, None, None, self.progress.begun(lease, now), now)
    }

    /// The message of a sender that may have recorded a begun call but made none.
    pub fn not_called(&self) -> Self {
        Self { progress: Progress { calling: None, ..self.progress.clone() }, ..self.clone() }
    }

    /// The message after a send of its current part ended, with or without a call.
    pub fn ended(&self, end: End, schedule: &SendSchedule, jitter: Jitter, now: Timestamp) -> Self {
        let done = Progress::default();
        match self.progress.after(end, schedule, jitter, now) {
            SendOutcome::Sent(id) => self.moved(MessageStatus::Sent, Some(id), None, done, now),
            SendOutcome::Held(id) => {
                let mut next = self.moved(MessageStatus::Sent, Some(id), None, done, now);
                if let Some(part) = self.part_at_hand().and_then(|at| next.parts.get_mut(at)) {
                    part.is_held = true;
                }
                next
            }
            SendOutcome::Failed(error) => self.moved(MessageStatus::Failed, None, Some(error), done, now),
            SendOutcome::Unknown(error) => self.moved(MessageStatus::Unknown, None, Some(error), done, now),
            SendOutcome::Waits(progress) => self.moved(MessageStatus::Sending, None, None, progress, now),
        }
    }

    /// The message with its current part, if there is one, in this status. It must not be below the
    /// present one.
    fn moved(
        &self,
        status: MessageStatus,
        provider_message_id: Option<String>,
        error: Option<PartError>,
        progress: Progress,
        now: Timestamp,
    ) -> Self {
        let mut next = self.clone();
        let Some(part) = self.part_at_hand().and_then(|at| next.parts.get_mut(at)) else { return next };
        if part.status != status {
            part.status = status;
            part.provider_message_id = provider_message_id;
            part.error = error;
            next.version += 1;
            next.updated_at = self.updated_at.next_change(now);
        }
        next.progress = progress;
        next
    }
}

impl OnboardingPlan {
    /// The numbers (`seq`) of the messages that the plan still has to create.
    pub fn steps_left(&self) -> impl Iterator<Item = u64> {
        (self.done..self.steps.len()).map(|step| step as u64 + 1)
    }

    /// The next step as a message, and the plan with this step done. `None` if all steps are done. The message is of the moment
    /// of the plan, because it is sent before what was written after that, and lists show messages in the order of sending.
    pub fn next_message(&self, id: MessageId, now: Timestamp) -> Option<(Message, Self)> {
        let content = Content::Template(self.steps.get(self.done)?.clone());
        let message = Message {
            id,
            workspace_id: self.workspace_id,
            conversation: self.conversation,
            seq: self.done as u64 + 1,
            sent_by: SentBy::Onboarding,
            lead: None,
            parts: content.parts_for(&self.recipients),
            content,
            reply_to: None,
            recipients: self.recipients.clone(),
            progress: Progress::default(),
            created_at: self.created_at,
            updated_at: now,
            version: 1,
        };
        Some((message, Self { done: self.done + 1, ..self.clone() }))
    }
}

#[cfg(test)]
mod tests;
