//! The SQS messages: their shape, how they are queued, and how a batch of them is processed.
//!
//! A message names a lane and nothing else. It only makes a visit start earlier: the lane is also in a due
//! index. So a message may be lost, duplicated or late. The messages about uploads are the bucket's own.

mod batch;
mod budget;
mod inbound;
mod queue;
mod task;
mod upload;

pub use batch::{Outcome, caught, process_batch, process_counted};
pub use budget::{BudgetError, InvocationBudget};
pub use inbound::{Inbound, InboundQueue, NotAccepted};
pub use queue::{LONGEST_DELAY, NoQueue, NotQueued, Queues, TIME_LIMIT};
pub use task::{Wake, body, read, track_of};
pub use upload::{Upload, read_uploads};

/// The body of a message names nothing that its queue is for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message names no work of this queue")]
pub struct Unreadable;
