//! Endpoints that operators create and delete again, beside the one that every tenant has.

use std::time::Duration;

use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{EndpointSecrets, Timestamp};
use serde_json::Value;
use store::Table;
use tokio::time::Instant;

use crate::commands::Ran;
use crate::ledger::Extra;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

impl Simulation {
    /// Deletes the tenant's second endpoint, if it has one, and creates another.
    pub(crate) async fn moves_endpoint(&self, tenant: &Tenant) {
        let is_there = |extra: &&Extra| extra.created.is_some() && extra.deleted.is_none();
        let before = tenant.ledger.borrow().extras.last().filter(is_there).cloned();
        if let Some(extra) = before {
            self.delete_endpoint(tenant, &extra.id, &extra.url).await;
        }
        if self.random.happens(700) {
            self.create_endpoint(tenant).await;
        }
    }

    async fn create_endpoint(&self, tenant: &Tenant) {
        let number = tenant.ledger.borrow().extras.len();
        let url = format!("https://more{:x}.example.com/in", self.random.next());
        let api_key = format!("more-key-{}-{number}", tenant.number);
        // A receiver that does not know the secret yet accepts nothing.
        self.receivers.announce(&url, tenant.workspace, &api_key);
        let words = ["webhook", "create", "--url", &url, "--api-key", &api_key];
        match self.command_of_settings(tenant, &words).await {
            Ran::Done(made) => {
                let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
                let secrets = EndpointSecrets {
                    api_key: ReceiverKey::parse(&api_key).expect("a key"),
                    signing: SigningSecrets::only(SigningSecret::parse(&text("secret")).expect("a secret")),
                };
                self.receivers.add(&url, tenant.workspace, secrets, false);
                let created = self.now();
                let extra = Extra { id: text("endpointId"), url, created: Some(created), deleted: None };
                tenant.ledger.borrow_mut().extras.push(extra);
            }
            Ran::Refused(code) => self.breaks(format!("an endpoint is refused: {code}")),
            // Nobody has seen its secret.
            Ran::Unknown => {
                let extra = Extra { url: url.clone(), ..Extra::default() };
                tenant.ledger.borrow_mut().extras.push(extra);
                self.delete_unseen(tenant, &url).await;
            }
        }
    }

    /// Deletes the endpoint with this URL, if a command of unknown outcome created it.
    async fn delete_unseen(&self, tenant: &Tenant, url: &str) {
        loop {
            self.pause().await;
            let Ran::Done(listed) = self.command(tenant, &["webhook", "list"]).await else { continue };
            let mut listed = listed.as_array().into_iter().flatten();
            if let Some(id) = listed.find(|one| one["url"] == url).and_then(|one| one["endpointId"].as_str())
            {
                self.delete_endpoint(tenant, id, url).await;
            }
            return;
        }
    }

    async fn delete_endpoint(&self, tenant: &Tenant, id: &str, url: &str) {
        let words = ["webhook", "delete", "--endpoint", id];
        while !matches!(self.command_of_settings(tenant, &words).await, Ran::Done(_)) {
            self.pause().await;
        }
        let mut ledger = tenant.ledger.borrow_mut();
        for extra in ledger.extras.iter_mut().filter(|extra| extra.url == url) {
            extra.deleted = Some(Instant::now());
        }
    }

    /// An endpoint that is there got every event since its creation, and one that was deleted gets none.
    pub(crate) fn check_extras(&self, tenant: &Tenant) {
        let extras = tenant.ledger.borrow().extras.clone();
        let events = self.world.db.rows_from(Table::Webhooks, "V");
        for Extra { id, url, created, deleted } in extras {
            match (deleted, created) {
                (Some(deleted), _) => {
                    for post in self.receivers.posts().iter().filter(|post| post.url == url) {
                        if post.begun > deleted {
                            self.breaks(format!("a post to the deleted endpoint {id}: {post:?}"));
                        }
                    }
                }
                (None, Some(created)) => {
                    let got: Vec<String> =
                        self.receivers.acknowledged(&url).into_iter().map(|event| event.id).collect();
                    let later = created.plus(Duration::from_millis(2 * self.faults.levels.skew + 1_000));
                    for row in &events {
                        let Some((event, at)) = event_of(row, tenant) else { continue };
                        if at > later && !got.contains(&event) {
                            self.breaks(format!("endpoint {id} did not get event {event} of {at}"));
                        }
                    }
                }
                // It was never created, or its operator found it and deleted it.
                (None, None) => {}
            }
        }
    }
}

/// The id and the moment of a tenant's event, unless it is a test of one endpoint.
fn event_of(row: &Value, tenant: &Tenant) -> Option<(String, Timestamp)> {
    if row["eventType"]["S"] == "webhook.test" {
        return None;
    }
    let id = row["pk"]["S"].as_str()?.strip_prefix(&format!("{}#V#", tenant.workspace))?;
    let at = Timestamp::from_millis(row["at"]["N"].as_str()?.parse().ok()?);
    Some((id.to_owned(), at))
}
