//! This function in process: the life of a delivery, and what can happen on the way to a receiver.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deliver;
mod history;
mod https;
mod jobs;
mod kills;
mod late;
mod pace;
mod reactions;
mod receiver;
mod ssrf;
mod town;
mod trouble;
mod units;
mod world;
