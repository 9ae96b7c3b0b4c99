//! Persons: finding everything that belongs to one, erasing it, and the rows of erasures.
//!
//! Everything is found by keys, and by one bounded list: the leads of a workspace. Each write is safe to repeat.

mod conversations;
mod erasures;
mod traces;

pub use conversations::{ErasedMessages, PersonConversation};
pub use erasures::{Target, TargetKind};
