//! The portal, in which people of a workspace do what its API offers, and pages for developers who use a deployment: the API
//! reference and `openapi.yaml`. They need no API key and contain no data of a workspace.

use std::borrow::Cow;

use edge::{ApiRequest, page};
use lambda_http::{Body, Response};
use reference::Deployed;

/// The portal: one document with its script and its styles. `make portal` builds it from `web`.
pub const DOCUMENT: &str = include_str!("../pages/index.html");
/// What the document may do: run its own script, whose digest `build.rs` computes, and call its own host.
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/policy.txt"));
const INDEX: &str = "index.html";

/// The name of the page. The routes of the function are `/portal` and `/portal/{file}`.
const REFERENCE: &str = "reference.html";
/// The page as `build.rs` rendered it, without the URLs of the deployment.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/reference.html"));

const HTML: &str = "text/html; charset=utf-8";

/// The function.
#[derive(Debug)]
pub struct Portal {
    /// The URL of the lead capture API.
    pub capture_url: String,
}

impl Portal {
    /// Handles one request: the file that the path names, or 404. `/portal` leads to the portal.
    pub fn handle(&self, request: &ApiRequest) -> Response<Body> {
        let Some(name) = request.path("file") else { return page::redirect("portal/index.html") };
        page::answer(request, self.file(request, &name))
    }

    fn file(&self, request: &ApiRequest, name: &str) -> Option<page::File> {
        if name == INDEX {
            let (content, policy) = (Cow::Borrowed(DOCUMENT), Cow::Borrowed(POLICY));
            return Some(page::File { content_type: HTML, content, policy });
        }
        let policy = Cow::Borrowed(page::POLICY);
        if name == REFERENCE {
            let content = Cow::Owned(self.reference(request));
            return Some(page::File { content_type: HTML, content, policy });
        }
        let (_, content_type, content) = reference::FILES.iter().find(|(known, ..)| *known == name)?;
        Some(page::File { content_type, content: Cow::Borrowed(content), policy })
    }

    /// The page with the URLs of this deployment.
    fn reference(&self, request: &ApiRequest) -> String {
        let api = request.base_url(&format!("/portal/{REFERENCE}"));
        Deployed::put_into(PAGE, api.as_deref().unwrap_or("https://api.example.com"), &self.capture_url)
    }
}
