//! The way to the receivers.

use std::error::Error;
use std::future::Future;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use domain::webhook::Reach;
use domain::{Attempt, AttemptError, EndpointUrl, Secret, TrustedReceivers};
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::{Instant, timeout_at};

use crate::resolver::{Lookup, Names, Resolver, SystemLookup, Unresolved};

/// One POST. The body is sent as it is, byte for byte.
pub struct Post<'a> {
    /// Where to.
    pub url: &'a EndpointUrl,
    /// What proves where it comes from.
    pub headers: [(&'static str, Secret); 6],
    /// The event.
    pub body: &'a [u8],
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After` as sent, if it was text.
    pub retry_after: Option<String>,
    /// The beginning of the body, at most [`Attempt::MAX_ANSWER`] bytes.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The attempt failed.
    Failed(AttemptError),
    /// There was none: our own network let nothing out, which is not the receiver's failure.
    NotSent,
}

impl From<AttemptError> for Unanswered {
    fn from(error: AttemptError) -> Self {
        Self::Failed(error)
    }
}

/// Posts to receivers. The one place where this function leaves our own network, so tests stand in for it.
pub trait Transport {
    /// Posts once: no retries, no redirects.
    fn post(&self, post: Post<'_>) -> impl Future<Output = Result<Answer, Unanswered>>;
}

/// HTTPS to public addresses, each checked after its name was resolved; and to receivers that the deployment
/// trusts.
pub struct Https {
    public: Client,
    trusted: Option<Client>,
    receivers: TrustedReceivers,
    time: Duration,
    lookup: Names,
}

impl Https {
    const CONNECT: Duration = Duration::from_secs(5);
    /// How much of an answer is read before its connection is given up.
    const MAX_READ: usize = 8 * 1024;
    /// Lambda freezes the process between batches; receivers close connections meanwhile.
    const IDLE: Duration = Duration::from_secs(20);

    /// Makes the clients, which takes milliseconds and is done once. `extra_ca` (PEM) is believed for the trusted
    /// receivers alone; `time` is what an attempt may take in all; `ours` is a URL of a service that this function
    /// depends on itself: should a name not be found, and the name in this URL neither, it is our own network that
    /// finds none.
    pub fn new(
        receivers: TrustedReceivers,
        extra_ca: &str,
        time: Duration,
        ours: &str,
    ) -> Result<Self, HttpsError> {
        Self::with_lookup(receivers, extra_ca, time, ours, Arc::new(SystemLookup))
    }

    /// The same with another way to look names up.
    pub fn with_lookup(
        receivers: TrustedReceivers,
        extra_ca: &str,
        time: Duration,
        ours: &str,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, HttpsError> {
        let lookup = Names::new(lookup, ours);
        let public = client(RootCertStore::empty(), Resolver::new(lookup.clone(), Reach::Public))?;
        let trusted = match receivers.is_empty() {
            true => None,
            false => Some(client(certificates(extra_ca)?, Resolver::new(lookup.clone(), Reach::Trusted))?),
        };
        Ok(Self { public, trusted, receivers, time, lookup })
    }

    /// The client for a URL; none where it must not be called. The resolver is not asked for URLs that name an
    /// address, so the URL is judged here, anew for each attempt.
    fn client_for(&self, url: &EndpointUrl) -> Option<&Client> {
        match url.reach(&self.receivers) {
            Ok(Reach::Public) => Some(&self.public),
            Ok(Reach::Trusted) => self.trusted.as_ref(),
            Err(_) => None,
        }
    }
}

impl Transport for Https {
    async fn post(&self, post: Post<'_>) -> Result<Answer, Unanswered> {
        let until = Instant::now() + self.time;
        let client = self.client_for(post.url).ok_or(AttemptError::AddressRefused)?;
        let mut request = client.post(post.url.as_url().clone()).header(CONTENT_TYPE, "application/json");
        for (name, value) in &post.headers {
            // Every value is made of visible ASCII: keys are checked when they are set, the rest is ours.
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| AttemptError::AnswerBroken)?;
            value.set_sensitive(true);
            request = request.header(*name, value);
        }
        let sent = timeout_at(until, request.body(post.body.to_vec()).send());
        let response = match sent.await.map_err(|_| AttemptError::Timeout)? {
            Ok(response) => response,
            Err(error) if is_ours(&error) && self.lookup.have_ipv4(post.url).await => {
                return Err(Unanswered::NotSent);
            }
            Err(error) => return Err(code(&error)),
        };
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Answer { status, retry_after, body: beginning(response, until).await })
    }
}

/// The beginning of a body. The status has decided already: a body that drips, breaks or never ends changes
/// nothing and is cut.
async fn beginning(mut response: Response, until: Instant) -> Vec<u8> {
    let (mut body, mut read) = (vec![], 0);
    while read < Https::MAX_READ {
        let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await else { break };
        read += chunk.len();
        let room = Attempt::MAX_ANSWER - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    body
}

/// The stable code of a failure.
fn code(error: &reqwest::Error) -> Unanswered {
    for cause in chain(error) {
        if let Some(Unresolved(code)) = cause.downcast_ref() {
            return *code;
        }
        if is_tls(cause) {
            return AttemptError::TlsFailed.into();
        }
    }
    if error.is_connect() {
        AttemptError::ConnectFailed.into()
    } else if error.is_timeout() {
        AttemptError::Timeout.into()
    } else {
        AttemptError::AnswerBroken.into()
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// Whether a connection was not begun for want of a way out of our own network, of ports or of files. (A host that has
/// IPv6 addresses alone cannot be reached from a network without: that is for its owner to mend.)
fn is_ours(error: &reqwest::Error) -> bool {
    /// Linux: too many open files, in the system and in the process.
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    chain(error).filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(|error| {
        let out = [ErrorKind::NetworkDown, ErrorKind::NetworkUnreachable, ErrorKind::AddrNotAvailable];
        out.contains(&error.kind()) || error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code))
    })
}

/// Whether an error is TLS's. An I/O error does not name the error it wraps as its source.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| is_tls(wrapped))
}

fn client(extra: RootCertStore, resolver: Resolver) -> Result<Client, HttpsError> {
    outbound::client(outbound::tls(extra).map_err(HttpsError::Tls)?, "Webhooks")
        .dns_resolver(resolver)
        .https_only(true)
        .connect_timeout(Https::CONNECT)
        .pool_idle_timeout(Https::IDLE)
        .build()
        .map_err(HttpsError::Client)
}

fn certificates(pem: &str) -> Result<RootCertStore, HttpsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|_| HttpsError::Pem)?).map_err(HttpsError::Tls)?;
    }
    Ok(roots)
}

/// The clients cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpsError {
    /// `TRUSTED_CA_PEM` cannot be read.
    #[error("TRUSTED_CA_PEM is not PEM")]
    Pem,
    /// TLS cannot be set up, or the extra certificate is none.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made")]
    Client(#[source] reqwest::Error),
}
