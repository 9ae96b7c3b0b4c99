//! Persons: finding everything that belongs to one, erasing it, and the rows of erasures.
//!
//! Everything is found by keys. Each write is safe to repeat.

mod conversations;
mod erasures;
mod finding;
mod traces;

pub use conversations::{ErasedMessages, PersonConversation};
pub use erasures::{LeasedErasure, Target, TargetKind};
pub use finding::Found;
