//! What must hold before a change of a resource by the management API.

use admin::{Admin, Check, Gate};
use domain::inbound::keywords::Keywords;
use domain::{AttributeDefinition, Capture, Lead, Onboarding, Team, User, WebhookEndpoint};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::api::Call;
use crate::error::ApiError;
use crate::reply::Reply;
use crate::view;

/// A resource whose present state has a tag.
pub trait Tagged {
    /// A response about the resource, with the tag of its state.
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError>;
}

impl Tagged for WebhookEndpoint {
    /// The tag is that of the settings: how the endpoint responds and its rotation change by themselves.
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::webhook_endpoint(self))
    }
}

impl Tagged for Onboarding {
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::onboarding(self))
    }
}

impl Tagged for AttributeDefinition {
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::attribute(self))
    }
}

impl Tagged for Option<Keywords> {
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::keywords(self.as_ref()))
    }
}

impl Tagged for Option<Capture> {
    /// The tag is that of the settings, also of the captcha secret: which brands cannot be reached changes by itself.
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&("capture", self.as_ref().map(|capture| capture.version)))
    }
}

impl Tagged for Lead {
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::lead_record(self))
    }
}

impl Tagged for User {
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::user(self))
    }
}

impl Tagged for Team {
    /// The tag is that of the team without the addresses of its members, which never change.
    fn tag(&self, reply: Reply) -> Result<Reply, ApiError> {
        reply.tagged_by(&view::team_by_ids(self))
    }
}

/// What must hold before a change is judged: `If-Match` names the state that was read, and the limiter admits the request.
pub struct OfCall<'a>(&'a Call<'a>);

impl<'a> OfCall<'a> {
    /// The workspace of a call, and its caller.
    pub fn admin(call: &'a Call<'a>) -> Admin<'a, Self> {
        Admin::new(Self(call), call.store(), call.workspace(), call.author())
    }
}

impl Gate for OfCall<'_> {
    type Refusal = ApiError;

    fn admit(&self) -> BoxFuture<'_, Result<(), ApiError>> {
        self.0.caller.admitted().boxed()
    }
}

impl<T: Tagged> Check<T> for OfCall<'_> {
    fn check(&self, seen: &T) -> Result<(), ApiError> {
        self.0.request.check_if_match(&seen.tag(Reply::no_content())?)
    }
}
