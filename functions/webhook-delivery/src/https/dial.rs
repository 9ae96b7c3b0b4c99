//! Opens TCP connections, and classifies why one could not be opened.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use outbound::resolver::is_too_many_files;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Connects to an address. Tests replace the operating system's function.
pub(super) type Dial =
    Arc<dyn Fn(SocketAddr) -> BoxFuture<'static, std::io::Result<TcpStream>> + Send + Sync>;

/// Connects with the operating system.
pub(super) fn system() -> Dial {
    Arc::new(|address| Box::pin(TcpStream::connect(address)))
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DialError {
    /// The host refused the connection.
    Refused,
    /// Nothing answered, or nothing was sent. The error does not show whether the host or the deployment's own
    /// network is at fault.
    Unreached,
    /// This process has no free file descriptor.
    TooManyFiles,
}

/// Connects to the first address that answers. The remaining time is divided among the remaining addresses, so an
/// address that never answers leaves time for the others.
pub(super) async fn connect(
    dial: &Dial,
    addresses: &[IpAddr],
    port: u16,
    by: Instant,
) -> Result<TcpStream, DialError> {
    let mut worst = DialError::Unreached;
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let now = Instant::now();
        let share = now + by.saturating_duration_since(now) / left;
        match timeout_at(share, dial(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // Each request is written at once, so Nagle's algorithm would only delay it.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => match judged(&error) {
                DialError::TooManyFiles => return Err(DialError::TooManyFiles),
                // One answer is enough to know that the deployment's network lets packets out.
                DialError::Refused => worst = DialError::Refused,
                DialError::Unreached => {}
            },
            Err(_) => {}
        }
    }
    Err(worst)
}

fn judged(error: &std::io::Error) -> DialError {
    /// Linux: `ENOBUFS`, no buffer space.
    const NO_BUFFERS: i32 = 105;
    match error.kind() {
        _ if is_too_many_files(error) => DialError::TooManyFiles,
        ErrorKind::AddrNotAvailable
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::NetworkUnreachable
        | ErrorKind::PermissionDenied
        | ErrorKind::TimedOut => DialError::Unreached,
        _ if error.raw_os_error() == Some(NO_BUFFERS) => DialError::Unreached,
        _ => DialError::Refused,
    }
}
