//! Files for browsers, which need no API key.

use std::borrow::Cow;

use domain::encoding::sha256_hex;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use lambda_http::Body;

use crate::etag;
use crate::request::ApiRequest;

/// A page may load its own files only. Which pages may show it in a frame is a directive of its own.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'";

/// A file, and what its browser may do with it.
#[derive(Debug)]
pub struct File {
    /// The media type.
    pub content_type: &'static str,
    /// The text.
    pub content: Cow<'static, str>,
    /// The content security policy.
    pub policy: String,
}

/// The response with a file, or 404 without one. Browsers keep the file, and ask with its `ETag` whether it changed: a
/// deployment may change it at any time.
pub fn answer(request: &ApiRequest, file: Option<File>) -> Response<Body> {
    let Some(File { content_type, content, policy }) = file else {
        return ended(Response::builder().status(StatusCode::NOT_FOUND), Body::Text(String::new()));
    };
    let tag = format!("\"{}\"", sha256_hex(content.as_bytes()));
    let known = request.header("if-none-match").is_some_and(|list| etag::lists(list, &tag));
    let builder = Response::builder()
        .header(CACHE_CONTROL, "no-cache")
        .header(CONTENT_SECURITY_POLICY, policy)
        .header("cross-origin-opener-policy", "same-origin")
        .header(ETAG, tag)
        .header("permissions-policy", "camera=(), microphone=(), geolocation=()")
        .header(REFERRER_POLICY, "no-referrer")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff");
    if known {
        return ended(builder.status(StatusCode::NOT_MODIFIED), Body::Text(String::new()));
    }
    ended(builder.header(CONTENT_TYPE, content_type), Body::Text(content.into_owned()))
}

/// The response that leads to another page. `to` is relative to the path that was asked for, so it needs no host.
pub fn redirect(to: &'static str) -> Response<Body> {
    let builder = Response::builder().status(StatusCode::FOUND).header(CACHE_CONTROL, "no-cache");
    ended(builder.header(LOCATION, to), Body::Text(String::new()))
}

/// All parts are constants or digests, so this cannot fail. If it did, the response would be empty.
fn ended(builder: http::response::Builder, body: Body) -> Response<Body> {
    builder.body(body).unwrap_or_default()
}
