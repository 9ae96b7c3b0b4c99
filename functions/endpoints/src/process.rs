//! What the requests of a process share.

use std::time::Duration;

use admin::Admin;
use domain::TrustedReceivers;
use domain::secret::Randomness;
use edge::{Api, Call, OfCall};
use queue::Queues;

/// What the requests of a process share.
pub struct WebhookEndpoints {
    /// The frame around every handler.
    pub api: Api,
    /// The queues of webhook lanes.
    pub queues: Queues,
    /// The time after which the sweeper looks at a lane whose queue message was lost.
    pub rescue: Duration,
    /// The receivers that tenants may choose although their address or port is not public.
    pub trusted: TrustedReceivers,
    /// Makes the signing secrets.
    pub random: Box<dyn Randomness>,
}

impl WebhookEndpoints {
    /// The workspace of a call, and its caller.
    pub(crate) fn admin<'a>(&self, call: &'a Call<'a>) -> Admin<'a, OfCall<'a>> {
        OfCall::admin(call).waking(&self.queues, self.rescue)
    }
}
