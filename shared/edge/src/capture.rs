//! The surface of lead capture: a gateway's event read, a lead's answer or problem shown.
//!
//! Apart from the Integrations API in everything: other errors ([`LeadProblem`]), no request id, and answers that name
//! the page which may read them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use domain::lead::{ConsentStatus, LandingUri, LeadName, LeadRequest, SentOrigin, Utm};
use domain::text::within;
use domain::{BrandId, Cellphone, LeadId, Secret, Timestamp, Unfit, WorkspaceId, causes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::StoreError;

use crate::error::ApiError;
use crate::form::{Fault, Form, Node};
use crate::json;
use crate::request::declares_json;

/// One request as the gateway hands it over. Read from the event itself: of a header sent twice, an HTTP request made
/// of it would hold one.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CaptureRequest {
    http_method: String,
    multi_value_headers: Option<BTreeMap<String, Vec<String>>>,
    multi_value_query_string_parameters: Option<BTreeMap<String, Vec<String>>>,
    body: Option<String>,
    is_base64_encoded: bool,
    request_context: Context,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Context {
    identity: Identity,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Identity {
    source_ip: Option<String>,
}

/// All but the method is the visitor's, or a secret of the page.
impl fmt::Debug for CaptureRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureRequest").field("http_method", &self.http_method).finish_non_exhaustive()
    }
}

/// What a request asks for.
#[derive(Debug)]
pub struct Asked {
    /// The workspace whose settings decide: the one on the URL, else the body's, else nobody's.
    pub workspace: WorkspaceId,
    /// The lead, if all of it has the right shape.
    pub lead: Result<LeadRequest, LeadProblem>,
}

impl CaptureRequest {
    /// The method, in upper case.
    pub fn method(&self) -> &str {
        &self.http_method
    }

    /// What it says of the page it comes from.
    pub fn origin(&self) -> SentOrigin {
        match self.header("origin").as_slice() {
            [] => SentOrigin::Absent,
            [origin] if origin.bytes().all(|byte| byte.is_ascii_graphic()) => {
                SentOrigin::One((*origin).to_owned())
            }
            _ => SentOrigin::Unclear,
        }
    }

    /// The visitor's address; empty if the gateway does not know it.
    pub fn address(&self) -> &str {
        self.request_context.identity.source_ip.as_deref().unwrap_or_default()
    }

    /// What the visitor's browser calls itself.
    pub fn user_agent(&self) -> Option<&str> {
        self.header("user-agent").first().copied()
    }

    /// The workspace on the URL, for a preflight; nobody's if there is none.
    pub fn workspace(&self) -> WorkspaceId {
        self.on_url().unwrap_or_default().unwrap_or(NOBODY)
    }

    /// Reads a lead. `valid` says whether a number is one of its numbering plan.
    pub fn asked(&self, valid: impl Fn(&Cellphone) -> bool) -> Asked {
        let (on_url, body) = (self.on_url(), self.json());
        let in_body = body.as_ref().ok().and_then(|body| body.get("workspaceId")).and_then(Value::as_str);
        let in_body = in_body.and_then(|id| WorkspaceId::parse(id).ok());
        // Where the URL names one, nobody else's pages may read the answer, though what is named there is none.
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
        Asked { workspace, lead }
    }

    /// The workspace on the URL, if one is named there.
    fn on_url(&self) -> Result<Option<WorkspaceId>, LeadProblem> {
        let query = self.multi_value_query_string_parameters.as_ref();
        match query.and_then(|query| query.get("workspaceId")).map(Vec::as_slice) {
            None | Some([]) => Ok(None),
            Some([id]) => {
                WorkspaceId::parse(id).map(Some).map_err(|_| invalid("query.workspaceId: not a UUID"))
            }
            Some(_) => Err(invalid("query.workspaceId: repeated")),
        }
    }

    /// The JSON of the body: within the size, declared as JSON, and JSON.
    fn json(&self) -> Result<Value, LeadProblem> {
        let text = self.body.as_deref().unwrap_or_default();
        let body = if self.is_base64_encoded {
            let decoded = base64::engine::general_purpose::STANDARD.decode(text);
            decoded.map_err(|_| invalid("body: not base64"))?
        } else {
            text.as_bytes().to_vec()
        };
        if body.len() > LeadRequest::MAX_BODY {
            return Err(invalid("body: too large"));
        }
        if !matches!(self.header("content-type").as_slice(), [one] if declares_json(one)) {
            return Err(invalid("content-type: not application/json"));
        }
        json::parse(&body).map_err(|not_json| LeadProblem::Invalid(format!("body: {}", not_json.reason)))
    }

    fn header(&self, name: &str) -> Vec<&str> {
        let headers = self.multi_value_headers.iter().flatten();
        let named = headers.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.flat_map(|(_, values)| values.iter().map(String::as_str)).collect()
    }
}

/// The workspace that is nobody's.
const NOBODY: WorkspaceId = store::keys::PLATFORM;

/// Reads a body. Fields that are not known are ignored.
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

/// A place without what the sender chose: the keys of `utm` are theirs.
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
    let consented_at = consent(form, &body.field("consent"));
    let captcha = required(form, &body, "recaptchaToken", token);
    Some(LeadRequest {
        workspace_id: workspace_id?,
        capture_key: capture_key?,
        cellphone: cellphone?,
        name,
        brand,
        landing_uri: landing_uri?,
        utm: utm?,
        consented_at: consented_at?,
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
    Utm::of(values).map_err(|unfit| form.fail(&at, Fault::Unfit(unfit))).ok()
}

/// When permission was given, as far as the tenant says so; a failure unless it was.
fn consent(form: &mut Form, at: &Node<'_>) -> Option<Option<Timestamp>> {
    let consent = at.clone().required(form)?.object(form)?;
    let granted = |text: &str| match ConsentStatus::parse(text)? {
        ConsentStatus::Granted => Ok(()),
        ConsentStatus::NotProvided => Err(Unfit::Value { reason: "consent is not granted" }),
    };
    // A moment out of the range of ours would be kept as another one than was claimed.
    let in_range = |moment: &Timestamp| moment.as_millis() > 0;
    let moment = |text: &str| {
        Timestamp::parse(text).filter(in_range).ok_or(Unfit::Value { reason: "not a date-time since 1970" })
    };
    let status = required(form, &consent, "status", granted);
    let captured_at = optional(form, &consent, "capturedAt", moment);
    status.map(|()| captured_at)
}

fn invalid(reason: &str) -> LeadProblem {
    LeadProblem::Invalid(reason.to_owned())
}

/// Why a lead is not accepted. What is said here is for the log: callers are told one of four things.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LeadProblem {
    /// The request has not the shape of a lead, its number is none, permission was not given, or no brand is resolved;
    /// which fields, without their values.
    #[error("invalid lead: {0}")]
    Invalid(String),
    /// Whoever sent it may not, or is no human, or sent too many.
    #[error("rejected: {0}")]
    Rejected(&'static str),
    /// The captcha's provider could not be asked.
    #[error("captcha unavailable: {0}")]
    CaptchaUnavailable(&'static str),
    /// The workspace's captcha is not set up as its provider wants it.
    #[error("{0}")]
    CaptchaMisconfigured(&'static str),
    /// Anything that is ours to mend.
    #[error("unexpected")]
    Unexpected(#[source] Arc<dyn Error + Send + Sync>),
}

impl From<StoreError> for LeadProblem {
    fn from(error: StoreError) -> Self {
        Self::Unexpected(Arc::new(error))
    }
}

/// One kind of problem as callers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemType {
    /// HTTP status.
    pub status: u16,
    /// `SERVICE.CAMPAIGN_LEADS.<NAME>`.
    pub name: &'static str,
    /// Short summary for people.
    pub title: &'static str,
}

/// The table, whole; 429 is the gateway's to say. `docs/errors.md` shows it; a test compares the two.
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
    /// A fault of ours that has no error value of its own.
    pub fn unexpected(reason: &'static str) -> Self {
        Self::Unexpected(Arc::from(Box::<dyn Error + Send + Sync>::from(reason)))
    }

    /// What callers are told.
    pub fn kind(&self) -> ProblemType {
        match self {
            Self::Invalid(_) => INVALID,
            Self::Rejected(_) => REJECTED,
            Self::CaptchaUnavailable(_) => CAPTCHA_UNAVAILABLE,
            Self::CaptchaMisconfigured(_) | Self::Unexpected(_) => INTERNAL,
        }
    }

    /// One line for the log: what callers are not told, and nothing of the visitor.
    pub fn log(&self, workspace: WorkspaceId) {
        let (status, cause) = (self.kind().status, causes(self));
        if status >= 500 {
            tracing::error!(%workspace, status, cause, "lead failed");
        } else {
            tracing::info!(%workspace, status, cause, "lead refused");
        }
    }
}

/// An answer as the gateway takes it.
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
    /// 202 with the lead's id, or the problem; `readable_by` is the page that may read it, if that is one of the
    /// workspace's.
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
        answer
    }

    /// The answer to a preflight: 204, whoever asks.
    pub fn preflight(readable_by: &SentOrigin) -> Self {
        let mut answer = Self::bare(204, String::new(), readable_by);
        answer.headers.extend([
            ("access-control-allow-methods", "POST".to_owned()),
            ("access-control-allow-headers", "content-type".to_owned()),
            ("access-control-max-age", "600".to_owned()),
        ]);
        answer
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

/// JSON of what always is some.
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

    fn refused(asked: Asked) -> String {
        match asked.lead {
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
    fn an_event_may_lack_whatever_the_gateway_leaves_out() {
        for event in [json!({}), json!({"multiValueHeaders": null, "body": null, "requestContext": {}})] {
            let request = request(event);
            assert_eq!((request.method(), request.address(), request.user_agent()), ("", "", None));
            assert_eq!((request.workspace(), request.origin()), (NOBODY, SentOrigin::Absent));
            let asked = request.asked(|_| true);
            assert_eq!(
                (asked.workspace, refused(asked)),
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
    fn the_workspace_that_decides_is_the_urls_else_the_bodys_else_nobodys() {
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
            let mut request = with_body(&body);
            request.multi_value_query_string_parameters = serde_json::from_value(query.clone()).unwrap();
            assert_eq!(request.asked(|_| true).workspace.to_string(), expected, "{query} {id}");
        }
    }

    #[test]
    fn all_that_is_wrong_with_a_body_is_told_at_once_without_a_value_or_a_key_of_the_senders() {
        let bad = json!({
            "workspaceId": "secret",
            "cellphone": "+34600111222",
            "name": 7,
            "brandId": "",
            "landingUri": "secret",
            "utm": {"secret": 7, "secret\u{0}": "x"},
            "consent": {"status": "secret", "capturedAt": "secret"},
            "recaptchaToken": "",
        });
        let reason = refused(with_body(&bad).asked(|_| false));
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
            "body.recaptchaToken",
        ];
        assert_eq!(told, fields, "{reason}");
    }

    #[test]
    fn a_number_is_asked_for_in_its_plan_when_it_has_the_shape() {
        let asked = std::cell::Cell::new(0);
        let plan = |number: &Cellphone| {
            asked.set(asked.get() + 1);
            number.as_str() == "+34600111222"
        };
        assert!(with_body(&body()).asked(plan).lead.is_ok());
        for (number, times) in [("+34600111223", 2), ("600111222", 2)] {
            let mut body = body();
            body["cellphone"] = json!(number);
            assert!(refused(with_body(&body).asked(plan)).starts_with("body.cellphone: "));
            assert_eq!(asked.get(), times);
        }
    }

    #[test]
    fn each_problem_is_one_of_the_table_and_each_of_the_table_is_told_apart() {
        let problems = [
            (LeadProblem::Invalid("x".to_owned()), 400),
            (LeadProblem::Rejected("x"), 403),
            (LeadProblem::CaptchaUnavailable("x"), 422),
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
    fn an_answer_names_the_page_that_may_read_it_and_no_other() {
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
