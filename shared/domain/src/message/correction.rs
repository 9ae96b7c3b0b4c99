//! A customer, or somebody of the business with the provider's app, changes or deletes a message that the service has.
//!
//! The provider repeats its changes, in any order. The newest edit holds, and a deletion holds against every edit, so every order
//! of the same changes ends in the same message.

use crate::ids::{ChannelId, MessageId};
use crate::message::received::{Edit, Extras, Raw, Received, ReceivedContent, ReceivedText, Said};
use crate::message::{Content, Message, SentBy};
use crate::time::Timestamp;

/// A change of a message by its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The provider's id of the change.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it: the customer, or somebody of the business with the provider's app.
    pub by: SentBy,
    /// What changes.
    pub kind: CorrectionKind,
}

/// What changes in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorrectionKind {
    /// Its text, or the text below its file.
    Edit {
        /// The text from now on. Only that below a file may be absent.
        text: Option<ReceivedText>,
        /// What the service does not know of the edit.
        raw: Option<Raw>,
    },
    /// The author deleted it for everyone.
    Revoke,
}

/// What a change does to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Corrected {
    /// Nothing: it is no message of this author on this line.
    Foreign,
    /// Nothing: the message has no text that can be edited.
    NoText,
    /// Nothing: the change or a newer one was made before, or the message is deleted.
    Unchanged,
    /// The message is now this one.
    Changed(Box<Message>),
}

impl Message {
    /// The message after a change by its author on this line. The provider's id names a message of one author, so nobody else can
    /// change it.
    pub fn corrected(&self, correction: &Correction, line: &ChannelId, now: Timestamp) -> Corrected {
        let Content::Received(received) = &self.content else { return Corrected::Foreign };
        if received.channel != *line || self.sent_by != correction.by {
            return Corrected::Foreign;
        }
        if received.extras.revoked_at.is_some() {
            return Corrected::Unchanged;
        }
        let changed = match &correction.kind {
            CorrectionKind::Revoke => received.revoked(correction.at),
            CorrectionKind::Edit { text, raw } => {
                let Some(what) = received.what.with_text(text.clone()) else { return Corrected::NoText };
                let edit = Edit { at: correction.at, id: correction.id.clone() };
                if received.extras.edit.as_ref().is_some_and(|last| *last >= edit) {
                    return Corrected::Unchanged;
                }
                received.edited(what, edit, raw.clone())
            }
        };
        let mut next = Self { content: Content::Received(changed), ..self.clone() };
        next.version += 1;
        next.updated_at = self.updated_at.next_change(now);
        Corrected::Changed(Box::new(next))
    }

    /// The message with the content that came after its placeholder. `None` if it is no placeholder, or no longer one.
    pub fn filled(
        &self,
        what: ReceivedContent,
        extras: Box<Extras>,
        reply_to: Option<MessageId>,
        now: Timestamp,
    ) -> Option<Self> {
        let Content::Received(received) = &self.content else { return None };
        let content = Content::Received(Received { what, extras, ..received.clone() });
        let next = || Self {
            content,
            reply_to: self.reply_to.or(reply_to),
            version: self.version + 1,
            updated_at: self.updated_at.next_change(now),
            ..self.clone()
        };
        received.is_placeholder().then(next)
    }
}

impl Received {
    fn edited(&self, what: ReceivedContent, edit: Edit, raw: Option<Raw>) -> Self {
        let extras =
            Extras { edit: Some(edit), raw: raw.or_else(|| self.extras.raw.clone()), ..*self.extras.clone() };
        Self { what, extras: Box::new(extras), ..self.clone() }
    }

    /// The message without what the customer said. Where it comes from is no word of the customer, and stays.
    fn revoked(&self, at: Timestamp) -> Self {
        let Extras { referral, forwarded, .. } = *self.extras.clone();
        let extras = Extras { referral, forwarded, revoked_at: Some(at), ..Extras::default() };
        let what = ReceivedContent::Revoked(self.what.message_type());
        Self { what, extras: Box::new(extras), ..self.clone() }
    }
}

impl ReceivedContent {
    /// The content with this text. `None` if it has no text that a customer can edit.
    fn with_text(&self, text: Option<ReceivedText>) -> Option<Self> {
        match (self, text) {
            (Self::Said(Said::Text(_)), Some(text)) => Some(Self::Said(Said::Text(text))),
            (Self::File { sent_as, file, voice, animated, .. }, caption) => Some(Self::File {
                sent_as: *sent_as,
                file: file.clone(),
                caption,
                voice: *voice,
                animated: *animated,
            }),
            (Self::Said(_) | Self::Reaction { .. } | Self::Revoked(_), _) => None,
        }
    }
}

#[cfg(test)]
mod tests;
