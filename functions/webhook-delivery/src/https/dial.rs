//! TCP connections, and what it means that one could not be made.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Connects to an address. The operating system does; tests stand in for it.
pub(super) type Dial =
    Arc<dyn Fn(SocketAddr) -> BoxFuture<'static, std::io::Result<TcpStream>> + Send + Sync>;

/// The operating system's way.
pub(super) fn system() -> Dial {
    Arc::new(|address| Box::pin(TcpStream::connect(address)))
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undialled {
    /// The host answered that it takes none.
    Refused,
    /// Nothing answered, or nothing went out. Whether the host is at fault or our own network, this does not tell.
    Unreached,
    /// This process has no file descriptor left.
    TooManyFiles,
}

/// Connects to the first of the addresses that answers. Each address gets its share of the time that is left, so
/// that one that swallows packets leaves time for the others.
pub(super) async fn connect(
    dial: &Dial,
    addresses: &[IpAddr],
    port: u16,
    by: Instant,
) -> Result<TcpStream, Undialled> {
    let mut worst = Undialled::Unreached;
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let now = Instant::now();
        let share = now + by.saturating_duration_since(now) / left;
        match timeout_at(share, dial(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // A request is written at once and waits for nothing: Nagle's algorithm would only delay it.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => match judged(&error) {
                Undialled::TooManyFiles => return Err(Undialled::TooManyFiles),
                // One address that answers is enough to know that our network lets packets out.
                Undialled::Refused => worst = Undialled::Refused,
                Undialled::Unreached => {}
            },
            Err(_) => {}
        }
    }
    Err(worst)
}

fn judged(error: &std::io::Error) -> Undialled {
    /// Linux: no room for buffers.
    const NO_BUFFERS: i32 = 105;
    match error.kind() {
        _ if is_too_many_files(error) => Undialled::TooManyFiles,
        ErrorKind::AddrNotAvailable
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::NetworkUnreachable
        | ErrorKind::PermissionDenied
        | ErrorKind::TimedOut => Undialled::Unreached,
        _ if error.raw_os_error() == Some(NO_BUFFERS) => Undialled::Unreached,
        _ => Undialled::Refused,
    }
}

/// Whether a process or its system has no file descriptor left.
pub(crate) fn is_too_many_files(error: &std::io::Error) -> bool {
    /// Linux: too many open files, in the system and in the process.
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code))
}
