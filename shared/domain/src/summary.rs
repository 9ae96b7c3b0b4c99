//! What a released conversation came to.

use std::time::Duration;

use crate::conversation::Conversation;
use crate::message::SentBy;
use crate::time::Timestamp;

/// The messages of a conversation, counted by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// From customers.
    pub inbound: usize,
    /// To customers, onboarding included.
    pub outbound: usize,
    /// Internal notes.
    pub internal: usize,
    /// When the first message was made.
    pub first: Option<Timestamp>,
    /// When the last one was.
    pub last: Option<Timestamp>,
}

impl Tally {
    /// Counts a message.
    pub fn count(&mut self, sent_by: SentBy, broadcast: bool, at: Timestamp) {
        match (sent_by, broadcast) {
            (SentBy::Customer, _) => self.inbound += 1,
            (_, true) => self.outbound += 1,
            (_, false) => self.internal += 1,
        }
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }
}

/// A conversation as it was released, and the messages it had by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The conversation; its last change is its release.
    pub conversation: Conversation,
    /// Its messages.
    pub tally: Tally,
}

impl Summary {
    /// How long it lasted, from its beginning to its release.
    pub fn duration(&self) -> Duration {
        self.conversation.updated_at.since(self.conversation.created_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_count_by_direction_whatever_their_order() {
        let mut tally = Tally::default();
        for (sent_by, broadcast, at) in [
            (SentBy::Api, true, 50),
            (SentBy::Onboarding, true, 10),
            (SentBy::Lead, true, 20),
            (SentBy::Api, false, 90),
            (SentBy::Customer, true, 40),
            (SentBy::Customer, false, 60),
        ] {
            tally.count(sent_by, broadcast, Timestamp::from_millis(at));
        }
        let (first, last) = (Some(Timestamp::from_millis(10)), Some(Timestamp::from_millis(90)));
        assert_eq!(tally, Tally { inbound: 2, outbound: 3, internal: 1, first, last });
    }
}
