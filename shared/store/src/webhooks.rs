//! Webhooks: events, their deliveries to endpoints, and the lanes by which these are worked off.
//!
//! The deliveries of an endpoint's slot stand in one partition, each in a **home row** under its event's moment
//! (`D#...`), which is put once and from then on overwritten in place: it is the authority on its delivery. What waits
//! for a later attempt has a **pointer** as well (`R#...`), under the moment before which it is not attempted. Two
//! watermarks on the lane say how far both ranges were worked through, so that what is to be done is a key range, and no
//! row is ever moved or deleted but by its TTL.

pub(crate) mod endpoints;
mod events;
mod jobs;
mod lane;
mod lists;
mod rows;
pub(crate) mod secrets;
mod visit;

pub use events::{NewEvent, RecordedEvent, Told};
pub use jobs::{JobPage, LaneJob};
pub use lane::{FreshKey, Pointer, WebhookLane};
pub use lists::{DeliveryFilter, DeliveryPage};
pub use visit::{Record, VisitBatch};
