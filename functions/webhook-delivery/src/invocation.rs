//! What all visits of one invocation share.

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
}
