//! An HTTP server with or without TLS. A closure returns its responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming as Streaming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A request that was read completely.
pub struct Incoming {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A response.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// A response with this body and no extra headers.
    pub fn of(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, headers: vec![], body: body.into() }
    }
}

/// A certificate authority for servers with TLS. Each run creates a new one.
pub struct Authority {
    /// The TLS configuration of a server on `127.0.0.1`.
    pub server: Arc<ServerConfig>,
    /// The root certificate that clients must trust, as PEM.
    pub pem: String,
}

impl Authority {
    /// Creates a self-signed certificate.
    pub fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]);
        let made = made.expect("a self-signed certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key)
            });
        Self { server: Arc::new(config.expect("a TLS configuration")), pem: made.cert.pem() }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A server on a free loopback port. It ends with the async runtime.
pub struct Server {
    /// The port.
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server. `answer` returns the response to each request.
    pub async fn start<A, F>(tls: Option<Arc<ServerConfig>>, answer: A) -> Self
    where
        A: Fn(Incoming) -> F + Send + Sync + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("the listener's address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let answer: Arc<dyn Fn(Incoming) -> Answering + Send + Sync> =
            Arc::new(move |request| Box::pin(answer(request)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection(stream, tls.clone().map(TlsAcceptor::from), answer.clone()));
            }
        });
        Self { port, connections }
    }

    /// The number of connections opened so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    answer: Arc<dyn Fn(Incoming) -> Answering + Send + Sync>,
) {
    let service = service_fn(move |request: Request<Streaming>| {
        let answer = answer.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
            let answer = answer(Incoming { method: head.method, path, headers: head.headers, body }).await;
            let mut response = Response::builder().status(answer.status);
            for (name, value) in answer.headers {
                response = response.header(name, value);
            }
            Ok::<_, Infallible>(response.body(Full::new(answer.body)).unwrap_or_default())
        }
    });
    let mut http = http1::Builder::new();
    http.pipeline_flush(true);
    // The server ignores a client that closes its connection early.
    let _ = match tls {
        None => http.serve_connection(TokioIo::new(stream), service).await,
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => http.serve_connection(TokioIo::new(stream), service).await,
            Err(_) => Ok(()),
        },
    };
}
