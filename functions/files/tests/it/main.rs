//! In-process tests of the files function: the real handler, real SDK clients, an embedded DynamoDB and an in-memory
//! bucket.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod get;

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::media::{FileName, MediaState};
use domain::{FileType, Media, MediaDigest, MediaId, Timestamp};
use edge::{Api, ApiRequest};
use harness::{Answer, Fault, GatewayEvent, TestBucket, TestClock, World, trips};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};
use store::{Bucket, Table};

/// The digests of the empty file and of 32 zero bytes.
const DIGEST: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
const ZEROS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

struct Files {
    world: World,
    api: Api,
    bucket: Bucket,
    s3: TestBucket,
}

impl Files {
    async fn start() -> Self {
        let world = World::start().await;
        let api = world.api(ApiFunction::Files);
        let s3 = TestBucket::beside(&world.db);
        let bucket = s3.bucket_of(&world.db, "files");
        Self { world, api, bucket, s3 }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        files::handle(&self.api, &self.bucket, &ApiRequest::new(event.request())).await.into()
    }

    fn event(&self, body: &Value) -> GatewayEvent {
        self.world.event("files-create.json").without_header("Idempotency-Key").body(body)
    }

    async fn create(&self, body: &Value) -> Answer {
        self.send(self.event(body)).await
    }

    async fn create_once(&self, key: &str, body: &Value) -> Answer {
        self.send(self.event(body).header("Idempotency-Key", key)).await
    }

    /// How many rows the media table has.
    fn rows(&self) -> usize {
        self.world.db.rows(Table::Media).len()
    }

    async fn stored(&self, answer: &Answer) -> Vec<Media> {
        self.world.db.store().media(self.world.workspace, &ids(answer)).await.unwrap()
    }
}

fn ids(answer: &Answer) -> Vec<MediaId> {
    let items = answer.json.as_array().unwrap_or_else(|| panic!("{}", answer.text));
    items.iter().map(|item| MediaId::parse(item["mediaId"].as_str().unwrap()).unwrap()).collect()
}

fn image() -> Value {
    json!({"name": "beach.jpg", "fileType": "IMAGE", "checksumBase64": DIGEST, "contentType": "image/jpeg"})
}

/// An image with one field changed, or removed by `null`.
fn image_with(field: &str, value: Value) -> Value {
    let mut item = image();
    item[field] = value;
    item
}

fn parameter<'a>(url: &'a str, name: &str) -> &'a str {
    let pairs = url.split_once('?').unwrap().1.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(known, _)| *known == name).map(|(_, value)| value).next().unwrap()
}

#[tokio::test]
async fn files_are_returned_in_order_with_their_upload_data() {
    let f = Files::start().await;
    let answer = f
        .create(&json!([
            {
                "name": "Itinerary.PDF",
                "fileType": "DOCUMENT",
                "checksumBase64": DIGEST,
                "contentType": "Application/PDF",
                "somethingNew": {"ignored": true},
            },
            {
                "name": "sticker.webp",
                "fileType": "STICKER",
                "checksumBase64": ZEROS,
                "contentType": "image/webp",
                "contentLength": 512_000,
            },
        ]))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let ids = ids(&answer);
    let url = |at: usize| answer.json[at]["presignUrl"]["url"].as_str().unwrap();
    assert_eq!(
        answer.json,
        json!([
            {
                "mediaId": ids[0].to_string(),
                "presignUrl": {
                    "url": url(0),
                    "method": "PUT",
                    "headers": {"Content-Type": "application/pdf", "x-amz-checksum-sha256": DIGEST},
                },
            },
            {
                "mediaId": ids[1].to_string(),
                "presignUrl": {
                    "url": url(1),
                    "method": "PUT",
                    "headers": {
                        "Content-Type": "image/webp",
                        "x-amz-checksum-sha256": ZEROS,
                        "Content-Length": "512000",
                    },
                },
            },
        ])
    );
    for (at, signed) in [
        (0, "content-type%3Bhost%3Bx-amz-checksum-sha256"),
        (1, "content-length%3Bcontent-type%3Bhost%3Bx-amz-checksum-sha256"),
    ] {
        let place =
            format!("https://media-bucket.s3.eu-central-1.amazonaws.com/{}/{}?", f.world.workspace, ids[at]);
        assert!(url(at).starts_with(&place), "{}", url(at));
        assert_eq!(parameter(url(at), "X-Amz-SignedHeaders"), signed);
        assert_eq!(parameter(url(at), "X-Amz-Expires"), "600");
        assert_eq!(parameter(url(at), "X-Amz-Date"), "20260102T030405Z");
    }
    assert_eq!(answer.headers.get("etag"), None);
    assert_eq!(answer.headers.get("idempotent-replayed"), None);

    let file = |at: usize, file_type, content_type: &str, name: &str, digest: &str, size| Media {
        id: ids[at],
        workspace_id: f.world.workspace,
        file_type,
        content_type: content_type.to_owned(),
        name: FileName::parse(name).unwrap(),
        digest: MediaDigest::parse(digest).unwrap(),
        size,
        created_at: TestClock::START,
        state: MediaState::Waiting,
        // A day and ten minutes, without the milliseconds.
        expires_at: Timestamp::parse("2026-01-03T03:14:05Z"),
    };
    assert_eq!(
        f.stored(&answer).await,
        [
            file(0, FileType::Document, "application/pdf", "Itinerary.PDF", DIGEST, None),
            file(1, FileType::Sticker, "image/webp", "sticker.webp", ZEROS, Some(512_000)),
        ]
    );
}

#[tokio::test]
async fn one_request_has_one_to_twenty_files() {
    let f = Files::start().await;
    for count in [1, 20] {
        let answer = f.create(&json!(vec![image(); count])).await;
        assert_eq!((answer.status, f.stored(&answer).await.len()), (201, count), "{}", answer.text);
    }
    let rows = f.rows();
    for (body, kind, ctx) in [
        (json!([]), "too_short", json!({"min_length": 1})),
        (json!(vec![image(); 21]), "too_long", json!({"max_length": 20})),
        (json!(vec![json!(7); 21]), "too_long", json!({"max_length": 20})),
        (json!({}), "list_type", json!({})),
        (image(), "list_type", json!({})),
        (json!(null), "list_type", json!({})),
        (json!("[]"), "list_type", json!({})),
    ] {
        let answer = f.create(&body).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
        assert_eq!(answer.failures(), [("body".to_owned(), kind.to_owned())], "{body}");
        assert_eq!(answer.json["detail"][0]["ctx"], ctx);
    }
    assert_eq!(f.rows(), rows);
}

#[tokio::test]
async fn every_documented_file_type_is_accepted() {
    let f = Files::start().await;
    let bodies: Vec<(Value, u64)> = domain::media::RULES
        .iter()
        .flat_map(|rule| rule.formats.iter().map(move |format| (rule, format)))
        .map(|(rule, (extension, content_type))| {
            let item = json!({
                "name": format!("A file{}", extension.to_uppercase()),
                "fileType": rule.file_type.as_str(),
                "checksumBase64": DIGEST,
                "contentType": content_type.to_uppercase(),
                "contentLength": rule.max_bytes,
            });
            (item, rule.max_bytes)
        })
        .collect();
    assert_eq!(bodies.len(), 22);
    for (mut item, max_bytes) in bodies {
        let answer = f.create(&json!([item])).await;
        assert_eq!(answer.status, 201, "{item}: {}", answer.text);
        let headers = &answer.json[0]["presignUrl"]["headers"];
        assert_eq!(headers["Content-Length"], max_bytes.to_string());
        assert_eq!(headers["Content-Type"], item["contentType"].as_str().unwrap().to_lowercase());
        item["contentLength"] = json!(max_bytes + 1);
        let answer = f.create(&json!([item])).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
        assert_eq!(answer.json["detail"][0]["ctx"], json!({"le": max_bytes}));
    }
}

#[tokio::test]
async fn all_failures_of_all_files_are_reported_together_with_their_places() {
    let f = Files::start().await;
    let answer = f
        .send(
            f.event(&json!([
                image(),
                {},
                {"name": "", "fileType": "image", "checksumBase64": "abc", "contentType": 7, "contentLength": 0},
                "beach.jpg",
                image_with("name", json!("a/b.jpg")),
                image_with("name", json!("x".repeat(256))),
                image_with("name", json!("bell\u{7}.jpg")),
                image_with("contentLength", json!(16_777_217)),
                image_with("contentLength", json!("4")),
                image_with("contentLength", json!(4.5)),
                image_with("fileType", json!(null)),
                // A mismatch is reported together with the other failures.
                image_with("contentType", json!("image/png")),
                {"fileType": "FILM", "contentLength": -1},
            ]))
            .query(&[("dryRun", "true")])
            .header("Idempotency-Key", "ñ"),
        )
        .await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
    let expected = [
        ("query.dryRun", "extra_forbidden"),
        ("header.Idempotency-Key", "string_pattern_mismatch"),
        ("body.1.name", "missing"),
        ("body.1.fileType", "missing"),
        ("body.1.checksumBase64", "missing"),
        ("body.1.contentType", "missing"),
        ("body.2.name", "string_too_short"),
        ("body.2.fileType", "enum"),
        ("body.2.checksumBase64", "string_pattern_mismatch"),
        ("body.2.contentType", "string_type"),
        ("body.2.contentLength", "greater_than_equal"),
        ("body.3", "dict_type"),
        ("body.4.name", "value_error"),
        ("body.5.name", "string_too_long"),
        ("body.6.name", "value_error"),
        ("body.7.contentLength", "less_than_equal"),
        ("body.8.contentLength", "int_parsing"),
        ("body.9.contentLength", "int_parsing"),
        ("body.10.fileType", "string_type"),
        ("body.11.contentType", "value_error"),
        ("body.12.name", "missing"),
        ("body.12.fileType", "enum"),
        ("body.12.checksumBase64", "missing"),
        ("body.12.contentType", "missing"),
        ("body.12.contentLength", "greater_than_equal"),
    ];
    assert_eq!(answer.failures(), expected.map(|(loc, kind)| (loc.to_owned(), kind.to_owned())));
    assert_eq!(
        answer.json["detail"][15],
        json!({
            "loc": ["body", "7", "contentLength"],
            "msg": "Input should be at most 16777216",
            "type": "less_than_equal",
            "input": 16_777_217,
            "ctx": {"le": 16_777_216},
        })
    );
    assert_eq!(f.rows(), 0);
}

#[tokio::test]
async fn mismatched_types_get_0901_with_the_allowed_values() {
    let f = Files::start().await;
    let answer = f
        .create(&json!([
            image(),
            {"name": "beach.jpg", "fileType": "GIF", "checksumBase64": DIGEST, "contentType": "image/jpeg"},
            image_with("contentType", json!("image/jpeg; charset=binary")),
            image_with("name", json!("beach")),
        ]))
        .await;
    assert_eq!(answer.status, 422);
    let extension = "the extension does not match the fileType";
    let content_type = "the contentType does not match the fileType and the extension";
    assert_eq!(
        answer.json,
        json!({
            "title": "File Type Mismatch",
            "status": 422,
            "code": "SERVICE_FILE_0901",
            "detail": [
                {
                    "loc": ["body", "1", "name"],
                    "msg": format!("Value error: {extension}; expected .gif, .mp4"),
                    "type": "value_error",
                    "input": "beach.jpg",
                    "ctx": {"error": extension, "expected": [".gif", ".mp4"]},
                },
                {
                    "loc": ["body", "1", "contentType"],
                    "msg": format!("Value error: {content_type}; expected image/gif, video/mp4"),
                    "type": "value_error",
                    "input": "image/jpeg",
                    "ctx": {"error": content_type, "expected": ["image/gif", "video/mp4"]},
                },
                {
                    "loc": ["body", "2", "contentType"],
                    "msg": format!("Value error: {content_type}; expected image/jpeg"),
                    "type": "value_error",
                    "input": "image/jpeg; charset=binary",
                    "ctx": {"error": content_type, "expected": ["image/jpeg"]},
                },
                {
                    "loc": ["body", "3", "name"],
                    "msg": format!("Value error: {extension}; expected .jpeg, .jpg, .png, .webp"),
                    "type": "value_error",
                    "input": "beach",
                    "ctx": {"error": extension, "expected": [".jpeg", ".jpg", ".png", ".webp"]},
                },
            ],
        })
    );
    assert_eq!(f.rows(), 0, "the valid file is not created either");
}

#[tokio::test]
async fn a_size_is_optional_and_may_be_null() {
    let f = Files::start().await;
    let answer = f
        .create(&json!([image_with("contentLength", json!(null)), image_with("contentLength", json!(1))]))
        .await;
    let sizes: Vec<Option<u64>> = f.stored(&answer).await.iter().map(|media| media.size).collect();
    assert_eq!(sizes, [None, Some(1)]);
    let headers = |at: usize| answer.json[at]["presignUrl"]["headers"].as_object().unwrap();
    assert!(!headers(0).contains_key("Content-Length"));
    assert_eq!(headers(1)["Content-Length"], "1");
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let f = Files::start().await;
    let event = |text: &str| f.event(&json!([])).raw_body(text);
    let huge = format!("[{}]", " ".repeat(ApiRequest::MAX_BODY));
    for (event, status) in [
        (event("[{"), 400),
        (event(r#"[{"name": "a", "name": "b"}]"#), 400),
        (event("[]").header("content-type", "text/plain"), 415),
        (event(&huge), 413),
    ] {
        assert_eq!(f.send(event).await.status, status);
    }
    assert_eq!(f.rows(), 0);
}

#[tokio::test]
async fn a_repeated_key_returns_the_same_files_with_new_signatures() {
    let f = Files::start().await;
    let body = json!([image(), image_with("contentLength", json!(4))]);
    let first = f.create_once("key", &body).await;
    assert_eq!((first.status, first.headers.get("idempotent-replayed")), (201, None));
    let rows = f.rows();
    assert_eq!(rows, 3, "two files and the key's answer");

    f.world.db.clock().advance(Duration::from_secs(24 * 60 * 60));
    let again = f.create_once("key", &body).await;
    assert_eq!(again.status, 201);
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(ids(&again), ids(&first));
    for at in 0..2 {
        let url = |answer: &Answer| answer.json[at]["presignUrl"]["url"].as_str().unwrap().to_owned();
        let (first_url, url) = (url(&first), url(&again));
        assert_eq!(parameter(&url, "X-Amz-Date"), "20260103T030405Z");
        assert_eq!(parameter(&url, "X-Amz-Expires"), "600");
        assert_ne!(parameter(&url, "X-Amz-Signature"), parameter(&first_url, "X-Amz-Signature"));
        assert_eq!(again.json[at]["presignUrl"]["headers"], first.json[at]["presignUrl"]["headers"]);
    }
    f.world.db.clock().advance(Media::UPLOAD_VALID);
    assert_eq!(f.stored(&first).await.len(), 2, "valid until the last URL expires");
    assert_eq!(f.rows(), rows);

    let free = f.create_once("key", &body).await;
    assert_eq!((free.status, free.headers.get("idempotent-replayed")), (201, None));
    assert_ne!(ids(&free), ids(&first));
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_a_key_of_a_refused_request_is_free() {
    let f = Files::start().await;
    assert_eq!(f.create_once("key", &json!([])).await.status, 422);
    assert_eq!(f.create_once("key", &json!([image()])).await.status, 201);
    let rows = f.rows();
    let other = f.create_once("key", &json!([image(), image()])).await;
    assert_eq!(other.text, r#"{"title":"Idempotency Key Reused","status":422,"code":"SERVICE_CORE_0423"}"#);
    assert_eq!(f.rows(), rows);
    assert_eq!(f.create_once("another key", &json!([image(), image()])).await.status, 201);

    let (workspace, key) = f.world.second_workspace().await;
    let theirs = f.event(&json!([image(), image()])).header("Idempotency-Key", "key");
    let theirs = f.send(theirs.path("workspaceId", workspace).header("x-api-key", &key)).await;
    assert_eq!(
        (theirs.status, theirs.headers.get("idempotent-replayed")),
        (201, None),
        "the other workspace has its own keys"
    );
    assert_eq!(f.stored(&theirs).await, [], "not in this workspace");
}

#[tokio::test]
async fn two_concurrent_requests_with_one_key_make_one_set_of_files_and_get_equal_answers() {
    let f = Files::start().await;
    f.create(&json!([image()])).await;
    for (second_body, status) in [(json!([image()]), 201), (json!([image(), image()]), 422)] {
        let rows = f.rows();
        let key = status.to_string();
        let release = f.world.db.hold("TransactWriteItems");
        f.world.db.forget_calls();
        let (held, first) = tokio::join!(f.create_once(&key, &second_body), async {
            while !f.world.db.operations().contains(&"TransactWriteItems media".to_owned()) {
                tokio::task::yield_now().await;
            }
            let first = f.create_once(&key, &json!([image()])).await;
            drop(release);
            first
        });
        assert_eq!((first.status, held.status), (201, status), "{}", held.text);
        assert_eq!(f.rows(), rows + 2);
        if status == 201 {
            assert_eq!(ids(&held), ids(&first));
            assert_eq!(held.headers["idempotent-replayed"], "true");
        } else {
            assert_eq!(held.json["code"], "SERVICE_CORE_0423");
        }
    }
}

#[tokio::test]
async fn a_repeat_of_a_request_with_a_lost_answer_is_answered() {
    let f = Files::start().await;
    let body = json!([image()]);
    f.world.db.fail("TransactWriteItems", Fault::AnswerLost, 3);
    let lost = f.create_once("key", &body).await;
    assert_eq!((lost.status, lost.json["code"].as_str()), (503, Some("SERVICE_CORE_0503")));
    let rows = f.rows();
    let again = f.create_once("key", &body).await;
    assert_eq!((again.status, again.headers["idempotent-replayed"].as_str()), (201, "true"));
    assert_eq!((f.rows(), f.stored(&again).await.len()), (rows, 1));
    for operation in ["GetItem", "TransactWriteItems"] {
        f.world.db.fail(operation, Fault::Throttled, 3);
        assert_eq!(f.create_once("another key", &body).await.status, 503, "{operation}");
    }
    f.world.db.fail("TransactWriteItems", Fault::Conflict, 2);
    assert_eq!(
        f.create_once("another key", &body).await.status,
        201,
        "the request waits for the concurrent transaction"
    );
}

#[tokio::test]
async fn a_warm_request_makes_one_write_after_the_limiter_and_no_bucket_call() {
    let f = Files::start().await;
    let twenty = json!(vec![image(); 20]);
    f.create(&twenty).await;
    let (limiter, look_up) = ("UpdateItem limits", "GetItem media");
    let write = "TransactWriteItems media";
    for (key, body, operations) in [
        (None, &twenty, vec![limiter, write]),
        (None, &json!([image()]), vec![limiter, "PutItem media"]),
        (Some("key"), &twenty, vec![limiter, look_up, write]),
        (Some("key"), &twenty, vec![limiter, look_up]),
    ] {
        f.world.db.forget_calls();
        let event = f.event(body);
        let event = key.iter().fold(event, |event, key| event.header("Idempotency-Key", key));
        assert_eq!(f.send(event).await.status, 201);
        // These are all calls: signing makes none.
        assert_eq!(f.world.db.operations(), operations);
        let in_a_row = if operations.contains(&write) || key.is_none() { 2 } else { 1 };
        assert_eq!(trips(&f.world.db.calls()), in_a_row);
    }
}

#[tokio::test]
async fn a_request_over_the_rate_limit_makes_and_replays_nothing() {
    let f = Files::start().await;
    let once = |key: &mut domain::ApiKey| key.rate = RateLimit { per_second: 1, burst: 1 };
    let slow = f.world.key_with(f.world.workspace, &["files:write"], once).await;
    let send = |key: &str| {
        let event = f.event(&json!([image()])).header("x-api-key", &slow);
        f.send(event.header("Idempotency-Key", key))
    };
    assert_eq!(send("key").await.status, 201);
    let rows = f.rows();
    for key in ["key", "another key"] {
        let refused = send(key).await;
        assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (429, "1"), "{key}");
    }
    assert_eq!(f.rows(), rows);
}

#[tokio::test]
async fn the_scope_is_files_write() {
    let f = Files::start().await;
    for (scope, status) in [("files:write", 201), ("messages:write", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let answer = f.send(f.event(&json!([image()])).header("x-api-key", &key)).await;
        assert_eq!(answer.status, status, "{scope}");
    }
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_and_other_methods_are_not_found() {
    let f = Files::start().await;
    let event = f.world.event("files-create.json");
    let answer = f.send(event.clone()).await;
    assert_eq!((answer.status, f.stored(&answer).await.len()), (201, 2), "{}", answer.text);
    let answer = f.send(event.method("GET")).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (404, Some("SERVICE_CORE_0404")));
}
