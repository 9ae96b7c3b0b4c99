//! The connections to receivers: a post opens one, the next post reuses it, and their number is limited.
//!
//! No task runs beside the posts. A connection makes progress only while its post waits, and a kept connection does
//! nothing. So each open socket either belongs to a post or is kept, dropping it closes it at once, and its permit
//! counts it exactly. A client with its own pool (reqwest, hyper-util) opens connections beside the posts, keeps any
//! number of them, and does not report when one has closed.

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
use outbound::resolver::{Names, ResolveError};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use super::answers::{Answers, Begins};
use super::control::Control;
use super::dial::{self, Dial, DialError};
use crate::transport::Unanswered;

/// The time limit for the name lookup, TCP and TLS together.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an unused connection is kept. Lambda freezes the process between invocations, and receivers close
/// connections in that time.
const IDLE: Duration = Duration::from_secs(20);

/// The permit for one socket.
pub(super) type SocketPermit = OwnedSemaphorePermit;

/// Opens connections and keeps reusable ones.
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
    /// `sockets` is the maximum number of open sockets.
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

    /// Replaces the maximum number of sockets.
    pub(super) fn limited(self, sockets: usize) -> Self {
        Self { sockets: Arc::new(Semaphore::new(sockets)), ..self }
    }

    /// Replaces the function that connects to an address.
    pub(super) fn dialling(self, dial: Dial) -> Self {
        Self { control: self.control.dialling(Arc::clone(&dial)), dial, ..self }
    }

    /// The kept connection to an origin that was used last, if it is still open.
    pub(super) async fn kept(&self, origin: &str) -> Option<Connection> {
        loop {
            let mut found = self.take(origin)?;
            // The runtime processes received data when no task is ready. After a freeze, it has not done so yet.
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

    /// Keeps a connection for the next post to its origin, unless the connection has ended.
    pub(super) fn keep(&self, origin: String, mut connection: Connection) {
        let mut kept = self.locked();
        close_old(&mut kept);
        if connection.can_send() {
            kept.push_back(Kept { origin, since: Instant::now(), connection });
        }
    }

    /// Returns a permit for one more socket. If all are in use, it closes the connection that was kept longest. There
    /// is always one kept or about to close, because fewer posts are in flight than there are sockets.
    pub(super) async fn permit(&self) -> Result<SocketPermit, Unanswered> {
        if let Ok(permit) = Arc::clone(&self.sockets).try_acquire_owned() {
            return Ok(permit);
        }
        let oldest = self.locked().pop_front();
        if let Some(oldest) = oldest {
            oldest.connection.close();
        }
        Arc::clone(&self.sockets).acquire_owned().await.map_err(|_| Unanswered::NotSent)
    }

    /// Opens a connection to the host of a URL.
    pub(super) async fn open(
        &self,
        url: &EndpointUrl,
        reach: Reach,
        permit: SocketPermit,
        until: Instant,
    ) -> Result<Connection, Unanswered> {
        let by = until.min(Instant::now() + CONNECT);
        let connect_error = || match Instant::now() < until {
            true => AttemptError::ConnectFailed,
            false => AttemptError::Timeout,
        };
        let (Some(host), Some(port)) = (url.as_url().host(), url.as_url().port_or_known_default()) else {
            return Err(AttemptError::AddressRefused.into());
        };
        let found = timeout_at(until, self.names.addresses(&host, reach)).await;
        let addresses = match found.map_err(|_| AttemptError::Timeout)? {
            Ok(addresses) => addresses,
            Err(ResolveError::Refused) => return Err(AttemptError::AddressRefused.into()),
            Err(ResolveError::NoAddress) => return Err(AttemptError::DnsFailed.into()),
            Err(ResolveError::Unknown) if self.control.resolves().await => {
                return Err(AttemptError::DnsFailed.into());
            }
            Err(ResolveError::Unknown | ResolveError::TooManyFiles) => return Err(Unanswered::NotSent),
        };
        let stream = match dial::connect(&self.dial, &addresses, port, by).await {
            Ok(stream) => stream,
            Err(DialError::Refused) => return Err(AttemptError::ConnectFailed.into()),
            Err(DialError::TooManyFiles) => return Err(Unanswered::NotSent),
            Err(DialError::Unreached) => {
                let error = connect_error();
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
            Ok(Err(_)) | Err(_) => return Err(connect_error().into()),
        };
        let (stream, begins) = Answers::of(stream);
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, wire) = shaken.map_err(|_| AttemptError::ConnectFailed)?;
        Ok(Connection { sender, begins, wire: Wire(Some(Box::pin(wire))), _permit: permit })
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connections that were kept too long. The oldest ones are at the front.
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
    begins: Begins,
    wire: Wire,
    // This field is below `wire`, so the socket closes before its permit is released.
    _permit: SocketPermit,
}

impl Connection {
    /// Sends a request and waits for the head of its answer. If nothing of the request was sent, the error returns
    /// the request.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        self.begins.now();
        let sent = self.sender.try_send_request(request);
        self.wire.carry(sent).await
    }

    /// Moves bytes over this connection until `work` is ready.
    pub(super) async fn carry<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.wire.carry(work).await
    }

    /// Whether the connection can send another request, according to the data received so far.
    fn can_send(&mut self) -> bool {
        self.wire.drive(&mut Context::from_waker(Waker::noop()));
        self.wire.0.is_some() && self.sender.is_ready()
    }

    /// Closes an idle connection and tells the receiver (TLS `close_notify`).
    fn close(self) {
        let Self { sender, mut wire, _permit: permit, .. } = self;
        drop(sender);
        wire.drive(&mut Context::from_waker(Waker::noop()));
        drop(wire);
        drop(permit);
    }
}

/// Moves bytes between the socket and the requests, until the connection ends.
struct Wire(Option<Pin<Box<Http>>>);

type Http = http1::Connection<TokioIo<Answers<TlsStream<TcpStream>>>, Full<Bytes>>;

impl Wire {
    async fn carry<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            // Polling the work first gives its bytes to the connection, which sends them in the same poll.
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            self.drive(context);
            work.as_mut().poll(context)
        })
        .await
    }

    fn drive(&mut self, context: &mut Context<'_>) {
        // The waiting request gets the error. A request that was not begun is returned when the connection is
        // dropped.
        if let Some(wire) = &mut self.0
            && let Poll::Ready(_) = wire.as_mut().poll(context)
        {
            self.0 = None;
        }
    }
}

/// Whether TLS caused an error. An I/O error does not return its wrapped error as its source.
pub(super) fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| is_tls(wrapped))
}
