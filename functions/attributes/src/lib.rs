//! Endpoint 8: the custom attribute definitions of a workspace. Beyond the specification: their changes, the templates that open
//! conversations, the keywords of opt-outs, lead capture, brands and lines; usage.

mod capture;
mod change;
mod keywords;
mod lines;
mod list;
mod onboarding;
mod usage;

pub use capture::Capturing;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 17] = [
    ("GET", "/settings/attributes", Scope::SettingsRead),
    ("POST", "/settings/attributes", Scope::SettingsWrite),
    ("GET", "/settings/attributes/{attributeId}", Scope::SettingsRead),
    ("PATCH", "/settings/attributes/{attributeId}", Scope::SettingsWrite),
    ("POST", "/settings/attributes/{attributeId}/values", Scope::SettingsWrite),
    ("PATCH", "/settings/attributes/{attributeId}/values/{valueId}", Scope::SettingsWrite),
    ("GET", "/settings/brands", Scope::SettingsRead),
    ("GET", "/settings/lines", Scope::SettingsRead),
    ("GET", "/settings/opt-out-keywords", Scope::SettingsRead),
    ("PUT", "/settings/opt-out-keywords", Scope::SettingsWrite),
    ("DELETE", "/settings/opt-out-keywords", Scope::SettingsWrite),
    ("GET", "/settings/capture", Scope::SettingsRead),
    ("PATCH", "/settings/capture", Scope::SettingsWrite),
    ("POST", "/settings/capture/rotate-key", Scope::SettingsWrite),
    ("GET", "/settings/onboarding", Scope::SettingsRead),
    ("PUT", "/settings/onboarding", Scope::SettingsWrite),
    ("GET", "/usage", Scope::UsageRead),
];

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, capturing: &Capturing<'_>, request: &ApiRequest) -> Response<Body> {
    let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
    let Some((method, path, scope)) = found else { return api.no_such_route(request) };
    match (*method, *path) {
        ("POST", "/settings/attributes") => api.answer(request, *scope, change::create).await,
        ("GET", "/settings/attributes/{attributeId}") => api.answer(request, *scope, list::get).await,
        ("PATCH", "/settings/attributes/{attributeId}") => api.answer(request, *scope, change::update).await,
        ("GET", "/settings/capture") => {
            api.answer(request, *scope, async |call| capturing.get(call).await).await
        }
        ("PATCH", "/settings/capture") => {
            api.answer(request, *scope, async |call| capturing.update(call).await).await
        }
        ("POST", "/settings/capture/rotate-key") => {
            api.answer(request, *scope, async |call| capturing.rotate_key(call).await).await
        }
        ("POST", _) => api.answer(request, *scope, change::add_value).await,
        ("PATCH", _) => api.answer(request, *scope, change::rename_value).await,
        ("GET", "/settings/opt-out-keywords") => api.answer(request, *scope, keywords::get).await,
        ("PUT", "/settings/opt-out-keywords") => api.answer(request, *scope, keywords::put).await,
        ("DELETE", _) => api.answer(request, *scope, keywords::reset).await,
        ("GET", "/settings/onboarding") => api.answer(request, *scope, onboarding::get).await,
        ("GET", "/settings/brands") => api.answer(request, *scope, lines::brands).await,
        ("GET", "/settings/lines") => api.answer(request, *scope, lines::lines).await,
        ("GET", "/usage") => api.answer(request, *scope, usage::get).await,
        ("PUT", _) => api.answer(request, *scope, onboarding::put).await,
        _ => api.answer(request, *scope, list::list).await,
    }
}
