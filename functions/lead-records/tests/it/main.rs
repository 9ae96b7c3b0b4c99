//! In-process tests of the lead-records function: the real handler, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod list;
mod retries;
mod retry;
mod routes;

use std::time::Duration;

use domain::sending::PartError;
use domain::{LaneKind, Lead, LeadId, LeadState};
use edge::ApiRequest;
use harness::{Answer, GatewayEvent, TestQueue, World};
use lead_records::LeadRecords;
use queue::Queues;
use runtime::metrics::ApiFunction;
use serde_json::Value;

struct Records {
    world: World,
    function: LeadRecords,
    queue: TestQueue,
}

impl Records {
    async fn start() -> Self {
        let (world, queue) = (World::start().await, TestQueue::default());
        let function = LeadRecords {
            api: world.api(ApiFunction::LeadRecords),
            queues: Queues::default().with(LaneKind::Lead, queue.client(), "https://sqs/leads"),
            rescue: Duration::from_secs(120),
        };
        Self { world, function, queue }
    }

    /// The same with lead capture.
    async fn capturing() -> Self {
        let records = Self::start().await;
        records.world.capture(|_| ()).await;
        records
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        self.function.handle(&ApiRequest::new(event.request())).await.into()
    }

    fn event(&self, file: &str) -> GatewayEvent {
        self.world.event(&format!("lead-records-{file}.json")).request_id("r")
    }

    /// A list with this query.
    async fn list(&self, query: &[(&str, &str)]) -> Answer {
        self.send(self.event("list").query(query)).await
    }

    /// A lead in this state; each call has another number.
    async fn lead(&self, state: LeadState, error: Option<&str>) -> Lead {
        let number = self.world.db.store().ids().next().as_u128() % 10_000;
        self.world
            .lead(&format!("+34600{number:06}"), |lead| {
                lead.state = state;
                lead.error = error.map(PartError::of);
            })
            .await
    }

    async fn failed(&self) -> Lead {
        self.lead(LeadState::Failed, Some("131026")).await
    }

    async fn stored(&self, id: LeadId) -> Lead {
        self.world.db.store().lead(self.world.workspace, id).await.unwrap().unwrap()
    }

    fn pass(&self, seconds: u64) {
        self.world.db.clock().advance(Duration::from_secs(seconds));
    }

    /// The entries of the audit log: action and subject, the newest first.
    async fn audit(&self) -> Vec<(String, String)> {
        self.world.audited().await.into_iter().map(|(action, subject, _)| (action, subject)).collect()
    }

    /// The leads of the queue's messages since the last call.
    fn queued(&self) -> Vec<String> {
        let body = |body: String| serde_json::from_str::<Value>(&body).unwrap();
        let lead = |message: harness::Queued| body(message.body)["leadId"].as_str().unwrap().to_owned();
        self.queue.take().into_iter().map(lead).collect()
    }
}

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.json["code"].as_str().unwrap_or_default())
}

/// The ids of the leads in a list.
fn ids(answer: &Answer) -> Vec<&str> {
    let leads = answer.json["leads"].as_array().unwrap_or_else(|| panic!("{}", answer.text));
    leads.iter().map(|lead| lead["id"].as_str().unwrap()).collect()
}
