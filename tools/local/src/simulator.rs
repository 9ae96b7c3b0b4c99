//! Simulators of the external services, each on its own port on 127.0.0.1.
//!
//! Each simulator records its requests in a [`Ledger`]. It records a request after it has read the whole request and
//! before it answers, so the ledger also has requests whose answer was lost.

mod captcha;
mod certificate;
pub(crate) mod http_server;
mod ledger;
mod provider;
mod receiver;
mod whatsapp;

pub use captcha::Captcha;
pub use ledger::{Entry, Ledger};
pub use provider::{
    Answered, Call, Changed, Posted, Provider, SimulatedApp, Templates, WebhookChange, WebhookState,
};
pub use receiver::Receiver;
pub use whatsapp::Fault;
