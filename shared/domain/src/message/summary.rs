//! The summary of a released conversation.

use std::time::Duration;

use crate::conversation::Conversation;
use crate::message::{Message, SentBy};
use crate::time::Timestamp;
use crate::words::words;

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a customer.
    Inbound,
    /// To customers, including onboarding.
    Outbound,
    /// An internal note.
    Internal,
}

words!(
    /// The names of the directions.
    Direction { Inbound: "INBOUND", Outbound: "OUTBOUND", Internal: "INTERNAL" }
);

impl Direction {
    /// The direction from the author and from whether the message goes to customers.
    pub fn of(sent_by: SentBy, broadcast: bool) -> Self {
        match (sent_by, broadcast) {
            (SentBy::Customer, _) => Self::Inbound,
            (SentBy::BusinessApp, _) | (_, true) => Self::Outbound,
            (_, false) => Self::Internal,
        }
    }
}

/// The number of messages in a conversation, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// From customers.
    pub inbound: usize,
    /// To customers, including onboarding.
    pub outbound: usize,
    /// Internal notes.
    pub internal: usize,
    /// When the first message was created.
    pub first: Option<Timestamp>,
    /// When the last message was created.
    pub last: Option<Timestamp>,
}

impl Tally {
    /// Adds a message to the count.
    pub fn count(&mut self, direction: Direction, at: Timestamp) {
        match direction {
            Direction::Inbound => self.inbound += 1,
            Direction::Outbound => self.outbound += 1,
            Direction::Internal => self.internal += 1,
        }
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }

    /// The tally of one message.
    pub fn of(message: &Message) -> Self {
        let mut tally = Self::default();
        tally.count(message.direction(), message.created_at);
        tally
    }

    /// The tally of all messages of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            inbound: self.inbound + other.inbound,
            outbound: self.outbound + other.outbound,
            internal: self.internal + other.internal,
            first: [self.first, other.first].into_iter().flatten().min(),
            last: self.last.max(other.last),
        }
    }

    /// The number of all messages.
    pub fn messages(&self) -> usize {
        self.inbound + self.outbound + self.internal
    }
}

impl Message {
    /// The message's direction.
    pub fn direction(&self) -> Direction {
        Direction::of(self.sent_by, self.is_broadcast())
    }
}

/// A released conversation and the count of its messages up to the release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The conversation. Its last change is the release.
    pub conversation: Conversation,
    /// The count of its messages.
    pub tally: Tally,
}

impl Summary {
    /// The time from the conversation's creation to its release.
    pub fn duration(&self) -> Duration {
        self.conversation.updated_at.since(self.conversation.created_at)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::{ConversationId, MessageId, WorkspaceId};
    use crate::message::Content;
    use crate::sending::Progress;

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
            tally.count(Direction::of(sent_by, broadcast), Timestamp::from_millis(at));
        }
        let (first, last) = (Some(Timestamp::from_millis(10)), Some(Timestamp::from_millis(90)));
        assert_eq!(tally, Tally { inbound: 2, outbound: 3, internal: 1, first, last });
        assert_eq!(tally.messages(), 6);
    }

    #[test]
    fn a_summary_lasts_from_the_creation_to_the_release() {
        let (id, workspace) = (ConversationId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
        let opened = Conversation::blank(id, workspace, Timestamp::from_millis(1_000));
        let conversation = Conversation { updated_at: Timestamp::from_millis(61_500), ..opened };
        let summary = Summary { conversation, tally: Tally::default() };
        assert_eq!(summary.duration(), Duration::from_millis(60_500));
    }

    #[test]
    fn the_tally_of_a_message_counts_it_at_its_creation() {
        let (at, id) = (Timestamp::from_millis(7), Uuid::nil());
        let note = Message {
            id: MessageId::from_uuid(id),
            workspace_id: WorkspaceId::from_uuid(id),
            conversation: ConversationId::from_uuid(id),
            seq: 1,
            sent_by: SentBy::Api,
            lead: None,
            content: Content::Written { body: None, media: vec![], broadcast: false },
            reply_to: None,
            recipients: vec![],
            parts: vec![],
            progress: Progress::default(),
            created_at: at,
            updated_at: Timestamp::from_millis(9),
            version: 1,
        };
        let expected = Tally { internal: 1, first: Some(at), last: Some(at), ..Tally::default() };
        assert_eq!(Tally::of(&note), expected);
    }

    #[test]
    fn the_tally_of_two_tallies_counts_all_their_messages() {
        let of = |all: &[(Direction, i64)]| {
            let mut tally = Tally::default();
            all.iter().for_each(|(direction, at)| tally.count(*direction, Timestamp::from_millis(*at)));
            tally
        };
        let all = [(Direction::Outbound, 5), (Direction::Internal, 3), (Direction::Inbound, 9)];
        for cut in 0..=all.len() {
            let (some, others) = all.split_at(cut);
            assert_eq!(of(some).and(of(others)), of(&all));
            assert_eq!(of(others).and(of(some)), of(&all));
        }
    }
}
