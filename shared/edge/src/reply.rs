//! Responses of the Integrations API.

use domain::access::api_key::RateLimit;
use domain::access::rate::Left;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use lambda_http::{Body, Response};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ETag;
use crate::error::ApiError;

/// A successful response: the JSON body, and the tag if the body is a single resource.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    body: Vec<u8>,
    etag: Option<ETag>,
    replayed: bool,
    /// The value of `X-Service-Ignored-Fields`.
    ignored: Option<String>,
}

impl Reply {
    /// 200 with a single resource and its tag. `definitions` is the version of the attribute definitions on
    /// which the resource depends, or 0.
    pub fn resource(view: &impl Serialize, definitions: u64) -> Result<Self, ApiError> {
        let body = encode(view)?;
        let etag = ETag::of(&body, definitions);
        Ok(Self { status: StatusCode::OK, body, etag: Some(etag), replayed: false, ignored: None })
    }

    /// The same response with the tag of another view: without values that change too often for a tag.
    pub fn tagged_by(self, view: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self { etag: Some(ETag::of(&encode(view)?, 0)), ..self })
    }

    /// 200 with a list.
    pub fn list(view: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::OK, body: encode(view)?, etag: None, replayed: false, ignored: None })
    }

    /// 204 without a body, for a request that deleted something or made it end.
    pub fn no_content() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: vec![], etag: None, replayed: false, ignored: None }
    }

    /// The same response with 201, for a request that created something.
    pub fn created(self) -> Self {
        Self { status: StatusCode::CREATED, ..self }
    }

    /// The same response with 202, for a request that the service processes later.
    pub fn accepted(self) -> Self {
        Self { status: StatusCode::ACCEPTED, ..self }
    }

    /// The same response as a repeat under an `Idempotency-Key`: with the header `Idempotent-Replayed: true`.
    pub fn replayed(self) -> Self {
        Self { replayed: true, ..self }
    }

    /// The 200 that [`Reply::resource`] made from this body, for a resource that does not depend on
    /// definitions.
    pub fn resource_again(body: String) -> Self {
        let body = body.into_bytes();
        let etag = ETag::of(&body, 0);
        Self { status: StatusCode::OK, body, etag: Some(etag), replayed: false, ignored: None }
    }

    /// The 200 that [`Reply::list`] made from this body.
    pub fn list_again(body: String) -> Self {
        let body = body.into_bytes();
        Self { status: StatusCode::OK, body, etag: None, replayed: false, ignored: None }
    }

    /// The same response with a header that names the fields of the body, if it has fields and none of them is `known`. The
    /// change did nothing, and a misspelt name is the likely reason.
    pub fn ignoring(self, body: &Value, known: &[&str]) -> Self {
        let names = || body.as_object().into_iter().flat_map(Map::keys);
        let ignores_all = names().next().is_some() && names().all(|name| !known.contains(&name.as_str()));
        Self { ignored: ignores_all.then(|| field_list(names())), ..self }
    }

    /// The body, which is stored for repeats under the same `Idempotency-Key`.
    pub fn body(&self) -> &str {
        // JSON is UTF-8.
        std::str::from_utf8(&self.body).unwrap_or_default()
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The tag of the resource in this response.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }
}

/// The names as a list of strings (RFC 9651): the first ones, cut, and without characters that a header cannot have.
fn field_list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    const MOST: usize = 10;
    const LONGEST: usize = 64;
    let printable = |c: char| if matches!(c, ' '..='~') && !matches!(c, '"' | '\\') { c } else { '?' };
    let quoted = names.take(MOST).map(|name| {
        let name: String = name.chars().take(LONGEST).map(printable).collect();
        format!("\"{name}\"")
    });
    quoted.collect::<Vec<_>>().join(", ")
}

fn encode(view: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(view).map_err(|error| ApiError::Unexpected(std::sync::Arc::new(error)))
}

/// The rate limit of the caller's key, and what is left of it.
pub(crate) struct Allowance {
    pub(crate) rate: RateLimit,
    pub(crate) left: Left,
}

impl Allowance {
    /// `RateLimit-Policy`: a full bucket admits `q` requests at once, and an empty one is full after `w` seconds.
    fn policy(&self) -> String {
        let RateLimit { per_second, burst } = self.rate;
        format!("\"key\";q={burst};w={}", burst.div_ceil(per_second.max(1)))
    }

    /// `RateLimit`: `r` requests are left, and all of them are back after `t` seconds. For a refused request, `t` is the
    /// time until the next one can succeed.
    fn present(&self, refused: bool, retry_after: Option<u64>) -> String {
        let full_in = self.left.full_in.as_millis().div_ceil(1_000);
        let (left, seconds) = match retry_after {
            Some(wait) if refused => (0, u128::from(wait)),
            _ => (self.left.tokens, full_in),
        };
        format!("\"key\";r={left};t={seconds}")
    }
}

/// The HTTP response for a success or an error, with the headers of every response. An authenticated caller has an
/// allowance.
pub(crate) fn respond(
    request_id: &str,
    answer: Result<Reply, ApiError>,
    allowance: Option<Allowance>,
) -> Response<Body> {
    let refused = matches!(answer, Err(ApiError::RateLimited(_)));
    let (mut response, etag, replayed, ignored, retry_after) = match answer {
        Ok(Reply { status, body, etag, replayed, ignored }) => {
            (with_body(status, body), etag, replayed, ignored, None)
        }
        Err(error) => {
            let status =
                StatusCode::from_u16(error.code().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (
                with_body(status, serde_json::to_vec(&error.body()).unwrap_or_default()),
                None,
                false,
                None,
                error.retry_after(),
            )
        }
    };
    let has_body = response.status() != StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert("x-request-id", id);
    }
    if let Some(tag) = etag.and_then(|tag| HeaderValue::from_str(tag.as_str()).ok()) {
        headers.insert(ETAG, tag);
    }
    if replayed {
        headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    if let Some(names) = ignored.and_then(|names| HeaderValue::from_str(&names).ok()) {
        headers.insert("x-service-ignored-fields", names);
    }
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allowance) = allowance {
        let fields = [
            ("ratelimit-policy", allowance.policy()),
            ("ratelimit", allowance.present(refused, retry_after)),
        ];
        for (name, value) in fields {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
    }
    response
}

fn with_body(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    // JSON is UTF-8. The gateway passes text on unchanged, but would encode binary bodies in base64.
    let text = String::from_utf8(body).unwrap_or_default();
    let mut response = Response::new(Body::Text(text));
    *response.status_mut() = status;
    response
}
