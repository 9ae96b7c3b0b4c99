//! Turns committed changes into events, deliveries and queue messages.
//!
//! ```text
//! stream record -> change -> who wants it? -> { event, deliveries } in one transaction -> queue
//!               -> a message to be sent, an onboarding plan -> the queue of conversations
//!               -> a lead that is to be written to -> the queue of leads
//!               -> a file that no message referred to in time -> its bytes are deleted
//! ```
//!
//! A batch that could not be relayed whole is refused whole, **after** everything that could be done was done:
//! the stream then brings it again, and what was recorded is recognised by its derived ids. (On AWS a batch that
//! fails is halved until the record at fault stands alone; the local emulator knows no other answer than this
//! one.) Order between records does not matter: each event carries its change's whole outcome, and deliveries may
//! overtake each other anyway.

mod change;
mod relay;

use std::time::Duration;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use queue::{DeliveryQueue, LeadQueue, SendQueue};
use runtime::Metrics;
use store::{Bucket, Store};

pub use relay::NotRelayed;

/// Everything this function works with.
pub struct Relay {
    /// The tables.
    pub store: Store,
    /// Where deliveries are queued.
    pub deliveries: DeliveryQueue,
    /// Where conversations are queued in which something is to be sent.
    pub sends: SendQueue,
    /// Where leads are queued that are to be written to.
    pub leads: LeadQueue,
    /// Where the bytes of files are.
    pub bucket: Bucket,
    /// How long after its event a delivery whose message was lost is taken up by the sweeper.
    pub first_due: Duration,
    /// What became of changes is counted here.
    pub metrics: Metrics,
}

impl Relay {
    /// Relays a batch of stream records. An error brings all of them again, which does no harm.
    pub async fn handle(&self, event: StreamEvent) -> Result<(), NotRelayed> {
        relay::relay(self, &event.records).await
    }
}
