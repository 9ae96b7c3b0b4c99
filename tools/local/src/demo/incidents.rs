//! What goes wrong in the demo's second workspace, so that each page of its portal shows something: endpoints that fail, a
//! rotation that runs, a template that is paused, and leads in each state.

use std::time::Duration;

use http::Request;
use http::header::{CONTENT_TYPE, ORIGIN};
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::data::{BOREALIS, Demo};
use super::operator::{LONGEST_WAIT, Operator};
use super::tenant::answered;
use crate::Problem;
use crate::simulator::{Provider, Receiver};
use crate::stack_file::{Workspace, text};

/// The visitors of the landing page. The last digits select the answer of the simulated provider.
const VISITORS: [(&str, &str); 5] = [
    ("Nora Lind", "+34600550101"),
    ("Pablo Ruiz", "+34600550102"),
    // The provider cannot reach the first, and closes the connection without an answer for the second.
    ("Quim Serra", "+34600550001"),
    ("Rosa Vidal", "+34600550005"),
    (OPTED_OUT.0, OPTED_OUT.1),
];
/// A visitor whose number wants no templates.
const OPTED_OUT: (&str, &str) = ("Sara Bosch", "+34600550103");
/// A visitor who comes while the template is paused.
const LATE: (&str, &str) = ("Tomas Vega", "+34600550104");

pub(super) struct Incidents<'a> {
    pub(super) operator: Operator<'a>,
    pub(super) demo: &'a Demo,
    pub(super) workspace: &'a Workspace,
    pub(super) capture_url: &'a str,
    pub(super) receiver: &'a Receiver,
    pub(super) provider: &'a Provider,
}

impl Incidents<'_> {
    /// Creates the endpoints, sends the leads, pauses the template, and sends another lead. Returns the contacts of the workspace.
    pub(super) async fn happen(&self) -> Result<Vec<Value>, Problem> {
        let crm = self.endpoint("status/503", "CRM").await?;
        self.operator.run(["webhook", "rotate"], &["--endpoint", &crm]).await?;
        self.endpoint("status/410", "Old warehouse").await?;
        self.operator.run(["opt-out", "add"], &["--cellphone", OPTED_OUT.1]).await?;
        for visitor in VISITORS {
            self.lead(visitor).await?;
        }
        self.until("The leads of the demo are not sent", async || self.are_judged().await).await?;
        self.until("The demo's old endpoint is not disabled", async || self.is_one_disabled().await).await?;
        let pause = json!({ "command": "pause", "name": self.demo.capture.template, "language": "en" });
        let paused = self.provider.change_template(BOREALIS, &pause);
        paused.map_err(|reason| Problem::of("The demo's template cannot be paused", reason))?;
        self.operator.run(["template", "sync"], &["--business-account", BOREALIS]).await?;
        self.lead(LATE).await?;
        self.until("The webhooks of the demo's leads do not arrive", async || self.are_told().await).await?;
        self.operator.list(["contacts", "export"]).await
    }

    /// An endpoint for news about leads. Returns its id.
    async fn endpoint(&self, answer: &str, description: &str) -> Result<String, Problem> {
        let more = ["--description", description, "--event", "lead.accepted", "--event", "lead.failed"];
        Ok(text(&self.operator.webhook(self.receiver, answer, &more).await?, "endpointId"))
    }

    /// Sends a lead as the workspace's landing page does.
    async fn lead(&self, (name, cellphone): (&str, &str)) -> Result<(), Problem> {
        let Workspace { workspace_id, sending, .. } = self.workspace;
        let page = self.demo.capture.origin;
        let url = format!("{}/api/v1/leadscout/campaign-leads?workspaceId={workspace_id}", self.capture_url);
        let lead = json!({
            "workspaceId": workspace_id,
            "captureKey": sending.capture["captureKey"],
            "cellphone": cellphone,
            "name": name,
            "landingUri": format!("{page}/claims?utm_source=search&utm_campaign=spring"),
            "utm": { "utm_source": "search", "utm_campaign": "spring" },
            "consent": { "status": "GRANTED", "capturedAt": "2026-01-02T03:04:05Z" },
            "recaptchaToken": format!("pass-{}", &cellphone[1..]),
        });
        let request = Request::post(url)
            .header(ORIGIN, page)
            .header(CONTENT_TYPE, "application/json")
            .body(Bytes::from(lead.to_string()));
        answered("campaign-leads", request).await.map(drop)
    }

    /// Whether each lead has an end.
    async fn are_judged(&self) -> Result<bool, Problem> {
        let leads = self.operator.list(["lead", "list"]).await?;
        let is_open = |lead: &Value| ["QUEUED", "SENDING"].map(Value::from).contains(&lead["state"]);
        Ok(leads.len() == VISITORS.len() && !leads.iter().any(is_open))
    }

    /// Whether the workspace's own receiver got the events of the lead that waits, and everything before.
    async fn are_told(&self) -> Result<bool, Problem> {
        let endpoint = text(&self.workspace.webhook, "endpointId");
        let deliveries = ["delivery", "list"];
        let deliveries = self.operator.run(deliveries, &["--endpoint", &endpoint, "--limit", "200"]).await?;
        let deliveries = deliveries.as_array().map_or(&[][..], Vec::as_slice);
        let count = |event| deliveries.iter().filter(|delivery| delivery["eventType"] == event).count();
        // Everybody's lead is accepted. All but the visitor who opted out have a conversation.
        let opened = ["contact.created", "conversation.created", "message.created"].map(count);
        let are_there = count("lead.accepted") == VISITORS.len() + 1 && opened == [VISITORS.len(); 3];
        Ok(are_there && deliveries.iter().all(|delivery| delivery["state"] == "DELIVERED"))
    }

    async fn is_one_disabled(&self) -> Result<bool, Problem> {
        let endpoints = self.operator.list(["webhook", "list"]).await?;
        Ok(endpoints.iter().any(|endpoint| endpoint["state"] == "DISABLED"))
    }

    /// Waits until something is so.
    async fn until(
        &self,
        otherwise: &str,
        is_so: impl AsyncFn() -> Result<bool, Problem>,
    ) -> Result<(), Problem> {
        let waits = async {
            while !is_so().await? {
                sleep(Duration::from_millis(200)).await;
            }
            Ok(())
        };
        timeout(LONGEST_WAIT, waits).await.unwrap_or_else(|_| Err(Problem::new(format!("{otherwise}."))))
    }
}
