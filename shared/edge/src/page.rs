//! Files for browsers, which need no API key.

use std::borrow::Cow;

use domain::encoding::sha256_hex;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use lambda_http::Body;

use crate::etag;
use crate::request::ApiRequest;

/// A page may load its own files only, and no other page may show it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The response with a file, or 404 without one. Browsers keep the file, and ask with its `ETag` whether it changed: a
/// deployment may change it at any time.
pub fn answer(request: &ApiRequest, content_type: &str, file: Option<Cow<'static, str>>) -> Response<Body> {
    let Some(content) = file else {
        return ended(Response::builder().status(StatusCode::NOT_FOUND), Body::Text(String::new()));
    };
    let tag = format!("\"{}\"", sha256_hex(content.as_bytes()));
    let known = request.header("if-none-match").is_some_and(|list| etag::lists(list, &tag));
    let builder = Response::builder()
        .header(CACHE_CONTROL, "no-cache")
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(ETAG, tag)
        .header(REFERRER_POLICY, "no-referrer")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff");
    if known {
        return ended(builder.status(StatusCode::NOT_MODIFIED), Body::Text(String::new()));
    }
    ended(builder.header(CONTENT_TYPE, content_type), Body::Text(content.into_owned()))
}

/// All parts are constants or digests, so this cannot fail. If it did, the response would be empty.
fn ended(builder: http::response::Builder, body: Body) -> Response<Body> {
    builder.body(body).unwrap_or_default()
}
