//! The client against the simulator of the provider, and against servers and connections that fail in every
//! way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::media::SentAs;
use domain::{Address, Cellphone, ChannelId, ConversationId, MessageId, PartId, Reached, Secret};
use local::simulator::{self, Receiver};
use provider::{Call, CallOutcome, Client, Meaning, Outgoing, Provider, Sent, meaning};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

fn client(graph: &str, time: Duration) -> Client {
    Client::new(graph, "v25.0", time).unwrap()
}

/// Sends `what` to the number that ends with `digits`. The simulator's answer depends on the number.
async fn send(client: &Client, digits: &str, what: &Outgoing) -> Sent {
    let (channel, token) = (ChannelId::parse("106540352242922").unwrap(), Secret::new("line-token"));
    let to = Address::Number(Cellphone::parse(&format!("+1202555{digits}")).unwrap());
    let call = Call { channel: &channel, token: &token, to: &to, what, answers: None, part: part() };
    client.send(call).await
}

fn part() -> PartId {
    PartId {
        conversation: ConversationId::parse("00000000-0000-0000-0000-000000000001").unwrap(),
        message: MessageId::parse("00000000-0000-0000-0000-000000000002").unwrap(),
        part: 0,
    }
}

fn hello() -> Outgoing {
    Outgoing::Text("hello".to_owned())
}

/// The end of a call that was not accepted.
fn none(outcome: CallOutcome) -> Sent {
    Sent { outcome, message_id: None, is_held: false, reached: Reached::default(), detail: None }
}

fn answered(status: u16, code: u32) -> CallOutcome {
    CallOutcome::Answered { status, code: Some(code) }
}

#[tokio::test]
async fn every_kind_of_message_is_accepted_and_arrives_unchanged() {
    let simulator = simulator::Provider::start(0).await.unwrap();
    let client = client(&simulator.url(), LONG);
    let link = "https://files.example/w/m?X-Amz-Signature=1".to_owned();
    let media = |sent_as, caption: Option<&str>, filename: Option<&str>| Outgoing::Media {
        sent_as,
        link: link.clone(),
        caption: caption.map(str::to_owned),
        filename: filename.map(str::to_owned),
    };
    let template = |values: &[&str]| {
        let names: Vec<String> = (1..=values.len()).map(|number| number.to_string()).collect();
        Outgoing::Template {
            name: "welcome".to_owned(),
            language: "en_US".to_owned(),
            form: Box::new(domain::settings::template::Form::of_names(names.clone())),
            values: names.into_iter().zip(values.iter().map(|value| (*value).to_owned())).collect(),
        }
    };
    let all = [
        Outgoing::Text("¡Hola, \"José\"!\n🎉".to_owned()),
        media(SentAs::Image, Some("caption"), None),
        media(SentAs::Video, None, None),
        media(SentAs::Audio, None, None),
        media(SentAs::Document, Some("caption"), Some("offer.pdf")),
        media(SentAs::Sticker, None, None),
        template(&[]),
        template(&["Ana", "10 %"]),
    ];
    for what in &all {
        let Sent { outcome, message_id, .. } = send(&client, "0101", what).await;
        assert_eq!(outcome, CallOutcome::Answered { status: 200, code: None }, "{what:?}");
        let call = simulator.ledger().entries().pop().unwrap();
        assert_eq!(message_id.as_deref(), call.answer.unwrap().body["messages"][0]["id"].as_str());
    }
    let first = &simulator.ledger().entries()[0];
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v25.0/106540352242922/messages"));
    assert_eq!(first.headers["authorization"], "Bearer line-token");
    assert_eq!(first.headers["content-type"], "application/json");
    assert_eq!(first.headers["user-agent"], "SERVICE-Messages/1");
    assert_eq!(
        first.body,
        json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+12025550101",
            "type": "text", "text": { "body": "¡Hola, \"José\"!\n🎉", "preview_url": false },
            "biz_opaque_callback_data": part().to_string(),
        })
    );
}

#[tokio::test]
async fn a_message_that_answers_another_names_it() {
    let simulator = simulator::Provider::start(0).await.unwrap();
    let (channel, token) = (ChannelId::parse("1").unwrap(), Secret::new("t"));
    let to = Address::Number(Cellphone::parse("+12025550101").unwrap());
    let (what, answers) = (&hello(), Some("wamid.1"));
    let call = Call { channel: &channel, token: &token, to: &to, what, answers, part: part() };
    assert!(client(&simulator.url(), LONG).send(call).await.message_id.is_some());
    assert_eq!(simulator.ledger().entries()[0].body["context"], json!({ "message_id": "wamid.1" }));
}

#[tokio::test]
async fn each_answer_of_the_provider_has_its_ending_and_meaning() {
    let simulator = simulator::Provider::start(0).await.unwrap();
    let client = client(&simulator.url(), SHORT);
    let rows = [
        ("0001", answered(400, 131_026), Meaning::Failed),
        ("0002", answered(429, 130_429), Meaning::Throttled),
        ("0003", CallOutcome::NoAnswer, Meaning::Unknown),
        ("0004", answered(500, 1), Meaning::Retry),
        ("0005", CallOutcome::NoAnswer, Meaning::Unknown),
        ("0006", answered(404, 132_001), Meaning::Failed),
        ("0007", CallOutcome::Answered { status: 200, code: None }, Meaning::Accepted),
    ];
    for (digits, outcome, means) in rows {
        let sent = send(&client, digits, &hello()).await;
        assert_eq!((sent.outcome, meaning(sent.outcome)), (outcome, means), "{digits}");
        assert_eq!(sent.message_id.is_some(), means == Meaning::Accepted);
    }
    assert_eq!(simulator.ledger().entries().len(), rows.len(), "one call each, none repeated");
}

#[tokio::test]
async fn every_failure_to_connect_ends_as_never_connected() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let never = |graph: String| async move { send(&client(&graph, LONG), "0101", &hello()).await.outcome };
    assert_eq!(never(format!("http://{free}")).await, CallOutcome::NeverConnected, "a closed port");
    let nowhere = "https://graph.invalid".to_owned();
    assert_eq!(never(nowhere).await, CallOutcome::NeverConnected, "a name that leads nowhere");

    let stranger = Receiver::start(0, 0).await.unwrap();
    assert_eq!(never(stranger.url()).await, CallOutcome::NeverConnected, "an authority that is not believed");
    assert!(stranger.ledger().entries().is_empty());

    let plain = Raw::start(Does::Answers(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())).await;
    assert_eq!(
        never(plain.url().replace("http:", "https:")).await,
        CallOutcome::NeverConnected,
        "no TLS at all"
    );
    let silent = Raw::start(Does::Nothing).await;
    let waiting = client(&silent.url().replace("http:", "https:"), SHORT);
    assert_eq!(
        send(&waiting, "0101", &hello()).await.outcome,
        CallOutcome::NeverConnected,
        "TLS that never begins"
    );
}

#[tokio::test]
async fn after_the_connection_was_made_an_incomplete_answer_is_no_answer() {
    let http = |text: &str| Does::Answers(text.as_bytes().to_vec());
    let rows = [
        ("closed before the answer", http("")),
        ("not HTTP", http("SSH-2.0-OpenSSH\r\n\r\n")),
        ("half a status", http("HTTP/1.1 20")),
        ("half a head", http("HTTP/1.1 200 OK\r\ncontent-le")),
        ("half a body", http("HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{\"messages\":[{\"id\"")),
        ("half a chunk", http("HTTP/1.1 400 No\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{\"error\"")),
        ("no JSON", http("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\noops")),
        ("never", Does::Nothing),
        ("drips", Does::Drips),
    ];
    for (name, does) in rows {
        let raw = Raw::start(does).await;
        let sent = send(&client(&raw.url(), SHORT), "0101", &hello()).await;
        assert_eq!(sent, none(CallOutcome::NoAnswer), "{name}");
        assert_eq!(raw.connections(), 1, "{name}: never repeated");
    }
}

#[tokio::test]
async fn the_status_and_code_of_every_answer_are_read() {
    let rows = [
        (429, "{}", CallOutcome::Answered { status: 429, code: None }),
        (400, r#"{"error":{"code":4}}"#, answered(400, 4)),
        (400, r#"{"error":{"code":80007}}"#, answered(400, 80_007)),
        (400, r#"{"error":{"code":130429}}"#, answered(400, 130_429)),
        (400, r#"{"error":{"code":131056}}"#, answered(400, 131_056)),
        (503, r#"{"error":{"code":2}}"#, answered(503, 2)),
        (500, r#"{"error":{"code":131000}}"#, answered(500, 131_000)),
        (500, r#"{"error":{"code":131016}}"#, answered(500, 131_016)),
        (502, "<html>Bad gateway</html>", CallOutcome::Answered { status: 502, code: None }),
        (401, r#"{"error":{"code":190}}"#, answered(401, 190)),
        (302, "", CallOutcome::Answered { status: 302, code: None }),
    ];
    for (status, body, outcome) in rows {
        let length = body.len();
        let text =
            format!("HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\ncontent-length: {length}\r\n\r\n{body}");
        let raw = Raw::start(Does::Answers(text.into_bytes())).await;
        let sent = send(&client(&raw.url(), LONG), "0101", &hello()).await;
        assert_eq!(sent, none(outcome), "{status} {body}");
        assert_eq!(raw.connections(), 1, "no redirect is followed");
    }
}

#[tokio::test]
async fn an_endless_answer_is_read_up_to_64_kib_and_its_status_counts() {
    let raw = Raw::start(Does::Endless).await;
    let sent = send(&client(&raw.url(), LONG), "0101", &hello()).await;
    assert_eq!(sent.outcome, CallOutcome::Answered { status: 400, code: None });
}

#[tokio::test]
async fn a_connection_is_reused_but_not_after_afresh() {
    let raw = Raw::start(Does::Accepts).await;
    let one = client(&raw.url(), LONG);
    for _ in 0..3 {
        assert!(send(&one, "0101", &hello()).await.message_id.is_some());
    }
    assert_eq!(raw.connections(), 1);
    assert!(send(&one.with_new_connections(), "0101", &hello()).await.message_id.is_some());
    assert_eq!(raw.connections(), 2);
}

#[tokio::test]
async fn no_request_is_written_to_a_connection_that_the_provider_closed() {
    let raw = Raw::start(Does::AcceptsAndCloses).await;
    let client = client(&raw.url(), LONG);
    for number in 1..=3 {
        assert!(send(&client, "0101", &hello()).await.message_id.is_some());
        assert_eq!(raw.connections(), number);
        raw.closed(number).await;
    }
}

#[tokio::test]
async fn a_token_that_is_no_valid_header_value_sends_nothing() {
    let raw = Raw::start(Does::Accepts).await;
    let (channel, token) = (ChannelId::parse("1").unwrap(), Secret::new("line\nbreak"));
    let to = Address::Number(Cellphone::parse("+12025550101").unwrap());
    let what = &hello();
    let call = Call { channel: &channel, token: &token, to: &to, what, answers: None, part: part() };
    assert_eq!(client(&raw.url(), LONG).send(call).await.outcome, CallOutcome::NeverConnected);
    assert_eq!(raw.connections(), 0);
}

/// A server on a free loopback port that behaves byte for byte as a test requests.
struct Raw {
    address: std::net::SocketAddr,
    connections: Arc<AtomicUsize>,
    closed: tokio::sync::watch::Receiver<usize>,
}

#[derive(Clone)]
enum Does {
    /// Reads a request, sends these bytes and closes.
    Answers(Vec<u8>),
    /// Reads and never answers.
    Nothing,
    /// Answers more slowly than any client waits.
    Drips,
    /// Sends an endless body.
    Endless,
    /// Accepts each message and keeps the connection open.
    Accepts,
    /// Accepts a message, announces that the connection stays open, and closes it.
    AcceptsAndCloses,
}

impl Raw {
    async fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (closing, closed) = tokio::sync::watch::channel(0);
        let (count, closing) = (connections.clone(), Arc::new(Mutex::new(closing)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (does, closing) = (does.clone(), closing.clone());
                tokio::spawn(async move {
                    serve(stream, &does).await;
                    closing.lock().unwrap().send_modify(|closed| *closed += 1);
                });
            }
        });
        Self { address, connections, closed }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until the server has closed this many connections and the client had time to notice.
    async fn closed(&self, count: usize) {
        self.closed.clone().wait_for(|closed| *closed >= count).await.unwrap();
        // The client runs in the runtime of this thread: let it notice the close.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

async fn serve(mut stream: TcpStream, does: &Does) {
    const ACCEPTED: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-length: 36\r\n\r\n{\"messages\":[{\"id\":\"wamid.accept\"}]}";
    while read_request(&mut stream).await {
        match does {
            Does::Answers(bytes) => {
                let _ = stream.write_all(bytes).await;
                return;
            }
            Does::Nothing => std::future::pending().await,
            Does::Drips => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await;
                while stream.write_all(b"{").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                return;
            }
            Does::Endless => {
                let _ = stream.write_all(b"HTTP/1.1 400 No\r\ncontent-length: 999999999\r\n\r\n").await;
                while stream.write_all(&[b'x'; 1024]).await.is_ok() {}
                return;
            }
            Does::Accepts => {
                let _ = stream.write_all(ACCEPTED).await;
            }
            Does::AcceptsAndCloses => {
                let _ = stream.write_all(ACCEPTED).await;
                return;
            }
        }
    }
}

/// Reads head and body of one request. Returns `false` if the connection ends before that.
async fn read_request(stream: &mut TcpStream) -> bool {
    let mut bytes = vec![];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return true;
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            _ => return false,
        }
    }
}
