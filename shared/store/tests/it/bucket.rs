//! The bucket: the signatures of its URLs, checked by the published algorithm, and its calls.

use domain::media::{Declared, FileName, Uploaded};
use domain::{FileType, Media, MediaDigest, MediaId, Timestamp};
use harness::{Fault, TestBucket, TestDb};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use store::{Bucket, StoreError};

use crate::support::{OTHER, WORKSPACE};

const DIGEST: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
const OTHER_DIGEST: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn file(size: Option<u64>) -> Declared {
    Declared {
        name: FileName::parse("Ana's picture.png").unwrap(),
        file_type: FileType::Image,
        content_type: "image/png",
        digest: MediaDigest::parse(DIGEST).unwrap(),
        size,
    }
}

/// A signed request, as the sender and S3 see it.
#[derive(Clone)]
struct Signed {
    method: &'static str,
    url: String,
    headers: Vec<(&'static str, String)>,
}

impl Signed {
    fn parameters(&self) -> Vec<(&str, &str)> {
        let query = self.url.split_once('?').unwrap().1;
        query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect()
    }

    fn parameter(&self, name: &str) -> &str {
        let parameters = self.parameters();
        let mut of_name = parameters.iter().filter(|(known, _)| *known == name);
        match (of_name.next(), of_name.next()) {
            (Some((_, value)), None) => value,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn signed_headers(&self) -> Vec<&str> {
        self.parameter("X-Amz-SignedHeaders").split("%3B").collect()
    }

    /// The signature of this request by Signature Version 4 (Authenticating Requests: Using Query
    /// Parameters).
    fn signature(&self, secret: &str) -> String {
        let (place, query) = self.url.split_once('?').unwrap();
        let (host, path) = place.strip_prefix("https://").unwrap().split_once('/').unwrap();
        let mut query: Vec<&str> =
            query.split('&').filter(|pair| !pair.starts_with("X-Amz-Signature=")).collect();
        query.sort_unstable();
        let value = |name: &str| match name {
            "host" => host.to_owned(),
            name => {
                let sent = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                sent.map_or(String::new(), |(_, value)| value.trim().to_owned())
            }
        };
        let names = self.signed_headers();
        let headers: String = names.iter().map(|name| format!("{name}:{}\n", value(name))).collect();
        let (query, names) = (query.join("&"), names.join(";"));
        let canonical = format!("{}\n/{path}\n{query}\n{headers}\n{names}\nUNSIGNED-PAYLOAD", self.method);

        let credential = self.parameter("X-Amz-Credential").replace("%2F", "/");
        let scope = credential.split_once('/').unwrap().1;
        let [date, region, service, end] = scope.split('/').collect::<Vec<_>>()[..] else {
            panic!("{scope}")
        };
        let moment = self.parameter("X-Amz-Date");
        assert!(moment.starts_with(date));
        let to_sign =
            format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
        let key = [region, service, end]
            .iter()
            .fold(mac(format!("AWS4{secret}").as_bytes(), date), |key, part| mac(&key, part));
        hex(&mac(&key, &to_sign))
    }

    fn is_genuine(&self) -> bool {
        self.signature(TestBucket::SECRET_KEY) == self.parameter("X-Amz-Signature")
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(text).finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn upload(bucket: &Bucket, id: MediaId, size: Option<u64>) -> Signed {
    let file = file(size);
    let url = bucket.presign_put(WORKSPACE, id, &file).await.unwrap();
    let mut headers =
        vec![("Content-Type", "image/png".to_owned()), ("x-amz-checksum-sha256", DIGEST.to_owned())];
    headers.extend(size.map(|size| ("Content-Length", size.to_string())));
    Signed { method: "PUT", url, headers }
}

#[test]
fn the_algorithm_reproduces_the_published_signature_of_the_published_example() {
    let url = "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
               &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
               &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=0";
    let example = Signed { method: "GET", url: url.to_owned(), headers: vec![] };
    assert_eq!(
        example.signature("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
}

#[tokio::test]
async fn an_upload_url_is_signed_with_key_content_type_digest_and_size_for_ten_minutes() {
    let db = TestDb::start().await;
    let bucket = TestBucket::beside(&db).bucket();
    let id = MediaId::generate(&**db.ids());
    for (size, signed) in [
        (None, vec!["content-type", "host", "x-amz-checksum-sha256"]),
        (Some(7), vec!["content-length", "content-type", "host", "x-amz-checksum-sha256"]),
    ] {
        let put = upload(&bucket, id, size).await;
        let place = format!("https://media-bucket.s3.eu-central-1.amazonaws.com/{WORKSPACE}/{id}?");
        assert!(put.url.starts_with(&place), "{}", put.url);
        assert_eq!(put.signed_headers(), signed);
        assert_eq!(put.parameter("X-Amz-Date"), "20260102T030405Z", "our clock's moment");
        assert_eq!(put.parameter("X-Amz-Expires"), "600");
        let mut names: Vec<&str> = put.parameters().iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "X-Amz-Algorithm",
                "X-Amz-Credential",
                "X-Amz-Date",
                "X-Amz-Expires",
                "X-Amz-Signature",
                "X-Amz-SignedHeaders",
                "x-id"
            ]
        );
        assert!(put.is_genuine());
    }
    assert_eq!(db.calls(), [], "nobody was called");
}

#[tokio::test]
async fn a_changed_method_header_key_or_time_invalidates_the_signature() {
    let db = TestDb::start().await;
    let bucket = TestBucket::beside(&db).bucket();
    let (id, another) = (MediaId::generate(&**db.ids()), MediaId::generate(&**db.ids()));
    let put = upload(&bucket, id, Some(7)).await;
    let url = |from: &str, to: &str| {
        assert!(put.url.contains(from), "{from}");
        Signed { url: put.url.replacen(from, to, 1), ..put.clone() }
    };
    let header = |at: usize, value: &str| {
        let mut changed = put.clone();
        changed.headers[at].1 = value.to_owned();
        changed
    };
    let without = |at: usize| {
        let mut changed = put.clone();
        changed.headers.remove(at);
        changed
    };
    for (what, changed) in [
        ("method", Signed { method: "POST", ..put.clone() }),
        ("content type", header(0, "text/html")),
        ("no content type", without(0)),
        ("digest", header(1, OTHER_DIGEST)),
        ("no digest", without(1)),
        ("size", header(2, "8")),
        ("file", url(&id.to_string(), &another.to_string())),
        ("workspace", url(&WORKSPACE.to_string(), &OTHER.to_string())),
        ("bucket", url("media-bucket", "other-bucket")),
        ("time it is valid", url("X-Amz-Expires=600", "X-Amz-Expires=601")),
        ("moment", url("20260102T030405Z", "20260102T040405Z")),
        ("another parameter", url("x-id=PutObject", "acl=&x-id=PutObject")),
        ("one parameter less", url("x-id=PutObject&", "")),
        ("fewer signed headers", url("content-length%3B", "")),
        ("signature", url("X-Amz-Signature=", "X-Amz-Signature=0")),
    ] {
        assert!(!changed.is_genuine(), "{what}");
    }
    assert!(put.is_genuine());
}

#[tokio::test]
async fn a_link_is_signed_only_for_get_without_headers_for_an_hour() {
    let db = TestDb::start().await;
    let bucket = TestBucket::beside(&db).bucket();
    let id = MediaId::generate(&**db.ids());
    let url = bucket.presign_get(WORKSPACE, id).await.unwrap();
    let get = Signed { method: "GET", url, headers: vec![] };
    assert!(
        get.url.starts_with(&format!("https://media-bucket.s3.eu-central-1.amazonaws.com/{WORKSPACE}/{id}?"))
    );
    assert_eq!(get.signed_headers(), ["host"]);
    assert_eq!((get.parameter("X-Amz-Expires"), get.parameter("X-Amz-Date")), ("3600", "20260102T030405Z"));
    assert!(get.is_genuine());
    assert!(!Signed { method: "PUT", ..get }.is_genuine());
    assert_eq!(db.calls(), [], "nobody was called");
}

#[tokio::test]
async fn a_download_is_signed_for_get_with_its_name_and_its_type_for_ten_minutes() {
    let db = TestDb::start().await;
    let bucket = TestBucket::beside(&db).bucket();
    let media = Media::ready(&file(None), WORKSPACE, &**db.ids(), db.store().now());
    let (url, expires_at) = bucket.presign_download(&media).await.unwrap();
    assert_eq!(Some(expires_at), Timestamp::parse("2026-01-02T03:14:05Z"));
    let get = |url: String| Signed { method: "GET", url, headers: vec![] };
    let genuine = get(url.clone());
    let place = format!("https://media-bucket.s3.eu-central-1.amazonaws.com/{WORKSPACE}/{}?", media.id);
    assert!(genuine.url.starts_with(&place));
    assert_eq!(genuine.signed_headers(), ["host"]);
    let times = (genuine.parameter("X-Amz-Expires"), genuine.parameter("X-Amz-Date"));
    assert_eq!(times, ("600", "20260102T030405Z"));
    assert!(genuine.is_genuine());
    for (what, old, new) in [
        ("shown in the browser", "attachment", "inline"),
        ("another name", "response-content-disposition=", "response-content-disposition=x"),
        ("another type", "response-content-type=", "response-content-type=x"),
        ("another file", "/00000000", "/10000000"),
    ] {
        assert!(url.contains(old), "{what}: {url}");
        assert!(!get(url.replacen(old, new, 1)).is_genuine(), "{what}");
    }
    assert!(!Signed { method: "PUT", ..genuine }.is_genuine());
    assert_eq!(db.calls(), [], "nobody was called");
}

#[tokio::test]
async fn an_uploaded_object_has_size_and_digest_and_can_be_deleted() {
    let db = TestDb::start().await;
    let s3 = TestBucket::beside(&db);
    let bucket = s3.bucket_of(&db, "messages");
    let media = Media::ready(&file(None), WORKSPACE, &**db.ids(), db.store().now());
    assert_eq!(bucket.head(WORKSPACE, media.id).await.unwrap(), None);
    s3.upload(&media, 7);
    let uploaded = Uploaded { size: 7, digest: MediaDigest::parse(DIGEST).ok() };
    assert_eq!(bucket.head(WORKSPACE, media.id).await.unwrap(), Some(uploaded));
    assert_eq!(bucket.head(OTHER, media.id).await.unwrap(), None);
    s3.put(WORKSPACE, media.id, Uploaded { size: 0, digest: None });
    let unknown = Uploaded { size: 0, digest: None };
    assert_eq!(bucket.head(WORKSPACE, media.id).await.unwrap(), Some(unknown));
    for _ in 0..2 {
        bucket.delete(WORKSPACE, media.id).await.unwrap();
        assert!(!s3.holds(WORKSPACE, media.id));
    }
    let operations: Vec<String> = db.calls().into_iter().map(|call| call.operation).collect();
    assert_eq!(
        operations,
        ["HeadObject", "HeadObject", "HeadObject", "HeadObject", "DeleteObject", "DeleteObject"]
    );
}

#[tokio::test]
async fn a_call_to_a_busy_bucket_is_tried_three_times_and_then_busy() {
    let db = TestDb::start().await;
    let s3 = TestBucket::beside(&db);
    let id = MediaId::generate(&**db.ids());
    s3.put(WORKSPACE, id, Uploaded { size: 1, digest: None });
    for fault in [Fault::Throttled, Fault::Unreachable, Fault::AnswerLost] {
        db.fail("HeadObject", fault, 2);
        assert!(s3.bucket().head(WORKSPACE, id).await.unwrap().is_some(), "{fault:?}");
        db.fail("HeadObject", fault, 3);
        let answer = s3.bucket().head(WORKSPACE, id).await;
        assert!(matches!(answer, Err(StoreError::Busy(_))), "{fault:?}: {answer:?}");
    }
    db.fail("DeleteObject", Fault::Throttled, 3);
    assert!(matches!(s3.bucket().delete(WORKSPACE, id).await, Err(StoreError::Busy(_))));
    assert!(s3.holds(WORKSPACE, id));
}
