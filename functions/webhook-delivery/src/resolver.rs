//! Names to addresses, and none to an address that is not public.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::address::is_public;
use domain::webhook::Reach;
use domain::{AttemptError, EndpointUrl};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::timeout;
use url::Host;

use crate::Unanswered;

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

/// How long a look-up may take: two of them, and some time to connect, fit into what a connection has.
const LOOKUP: Duration = Duration::from_secs(2);

/// Names, looked up in the way given; and one of which we know that it is there.
#[derive(Clone)]
pub(crate) struct Names {
    lookup: Arc<dyn Lookup>,
    ours: Arc<str>,
}

impl Names {
    /// `ours` is a URL of a service that this function depends on itself.
    pub(crate) fn new(lookup: Arc<dyn Lookup>, ours: &str) -> Self {
        let host = Url::parse(ours).ok().and_then(|url| url.host_str().map(str::to_owned));
        Self { lookup, ours: host.unwrap_or_default().into() }
    }

    /// The addresses of a name, at least one.
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unanswered> {
        match timeout(LOOKUP, self.lookup.lookup(name)).await {
            Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
            Ok(Ok(_)) => Err(AttemptError::DnsFailed.into()),
            // Whether the name is at fault or whoever was asked for it, this does not tell: another name does.
            Ok(Err(_)) | Err(_) if self.finds_ours().await => Err(AttemptError::DnsFailed.into()),
            Ok(Err(_)) | Err(_) => Err(Unanswered::NotSent),
        }
    }

    async fn finds_ours(&self) -> bool {
        if self.ours.is_empty() || self.ours.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return true;
        }
        let found = timeout(LOOKUP, self.lookup.lookup(&self.ours)).await;
        found.is_ok_and(|found| found.is_ok_and(|found| !found.is_empty()))
    }

    /// Whether a URL leads to an IPv4 address.
    pub(crate) async fn have_ipv4(&self, url: &EndpointUrl) -> bool {
        match url.as_url().host() {
            Some(Host::Ipv4(_)) => true,
            Some(Host::Domain(name)) => {
                self.addresses(name).await.is_ok_and(|addresses| addresses.iter().any(IpAddr::is_ipv4))
            }
            _ => false,
        }
    }
}

/// Resolves for the HTTP client, which then connects to an address given here and to no other: a name that is
/// looked up a second time cannot lead elsewhere. **One** address that is not public refuses them all, so that a
/// mixed answer gives no second try.
pub(crate) struct Resolver {
    names: Names,
    reach: Reach,
}

impl Resolver {
    pub(crate) fn new(names: Names, reach: Reach) -> Self {
        Self { names, reach }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (names, reach) = (self.names.clone(), self.reach);
        Box::pin(async move {
            let addresses = names.addresses(name.as_str()).await.map_err(Unresolved)?;
            if reach == Reach::Public && !addresses.iter().copied().all(is_public) {
                return Err(Unresolved(AttemptError::AddressRefused.into()).into());
            }
            // Where there are IPv4 addresses they are called alone: of two families tried side by side the last failure
            // would be told, and a network without IPv6 is not what keeps such a receiver from answering.
            let mut addresses = addresses;
            if addresses.iter().any(IpAddr::is_ipv4) {
                addresses.retain(IpAddr::is_ipv4);
            }
            // Port 0 stands for the URL's.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// A name that led nowhere, or where nobody may go.
#[derive(Debug)]
pub(crate) struct Unresolved(pub(crate) Unanswered);

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Unanswered::Failed(error) => error.as_str(),
            Unanswered::NotSent => "our own network finds no names",
        })
    }
}

impl Error for Unresolved {}
