//! Compares `openapi.yaml`, pages and examples with the code.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod made;
mod openapi;
mod pages;
mod roles;
mod webhooks;
