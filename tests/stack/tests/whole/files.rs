//! Files: any client can use the upload that endpoint 10 returns without changes, and the bucket refuses every other
//! request.

use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::stack::{Answer, Stack, Workspace, root};

const ORIGIN: &str = "https://app.example.com";

/// A file that is ready for upload.
struct Upload {
    media_id: String,
    url: String,
    headers: Vec<(String, String)>,
}

impl Upload {
    /// The bucket and the key of the URL. The emulator has path-style URLs.
    fn bucket_and_key(&self) -> (String, String) {
        let url = reqwest::Url::parse(&self.url).expect("a URL");
        let (bucket, key) = url.path()[1..].split_once('/').expect("a bucket and a key");
        (bucket.to_owned(), key.to_owned())
    }

    /// The headers with one value replaced or removed.
    fn headers_with(&self, name: &str, value: Option<&str>) -> Vec<(String, String)> {
        let others = self.headers.iter().filter(|(known, _)| known != name).cloned();
        others.chain(value.map(|value| (name.to_owned(), value.to_owned()))).collect()
    }
}

fn digest(bytes: &[u8]) -> String {
    STANDARD.encode(Sha256::digest(bytes))
}

/// Makes files ready for upload. Each is given as name, type, MIME type, bytes, and whether its size is declared.
async fn prepare_uploads(
    stack: &Stack,
    workspace: &Workspace,
    files: &[(&str, &str, &str, &[u8], bool)],
) -> Vec<Upload> {
    let item = |(name, file_type, content_type, bytes, measured): &(&str, &str, &str, &[u8], bool)| {
        let size = measured.then_some(bytes.len());
        json!({
            "name": name, "fileType": file_type, "contentType": content_type,
            "checksumBase64": digest(bytes), "contentLength": size,
        })
    };
    let body = json!(files.iter().map(item).collect::<Vec<_>>());
    let answer = stack.api(Method::POST, workspace, "/files", Some(body)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let uploads = answer.json.as_array().expect("a list").iter().map(|item| {
        assert_eq!(item["presignUrl"]["method"], "PUT");
        let headers = item["presignUrl"]["headers"].as_object().expect("headers");
        Upload {
            media_id: text(&item["mediaId"]),
            url: text(&item["presignUrl"]["url"]),
            headers: headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        }
    });
    uploads.collect()
}

/// Sends bytes to any URL.
async fn send(method: Method, url: &str, headers: &[(String, String)], bytes: &[u8]) -> Answer {
    let request = reqwest::Client::new().request(method, url).body(bytes.to_vec());
    let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    Stack::answer(request).await
}

/// The bucket's description of the object of a file.
fn object_head(stack: &Stack, upload: &Upload) -> Value {
    let (bucket, key) = upload.bucket_and_key();
    stack.aws(&["s3api", "head-object", "--bucket", &bucket, "--key", &key, "--checksum-mode", "ENABLED"])
}

/// The keys of all objects in the bucket.
fn all_keys(stack: &Stack, bucket: &str) -> Vec<String> {
    let list = stack.aws(&["s3api", "list-objects-v2", "--bucket", bucket]);
    let objects = list["Contents"].as_array().cloned().unwrap_or_default();
    objects.iter().map(|object| object["Key"].as_str().expect("a key").to_owned()).collect()
}

fn with_curl(upload: &Upload, file: &str) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--request", "PUT", "--data-binary", &format!("@{file}")]);
    for (name, value) in &upload.headers {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    stdout_of(command.args(["--output", "/dev/null", "--write-out", "%{http_code}", &upload.url]))
}

fn with_python(upload: &Upload, file: &str) -> String {
    let script = "import json, sys, urllib.request\n\
                  url, headers, file = sys.argv[1], dict(json.loads(sys.argv[2])), open(sys.argv[3], 'rb').read()\n\
                  request = urllib.request.Request(url, data=file, headers=headers, method='PUT')\n\
                  print(urllib.request.urlopen(request).status)";
    let headers = json!(upload.headers).to_string();
    stdout_of(Command::new("python3").args(["-c", script, &upload.url, &headers, file]))
}

fn stdout_of(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Uploads like `fetch` on a page. The browser sends a preflight, because method and headers are not simple, then sends
/// what the preflight allowed, and checks that the page may read the response. The browser itself sets
/// `Content-Length`.
async fn with_fetch(upload: &Upload, bytes: &[u8]) {
    let mut named: Vec<String> = upload.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
    named.retain(|name| name != "content-length");
    named.sort();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let asked = [
        pair("Origin", ORIGIN),
        pair("Access-Control-Request-Method", "PUT"),
        pair("Access-Control-Request-Headers", &named.join(",")),
    ];
    let allowed = send(Method::OPTIONS, &upload.url, &asked, b"").await;
    assert_eq!(allowed.status, 200, "{}", allowed.text);
    assert!(["*", ORIGIN].contains(&allowed.header("access-control-allow-origin")));
    assert!(allowed.header("access-control-allow-methods").contains("PUT"));
    let list = allowed.header("access-control-allow-headers").to_lowercase();
    assert!(named.iter().all(|name| list.split(", ").any(|known| known == name)), "{list}");

    let mut headers = upload.headers_with("Content-Length", None);
    headers.push(pair("Origin", ORIGIN));
    let answer = send(Method::PUT, &upload.url, &headers, bytes).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(["*", ORIGIN].contains(&answer.header("access-control-allow-origin")));
}

#[tokio::test]
async fn files_are_uploaded_as_answered_with_curl_with_python_and_by_a_browser() {
    let stack = Stack::start("uploads", &[]).await;
    let workspace = stack.workspace("Uploads");
    let (text, picture) = (&b"From Lisbon with love"[..], &[0x89, b'P', b'N', b'G', 0, 255][..]);
    let large = vec![7; 3 * 1_048_576];
    let files = [
        ("Itiner\u{e1}rio (1).TXT", "DOCUMENT", "text/plain", text, false),
        ("Itiner\u{e1}rio (1).TXT", "DOCUMENT", "text/plain", text, true),
        ("beach.png", "IMAGE", "IMAGE/PNG", picture, false),
        ("beach.png", "IMAGE", "IMAGE/PNG", picture, true),
        ("dance.gif", "GIF", "image/gif", &large, false),
        ("dance.gif", "GIF", "image/gif", &large, true),
    ];
    let uploads = prepare_uploads(&stack, &workspace, &files).await;
    let (local, local_large) = (stack.file_with("text", text), stack.file_with("large", &large));
    assert_eq!(with_curl(&uploads[0], &local), "200");
    assert_eq!(with_curl(&uploads[5], &local_large), "200");
    assert_eq!(with_python(&uploads[1], &local), "200");
    assert_eq!(with_python(&uploads[4], &local_large), "200");
    with_fetch(&uploads[2], picture).await;
    with_fetch(&uploads[3], picture).await;

    for (upload, (_, _, content_type, bytes, _)) in uploads.iter().zip(files) {
        assert_eq!(upload.bucket_and_key().1, format!("{}/{}", workspace.id, upload.media_id));
        let held = object_head(&stack, upload);
        assert_eq!(held["ContentLength"], bytes.len());
        assert_eq!(held["ContentType"], content_type.to_lowercase());
        assert_eq!(held["ChecksumSHA256"], digest(bytes), "{held}");
    }
}

#[tokio::test]
async fn the_bucket_refuses_every_request_that_differs_from_the_signed_one() {
    let stack = Stack::start("refused", &["UploadOrigins=https://app.example.com"]).await;
    let workspace = stack.workspace("Refused");
    let bytes = &b"From Lisbon with love"[..];
    let other = &b"From Prague with love"[..];
    let files =
        [("a.txt", "DOCUMENT", "text/plain", bytes, true), ("b.txt", "DOCUMENT", "text/plain", bytes, false)];
    let uploads = prepare_uploads(&stack, &workspace, &files).await;
    let (upload, another) = (&uploads[0], &uploads[1]);
    let (bucket, key) = upload.bucket_and_key();
    let own = || upload.headers.clone();
    let with = |name: &str, value: &str| upload.headers_with(name, Some(value));
    let without = |name: &str| upload.headers_with(name, None);
    let url = |from: &str, to: &str| {
        assert!(upload.url.contains(from), "{from} in {}", upload.url);
        upload.url.replacen(from, to, 1)
    };
    // A signature by an independent implementation, to create an expired one.
    let place = upload.url.split('?').next().expect("a URL without a query").to_owned();
    let signed_ago = |seconds: &str| {
        let mut command = Command::new("python3");
        command.arg(root().join("tests/stack/presign.py"));
        command.args(["PUT", &place, "test", "test", stack.text("region"), seconds, "600"]);
        command.args(upload.headers.iter().map(|(name, value)| format!("{name}={value}")));
        stdout_of(&mut command)
    };

    const MISMATCH: (u16, &str) = (403, "SignatureDoesNotMatch");
    const DENIED: (u16, &str) = (403, "AccessDenied");
    let own_url = || upload.url.clone();
    // A request without a body has no size to sign.
    let (sizeless_url, sizeless) = (|| another.url.clone(), || another.headers.clone());
    let longer = [bytes, b"!"].concat();
    let (text, digest_header) = ("Content-Type", "x-amz-checksum-sha256");
    let put = || Method::PUT;
    type Row<'a> = (&'a str, Method, String, Vec<(String, String)>, &'a [u8], (u16, &'a str));
    let rows: Vec<Row<'_>> = vec![
        ("other bytes", put(), own_url(), own(), other, (400, "BadDigest")),
        ("their own digest", put(), own_url(), with(digest_header, &digest(other)), other, MISMATCH),
        ("no digest", put(), own_url(), without(digest_header), bytes, MISMATCH),
        ("another content type", put(), own_url(), with(text, "text/html"), bytes, MISMATCH),
        ("no content type", put(), own_url(), without(text), bytes, MISMATCH),
        ("more bytes", put(), own_url(), with("Content-Length", "22"), &longer, MISMATCH),
        ("fetching", Method::GET, sizeless_url(), sizeless(), b"", MISMATCH),
        // Here the emulator first checks the rights of the function that signed. They do not allow the action.
        ("deleting", Method::DELETE, sizeless_url(), sizeless(), b"", DENIED),
        ("posting", Method::POST, own_url(), own(), bytes, MISMATCH),
        ("another file's place", put(), url(&upload.media_id, &another.media_id), own(), bytes, MISMATCH),
        ("a longer time", put(), url("X-Amz-Expires=600", "X-Amz-Expires=6000"), own(), bytes, MISMATCH),
        ("fewer signed headers", put(), url("content-length%3B", ""), own(), bytes, MISMATCH),
        ("without what was signed", put(), url("x-id=PutObject&", ""), own(), bytes, MISMATCH),
        ("without a signature", put(), place.clone(), own(), bytes, DENIED),
        ("over", put(), signed_ago("601"), own(), bytes, DENIED),
    ];
    for (what, method, url, headers, bytes, (status, code)) in rows {
        let answer = send(method, &url, &headers, bytes).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text);
        assert!(answer.text.contains(&format!("<Code>{code}</Code>")), "{what}: {}", answer.text);
    }
    assert_eq!(all_keys(&stack, &bucket), Vec::<String>::new());

    let preflight = [
        ("Origin", "https://elsewhere.example.com"),
        ("Access-Control-Request-Method", "PUT"),
        ("Access-Control-Request-Headers", "content-type,x-amz-checksum-sha256"),
    ];
    assert_eq!(stack.request(Method::OPTIONS, &upload.url, &preflight).await.status, 403, "another origin");

    // The bucket accepts the same algorithm before the expiry, and the URL as it was returned.
    for url in [signed_ago("590"), own_url()] {
        let answer = send(put(), &url, &own(), bytes).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    assert_eq!(all_keys(&stack, &bucket), [key]);
}

#[tokio::test]
async fn a_file_over_the_limit_of_its_type_is_deleted_when_it_arrives() {
    let stack = Stack::start("oversize", &[]).await;
    let workspace = stack.workspace("Oversize");
    let (fits, over) = (vec![7; 500 * 1024], vec![7; 500 * 1024 + 1]);
    let sticker = |bytes| ("wave.webp", "STICKER", "image/webp", bytes, false);
    let uploads = prepare_uploads(&stack, &workspace, &[sticker(&fits[..]), sticker(&over[..])]).await;
    for (upload, bytes) in uploads.iter().zip([&fits, &over]) {
        assert_eq!(send(Method::PUT, &upload.url, &upload.headers, bytes).await.status, 200);
    }
    let (bucket, kept) = uploads[0].bucket_and_key();
    stack
        .wait_until("the deletion of the large file", async || {
            (all_keys(&stack, &bucket) == [kept.clone()]).then_some(())
        })
        .await;
    let pk = format!("{}#M#{}", workspace.id, uploads[1].media_id);
    let key = json!({"pk": {"S": pk}, "sk": {"S": "M"}}).to_string();
    let table = format!("{}-media", stack.stack_name());
    let row = stack.aws(&["dynamodb", "get-item", "--table-name", &table, "--key", &key]);
    assert_eq!(row["Item"]["state"]["S"], "TOO_LARGE");
}

#[tokio::test]
async fn the_bytes_of_a_file_are_deleted_after_its_row() {
    let stack = Stack::start("forgotten", &[]).await;
    let workspace = stack.workspace("Forgotten");
    let bytes = &b"Never sent"[..];
    let file = ("a.txt", "DOCUMENT", "text/plain", bytes, false);
    let uploads = prepare_uploads(&stack, &workspace, &[file, file]).await;
    for upload in &uploads {
        assert_eq!(send(Method::PUT, &upload.url, &upload.headers, bytes).await.status, 200);
    }
    let (bucket, _) = uploads[0].bucket_and_key();
    let table = format!("{}-media", stack.stack_name());
    let row = |upload: &Upload| {
        let pk = format!("{}#M#{}", workspace.id, upload.media_id);
        json!({"pk": {"S": pk}, "sk": {"S": "M"}}).to_string()
    };
    let kept = stack.aws(&["dynamodb", "get-item", "--table-name", &table, "--key", &row(&uploads[1])]);
    let until: u64 =
        kept["Item"]["expiresAt"]["N"].as_str().expect("a time to live").parse().expect("seconds");
    let now = std::time::UNIX_EPOCH.elapsed().expect("the clock is after 1970").as_secs();
    assert!(
        (86_400..=87_000).contains(&(until - now)),
        "expected a day and ten minutes, but the row expires in {} seconds",
        until - now
    );
    // Deletes the row, as its time to live does.
    stack.aws(&["dynamodb", "delete-item", "--table-name", &table, "--key", &row(&uploads[0])]);
    stack
        .wait_until("the deletion of the bytes", async || {
            (all_keys(&stack, &bucket) == [uploads[1].bucket_and_key().1]).then_some(())
        })
        .await;
}
