//! The provider's webhook: everything that customers do, and what becomes of sent messages.
//!
//! ```text
//! GET  -> verify token -> challenge
//! POST -> signature of the raw bytes -> pieces -> queue -> 200
//!                                    '-> what cannot be read -> quarantine
//! ```
//!
//! It answers 200 only when every piece of the webhook is on the queue or in quarantine. `inbox` processes the pieces. The
//! provider repeats a webhook that got another answer, or none in time, for seven days.

mod apps;

use std::time::Duration;

use domain::inbound::quarantine::QuarantineReason;
use domain::{ProviderApp, Timestamp, error_chain};
use edge::provider::{WebhookAnswer, WebhookRequest};
use futures::future::{join3, try_join_all};
use provider::webhook::{Division, Piece, divide};
use queue::{Inbound, InboundQueue};
use runtime::Metrics;
use runtime::metrics::Received;
use store::{FailureBucket, Store, StoreError};
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
    /// The bucket for what cannot be read or queued.
    pub failures: FailureBucket,
    /// The time limit of a request. It is below the function's time-out (template.yaml).
    pub longest: Duration,
    /// Counts webhooks.
    pub metrics: Metrics,
}

/// The default of [`ProviderEvents::longest`].
pub const LONGEST: Duration = Duration::from_secs(9);
/// The greatest number of objects that one webhook makes in quarantine. One with more odd items is kept as a whole.
const MOST_OBJECTS: usize = 10;

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
        let Ok(Division { pieces, odd }) = divide(&body) else {
            // A repeat would be the same, so the provider must not repeat it.
            tracing::error!(app = id.as_str(), bytes = body.len(), "a signed webhook of another product");
            counted.webhooks_unreadable.add(1);
            return WebhookAnswer::received();
        };
        let odd = if odd.len() > MOST_OBJECTS { vec![body.to_vec()] } else { odd };
        match self.keep(&app, now, &pieces, odd).await {
            Ok(()) => {
                tracing::info!(app = id.as_str(), pieces = pieces.len(), "webhook received");
                counted.webhooks_received.add(1);
                WebhookAnswer::received()
            }
            Err(cause) => {
                tracing::error!(app = id.as_str(), cause, "webhook not kept");
                WebhookAnswer::failed()
            }
        }
    }

    /// Queues the pieces. Puts into quarantine what cannot be read, and what the queue refuses.
    async fn keep(
        &self,
        app: &ProviderApp,
        at: Timestamp,
        pieces: &[Piece],
        odd: Vec<Vec<u8>>,
    ) -> Result<(), String> {
        let inbound: Vec<Inbound> = pieces.iter().map(|piece| queued(app, at, piece)).collect();
        let (sent, kept, ()) = join3(
            self.queue.send(&inbound),
            self.quarantine(app, at, QuarantineReason::Unreadable, odd),
            self.apps.refresh(&self.store),
        )
        .await;
        kept.map_err(|error| error_chain(&error))?;
        // A piece with one refused item is sent again item by item.
        let refused = sent.map_err(|error| error_chain(&error))?;
        let refused = refused.into_iter().filter_map(|number| pieces.get(number));
        let singles: Vec<Piece> = refused.flat_map(Piece::singles).collect();
        let of_singles: Vec<Inbound> = singles.iter().map(|piece| queued(app, at, piece)).collect();
        let refused = self.queue.send(&of_singles).await.map_err(|error| error_chain(&error))?;
        let refused = refused.into_iter().filter_map(|number| Some(singles.get(number)?.webhook()));
        let kept = self.quarantine(app, at, QuarantineReason::NotQueued, refused.collect()).await;
        kept.map_err(|error| error_chain(&error))
    }

    async fn quarantine(
        &self,
        app: &ProviderApp,
        at: Timestamp,
        reason: QuarantineReason,
        webhooks: Vec<Vec<u8>>,
    ) -> Result<(), StoreError> {
        if !webhooks.is_empty() {
            let (objects, reason) = (webhooks.len(), reason.as_str());
            tracing::error!(app = app.id.as_str(), objects, reason, "put into quarantine");
        }
        let puts = webhooks.into_iter().map(|webhook| self.failures.quarantine(&app.id, at, reason, webhook));
        try_join_all(puts).await.map(drop)
    }
}

fn queued(app: &ProviderApp, received_at: Timestamp, piece: &Piece) -> Inbound {
    let Piece { account, field, value, ranks } = piece.clone();
    Inbound::new(app, received_at, account, field, value, ranks)
}
