//! Support for the tests of the store and of the functions: an embedded DynamoDB with the tables of `template.yaml`, a
//! clock that the test sets, ids that count up, and the example events in `events/`.
//!
//! ```ignore
//! let db = TestDb::start().await;
//! db.store().create_contact(&contact, "request-1").await?;
//! assert_eq!(trips(&db.calls()), 1);
//! ```

mod bucket;
mod chain;
mod choices;
mod db;
mod failures;
mod fault;
mod fixtures;
mod frozen;
mod gateway;
mod invocation;
mod pipe;
mod provider;
mod queue;
mod recorded;
mod recording_provider;
mod rights;
mod routes;
mod safeguards;
mod simulated;
mod stand_ins;
mod stencil;
mod template;
mod turns;
mod wire;
mod world;

pub use bucket::TestBucket;
pub use choices::OptedOut;
pub use db::{RowReader, StreamPlace, StreamReader, TestDb};
pub use failures::TestFailures;
pub use fault::{Death, Fault};
pub use fixtures::{fixture, fixture_text, queue_fixture};
pub use gateway::{Answer, GatewayEvent};
pub use invocation::{context, failed_messages, queue_event, sqs_event, sqs_event_again};
pub use pipe::Pipe;
pub use provider::{ACCEPTED, Called, NO_ANSWER, Reaction, TestProvider, answered};
pub use queue::{Queued, TestQueue};
pub use recording_provider::{RecordedCall, RecordingProvider, call_outcomes};
pub use routes::{assert_described, assert_routed};
pub use stand_ins::{TestClock, TestIds};
pub use stencil::Stencil;
pub use template::relay_gives_up;
pub use turns::{After, Turn, Turns};
pub use wire::{Call, trips};
pub use world::{World, operator};
