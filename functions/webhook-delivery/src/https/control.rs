//! Tests with a control connection whether the deployment's own network lets anything out: it tries a service that
//! this function depends on.

use std::net::IpAddr;
use std::time::Duration;

use domain::webhook::Reach;
use outbound::resolver::Names;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::{Host, Url};

use super::dial::{self, Dial};

/// The time limit of the control connection.
const CONNECT: Duration = Duration::from_secs(2);
/// How long a failed check stays valid. A delivery that is stopped by mistake is tried again half a minute later and
/// loses no attempt.
const FAILED_FOR: Duration = Duration::from_secs(5);
/// How long a successful check stays valid. An outage that begins in this time looks like a failure of the receivers,
/// so the time is short. There is still at most one control connection each second.
const WORKED_FOR: Duration = Duration::from_secs(1);

/// Tries a service that this function depends on.
pub(super) struct Control {
    host: Host<String>,
    port: u16,
    names: Names,
    dial: Dial,
    found: Shared,
    connected: Shared,
}

impl Control {
    /// `ours` is a URL of that service. Returns `None` if the URL has no host or no port.
    pub(super) fn new(ours: &str, names: Names, dial: Dial) -> Option<Self> {
        let url = Url::parse(ours).ok()?;
        let (host, port) = (url.host()?.to_owned(), url.port_or_known_default()?);
        Some(Self { host, port, names, dial, found: Shared::default(), connected: Shared::default() })
    }

    /// Replaces the function that connects to an address.
    pub(super) fn dialling(self, dial: Dial) -> Self {
        Self { dial, ..self }
    }

    /// Whether the service's name can be resolved. If its URL has an IP address instead of a name, the result is
    /// `true`, because no name can be checked.
    pub(super) async fn resolves(&self) -> bool {
        self.found.or_try(async || self.addresses().await.is_some()).await
    }

    /// Whether a connection to the service can be made.
    pub(super) async fn connects(&self) -> bool {
        let connects = async || match self.addresses().await {
            Some(addresses) => {
                let by = Instant::now() + CONNECT;
                dial::connect(&self.dial, &addresses, self.port, by).await.is_ok()
            }
            None => false,
        };
        self.connected.or_try(connects).await
    }

    async fn addresses(&self) -> Option<Vec<IpAddr>> {
        let host = match &self.host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        };
        // The deployment names this host, and a VPC endpoint has private addresses, so private addresses are allowed.
        self.names.addresses(&host, Reach::Trusted).await.ok()
    }
}

/// The last result of a check. Concurrent callers wait for the same result.
#[derive(Default)]
struct Shared(Mutex<Option<(Instant, bool)>>);

impl Shared {
    async fn or_try(&self, find_out: impl AsyncFnOnce() -> bool) -> bool {
        let mut last = self.0.lock().await;
        if let Some((at, worked)) = *last
            && at.elapsed() < if worked { WORKED_FOR } else { FAILED_FOR }
        {
            return worked;
        }
        let worked = find_out().await;
        *last = Some((Instant::now(), worked));
        worked
    }
}
