//! Names to addresses, and none to an address that is not public.

use std::future::Future;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::webhook::Reach;
use domain::webhook::address::is_public;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Host;

use super::dial::is_too_many_files;

/// The addresses of a name, to come.
pub type Addresses = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up. The operating system does; tests say what they want to be told.
pub trait Lookup: Send + Sync {
    /// All addresses of a name.
    fn lookup(&self, name: &str) -> Addresses;
}

/// The operating system's resolver.
#[derive(Clone, Debug)]
pub struct SystemLookup {
    rooms: Arc<Semaphore>,
}

impl SystemLookup {
    /// How many names are looked up at the same moment. Each look-up occupies a thread and up to two descriptors, also
    /// after the one who asked has given up: the system's resolver cannot be interrupted.
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

/// How long a look-up may take.
const LOOKUP: Duration = Duration::from_secs(2);

/// Names, looked up in the way given.
#[derive(Clone)]
pub(crate) struct Names {
    lookup: Arc<dyn Lookup>,
}

/// Why there are no addresses to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nowhere {
    /// One of them is not public.
    Refused,
    /// The name has none.
    NoAddress,
    /// There was no answer, or it was an error. Whether the name is at fault or whoever was asked for it, this does
    /// not tell.
    Unknown,
    /// This process has no file descriptor left.
    TooManyFiles,
}

impl Names {
    pub(crate) fn new(lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup }
    }

    /// The addresses of a host that may be connected to, at least one. They are to be connected to as they are: a name
    /// that is looked up a second time could lead elsewhere. **One** address that is not public refuses them all, so
    /// that a mixed answer gives no second try. A host that is an address itself was judged with its URL.
    pub(crate) async fn addresses(&self, host: &Host<&str>, reach: Reach) -> Result<Vec<IpAddr>, Nowhere> {
        let name = match host {
            Host::Ipv4(address) => return Ok(vec![(*address).into()]),
            Host::Ipv6(address) => return Ok(vec![(*address).into()]),
            Host::Domain(name) => name,
        };
        let mut addresses = self.look_up(name).await?;
        if reach == Reach::Public && !addresses.iter().copied().all(is_public) {
            return Err(Nowhere::Refused);
        }
        // Where there are IPv4 addresses they are called alone: a function without IPv6 would lose a share of the time to
        // connect to each of the others.
        if addresses.iter().any(IpAddr::is_ipv4) {
            addresses.retain(IpAddr::is_ipv4);
        }
        Ok(addresses)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Nowhere> {
        match timeout(LOOKUP, self.lookup.lookup(name)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(Nowhere::NoAddress),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) if is_too_many_files(&error) => Err(Nowhere::TooManyFiles),
            Ok(Err(_)) | Err(_) => Err(Nowhere::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;

    #[tokio::test]
    async fn look_ups_beyond_those_allowed_wait_for_their_turn_and_those_given_up_take_none() {
        let system = SystemLookup::default();
        let all = u32::try_from(SystemLookup::AT_ONCE).unwrap();
        let held = Arc::clone(&system.rooms).acquire_many_owned(all).await.unwrap();
        let given_up = timeout(Duration::from_millis(100), system.lookup("localhost")).await;
        assert!(given_up.is_err(), "it did not wait");
        drop(held);
        let found = join_all((0..3 * SystemLookup::AT_ONCE).map(|_| system.lookup("localhost"))).await;
        assert!(found.into_iter().all(|found| found.is_ok_and(|addresses| !addresses.is_empty())));
        assert_eq!(system.rooms.available_permits(), SystemLookup::AT_ONCE);
    }
}
