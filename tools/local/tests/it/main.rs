//! The simulators, the landing page and the command `local run`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod landing;
mod provider_webhooks;
mod run;
mod simulators;
mod templates;
