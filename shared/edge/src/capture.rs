//! The HTTP interface of lead capture: it parses the gateway's event and makes the response.
//!
//! It is separate from the Integrations API: it has its own errors ([`LeadProblem`]) and no request id, and
//! its responses name the page that may read them.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use domain::encoding::sha256_hex;
use domain::lead::{
    ConsentClaim, ConsentStatus, ConsentText, LandingUri, LeadName, LeadRequest, SentOrigin, Utm,
};
use domain::text::within;
use domain::{BrandId, Cellphone, LeadId, Secret, Timestamp, Unfit, WorkspaceId, error_chain};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::StoreError;

use crate::error::{ApiError, whole_seconds};
use crate::form::{Form, Node, Rejection};
use crate::gateway::GatewayRequest;
use crate::json;
use crate::request::declares_json;

/// For how many seconds a browser may remember a preflight: two hours, the most that Chromium allows.
const PREFLIGHT_SECONDS: u32 = 7_200;

/// The headers that a page may send: that of the lead, and those that the monitoring of a page adds to its requests, which
/// the service ignores.
const ALLOWED_HEADERS: &str = "content-type, baggage, sentry-trace, traceparent, tracestate";

/// One request to the capture API. Its debug output is redacted.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct CaptureRequest(GatewayRequest);

/// The content of a request.
#[derive(Debug)]
pub struct CaptureContent {
    /// The workspace whose settings apply: the one in the URL, otherwise the one in the body, otherwise an id
    /// that no workspace has.
    pub workspace: WorkspaceId,
    /// The lead, or why it is invalid.
    pub lead: Result<LeadRequest, LeadProblem>,
}

impl CaptureRequest {
    /// The method, in upper case.
    pub fn method(&self) -> &str {
        self.0.method()
    }

    /// The origin of the page that sent the request.
    pub fn origin(&self) -> SentOrigin {
        match self.0.header("origin").as_slice() {
            [] => SentOrigin::Absent,
            [origin] if origin.bytes().all(|byte| byte.is_ascii_graphic()) => {
                SentOrigin::One((*origin).to_owned())
            }
            _ => SentOrigin::Unclear,
        }
    }

    /// The visitor's IP address; empty if the gateway does not know it.
    pub fn address(&self) -> &str {
        self.0.address()
    }

    /// The `User-Agent` of the visitor's browser.
    pub fn user_agent(&self) -> Option<&str> {
        self.0.header("user-agent").first().copied()
    }

    /// The name of the requested script.
    pub fn script(&self) -> &str {
        self.0.path("script").unwrap_or_default()
    }

    /// Whether the sender has the content with this entity tag already.
    fn has(&self, tag: &str) -> bool {
        self.0.header("if-none-match").iter().any(|list| crate::etag::lists(list, tag))
    }

    /// The workspace in the URL, for a preflight request. Without one, an id that no workspace has.
    pub fn workspace(&self) -> WorkspaceId {
        self.on_url().unwrap_or_default().unwrap_or(NOBODY)
    }

    /// Parses a lead. `valid` checks a number against its numbering plan.
    pub fn content(&self, valid: impl Fn(&Cellphone) -> bool) -> CaptureContent {
        let (on_url, body) = (self.on_url(), self.json());
        let in_body = body.as_ref().ok().and_then(|body| body.get("workspaceId")).and_then(Value::as_str);
        let in_body = in_body.and_then(|id| WorkspaceId::parse(id).ok());
        // If the URL contains a workspace id, only that workspace's pages may read the response. If the id is
        // invalid, no page may.
        let workspace = match &on_url {
            Ok(Some(on_url)) => *on_url,
            Ok(None) => in_body.unwrap_or(NOBODY),
            Err(_) => NOBODY,
        };
        let lead = on_url.and_then(|on_url| {
            let lead = read_lead(&body?, valid)?;
            match on_url {
                Some(on_url) if on_url != lead.workspace_id => {
                    Err(invalid("query.workspaceId: not the workspace of the body"))
                }
                _ => Ok(lead),
            }
        });
        CaptureContent { workspace, lead }
    }

    /// The workspace in the URL, if there is one.
    fn on_url(&self) -> Result<Option<WorkspaceId>, LeadProblem> {
        match self.0.query("workspaceId") {
            [] => Ok(None),
            [id] => WorkspaceId::parse(id).map(Some).map_err(|_| invalid("query.workspaceId: not a UUID")),
            _ => Err(invalid("query.workspaceId: repeated")),
        }
    }

    /// The JSON of the body. The body must be within the size limit and have the content type
    /// `application/json`.
    fn json(&self) -> Result<Value, LeadProblem> {
        let body = self.0.body().ok_or_else(|| invalid("body: not base64"))?;
        if body.len() > LeadRequest::MAX_BODY {
            return Err(invalid("body: too large"));
        }
        if !matches!(self.0.header("content-type").as_slice(), [one] if declares_json(one)) {
            return Err(invalid("content-type: not application/json"));
        }
        json::parse(&body).map_err(|not_json| LeadProblem::Invalid(format!("body: {}", not_json.reason)))
    }
}

/// An id that no workspace has.
const NOBODY: WorkspaceId = store::keys::PLATFORM;

/// Parses a body and ignores unknown fields.
fn read_lead(body: &Value, valid: impl Fn(&Cellphone) -> bool) -> Result<LeadRequest, LeadProblem> {
    let (mut form, body) = (Form::default(), Node::root("body", Some(body)));
    let read = lead(&mut form, &body, valid);
    form.finish(read).map_err(|error| match error {
        ApiError::Invalid(failures) => {
            let failures =
                failures.iter().map(|failure| format!("{}: {}", known(&failure.loc), failure.kind));
            LeadProblem::Invalid(failures.collect::<Vec<_>>().join(", "))
        }
        other => LeadProblem::Unexpected(Arc::new(other)),
    })
}

/// The location of a failure without the keys of `utm`, which the sender chooses.
fn known(place: &[String]) -> String {
    let known = if place.get(1).is_some_and(|field| field == "utm") { 2 } else { place.len() };
    place[..known].join(".")
}

fn lead(form: &mut Form, body: &Node<'_>, valid: impl Fn(&Cellphone) -> bool) -> Option<LeadRequest> {
    let body = body.clone().object(form)?;
    let capture_key = |text: &str| within(text, 1, LeadRequest::MAX_KEY).map(|()| Secret::new(text));
    let token = |text: &str| within(text, 1, LeadRequest::MAX_TOKEN).map(|()| Secret::new(text));
    let cellphone = |text: &str| match Cellphone::parse(text)? {
        cellphone if valid(&cellphone) => Ok(cellphone),
        _ => Err(Unfit::Value { reason: "not a valid number of its numbering plan" }),
    };

    let workspace_id = required(form, &body, "workspaceId", WorkspaceId::parse);
    let capture_key = required(form, &body, "captureKey", capture_key);
    let cellphone = required(form, &body, "cellphone", cellphone);
    let name = optional(form, &body, "name", LeadName::read).flatten();
    let brand = optional(form, &body, "brandId", BrandId::parse);
    let landing_uri = required(form, &body, "landingUri", LandingUri::parse);
    let utm = utm(form, &body.field("utm"));
    let consent = consent(form, &body.field("consent"));
    let captcha = required(form, &body, "recaptchaToken", token);
    Some(LeadRequest {
        workspace_id: workspace_id?,
        capture_key: capture_key?,
        cellphone: cellphone?,
        name,
        brand,
        landing_uri: landing_uri?,
        utm: utm?,
        consent: consent?,
        captcha: captcha?,
    })
}

fn required<T>(
    form: &mut Form,
    body: &Node<'_>,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, Unfit>,
) -> Option<T> {
    body.field(name).required(form)?.text(form, parse)
}

fn optional<T>(
    form: &mut Form,
    body: &Node<'_>,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, Unfit>,
) -> Option<T> {
    body.field(name).given()?.text(form, parse)
}

fn utm(form: &mut Form, at: &Node<'_>) -> Option<Utm> {
    let Some(at) = at.clone().given() else { return Some(Utm::default()) };
    let mut values = BTreeMap::new();
    for (key, value) in at.entries(form, Utm::MAX) {
        if let Some(text) = value.text(form, |text| Ok(text.to_owned())) {
            values.insert(key.to_owned(), text);
        }
    }
    Utm::of(values).map_err(|unfit| form.fail(&at, Rejection::Unfit(unfit))).ok()
}

/// What the tenant says about the visitor's consent. A failure unless the status is `GRANTED`.
fn consent(form: &mut Form, at: &Node<'_>) -> Option<ConsentClaim> {
    let consent = at.clone().required(form)?.object(form)?;
    let granted = |text: &str| match ConsentStatus::parse(text)? {
        ConsentStatus::Granted => Ok(()),
        ConsentStatus::NotProvided => Err(Unfit::Value { reason: "consent is not granted" }),
    };
    // The service would store a time out of its range as another time than the claimed one.
    let in_range = |moment: &Timestamp| moment.as_millis() > 0;
    let moment = |text: &str| {
        Timestamp::parse(text).filter(in_range).ok_or(Unfit::Value { reason: "not a date-time since 1970" })
    };
    let status = required(form, &consent, "status", granted);
    let captured_at = optional(form, &consent, "capturedAt", moment);
    let text = optional(form, &consent, "text", ConsentText::read).flatten();
    status.map(|()| ConsentClaim { captured_at, text })
}

fn invalid(reason: &str) -> LeadProblem {
    LeadProblem::Invalid(reason.to_owned())
}

/// Why a lead is not accepted. The reasons are for the log. The response contains only the problem type.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LeadProblem {
    /// The request does not have the form of a lead, the number is invalid, there is no consent, or no brand
    /// can be resolved. The text lists the fields without their values.
    #[error("invalid lead: {0}")]
    Invalid(String),
    /// The sender has no permission, is not human, or has reached a limit.
    #[error("rejected: {0}")]
    Rejected(&'static str),
    /// The workspace got too many requests. The next one can be accepted after this time.
    #[error("over the quota of the workspace")]
    RateLimited(Duration),
    /// The captcha's provider did not give a result.
    #[error("captcha unavailable: {0}")]
    CaptchaUnavailable(&'static str),
    /// The workspace's captcha settings are wrong.
    #[error("{0}")]
    CaptchaMisconfigured(&'static str),
    /// An internal error.
    #[error("unexpected")]
    Unexpected(#[source] Arc<dyn Error + Send + Sync>),
}

impl From<StoreError> for LeadProblem {
    fn from(error: StoreError) -> Self {
        Self::Unexpected(Arc::new(error))
    }
}

/// One type of problem in responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemType {
    /// HTTP status.
    pub status: u16,
    /// `SERVICE.CAMPAIGN_LEADS.<NAME>`.
    pub name: &'static str,
    /// A short summary for people.
    pub title: &'static str,
}

/// The complete table. The gateway returns 429 too. `docs/errors.md` contains the table; a test compares the two.
pub const PROBLEMS: &[ProblemType] = &[INVALID, REJECTED, CAPTCHA_UNAVAILABLE, RATE_LIMITED, INTERNAL];

const INVALID: ProblemType = problem(400, "SERVICE.CAMPAIGN_LEADS.INVALID_REQUEST", "Bad Request");
const REJECTED: ProblemType = problem(403, "SERVICE.CAMPAIGN_LEADS.REJECTED", "Forbidden");
const CAPTCHA_UNAVAILABLE: ProblemType =
    problem(422, "SERVICE.CAMPAIGN_LEADS.CAPTCHA_UNAVAILABLE", "Captcha Unavailable");
const RATE_LIMITED: ProblemType = problem(429, "SERVICE.CAMPAIGN_LEADS.RATE_LIMITED", "Too Many Requests");
const INTERNAL: ProblemType = problem(500, "SERVICE.CAMPAIGN_LEADS.INTERNAL_ERROR", "Internal Server Error");

const fn problem(status: u16, name: &'static str, title: &'static str) -> ProblemType {
    ProblemType { status, name, title }
}

impl LeadProblem {
    /// An internal error without an error value of its own.
    pub fn unexpected(reason: &'static str) -> Self {
        Self::Unexpected(Arc::from(Box::<dyn Error + Send + Sync>::from(reason)))
    }

    /// The problem type for the response.
    pub fn kind(&self) -> ProblemType {
        match self {
            Self::Invalid(_) => INVALID,
            Self::Rejected(_) => REJECTED,
            Self::RateLimited(_) => RATE_LIMITED,
            Self::CaptchaUnavailable(_) => CAPTCHA_UNAVAILABLE,
            Self::CaptchaMisconfigured(_) | Self::Unexpected(_) => INTERNAL,
        }
    }

    /// Writes one log line with the reason, which the response does not contain. It has no data of the
    /// visitor.
    pub fn log(&self, workspace: WorkspaceId) {
        let (status, cause) = (self.kind().status, error_chain(self));
        if status >= 500 {
            tracing::error!(%workspace, status, cause, "lead failed");
        } else {
            tracing::info!(%workspace, status, cause, "lead refused");
        }
    }
}

/// A response in the gateway's format.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaptureAnswer {
    status_code: u16,
    headers: BTreeMap<&'static str, String>,
    body: String,
    is_base64_encoded: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AcceptedBody {
    request_id: String,
}

#[derive(Serialize)]
struct ProblemBody {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
}

impl CaptureAnswer {
    /// 202 with the lead's id, or the problem. `readable_by` is the origin that may read the response, if it
    /// is one of the workspace's.
    pub fn of(outcome: &Result<LeadId, LeadProblem>, readable_by: &SentOrigin) -> Self {
        let (status, content_type, body) = match outcome {
            Ok(lead) => (202, "application/json", json_text(&AcceptedBody { request_id: lead.to_string() })),
            Err(problem) => {
                let ProblemType { status, name, title } = problem.kind();
                let body = json_text(&ProblemBody { kind: name, title, status });
                (status, "application/problem+json", body)
            }
        };
        let mut answer = Self::bare(status, body, readable_by);
        answer.headers.insert("content-type", content_type.to_owned());
        if let Err(LeadProblem::RateLimited(wait)) = outcome {
            answer.headers.insert("retry-after", whole_seconds(*wait).to_string());
            // Browsers show a page only some headers unless the answer names others.
            answer.headers.insert("access-control-expose-headers", "retry-after".to_owned());
        }
        answer
    }

    /// The response to a preflight request: always 204.
    pub fn preflight(readable_by: &SentOrigin) -> Self {
        let mut answer = Self::bare(204, String::new(), readable_by);
        answer.headers.extend([
            ("access-control-allow-methods", "POST".to_owned()),
            ("access-control-allow-headers", ALLOWED_HEADERS.to_owned()),
            ("access-control-max-age", PREFLIGHT_SECONDS.to_string()),
        ]);
        answer
    }

    /// A script for any page. Browsers may keep it for a year without asking again, because the content of a name
    /// never changes. Without a script it is the response that the gateway gives for an unknown path.
    pub fn script(request: &CaptureRequest, script: Option<&str>) -> Self {
        let Some(script) = script else {
            let problem = ProblemBody { kind: INVALID.name, title: "Not Found", status: 404 };
            let mut answer = Self::bare(404, json_text(&problem), &SentOrigin::Absent);
            answer.headers.insert("content-type", "application/problem+json".to_owned());
            return answer;
        };
        let etag = format!("\"{}\"", sha256_hex(script.as_bytes()));
        let is_known = request.has(&etag);
        let mut headers = BTreeMap::from([
            ("access-control-allow-origin", "*".to_owned()),
            ("cache-control", "public, max-age=31536000, immutable".to_owned()),
            ("etag", etag),
            ("x-content-type-options", "nosniff".to_owned()),
        ]);
        if !is_known {
            headers.insert("content-type", "text/javascript; charset=utf-8".to_owned());
        }
        let (status_code, body) = if is_known { (304, String::new()) } else { (200, script.to_owned()) };
        Self { status_code, headers, body, is_base64_encoded: false }
    }

    fn bare(status_code: u16, body: String, readable_by: &SentOrigin) -> Self {
        let mut headers = BTreeMap::from([
            ("cache-control", "no-store".to_owned()),
            ("vary", "Origin".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
        ]);
        if let SentOrigin::One(origin) = readable_by {
            headers.insert("access-control-allow-origin", origin.clone());
        }
        Self { status_code, headers, body, is_base64_encoded: false }
    }
}

/// The JSON of a value whose serialization cannot fail.
fn json_text(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WORKSPACE: &str = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";

    fn request(event: Value) -> CaptureRequest {
        serde_json::from_value(event).unwrap()
    }

    fn body() -> Value {
        json!({
            "workspaceId": WORKSPACE,
            "captureKey": "key",
            "cellphone": "+34600111222",
            "landingUri": "https://www.example.com/",
            "consent": {"status": "GRANTED"},
            "recaptchaToken": "token",
        })
    }

    fn with_body(body: &Value) -> CaptureRequest {
        let headers = json!({"content-type": ["application/json"]});
        request(json!({"httpMethod": "POST", "multiValueHeaders": headers, "body": body.to_string()}))
    }

    fn refused(content: CaptureContent) -> String {
        match content.lead {
            Err(LeadProblem::Invalid(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_origin_is_one_header_of_visible_characters() {
        let rows = [
            (json!(null), SentOrigin::Absent),
            (json!({}), SentOrigin::Absent),
            (json!({"origin": []}), SentOrigin::Absent),
            (json!({"x-origin": ["https://a.example"]}), SentOrigin::Absent),
            (json!({"origin": ["https://a.example"]}), SentOrigin::One("https://a.example".to_owned())),
            (json!({"ORIGIN": ["null"]}), SentOrigin::One("null".to_owned())),
            (json!({"origin": [""]}), SentOrigin::One(String::new())),
            (json!({"origin": ["https://a.example", "https://a.example"]}), SentOrigin::Unclear),
            (json!({"origin": ["https://a.example"], "Origin": ["https://a.example"]}), SentOrigin::Unclear),
            (json!({"origin": ["https://a.example "]}), SentOrigin::Unclear),
            (json!({"origin": ["https://a.example\u{0}"]}), SentOrigin::Unclear),
            (json!({"origin": ["https://\u{fc}.example"]}), SentOrigin::Unclear),
        ];
        for (headers, expected) in rows {
            assert_eq!(request(json!({ "multiValueHeaders": headers })).origin(), expected, "{headers}");
        }
    }

    #[test]
    fn an_event_may_omit_fields() {
        for event in [json!({}), json!({"multiValueHeaders": null, "body": null, "requestContext": {}})] {
            let request = request(event);
            assert_eq!((request.method(), request.address(), request.user_agent()), ("", "", None));
            assert_eq!((request.workspace(), request.origin()), (NOBODY, SentOrigin::Absent));
            let content = request.content(|_| true);
            assert_eq!(
                (content.workspace, refused(content)),
                (NOBODY, "content-type: not application/json".to_owned())
            );
        }
        let request = request(json!({
            "httpMethod": "POST",
            "multiValueHeaders": {"User-Agent": ["Browser", "Proxy"]},
            "requestContext": {"identity": {"sourceIp": "203.0.113.7"}},
        }));
        assert_eq!((request.address(), request.user_agent()), ("203.0.113.7", Some("Browser")));
    }

    #[test]
    fn the_settings_are_those_of_the_urls_workspace_else_the_bodys_else_nobodys() {
        let (ours, theirs) = (WORKSPACE, "11111111-1111-4111-8111-111111111111");
        let rows = [
            (json!(null), json!(ours), ours),
            (json!({"workspaceId": []}), json!(ours), ours),
            (json!({"workspaceId": [ours]}), json!(ours), ours),
            (json!({"workspaceId": [theirs]}), json!(ours), theirs),
            (json!({"workspaceId": ["x"]}), json!(ours), "00000000-0000-0000-0000-000000000000"),
            (json!({"workspaceId": [ours, ours]}), json!(ours), "00000000-0000-0000-0000-000000000000"),
            (json!({"workspaceId": [theirs]}), json!(7), theirs),
            (json!({"workspaceId": ["x"]}), json!("y"), "00000000-0000-0000-0000-000000000000"),
            (json!(null), json!(null), "00000000-0000-0000-0000-000000000000"),
        ];
        for (query, id, expected) in rows {
            let mut body = body();
            body["workspaceId"] = id.clone();
            let headers = json!({"content-type": ["application/json"]});
            let request = request(json!({
                "httpMethod": "POST",
                "multiValueHeaders": headers,
                "multiValueQueryStringParameters": query,
                "body": body.to_string(),
            }));
            assert_eq!(request.content(|_| true).workspace.to_string(), expected, "{query} {id}");
        }
    }

    #[test]
    fn a_refusal_lists_all_invalid_fields_without_values_or_keys_of_the_sender() {
        let bad = json!({
            "workspaceId": "secret",
            "cellphone": "+34600111222",
            "name": 7,
            "brandId": "",
            "landingUri": "secret",
            "utm": {"secret": 7, "secret\u{0}": "x"},
            "consent": {"status": "secret", "capturedAt": "secret", "text": "secret".repeat(334)},
            "recaptchaToken": "",
        });
        let reason = refused(with_body(&bad).content(|_| false));
        assert!(!reason.contains("secret") && !reason.contains("600111222"), "{reason}");
        let told: Vec<&str> = reason.split(", ").map(|told| told.split(':').next().unwrap()).collect();
        let fields = [
            "body.workspaceId",
            "body.captureKey",
            "body.cellphone",
            "body.name",
            "body.brandId",
            "body.landingUri",
            "body.utm",
            "body.utm",
            "body.consent.status",
            "body.consent.capturedAt",
            "body.consent.text",
            "body.recaptchaToken",
        ];
        assert_eq!(told, fields, "{reason}");
    }

    #[test]
    fn a_number_is_checked_against_its_plan_only_if_it_has_the_right_form() {
        let content = std::cell::Cell::new(0);
        let plan = |number: &Cellphone| {
            content.set(content.get() + 1);
            number.as_str() == "+34600111222"
        };
        assert!(with_body(&body()).content(plan).lead.is_ok());
        for (number, times) in [("+34600111223", 2), ("600111222", 2)] {
            let mut body = body();
            body["cellphone"] = json!(number);
            assert!(refused(with_body(&body).content(plan)).starts_with("body.cellphone: "));
            assert_eq!(content.get(), times);
        }
    }

    #[test]
    fn each_problem_is_in_the_table_and_each_row_is_unique() {
        let problems = [
            (LeadProblem::Invalid("x".to_owned()), 400),
            (LeadProblem::Rejected("x"), 403),
            (LeadProblem::CaptchaUnavailable("x"), 422),
            (LeadProblem::RateLimited(Duration::from_millis(1)), 429),
            (LeadProblem::unexpected("x"), 500),
            (StoreError::Failed("x".into()).into(), 500),
        ];
        for (problem, status) in problems {
            let kind = problem.kind();
            assert_eq!((kind.status, PROBLEMS.contains(&kind)), (status, true));
            let answer = CaptureAnswer::of(&Err(problem), &SentOrigin::Absent);
            let body = format!(r#"{{"type":"{}","title":"{}","status":{status}}}"#, kind.name, kind.title);
            assert_eq!((answer.status_code, answer.body), (status, body));
        }
        for (index, problem) in PROBLEMS.iter().enumerate() {
            let name = problem.name.strip_prefix("SERVICE.CAMPAIGN_LEADS.").unwrap();
            assert!(name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{name}");
            assert!(
                PROBLEMS[..index]
                    .iter()
                    .all(|other| other.name != problem.name && other.status != problem.status)
            );
        }
    }

    #[test]
    fn a_response_names_only_the_page_that_may_read_it() {
        for (readable, expected) in [
            (SentOrigin::One("https://a.example".to_owned()), Some("https://a.example")),
            (SentOrigin::Absent, None),
            (SentOrigin::Unclear, None),
        ] {
            let answers = [
                CaptureAnswer::preflight(&readable),
                CaptureAnswer::of(&Err(invalid("x")), &readable),
                CaptureAnswer::of(&Ok(LeadId::parse(WORKSPACE).unwrap()), &readable),
            ];
            for answer in answers {
                let named = answer.headers.get("access-control-allow-origin").map(String::as_str);
                assert_eq!(named, expected);
            }
        }
    }
}
