//! What the sending of messages and of leads share: how a call ended, what follows from it, and when it is tried again.

mod end;
mod error;
mod progress;
mod schedule;
mod throttle;

pub use end::End;
pub use error::PartError;
pub use progress::{Progress, SendOutcome, Standing};
pub use schedule::SendSchedule;
pub use throttle::LineThrottle;
