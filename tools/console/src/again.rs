//! What `delivery retry`, `delivery replay` and `webhook recover` have in common.

use std::time::Duration;

use domain::{DeliveryId, Timestamp, WebhookEndpoint};
use queue::{DeliveryTask, Wake};
use store::{Again, AgainPage, Span};

use crate::output::Output;
use crate::{Console, Refusal};

/// When the sweeper looks after a delivery whose queue message was lost.
pub(crate) const FIRST_DUE: Duration = Duration::from_secs(120);

/// How far back deliveries are made again.
const FURTHEST: Duration = Duration::from_secs(14 * 86_400);

/// The furthest moment from which on deliveries are made again.
pub(crate) fn furthest(now: Timestamp) -> Timestamp {
    now.minus(FURTHEST)
}

/// The span of a command that names these moments.
pub(crate) fn span(since: Timestamp, until: Option<Timestamp>, now: Timestamp) -> Result<Span, Refusal> {
    let until = until.unwrap_or(now).min(now);
    if since < furthest(now) {
        Err(Refusal::Range("deliveries are made again at most 14 days back"))
    } else if until <= since {
        Err(Refusal::Range("it ends before it begins"))
    } else {
        Ok(Span { since, until })
    }
}

/// What became of deliveries that were asked for again.
#[derive(Default)]
pub(crate) struct Counts {
    /// To be attempted at once.
    pub(crate) due: usize,
    /// Done before, or changed meanwhile.
    pub(crate) already: usize,
    /// Passed over, as a worker is at them.
    pub(crate) attempted: usize,
    /// Passed over, as they are no more.
    pub(crate) gone: usize,
    /// Left to the sweeper, as the queue did not take them.
    pub(crate) unqueued: usize,
}

impl Counts {
    /// Queues what is due of a page and counts the page.
    pub(crate) async fn add(&mut self, console: &Console, endpoint: &WebhookEndpoint, page: &AgainPage) {
        let mut due = vec![];
        for (delivery, again) in &page.deliveries {
            match again {
                Again::Due => due.push(*delivery),
                Again::Already => self.already += 1,
                Again::Attempted => self.attempted += 1,
                Again::Gone => self.gone += 1,
            }
        }
        self.due += due.len();
        self.unqueued += wake(console, endpoint, &due).await;
    }

    /// Says what people should know besides.
    pub(crate) fn remark(&self, output: &mut Output<'_>) -> Result<(), Refusal> {
        if self.unqueued == 0 {
            return Ok(());
        }
        let sentence = format!(
            "The queue did not take {} of the deliveries: they are made within three minutes.",
            self.unqueued
        );
        output.remark(&sentence)
    }
}

/// Queues deliveries of an endpoint; how many the queue did not take, which the sweeper brings.
pub(crate) async fn wake(console: &Console, endpoint: &WebhookEndpoint, deliveries: &[DeliveryId]) -> usize {
    if deliveries.is_empty() {
        return 0;
    }
    let wakes: Vec<Wake<DeliveryTask>> = deliveries
        .iter()
        .map(|delivery_id| {
            let task = DeliveryTask { workspace_id: endpoint.workspace_id, delivery_id: *delivery_id };
            Wake { task, group: *endpoint.id.as_uuid(), after: Duration::ZERO }
        })
        .collect();
    match console.beside.deliveries().await {
        Err(_) => wakes.len(),
        Ok(queue) => queue.enqueue(&wakes).await.err().map_or(0, |left| left.tasks.len()),
    }
}
