//! The quotas of requests: one tenant's visitors do not use up what the pages of all tenants share.

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{Capture, WorkspaceId};
use store::{Admission, Limiter, Memory, Store, StoreError};

/// The quotas of the workspaces' lead capture.
pub struct Quotas {
    store: Store,
    limiter: Limiter,
    /// The quotas as they were last read. Each request reads the settings beside the write of the limiter.
    known: Memory<WorkspaceId, RateLimit>,
}

/// How long a process remembers a quota that it does not read again.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

impl Quotas {
    /// Quotas without any remembered state.
    pub fn new(store: Store) -> Self {
        Self { limiter: Limiter::new(store.clone()), known: Memory::new(KNOWN_FOR), store }
    }

    /// Counts a request, also one for a workspace that does not exist. A process counts its first request for a
    /// workspace by the usual quota. No round trip while the process knows that the workspace is over its quota;
    /// otherwise one or two.
    pub(crate) async fn admit(&self, workspace: WorkspaceId) -> Result<Admission, StoreError> {
        let known = self.known.get(&workspace, self.store.now());
        let quota = known.unwrap_or_else(|| Capture::quota(None));
        self.limiter.admit_to_capture(workspace, quota).await
    }

    /// Remembers the quota in these settings.
    pub(crate) fn learn(&self, capture: &Capture) {
        self.known.keep(capture.workspace_id, Capture::quota(Some(capture)), self.store.now());
    }
}
