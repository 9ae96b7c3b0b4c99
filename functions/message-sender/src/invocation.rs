//! The state that all steps of one invocation share.

use queue::{InboundQueue, InvocationBudget};
use runtime::SendRules;
use runtime::metrics::Sends;
use store::{Bucket, Store};

pub(crate) struct Invocation<'a, P> {
    pub(crate) store: &'a Store,
    pub(crate) bucket: &'a Bucket,
    pub(crate) inbox: &'a InboundQueue,
    pub(crate) provider: P,
    pub(crate) rules: &'a SendRules,
    pub(crate) budget: InvocationBudget,
    pub(crate) counted: Sends,
}
