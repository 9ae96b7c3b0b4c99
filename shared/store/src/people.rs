//! Persons: finding everything that belongs to one, erasing it, making one contact of two, and the rows of these jobs.
//!
//! Everything is found by keys. Each write is safe to repeat.

mod conversations;
mod erasures;
mod finding;
mod jobs;
mod merges;
mod traces;

pub use conversations::{ErasedMessages, PersonConversation};
pub use erasures::{Target, TargetKind};
pub use finding::Found;
pub use jobs::LeasedJob;
pub use merges::{AskedMerge, Joined};
