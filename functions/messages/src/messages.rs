//! The dependencies of the function.

use std::time::Duration;

use edge::Api;
use store::Bucket;

/// The dependencies of this function.
pub struct Messages {
    /// The shared request handling of the API.
    pub api: Api,
    /// The bucket to which files are uploaded.
    pub bucket: Bucket,
    /// When the sweeper queues the lane of a message that no visit has begun to send.
    pub first_due: Duration,
}
