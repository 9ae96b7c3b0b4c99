//! The quotas of requests: one tenant's visitors do not use up what the pages of all tenants share, and strangers
//! do not use up what a tenant's pages have.

use std::sync::Arc;
use std::time::Duration;

use domain::{Capture, LeadRequest, SentOrigin, WorkspaceId, WorkspaceState, error_chain};
use edge::capture::LeadProblem;
use store::{Admission, Limiter, Memory, Store, StoreError};

/// The quotas of the workspaces' lead capture.
pub struct Quotas {
    store: Store,
    limiter: Limiter,
    /// The settings as they were last read. Each request reads them beside the write of the limiter.
    known: Memory<WorkspaceId, Arc<Judge>>,
}

/// How long a process remembers settings that it does not read again.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

/// What decides whether a request has the workspace's key and comes from one of its pages.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) capture: Option<Capture>,
    pub(crate) state: WorkspaceState,
}

impl Judge {
    /// Whether the sender proves to know the workspace. An invalid lead proves nothing.
    pub(crate) fn is_proven(&self, lead: Option<&LeadRequest>, origin: &SentOrigin) -> bool {
        let admits = |key: &str| Capture::admits(self.capture.as_ref(), self.state, key, origin).is_ok();
        lead.is_some_and(|lead| admits(lead.capture_key.expose()))
    }
}

/// A request that was counted, in the bucket of the proven or in the bucket of the others.
pub(crate) struct QuotaCount {
    as_proven: bool,
    admission: Result<Admission, StoreError>,
}

impl Quotas {
    /// Quotas without any remembered state.
    pub fn new(store: Store) -> Self {
        Self { limiter: Limiter::new(store.clone()), known: Memory::new(KNOWN_FOR), store }
    }

    /// Counts a request, also one for a workspace that does not exist, by the settings that the process read last. It
    /// counts its first request for a workspace as proven, by the usual quota. No round trip while the process knows
    /// that the bucket is empty; otherwise one or two.
    pub(crate) async fn count(
        &self,
        workspace: WorkspaceId,
        lead: Option<&LeadRequest>,
        origin: &SentOrigin,
    ) -> QuotaCount {
        let known = self.known.get(&workspace, self.store.now());
        let as_proven = known.as_ref().is_none_or(|judge| judge.is_proven(lead, origin));
        let admission = if as_proven {
            let quota = Capture::quota(known.as_ref().and_then(|judge| judge.capture.as_ref()));
            self.limiter.admit_to_capture(workspace, quota).await
        } else {
            self.limiter.admit_unproven(workspace, Capture::quota(None)).await
        };
        QuotaCount { as_proven, admission }
    }

    /// Remembers these settings, also that a workspace has none.
    pub(crate) fn learn(&self, workspace: WorkspaceId, judge: Arc<Judge>) {
        self.known.keep(workspace, judge, self.store.now());
    }
}

impl QuotaCount {
    /// Refuses the request if its bucket is empty. A request that was counted in the wrong bucket, because the process did
    /// not know the present settings, is not refused. Nor is one that could not be counted: the quota limits floods,
    /// and one lead more does no harm.
    pub(crate) fn admit(self, is_proven: bool, workspace: WorkspaceId) -> Result<(), LeadProblem> {
        match self.admission {
            Ok(Admission::Refused { retry_after }) if self.as_proven == is_proven => {
                Err(LeadProblem::RateLimited(retry_after))
            }
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::warn!(%workspace, cause = error_chain(&error), "request not counted");
                Ok(())
            }
        }
    }
}
