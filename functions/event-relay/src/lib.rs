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

mod batch;
mod body;
mod change;
mod events;
mod relay;
mod settings;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::streams::DynamoDbEventResponse;

pub use batch::NotRelayed;
pub use relay::Relay;

impl Relay {
    /// Relays a batch of stream records. Whatever comes again does no harm.
    pub async fn handle(&self, event: StreamEvent) -> Result<DynamoDbEventResponse, NotRelayed> {
        batch::relay(self, &event.records).await
    }
}
