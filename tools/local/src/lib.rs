//! The local stack: what `make run` starts, and the simulators that whole-stack tests drive.
//!
//! Nothing here is ever shipped to AWS, and nothing here listens beyond the loopback interface.
//!
//! [`run`] tells the whole story, step by step; the other modules are its steps.

mod build;
mod checkout;
mod console;
mod demo;
mod deployment;
mod emulator;
mod group;
pub mod landing;
mod options;
mod ports;
mod prerequisites;
mod progress;
pub mod reference;
mod run;
pub mod simulator;
mod stack_file;
mod venv;

pub use options::Options;
pub use ports::Ports;
pub use run::run;

/// Why the stack does not stand: one sentence for a person, with what to do about it where that is known.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// `what` could not be done, because of `cause`.
    pub(crate) fn of(what: &str, cause: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {cause}"))
    }
}
