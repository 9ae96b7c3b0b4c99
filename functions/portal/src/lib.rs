//! The portal, in which people of a workspace do what its API offers, and pages for developers who use a deployment: the API
//! reference and `openapi.yaml`. They need no API key and contain no data of a workspace.

use std::borrow::Cow;

use domain::{Unfit, WebOrigin};
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
    /// The pages that may show a page of this function in a frame.
    pub frame_ancestors: FrameAncestors,
}

/// The value of the policy's directive `frame-ancestors`.
#[derive(Clone, Debug)]
pub struct FrameAncestors(String);

impl FrameAncestors {
    /// Parses comma-separated origins in the form that browsers send. An empty text allows no page.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let origins = text.split(',').filter(|_| !text.is_empty()).map(WebOrigin::parse);
        let origins = origins.collect::<Result<Vec<_>, _>>()?;
        let sources: Vec<&str> = origins.iter().map(WebOrigin::as_str).collect();
        Ok(Self(if sources.is_empty() { "'none'".to_owned() } else { sources.join(" ") }))
    }
}

impl Portal {
    /// Handles one request: the file that the path names, or 404. `/portal` leads to the portal.
    pub fn handle(&self, request: &ApiRequest) -> Response<Body> {
        let Some(name) = request.path("file") else { return page::redirect("portal/index.html") };
        page::answer(request, self.file(request, &name))
    }

    fn file(&self, request: &ApiRequest, name: &str) -> Option<page::File> {
        if name == INDEX {
            let (content, policy) = (Cow::Borrowed(DOCUMENT), self.policy(POLICY));
            return Some(page::File { content_type: HTML, content, policy });
        }
        let policy = self.policy(page::POLICY);
        if name == REFERENCE {
            let content = Cow::Owned(self.reference(request));
            return Some(page::File { content_type: HTML, content, policy });
        }
        let (_, content_type, content) = reference::FILES.iter().find(|(known, ..)| *known == name)?;
        Some(page::File { content_type, content: Cow::Borrowed(content), policy })
    }

    fn policy(&self, of_page: &str) -> String {
        format!("{of_page}; frame-ancestors {}", self.frame_ancestors.0)
    }

    /// The page with the URLs of this deployment.
    fn reference(&self, request: &ApiRequest) -> String {
        let api = request.base_url(&format!("/portal/{REFERENCE}"));
        Deployed::put_into(PAGE, api.as_deref().unwrap_or("https://api.example.com"), &self.capture_url)
    }
}
