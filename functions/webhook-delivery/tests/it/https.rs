//! What can happen between this service and a receiver.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::receiver::{Behaviour, Receiver, response};
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    Attempt, AttemptError, EndpointSecrets, EndpointUrl, EventId, Timestamp, TrustedReceivers, signature,
};
use tokio::net::TcpListener;
use uuid::Uuid;
use webhook_delivery::{Addresses, Answer, Https, Lookup, Post, Transport, Unanswered};

const BODY: &str = "{\"eventId\":\"e\",\"payload\":{\"firstName\":\"José\"}}";
const LONG: Duration = Duration::from_secs(30);

/// Answers for the names of a test, and for no other.
#[derive(Default)]
struct Names(HashMap<&'static str, Vec<IpAddr>>);

impl Names {
    fn with(mut self, name: &'static str, addresses: &[&str]) -> Self {
        self.0.insert(name, addresses.iter().map(|address| address.parse().unwrap()).collect());
        self
    }
}

impl Lookup for Names {
    fn lookup(&self, name: &str) -> Addresses {
        let found = self.0.get(name).cloned().ok_or_else(|| std::io::Error::other("no such name"));
        Box::pin(async move { found })
    }
}

/// Where a service is that the function depends on itself, by an address that needs no looking up.
const OURS: &str = "http://127.0.0.1:4566/1/deliveries";

/// A transport that trusts these origins and this authority.
fn https(trusted: &str, ca: &str, time: Duration, names: Names) -> Https {
    Https::with_lookup(TrustedReceivers::parse(trusted).unwrap(), ca, time, OURS, Arc::new(names)).unwrap()
}

/// A transport that trusts a receiver.
fn trusting(receiver: &Receiver, time: Duration) -> Https {
    https(&receiver.url(""), &receiver.ca, time, Names::default())
}

async fn post(https: &Https, url: &str) -> Result<Answer, AttemptError> {
    sent(https, url).await.map_err(|unanswered| match unanswered {
        Unanswered::Failed(error) => error,
        Unanswered::NotSent => panic!("it was not sent"),
    })
}

async fn sent(https: &Https, url: &str) -> Result<Answer, Unanswered> {
    let secrets = EndpointSecrets {
        api_key: ReceiverKey::parse("customer-key").unwrap(),
        signing: SigningSecrets::only(SigningSecret::from_entropy([7; 32])),
    };
    let event = EventId::from_uuid(Uuid::from_u128(5));
    let headers = signature::headers(event, BODY.as_bytes(), &secrets, Timestamp::from_millis(1_000_000));
    let url = EndpointUrl::restore(url).unwrap();
    https.post(Post { url: &url, headers, body: BODY.as_bytes() }).await
}

#[tokio::test]
async fn the_body_arrives_byte_for_byte_with_its_headers() {
    let receiver = Receiver::start("127.0.0.1", response("202 Accepted", "", "thanks")).await;
    let answer = post(&trusting(&receiver, LONG), &receiver.url("/in?x=1")).await.unwrap();
    assert_eq!(answer, Answer { status: 202, retry_after: None, body: b"thanks".to_vec() });

    let request = &receiver.requests()[0];
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, BODY);
    assert!(head.starts_with("POST /in?x=1 HTTP/1.1\r\n"), "{head}");
    for header in [
        "content-type: application/json",
        "user-agent: SERVICE-Webhooks/1",
        "x-service-api-key: customer-key",
        "x-service-timestamp: 1000",
        "webhook-timestamp: 1000",
        "webhook-id: 00000000-0000-0000-0000-000000000005",
    ] {
        assert!(head.lines().any(|line| line == header), "{header} is not in\n{head}");
    }
    assert!(
        head.contains("x-service-signature: sha256=") && head.contains("webhook-signature: v1,"),
        "{head}"
    );
}

#[tokio::test]
async fn connections_to_a_receiver_are_kept() {
    let receiver = Receiver::start("127.0.0.1", response("204 No Content", "", "")).await;
    let https = trusting(&receiver, LONG);
    for _ in 0..3 {
        post(&https, &receiver.url("/")).await.unwrap();
    }
    assert_eq!((receiver.connections(), receiver.requests().len()), (1, 3));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Receiver::start("127.0.0.1", response("200 OK", "", "")).await;
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let location = format!("location: {}\r\n", other.url("/"));
        let receiver = Receiver::start("127.0.0.1", response(status, &location, "")).await;
        let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
        assert_eq!(answer.status.to_string(), status[..3]);
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_retry_after_is_passed_on_unless_it_is_not_text() {
    for (header, seen) in
        [("120", Some("120")), ("Fri, 02 Jan 2026 03:05:05 GMT", Some("Fri, 02 Jan 2026 03:05:05 GMT"))]
    {
        let behaviour = response("503 Busy", &format!("retry-after: {header}\r\n"), "");
        let receiver = Receiver::start("127.0.0.1", behaviour).await;
        let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
        assert_eq!((answer.status, answer.retry_after.as_deref()), (503, seen));
    }
    let bytes = b"HTTP/1.1 429 No\r\nretry-after: \xff\xfe\r\nx: \xff\r\ncontent-length: 0\r\n\r\n".to_vec();
    let receiver = Receiver::start("127.0.0.1", Behaviour::Answers(bytes)).await;
    let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
    assert_eq!((answer.status, answer.retry_after), (429, None));
}

#[tokio::test]
async fn an_answer_after_29_seconds_counts_and_one_after_31_is_a_time_out() {
    let late = async |seconds| {
        let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec();
        let receiver = Receiver::start("127.0.0.1", Behaviour::Late(Duration::from_secs(seconds), ok)).await;
        post(&trusting(&receiver, LONG), &receiver.url("/")).await.map(|answer| answer.status)
    };
    assert_eq!(tokio::join!(late(29), late(31)), (Ok(200), Err(AttemptError::Timeout)));
}

#[tokio::test]
async fn a_name_that_is_not_found_is_the_receivers_failure_and_ours_if_none_is_found() {
    let url = "https://hooks.example.com/in";
    let asking = |ours: &str, names| {
        let receivers = TrustedReceivers::none();
        Https::with_lookup(receivers, "", LONG, ours, Arc::new(names)).unwrap()
    };
    let of_aws = "https://sqs.eu-central-1.amazonaws.com/1/deliveries";
    let found = || Names::default().with("sqs.eu-central-1.amazonaws.com", &["52.119.188.1"]);
    let failed = |error| Err(Unanswered::Failed(error));
    assert_eq!(sent(&asking(of_aws, found()), url).await, failed(AttemptError::DnsFailed));
    assert_eq!(sent(&asking(of_aws, Names::default()), url).await, Err(Unanswered::NotSent));
    assert_eq!(sent(&asking(OURS, Names::default()), url).await, failed(AttemptError::DnsFailed));
    let nowhere = found().with("hooks.example.com", &[]);
    assert_eq!(sent(&asking(of_aws, nowhere), url).await, failed(AttemptError::DnsFailed));
}

#[tokio::test]
async fn of_a_receiver_with_addresses_of_both_families_those_of_ipv4_are_called() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let names = Names::default().with("both.example", &["127.0.0.1", "2001:db8::1"]);
    let https = https(&format!("https://both.example:{closed}"), "", LONG, names);
    // Where it is tried side by side, "no way to IPv6" would hide that the receiver refused.
    let refused = sent(&https, &format!("https://both.example:{closed}/")).await;
    assert_eq!(refused, Err(Unanswered::Failed(AttemptError::ConnectFailed)));
}

#[tokio::test]
async fn of_a_large_answer_the_beginning_is_kept() {
    let receiver = Receiver::start("127.0.0.1", response("500 No", "", &"x".repeat(100_000))).await;
    let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
    assert_eq!((answer.status, answer.body), (500, vec![b'x'; Attempt::MAX_ANSWER]));
}

#[tokio::test]
async fn an_endless_answer_is_given_up_after_8_kib_and_a_dripping_one_in_time() {
    let receiver = Receiver::start("127.0.0.1", Behaviour::Endless(Duration::ZERO)).await;
    let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, Attempt::MAX_ANSWER));

    let receiver = Receiver::start("127.0.0.1", Behaviour::Endless(Duration::from_millis(20))).await;
    let begun = Instant::now();
    let answer = post(&trusting(&receiver, Duration::from_millis(400)), &receiver.url("/")).await.unwrap();
    assert_eq!(answer.status, 200, "the status was there in time");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn no_answer_in_time_is_a_time_out() {
    let receiver = Receiver::start("127.0.0.1", Behaviour::Silent).await;
    let answer = post(&trusting(&receiver, Duration::from_millis(300)), &receiver.url("/")).await;
    assert_eq!(answer, Err(AttemptError::Timeout));
}

#[tokio::test]
async fn tls_must_be_right() {
    let unknown = Receiver::start("127.0.0.1", response("200 OK", "", "")).await;
    let https_ = https(&unknown.url(""), "", LONG, Names::default());
    assert_eq!(post(&https_, &unknown.url("/")).await, Err(AttemptError::TlsFailed), "an unknown authority");

    let other = Receiver::start("other.example", response("200 OK", "", "")).await;
    let answer = post(&trusting(&other, LONG), &other.url("/")).await;
    assert_eq!(answer, Err(AttemptError::TlsFailed), "a certificate for another name");

    let plain = Receiver::start("127.0.0.1", Behaviour::Plain).await;
    let answer = post(&trusting(&plain, LONG), &plain.url("/")).await;
    assert_eq!(answer, Err(AttemptError::TlsFailed), "no TLS at all");
    assert!(unknown.requests().is_empty() && other.requests().is_empty());
}

#[tokio::test]
async fn a_closed_port_refuses_and_a_broken_answer_is_broken() {
    let closed = Receiver::start("127.0.0.1", Behaviour::Silent).await;
    let free = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("https://{}", listener.local_addr().unwrap())
    };
    let https_ = https(&free, &closed.ca, LONG, Names::default());
    assert_eq!(post(&https_, &free).await, Err(AttemptError::ConnectFailed));

    for bytes in [&b""[..], b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 99"] {
        let receiver = Receiver::start("127.0.0.1", Behaviour::Answers(bytes.to_vec())).await;
        let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await;
        assert_eq!(answer, Err(AttemptError::AnswerBroken), "{bytes:?}");
    }
}

#[tokio::test]
async fn a_name_that_leads_anywhere_but_to_public_addresses_gets_no_connection() {
    let receiver = Receiver::start("hooks.example.com", response("200 OK", "", "")).await;
    let names = Names::default()
        .with("loop.example.com", &["127.0.0.1"])
        .with("metadata.example.com", &["169.254.169.254"])
        .with("private.example.com", &["10.1.2.3"])
        .with("mapped.example.com", &["::ffff:127.0.0.1"])
        .with("local6.example.com", &["::1"])
        .with("unique6.example.com", &["fd00::1"])
        .with("nat64.example.com", &["64:ff9b::7f00:1"])
        .with("mixed.example.com", &["93.184.215.14", "127.0.0.1"])
        .with("mixed6.example.com", &["2606:4700::1111", "::1"])
        .with("empty.example.com", &[]);
    let https_ = https("", &receiver.ca, LONG, names);
    for name in ["loop", "metadata", "private", "mapped", "local6", "unique6", "nat64", "mixed", "mixed6"] {
        for port in ["", ":8443"] {
            let url = format!("https://{name}.example.com{port}/");
            assert_eq!(post(&https_, &url).await, Err(AttemptError::AddressRefused), "{url}");
        }
    }
    for name in ["empty", "unknown"] {
        let url = format!("https://{name}.example.com/");
        assert_eq!(post(&https_, &url).await, Err(AttemptError::DnsFailed), "{url}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_url_that_was_stored_before_it_was_refused_gets_no_connection() {
    let receiver = Receiver::start("127.0.0.1", response("200 OK", "", "")).await;
    let https_ = https("https://hooks.internal:9443", &receiver.ca, LONG, Names::default());
    for url in [
        receiver.url("/").as_str(),
        "https://127.0.0.1/",
        "https://0x7f.1:8443/",
        "https://2130706433/",
        "https://[::1]:8443/",
        "https://[::ffff:169.254.169.254]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://localhost/",
        "https://db.internal/",
        "https://example.com:22/",
        "https://hooks.internal/",
    ] {
        assert_eq!(post(&https_, url).await, Err(AttemptError::AddressRefused), "{url}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_trusted_receiver_may_be_found_by_its_name() {
    let receiver = Receiver::start("hooks.internal", response("200 OK", "", "")).await;
    let origin = format!("https://hooks.internal:{}", receiver.address.port());
    let names = Names::default().with("hooks.internal", &["127.0.0.1"]);
    let https_ = https(&origin, &receiver.ca, LONG, names);
    assert_eq!(post(&https_, &format!("{origin}/in")).await.unwrap().status, 200);
}

#[test]
fn a_wrong_certificate_stops_the_start() {
    let trusted = || TrustedReceivers::parse("https://127.0.0.1:9443").unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    assert!(Https::new(trusted(), broken, LONG, OURS).is_err());
    assert!(Https::new(trusted(), "", LONG, OURS).is_ok());
}
