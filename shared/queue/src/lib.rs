//! What travels through SQS: the shape of the messages, how they are queued, how a batch of them is worked on.
//!
//! A message names a lane and nothing else, and only accelerates: the lane stands in a due index as well, so a message
//! may be lost, come twice, or come late.

mod batch;
mod queue;
mod task;
mod time;

pub use batch::{Outcome, drive};
pub use queue::{LONGEST_DELAY, NoQueue, NotQueued, PATIENCE, Queues};
pub use task::{Wake, body, read, track_of};
pub use time::{Time, WrongTime};

/// A message's body names no lane of its queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message names no lane of this queue")]
pub struct Unreadable;
