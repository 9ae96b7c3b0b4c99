//! In-process tests of the leads function: the real handler, real SDK clients with the rights of its role, an
//! embedded DynamoDB, and a captcha provider whose answers the test sets.

#![allow(clippy::unwrap_used)] // helpers of tests, too

mod answers;
mod any_input;
mod caps;
mod captcha_client;
mod captcha_verdicts;
mod check_order;
mod consent;
mod deduplication;
mod logging;
mod origins;
mod quotas;
mod round_trips;
mod scripts;
mod validation;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::lead::captcha::{ACTION, CaptchaAnswer as Solution};
use domain::{Capture, Clock, Lead, LeadId, Secret, WorkspaceId};
use edge::capture::CaptureRequest;
use harness::{Answer, GatewayEvent, TestClock, World};
use leads::captcha::{Unreachable, Verifier};
use leads::{Leads, Quotas};
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::{Value, json};
use store::Table;

pub(crate) const PHONE: &str = "+34600111222";
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A captcha provider for tests.
pub(crate) struct StandIn {
    clock: Arc<TestClock>,
    /// Its answer to every token. The default is a visitor who seems human.
    pub(crate) says: RefCell<Option<Result<Solution, Unreachable>>>,
    /// Whether it rejects a token that it has seen before, as the real one does.
    pub(crate) once: Cell<bool>,
    /// Whether it never answers.
    pub(crate) hangs: Cell<bool>,
    /// The secrets and tokens of its requests.
    pub(crate) asked: RefCell<Vec<(String, String)>>,
}

impl StandIn {
    /// Its answer for a visitor of [`World::PAGE`] who seems human.
    pub(crate) fn solved(&self) -> Solution {
        let hostname = "www.example.com".to_owned();
        Solution::Solved { score: 0.9, action: ACTION.to_owned(), hostname, at: self.clock.now() }
    }

    pub(crate) fn refuses(&self, code: &str) {
        self.says.replace(Some(Ok(Solution::Refused(vec![code.to_owned()]))));
    }
}

impl Verifier for StandIn {
    async fn verify(&self, secret: &Secret, token: &Secret) -> Result<Solution, Unreachable> {
        let token = token.expose().to_owned();
        let known = self.asked.borrow().iter().any(|(_, asked)| *asked == token);
        self.asked.borrow_mut().push((secret.expose().to_owned(), token));
        tokio::task::yield_now().await;
        if self.hangs.get() {
            std::future::pending::<()>().await;
        }
        if known && self.once.get() {
            return Ok(Solution::Refused(vec!["timeout-or-duplicate".to_owned()]));
        }
        self.says.borrow().clone().unwrap_or_else(|| Ok(self.solved()))
    }
}

/// A workspace that accepts leads from [`World::PAGE`], and the function.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) capture: Capture,
    pub(crate) leads: Leads<StandIn>,
    pub(crate) counted: Kept,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// A site with a changed set-up.
    pub(crate) async fn with(change: impl FnOnce(&mut Capture)) -> Self {
        let world = World::start().await;
        world.brand(World::BRAND, |_| ()).await;
        let capture = world.capture(change).await;
        let captcha = StandIn {
            clock: world.db.clock().clone(),
            says: RefCell::default(),
            once: Cell::default(),
            hangs: Cell::default(),
            asked: RefCell::default(),
        };
        let store = world.db.store_of("leads");
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let quotas = Quotas::new(store.clone());
        let leads =
            Leads { store, quotas, captcha, first_due: Duration::from_secs(120), longest: LONG, metrics };
        Self { world, capture, leads, counted }
    }

    /// A second workspace that accepts leads from this page.
    pub(crate) async fn other(&self, page: &str) -> Capture {
        let (workspace, _) = self.world.second_workspace().await;
        self.world.brand_of(workspace, World::BRAND, |_| ()).await;
        let page = domain::WebOrigin::parse(page).unwrap();
        self.world.capture_of(workspace, |capture| capture.origins = vec![page]).await
    }

    pub(crate) fn captcha(&self) -> &StandIn {
        &self.leads.captcha
    }

    /// The body of a valid lead.
    pub(crate) fn body(&self) -> Value {
        self.body_of(&self.capture)
    }

    pub(crate) fn body_of(&self, capture: &Capture) -> Value {
        json!({
            "workspaceId": capture.workspace_id.to_string(),
            "captureKey": capture.key.as_str(),
            "cellphone": PHONE,
            "landingUri": "https://www.example.com/spring",
            "consent": {"status": "GRANTED"},
            "recaptchaToken": "token",
        })
    }

    /// The body of another visitor's lead, with its own number and token.
    pub(crate) fn visitor(&self, number: usize) -> Value {
        let mut body = self.body();
        body["cellphone"] = json!(format!("+34600{number:06}"));
        body["recaptchaToken"] = json!(format!("token of {number}"));
        body
    }

    /// A request from [`World::PAGE`].
    pub(crate) fn event(&self, body: &Value) -> GatewayEvent {
        GatewayEvent::of("leads-accept.json").body(body)
    }

    /// A preflight from [`World::PAGE`].
    pub(crate) fn preflight(&self) -> GatewayEvent {
        GatewayEvent::of("leads-preflight.json")
    }

    pub(crate) async fn send(&self, event: GatewayEvent) -> Answer {
        answered(&self.leads, &event).await
    }

    pub(crate) async fn post(&self, body: &Value) -> Answer {
        self.send(self.event(body)).await
    }

    /// Posts a lead that must be accepted.
    pub(crate) async fn accepted(&self, body: &Value) -> LeadId {
        let answer = self.post(body).await;
        assert_eq!(answer.status, 202, "{} {body}", answer.text);
        id(&answer)
    }

    pub(crate) async fn lead(&self, id: LeadId) -> Lead {
        self.world.db.store().lead(self.world.workspace, id).await.unwrap().unwrap()
    }

    /// Changes a lead's row directly in the database.
    pub(crate) fn change_row(&self, id: LeadId, change: impl FnOnce(&mut Value)) {
        self.world.db.change_row(Table::Leads, &format!("{}#L#{id}", World::WORKSPACE), "L", change);
    }

    /// Sets a lead's state, as the sender stores it.
    pub(crate) fn set_state(&self, id: LeadId, state: &str) {
        self.change_row(id, |row| {
            row["stage"] = json!({ "S": state });
            let fields = row.as_object_mut().unwrap();
            if ["FAILED", "UNKNOWN", "SUPPRESSED"].contains(&state) {
                fields.insert("state".to_owned(), json!({ "S": state }));
            }
            if !["QUEUED", "SENDING"].contains(&state) {
                fields.remove("dueAt");
                fields.remove("dueShard");
            }
        });
    }

    /// The number of rows of that kind in the table: `lead`, `captchaToken`, `leadRepeat`.
    pub(crate) fn rows(&self, kind: &str) -> usize {
        self.world.db.rows_of(Table::Leads, kind).len()
    }

    /// The number of rows of all kinds.
    pub(crate) fn all_rows(&self) -> usize {
        self.world.db.rows(Table::Leads).len()
    }

    /// Changes the set-up.
    pub(crate) async fn change(&mut self, change: impl FnOnce(&mut Capture)) {
        change(&mut self.capture);
        self.capture.version += 1;
        self.world.save_capture(&self.capture).await;
    }

    /// Removes a lead's row.
    pub(crate) fn remove(&self, id: LeadId) {
        self.world.db.remove_row(Table::Leads, &format!("{}#L#{id}", World::WORKSPACE), "L");
    }

    /// Removes the captcha secret.
    pub(crate) fn without_secret(&self) {
        self.world.db.remove_row(Table::Secrets, &format!("{}#K", self.world.workspace), "S");
    }
}

/// A body with one field changed.
pub(crate) fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

/// A body without a field.
pub(crate) fn without(body: &Value, field: &str) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().remove(field);
    body
}

pub(crate) async fn answered<V: Verifier>(leads: &Leads<V>, event: &GatewayEvent) -> Answer {
    let request: CaptureRequest = serde_json::from_value(event.json().clone()).unwrap();
    Answer::of_gateway(leads.handle(&request).await)
}

/// The page that may read an answer.
pub(crate) fn readable_by(answer: &Answer) -> Option<&str> {
    answer.headers.get("access-control-allow-origin").map(String::as_str)
}

pub(crate) fn id(answer: &Answer) -> LeadId {
    LeadId::parse(answer.json["requestId"].as_str().unwrap()).unwrap()
}

/// The number of answers with each status.
pub(crate) fn statuses(answers: &[Answer]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.status).or_default() += 1;
    }
    counts
}

/// An id that no workspace has.
pub(crate) fn unknown_workspace() -> WorkspaceId {
    WorkspaceId::parse("11111111-1111-4111-8111-111111111111").unwrap()
}
