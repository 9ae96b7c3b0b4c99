//! What the function works with.

use std::time::Duration;

use edge::Api;
use store::Bucket;

/// What a process of this function holds.
pub struct Messages {
    /// The frame of the API.
    pub api: Api,
    /// Where files are uploaded.
    pub bucket: Bucket,
    /// When the sweeper looks after a message whose sending nobody began.
    pub first_due: Duration,
}
