//! A tenant's developer makes, changes and deletes webhook endpoints by the management API.

use std::rc::Rc;

use domain::webhook::SigningSecret;
use harness::{Answer, GatewayEvent};
use serde_json::{Value, json};
use store::Table;
use tokio::time::Instant;

use crate::ledger::Hook;
use crate::random::Random;
use crate::rows::text;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

/// Most endpoints of a tenant that are there at the same time, beside those of others.
const MOST: usize = 3;

impl Simulation {
    /// Starts those who manage the tenants' workspaces. `random` decides how much they do.
    pub(crate) fn start_management(self: &Rc<Self>, random: &Random) {
        for tenant in 0..self.tenants.len() {
            let (this, steps) = (self.clone(), random.within(3, 9));
            self.spawn("client", async move { this.manages_access(&this.tenants[tenant], steps).await });
            let (this, steps) = (self.clone(), random.within(3, 9));
            self.spawn("client", async move { this.manages_hooks(&this.tenants[tenant], steps).await });
            let (this, steps) = (self.clone(), random.within(1, 5));
            self.spawn("client", async move { this.delivers_again(&this.tenants[tenant], steps).await });
        }
    }

    async fn manages_hooks(&self, tenant: &Tenant, steps: u64) {
        for _ in 0..steps {
            self.pause().await;
            let of = self.some_hook(tenant);
            match (of, self.random.below(12)) {
                (None, _) | (_, 0) => self.makes_hook(tenant).await,
                (Some(hook), 1..4) => self.changes_hook(tenant, &hook).await,
                (Some(hook), 4..7) => self.switches_hook(tenant, &hook).await,
                (Some(hook), 7..9) => self.rotates(tenant, &hook).await,
                (Some(hook), 9) => self.activates(tenant, &hook).await,
                (Some(hook), 10) => self.tests_hook(tenant, &hook).await,
                (Some(hook), _) => self.deletes_hook(tenant, &hook.id).await,
            }
        }
    }

    /// One of the tenant's endpoints that it made by the API and that is there.
    pub(crate) fn some_hook(&self, tenant: &Tenant) -> Option<Hook> {
        let ledger = tenant.ledger.borrow();
        let present: Vec<&Hook> = ledger.hooks.iter().filter(|hook| hook.deleted.is_none()).collect();
        (!present.is_empty()).then(|| (*self.random.one_of(&present)).clone())
    }

    /// Changes what the tenant knows about an endpoint.
    fn notes(tenant: &Tenant, id: &str, change: impl Fn(&mut Hook)) {
        tenant.ledger.borrow_mut().hooks.iter_mut().filter(|hook| hook.id == id).for_each(change);
    }

    /// Sends a request that must have one of these answers, if it has one.
    pub(crate) async fn manages(
        &self,
        function: &str,
        event: GatewayEvent,
        expected: &[u16],
    ) -> Option<Answer> {
        let what = event.json()["resource"].clone();
        let answer = self.persists(function, event, false).await?;
        if !expected.contains(&answer.status) {
            self.breaks(format!("{what} is answered: {} {}", answer.status, answer.text));
        }
        (answer.status < 300).then_some(answer)
    }

    fn of_hook(tenant: &Tenant, file: &str, id: &str) -> GatewayEvent {
        tenant.event(file).path("endpointId", id)
    }

    async fn makes_hook(&self, tenant: &Tenant) {
        let is_there = |hook: &&Hook| hook.deleted.is_none();
        if tenant.ledger.borrow().hooks.iter().filter(is_there).count() >= MOST {
            return;
        }
        let url = format!("https://hook{:x}.example.com/in", self.random.next());
        let key = format!("hook-key-{:x}", self.random.next());
        // A receiver that does not know the secret yet accepts nothing.
        self.receivers.announce(&url, tenant.workspace, &key);
        let body = json!({ "url": url, "receiverKey": key });
        let event = self.keyed(tenant.event("endpoints-create.json").body(&body));
        tenant.ledger.borrow_mut().may_change_workspace();
        let made = self.manages("endpoints", event.clone(), &[201]).await;
        let Some(made) = made else { return self.deletes_unseen(tenant, &url).await };
        let id = made.json["id"].as_str().unwrap_or_default().to_owned();
        if self.random.happens(250)
            && let Some(again) = self.manages("endpoints", event, &[201]).await
            && (again.json["id"] != id.as_str() || !again.json["signingSecret"].is_null())
        {
            self.breaks(format!("a repeat makes or shows an endpoint: {}", again.text));
        }
        let hook = Hook { id, urls: vec![url.clone()], deleted: None, knows_next: false };
        tenant.ledger.borrow_mut().hooks.push(hook.clone());
        match made.json["signingSecret"].as_str() {
            Some(secret) => self.receivers.tell(&url, SigningSecret::parse(secret).expect("a secret")),
            // The answer with the secret was lost.
            None => self.deletes_hook(tenant, &hook.id).await,
        }
    }

    /// Deletes the endpoint with this URL, if a request of unknown outcome made it.
    async fn deletes_unseen(&self, tenant: &Tenant, url: &str) {
        loop {
            self.pause().await;
            let event = tenant.event("endpoints-list.json");
            let Some(listed) = self.manages("endpoints", event, &[200]).await else { continue };
            let mut listed = listed.json["webhookEndpoints"].as_array().into_iter().flatten();
            if let Some(id) = listed.find(|one| one["url"] == url).and_then(|one| one["id"].as_str()) {
                self.deletes_hook(tenant, id).await;
            }
            return;
        }
    }

    async fn deletes_hook(&self, tenant: &Tenant, id: &str) {
        while self
            .manages("endpoints", Self::of_hook(tenant, "endpoints-delete.json", id), &[204])
            .await
            .is_none()
        {
            self.pause().await;
        }
        Self::notes(tenant, id, |hook| hook.deleted = Some(Instant::now()));
    }

    async fn changes_hook(&self, tenant: &Tenant, hook: &Hook) {
        let present = hook.urls.last().map(String::as_str).unwrap_or_default();
        let body = match self.random.below(4) {
            0 => json!({ "description": format!("hook {:x}", self.random.next()) }),
            1 => {
                json!({ "maxConcurrency": self.random.within(1, 9), "events": ["contact.created", "message.created"] })
            }
            2 => {
                let key = format!("hook-key-{:x}", self.random.next());
                hook.urls.iter().for_each(|url| self.receivers.accept(url, &key));
                json!({ "receiverKey": key, "events": ["*"] })
            }
            _ => {
                let url = format!("https://hook{:x}.example.com/in", self.random.next());
                self.receivers.move_to(present, &url);
                Self::notes(tenant, &hook.id, |hook| hook.urls.push(url.clone()));
                json!({ "url": url })
            }
        };
        let event = Self::of_hook(tenant, "endpoints-update.json", &hook.id).body(&body);
        drop(self.manages("endpoints", event, &[200]).await);
    }

    /// Disables an endpoint, and mostly enables it some time later.
    async fn switches_hook(&self, tenant: &Tenant, hook: &Hook) {
        let disable = Self::of_hook(tenant, "endpoints-disable.json", &hook.id);
        drop(self.manages("endpoints", disable, &[200]).await);
        self.pause().await;
        if self.random.happens(800) {
            let enable = Self::of_hook(tenant, "endpoints-enable.json", &hook.id);
            drop(self.manages("endpoints", enable, &[200]).await);
        }
    }

    /// The first phase of a rotation. It is repeated until the tenant knows the next secret.
    async fn rotates(&self, tenant: &Tenant, hook: &Hook) {
        Self::notes(tenant, &hook.id, |hook| hook.knows_next = false);
        let event = Self::of_hook(tenant, "endpoints-rotate-secret.json", &hook.id);
        let event = event.header("content-type", "application/json").body(&json!({ "replace": true }));
        // The previous secret may still sign.
        let Some(answer) = self.manages("endpoints", event, &[200, 409]).await else { return };
        let secret = answer.json["signingSecret"].as_str().unwrap_or_default();
        let secret = SigningSecret::parse(secret).expect("a secret");
        hook.urls.iter().for_each(|url| self.receivers.tell(url, secret.clone()));
        Self::notes(tenant, &hook.id, |hook| hook.knows_next = true);
    }

    /// The second phase, only of a secret that the tenant knows.
    async fn activates(&self, tenant: &Tenant, hook: &Hook) {
        if hook.knows_next {
            let event = Self::of_hook(tenant, "endpoints-activate-secret.json", &hook.id);
            drop(self.manages("endpoints", event, &[200, 409]).await);
        }
    }

    async fn tests_hook(&self, tenant: &Tenant, hook: &Hook) {
        let event = Self::of_hook(tenant, "deliveries-test.json", &hook.id);
        // It may be disabled.
        drop(self.manages("deliveries", event, &[201, 409]).await);
    }

    /// Nothing is posted for an endpoint that was deleted. No job is left of one that gets deliveries, and none of its deliveries
    /// waits.
    pub(crate) fn check_hooks(&self, tenant: &Tenant) {
        let hooks = tenant.ledger.borrow().hooks.clone();
        for hook in hooks.iter().filter(|hook| hook.deleted.is_some()) {
            for post in self.receivers.posts().iter().filter(|post| hook.urls.contains(&post.url)) {
                if hook.deleted.is_some_and(|deleted| post.begun > deleted) {
                    self.breaks(format!("a post to the deleted endpoint {}: {post:?}", hook.id));
                }
            }
        }
        let rows = self.world.db.rows(Table::Webhooks);
        for endpoint in self.world.db.rows_of(Table::Workspaces, "endpoint") {
            if text(&endpoint["workspaceId"]) != Some(&tenant.workspace.to_string()) {
                continue;
            }
            let id = text(&endpoint["id"]).unwrap_or_default();
            let slot = format!("{}#E#{id}#", tenant.workspace);
            let waits = |row: &&Value| {
                let (kind, state) = (text(&row["kind"]), text(&row["state"]));
                text(&row["pk"]).is_some_and(|pk| pk.starts_with(&slot))
                    && [(Some("delivery"), Some("PENDING")), (Some("job"), Some("ACTIVE"))]
                        .contains(&(kind, state))
            };
            let waiting = rows.iter().find(waits);
            if let Some(row) = waiting.filter(|_| text(&endpoint["state"]) == Some("ENABLED")) {
                self.breaks(format!("endpoint {id} is enabled and something waits at rest: {row}"));
            }
        }
        let is_missing =
            |hook: &&Hook| hook.deleted.is_none() && text(&self.row_of(tenant, &hook.id)["id"]).is_none();
        if let Some(hook) = hooks.iter().find(is_missing) {
            self.breaks(format!("the endpoint {} was made and is not there", hook.id));
        }
    }

    fn row_of(&self, tenant: &Tenant, endpoint: &str) -> Value {
        self.world.db.row(Table::Workspaces, &format!("{}#H", tenant.workspace), endpoint)
    }
}
