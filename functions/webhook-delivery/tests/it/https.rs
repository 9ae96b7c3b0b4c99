//! Tests the transport between this service and a receiver.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::receiver::{Behaviour, Receiver, response};
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets, signature};
use domain::{Attempt, AttemptError, EndpointSecrets, EndpointUrl, EventId, Timestamp, TrustedReceivers};
use futures::future::join_all;
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;
use webhook_delivery::{Addresses, Answer, Https, Lookup, Post, Transport, Unanswered};

const BODY: &str = "{\"eventId\":\"e\",\"payload\":{\"firstName\":\"José\"}}";
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Resolves the names of a test and no others.
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

/// The URL of the service for control connections. Its host is an address, so it needs no lookup.
const OURS: &str = "http://127.0.0.1:4566/1/deliveries";

/// A transport that trusts these origins and this certificate authority.
fn https(trusted: &str, ca: &str, time: Duration, names: Names) -> Https {
    Https::with_lookup(TrustedReceivers::parse(trusted).unwrap(), ca, time, OURS, Arc::new(names)).unwrap()
}

/// A transport that trusts a receiver.
pub(crate) fn trusting(receiver: &Receiver, time: Duration) -> Https {
    https(&receiver.url(""), &receiver.ca, time, Names::default())
}

pub(crate) async fn post(https: &Https, url: &str) -> Result<Answer, AttemptError> {
    sent(https, url).await.map_err(|unanswered| match unanswered {
        Unanswered::Failed(error) => error,
        Unanswered::NotSent => panic!("the request was not sent"),
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
async fn connections_to_a_receiver_are_reused() {
    let receiver = Receiver::start("127.0.0.1", response("204 No Content", "", "")).await;
    let https = trusting(&receiver, LONG);
    for _ in 0..3 {
        post(&https, &receiver.url("/")).await.unwrap();
    }
    assert_eq!((receiver.connections(), receiver.requests().len()), (1, 3));
}

/// Resolves every name to the loopback, and counts the open sockets that do not belong to a receiver.
struct Loopback {
    other: usize,
    most: AtomicUsize,
    receiver: Arc<Receiver>,
}

impl Loopback {
    fn beside(receiver: &Arc<Receiver>) -> Arc<Self> {
        let other = descriptors() - receiver.sockets();
        Arc::new(Self { other, most: AtomicUsize::new(0), receiver: receiver.clone() })
    }

    fn look(&self) -> usize {
        // The receiver may just have closed one that was counted.
        let open = descriptors().saturating_sub(self.other + self.receiver.sockets());
        self.most.fetch_max(open, Relaxed);
        open
    }
}

impl Lookup for Loopback {
    fn lookup(&self, _: &str) -> Addresses {
        self.look();
        Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) })
    }
}

/// The number of open descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn posts_to_many_receivers_never_exceed_the_socket_limit() {
    const POSTS: usize = 40;
    const SOCKETS: usize = 60;
    let receiver = Arc::new(Receiver::start("*.receivers.example", response("204 No Content", "", "")).await);
    let port = receiver.address.port();
    let origins: Vec<_> = (0..300).map(|n| format!("https://r{n}.receivers.example:{port}")).collect();
    let loopback = Loopback::beside(&receiver);
    let trusted = TrustedReceivers::parse(&origins.join(",")).unwrap();
    let https = Https::with_lookup(trusted, &receiver.ca, LONG, OURS, loopback.clone()).unwrap();
    let https = https.limited(POSTS, SOCKETS);

    let posts = (0..3000).map(|n| sent(&https, &origins[n * 7 % origins.len()]));
    let answers = join_all(posts).await;
    let most = loopback.most.load(Relaxed);
    assert!((POSTS..=SOCKETS).contains(&most), "{most} sockets were open");
    assert!(
        answers.iter().all(|answer| answer.as_ref().is_ok_and(|it| it.status == 204)),
        "all posts arrive"
    );
    assert!((1..=SOCKETS).contains(&loopback.look()), "some connections are kept");

    drop(https);
    assert_eq!(loopback.look(), 0, "no socket outlives the transport");
}

#[tokio::test]
async fn a_connection_that_its_receiver_closed_during_a_freeze_is_not_used() {
    // The receiver runs on a thread of its own, which continues while this one is blocked.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let receiver = Receiver::start("127.0.0.1", response("200 OK", "", "")).await;
            tell.send(Arc::new(receiver)).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let receiver = told.recv().unwrap();
    let https = trusting(&receiver, LONG);
    for _ in 0..20 {
        post(&https, &receiver.url("/")).await.unwrap();
        while receiver.sockets() > 1 {
            std::thread::yield_now();
        }
    }
    assert_eq!(receiver.connections(), 20);
}

#[tokio::test]
async fn the_time_of_an_attempt_begins_when_it_gets_a_slot() {
    let ok = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    let late = Behaviour::Late(Duration::from_millis(600), ok);
    let receiver = Receiver::start("127.0.0.1", late).await;
    let https = trusting(&receiver, Duration::from_secs(1)).limited(1, 2);
    let url = receiver.url("/");
    let posts = (0..3).map(|_| sent(&https, &url));
    for answer in join_all(posts).await {
        assert_eq!(answer.unwrap().status, 204);
    }
    assert_eq!(receiver.connections(), 1, "one after the other");
}

#[tokio::test]
async fn an_abandoned_post_leaves_no_socket_open() {
    let receiver = Arc::new(Receiver::start("r.receivers.example", Behaviour::Silent).await);
    let origin = format!("https://r.receivers.example:{}", receiver.address.port());
    let loopback = Loopback::beside(&receiver);
    let trusted = TrustedReceivers::parse(&origin).unwrap();
    let time = Duration::from_millis(300);
    let https = Https::with_lookup(trusted, &receiver.ca, time, OURS, loopback.clone()).unwrap();
    assert_eq!(post(&https, &origin).await, Err(AttemptError::Timeout));
    assert_eq!(loopback.look(), 0);
    {
        let mut dropped = Box::pin(sent(&https, &origin));
        while receiver.requests().len() < 2 {
            assert!(futures::poll!(&mut dropped).is_pending());
            tokio::task::yield_now().await;
        }
        assert_eq!(loopback.look(), 1);
    }
    assert_eq!(loopback.look(), 0);
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
async fn retry_after_is_returned_if_it_is_text() {
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
async fn an_answer_after_29_seconds_counts_and_one_after_31_times_out() {
    let late = async |seconds| {
        let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec();
        let receiver = Receiver::start("127.0.0.1", Behaviour::Late(Duration::from_secs(seconds), ok)).await;
        post(&trusting(&receiver, LONG), &receiver.url("/")).await.map(|answer| answer.status)
    };
    assert_eq!(tokio::join!(late(29), late(31)), (Ok(200), Err(AttemptError::Timeout)));
}

#[tokio::test]
async fn an_unknown_name_is_the_receivers_failure_unless_no_name_resolves() {
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

/// The addresses of a receiver and of the service for control connections.
const RECEIVER: &str = "93.184.215.14";
const CONTROL: &str = "127.0.0.1:4566";

/// The outcome of a connection.
#[derive(Clone, Copy)]
enum Fate {
    /// The connection succeeds.
    Made,
    /// The connection fails with this Linux error number.
    Fails(i32),
    /// The network drops its packets.
    Dropped,
}

const NETWORK_UNREACHABLE: i32 = 101;
const REFUSED: i32 = 111;

/// A network in which connections to the control service have one outcome and all others another.
struct Network {
    control: Fate,
    others: Vec<Fate>,
    listener: TcpListener,
    controls: AtomicUsize,
    others_tried: AtomicUsize,
}

impl Network {
    /// `others` are the outcomes of the connections to receivers, in turn.
    async fn of(control: Fate, others: &[Fate]) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (controls, others_tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { control, others: others.to_vec(), listener, controls, others_tried })
    }

    fn https(self: &Arc<Self>, time: Duration) -> Https {
        let network = self.clone();
        let names = Names::default().with("two.example.com", &[RECEIVER, "93.184.215.15"]);
        https("", "", time, names).dialling(Arc::new(move |address| {
            let fate = if address.to_string() == CONTROL {
                network.controls.fetch_add(1, Relaxed);
                network.control
            } else {
                network.others[network.others_tried.fetch_add(1, Relaxed) % network.others.len()]
            };
            let open = network.listener.local_addr().unwrap();
            Box::pin(async move {
                match fate {
                    Fate::Made => TcpStream::connect(open).await,
                    Fate::Fails(number) => Err(std::io::Error::from_raw_os_error(number)),
                    Fate::Dropped => std::future::pending().await,
                }
            })
        }))
    }

    fn controls(&self) -> usize {
        self.controls.load(Relaxed)
    }
}

#[tokio::test]
async fn an_unreachable_receiver_counts_as_failed_only_if_the_control_connects() {
    let url = format!("https://{RECEIVER}/in");
    let names = ["EPERM", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENOBUFS", "ETIMEDOUT", "EHOSTUNREACH"];
    for (name, number) in names.into_iter().zip([1, 99, 100, NETWORK_UNREACHABLE, 105, 110, 113]) {
        for (control, expected) in [
            (Fate::Made, Unanswered::Failed(AttemptError::ConnectFailed)),
            (Fate::Fails(NETWORK_UNREACHABLE), Unanswered::NotSent),
            (Fate::Fails(REFUSED), Unanswered::NotSent),
            (Fate::Fails(24), Unanswered::NotSent),
        ] {
            let network = Network::of(control, &[Fate::Fails(number)]).await;
            assert_eq!(sent(&network.https(LONG), &url).await, Err(expected), "{name}");
            assert_eq!(network.controls(), 1, "{name}");
        }
    }
}

#[tokio::test]
async fn a_network_that_drops_packets_differs_from_a_receiver_that_does() {
    let url = format!("https://{RECEIVER}/in");
    let within =
        async |time, control| sent(&Network::of(control, &[Fate::Dropped]).await.https(time), &url).await;
    let (short, failed) = (Duration::from_millis(100), |error| Err(Unanswered::Failed(error)));
    let (works, swallows, works_soon, swallows_soon) = tokio::join!(
        within(LONG, Fate::Made),
        within(LONG, Fate::Dropped),
        within(short, Fate::Made),
        within(short, Fate::Dropped),
    );
    assert_eq!((works, swallows), (failed(AttemptError::ConnectFailed), Err(Unanswered::NotSent)));
    assert_eq!((works_soon, swallows_soon), (failed(AttemptError::Timeout), Err(Unanswered::NotSent)));
}

#[tokio::test]
async fn a_refusal_and_exhausted_descriptors_need_no_control_connection() {
    let (url, two) = (format!("https://{RECEIVER}/in"), "https://two.example.com/in");
    let swallowed = Fate::Fails(NETWORK_UNREACHABLE);
    for (url, others, expected) in [
        (url.as_str(), &[Fate::Fails(REFUSED)][..], Unanswered::Failed(AttemptError::ConnectFailed)),
        (two, &[Fate::Fails(REFUSED), swallowed], Unanswered::Failed(AttemptError::ConnectFailed)),
        (two, &[swallowed, Fate::Fails(REFUSED)], Unanswered::Failed(AttemptError::ConnectFailed)),
        (&url, &[Fate::Fails(23)], Unanswered::NotSent),
        (&url, &[Fate::Fails(24)], Unanswered::NotSent),
    ] {
        let network = Network::of(Fate::Dropped, others).await;
        assert_eq!(sent(&network.https(LONG), url).await, Err(expected));
        assert_eq!((network.controls(), network.others_tried.load(Relaxed)), (0, others.len()));
    }
}

#[tokio::test]
async fn concurrent_failures_share_one_control_connection() {
    let url = format!("https://{RECEIVER}/in");
    for (control, expected) in [
        (Fate::Made, Unanswered::Failed(AttemptError::ConnectFailed)),
        (Fate::Fails(NETWORK_UNREACHABLE), Unanswered::NotSent),
    ] {
        let network = Network::of(control, &[Fate::Fails(NETWORK_UNREACHABLE)]).await;
        let https = network.https(LONG);
        let answers = join_all((0..400).map(|_| sent(&https, &url))).await;
        assert!(answers.iter().all(|answer| *answer == Err(expected)), "{expected:?}");
        assert_eq!(sent(&https, &url).await, Err(expected), "the result is remembered");
        assert_eq!((network.controls(), network.others_tried.load(Relaxed)), (1, 401));
    }
}

/// Resolves one name or none, and counts its lookups.
struct Ours {
    found: bool,
    asked: AtomicUsize,
}

impl Lookup for Ours {
    fn lookup(&self, name: &str) -> Addresses {
        let is_ours = name == "sqs.example.com";
        self.asked.fetch_add(usize::from(is_ours), Relaxed);
        let found = match is_ours && self.found {
            true => Ok(vec!["52.119.188.1".parse().unwrap()]),
            false => Err(std::io::Error::other("no such name")),
        };
        Box::pin(async move { found })
    }
}

#[tokio::test]
async fn concurrent_unknown_names_share_one_lookup_of_the_control_name() {
    for (found, expected) in
        [(true, Unanswered::Failed(AttemptError::DnsFailed)), (false, Unanswered::NotSent)]
    {
        let ours = Arc::new(Ours { found, asked: AtomicUsize::new(0) });
        let receivers = TrustedReceivers::none();
        let https =
            Https::with_lookup(receivers, "", LONG, "https://sqs.example.com/1", ours.clone()).unwrap();
        let urls: Vec<_> = (0..400).map(|n| format!("https://r{n}.example.com/in")).collect();
        let answers = join_all(urls.iter().map(|url| sent(&https, url))).await;
        assert!(answers.iter().all(|answer| *answer == Err(expected)), "{expected:?}");
        assert_eq!(ours.asked.load(Relaxed), 1);
    }
}

#[test]
fn a_control_url_without_a_host_or_port_is_refused() {
    for (ours, starts) in [("https://sqs.example.com/1", true), ("http://127.0.0.1:4566", true), ("", false)]
    {
        assert_eq!(Https::new(TrustedReceivers::none(), "", LONG, ours).is_ok(), starts, "{ours}");
    }
}

#[tokio::test]
async fn ipv4_is_used_if_a_receiver_has_addresses_of_both_families() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let names = Names::default().with("both.example", &["127.0.0.1", "2001:db8::1"]);
    let https = https(&format!("https://both.example:{closed}"), "", LONG, names);
    // If both families were tried, "no way to IPv6" would hide the receiver's refusal.
    let refused = sent(&https, &format!("https://both.example:{closed}/")).await;
    assert_eq!(refused, Err(Unanswered::Failed(AttemptError::ConnectFailed)));
}

#[tokio::test]
async fn only_the_beginning_of_a_large_answer_is_kept() {
    let receiver = Receiver::start("127.0.0.1", response("500 No", "", &"x".repeat(100_000))).await;
    let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
    assert_eq!((answer.status, answer.body), (500, vec![b'x'; Attempt::MAX_ANSWER]));
}

#[tokio::test]
async fn an_endless_answer_is_cut_after_8_kib_and_a_slow_one_at_the_time_limit() {
    let receiver = Receiver::start("127.0.0.1", Behaviour::Endless(Duration::ZERO)).await;
    let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, Attempt::MAX_ANSWER));

    let receiver = Receiver::start("127.0.0.1", Behaviour::Endless(Duration::from_millis(20))).await;
    let begun = Instant::now();
    let answer = post(&trusting(&receiver, Duration::from_millis(400)), &receiver.url("/")).await.unwrap();
    assert_eq!(answer.status, 200, "the status arrived in time");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn no_answer_within_the_limit_is_a_timeout() {
    let receiver = Receiver::start("127.0.0.1", Behaviour::Silent).await;
    let answer = post(&trusting(&receiver, Duration::from_millis(300)), &receiver.url("/")).await;
    assert_eq!(answer, Err(AttemptError::Timeout));
}

#[tokio::test]
async fn invalid_tls_is_refused() {
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
async fn a_closed_port_is_connect_failed_and_a_broken_answer_is_answer_broken() {
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
async fn a_name_with_a_non_public_address_gets_no_connection() {
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
async fn a_stored_url_that_is_refused_today_gets_no_connection() {
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
async fn a_trusted_receiver_is_reachable_by_its_name() {
    let receiver = Receiver::start("hooks.internal", response("200 OK", "", "")).await;
    let origin = format!("https://hooks.internal:{}", receiver.address.port());
    let names = Names::default().with("hooks.internal", &["127.0.0.1"]);
    let https_ = https(&origin, &receiver.ca, LONG, names);
    assert_eq!(post(&https_, &format!("{origin}/in")).await.unwrap().status, 200);
}

#[test]
fn an_invalid_extra_certificate_is_refused() {
    let trusted = || TrustedReceivers::parse("https://127.0.0.1:9443").unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    assert!(Https::new(trusted(), broken, LONG, OURS).is_err());
    assert!(Https::new(trusted(), "", LONG, OURS).is_ok());
}
