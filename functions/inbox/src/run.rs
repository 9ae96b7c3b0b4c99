//! The state that all steps of one invocation share.

use std::time::Duration;

use queue::InboundQueue;
use runtime::metrics::Inbox as Counts;
use store::{Bucket, Store};
use tokio::time::Instant;

use crate::files::Files;

pub(crate) struct Run<'a> {
    pub(crate) store: &'a Store,
    pub(crate) bucket: &'a Bucket,
    pub(crate) files: &'a Files,
    pub(crate) queue: &'a InboundQueue,
    pub(crate) counted: Counts,
    pub(crate) begun: Instant,
}

impl Run<'_> {
    /// How long an invocation begins further items. The last one may fetch a file ([`Files::LIMIT`]), and the function's
    /// time-out (template.yaml) is longer than both.
    const BEGINS_FOR: Duration = Duration::from_secs(20);

    /// Whether no further item should begin. The items that are left are queued again.
    pub(crate) fn is_late(&self) -> bool {
        self.begun.elapsed() > Self::BEGINS_FOR
    }
}
