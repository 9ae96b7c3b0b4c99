//! Webhooks: events, their deliveries to endpoints, and the lanes that process them.
//!
//! The deliveries of an endpoint's slot are in one partition, each in a **home row** under its event's moment
//! (`D#...`). The home row is put once and then overwritten in place; it is the authority on its delivery. A
//! delivery that waits for a later attempt also has a **pointer** (`R#...`), under the moment before which it
//! is not attempted. Two watermarks on the lane store how far both ranges were processed. So the work to do
//! is a key range, and only the TTL moves or deletes rows.

pub(crate) mod endpoints;
mod events;
mod jobs;
mod lane;
mod lists;
mod rows;
pub(crate) mod secrets;
mod subjects;
mod visit;

pub use endpoints::{EndpointCreated, EndpointStep, FoundEndpoint, NewEndpoint};
pub use events::{EventAbout, NewEvent, NotifyResult, RecordedEvent};
pub use jobs::{JobPage, LaneJob};
pub use lane::WebhookLane;
pub use lists::{DeliveryFilter, DeliveryPage};
pub use visit::{Record, VisitBatch};
