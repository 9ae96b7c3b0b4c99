//! The local stack: what `make run` starts, and the simulators that whole-stack tests drive.
//!
//! Nothing here is ever shipped to AWS. Every server listens on the loopback interface only.
//!
//! [`run`] is the entry point and shows the order of the steps. The other modules are the steps.

mod build;
mod checkout;
mod console;
mod demo;
mod deployment;
mod emulator;
mod guard;
mod http_client;
pub mod landing;
mod options;
mod ports;
mod prerequisites;
mod process_group;
mod progress;
mod provider_app;
mod run;
pub mod simulator;
mod stack_file;
mod validator;
mod venv;

pub use options::Options;
pub use ports::Ports;
pub use reference;
pub use run::run;

/// Why the stack cannot start or continue: one sentence for people, with the solution if it is known.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// Adds the cause to the sentence `what`.
    pub(crate) fn of(what: &str, cause: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {cause}"))
    }
}
