//! Tests the captcha client with the provider's simulator, and with every failure on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::Secret;
use domain::lead::captcha::{ACTION, CaptchaAnswer};
use leads::captcha::{Client, Unreachable, Verifier};
use local::simulator::{Captcha, Receiver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);
const SOLVED: &str = r#"{"success":true,"challenge_ts":"2026-01-02T03:04:05Z","hostname":"h.example","score":0.7,"action":"a"}"#;

async fn ask(base: &str, time: Duration, token: &str) -> Result<CaptchaAnswer, Unreachable> {
    let client = Client::new(base, time).unwrap();
    client.verify(&Secret::new("secret-for-www.example.com"), &Secret::new(token)).await
}

async fn failure(base: &str, time: Duration) -> Unreachable {
    ask(base, time, "pass-1").await.unwrap_err()
}

#[tokio::test]
async fn the_request_to_google_has_the_documented_form() {
    let captcha = Captcha::start(0).await.unwrap();
    let client = Client::new(&captcha.url(), LONG).unwrap();
    let (secret, token) =
        (Secret::new("secret-for-a&b=c+d%20 é"), Secret::new("pass-&response=x+y%2B/\r\n=é"));
    let answer = client.verify(&secret, &token).await.unwrap();
    let CaptchaAnswer::Solved { score, action, hostname, at } = answer else { panic!("{answer:?}") };
    assert_eq!((score, action.as_str(), hostname.as_str()), (0.9, ACTION, "a&b=c+d%20 é"));
    assert_eq!(at.as_millis() % 1000, 0);

    let asked = captcha.ledger().entries();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("POST", "/recaptcha/api/siteverify"));
    assert_eq!(asked[0].headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(asked[0].headers["user-agent"], "SERVICE-Leads/1");
    assert_eq!(
        String::from_utf8(asked[0].body_bytes().unwrap()).unwrap(),
        "secret=secret-for-a%26b%3Dc%2Bd%2520+%C3%A9&response=pass-%26response%3Dx%2By%252B%2F%0D%0A%3D%C3%A9"
    );
}

#[tokio::test]
async fn the_answers_of_the_provider_are_distinguished() {
    let captcha = Captcha::start(0).await.unwrap();
    let refused = |code: &str| Ok(CaptchaAnswer::Refused(vec![code.to_owned()]));
    for (token, expected) in [
        ("error-invalid-input-secret-1", refused("invalid-input-secret")),
        ("error-browser-error-1", refused("browser-error")),
        ("unheard-of", refused("invalid-input-response")),
        ("", refused("missing-input-response")),
        ("status-503-1", Err(Unreachable::Status(503))),
        ("garbage-1", Err(Unreachable::Unreadable("unreadable_json"))),
    ] {
        assert_eq!(ask(&captcha.url(), LONG, token).await, expected, "{token}");
    }
    assert!(matches!(ask(&captcha.url(), LONG, "pass-1").await, Ok(CaptchaAnswer::Solved { .. })));
    assert_eq!(ask(&captcha.url(), LONG, "pass-1").await, refused("timeout-or-duplicate"));
    assert_eq!(ask(&captcha.url(), SHORT, "hang-1").await, Err(Unreachable::Timeout));
}

#[tokio::test]
async fn a_failed_connection_has_its_own_error() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(failure(&format!("http://{free}"), LONG).await, Unreachable::Connect, "a closed port");
    assert_eq!(failure("https://captcha.invalid", LONG).await, Unreachable::Connect, "an unknown name");

    let stranger = Receiver::start(0, 0).await.unwrap();
    assert_eq!(
        failure(&stranger.url(), LONG).await,
        Unreachable::Connect,
        "an untrusted certificate authority"
    );
    assert!(stranger.ledger().entries().is_empty());

    let https = |raw: &Raw| raw.url().replace("http:", "https:");
    let plain = Raw::start(Does::Greets).await;
    assert_eq!(failure(&https(&plain), LONG).await, Unreachable::Connect, "no TLS at all");
    let silent = Raw::start(Does::Nothing).await;
    assert_eq!(failure(&https(&silent), SHORT).await, Unreachable::Timeout, "TLS that never starts");
}

#[tokio::test]
async fn an_incomplete_answer_is_an_error() {
    let http = |text: &str| Does::Answers(text.to_owned());
    let with_body =
        |body: &str| http(&format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let rows = [
        ("closed before the answer", http(""), Unreachable::BrokenOff),
        ("not HTTP", http("SSH-2.0-OpenSSH\r\n\r\n"), Unreachable::BrokenOff),
        ("a status that is not a number", http("HTTP/1.1 OK 200\r\n\r\n"), Unreachable::BrokenOff),
        ("half a status", http("HTTP/1.1 20"), Unreachable::BrokenOff),
        ("half a head", http("HTTP/1.1 200 OK\r\ncontent-le"), Unreachable::BrokenOff),
        (
            "a length that is not a number",
            http("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n{}"),
            Unreachable::BrokenOff,
        ),
        (
            "closed in the body, after a complete JSON answer",
            http(&format!("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{SOLVED}")),
            Unreachable::BrokenOff,
        ),
        (
            "half a chunk",
            http("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{\"success\""),
            Unreachable::BrokenOff,
        ),
        (
            "truncated by its length",
            http(&format!("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{SOLVED}")),
            Unreachable::Unreadable("unreadable_json"),
        ),
        ("no body", with_body(""), Unreachable::Unreadable("unreadable_json")),
        ("not JSON", with_body("<html>Sorry...</html>"), Unreachable::Unreadable("unreadable_json")),
        ("JSON of another shape", with_body("{\"ok\":true}"), Unreachable::Unreadable("unreadable_success")),
        (
            "a captcha of another kind, without a score",
            with_body(&SOLVED.replace("score", "other")),
            Unreachable::Unreadable("unreadable_score"),
        ),
        ("never", Does::Nothing, Unreachable::Timeout),
        ("a slow head", Does::Drips("HTTP/1.1 200 OK\r\nx: "), Unreachable::Timeout),
        ("a slow body", Does::Drips("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"), Unreachable::Timeout),
        ("a body without end", Does::Endless, Unreachable::TooLarge),
        ("a body just too large", with_body(&spaced(16 * 1024 + 1)), Unreachable::TooLarge),
    ];
    for (name, does, expected) in rows {
        let raw = Raw::start(does).await;
        // A failure that ends by itself may take long on a busy machine. The others must end at the time limit.
        let time = if expected == Unreachable::Timeout { SHORT } else { LONG };
        let begun = Instant::now();
        assert_eq!(failure(&raw.url(), time).await, expected, "{name}");
        assert!(begun.elapsed() < LONG / 2, "{name}: {:?}", begun.elapsed());
        assert_eq!(raw.connections(), 1, "{name}: the request is not repeated");
    }
    let raw = Raw::start(with_body(&spaced(16 * 1024))).await;
    assert!(ask(&raw.url(), LONG, "t").await.is_ok(), "16 KiB are read");
}

/// A solved captcha in this number of bytes.
fn spaced(length: usize) -> String {
    format!("{SOLVED:length$}")
}

#[tokio::test]
async fn only_a_200_is_an_answer_and_redirects_are_not_followed() {
    let elsewhere = Captcha::start(0).await.unwrap();
    let length = SOLVED.len();
    for status in [201, 204, 301, 302, 307, 308, 400, 403, 404, 429, 500, 502, 503, 504] {
        let location = format!("{}/recaptcha/api/siteverify", elsewhere.url());
        let head = format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\n");
        let body = format!("content-length: {length}\r\n\r\n{SOLVED}");
        let answer = if status == 204 { format!("{head}\r\n") } else { head + &body };
        let raw = Raw::start(Does::Answers(answer)).await;
        assert_eq!(failure(&raw.url(), LONG).await, Unreachable::Status(status));
        assert_eq!(raw.connections(), 1, "{status}: the request is not repeated");
    }
    assert!(elsewhere.ledger().entries().is_empty());
}

#[tokio::test]
async fn the_debug_output_of_a_client_or_a_failure_has_no_secret() {
    let captcha = Captcha::start(0).await.unwrap();
    let client = Client::new(&captcha.url(), LONG).unwrap();
    let failure =
        client.verify(&Secret::new("my-secret"), &Secret::new("status-500-token")).await.unwrap_err();
    let printed = format!("{client:?} {failure:?} {}", failure.as_str());
    assert!(!printed.contains("my-secret") && !printed.contains("token"), "{printed}");
}

/// A server on a free loopback port that sends exactly the bytes of the test.
struct Raw {
    address: std::net::SocketAddr,
    connections: Arc<AtomicUsize>,
}

#[derive(Clone)]
enum Does {
    /// Reads a request, sends this text and closes the connection.
    Answers(String),
    /// Sends bytes that are not TLS to each client, and closes the connection.
    Greets,
    /// Reads and never answers.
    Nothing,
    /// Sends this beginning, and then continues more slowly than the time limit allows.
    Drips(&'static str),
    /// Sends an endless body.
    Endless,
}

impl Raw {
    async fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, does.clone()));
            }
        });
        Self { address, connections }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, does: Does) {
    if matches!(does, Does::Greets) {
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n").await;
        return;
    }
    read_request(&mut stream).await;
    match does {
        Does::Greets => {}
        Does::Answers(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Does::Nothing => std::future::pending().await,
        Does::Drips(beginning) => {
            let _ = stream.write_all(beginning.as_bytes()).await;
            while stream.write_all(b"{").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Does::Endless => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n").await;
            while stream.write_all(&[b' '; 1024]).await.is_ok() {}
        }
    }
}

/// Reads the head and body of one request, or until the connection ends.
async fn read_request(stream: &mut TcpStream) {
    let mut bytes = vec![];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return;
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            _ => return,
        }
    }
}
