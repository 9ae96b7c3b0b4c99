//! The HTTPS transport to the receivers.

mod answers;
mod connections;
mod control;
mod dial;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use domain::{Attempt, AttemptError, TrustedReceivers};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use outbound::resolver::{Lookup, Names, SystemLookup};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::Position;

use crate::transport::{Answer, Post, Transport, Unanswered};
use connections::{Connection, Connections, SocketPermit, is_tls};
use control::Control;
use dial::Dial;

/// Posts over HTTPS to public addresses and to receivers that the deployment trusts. Each address is checked after
/// its name is resolved. A process makes one `Https` for all invocations, so its limits hold for the process.
pub struct Https {
    connections: Connections,
    receivers: TrustedReceivers,
    time: Duration,
    agent: HeaderValue,
    slots: Semaphore,
}

impl Https {
    /// The maximum number of posts in flight at the same time. Further posts wait for a slot, and their time limit
    /// starts when they get it.
    pub const POSTS: usize = 600;
    /// The maximum number of open sockets to receivers at the same time, including the kept ones. Lambda gives a
    /// process 1,024 descriptors. Of the others, [`SystemLookup`] takes up to two for each of
    /// [`SystemLookup::AT_ONCE`] names, and almost 200 are for the connections to AWS and for the runtime. There are
    /// more sockets than posts, so some connections stay open while all posts are in flight.
    pub const SOCKETS: usize = 700;
    /// How many bytes of an answer are read before the connection is closed.
    const MAX_READ: usize = 8 * 1024;

    /// Prepares TLS, which takes milliseconds and happens once.
    ///
    /// - `extra_ca` (PEM) is trusted for the trusted receivers only.
    /// - `time` is the time limit of a whole attempt.
    /// - `ours` is a URL of a service that this function depends on. If neither the receiver nor this service can be
    ///   reached, the deployment's own network is at fault. If `time` is below ten seconds, this check takes up to four
    ///   seconds more than `time`.
    pub fn new(
        receivers: TrustedReceivers,
        extra_ca: &str,
        time: Duration,
        ours: &str,
    ) -> Result<Self, HttpsError> {
        Self::with_lookup(receivers, extra_ca, time, ours, Arc::new(SystemLookup::default()))
    }

    /// Like [`Https::new`], with another name lookup.
    pub fn with_lookup(
        receivers: TrustedReceivers,
        extra_ca: &str,
        time: Duration,
        ours: &str,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, HttpsError> {
        let tls = |extra| outbound::tls(extra).map_err(HttpsError::Tls);
        let trusted = match receivers.is_empty() {
            true => None,
            false => Some(tls(certificates(extra_ca)?)?),
        };
        let public = tls(RootCertStore::empty())?;
        let agent =
            HeaderValue::try_from(outbound::user_agent("Webhooks")).map_err(|_| HttpsError::UserAgent)?;
        let (names, dial) = (Names::new(lookup), dial::system());
        let control = Control::new(ours, names.clone(), Arc::clone(&dial)).ok_or(HttpsError::Control)?;
        let connections = Connections::new(public, trusted, names, dial, control, Self::SOCKETS);
        Ok(Self { connections, receivers, time, agent, slots: Semaphore::new(Self::POSTS) })
    }

    /// Replaces the limits [`Https::POSTS`] and [`Https::SOCKETS`]. The number of sockets is always greater than the
    /// number of posts.
    pub fn limited(mut self, posts: usize, sockets: usize) -> Self {
        self.slots = Semaphore::new(posts);
        self.connections = self.connections.limited(sockets.max(posts + 1));
        self
    }

    /// Replaces the function that connects to an address.
    pub fn dialling(mut self, dial: Dial) -> Self {
        self.connections = self.connections.dialling(dial);
        self
    }

    fn request(&self, post: &Post<'_>, origin: &str) -> Result<Request<Full<Bytes>>, AttemptError> {
        let broken = AttemptError::AnswerBroken;
        let target = &post.url.as_url()[Position::BeforePath..Position::AfterQuery];
        let mut request = Request::new(Full::new(Bytes::copy_from_slice(post.body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::try_from(target).map_err(|_| broken)?;
        let headers = request.headers_mut();
        headers.reserve(4 + post.headers.len());
        headers.insert(HOST, HeaderValue::from_str(origin).map_err(|_| broken)?);
        headers.insert(USER_AGENT, self.agent.clone());
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &post.headers {
            // Every value is visible ASCII: keys are checked when they are set, and this function makes the other
            // values.
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| broken)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(request)
    }
}

impl Transport for Https {
    async fn post(&self, post: Post<'_>) -> Result<Answer, Unanswered> {
        // The URL may have been stored before a rule refused it, so each attempt checks it.
        let reach = post.url.reach(&self.receivers).map_err(|_| AttemptError::AddressRefused)?;
        let _slot = self.slots.acquire().await.map_err(|_| Unanswered::NotSent)?;
        let origin = &post.url.as_url()[Position::BeforeHost..Position::AfterPort];
        let mut request = self.request(&post, origin)?;
        let mut way = self.way(origin).await?;
        let until = Instant::now() + self.time;
        loop {
            let (mut connection, is_kept) = match way {
                Way::Kept(connection) => (connection, true),
                Way::Connect(permit) => {
                    (Box::pin(self.connections.open(post.url, reach, permit, until)).await?, false)
                }
            };
            match timeout_at(until, connection.send(request)).await {
                Ok(Ok(response)) => {
                    return Ok(self.answered(response, connection, origin, until).await);
                }
                Ok(Err(mut error)) => match error.take_message() {
                    // The receiver closed a kept connection before anything of this request was sent.
                    Some(unsent) if is_kept => request = unsent,
                    _ => return Err(code(error.error()).into()),
                },
                Err(_) => return Err(AttemptError::Timeout.into()),
            }
            drop(connection);
            way = timeout_at(until, self.way(origin)).await.map_err(|_| Unanswered::NotSent)??;
        }
    }
}

/// How a request reaches the receiver.
enum Way {
    /// Over a kept connection.
    Kept(Connection),
    /// Over a new connection, which this permit allows.
    Connect(SocketPermit),
}

impl Https {
    async fn way(&self, origin: &str) -> Result<Way, Unanswered> {
        match self.connections.kept(origin).await {
            Some(connection) => Ok(Way::Kept(connection)),
            None => Ok(Way::Connect(self.connections.permit().await?)),
        }
    }

    /// Reads the answer. The status alone decides the outcome: if the body is slow, broken or endless, it is cut and
    /// the connection is closed.
    async fn answered(
        &self,
        response: Response<Incoming>,
        mut connection: Connection,
        origin: &str,
        until: Instant,
    ) -> Answer {
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (mut body, mut read, mut incoming) = (vec![], 0, response.into_body());
        while read < Self::MAX_READ {
            match timeout_at(until, connection.carry(incoming.frame())).await {
                Ok(Some(Ok(frame))) => {
                    let Some(chunk) = frame.data_ref() else { continue };
                    read += chunk.len();
                    let room = Attempt::MAX_ANSWER - body.len();
                    body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
                Ok(None) => {
                    self.connections.keep(origin.to_owned(), connection);
                    break;
                }
                Ok(Some(Err(_))) | Err(_) => break,
            }
        }
        Answer { status, retry_after, body }
    }
}

/// The stable error code of a failure after the connection was made.
fn code(error: &hyper::Error) -> AttemptError {
    let mut causes = std::iter::successors(Some(error as &(dyn Error + 'static)), |error| (*error).source());
    match causes.any(is_tls) {
        true => AttemptError::TlsFailed,
        false => AttemptError::AnswerBroken,
    }
}

fn certificates(pem: &str) -> Result<RootCertStore, HttpsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|_| HttpsError::Pem)?).map_err(HttpsError::Tls)?;
    }
    Ok(roots)
}

/// Why the transport cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpsError {
    /// `TRUSTED_CA_PEM` is not valid PEM.
    #[error("TRUSTED_CA_PEM is not PEM")]
    Pem,
    /// TLS cannot be set up, or the extra certificate is not valid.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The URL for control connections has no host or no port.
    #[error("the URL for control connections has no host or no port")]
    Control,
    /// The user agent is not a valid header value.
    #[error("the user agent cannot be sent")]
    UserAgent,
}
