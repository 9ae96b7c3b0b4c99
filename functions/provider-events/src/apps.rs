//! What a process knows of the provider's apps.
//!
//! A webhook must be answered quickly and costs no read: the apps are read once, and again beside the calls of
//! a later request. Only a request that no known app has signed is worth a read, at most every few seconds,
//! because strangers send such requests too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{ProviderApp, ProviderAppId, Timestamp, error_chain};
use store::{Store, StoreError};

/// After this time the apps are read again beside the next webhook.
const FRESH: Duration = Duration::from_secs(60);
/// After this time the apps are read again before the next request is answered.
const USABLE: Duration = Duration::from_secs(10 * 60);
/// The least time between two reads for requests that no known app has signed.
const BETWEEN_READS: Duration = Duration::from_secs(5);

/// The apps of the deployment as they were read last.
#[derive(Debug, Default)]
pub struct Apps(Mutex<Option<Known>>);

#[derive(Clone, Debug)]
struct Known {
    apps: Arc<Vec<ProviderApp>>,
    read_at: Timestamp,
}

impl Apps {
    /// The app with this id, if `proves` accepts it. No round trip if the apps are known.
    pub async fn find(
        &self,
        store: &Store,
        id: &ProviderAppId,
        proves: impl Fn(&ProviderApp) -> bool,
    ) -> Result<Option<ProviderApp>, StoreError> {
        let of = |known: &Known| known.apps.iter().find(|app| app.id == *id && proves(app)).cloned();
        let known = match self.known().filter(|known| store.now() < known.read_at.plus(USABLE)) {
            Some(known) => known,
            None => self.read(store).await?,
        };
        match of(&known) {
            None if store.now() >= known.read_at.plus(BETWEEN_READS) => Ok(of(&self.read(store).await?)),
            found => Ok(found),
        }
    }

    /// Reads the apps again if they are not fresh. A failure is logged; what is known stays usable.
    pub async fn refresh(&self, store: &Store) {
        let is_fresh = |known: Known| store.now() < known.read_at.plus(FRESH);
        if self.known().is_some_and(is_fresh) {
            return;
        }
        if let Err(error) = self.read(store).await {
            tracing::warn!(cause = error_chain(&error), "apps not read again");
        }
    }

    fn known(&self) -> Option<Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read(&self, store: &Store) -> Result<Known, StoreError> {
        let known = Known { apps: Arc::new(store.provider_apps().await?), read_at: store.now() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
        Ok(known)
    }
}
