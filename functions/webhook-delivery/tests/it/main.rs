//! This function in process: the life of a delivery, and what can happen on the way to a receiver.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deliver;
mod gate;
mod https;
mod receiver;
mod ssrf;
