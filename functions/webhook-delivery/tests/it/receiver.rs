//! A receiver over TLS on a free loopback port. It answers exactly the bytes of the test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// How a receiver handles each request.
#[derive(Clone)]
pub(crate) enum Behaviour {
    /// Sends these bytes and closes the connection.
    Answers(Vec<u8>),
    /// Sends these bytes and waits for the next request.
    Keeps(Vec<u8>),
    /// Sends these bytes after this time.
    Late(Duration, Vec<u8>),
    /// Reads the request and never answers.
    Silent,
    /// Sends a status and then an endless body, with this pause between its pieces.
    Endless(Duration),
    /// Uses HTTP without TLS.
    Plain,
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    /// The certificate of the authority that signed the receiver's certificate.
    pub(crate) ca: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    open: Arc<()>,
}

impl Receiver {
    /// Starts a receiver whose certificate is for that name.
    pub(crate) async fn start(name: &str, behaviour: Behaviour) -> Self {
        let (acceptor, ca) = certified(name);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, connections) = (Arc::new(Mutex::new(vec![])), Arc::new(Mutex::new(0)));
        let (seen, count) = (requests.clone(), connections.clone());
        let open = Arc::new(());
        let one = open.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                let (acceptor, behaviour, seen) = (acceptor.clone(), behaviour.clone(), seen.clone());
                let one = one.clone();
                tokio::spawn(async move {
                    let _one = one;
                    let mut stream = stream;
                    if let Behaviour::Plain = behaviour {
                        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                        return;
                    }
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    while let Some(request) = read_request(&mut stream).await {
                        seen.lock().unwrap().push(request);
                        answer(&mut stream, &behaviour).await;
                        if let Behaviour::Answers(bytes) = &behaviour
                            && !bytes.starts_with(b"HTTP/1.1 204")
                        {
                            let _ = stream.shutdown().await;
                            return;
                        }
                    }
                });
            }
        });
        Self { address, ca, requests, connections, open }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// The number of its open sockets: the accepted connections and the listener.
    pub(crate) fn sockets(&self) -> usize {
        // One reference is this value's own, and another is the listener task's.
        Arc::strong_count(&self.open) - 1
    }
}

/// A complete answer.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Behaviour {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}");
    Behaviour::Answers(text.into_bytes())
}

async fn answer(stream: &mut (impl AsyncWrite + Unpin), behaviour: &Behaviour) {
    match behaviour {
        Behaviour::Answers(bytes) | Behaviour::Keeps(bytes) => {
            let _ = stream.write_all(bytes).await;
            let _ = stream.flush().await;
        }
        Behaviour::Late(wait, bytes) => {
            tokio::time::sleep(*wait).await;
            let _ = stream.write_all(bytes).await;
            let _ = stream.flush().await;
        }
        Behaviour::Silent | Behaviour::Plain => std::future::pending().await,
        Behaviour::Endless(pause) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n").await;
            while stream.write_all(b"0123456789abcdef").await.is_ok() && stream.flush().await.is_ok() {
                tokio::time::sleep(*pause).await;
            }
        }
    }
}

/// Reads the head and body of one request. Returns `None` if the connection ends.
async fn read_request(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
    let mut bytes = vec![];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            _ => return None,
        }
    }
}

/// A TLS acceptor with a certificate of a new authority, and that authority's certificate.
fn certified(name: &str) -> (TlsAcceptor, String) {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(vec![]).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), ca_pem)
}
