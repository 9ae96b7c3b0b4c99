//! Lanes: the places that work goes to, each worked on by one visitor at a time.
//!
//! What waits is scheduled by its lane, not by itself: the lane stands in a due index, and a queue message names a lane
//! and nothing else. The work of a lane is found by reading the lane's own partition.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use crate::ids::{ConversationId, EndpointId, LeadId, WorkspaceId};
use crate::time::Timestamp;

/// The kinds of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    /// A slot of a webhook endpoint: its deliveries, many at the same time.
    Webhook,
    /// A conversation: its messages, in their order.
    Conversation,
    /// A lead: its first message.
    Lead,
}

impl LaneKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Webhook, Self::Conversation, Self::Lead];

    /// The word that queue messages and logs use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Conversation => "conversation",
            Self::Lead => "lead",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A slot of a webhook endpoint: one partition of its deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The workspace of the endpoint.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Which of the endpoint's slots, from 0.
    pub number: u8,
}

/// A lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneId {
    /// A slot of a webhook endpoint.
    Webhook(Slot),
    /// A conversation.
    Conversation(WorkspaceId, ConversationId),
    /// A lead.
    Lead(WorkspaceId, LeadId),
}

impl LaneId {
    /// Its kind.
    pub fn kind(&self) -> LaneKind {
        match self {
            Self::Webhook(_) => LaneKind::Webhook,
            Self::Conversation(..) => LaneKind::Conversation,
            Self::Lead(..) => LaneKind::Lead,
        }
    }

    /// The workspace that it belongs to.
    pub fn workspace(&self) -> WorkspaceId {
        match self {
            Self::Webhook(slot) => slot.workspace,
            Self::Conversation(workspace, _) | Self::Lead(workspace, _) => *workspace,
        }
    }

    /// Whose turn its queue messages take: the queue serves groups in turn. An endpoint does not keep other endpoints
    /// waiting, nor a workspace that writes to thousands the other workspaces.
    pub fn group(&self) -> Uuid {
        match self {
            Self::Webhook(slot) => *slot.endpoint.as_uuid(),
            Self::Conversation(workspace, _) | Self::Lead(workspace, _) => *workspace.as_uuid(),
        }
    }
}

/// `webhook <endpoint>/<slot>`, `conversation <id>`, `lead <id>`: for logs.
impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().as_str();
        match self {
            Self::Webhook(Slot { endpoint, number, .. }) => write!(f, "{kind} {endpoint}/{number}"),
            Self::Conversation(_, id) => write!(f, "{kind} {id}"),
            Self::Lead(_, id) => write!(f, "{kind} {id}"),
        }
    }
}

/// Which of the two webhook queues a lane's messages go to. Each queue has workers of its own, so that slow and silent
/// endpoints hold up no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Track {
    /// Endpoints that answer quickly, and those of which nothing is known.
    Fast,
    /// Endpoints that answer late or not at all.
    Slow,
}

/// How a visit leaves its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing is left to be done.
    Done,
    /// Nothing is to be done before then, but for what is put in meanwhile.
    Waits(Timestamp),
    /// Nothing is to be done before then, whatever is put in meanwhile.
    Closed(Timestamp),
    /// Work is left, and no time.
    TimeUp,
}

/// What brings the next visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuePlan {
    /// When the sweeper looks after the lane.
    pub due_at: Timestamp,
    /// Whether the sweeper itself is the plan, and not only there for when the queue message is lost.
    pub is_planned: bool,
    /// For how long a queue message is held back; `None` where the sweeper brings the visitor.
    pub wake_after: Option<Duration>,
}

impl Rest {
    /// A queue holds a message back for 15 minutes at most.
    pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

    /// What brings the next visitor, if one is to come; `rescue` is how long after its message the sweeper comes.
    pub fn plan(self, rescue: Duration, now: Timestamp) -> Option<DuePlan> {
        let at = match self {
            Self::Done => return None,
            Self::Waits(at) | Self::Closed(at) => at,
            Self::TimeUp => now,
        };
        let after = at.since(now);
        Some(if after <= Self::LONGEST_DELAY {
            DuePlan { due_at: at.max(now).plus(rescue), is_planned: false, wake_after: Some(after) }
        } else {
            DuePlan { due_at: at, is_planned: true, wake_after: None }
        })
    }

    /// Whether a lane may be left so although work was put in since the visitor looked.
    pub fn holds_whatever_comes(self) -> bool {
        matches!(self, Self::Closed(_) | Self::TimeUp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_within_15_minutes_comes_by_the_queue_and_later_by_the_sweeper() {
        let now = Timestamp::from_millis(1_767_323_045_678);
        let rescue = Duration::from_secs(120);
        let later = |seconds| now.plus(Duration::from_secs(seconds));
        let by_queue = |seconds, due| DuePlan {
            due_at: later(due),
            is_planned: false,
            wake_after: Some(Duration::from_secs(seconds)),
        };
        assert_eq!(Rest::Done.plan(rescue, now), None);
        assert_eq!(Rest::TimeUp.plan(rescue, now), Some(by_queue(0, 120)));
        assert_eq!(Rest::Waits(now.minus(rescue)).plan(rescue, now), Some(by_queue(0, 120)));
        for rest in [Rest::Waits, Rest::Closed] {
            assert_eq!(rest(later(900)).plan(rescue, now), Some(by_queue(900, 1_020)));
            let by_sweeper = DuePlan { due_at: later(901), is_planned: true, wake_after: None };
            assert_eq!(rest(later(901)).plan(rescue, now), Some(by_sweeper));
        }
    }

    #[test]
    fn a_kind_reads_back_and_other_words_are_none() {
        for kind in LaneKind::ALL {
            assert_eq!(LaneKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(LaneKind::parse("Webhook"), None);
    }

    #[test]
    fn a_lane_prints_its_kind_and_ids_and_takes_its_groups_turn() {
        let (workspace, id) = (WorkspaceId::from_uuid(Uuid::from_u128(1)), Uuid::from_u128(2));
        let slot = Slot { workspace, endpoint: EndpointId::from_uuid(id), number: 3 };
        let lanes = [
            LaneId::Webhook(slot),
            LaneId::Conversation(workspace, ConversationId::from_uuid(id)),
            LaneId::Lead(workspace, LeadId::from_uuid(id)),
        ];
        assert_eq!(lanes.map(|lane| lane.kind()), LaneKind::ALL);
        assert_eq!(lanes.map(|lane| lane.workspace()), [workspace; 3]);
        assert_eq!(lanes.map(|lane| lane.group().as_u128()), [2, 1, 1]);
        let id = "00000000-0000-0000-0000-000000000002";
        assert_eq!(
            lanes.map(|lane| lane.to_string()),
            [format!("webhook {id}/3"), format!("conversation {id}"), format!("lead {id}")]
        );
    }
}
