//! The operator, who disables and enables what tenants have.

use std::rc::Rc;
use std::time::Duration;

use domain::webhook::DisabledReason;
use domain::{Ids, Job, JobId, JobKind, WebhookEndpoint};
use tokio::time::sleep;

use crate::simulation::Simulation;
use crate::tenant::Tenant;
use crate::times::RESCUE;

impl Simulation {
    /// Starts the operator of each tenant, if the world has one.
    pub(crate) fn start_operators(self: &Rc<Self>) {
        for tenant in 0..self.tenants.len() {
            let steps = if self.tenants[tenant].is_switched { self.random.below(3) } else { 0 };
            let this = self.clone();
            self.spawn("client", async move {
                for _ in 0..steps {
                    this.pause().await;
                    this.disable(&this.tenants[tenant]).await;
                    this.pause().await;
                    this.enable(&this.tenants[tenant]).await;
                }
            });
        }
    }

    /// Disables the tenant's endpoint.
    async fn disable(&self, tenant: &Tenant) {
        let now = self.now();
        self.change(tenant, |found| found.disabled(DisabledReason::Operator, now)).await;
    }

    /// Enables the tenant's endpoint, if it is disabled, and lets it have what waits.
    pub(crate) async fn enable(&self, tenant: &Tenant) {
        let now = self.now();
        let Some(enabled) = self.change(tenant, |found| found.enabled(now)).await else { return };
        let id = JobId::from_uuid(self.world.db.ids().next());
        for slot in enabled.all_slots() {
            let job = Job::new(id, slot, JobKind::Enable, self.now());
            let asked = self.world.db.store().request_job(&job, RESCUE).await;
            assert!(asked.expect("a job").0, "the job is new");
        }
    }

    /// Changes the tenant's endpoint. Functions may change it at the same time.
    async fn change(
        &self,
        tenant: &Tenant,
        change: impl Fn(&WebhookEndpoint) -> Option<WebhookEndpoint>,
    ) -> Option<WebhookEndpoint> {
        loop {
            self.sync();
            let store = self.world.db.store();
            let found = store.endpoint(tenant.workspace, tenant.endpoint).await.expect("a read");
            let next = change(&found.expect("an endpoint"))?;
            if store.replace_endpoint(&next).await.expect("a write") {
                self.trace.note(format_args!("the operator makes {} {:?}", tenant.url, next.state));
                return Some(next);
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}
