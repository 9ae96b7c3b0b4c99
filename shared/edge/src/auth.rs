//! The authentication of callers: API keys and their rate limits.

use std::sync::Arc;
use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{
    ApiKey, ApiKeyToken, KeyId, KeyKind, Permission, SelfService, Timestamp, WorkspaceAccess, WorkspaceId,
};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use runtime::metrics::Denial;
use store::{Admission, Limiter, Memory, Store, StoreError};

use crate::error::{ApiError, Denied};
use crate::reply::Allowance;
use crate::request::ApiRequest;

/// The header with the key.
const KEY_HEADER: &str = "x-api-key";
/// How long a warm function caches a key and the state of its workspace. A revoked key, or a key of a disabled
/// workspace, can work for this long.
const KEY_MEMORY: Duration = Duration::from_secs(30);
/// How long a warm function remembers that a key is unknown.
const MISS_MEMORY: Duration = Duration::from_secs(5);

/// A caller whose key is valid for the workspace and the scope of the request. Only the authenticator makes
/// this value.
pub struct Caller {
    key: ApiKey,
    sha256_hex: String,
    admission: Shared<BoxFuture<'static, Result<Admission, Arc<StoreError>>>>,
}

impl Caller {
    /// The workspace of the key, which is also the one in the path.
    pub fn workspace(&self) -> WorkspaceId {
        self.key.workspace_id
    }

    /// The id of the key, for what keeps who asked.
    pub fn key(&self) -> KeyId {
        self.key.id
    }

    /// The key itself: of a program, of a session or of a link.
    pub fn api_key(&self) -> &ApiKey {
        &self.key
    }

    /// The SHA-256 of the key (lower-case hex), under which it is stored.
    pub fn sha256_hex(&self) -> &str {
        &self.sha256_hex
    }

    /// What the log and the limiter need of the key.
    pub(crate) fn identity(&self) -> Identity {
        let ApiKey { workspace_id: workspace, id: key, bucket, rate, .. } = self.key;
        Identity { workspace, key, bucket, rate }
    }

    /// Waits for the decision of the rate limiter. Call it before the first write: the limiter's write runs
    /// in parallel with the first read, and the request may write and respond only after it is admitted.
    pub async fn admitted(&self) -> Result<(), ApiError> {
        match self.admission.clone().await? {
            Admission::Admitted => Ok(()),
            Admission::Refused { retry_after } => Err(ApiError::RateLimited(retry_after)),
        }
    }
}

/// The key of an authenticated caller.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) workspace: WorkspaceId,
    pub(crate) key: KeyId,
    pub(crate) bucket: KeyId,
    pub(crate) rate: RateLimit,
}

/// Looks up and caches keys, and starts the limiter.
pub(crate) struct Authenticator {
    store: Store,
    limiter: Arc<Limiter>,
    keys: Memory<String, ApiKey>,
    /// What the workspaces admit whose keys were presented.
    workspaces: Memory<WorkspaceId, WorkspaceAccess>,
    unknown: Memory<String, ()>,
}

impl Authenticator {
    pub(crate) fn new(store: Store) -> Self {
        let limiter = Arc::new(Limiter::new(store.clone()));
        let (keys, workspaces) = (Memory::new(KEY_MEMORY), Memory::new(KEY_MEMORY));
        Self { store, limiter, keys, workspaces, unknown: Memory::new(MISS_MEMORY) }
    }

    /// Authenticates the caller. The result is the same [`ApiError::Forbidden`] for missing, malformed,
    /// unknown, revoked and expired keys, for links that were used, for keys of another or of a disabled workspace, for keys without
    /// the permission, and for sessions, links and scopes that manage a workspace whose self-service is off.
    pub(crate) async fn authorize(
        &self,
        request: &ApiRequest,
        wanted: Permission,
    ) -> Result<Caller, ApiError> {
        let sent = request.header(KEY_HEADER).ok_or(Denial::NoKey)?;
        let token = ApiKeyToken::parse(sent).ok_or(Denial::MalformedKey)?;
        let path = request.workspace().ok_or(Denial::NoWorkspace)?;
        let sha256_hex = token.sha256_hex();
        let (key, admits) = self.look_up(sha256_hex.clone(), path).await?;
        if let Some(reason) = denial(&key, path, admits, wanted, self.store.now()) {
            return Err(ApiError::Forbidden(Denied { reason, key: Some(key.id) }));
        }
        let limiter = Arc::clone(&self.limiter);
        let ApiKey { workspace_id, bucket, rate, .. } = key;
        let admission = async move { limiter.admit(workspace_id, bucket, rate).await.map_err(Arc::new) };
        Ok(Caller { key, sha256_hex, admission: admission.boxed().shared() })
    }

    /// The rate limit of a caller, and what is left of it.
    pub(crate) fn allowance(&self, caller: Identity) -> Allowance {
        let Identity { workspace, bucket, rate, .. } = caller;
        Allowance { rate, left: self.limiter.left(workspace, bucket, rate) }
    }

    /// The key, of whichever workspace, and what this workspace admits if the key is one of its keys. What is not in
    /// memory is read in one call. Only a workspace whose key was presented is remembered.
    async fn look_up(
        &self,
        sha256: String,
        workspace: WorkspaceId,
    ) -> Result<(ApiKey, WorkspaceAccess), ApiError> {
        let now = self.store.now();
        let known = self.keys.get(&sha256, now);
        if let Some(foreign) = known.as_ref().filter(|key| key.workspace_id != workspace) {
            return Ok((foreign.clone(), WorkspaceAccess::OPEN));
        }
        if self.unknown.get(&sha256, now).is_some() {
            return Err(Denial::UnknownKey.into());
        }
        let is_known = known.is_some();
        let remembered = self.workspaces.get(&workspace, now);
        let (key, admits) = match (known, remembered) {
            (Some(key), Some(admits)) => (Some(key), admits),
            (Some(key), None) => (Some(key), self.store.workspace_access(workspace).await?),
            (None, Some(admits)) => (self.store.api_key(&sha256).await?, admits),
            (None, None) => self.store.api_key_and_access(&sha256, workspace).await?,
        };
        let Some(key) = key else {
            self.unknown.keep(sha256, (), now);
            return Err(Denial::UnknownKey.into());
        };
        if !is_known {
            self.keys.keep(sha256, key.clone(), now);
        }
        if key.workspace_id == workspace && remembered.is_none() {
            self.workspaces.keep(workspace, admits, now);
        }
        Ok((key, admits))
    }
}

/// Why the key gives no access; `None` if it does.
fn denial(
    key: &ApiKey,
    workspace: WorkspaceId,
    admits: WorkspaceAccess,
    wanted: Permission,
    now: Timestamp,
) -> Option<Denial> {
    let manages = matches!(wanted, Permission::Scope(scope) if scope.manages());
    let needs_self_service = manages || key.kind != KeyKind::Key;
    let denials = [
        (key.workspace_id != workspace, Denial::OtherWorkspace),
        (key.revoked_at.is_some(), Denial::RevokedKey),
        (!key.is_good(now), Denial::ExpiredKey),
        (key.kind.is_used(), Denial::UsedLink),
        (admits.state.is_disabled(), Denial::DisabledWorkspace),
        (!key.may(wanted), Denial::NoScope),
        (needs_self_service && admits.self_service == SelfService::Off, Denial::NoSelfService),
    ];
    denials.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}
