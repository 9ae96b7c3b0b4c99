//! Stand-ins for the outside world, each on a port of its own on 127.0.0.1.
//!
//! Each keeps a [`Ledger`] of what it was sent: written when a request has been read whole and before it is
//! answered, so that a request whose answer got lost is on record too.

mod captcha;
mod certificate;
pub(crate) mod http_server;
mod ledger;
mod provider;
mod receiver;
mod whatsapp;

pub use captcha::Captcha;
pub use ledger::{Entry, Ledger};
pub use provider::{Answered, Call, Provider};
pub use receiver::Receiver;
