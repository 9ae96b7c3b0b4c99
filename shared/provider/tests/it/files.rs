//! The client of files against servers that redirect it, break off and lie about addresses.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use domain::Secret;
use domain::media::FileMissing;
use outbound::resolver::{Addresses, Lookup};
use provider::{FetchedFile, FileClient, FileHosts, NotFetched, WantedFile};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers each request with the next of these answers, and returns its URL and the requests' first lines.
async fn serve(answers: Vec<String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(vec![]));
    let (answers_of, seen_by) = (url.clone(), Arc::clone(&seen));
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 8 * 1024];
            let read = stream.read(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            seen_by.lock().unwrap().push(text);
            stream.write_all(answer.replace("SELF", &answers_of).as_bytes()).await.unwrap();
        }
    });
    (url, seen)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

fn described(url: &str) -> String {
    // The length of the body changes with the URL of the server, so the end of the connection ends it.
    let body = json!({ "url": url, "mime_type": "text/plain", "file_size": "5" });
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")
}

/// Finds these addresses for every name.
struct Finds(Vec<IpAddr>, Arc<Mutex<Vec<String>>>);

impl Lookup for Finds {
    fn lookup(&self, name: &str) -> Addresses {
        self.1.lock().unwrap().push(name.to_owned());
        let found = self.0.clone();
        Box::pin(async { Ok(found) })
    }
}

async fn fetch(graph: &str, addresses: &[&str]) -> (Result<FetchedFile, NotFetched>, Vec<u8>, Vec<String>) {
    let asked = Arc::new(Mutex::new(vec![]));
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    let lookup = Arc::new(Finds(addresses, Arc::clone(&asked)));
    let hosts = FileHosts::parse("files.example").unwrap();
    let client = FileClient::with_lookup(graph, "v25.0", hosts, lookup).unwrap();
    let mut bytes = vec![];
    let wanted = WantedFile { id: "7/../7", digest: None, max_bytes: 10 };
    let fetched = client.fetch(&Secret::new("token"), wanted, &mut bytes).await;
    let asked = asked.lock().unwrap().clone();
    (fetched, bytes, asked)
}

#[tokio::test]
async fn both_calls_carry_the_token_and_the_bytes_arrive() {
    let (url, seen) = serve(vec![described("SELF/bytes?mid=1"), answer("200 OK", "", "hello")]).await;
    let (fetched, bytes, _) = fetch(&url, &[]).await;
    assert_eq!(fetched.unwrap().size, 5);
    assert_eq!(bytes, b"hello");
    let seen = seen.lock().unwrap();
    assert!(seen[0].starts_with("GET /v25.0/7%2F..%2F7 HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(seen[1].starts_with("GET /bytes?mid=1 HTTP/1.1\r\n"), "{}", seen[1]);
    assert!(seen.iter().all(|request| request.contains("authorization: Bearer token\r\n")));
}

#[tokio::test]
async fn a_host_with_an_address_that_is_not_public_is_not_connected_to() {
    for addresses in [&["127.0.0.1"][..], &["93.184.216.34", "169.254.169.254"], &["::1"], &["10.0.0.1"]] {
        let (url, _) = serve(vec![described("https://cdn.files.example/x")]).await;
        let (fetched, _, asked) = fetch(&url, addresses).await;
        assert_eq!(fetched, Err(NotFetched::Missing(FileMissing::Refused)), "{addresses:?}");
        assert_eq!(asked, ["cdn.files.example"]);
    }
}

#[tokio::test]
async fn the_token_is_sent_to_no_other_host() {
    for other in [
        "https://evil.example/x",
        "https://files.example.evil.example/x",
        "https://files.example:8443/x",
        "https://user@files.example/x",
        "http://files.example/x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/x",
    ] {
        let (url, _) = serve(vec![described(other)]).await;
        let (fetched, _, asked) = fetch(&url, &["93.184.216.34"]).await;
        assert_eq!(fetched, Err(NotFetched::Missing(FileMissing::Refused)), "{other}");
        assert_eq!(asked, [] as [&str; 0], "{other}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let redirect = answer("302 Found", "location: http://127.0.0.1:9/x\r\n", "");
    for answers in [vec![redirect.clone()], vec![described("SELF/bytes"), redirect]] {
        let (url, _) = serve(answers).await;
        let (fetched, _, _) = fetch(&url, &[]).await;
        assert_eq!(fetched, Err(NotFetched::NotNow("the provider redirects")));
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_never_ends_is_no_file() {
    let short = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhello".to_owned();
    let (url, _) = serve(vec![described("SELF/bytes"), short]).await;
    let (fetched, _, _) = fetch(&url, &[]).await;
    assert_eq!(fetched, Err(NotFetched::NotNow("the provider's answer broke off")));

    let long = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(11));
    let (url, _) = serve(vec![described("SELF/bytes"), long]).await;
    let (fetched, bytes, _) = fetch(&url, &[]).await;
    assert_eq!(fetched, Err(NotFetched::Missing(FileMissing::TooLarge)));
    assert!(bytes.len() <= 10);

    let endless = answer("200 OK", "", &"x".repeat(70_000));
    let (url, _) = serve(vec![endless]).await;
    let (fetched, _, _) = fetch(&url, &[]).await;
    assert_eq!(fetched, Err(NotFetched::NotNow("the provider's answer is too long")));
}

#[tokio::test]
async fn nobody_listening_is_tried_again_later() {
    let (fetched, _, _) = fetch("http://127.0.0.1:1", &[]).await;
    assert_eq!(fetched, Err(NotFetched::NotNow("the provider did not answer")));
}
