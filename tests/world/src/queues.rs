//! The queues between the functions.

use std::time::Duration;

use tokio::time::Instant;

/// A message of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) queue: &'static str,
    pub(crate) body: String,
    pub(crate) visible: Instant,
    pub(crate) receives: u32,
    /// Whether a function failed to process it although none of its calls failed.
    pub(crate) is_refused: bool,
    /// Whether a function processed it, or a copy of it, and the queue forgot that it was deleted.
    pub(crate) is_done: bool,
}

/// A queue and its function.
pub(crate) struct Queue {
    pub(crate) name: &'static str,
    /// The event of the function, in `events/`.
    pub(crate) event: &'static str,
    /// The time limit of the function.
    pub(crate) limit: Duration,
    /// The visibility time-out.
    pub(crate) invisible: Duration,
    /// After so many receives a message is a dead letter.
    pub(crate) most_receives: u32,
    /// Whether nothing else knows what a message says. A message that names a lane may be lost: the sweeper finds the
    /// lane.
    pub(crate) is_only_copy: bool,
}

impl Queue {
    /// A queue of messages that name lanes.
    const fn of_lanes(name: &'static str, event: &'static str, limit: u64) -> Self {
        let (limit, invisible) = (Duration::from_secs(limit), Duration::from_secs(360));
        Self { name, event, limit, invisible, most_receives: 5, is_only_copy: false }
    }

    /// A queue whose messages are the only copies of what they say.
    const fn of_copies(
        name: &'static str,
        event: &'static str,
        limit: u64,
        invisible: u64,
        most_receives: u32,
    ) -> Self {
        let (limit, invisible) = (Duration::from_secs(limit), Duration::from_secs(invisible));
        Self { name, event, limit, invisible, most_receives, is_only_copy: true }
    }

    /// The queue with this name.
    pub(crate) fn named(name: &str) -> &'static Self {
        let found = QUEUES.iter().find(|queue| queue.name == name);
        found.unwrap_or_else(|| panic!("no queue {name}"))
    }
}

/// The queue of the bucket's notifications.
pub(crate) const UPLOADS: &str = "uploads";

pub(crate) static QUEUES: [Queue; 7] = [
    Queue::of_lanes("webhook-deliveries", "webhook-delivery.json", 60),
    Queue::of_lanes("webhook-deliveries-slow", "webhook-delivery.json", 60),
    Queue::of_lanes("message-sends", "message-sender.json", 60),
    Queue::of_lanes("lead-sends", "lead-sender.json", 60),
    Queue { invisible: Duration::from_secs(1_800), ..Queue::of_lanes("person-jobs", "people.json", 300) },
    Queue::of_copies("inbox", "inbox.json", 60, 90, 20),
    Queue::of_copies(UPLOADS, "uploads.json", 10, 60, 5),
];
