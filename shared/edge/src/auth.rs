//! Who calls: API keys and their rates.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{ApiKey, ApiKeyToken, Scope, Timestamp, WorkspaceId};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use store::{Admission, Limiter, Store, StoreError};

use crate::error::ApiError;
use crate::request::ApiRequest;

/// How long a warm function may trust a key it has looked up: the longest a revoked key goes on opening.
const KEY_MEMORY: Duration = Duration::from_secs(30);
/// How long it may trust that a key is unknown.
const MISS_MEMORY: Duration = Duration::from_secs(5);
/// How many keys it remembers; the memory is emptied of the old, then of all, when there are more.
const REMEMBERED: usize = 10_000;

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
    memory: Mutex<HashMap<String, Remembered>>,
}

#[derive(Clone)]
struct Remembered {
    key: Option<ApiKey>,
    until: Timestamp,
}

impl Authenticator {
    pub(crate) fn new(store: Store) -> Self {
        let limiter = Arc::new(Limiter::new(store.clone()));
        Self { store, limiter, memory: Mutex::default() }
    }

    /// Proves the caller. Missing, malformed, unknown, revoked and expired keys, keys of another workspace and
    /// keys without the scope are all the same [`ApiError::Forbidden`].
    pub(crate) async fn authorize(&self, request: &ApiRequest, scope: Scope) -> Result<Caller, ApiError> {
        let token = request.header("x-api-key").and_then(ApiKeyToken::parse).ok_or(ApiError::Forbidden)?;
        let path = request.path("workspaceId").and_then(|id| WorkspaceId::parse(&id).ok());
        let key = self.look_up(&token.sha256_hex()).await?.ok_or(ApiError::Forbidden)?;
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

    async fn look_up(&self, sha256: &str) -> Result<Option<ApiKey>, ApiError> {
        let now = self.store.now();
        if let Some(remembered) = self.remembered(sha256, now) {
            return Ok(remembered.key);
        }
        let key = self.store.api_key(sha256).await?;
        let memory = if key.is_some() { KEY_MEMORY } else { MISS_MEMORY };
        self.remember(sha256, Remembered { key: key.clone(), until: now.plus(memory) }, now);
        Ok(key)
    }

    fn remembered(&self, sha256: &str, now: Timestamp) -> Option<Remembered> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.get(sha256).filter(|remembered| now < remembered.until).cloned()
    }

    fn remember(&self, sha256: &str, remembered: Remembered, now: Timestamp) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= REMEMBERED {
            memory.retain(|_, old| now < old.until);
        }
        if memory.len() >= REMEMBERED {
            memory.clear();
        }
        memory.insert(sha256.to_owned(), remembered);
    }
}
