//! The deliveries to webhook endpoints, their events, and the jobs that deliver again. Beyond the specification.

mod events;
mod jobs;
mod log;
mod process;
mod requests;

use domain::Scope;
use edge::ApiRequest;
use lambda_http::{Body, Response};

pub use process::Deliveries;

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 10] = [
    ("GET", "/deliveries", Scope::DeliveriesRead),
    ("GET", "/deliveries/{deliveryId}", Scope::DeliveriesRead),
    ("POST", "/deliveries/{deliveryId}/retry", Scope::DeliveriesWrite),
    ("GET", "/webhook-endpoints/{endpointId}/jobs", Scope::DeliveriesRead),
    ("POST", "/webhook-endpoints/{endpointId}/jobs", Scope::DeliveriesWrite),
    ("GET", "/webhook-endpoints/{endpointId}/jobs/{jobId}", Scope::DeliveriesRead),
    ("POST", "/webhook-endpoints/{endpointId}/jobs/{jobId}/cancel", Scope::DeliveriesWrite),
    ("POST", "/webhook-endpoints/{endpointId}/test", Scope::DeliveriesWrite),
    ("GET", "/events", Scope::EventsRead),
    ("GET", "/events/{eventId}", Scope::EventsRead),
];

impl Deliveries {
    /// Handles one request to a route of this function.
    pub async fn handle(&self, request: &ApiRequest) -> Response<Body> {
        let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
        let Some((method, path, scope)) = found else { return self.api.no_such_route(request) };
        match (*method, *path) {
            ("GET", "/deliveries") => self.api.answer(request, *scope, log::list).await,
            ("GET", "/deliveries/{deliveryId}") => self.api.answer(request, *scope, log::get).await,
            ("GET", "/events") => self.api.answer(request, *scope, events::list).await,
            ("GET", "/events/{eventId}") => self.api.answer(request, *scope, events::get).await,
            ("GET", "/webhook-endpoints/{endpointId}/jobs") => {
                self.api.answer(request, *scope, jobs::list).await
            }
            ("GET", _) => self.api.answer(request, *scope, jobs::get).await,
            (_, "/deliveries/{deliveryId}/retry") => {
                self.api.answer(request, *scope, async |call| requests::retry(self, call).await).await
            }
            (_, "/webhook-endpoints/{endpointId}/jobs") => {
                self.api.answer(request, *scope, async |call| requests::request(self, call).await).await
            }
            (_, "/webhook-endpoints/{endpointId}/test") => {
                self.api.answer(request, *scope, async |call| requests::test(self, call).await).await
            }
            _ => self.api.answer(request, *scope, async |call| requests::cancel(self, call).await).await,
        }
    }
}
