//! In-process tests of this function: the states of a delivery, and the transport to a receiver.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod chains;
mod cost;
mod crash_recovery;
mod delivery_life;
mod disabled_workspace;
mod https;
mod infrastructure_failures;
mod isolation;
mod jobs;
mod late_arrivals;
mod order;
mod pace;
mod random_histories;
mod reactions;
mod receiver;
mod ssrf;
mod usage;
mod world;
