//! The leads of a workspace, for the workspace: lists, one lead, and retries. Beyond the specification. Visitors send leads to the
//! function `leads`.

mod list;
mod process;
mod retries;

use domain::Scope;
use edge::ApiRequest;
use lambda_http::{Body, Response};

pub use process::LeadRecords;

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 4] = [
    ("GET", "/leads", Scope::LeadsRead),
    ("GET", "/leads/{requestId}", Scope::LeadsRead),
    ("POST", "/leads/{requestId}/retry", Scope::LeadsWrite),
    ("POST", "/lead-retries", Scope::LeadsWrite),
];

impl LeadRecords {
    /// Handles one request to a route of this function.
    pub async fn handle(&self, request: &ApiRequest) -> Response<Body> {
        let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
        let Some((method, path, scope)) = found else { return self.api.no_such_route(request) };
        match (*method, *path) {
            ("GET", "/leads") => self.api.answer(request, *scope, list::list).await,
            ("GET", _) => self.api.answer(request, *scope, list::get).await,
            (_, "/lead-retries") => {
                self.api.answer(request, *scope, async |call| retries::of_page(self, call).await).await
            }
            _ => self.api.answer(request, *scope, async |call| retries::of_one(self, call).await).await,
        }
    }
}
