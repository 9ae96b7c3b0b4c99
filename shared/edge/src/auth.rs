//! The authentication of callers: API keys and their rate limits.

use std::sync::Arc;
use std::time::Duration;

use domain::{ApiKey, ApiKeyToken, Scope, WorkspaceId};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use store::{Admission, Limiter, Memory, Store, StoreError};

use crate::error::ApiError;
use crate::request::ApiRequest;

/// How long a warm function caches a key. A revoked key can work for this long.
const KEY_MEMORY: Duration = Duration::from_secs(30);
/// How long a warm function remembers that a key is unknown.
const MISS_MEMORY: Duration = Duration::from_secs(5);

/// A caller whose key is valid for the workspace and the scope of the request. Only the authenticator makes
/// this value.
pub struct Caller {
    workspace: WorkspaceId,
    admission: Shared<BoxFuture<'static, Result<Admission, Arc<StoreError>>>>,
}

impl Caller {
    /// The workspace of the key, which is also the one in the path.
    pub fn workspace(&self) -> WorkspaceId {
        self.workspace
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

/// Looks up and caches keys, and starts the limiter.
pub(crate) struct Authenticator {
    store: Store,
    limiter: Arc<Limiter>,
    keys: Memory<String, ApiKey>,
    unknown: Memory<String, ()>,
}

impl Authenticator {
    pub(crate) fn new(store: Store) -> Self {
        let limiter = Arc::new(Limiter::new(store.clone()));
        Self { store, limiter, keys: Memory::new(KEY_MEMORY), unknown: Memory::new(MISS_MEMORY) }
    }

    /// Authenticates the caller. The result is the same [`ApiError::Forbidden`] for missing, malformed,
    /// unknown, revoked and expired keys, for keys of another workspace, and for keys without the scope.
    pub(crate) async fn authorize(&self, request: &ApiRequest, scope: Scope) -> Result<Caller, ApiError> {
        let token = request.header("x-api-key").and_then(ApiKeyToken::parse).ok_or(ApiError::Forbidden)?;
        let path = request.path("workspaceId").and_then(|id| WorkspaceId::parse(&id).ok());
        let key = self.look_up(token.sha256_hex()).await?.ok_or(ApiError::Forbidden)?;
        let opens =
            key.is_good(self.store.now()) && path == Some(key.workspace_id) && key.scopes.allow(scope);
        if !opens {
            return Err(ApiError::Forbidden);
        }
        let limiter = Arc::clone(&self.limiter);
        let admission =
            async move { limiter.admit(key.workspace_id, key.id, key.rate).await.map_err(Arc::new) };
        Ok(Caller { workspace: key.workspace_id, admission: admission.boxed().shared() })
    }

    async fn look_up(&self, sha256: String) -> Result<Option<ApiKey>, ApiError> {
        let now = self.store.now();
        if let Some(key) = self.keys.get(&sha256, now) {
            return Ok(Some(key));
        }
        if self.unknown.get(&sha256, now).is_some() {
            return Ok(None);
        }
        let key = self.store.api_key(&sha256).await?;
        match &key {
            Some(key) => self.keys.keep(sha256, key.clone(), now),
            None => self.unknown.keep(sha256, (), now),
        }
        Ok(key)
    }
}
