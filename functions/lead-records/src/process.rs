//! What the requests of a process share.

use std::time::Duration;

use admin::Admin;
use edge::{Api, Call, OfCall};
use queue::Queues;

/// What the requests of a process share.
pub struct LeadRecords {
    /// The frame around every handler.
    pub api: Api,
    /// The queue of leads.
    pub queues: Queues,
    /// The time after which the sweeper looks at a lane whose queue message was lost.
    pub rescue: Duration,
}

impl LeadRecords {
    /// The workspace of a call, and its caller.
    pub(crate) fn admin<'a>(&self, call: &'a Call<'a>) -> Admin<'a, OfCall<'a>> {
        OfCall::admin(call).waking(&self.queues, self.rescue)
    }
}
