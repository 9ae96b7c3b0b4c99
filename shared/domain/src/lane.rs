//! Lanes: the units by which work is scheduled. Only one worker at a time processes a lane.
//!
//! The service schedules lanes, not single pieces of work: a lane has an entry in a due index, and a queue
//! message contains only the id of a lane. The worker finds the work in the lane's own partition.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use crate::ids::{ConversationId, EndpointId, LeadId, PersonJobId, WorkspaceId};
use crate::time::Timestamp;

/// The kinds of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    /// A slot of a webhook endpoint: its deliveries, many in parallel.
    Webhook,
    /// A conversation: its messages, in order.
    Conversation,
    /// A lead: its first message.
    Lead,
    /// A job about a person: an erasure, a preview or a merge.
    Person,
}

impl LaneKind {
    /// All kinds of lanes.
    pub const ALL: [Self; 4] = [Self::Webhook, Self::Conversation, Self::Lead, Self::Person];

    /// The name in queue messages and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Conversation => "conversation",
            Self::Lead => "lead",
            Self::Person => "person",
        }
    }

    /// Parses the name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A slot of a webhook endpoint: one partition of the endpoint's deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The workspace of the endpoint.
    pub workspace: WorkspaceId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The number of the slot, from 0.
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
    /// A job about a person.
    Person(WorkspaceId, PersonJobId),
}

impl LaneId {
    /// The lane's kind.
    pub fn kind(&self) -> LaneKind {
        match self {
            Self::Webhook(_) => LaneKind::Webhook,
            Self::Conversation(..) => LaneKind::Conversation,
            Self::Lead(..) => LaneKind::Lead,
            Self::Person(..) => LaneKind::Person,
        }
    }

    /// The lane's workspace.
    pub fn workspace(&self) -> WorkspaceId {
        match self {
            Self::Webhook(slot) => slot.workspace,
            Self::Conversation(workspace, _) | Self::Lead(workspace, _) | Self::Person(workspace, _) => {
                *workspace
            }
        }
    }

    /// The message group of the lane in its queue. The queue serves groups in turn: one endpoint does not
    /// delay other endpoints, and a workspace with thousands of conversations does not delay other
    /// workspaces.
    pub fn group(&self) -> Uuid {
        match self {
            Self::Webhook(slot) => *slot.endpoint.as_uuid(),
            Self::Conversation(workspace, _) | Self::Lead(workspace, _) | Self::Person(workspace, _) => {
                *workspace.as_uuid()
            }
        }
    }
}

/// Log format: `webhook <endpoint>/<slot>`, `conversation <id>`, `lead <id>` or `person <id>`.
impl fmt::Display for LaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().as_str();
        match self {
            Self::Webhook(Slot { endpoint, number, .. }) => write!(f, "{kind} {endpoint}/{number}"),
            Self::Conversation(_, id) => write!(f, "{kind} {id}"),
            Self::Lead(_, id) => write!(f, "{kind} {id}"),
            Self::Person(_, id) => write!(f, "{kind} {id}"),
        }
    }
}

/// The webhook queue of a lane's messages. Each of the two queues has its own workers, so slow endpoints do
/// not delay other endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Track {
    /// Endpoints that respond quickly, and endpoints without measurements.
    Fast,
    /// Endpoints that respond late or never.
    Slow,
}

/// The result of a visit to a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// No work is left.
    Done,
    /// No work is due before this time, except for new work.
    Waits(Timestamp),
    /// No work is due before this time, including new work.
    Closed(Timestamp),
    /// Work is left, but the worker has no time.
    TimeUp,
}

/// How the next worker is called to the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuePlan {
    /// When the sweeper checks the lane.
    pub due_at: Timestamp,
    /// Whether the sweeper is the intended way. `false` means that the sweeper only covers the loss of the
    /// queue message.
    pub is_planned: bool,
    /// The delay of the queue message. `None` if the sweeper calls the worker.
    pub wake_after: Option<Duration>,
}

impl Rest {
    /// The greatest delay of a queue message: 15 minutes.
    pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

    /// How the next worker is called, if work is left. `rescue` is the time between the queue message and the
    /// sweeper's check.
    pub fn plan(self, rescue: Duration, now: Timestamp) -> Option<DuePlan> {
        let at = match self {
            Self::Done => return None,
            Self::Waits(at) | Self::Closed(at) => at,
            Self::TimeUp => now,
        };
        // A queue message cannot wait longer than 15 minutes. The sweeper queues a lane that waits longer, so that lane
        // gets no message now. If there is a message, the sweeper waits `rescue` longer than the message.
        let after = at.since(now);
        Some(if after <= Self::LONGEST_DELAY {
            DuePlan { due_at: at.max(now).plus(rescue), is_planned: false, wake_after: Some(after) }
        } else {
            DuePlan { due_at: at, is_planned: true, wake_after: None }
        })
    }

    /// Whether the worker may leave the lane even if new work arrived since it looked. It may if the lane stays due
    /// anyway: the next visit looks for all work.
    pub fn ignores_new_work(self) -> bool {
        matches!(self, Self::Closed(_) | Self::TimeUp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_due_within_15_minutes_uses_the_queue_and_later_work_uses_the_sweeper() {
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
    fn the_name_of_a_kind_parses_and_other_names_do_not() {
        for kind in LaneKind::ALL {
            assert_eq!(LaneKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(LaneKind::parse("Webhook"), None);
    }

    #[test]
    fn a_lane_prints_its_kind_and_ids_and_has_a_message_group() {
        let (workspace, id) = (WorkspaceId::from_uuid(Uuid::from_u128(1)), Uuid::from_u128(2));
        let slot = Slot { workspace, endpoint: EndpointId::from_uuid(id), number: 3 };
        let lanes = [
            LaneId::Webhook(slot),
            LaneId::Conversation(workspace, ConversationId::from_uuid(id)),
            LaneId::Lead(workspace, LeadId::from_uuid(id)),
            LaneId::Person(workspace, PersonJobId::from_uuid(id)),
        ];
        assert_eq!(lanes.map(|lane| lane.kind()), LaneKind::ALL);
        assert_eq!(lanes.map(|lane| lane.workspace()), [workspace; 4]);
        assert_eq!(lanes.map(|lane| lane.group().as_u128()), [2, 1, 1, 1]);
        let id = "00000000-0000-0000-0000-000000000002";
        assert_eq!(
            lanes.map(|lane| lane.to_string()),
            [
                format!("webhook {id}/3"),
                format!("conversation {id}"),
                format!("lead {id}"),
                format!("person {id}")
            ]
        );
    }

    #[test]
    fn only_new_work_of_an_open_lane_keeps_its_worker() {
        let now = Timestamp::from_millis(1_767_323_045_678);
        let visits = [Rest::Done, Rest::Waits(now), Rest::Closed(now), Rest::TimeUp];
        assert_eq!(visits.map(Rest::ignores_new_work), [false, false, true, true]);
    }
}
