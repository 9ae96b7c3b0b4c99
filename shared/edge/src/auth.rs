//! Who calls: API keys and their rates.

use std::sync::Arc;
use std::time::Duration;

use domain::{ApiKey, ApiKeyToken, Scope, WorkspaceId};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use store::{Admission, Limiter, Memory, Store, StoreError};

use crate::error::ApiError;
use crate::request::ApiRequest;

/// How long a warm function may trust a key it has looked up: the longest a revoked key goes on opening.
const KEY_MEMORY: Duration = Duration::from_secs(30);
/// How long it may trust that a key is unknown.
const MISS_MEMORY: Duration = Duration::from_secs(5);

/// A caller whose key opens its workspace for what it asks: the only proof of a workspace there is.
pub struct Caller {
    workspace: WorkspaceId,
    admission: Shared<BoxFuture<'static, Result<Admission, Arc<StoreError>>>>,
}

impl Caller {
    /// The workspace the key is bound to, which is also the one in the path.
    pub fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    /// Waits for the rate limiter's word. To be asked before the first write: the limiter's own write runs
    /// beside the first read, and nothing may be written or released before it agrees.
    pub async fn admitted(&self) -> Result<(), ApiError> {
        match self.admission.clone().await? {
            Admission::Admitted => Ok(()),
            Admission::Refused { retry_after } => Err(ApiError::RateLimited(retry_after)),
        }
    }
}

/// Looks keys up, remembers them, and starts the limiter.
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

    /// Proves the caller. Missing, malformed, unknown, revoked and expired keys, keys of another workspace and
    /// keys without the scope are all the same [`ApiError::Forbidden`].
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
