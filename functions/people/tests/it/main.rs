//! Jobs about persons, visit by visit.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod merge;
