//! What strangers send, as targets for a fuzzer. A target gets any bytes and panics if a rule is broken.
//!
//! The tests of this package run every target over its files in `corpus/`. `make fuzz` builds `engine/`, which runs them
//! under libFuzzer. `docs/reliability.md` lists the targets with what they check.

#![allow(clippy::unwrap_used, reason = "a target that cannot continue has found something")]

pub mod api;
pub mod api_keys;
pub mod bodies;
pub mod cursors;
pub mod files;
pub mod imports;
pub mod leads;
pub mod management;
pub mod phones;
pub mod provider_requests;
pub mod provider_webhooks;
pub mod request;
pub mod searches;
pub mod templates;
pub mod texts;
pub mod times;
pub mod urls;

/// A target: its name, and the function that gets the bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 16] = [
    ("api", api::run),
    ("api_keys", api_keys::run),
    ("bodies", bodies::run),
    ("cursors", cursors::run),
    ("files", files::run),
    ("imports", imports::run),
    ("leads", leads::run),
    ("management", management::run),
    ("phones", phones::run),
    ("provider_requests", provider_requests::run),
    ("provider_webhooks", provider_webhooks::run),
    ("searches", searches::run),
    ("templates", templates::run),
    ("texts", texts::run),
    ("times", times::run),
    ("urls", urls::run),
];
