//! The model checked within bounds, by kind of lane.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the output of the checker is useful")]

mod common;
mod conversations;
mod leads;
mod persons;
mod webhooks;
