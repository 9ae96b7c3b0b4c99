//! What a function is started with: settings from the environment, SDK clients, the clock, ids, logs.
//!
//! The only room that reads the environment. Everything here is made once, at start, and passed in.

pub mod aws;
pub mod settings;
pub mod system;
pub mod telemetry;

pub use settings::{SettingError, Settings};
pub use system::{RandomIds, SystemClock};
