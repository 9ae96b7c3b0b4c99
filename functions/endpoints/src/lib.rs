//! The webhook endpoints of a workspace. Beyond the specification.

mod create;
mod fields;
mod get;
mod list;
mod process;
mod secrets;
mod state;
mod update;

use domain::Scope;
use edge::ApiRequest;
use lambda_http::{Body, Response};

pub use process::WebhookEndpoints;

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 9] = [
    ("GET", "/webhook-endpoints", Scope::WebhooksRead),
    ("POST", "/webhook-endpoints", Scope::WebhooksWrite),
    ("GET", "/webhook-endpoints/{endpointId}", Scope::WebhooksRead),
    ("PATCH", "/webhook-endpoints/{endpointId}", Scope::WebhooksWrite),
    ("DELETE", "/webhook-endpoints/{endpointId}", Scope::WebhooksWrite),
    ("POST", "/webhook-endpoints/{endpointId}/enable", Scope::WebhooksWrite),
    ("POST", "/webhook-endpoints/{endpointId}/disable", Scope::WebhooksWrite),
    ("POST", "/webhook-endpoints/{endpointId}/rotate-secret", Scope::WebhooksWrite),
    ("POST", "/webhook-endpoints/{endpointId}/activate-secret", Scope::WebhooksWrite),
];

impl WebhookEndpoints {
    /// Handles one request to a route of this function.
    pub async fn handle(&self, request: &ApiRequest) -> Response<Body> {
        let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
        let Some((method, path, scope)) = found else { return self.api.no_such_route(request) };
        let below = path.strip_prefix("/webhook-endpoints").unwrap_or_default();
        match (*method, below) {
            ("GET", "") => self.api.answer(request, *scope, list::list).await,
            ("POST", "") => {
                self.api.answer(request, *scope, async |call| create::create(self, call).await).await
            }
            ("GET", _) => self.api.answer(request, *scope, get::get).await,
            ("PATCH", _) => {
                self.api.answer(request, *scope, async |call| update::update(self, call).await).await
            }
            ("DELETE", _) => {
                self.api.answer(request, *scope, async |call| state::delete(self, call).await).await
            }
            (_, "/{endpointId}/enable") => {
                self.api.answer(request, *scope, async |call| state::enable(self, call).await).await
            }
            (_, "/{endpointId}/disable") => {
                self.api.answer(request, *scope, async |call| state::disable(self, call).await).await
            }
            (_, "/{endpointId}/rotate-secret") => {
                self.api.answer(request, *scope, async |call| secrets::rotate(self, call).await).await
            }
            _ => self.api.answer(request, *scope, async |call| secrets::activate(self, call).await).await,
        }
    }
}
