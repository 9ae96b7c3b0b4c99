//! The state that all steps of one invocation share.

use std::time::Duration;

use queue::InvocationBudget;
use runtime::metrics::Leads;
use store::Store;

pub(crate) struct Invocation<'a> {
    pub(crate) store: &'a Store,
    /// How long after a lane's queue message the sweeper queues the lane again.
    pub(crate) rescue: Duration,
    pub(crate) budget: InvocationBudget,
    pub(crate) counted: Leads,
}
