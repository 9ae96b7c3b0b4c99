//! Tests hostile targets: no URL, DNS answer or HTTP answer of a customer opens a connection inside the network.
//! Traps listen on the loopback, on the same ports where possible. The error code shows that a target was refused
//! before any connection was tried.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::receiver::{Receiver, response};
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets, UrlRefused, signature};
use domain::{AttemptError, EndpointSecrets, EndpointUrl, EventId, Timestamp, TrustedReceivers};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;
use webhook_delivery::{Addresses, Answer, Https, Lookup, Post, Transport, Unanswered};

use UrlRefused::{Address, NotAUrl, NotHttps, Port, UserInfo};

const REFUSED: Result<Answer, Unanswered> = Err(Unanswered::Failed(AttemptError::AddressRefused));

/// URLs that lead inside the network or try to, each with its trick and its refusal.
const URLS: &[(&str, &str, UrlRefused)] = &[
    // IPv4 in its spellings.
    ("loopback", "https://127.0.0.1/", Address),
    ("loopback, the other port", "https://127.0.0.1:8443/", Address),
    ("loopback, its last address", "https://127.255.255.254/", Address),
    ("two parts", "https://127.1/", Address),
    ("three parts", "https://127.0.1:8443/", Address),
    ("one decimal number", "https://2130706433/", Address),
    ("one hexadecimal number", "https://0x7f000001:8443/", Address),
    ("one octal number", "https://017700000001/", Address),
    ("octal parts", "https://0177.0.0.01/", Address),
    ("hexadecimal parts", "https://0x7F.0x0.0x0.0x1/", Address),
    ("mixed bases", "https://0x7f.0.0.01:8443/", Address),
    ("many zeros", "https://0000000000000000000177.0.0.1/", Address),
    ("a trailing dot", "https://127.0.0.1.:8443/", Address),
    ("wide digits", "https://１２７.０.０.１/", Address),
    ("circled digits", "https://①②⑦.⓪.⓪.①:8443/", Address),
    ("ideographic full stops", "https://127。0。0。1/", Address),
    ("a soft hyphen", "https://127.0.0.\u{ad}1/", Address),
    ("percent-encoded", "https://%31%32%37.0.0.1:8443/", Address),
    ("a percent-encoded dot", "https://127%2e0.0.1/", Address),
    ("percent-encoded twice", "https://%2531%2532%2537.0.0.1/", NotAUrl),
    ("more than 32 bits", "https://4294967296/", NotAUrl),
    ("a part of more than 8 bits", "https://127.0.0.257/", NotAUrl),
    ("five parts", "https://127.0.0.0.1/", NotAUrl),
    ("zero", "https://0/", Address),
    ("this network", "https://0.0.0.0:8443/", Address),
    ("the rest of this network", "https://0.1.2.3/", Address),
    // Private and special IPv4 ranges.
    ("private 10/8", "https://10.0.0.1/", Address),
    ("private 172.16/12", "https://172.31.255.255/", Address),
    ("private 192.168/16", "https://192.168.1.1/", Address),
    ("carriers' shared space", "https://100.64.0.1/", Address),
    ("protocol assignments", "https://192.0.0.8/", Address),
    ("benchmarking", "https://198.19.255.255/", Address),
    ("documentation", "https://203.0.113.7/", Address),
    ("multicast", "https://224.0.0.251/", Address),
    ("reserved", "https://240.0.0.1/", Address),
    ("broadcast", "https://255.255.255.255/", Address),
    ("metadata", "https://169.254.169.254/latest/meta-data/iam/security-credentials/", Address),
    ("metadata as a number", "https://2852039166/latest/", Address),
    ("metadata in octal", "https://0251.0376.0251.0376/", Address),
    ("metadata on its own port", "https://169.254.169.254:80/", Port),
    ("credentials of a task", "https://169.254.170.2/v2/credentials/", Address),
    ("credentials of a pod", "https://169.254.170.23/v1/credentials", Address),
    ("Lambda's own daemon", "https://169.254.100.1:2000/", Port),
    ("Lambda's own addresses", "https://169.254.100.6/", Address),
    ("Lambda's runtime API", "https://127.0.0.1:9001/2018-06-01/runtime/invocation/next", Port),
    ("the VPC's resolver", "https://169.254.169.253/", Address),
    ("the clock", "https://169.254.169.123/", Address),
    ("metadata of Alibaba", "https://100.100.100.200/", Address),
    ("metadata of Oracle", "https://192.0.0.192/", Address),
    ("platform service of Azure", "https://168.63.129.16/", Address),
    // IPv6.
    ("loopback of IPv6", "https://[::1]/", Address),
    ("loopback, written out", "https://[0000:0000:0000:0000:0000:0000:0000:0001]:8443/", Address),
    ("unspecified", "https://[::]:8443/", Address),
    ("mapped", "https://[::ffff:127.0.0.1]/", Address),
    ("mapped, in hexadecimal", "https://[::FFFF:7F00:1]:8443/", Address),
    ("mapped metadata", "https://[::ffff:a9fe:a9fe]/", Address),
    ("mapped, of a public address", "https://[::ffff:8.8.8.8]/", Address),
    ("compatible", "https://[::127.0.0.1]:8443/", Address),
    ("translated", "https://[64:ff9b::127.0.0.1]/", Address),
    ("translated metadata", "https://[64:ff9b::a9fe:a9fe]/", Address),
    ("translated locally", "https://[64:ff9b:1::10.0.0.1]/", Address),
    ("translated of old (SIIT)", "https://[::ffff:0:127.0.0.1]/", Address),
    ("6to4", "https://[2002:7f00:1::1]/", Address),
    ("6to4 of a private address", "https://[2002:a00:1::1]/", Address),
    ("Teredo", "https://[2001:0:53aa:64c:0:0:80ff:fffe]/", Address),
    ("link local", "https://[fe80::1]/", Address),
    ("site local", "https://[fec0::1]/", Address),
    ("unique local", "https://[fd12:3456::1]/", Address),
    ("metadata of IPv6", "https://[fd00:ec2::254]/latest/meta-data/", Address),
    ("metadata of Google, IPv6", "https://[fd20:ce::254]/", Address),
    ("multicast of IPv6", "https://[ff02::1]/", Address),
    ("documentation of IPv6", "https://[2001:db8::1]/", Address),
    ("newer documentation", "https://[3fff::1]/", Address),
    ("discard", "https://[100::1]/", Address),
    ("segment routing", "https://[5f00::1]/", Address),
    ("a zone", "https://[fe80::1%25lo]/", NotAUrl),
    ("a bare zone", "https://[::1%lo]/", NotAUrl),
    ("no brackets", "https://::1/", NotAUrl),
    ("an address of the future", "https://[v1.127.0.0.1]/", NotAUrl),
    // Names.
    ("localhost", "https://localhost:8443/", Address),
    ("localhost, absolute", "https://LocalHost./", Address),
    ("below localhost", "https://x.localhost/", Address),
    ("localhost in wide letters", "https://ｌｏｃａｌｈｏｓｔ/", Address),
    ("a name without a dot", "https://metadata/", Address),
    ("metadata of Google", "https://metadata.google.internal/", Address),
    ("a name of EC2", "https://instance-data.ec2.internal/", Address),
    ("a service of Kubernetes", "https://kubernetes.default.svc.cluster.local/", Address),
    ("a printer", "https://printer.local./", Address),
    ("a home", "https://router.home.arpa/", Address),
    ("a hidden service", "https://abc.onion/", Address),
    // URLs whose host is easy to misread.
    ("a user", "https://example.com@127.0.0.1/", UserInfo),
    ("a user and a password", "https://example.com:443@127.0.0.1/", UserInfo),
    ("an empty user", "https://@127.0.0.1/", UserInfo),
    ("a user behind an encoded slash", "https://example.com%2f@127.0.0.1/", UserInfo),
    ("a backslash for a slash", "https:\\\\127.0.0.1\\@example.com/", Address),
    ("three slashes", "https:///127.0.0.1/", Address),
    ("no slashes", "https:127.0.0.1/", Address),
    ("a tab in the host", "https://127.0.\t0.1/", NotAUrl),
    ("a newline before it", "\nhttps://127.0.0.1/", NotAUrl),
    ("a NUL", "https://127.0.0.1\0.example.com/", NotAUrl),
    ("an encoded NUL", "https://127.0.0.1%00.example.com/", NotAUrl),
    ("a header of its own", "https://127.0.0.1%0d%0aHost:example.com/", NotAUrl),
    // Ports and schemes.
    ("SSH", "https://example.com:22/", Port),
    ("mail", "https://example.com:25/", Port),
    ("Redis", "https://example.com:6379/", Port),
    ("port 0", "https://example.com:0/", Port),
    ("beyond all ports", "https://example.com:65979/", NotAUrl),
    ("no TLS", "http://127.0.0.1:8443/", NotHttps),
    ("a file", "file:///etc/passwd", NotHttps),
    ("gopher", "gopher://127.0.0.1:8443/_x", NotHttps),
    ("a dictionary", "dict://127.0.0.1:8443/info", NotHttps),
    ("FTP", "ftp://127.0.0.1:8443/", NotHttps),
    ("a socket of Unix", "unix:///var/run/docker.sock", NotHttps),
    ("HTTP over a socket of Unix", "http+unix://%2Fvar%2Frun%2Fdocker.sock/info", NotHttps),
    ("data", "data:text/plain,x", NotHttps),
    ("a blob of HTTPS", "blob:https://127.0.0.1/", NotHttps),
];

/// Names that look public, and their DNS answers.
const NAMES: &[(&str, &[&str])] = &[
    ("loopback.example.com", &["127.0.0.1"]),
    ("127.0.0.1.wildcard.example.com", &["127.0.0.1"]),
    ("other-loopback.example.com", &["127.1.2.3"]),
    ("zero.example.com", &["0.0.0.0"]),
    ("private-a.example.com", &["10.1.2.3"]),
    ("private-b.example.com", &["172.16.0.1"]),
    ("private-c.example.com", &["192.168.0.1"]),
    ("carrier.example.com", &["100.127.255.255"]),
    ("metadata.example.com", &["169.254.169.254"]),
    ("task.example.com", &["169.254.170.2"]),
    ("azure.example.com", &["168.63.129.16"]),
    ("multicast.example.com", &["239.1.1.1"]),
    ("broadcast.example.com", &["255.255.255.255"]),
    ("loopback6.example.com", &["::1"]),
    ("unspecified6.example.com", &["::"]),
    ("mapped.example.com", &["::ffff:127.0.0.1"]),
    ("mapped-metadata.example.com", &["::ffff:169.254.169.254"]),
    ("compatible.example.com", &["::127.0.0.1"]),
    ("translated.example.com", &["64:ff9b::7f00:1"]),
    ("translated-locally.example.com", &["64:ff9b:1::a00:1"]),
    ("6to4.example.com", &["2002:7f00:1::1"]),
    ("teredo.example.com", &["2001:0:53aa:64c::80ff:fffe"]),
    ("unique.example.com", &["fd00:ec2::254"]),
    ("link.example.com", &["fe80::1"]),
    ("multicast6.example.com", &["ff02::fb"]),
    // An alias: only the addresses at its end count, whatever names are on the way.
    ("alias-of-localhost.example.com", &["::1", "127.0.0.1"]),
    ("alias-of-a-database.example.com", &["10.0.3.17", "10.0.4.17"]),
];

/// DNS answers, one after another. The last one repeats.
#[derive(Default)]
struct Dns {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<HashMap<String, usize>>,
}

impl Dns {
    fn says(mut self, name: &str, answers: &[&[&str]]) -> Self {
        let read = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.insert(name.to_owned(), answers.iter().map(read).collect());
        self
    }

    fn asked_for(&self, name: &str) -> usize {
        self.asked.lock().unwrap().get(name).copied().unwrap_or_default()
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().values().sum()
    }
}

/// The same DNS for a transport and for the test that checks the lookups.
struct Shared(Arc<Dns>);

impl Lookup for Shared {
    fn lookup(&self, name: &str) -> Addresses {
        let mut asked = self.0.asked.lock().unwrap();
        let times = asked.entry(name.to_owned()).or_default();
        let answers = self.0.answers.get(name);
        let answer = answers.and_then(|answers| answers.get((*times).min(answers.len() - 1)).cloned());
        *times += 1;
        Box::pin(async move { answer.ok_or_else(|| std::io::Error::other("no such name")) })
    }
}

/// A listener that must get no connection.
struct Trap {
    address: SocketAddr,
    caught: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Trap {
    /// Returns `None` if the port is not available: privileged, or in use.
    async fn set(address: &str) -> Option<Self> {
        let listener = TcpListener::bind(address).await.ok()?;
        let (address, caught) = (listener.local_addr().unwrap(), Arc::default());
        let trap = Self { address, caught: Arc::clone(&caught) };
        tokio::spawn(async move {
            while let Ok((_, caller)) = listener.accept().await {
                caught.lock().unwrap().push(caller);
            }
        });
        Some(trap)
    }

    /// Listens on the default ports of URLs.
    async fn set_all() -> Vec<Self> {
        let mut traps = vec![];
        for address in ["127.0.0.1:443", "127.0.0.1:8443", "[::1]:443", "[::1]:8443"] {
            traps.extend(Self::set(address).await);
        }
        traps
    }

    /// How many connections it got before the test connects itself, which shows that the trap works.
    async fn caught(&self) -> usize {
        let us = TcpStream::connect(self.address).await.unwrap().local_addr().unwrap();
        loop {
            let before = self.caught.lock().unwrap().iter().position(|caller| *caller == us);
            match before {
                Some(before) => return before,
                None => tokio::task::yield_now().await,
            }
        }
    }
}

/// The URL for control connections: a port without a trap. A trap also catches the connections of the other tests of
/// this binary, because they run in their own processes at the same time.
const OURS: &str = "https://127.0.0.1:9/";

fn https(trusted: &str, ca: &str, dns: &Arc<Dns>) -> Https {
    let trusted = TrustedReceivers::parse(trusted).unwrap();
    let lookup = Arc::new(Shared(dns.clone()));
    Https::with_lookup(trusted, ca, Duration::from_millis(500), OURS, lookup).unwrap()
}

async fn post(https: &Https, url: &EndpointUrl) -> Result<Answer, Unanswered> {
    let secrets = EndpointSecrets {
        api_key: ReceiverKey::parse("customer-key").unwrap(),
        signing: SigningSecrets::only(SigningSecret::from_entropy([7; 32])),
    };
    let event = EventId::from_uuid(Uuid::from_u128(5));
    let headers = signature::headers(event, b"{}", &secrets, Timestamp::from_millis(1_000_000));
    https.post(Post { url, headers, body: b"{}" }).await
}

fn read(url: &str) -> Result<EndpointUrl, UrlRefused> {
    EndpointUrl::parse(url, &TrustedReceivers::none())
}

#[tokio::test]
async fn no_hostile_target_gets_a_connection() {
    assert!(URLS.len() + NAMES.len() >= 60, "{} and {}", URLS.len(), NAMES.len());
    let traps = Trap::set_all().await;
    let other = Receiver::start("hooks.internal", response("200 OK", "", "")).await;
    let dns = NAMES.iter().fold(Dns::default(), |dns, (name, addresses)| dns.says(name, &[*addresses]));
    let dns = Arc::new(dns.says("hooks.internal", &[&["127.0.0.1"]]));
    // Trusting one receiver allows no other.
    let https = https(&format!("https://hooks.internal:{}", other.address.port()), &other.ca, &dns);

    for (trick, url, reason) in URLS {
        assert_eq!(read(url), Err(*reason), "{trick}: {url}");
        // The URL is treated like a stored one from before the refusal.
        if let Ok(stored) = EndpointUrl::restore(url) {
            assert_eq!(post(&https, &stored).await, REFUSED, "{trick}: {url}");
        }
    }
    assert_eq!(dns.asked(), 0, "a refused URL is not looked up");

    for (name, _) in NAMES {
        for url in [format!("https://{name}/"), format!("https://{name}:8443/in?x=1")] {
            assert_eq!(post(&https, &read(&url).unwrap()).await, REFUSED, "{url}");
        }
        assert_eq!(dns.asked_for(name), 2, "once for each attempt");
    }
    assert_eq!(other.connections(), 0);
    for trap in traps {
        assert_eq!(trap.caught().await, 0, "{}", trap.address);
    }
}

#[test]
fn an_ambiguous_url_is_stored_in_the_form_that_is_called() {
    let url = read("https://example.com\\@127.0.0.1/").unwrap();
    assert_eq!(url.as_str(), "https://example.com/@127.0.0.1/");
    assert_eq!(url.as_url().host_str(), Some("example.com"));
}

#[tokio::test]
async fn one_private_address_among_public_ones_refuses_them_all() {
    // Addresses of a public part of IPv6 that is not assigned.
    let public = ["3000::1", "3000::2", "3000::3"];
    for private in
        ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1", "64:ff9b::a00:1"]
    {
        for place in 0..=public.len() {
            let mut mixed = public.to_vec();
            mixed.insert(place, private);
            let dns = Arc::new(Dns::default().says("mixed.example.com", &[&mixed]));
            let answer = post(&https("", "", &dns), &read("https://mixed.example.com/").unwrap()).await;
            assert_eq!(answer, REFUSED, "{mixed:?}");
        }
    }
}

#[tokio::test]
async fn the_connection_uses_the_checked_address_without_a_second_lookup() {
    let receiver = Receiver::start("hooks.internal", response("200 OK", "", "")).await;
    let port = receiver.address.port();
    let trap = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let dns = Arc::new(Dns::default().says("hooks.internal", &[&["127.0.0.1"], &["127.0.0.2"]]));
    let origin = format!("https://hooks.internal:{port}");
    let https = https(&origin, &receiver.ca, &dns);
    let url = EndpointUrl::restore(&origin).unwrap();
    assert_eq!(post(&https, &url).await.unwrap().status, 200);
    assert_eq!((dns.asked(), receiver.connections()), (1, 1));
    let caught = tokio::time::timeout(Duration::from_millis(50), trap.accept()).await;
    assert!(caught.is_err(), "a second DNS answer was used");
}

#[tokio::test]
async fn a_name_is_refused_when_its_address_becomes_private() {
    let dns = Arc::new(Dns::default().says("rebinds.example.com", &[&["3000::1"], &["127.0.0.1"]]));
    let (https, url) = (https("", "", &dns), read("https://rebinds.example.com:8443/").unwrap());
    // No host has this address. The error depends on the network in which the test runs.
    let first = post(&https, &url).await;
    assert!(first.is_err() && first != REFUSED, "{first:?}");
    for _ in 0..3 {
        assert_eq!(post(&https, &url).await, REFUSED);
    }
}

#[tokio::test]
async fn no_answer_redirects_the_transport() {
    let trap = Trap::set("127.0.0.1:0").await.unwrap();
    let port = trap.address.port();
    let dns = Arc::new(Dns::default());
    for status in
        ["300 Many", "301 Moved", "302 Found", "303 Other", "305 Proxy", "307 Temporary", "308 Permanent"]
    {
        for header in [
            format!("location: https://127.0.0.1:{port}/"),
            format!("location: http://127.0.0.1:{port}/"),
            format!("location: //127.0.0.1:{port}/"),
            "location: http://169.254.169.254/latest/meta-data/".to_owned(),
            "location: /again".to_owned(),
        ] {
            let receiver = Receiver::start("127.0.0.1", response(status, &format!("{header}\r\n"), "")).await;
            let https = https(&receiver.url(""), &receiver.ca, &dns);
            let answer = post(&https, &EndpointUrl::restore(&receiver.url("/in")).unwrap()).await.unwrap();
            assert_eq!(answer.status.to_string(), status[..3]);
            assert_eq!((receiver.connections(), receiver.requests().len()), (1, 1), "{status}, {header}");
        }
    }
    for header in [
        format!("alt-svc: h2=\"127.0.0.1:{port}\"; ma=86400"),
        format!("refresh: 0; url=https://127.0.0.1:{port}/"),
        format!("link: <https://127.0.0.1:{port}/>; rel=preload"),
    ] {
        let receiver = Receiver::start("127.0.0.1", response("200 OK", &format!("{header}\r\n"), "")).await;
        let https = https(&receiver.url(""), &receiver.ca, &dns);
        for _ in 0..2 {
            let answer = post(&https, &EndpointUrl::restore(&receiver.url("/in")).unwrap()).await;
            assert_eq!(answer.unwrap().status, 200);
        }
        assert_eq!(receiver.requests().len(), 2);
    }
    assert_eq!(trap.caught().await, 0);
}

/// Runs this test again in an environment whose proxy for everything is the trap.
#[tokio::test]
async fn no_proxy_of_the_environment_is_used() {
    const BEHIND: &str = "SSRF_BEHIND_A_PROXY";
    let receiver = Receiver::start("127.0.0.1", response("200 OK", "", "")).await;
    let https = https(&receiver.url(""), &receiver.ca, &Arc::new(Dns::default()));
    let answer = post(&https, &EndpointUrl::restore(&receiver.url("/in")).unwrap()).await;
    assert_eq!(answer.unwrap().status, 200);
    if std::env::var_os(BEHIND).is_some() {
        return;
    }
    let trap = Trap::set("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", trap.address);
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let again = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["ssrf::no_proxy_of_the_environment_is_used", "--exact"])
        .envs(names.map(|name| (name, proxy.as_str())))
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .env(BEHIND, "1")
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(again.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(trap.caught().await, 0);
}
