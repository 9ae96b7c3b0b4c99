//! The HTTP/1.1 server of every simulator and of the landing page, with or without TLS.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::ledger::{Entry, Ledger};
use crate::guard::{self, Scheme};

/// A request with its complete body.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

pub(crate) type Answer = Response<Full<Bytes>>;

/// The result of a handler: an answer, or `None` to close the connection.
pub(crate) type Reaction = Option<Answer>;

/// A server that listens until it is dropped. Its open connections end with it.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Serves plain HTTP on 127.0.0.1. Port 0 selects a free one.
    pub(crate) async fn plain<H, F>(port: u16, handler: H) -> io::Result<Self>
    where
        H: Fn(Asked) -> F + Send + Sync + 'static,
        F: Future<Output = Reaction> + Send + 'static,
    {
        Self::start(port, None, handler).await
    }

    /// Serves HTTPS on 127.0.0.1. Port 0 selects a free one.
    pub(super) async fn tls<H, F>(port: u16, tls: TlsAcceptor, handler: H) -> io::Result<Self>
    where
        H: Fn(Asked) -> F + Send + Sync + 'static,
        F: Future<Output = Reaction> + Send + 'static,
    {
        Self::start(port, Some(tls), handler).await
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }

    async fn start<H, F>(port: u16, tls: Option<TlsAcceptor>, handler: H) -> io::Result<Self>
    where
        H: Fn(Asked) -> F + Send + Sync + 'static,
        F: Future<Output = Reaction> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, tls, Arc::new(handler)));
        Ok(Self { address, accepting })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept<H, F>(listener: TcpListener, tls: Option<TlsAcceptor>, handler: Arc<H>)
where
    H: Fn(Asked) -> F + Send + Sync + 'static,
    F: Future<Output = Reaction> + Send + 'static,
{
    // This task owns the connections, so dropping the server also ends them.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, tls.clone(), Arc::clone(&handler)));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one client. The simulator ignores failures of the connection, because the client notices them.
async fn connection<H, F>(stream: TcpStream, tls: Option<TlsAcceptor>, handler: Arc<H>)
where
    H: Fn(Asked) -> F + Send + Sync + 'static,
    F: Future<Output = Reaction> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let Ok(port) = stream.local_addr().map(|address| address.port()) else { return };
    match tls {
        None => serve(stream, Scheme::Http, port, handler).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                serve(stream, Scheme::Https, port, handler).await;
            }
        }
    }
}

async fn serve<S, H, F>(stream: S, scheme: Scheme, port: u16, handler: Arc<H>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Asked) -> F + Send + Sync + 'static,
    F: Future<Output = Reaction> + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let handler = Arc::clone(&handler);
        async move {
            let (head, body) = request.into_parts();
            if let Some(reason) = guard::refusal(&head.headers, scheme, port) {
                let why = "The local stack refuses this request, because a web page may have sent it";
                return Ok(text(StatusCode::FORBIDDEN, &format!("{why}: {reason}.")));
            }
            let Ok(body) = body.collect().await else {
                return Ok(text(StatusCode::BAD_REQUEST, "the body ended too early"));
            };
            let asked =
                Asked { method: head.method, uri: head.uri, headers: head.headers, body: body.to_bytes() };
            // hyper closes the connection if the service returns an error.
            handler(asked).await.ok_or_else(|| io::Error::other("closed without an answer"))
        }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Asked {
    pub(super) fn entry(&self) -> Entry {
        Entry::now(&self.method, &self.uri, &self.headers, &self.body)
    }

    /// The segments of the path, without the leading slash.
    pub(super) fn segments(&self) -> Vec<&str> {
        self.uri.path().trim_start_matches('/').split('/').collect()
    }
}

/// `GET` shows the ledger, `DELETE` empties it.
pub(super) fn show_ledger<E: Clone + Serialize>(ledger: &Ledger<E>, method: &Method) -> Answer {
    match *method {
        Method::GET => json(StatusCode::OK, &ledger.entries()),
        Method::DELETE => {
            ledger.clear();
            empty(StatusCode::NO_CONTENT)
        }
        _ => text(StatusCode::METHOD_NOT_ALLOWED, "the ledger knows GET and DELETE"),
    }
}

pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Answer {
    match serde_json::to_string(body) {
        Ok(body) => answer(status, "application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

pub(crate) fn text(status: StatusCode, body: &str) -> Answer {
    answer(status, "text/plain; charset=utf-8", format!("{body}\n"))
}

pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

pub(crate) fn answer(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    answer
}
