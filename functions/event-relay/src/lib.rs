//! Turns committed changes into events, deliveries and queue messages.
//!
//! ```text
//! stream record -> change -> which endpoints? -> deliveries, then their event -> their lanes -> queue messages
//!               -> a message to send, an onboarding plan, a lead to contact -> a message for its lane
//!               -> a file that no message referred to in time -> its bytes are deleted
//! ```
//!
//! The function writes the deliveries first and their event after them, so a recorded event has all its deliveries.
//! Then it adds the deliveries to their lanes, and then it queues the lanes. If the process dies in between, the
//! stream repeats the record and the function continues from there: it recognises recorded events by their derived
//! ids, and it adds the deliveries to their lanes again, which changes nothing. Queues only make visits earlier: a
//! lane with work is in a due index.
//!
//! A failure does not stop the rest of the batch. The answer names the failed records to Lambda, which continues from
//! the first of them. Before that, the function tries the failed ones again itself, for [`Relay::waits`]: Lambda documents
//! no pause between its tries, so that many of them may pass in a minute. If Lambda would not understand such an answer ([`Relay::partial`]), the function returns an
//! error for the whole batch. The order between records does not matter: each event carries its change's whole
//! outcome, and deliveries may overtake each other.
//!
//! Once an hour, the function relays what Lambda gave up ([`Redriver`]).

mod batch;
mod body;
mod change;
mod derive;
mod events;
mod platform;
mod redrive;
mod relay;
mod settings;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use aws_lambda_events::streams::DynamoDbEventResponse;

pub use batch::NotRelayed;
pub use derive::{Derived, NotDerived, derive};
pub use redrive::{Redriven, Redriver, oldest_first, redrive};
pub use relay::Relay;

impl Relay {
    /// Relays a batch of stream records. A repeated record has no further effect.
    pub async fn handle(&self, event: StreamEvent) -> Result<DynamoDbEventResponse, NotRelayed> {
        batch::relay(self, &event.records).await
    }
}
