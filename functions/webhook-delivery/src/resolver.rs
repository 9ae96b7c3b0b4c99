//! Names to addresses, and none to an address that is not public.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use domain::AttemptError;
use domain::address::is_public;
use domain::webhook::Reach;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The addresses of a name, to come.
pub type Addresses = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up. The operating system does; tests say what they want to be told.
pub trait Lookup: Send + Sync {
    /// All addresses of a name.
    fn lookup(&self, name: &str) -> Addresses;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> Addresses {
        let name = name.to_owned();
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves for the HTTP client, which then connects to an address given here and to no other: a name that is
/// looked up a second time cannot lead elsewhere. **One** address that is not public refuses them all, so that a
/// mixed answer gives no second try.
pub(crate) struct Resolver {
    lookup: Arc<dyn Lookup>,
    reach: Reach,
}

impl Resolver {
    pub(crate) fn new(lookup: Arc<dyn Lookup>, reach: Reach) -> Self {
        Self { lookup, reach }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (addresses, reach) = (self.lookup.lookup(name.as_str()), self.reach);
        Box::pin(async move {
            let addresses = addresses.await.unwrap_or_default();
            if addresses.is_empty() {
                return Err(Unresolved(AttemptError::DnsFailed).into());
            }
            if reach == Reach::Public && !addresses.iter().copied().all(is_public) {
                return Err(Unresolved(AttemptError::AddressRefused).into());
            }
            // Port 0 stands for the URL's.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// A name that led nowhere, or where nobody may go.
#[derive(Debug)]
pub(crate) struct Unresolved(pub(crate) AttemptError);

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl Error for Unresolved {}
