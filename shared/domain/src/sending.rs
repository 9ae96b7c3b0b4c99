//! The common rules for sending messages and leads: call outcomes, their consequences, and retries.

mod end;
mod error;
mod progress;
mod schedule;
mod throttle;
mod words;

pub use end::End;
pub use error::PartError;
pub use progress::{Progress, SendOutcome, Standing};
pub use schedule::SendSchedule;
pub use throttle::LineThrottle;
pub use words::in_words;
