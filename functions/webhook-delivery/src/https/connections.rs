//! The connections to receivers: opened for one post, kept for the next, and never more than a process can hold.
//!
//! No task runs beside the posts. A connection moves on while the post that has it waits, and a connection that is
//! kept does nothing. So each open socket is either a post's or kept, dropping it closes it at once, and the permit
//! that it holds counts it exactly. A client with a pool of its own (reqwest, hyper-util) opens connections beside the
//! posts, keeps any number of them, and does not tell when one has closed.

use std::collections::VecDeque;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use domain::webhook::Reach;
use domain::{AttemptError, EndpointUrl};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use super::control::Control;
use super::dial::{self, Dial, Undialled};
use super::resolver::{Names, Nowhere};
use crate::transport::Unanswered;

/// How long name, TCP and TLS may take together.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a connection is kept that nobody uses. Lambda freezes the process between invocations; receivers close
/// connections meanwhile.
const IDLE: Duration = Duration::from_secs(20);

/// The right to one socket.
pub(super) type Room = OwnedSemaphorePermit;

/// Opens connections and keeps those that can be used again.
pub(super) struct Connections {
    public: TlsConnector,
    trusted: TlsConnector,
    names: Names,
    dial: Dial,
    control: Control,
    sockets: Arc<Semaphore>,
    kept: Mutex<VecDeque<Kept>>,
}

/// A connection that waits for the next post to its origin.
struct Kept {
    origin: String,
    since: Instant,
    connection: Connection,
}

impl Connections {
    /// `sockets` are the most that are open at any time.
    pub(super) fn new(
        public: ClientConfig,
        trusted: Option<ClientConfig>,
        names: Names,
        dial: Dial,
        control: Control,
        sockets: usize,
    ) -> Self {
        let public = TlsConnector::from(Arc::new(public));
        let trusted = trusted.map_or_else(|| public.clone(), |tls| TlsConnector::from(Arc::new(tls)));
        let sockets = Arc::new(Semaphore::new(sockets));
        Self { public, trusted, names, dial, control, sockets, kept: Mutex::default() }
    }

    /// The same with another number of sockets.
    pub(super) fn limited(self, sockets: usize) -> Self {
        Self { sockets: Arc::new(Semaphore::new(sockets)), ..self }
    }

    /// The same with another way to connect to an address.
    pub(super) fn dialling(self, dial: Dial) -> Self {
        Self { control: self.control.dialling(Arc::clone(&dial)), dial, ..self }
    }

    /// The connection to an origin that was used last, if one is kept and still open.
    pub(super) async fn kept(&self, origin: &str) -> Option<Connection> {
        loop {
            let mut found = self.take(origin)?;
            // The runtime learns what has arrived when nothing else is to be done: after a freeze, it has not yet.
            tokio::task::yield_now().await;
            if found.connection.can_send() {
                return Some(found.connection);
            }
        }
    }

    fn take(&self, origin: &str) -> Option<Kept> {
        let mut kept = self.locked();
        close_old(&mut kept);
        let place = kept.iter().rposition(|it| it.origin == origin)?;
        kept.remove(place)
    }

    /// Keeps a connection for the next post to its origin, unless it has ended.
    pub(super) fn keep(&self, origin: String, mut connection: Connection) {
        let mut kept = self.locked();
        close_old(&mut kept);
        if connection.can_send() {
            kept.push_back(Kept { origin, since: Instant::now(), connection });
        }
    }

    /// Room for one more socket. If all are open, the connection closes that was kept longest. One is kept then, or
    /// about to close: fewer posts are in flight than there are sockets.
    pub(super) async fn room(&self) -> Result<Room, Unanswered> {
        if let Ok(room) = Arc::clone(&self.sockets).try_acquire_owned() {
            return Ok(room);
        }
        let oldest = self.locked().pop_front();
        if let Some(oldest) = oldest {
            oldest.connection.close();
        }
        Arc::clone(&self.sockets).acquire_owned().await.map_err(|_| Unanswered::NotSent)
    }

    /// Opens a connection to where a URL leads.
    pub(super) async fn open(
        &self,
        url: &EndpointUrl,
        reach: Reach,
        room: Room,
        until: Instant,
    ) -> Result<Connection, Unanswered> {
        let by = until.min(Instant::now() + CONNECT);
        let in_vain = || match Instant::now() < until {
            true => AttemptError::ConnectFailed,
            false => AttemptError::Timeout,
        };
        let (Some(host), Some(port)) = (url.as_url().host(), url.as_url().port_or_known_default()) else {
            return Err(AttemptError::AddressRefused.into());
        };
        let found = timeout_at(until, self.names.addresses(&host, reach)).await;
        let addresses = match found.map_err(|_| AttemptError::Timeout)? {
            Ok(addresses) => addresses,
            Err(Nowhere::Refused) => return Err(AttemptError::AddressRefused.into()),
            Err(Nowhere::NoAddress) => return Err(AttemptError::DnsFailed.into()),
            Err(Nowhere::Unknown) if self.control.finds_its_name().await => {
                return Err(AttemptError::DnsFailed.into());
            }
            Err(Nowhere::Unknown | Nowhere::TooManyFiles) => return Err(Unanswered::NotSent),
        };
        let stream = match dial::connect(&self.dial, &addresses, port, by).await {
            Ok(stream) => stream,
            Err(Undialled::Refused) => return Err(AttemptError::ConnectFailed.into()),
            Err(Undialled::TooManyFiles) => return Err(Unanswered::NotSent),
            Err(Undialled::Unreached) => {
                let error = in_vain();
                return Err(if self.control.connects().await { error.into() } else { Unanswered::NotSent });
            }
        };
        let tls = match reach {
            Reach::Public => &self.public,
            Reach::Trusted => &self.trusted,
        };
        let name = match host {
            Host::Domain(name) => {
                ServerName::try_from(name.to_owned()).map_err(|_| AttemptError::TlsFailed)?
            }
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::from(address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::from(address)),
        };
        let stream = match timeout_at(by, tls.connect(name, stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if is_tls(&error) => return Err(AttemptError::TlsFailed.into()),
            Ok(Err(_)) | Err(_) => return Err(in_vain().into()),
        };
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, wire) = shaken.map_err(|_| AttemptError::ConnectFailed)?;
        Ok(Connection { sender, wire: Wire(Some(Box::pin(wire))), _room: room })
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest stand in front.
fn close_old(kept: &mut VecDeque<Kept>) {
    while kept.front().is_some_and(|oldest| oldest.since.elapsed() > IDLE) {
        if let Some(oldest) = kept.pop_front() {
            oldest.connection.close();
        }
    }
}

/// An open connection. Dropping it closes it.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    wire: Wire,
    // Below the wire: the socket closes first, then its room is free.
    _room: Room,
}

impl Connection {
    /// Sends a request and waits for the head of its answer. A request comes back with the error if nothing of it
    /// was sent.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        let sent = self.sender.try_send_request(request);
        self.wire.carry(sent).await
    }

    /// Waits for something that comes by this connection.
    pub(super) async fn carry<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.wire.carry(work).await
    }

    /// Whether another request can be sent, as far as what has arrived tells.
    fn can_send(&mut self) -> bool {
        self.wire.move_on(&mut Context::from_waker(Waker::noop()));
        self.wire.0.is_some() && self.sender.is_ready()
    }

    /// Closes a connection that is at rest, and says so to the receiver.
    fn close(self) {
        let Self { sender, mut wire, _room: room } = self;
        drop(sender);
        wire.move_on(&mut Context::from_waker(Waker::noop()));
        drop(wire);
        drop(room);
    }
}

/// What moves bytes between the socket and the requests, until it ends.
struct Wire(Option<Pin<Box<Http>>>);

type Http = http1::Connection<TokioIo<TlsStream<TcpStream>>, Full<Bytes>>;

impl Wire {
    async fn carry<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            // The work is asked first, so that the wire knows what is wanted and brings it in the same turn.
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            self.move_on(context);
            work.as_mut().poll(context)
        })
        .await
    }

    fn move_on(&mut self, context: &mut Context<'_>) {
        // Why it ended is told to the request that waits. One that was not begun comes back when the wire is dropped.
        if let Some(wire) = &mut self.0
            && let Poll::Ready(_) = wire.as_mut().poll(context)
        {
            self.0 = None;
        }
    }
}

/// Whether an error is TLS's. An I/O error does not name the error it wraps as its source.
pub(super) fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| is_tls(wrapped))
}
