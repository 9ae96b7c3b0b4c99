//! A request of the Integrations API as the gateway sends it.

use lambda_http::request::RequestContext;
use lambda_http::{Body, Request, RequestExt};
use serde_json::Value;

use domain::{Unfit, WorkspaceId};

use crate::Reply;
use crate::error::ApiError;
use crate::form::{Form, Node, Query};
use crate::json;

/// The method, path parameters, query, headers and body of one request.
#[derive(Debug)]
pub struct ApiRequest {
    http: Request,
    id: String,
    route: String,
}

/// The path of a workspace, with its placeholder.
const IN_WORKSPACE: &str = "/service/api/v1/workspaces/{workspaceId}";

impl ApiRequest {
    /// The greatest size of a body in bytes (`SERVICE_CORE_0413`).
    pub const MAX_BODY: usize = 256 * 1024;

    /// Wraps the gateway's request.
    pub fn new(http: Request) -> Self {
        let (id, resource) = match http.request_context_ref() {
            Some(RequestContext::ApiGatewayV1(context)) => {
                (context.request_id.clone(), context.resource_path.clone())
            }
            _ => (None, None),
        };
        let route = format!("{} {}", http.method(), resource.unwrap_or_default());
        Self { http, id: id.unwrap_or_default(), route }
    }

    /// The gateway's id of this request. The response contains it in `X-Request-Id`, and logs contain it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The method and the path with the placeholders of the API. It contains no values of this request.
    pub(crate) fn route(&self) -> &str {
        &self.route
    }

    /// The X-Ray trace id, if there is one.
    pub(crate) fn trace_id(&self) -> Option<&str> {
        self.http.lambda_context_ref()?.xray_trace_id.as_deref().and_then(runtime::trace_id)
    }

    /// Whether this is a request with this method to this path below the workspace, such as `/users/{userId}`.
    pub fn is_to(&self, method: &str, path: &str) -> bool {
        let below = self.route.split_once(IN_WORKSPACE).map(|(before, below)| (before.trim_end(), below));
        below == Some((method, path))
    }

    /// The method, in upper case.
    pub fn method(&self) -> &str {
        self.http.method().as_str()
    }

    /// The URL of the API as the caller reached it, without the path that this function serves. The gateway makes it,
    /// no header of the caller does.
    pub fn base_url(&self, own_path: &str) -> Option<String> {
        let Some(RequestContext::ApiGatewayV1(context)) = self.http.request_context_ref() else {
            return None;
        };
        let (host, path) = (context.domain_name.as_ref()?, context.path.as_ref()?);
        // Only the local stack's gateway calls itself so, and it speaks no TLS.
        let scheme = if host.starts_with("127.0.0.1:") { "http" } else { "https" };
        Some(format!("{scheme}://{host}{}", path.strip_suffix(own_path)?))
    }

    /// A parameter of the path.
    pub fn path(&self, name: &str) -> Option<String> {
        self.http.path_parameters_ref().and_then(|all| all.first(name)).map(str::to_owned)
    }

    /// Whether the last part of the path is this name.
    pub fn path_ends_with(&self, name: &str) -> bool {
        self.http.uri().path().rsplit('/').next() == Some(name)
    }

    /// The workspace in the path, if it is an id. The caller's key may be of another one.
    pub(crate) fn workspace(&self) -> Option<WorkspaceId> {
        WorkspaceId::parse(&self.path("workspaceId")?).ok()
    }

    /// A header, if it is text. If a header is repeated, the last one wins, because of the gateway's event
    /// and `lambda_http`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.http.headers().get(name)?.to_str().ok()
    }

    /// The bytes of a header, which may not be text.
    pub(crate) fn raw_header(&self, name: &str) -> Option<&[u8]> {
        self.http.headers().get(name).map(|value| value.as_bytes())
    }

    /// The body as sent.
    pub(crate) fn body(&self) -> &[u8] {
        match self.http.body() {
            Body::Text(text) => text.as_bytes(),
            Body::Binary(bytes) => bytes,
            _ => b"",
        }
    }

    /// The decoded query.
    pub fn query(&self) -> Query {
        let pairs = self.http.query_string_parameters_ref().map(|all| {
            all.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
        });
        Query::new(pairs.unwrap_or_default())
    }

    /// An id in the path, parsed by the rule of its type.
    pub fn path_id<T>(
        &self,
        form: &mut Form,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Unfit>,
    ) -> Option<T> {
        let parameters = serde_json::json!({ name: self.path(name) });
        Node::root("path", Some(&parameters)).field(name).text(form, parse)
    }

    /// The JSON of the body. The body must be within the size limit and have the content type
    /// `application/json`.
    pub fn json(&self) -> Result<Value, ApiError> {
        let body = self.body();
        if body.len() > Self::MAX_BODY {
            return Err(ApiError::TooLarge(Self::MAX_BODY));
        }
        if !self.header("content-type").is_some_and(declares_json) {
            return Err(ApiError::NotJsonType);
        }
        json::parse(body).map_err(ApiError::Malformed)
    }

    /// The JSON of a body that may be absent.
    pub fn optional_json(&self) -> Result<Option<Value>, ApiError> {
        if self.body().is_empty() { Ok(None) } else { self.json().map(Some) }
    }

    /// Returns an error if there is an `If-Match` header that does not match the state in `shown`.
    pub fn check_if_match(&self, shown: &Reply) -> Result<(), ApiError> {
        if !self.http.headers().contains_key("if-match") {
            return Ok(());
        }
        let expected = self.header("if-match").zip(shown.etag()).is_some_and(|(tags, tag)| tag.matches(tags));
        if expected { Ok(()) } else { Err(ApiError::Stale) }
    }
}

/// Whether the content type is `application/json` in any case, without a charset or with UTF-8.
pub(crate) fn declares_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json")
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_declares_json_by_its_media_type_and_utf_8() {
        for good in [
            "application/json",
            "Application/JSON",
            "application/json; charset=UTF-8",
            "application/json;x=y",
        ] {
            assert!(declares_json(good), "{good}");
        }
        for bad in [
            "",
            "text/json",
            "application/jsonx",
            "application/json; charset=latin1",
            "application/problem+json",
        ] {
            assert!(!declares_json(bad), "{bad}");
        }
    }
}
