//! Endpoints 5 to 7: the contacts of a workspace. Beyond the specification: their erasure and their merge.

mod erase;
mod get;
mod list;
mod merge;
mod update;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    match (request.method(), request.path("contactId"), request.path("erasureId")) {
        ("GET", None, None) => api.answer(request, Scope::ContactsRead, list::list).await,
        ("GET", Some(_), None) => api.answer(request, Scope::ContactsRead, get::get).await,
        ("PATCH", Some(_), None) => api.answer(request, Scope::ContactsWrite, update::update).await,
        ("POST", Some(_), None) if request.path_ends_with("merge") => {
            api.answer(request, Scope::ContactsWrite, merge::merge).await
        }
        ("POST", Some(_), None) => api.answer(request, Scope::ContactsErase, erase::erase).await,
        ("GET", None, Some(_)) => api.answer(request, Scope::ContactsErase, erase::get).await,
        _ => api.no_such_route(request),
    }
}
