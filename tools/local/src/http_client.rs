//! One request to a server of the local stack, over a connection of its own. Plain HTTP.

use std::io;

use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sends the request to its URL's host and returns the whole answer. It has no timeout: add one if you need it.
///
/// # Errors
/// If the URL is not an `http` URL with a host, or if no answer comes.
pub(crate) async fn send(request: Request<Bytes>) -> io::Result<Response<Bytes>> {
    let (mut parts, body) = request.into_parts();
    let host = parts.uri.host().filter(|_| parts.uri.scheme_str() == Some("http"));
    let host = host.ok_or_else(|| io::Error::other("the URL must be an http URL with a host"))?;
    let stream = TcpStream::connect((host, parts.uri.port_u16().unwrap_or(80))).await?;
    let authority = parts.uri.authority().map_or_else(|| host.to_owned(), ToString::to_string);
    parts.headers.insert(HOST, HeaderValue::from_str(&authority).map_err(io::Error::other)?);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse().map_err(io::Error::other)?;

    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let exchange = async move {
        let (head, body) =
            sender.send_request(Request::from_parts(parts, Full::new(body))).await?.into_parts();
        // The connection ends after this, because its sender is dropped.
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    };
    let (answer, _) = futures::join!(exchange, connection);
    answer.map_err(|error: hyper::Error| io::Error::other(error))
}
