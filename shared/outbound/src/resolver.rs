//! Resolves names to addresses, and refuses addresses that are not public.

use std::future::Future;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::webhook::Reach;
use domain::webhook::address::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Host;

/// The future addresses of a name.
pub type Addresses = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// Looks up names. Tests replace the operating system's resolver.
pub trait Lookup: Send + Sync {
    /// Returns all addresses of a name.
    fn lookup(&self, name: &str) -> Addresses;
}

/// The operating system's resolver.
#[derive(Clone, Debug)]
pub struct SystemLookup {
    rooms: Arc<Semaphore>,
}

impl SystemLookup {
    /// The maximum number of lookups at the same time. Each lookup occupies a thread and up to two descriptors, even
    /// after its caller has given up: the system's resolver cannot be interrupted.
    pub const AT_ONCE: usize = 64;
}

impl Default for SystemLookup {
    fn default() -> Self {
        Self { rooms: Arc::new(Semaphore::new(Self::AT_ONCE)) }
    }
}

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> Addresses {
        let (name, rooms) = (name.to_owned(), Arc::clone(&self.rooms));
        Box::pin(async move {
            let room = rooms.acquire_owned().await.map_err(std::io::Error::other)?;
            let looked_up = tokio::task::spawn_blocking(move || {
                let addresses = (name.as_str(), 0).to_socket_addrs();
                drop(room);
                Ok(addresses?.map(|address| address.ip()).collect())
            });
            looked_up.await.map_err(std::io::Error::other)?
        })
    }
}

/// The time limit of a lookup.
const LOOKUP: Duration = Duration::from_secs(2);

/// Looks up names with the given [`Lookup`].
#[derive(Clone)]
pub struct Names {
    lookup: Arc<dyn Lookup>,
}

/// Why there are no addresses to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// At least one address is not public.
    #[error("the name has an address that is not public")]
    Refused,
    /// The name has no address.
    #[error("the name has no address")]
    NoAddress,
    /// The lookup failed or took too long. The error does not show whether the name or the resolver is at fault.
    #[error("the name cannot be looked up")]
    Unknown,
    /// This process has no free file descriptor.
    #[error("no file descriptor is free")]
    TooManyFiles,
}

impl Names {
    /// Looks up names with `lookup`.
    pub fn new(lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup }
    }

    /// The addresses of a host to which a connection is allowed, at least one. Callers must connect to these
    /// addresses: a second lookup of the name could return others. **One** address that is not public refuses them
    /// all, so a mixed answer gives no second try. A host that is an IP address was checked with its URL.
    pub async fn addresses(&self, host: &Host<&str>, reach: Reach) -> Result<Vec<IpAddr>, ResolveError> {
        let name = match host {
            Host::Ipv4(address) => return Ok(vec![(*address).into()]),
            Host::Ipv6(address) => return Ok(vec![(*address).into()]),
            Host::Domain(name) => name,
        };
        let mut addresses = self.look_up(name).await?;
        if reach == Reach::Public && !addresses.iter().copied().all(is_public) {
            return Err(ResolveError::Refused);
        }
        // If there are IPv4 addresses, only they are used: a function without IPv6 would lose a share of the connect
        // time on each IPv6 address.
        if addresses.iter().any(IpAddr::is_ipv4) {
            addresses.retain(IpAddr::is_ipv4);
        }
        Ok(addresses)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        match timeout(LOOKUP, self.lookup.lookup(name)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(ResolveError::NoAddress),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) if is_too_many_files(&error) => Err(ResolveError::TooManyFiles),
            Ok(Err(_)) | Err(_) => Err(ResolveError::Unknown),
        }
    }
}

/// Whether the process or the system has no free file descriptor.
pub fn is_too_many_files(error: &std::io::Error) -> bool {
    /// Linux: `ENFILE` and `EMFILE`, too many open files in the system and in the process.
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code))
}

/// Resolves names for a `reqwest` client, which connects to no other address than those of the answer. The client
/// does not resolve a host that is an IP address, so its caller must refuse such URLs.
#[derive(Clone)]
pub(crate) struct PublicOnly(pub(crate) Names);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.clone();
        Box::pin(async move {
            let found = names.addresses(&Host::Domain(name.as_str()), Reach::Public).await?;
            // The client takes the port from the URL.
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;

    #[tokio::test]
    async fn lookups_above_the_limit_wait_and_an_abandoned_lookup_frees_its_permit() {
        let system = SystemLookup::default();
        let all = u32::try_from(SystemLookup::AT_ONCE).unwrap();
        let held = Arc::clone(&system.rooms).acquire_many_owned(all).await.unwrap();
        let given_up = timeout(Duration::from_millis(100), system.lookup("localhost")).await;
        assert!(given_up.is_err(), "the lookup did not wait");
        drop(held);
        let found = join_all((0..3 * SystemLookup::AT_ONCE).map(|_| system.lookup("localhost"))).await;
        assert!(found.into_iter().all(|found| found.is_ok_and(|addresses| !addresses.is_empty())));
        assert_eq!(system.rooms.available_permits(), SystemLookup::AT_ONCE);
    }
}
