//! Pages for developers who use a deployment: the API reference and `openapi.yaml`. They need no API key and contain no
//! data of a workspace.

use std::borrow::Cow;

use edge::{ApiRequest, page};
use lambda_http::{Body, Response};
use reference::Deployed;

/// The name of the page. The routes of the function are `/portal/{file}`.
const REFERENCE: &str = "reference.html";
/// The page as `build.rs` rendered it, without the URLs of the deployment.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/reference.html"));

/// The function.
#[derive(Debug)]
pub struct Portal {
    /// The URL of the lead capture API.
    pub capture_url: String,
}

impl Portal {
    /// Handles one request: the file that the path names, or 404.
    pub fn handle(&self, request: &ApiRequest) -> Response<Body> {
        let name = request.path("file").unwrap_or_default();
        if name == REFERENCE {
            return page::answer(
                request,
                "text/html; charset=utf-8",
                Some(Cow::Owned(self.reference(request))),
            );
        }
        match reference::FILES.iter().find(|(known, ..)| *known == name) {
            Some((_, content_type, content)) => {
                page::answer(request, content_type, Some(Cow::Borrowed(content)))
            }
            None => page::answer(request, "", None),
        }
    }

    /// The page with the URLs of this deployment.
    fn reference(&self, request: &ApiRequest) -> String {
        let api = request.base_url(&format!("/portal/{REFERENCE}"));
        Deployed::put_into(PAGE, api.as_deref().unwrap_or("https://api.example.com"), &self.capture_url)
    }
}
