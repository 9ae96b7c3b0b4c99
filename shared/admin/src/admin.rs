//! A workspace, who changes it, and the loop of every change.

use std::time::Duration;

use domain::{Author, Workspace, WorkspaceId};
use futures::future::{BoxFuture, try_join};
use queue::Queues;
use store::{
    ANSWERS_OF_SETTINGS, IdempotencyKey, RetryTime, SettingCreated, Store, StoreError, StoredAnswer, Table,
};

use crate::refused::Refused;

/// What must hold before a change is written.
pub trait Gate {
    /// How the changes are refused.
    type Refusal: From<Refused> + From<StoreError>;

    /// Waits until the caller may write.
    fn admit(&self) -> BoxFuture<'_, Result<(), Self::Refusal>>;
}

/// What must hold before a change of such a resource is judged, after each read.
pub trait Check<T>: Gate {
    /// Whether the caller means the resource in the state that was read.
    fn check(&self, seen: &T) -> Result<(), Self::Refusal>;
}

/// The result of a creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// What was wanted exists.
    Done,
    /// The idempotency key has this answer.
    Answered(StoredAnswer),
}

/// A workspace, and who changes it.
pub struct Admin<'a, G> {
    /// What must hold before a change.
    pub gate: G,
    /// The store.
    pub store: &'a Store,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Who makes the changes, and in which request.
    pub by: Author,
    /// The queues of the lanes that the changes wake; `None` if they cannot be found. Then the sweeper visits the lanes.
    pub queues: Option<Queues>,
    /// The time after which the sweeper looks at a lane whose queue message was lost.
    pub rescue: Duration,
}

impl<'a, G: Gate> Admin<'a, G> {
    /// The time after which the sweeper looks at a lane whose queue message was lost, if nobody says another one.
    pub const RESCUE: Duration = Duration::from_secs(120);

    /// For changes that wake no lanes.
    pub fn new(gate: G, store: &'a Store, workspace: WorkspaceId, by: Author) -> Self {
        Self { gate, store, workspace, by, queues: None, rescue: Self::RESCUE }
    }

    /// For changes that wake lanes of these queues. The sweeper looks at a lane after this time.
    #[must_use]
    pub fn waking(self, queues: &Queues, rescue: Duration) -> Self {
        Self { queues: Some(queues.clone()), rescue, ..self }
    }

    /// Repeats a read and a write until the write succeeds. `once` returns `None` if another writer was faster. After some
    /// seconds the store counts as busy.
    pub(crate) async fn until_written<T, F>(&self, once: impl Fn() -> F) -> Result<T, G::Refusal>
    where
        F: Future<Output = Result<Option<T>, G::Refusal>>,
    {
        let mut retries = RetryTime::for_merges(self.store);
        loop {
            if let Some(written) = once().await? {
                return Ok(written);
            }
            retries.wait().await?;
        }
    }

    /// The answer of an idempotency key, if there is one. One round trip, none without a key.
    pub(crate) async fn answered(
        &self,
        table: Table,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        match kept {
            Some((once, _)) => self.store.answered(table, self.workspace, once).await,
            None => Ok(None),
        }
    }

    /// Creates a setting that is judged by the others of its kind, with the answer of an idempotency key. Three round trips.
    pub(crate) async fn create_judged<T, R, W>(
        &self,
        kept: Option<(&IdempotencyKey, &str)>,
        others: impl Fn() -> R,
        judge: impl Fn(&T) -> Result<(), Refused>,
        write: impl Fn(Workspace) -> W,
    ) -> Result<Created, G::Refusal>
    where
        R: Future<Output = Result<T, StoreError>>,
        W: Future<Output = Result<SettingCreated, StoreError>>,
    {
        let (store, id) = (self.store, self.workspace);
        let once = async || {
            // The others are read after the workspace: one that is missing among them changes the version of the workspace.
            let present = async {
                let workspace = store.workspace(id).await?;
                Ok::<_, StoreError>((workspace, others().await?))
            };
            let ((workspace, others), answered) =
                try_join(present, self.answered(ANSWERS_OF_SETTINGS, kept)).await?;
            if let Some(answered) = answered {
                return Ok(Some(Created::Answered(answered)));
            }
            let workspace = workspace.ok_or(Refused::UnknownWorkspace(id))?;
            judge(&others)?;
            self.gate.admit().await?;
            Ok(match write(workspace).await? {
                SettingCreated::Done => Some(Created::Done),
                SettingCreated::Answered(answered) => Some(Created::Answered(answered)),
                SettingCreated::Stale => None,
            })
        };
        self.until_written(once).await
    }

    /// Whether the caller may change the resource as it was read.
    pub(crate) async fn ready<T>(&self, seen: &T) -> Result<(), G::Refusal>
    where
        G: Check<T>,
    {
        self.gate.check(seen)?;
        self.gate.admit().await
    }
}
