//! The state that all steps of one invocation share.

use queue::InvocationBudget;
use runtime::SendRules;
use runtime::metrics::Sends;
use store::Store;

pub(crate) struct Invocation<'a, P> {
    pub(crate) store: &'a Store,
    pub(crate) provider: P,
    pub(crate) rules: &'a SendRules,
    pub(crate) budget: InvocationBudget,
    pub(crate) counted: Sends,
}
