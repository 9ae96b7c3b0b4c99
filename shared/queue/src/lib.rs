//! What travels through SQS: the shape of the messages, how they are queued, how a batch of them is worked on.
//!
//! The queue only accelerates. Whatever it says is to be done stands in a row as well, so a message may be lost,
//! come twice, or come late.

mod batch;
mod delivery;
mod lead;
mod queue;
mod send;
mod time;

pub use batch::{Outcome, drive};
pub use delivery::{DeliveryQueue, DeliveryQueues, DeliveryTask};
pub use lead::{LeadQueue, LeadTask};
pub use queue::{LONGEST_DELAY, NoQueue, NotQueued, PATIENCE, Queue, Task, Wake};
pub use send::{SendQueue, SendTask};
pub use time::{Time, WrongTime};

/// A message's body is not one that this service writes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a task of this queue")]
pub struct Unreadable;
