//! Webhooks: the tenants' endpoints, the events, and the delivery of events to endpoints.

pub mod address;
mod attempt;
pub mod delivery;
mod endpoint;
mod endpoint_url;
pub mod event;
mod forward_url;
pub mod job;
mod keys;
pub mod pace;
mod progress;
mod ready;
mod secrets;
pub mod signature;

pub use attempt::{Attempt, AttemptError, AttemptOutcome};
pub use endpoint::{
    ChangeRefused, DisabledReason, EndpointChange, EndpointState, EventFilter, PARKED_FOR, Subscribers,
    WebhookEndpoint,
};
pub use endpoint_url::{EndpointUrl, Reach, TrustedReceivers, UrlRefused};
pub use forward_url::ForwardUrl;
pub use keys::{HomeKey, Pointer};
pub use progress::{LaneProgress, NextPage, Watermarks};
pub use ready::ReadyQueue;
pub use secrets::{EndpointSecrets, ReceiverKey, RotationRefused, SigningSecret, SigningSecrets};
