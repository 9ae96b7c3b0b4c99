//! The provider's webhook: everything that customers do, and what becomes of sent messages.
//!
//! ```text
//! GET  -> verify token -> challenge
//! POST -> signature of the raw bytes -> pieces -> queue -> 200
//! ```
//!
//! It answers 200 only when the queue holds every piece of the webhook. `inbox` processes the pieces. The
//! provider repeats a webhook that got another answer, or none in time, for seven days.

mod apps;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{ProviderApp, error_chain};
use edge::provider::{WebhookAnswer, WebhookRequest};
use futures::future::join;
use provider::webhook::{NotAWebhook, Piece, pieces};
use queue::{Inbound, InboundQueue};
use runtime::Metrics;
use runtime::metrics::Received;
use store::Store;
use tokio::time::timeout;

pub use apps::Apps;

/// The function's dependencies.
pub struct ProviderEvents {
    /// The tables.
    pub store: Store,
    /// What this process knows of the provider's apps.
    pub apps: Apps,
    /// The queue of `inbox`.
    pub queue: InboundQueue,
    /// The time limit of a request. It is below the function's time-out (template.yaml).
    pub longest: Duration,
    /// Counts webhooks.
    pub metrics: Metrics,
}

/// The default of [`ProviderEvents::longest`].
pub const LONGEST: Duration = Duration::from_secs(9);

impl ProviderEvents {
    /// Handles one request to the webhook's URL.
    pub async fn handle(&self, request: &WebhookRequest) -> WebhookAnswer {
        let answer = async {
            // The futures are boxed. Otherwise the compiler would build one very deep type.
            match request.method() {
                "GET" => Box::pin(self.verify(request)).await,
                _ => Box::pin(self.receive(request)).await,
            }
        };
        timeout(self.longest, answer).await.unwrap_or_else(|_| {
            tracing::error!("the webhook took too long");
            WebhookAnswer::failed()
        })
    }

    /// Answers the question with which the provider verifies the URL.
    async fn verify(&self, request: &WebhookRequest) -> WebhookAnswer {
        let Some((id, verification)) = request.app().zip(request.verification()) else {
            return WebhookAnswer::refused();
        };
        let verifies = |app: &ProviderApp| app.is_verified_by(&verification.token);
        match self.apps.find(&self.store, &id, verifies).await {
            Ok(Some(_)) => {
                tracing::info!(app = id.as_str(), "webhook verified");
                WebhookAnswer::verified(verification)
            }
            Ok(None) => WebhookAnswer::refused(),
            Err(error) => {
                tracing::error!(cause = error_chain(&error), "apps not read");
                WebhookAnswer::failed()
            }
        }
    }

    async fn receive(&self, request: &WebhookRequest) -> WebhookAnswer {
        let counted = Received::default();
        let answer = self.accept(request, &counted).await;
        if answer.status() == 403 {
            counted.webhooks_refused.add(1);
        }
        self.metrics.put((), &counted);
        answer
    }

    async fn accept(&self, request: &WebhookRequest, counted: &Received) -> WebhookAnswer {
        let (Some(id), Some(signature), Some(body)) = (request.app(), request.signature(), request.body())
        else {
            return WebhookAnswer::refused();
        };
        let now = self.store.now();
        let app = match self.apps.find(&self.store, &id, |app| app.has_signed(&body, signature, now)).await {
            Ok(Some(app)) => app,
            Ok(None) => return WebhookAnswer::refused(),
            Err(error) => {
                tracing::error!(cause = error_chain(&error), "apps not read");
                return WebhookAnswer::failed();
            }
        };
        let Ok(pieces) = self.divide(&app, &body) else {
            // The same bytes would be as unreadable again, so the provider must not repeat them.
            tracing::error!(app = id.as_str(), bytes = body.len(), "signed bytes are no webhook");
            counted.webhooks_unreadable.add(1);
            return WebhookAnswer::received();
        };
        let (sent, ()) = join(self.queue.send(&pieces), self.apps.refresh(&self.store)).await;
        match sent {
            Ok(()) => {
                tracing::info!(app = id.as_str(), pieces = pieces.len(), "webhook received");
                counted.webhooks_received.add(1);
                WebhookAnswer::received()
            }
            Err(error) => {
                tracing::error!(app = id.as_str(), cause = error_chain(&error), "webhook not queued");
                WebhookAnswer::failed()
            }
        }
    }

    fn divide(&self, app: &ProviderApp, body: &[u8]) -> Result<Vec<Inbound>, NotAWebhook> {
        let received_at = self.store.now();
        let inbound = |Piece { account, field, value }| Inbound {
            app: app.id.clone(),
            workspace: app.workspace,
            received_at,
            account,
            field,
            value,
            files_since: BTreeMap::new(),
        };
        Ok(pieces(body)?.into_iter().map(inbound).collect())
    }
}
