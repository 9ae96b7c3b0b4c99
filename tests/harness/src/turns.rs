//! Who decides about the calls of a simulation.

use std::fmt::Debug;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::fault::Fault;

/// Decides about the calls of a simulation.
pub trait Turns: Debug + Send + Sync {
    /// Called at the start of each call, in the task of the caller.
    fn turn(&self, operation: &str, body: &Value) -> Turn;

    /// May change the answer of a read, as an index does that has not caught up.
    fn read(&self, operation: &str, body: &Value, answer: &mut Value);
}

/// What happens to a call. A future that never ends is the death of the caller.
pub struct Turn {
    /// Passes before the call is executed.
    pub before: BoxFuture<'static, ()>,
    /// How the call fails, if it does.
    pub fault: Option<Fault>,
    /// Passes before the caller learns of the outcome, which is given: a status, or a failure of the connection.
    pub after: After,
}

/// A delay that depends on how the call ended.
pub type After = Box<dyn FnOnce(&str) -> BoxFuture<'static, ()> + Send>;

impl Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("fault", &self.fault).finish_non_exhaustive()
    }
}
