//! Turns committed changes into events, deliveries and queue messages.
//!
//! ```text
//! stream record -> change -> who wants it? -> deliveries, then their event -> their lanes are told -> one message a lane
//!               -> a message to be sent, an onboarding plan, a lead to be written to -> a message for its lane
//!               -> a file that no message referred to in time -> its bytes are deleted
//! ```
//!
//! An event stands once all its deliveries do: they are written first. A lane is told of deliveries that stand, and a
//! message names a lane that was told. So whoever dies on the way leaves a record that comes again and goes on from
//! there: events that stand are recognised by their derived ids, and their lanes are told again, which does no harm.
//! Queues only accelerate: a lane that was told stands in a due index.
//!
//! Everything that can be done for a batch is done, whatever fails beside it. The records that failed are then named to
//! Lambda, which goes on from the first of them; where it would not understand that ([`Relay::partial`]), the whole
//! batch is refused. Order between records does not matter: each event carries its change's whole outcome, and
//! deliveries may overtake each other anyway.

mod body;
mod change;
mod events;
mod relay;
mod settings;

use std::time::Duration;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::streams::DynamoDbEventResponse;
use queue::Queues;
use runtime::Metrics;
use store::{Bucket, Store};

pub use relay::NotRelayed;

/// Everything this function works with.
pub struct Relay {
    /// The tables.
    pub store: Store,
    /// Where lanes are queued, of all kinds.
    pub queues: Queues,
    /// Where the bytes of files are.
    pub bucket: Bucket,
    /// How long after it was told the sweeper looks after a webhook lane whose message was lost.
    pub rescue: Duration,
    /// Whether the answer names the records that failed. Otherwise an error brings the whole batch again: the local
    /// emulator ignores what an answer names, and the console has nobody to name it to.
    pub partial: bool,
    /// What became of changes is counted here.
    pub metrics: Metrics,
}

impl Relay {
    /// Relays a batch of stream records. Whatever comes again does no harm.
    pub async fn handle(&self, event: StreamEvent) -> Result<DynamoDbEventResponse, NotRelayed> {
        relay::relay(self, &event.records).await
    }
}
