//! Reads the heads of answers as leniently as possible, because the status alone decides whether a delivery is acknowledged.
//!
//! hyper refuses a whole answer because of one header line that is no header: a folded line, a control character, a blank
//! before the colon, a line without one, too many lines. A receiver that wrote `200` above such a line has processed the
//! event. So [`Answers`] stands between the socket and hyper: it reads each head line by line and gives hyper a head of
//! its own, with the status and the few headers that matter. A head that is not clean leads to no further request on
//! the connection, so nobody has to agree on where that answer ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The maximum size of a head, with all its informational answers (1xx).
const MAX_HEAD: usize = 256 * 1024;
/// The maximum size of a line that is looked at. What a longer one says is ignored.
const MAX_LINE: usize = 4 * 1024;

/// A stream whose reader gets clean heads of answers.
pub(super) struct Answers<S> {
    stream: S,
    begins: Begins,
    head: Option<Head>,
    /// Bytes for the reader before those of the stream: a clean head, and the beginning of the body.
    before: Vec<u8>,
}

/// Tells a stream that the next byte it reads begins an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Begins(Arc<AtomicBool>);

impl Begins {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<S> Answers<S> {
    /// Until the returned value says that an answer begins, the reader gets all bytes as they are.
    pub(super) fn of(stream: S) -> (Self, Begins) {
        let begins = Begins::default();
        (Self { stream, begins: begins.clone(), head: None, before: vec![] }, begins)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Answers<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.begins.0.swap(false, Ordering::Relaxed) {
            this.head = Some(Head::default());
        }
        while let Some(head) = &mut this.head {
            let mut bytes = [0; 4096];
            let mut read = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                // The reader finds the end of the stream within the answer.
                return Poll::Ready(Ok(()));
            }
            let Some((clean, used)) = head.read(read.filled())? else { continue };
            this.before = clean;
            this.before.extend_from_slice(&read.filled()[used..]);
            this.head = None;
        }
        if this.before.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let given = this.before.len().min(buffer.remaining());
        buffer.put_slice(&this.before[..given]);
        this.before.drain(..given);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Answers<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// What is known of a head so far.
#[derive(Debug, Default)]
struct Head {
    read: usize,
    line: Vec<u8>,
    line_is_too_long: bool,
    status: Option<Status>,
    lengths: Vec<Option<u64>>,
    codings: Vec<String>,
    retry_after: Option<String>,
    closes: bool,
    is_odd: bool,
}

#[derive(Clone, Copy, Debug)]
struct Status {
    code: u16,
    /// Whether the connection stays open if no header says otherwise.
    is_http_1_1: bool,
}

/// How the end of the body is found.
enum Body {
    Empty,
    Sized(u64),
    Chunked,
    /// It ends with the connection.
    UntilEnd,
}

impl Head {
    /// Reads on. At the end of the head, it returns a clean head and how many of these bytes belonged to the head.
    fn read(&mut self, bytes: &[u8]) -> io::Result<Option<(Vec<u8>, usize)>> {
        for (at, byte) in bytes.iter().enumerate() {
            self.read += 1;
            if self.read > MAX_HEAD {
                return Err(broken("the head is too large"));
            }
            if *byte != b'\n' {
                match self.line.len() < MAX_LINE {
                    true => self.line.push(*byte),
                    false => self.line_is_too_long = true,
                }
                continue;
            }
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') && !self.line_is_too_long {
                line.pop();
            }
            if let Some(status) = self.end_line(&line)? {
                return Ok(Some((self.clean(status), at + 1)));
            }
        }
        Ok(None)
    }

    /// Takes a line, and returns the status after the last one.
    fn end_line(&mut self, line: &[u8]) -> io::Result<Option<Status>> {
        let is_too_long = std::mem::take(&mut self.line_is_too_long);
        match self.status {
            // Empty lines may precede an answer.
            None if line.is_empty() => {}
            None => self.status = Some(Status::parse(line).ok_or(broken("there is no status"))?),
            Some(status) if line.is_empty() && status.is_informational() => {
                *self = Self { read: self.read, ..Self::default() };
            }
            Some(status) if line.is_empty() => return Ok(Some(status)),
            Some(_) if is_too_long => {}
            Some(_) => self.take_header(line),
        }
        Ok(None)
    }

    fn take_header(&mut self, line: &[u8]) {
        let Some((name, value)) = header(line) else {
            self.is_odd = true;
            return;
        };
        self.is_odd |= name.is_odd || value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t');
        let tokens = || value.split(',').map(|token| token.trim_matches([' ', '\t']).to_ascii_lowercase());
        match name.text.as_str() {
            // `5, 5` is one length, said twice.
            "content-length" => self.lengths.extend(tokens().map(|token| length(&token))),
            "transfer-encoding" => self.codings.extend(tokens()),
            "connection" => self.closes |= tokens().any(|token| token == "close"),
            "retry-after" if self.retry_after.is_none() => {
                let is_text = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
                self.retry_after = is_text.then(|| value.to_owned());
            }
            _ => {}
        }
    }

    fn clean(&mut self, status: Status) -> Vec<u8> {
        let body = self.body(status);
        let mut text = format!("HTTP/1.1 {}\r\n", status.code);
        match body {
            Body::Empty => text.push_str("content-length: 0\r\n"),
            Body::Sized(length) => text.push_str(&format!("content-length: {length}\r\n")),
            Body::Chunked => text.push_str("transfer-encoding: chunked\r\n"),
            Body::UntilEnd => {}
        }
        if self.is_odd || self.closes || !status.is_http_1_1 {
            text.push_str("connection: close\r\n");
        }
        if let Some(wait) = &self.retry_after {
            text.push_str(&format!("retry-after: {wait}\r\n"));
        }
        text.push_str("\r\n");
        text.into_bytes()
    }

    fn body(&mut self, status: Status) -> Body {
        if matches!(status.code, 204 | 304) {
            return Body::Empty;
        }
        match (self.codings.as_slice(), self.lengths.as_slice()) {
            ([], []) if self.is_odd => Body::Empty,
            ([], []) => Body::UntilEnd,
            ([], [Some(length), others @ ..]) if others.iter().all(|other| *other == Some(*length)) => {
                Body::Sized(*length)
            }
            ([coding], []) if coding == "chunked" => Body::Chunked,
            // Where the body ends is open to doubt, so the body is not read.
            _ => {
                self.is_odd = true;
                Body::Empty
            }
        }
    }
}

impl Status {
    /// Reads `HTTP/<version> <three digits>` and ignores what follows.
    fn parse(line: &[u8]) -> Option<Self> {
        let (protocol, rest) = line.split_at_checked(5)?;
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
        let (version, rest) = rest.split_at(end);
        let rest = rest.trim_ascii_start();
        let (digits, reason) = rest.split_at_checked(3)?;
        let is_status = protocol.eq_ignore_ascii_case(b"HTTP/")
            && !version.is_empty()
            && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
            && matches!(digits, [b'1'..=b'9', second, third] if second.is_ascii_digit() && third.is_ascii_digit())
            && !reason.first().is_some_and(u8::is_ascii_alphanumeric);
        let code = std::str::from_utf8(digits).ok()?.parse().ok()?;
        is_status.then_some(Self { code, is_http_1_1: version == b"1.1" })
    }

    /// Another answer follows. `101` is the last one: it switches to a protocol that nobody asked for.
    const fn is_informational(self) -> bool {
        matches!(self.code, 100 | 102..=199)
    }
}

struct Name {
    text: String,
    is_odd: bool,
}

/// The name in lower case and the value of a header. `None` if the line is no header.
fn header(line: &[u8]) -> Option<(Name, String)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let trimmed = name.trim_ascii_end();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if trimmed.is_empty() || !trimmed.iter().all(is_token) {
        return None;
    }
    let text = String::from_utf8_lossy(trimmed).to_ascii_lowercase();
    // Other bytes than ASCII are allowed in values and mean nothing here.
    let value = String::from_utf8_lossy(value).trim_matches([' ', '\t']).to_owned();
    Some((Name { text, is_odd: trimmed.len() < name.len() }, value))
}

fn length(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
