//! What the requests of a process share.

use std::time::Duration;

use admin::{Admin, Check, Gate};
use domain::WebhookEndpoint;
use edge::{Api, ApiError, Call};
use futures::FutureExt;
use futures::future::BoxFuture;
use queue::Queues;

/// What the requests of a process share.
pub struct Deliveries {
    /// The frame around every handler.
    pub api: Api,
    /// The queues of webhook lanes.
    pub queues: Queues,
    /// The time after which the sweeper looks at a lane whose queue message was lost.
    pub rescue: Duration,
}

/// What must hold before something is written: the limiter admits the request. No request changes an endpoint, so none is
/// compared with `If-Match`.
pub(crate) struct OfCall<'a>(&'a Call<'a>);

impl Gate for OfCall<'_> {
    type Refusal = ApiError;

    fn admit(&self) -> BoxFuture<'_, Result<(), ApiError>> {
        self.0.caller.admitted().boxed()
    }
}

impl Check<WebhookEndpoint> for OfCall<'_> {
    fn check(&self, _: &WebhookEndpoint) -> Result<(), ApiError> {
        Ok(())
    }
}

impl Deliveries {
    /// The workspace of a call, and its caller.
    pub(crate) fn admin<'a>(&self, call: &'a Call<'a>) -> Admin<'a, OfCall<'a>> {
        let admin = Admin::new(OfCall(call), call.store(), call.workspace(), call.author());
        admin.waking(&self.queues, self.rescue)
    }
}
