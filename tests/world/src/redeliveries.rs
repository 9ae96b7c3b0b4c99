//! A tenant's developer asks by the management API for deliveries and leads again.

use std::time::Duration;

use harness::{Answer, GatewayEvent, TestClock};
use serde_json::{Value, json};

use crate::simulation::Simulation;
use crate::tenant::Tenant;

impl Simulation {
    /// A developer of the tenant takes so many steps.
    pub(crate) async fn delivers_again(&self, tenant: &Tenant, steps: u64) {
        for _ in 0..steps {
            self.pause().await;
            match self.random.below(8) {
                0..3 => self.asks_for_job(tenant).await,
                3 | 4 => self.retries_delivery(tenant).await,
                5 => self.retries_lead(tenant).await,
                6 => self.retries_leads(tenant).await,
                _ => self.reads_logs(tenant).await,
            }
        }
    }

    /// Asks for a job about one of the tenant's endpoints, twice, and sometimes cancels it.
    async fn asks_for_job(&self, tenant: &Tenant) {
        let endpoint = match self.some_hook(tenant).filter(|_| self.random.happens(700)) {
            Some(hook) => hook.id,
            None => tenant.endpoint.to_string(),
        };
        let of = |file: &str| tenant.event(file).path("endpointId", &endpoint);
        let what = *self.random.one_of(&["REPLAY", "RECOVER"]);
        // Clocks differ, so it begins long before the world.
        let since = TestClock::START.minus(Duration::from_secs(3_600));
        let body = json!({ "what": what, "since": since.to_string() });
        let event = of("deliveries-request-job.json").body(&body);
        // It may be disabled or deleted meanwhile.
        let Some(job) = self.manages("deliveries", event.clone(), &[200, 201, 404, 409]).await else {
            return;
        };
        let id = job.json["id"].as_str().unwrap_or_default().to_owned();
        if let Some(again) = self.manages("deliveries", event, &[200, 201, 404, 409]).await
            && again.json["id"] != id.as_str()
        {
            self.breaks(format!("a job that is asked for again is another one: {} {}", job.text, again.text));
        }
        if self.random.happens(300) {
            let event = of("deliveries-cancel-job.json").path("jobId", &id);
            drop(self.manages("deliveries", event, &[200, 404, 409]).await);
        }
        let event = of("deliveries-job.json").path("jobId", &id);
        drop(self.manages("deliveries", event, &[200, 404]).await);
    }

    /// A page of a list of the tenant.
    async fn listed(&self, tenant: &Tenant, function: &str, event: GatewayEvent) -> Option<Answer> {
        let page = self.manages(function, event, &[200]).await?;
        self.is_own(tenant, &page);
        Some(page)
    }

    /// One of the ids in a list.
    fn some_id(&self, list: &Value) -> Option<String> {
        let ids: Vec<&str> =
            list.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
        (!ids.is_empty()).then(|| (*self.random.one_of(&ids)).to_owned())
    }

    async fn retries_delivery(&self, tenant: &Tenant) {
        let event = tenant.event("deliveries-list.json").query(&[]);
        let Some(page) = self.listed(tenant, "deliveries", event).await else { return };
        let Some(id) = self.some_id(&page.json["deliveries"]) else { return };
        let event = tenant.event("deliveries-retry.json").path("deliveryId", &id);
        drop(self.manages("deliveries", event, &[200, 201, 404, 409]).await);
        let event = tenant.event("deliveries-get.json").path("deliveryId", &id);
        drop(self.manages("deliveries", event, &[200, 404]).await);
    }

    async fn retries_lead(&self, tenant: &Tenant) {
        let event = tenant.event("lead-records-list.json").query(&[]);
        let Some(page) = self.listed(tenant, "lead-records", event).await else { return };
        let Some(id) = self.some_id(&page.json["leads"]) else { return };
        let body = json!({ "maySendTwice": self.random.happens(500) });
        let event = tenant.event("lead-records-retry.json").path("requestId", &id).body(&body);
        // Most leads are not retried, and an erased one is gone.
        drop(self.manages("lead-records", event, &[200, 404, 409]).await);
    }

    async fn retries_leads(&self, tenant: &Tenant) {
        let body = json!({ "states": ["FAILED", "UNKNOWN"], "limit": 5, "maySendTwice": true });
        let event = tenant.event("lead-records-retry-page.json").body(&body);
        drop(self.manages("lead-records", event, &[200]).await);
    }

    async fn reads_logs(&self, tenant: &Tenant) {
        for (function, file) in
            [("deliveries", "deliveries-events.json"), ("access", "access-audit-log.json")]
        {
            drop(self.listed(tenant, function, tenant.event(file).query(&[])).await);
        }
    }
}
