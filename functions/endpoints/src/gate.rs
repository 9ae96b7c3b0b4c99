//! What must hold before a change of an endpoint.

use admin::Gate;
use domain::WebhookEndpoint;
use edge::{ApiError, Call, Reply, view};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

/// A response about an endpoint. Its tag is that of the settings: how the endpoint responds and its rotation change by
/// themselves.
pub(crate) fn tagged(reply: Reply, endpoint: &WebhookEndpoint) -> Result<Reply, ApiError> {
    reply.tagged_by(&view::webhook_endpoint(endpoint))
}

/// What must hold before a change of an endpoint is judged: `If-Match` names its state, and the limiter admits the request.
pub(crate) struct OfCall<'a>(pub(crate) &'a Call<'a>);

impl Gate for OfCall<'_> {
    type Refusal = ApiError;

    fn check(&self, seen: &WebhookEndpoint) -> Result<(), ApiError> {
        self.0.request.check_if_match(&tagged(Reply::list(&Value::Null)?, seen)?)
    }

    fn admit(&self) -> BoxFuture<'_, Result<(), ApiError>> {
        self.0.caller.admitted().boxed()
    }
}
