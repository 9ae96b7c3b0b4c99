//! What all visits of one invocation share.

use std::sync::{Mutex, PoisonError};

use domain::usage::Tally;
use domain::{Timestamp, WorkspaceId};
use queue::InvocationBudget;
use runtime::metrics;
use store::Store;

use crate::settings::Rules;

pub(crate) struct Invocation<'a, T> {
    pub(crate) store: &'a Store,
    pub(crate) transport: &'a T,
    pub(crate) rules: &'a Rules,
    pub(crate) budget: InvocationBudget,
    pub(crate) counted: metrics::Deliveries,
    /// What the visits add to the usage of their workspaces.
    pub(crate) usage: Mutex<Tally>,
}

impl<T> Invocation<'_, T> {
    /// Counts something in the usage of a workspace.
    pub(crate) fn count(&self, workspace: WorkspaceId, at: Timestamp, name: &'static str) {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).add(workspace, at, name);
    }
}
