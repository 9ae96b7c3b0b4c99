//! The state that all steps of one invocation share, and its time.

use std::time::Duration;

use queue::InboundQueue;
use runtime::metrics::Inbox as Counts;
use store::{Bucket, FailureBucket, Store};
use tokio::time::Instant;

use crate::files::Files;
use crate::reading::TemplateReader;

pub(crate) struct Invocation<'a> {
    pub(crate) store: &'a Store,
    pub(crate) bucket: &'a Bucket,
    pub(crate) files: &'a Files,
    pub(crate) templates: &'a TemplateReader,
    pub(crate) queue: &'a InboundQueue,
    pub(crate) failures: &'a FailureBucket,
    pub(crate) counted: Counts,
    pub(crate) begun: Instant,
}

impl Invocation<'_> {
    /// How long an invocation begins items, and fetches of files.
    const BEGINS_FOR: Duration = Duration::from_secs(15);
    /// The time that is kept for the calls of tables and queue beside the last fetch: each of two may take the six
    /// seconds that a call may take. It is far more than the calls usually take.
    const TABLES: Duration = Duration::from_secs(12);
    /// The longest time of a piece. The function's time-out (template.yaml) is longer, so one slow piece is repeated, and
    /// not the whole batch. A test of the template holds the sum.
    const ENDS_AFTER: Duration = Self::BEGINS_FOR.saturating_add(Files::LIMIT).saturating_add(Self::TABLES);

    /// The moment after which no item and no fetch begins. The items that are left are queued again.
    pub(crate) fn begins_until(&self) -> Instant {
        self.begun + Self::BEGINS_FOR
    }

    /// Whether no further item should begin.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() > self.begins_until()
    }

    /// The moment at which a piece is given up. The queue repeats it.
    pub(crate) fn ends_at(&self) -> Instant {
        self.begun + Self::ENDS_AFTER
    }
}
