//! How files of customers' messages get into the bucket.

use std::time::Duration;

use domain::inbound::file::media_id;
use domain::media::FileMissing;
use domain::media::{MediaHash, MediaState, SentAs};
use domain::{ChannelId, FileType, Media};
use harness::{Death, Fault, TestBucket, World, trips};
use inbox::{Fetched, FileOwner, Files};
use provider::webhook::MediaFile;
use provider::{FileClient, FileHosts};
use serde_json::{Value, json};
use tokio::time::Instant;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::LINE;

const WAMID: &str = "wamid.HBgLMzQ2MDAxMTEyMjI";
const PHOTO: &[u8] = b"the bytes of a photo";

/// A workspace with a line, and a provider that has a photo.
struct Scene {
    world: World,
    bucket: TestBucket,
    provider: MockServer,
    files: Files,
    line: ChannelId,
    folder: std::path::PathBuf,
}

impl Scene {
    async fn start() -> Self {
        let world = World::start().await;
        let line = world.line(LINE, |_| ()).await.channel;
        let bucket = TestBucket::beside(&world.db);
        let provider = MockServer::start().await;
        let client = FileClient::new(&provider.uri(), "v25.0", FileHosts::parse("").unwrap()).unwrap();
        let folder =
            std::env::temp_dir().join(format!("inbox-{}-{}", std::process::id(), provider.address().port()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = Files::new(client, folder.clone());
        Self { world, bucket, provider, files, line, folder }
    }

    /// The provider describes the photo like this, and gives these bytes for it.
    async fn has(&self, described: Value, bytes: &[u8]) {
        self.provider.reset().await;
        let token = format!("Bearer {}", World::token(&self.line));
        let describe =
            Mock::given(method("GET")).and(path("/v25.0/77")).and(header("authorization", token.as_str()));
        describe
            .respond_with(ResponseTemplate::new(200).set_body_json(described))
            .mount(&self.provider)
            .await;
        let give =
            Mock::given(method("GET")).and(path("/bytes/77")).and(header("authorization", token.as_str()));
        give.respond_with(ResponseTemplate::new(200).set_body_bytes(bytes)).mount(&self.provider).await;
    }

    fn described(&self, bytes: &[u8]) -> Value {
        let url = format!("{}/bytes/77", self.provider.uri());
        json!({ "url": url, "mime_type": "image/jpeg", "file_size": bytes.len(), "id": "77" })
    }

    async fn fetch(&self, file: &MediaFile) -> Fetched {
        self.try_fetch(file).await.unwrap()
    }

    async fn try_fetch(&self, file: &MediaFile) -> Result<Fetched, store::StoreError> {
        let owner = FileOwner { workspace: self.world.workspace, line: &self.line };
        let until = Instant::now() + Duration::from_secs(60);
        self.files.fetch(self.world.db.store(), &self.bucket.bucket(), owner, WAMID, file, until).await
    }

    async fn row(&self) -> Option<Media> {
        let id = media_id(self.world.workspace, WAMID, "77");
        self.world.db.store().media_of(self.world.workspace, id).await.unwrap()
    }

    /// After a kill: there is no object without a row, and a repeat stores the file once.
    async fn finishes(&self) {
        let id = media_id(self.world.workspace, WAMID, "77");
        let holds = || self.bucket.holds(self.world.workspace, id);
        assert!(!holds() || self.row().await.is_some(), "an object without a row");
        stored(self.fetch(&photo()).await);
        assert!(holds());
        assert_eq!(self.world.db.rows(store::Table::Media).len(), 1);
        assert_eq!(self.bucket.all_bytes().len(), 1);
    }

    async fn asked(&self) -> usize {
        self.provider.received_requests().await.unwrap().len()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn hex(bytes: &[u8]) -> String {
    domain::encoding::sha256_hex(bytes)
}

fn photo() -> MediaFile {
    MediaFile {
        sent_as: SentAs::Image,
        id: "77".to_owned(),
        mime_type: "image/jpeg".to_owned(),
        sha256: Some(hex(PHOTO)),
        caption: None,
        filename: None,
        voice: None,
        animated: None,
    }
}

fn stored(fetched: Fetched) -> Media {
    match fetched {
        Fetched::Stored { media, size } => {
            assert_eq!(media.size, Some(size));
            media
        }
        other => panic!("not stored: {other:?}"),
    }
}

#[tokio::test]
async fn a_file_gets_a_row_and_an_object_and_a_repeat_finds_it_without_the_provider() {
    let scene = Scene::start().await;
    scene.has(scene.described(PHOTO), PHOTO).await;
    scene.world.db.forget_calls();
    let media = stored(scene.fetch(&photo()).await);
    assert_eq!(trips(&scene.world.db.calls()), 3, "row and token; new row; object");
    assert_eq!((media.file_type, media.content_type.as_str()), (FileType::Image, "image/jpeg"));
    assert_eq!((media.name.as_str(), media.state), ("image.jpeg", MediaState::Waiting));
    let mut hash = MediaHash::default();
    hash.add(PHOTO);
    assert_eq!(media.digest, hash.digest());
    assert!(media.expires_at.is_some(), "a file without a message expires");
    assert_eq!(scene.row().await.as_ref().map(|row| (row.id, row.state)), Some((media.id, media.state)));
    assert_eq!(scene.bucket.all_bytes(), [PHOTO.to_vec()]);
    assert_eq!(scene.bucket.content_type(media.workspace_id, media.id).as_deref(), Some("image/jpeg"));

    let asked = scene.asked().await;
    assert_eq!(stored(scene.fetch(&photo()).await).id, media.id);
    assert_eq!(scene.asked().await, asked, "the provider was asked for a stored file");
    assert_eq!(std::fs::read_dir(&scene.folder).unwrap().count(), 0, "a file stays in the folder");
}

#[tokio::test]
async fn a_kill_at_any_call_leaves_no_object_without_a_row_and_a_repeat_finishes() {
    for calls in 0..3 {
        for death in [Death::Before, Death::After] {
            let scene = Scene::start().await;
            scene.has(scene.described(PHOTO), PHOTO).await;
            let (file, dead) = (photo(), scene.world.db.die_after(calls, death));
            tokio::select! {
                fetched = scene.fetch(&file) => panic!("{calls} {death:?}: {fetched:?}"),
                _ = dead => {}
            }
            scene.world.db.revive();
            scene.finishes().await;
        }
    }
}

#[tokio::test]
async fn a_kill_between_the_row_and_the_object_or_after_both_leaves_a_row_that_expires() {
    for after in [false, true] {
        let scene = Scene::start().await;
        scene.has(scene.described(PHOTO), PHOTO).await;
        let hold = scene.world.db.hold("PutObject");
        let file = photo();
        let mut fetch = Box::pin(scene.fetch(&file));
        tokio::select! {
            fetched = &mut fetch => panic!("{fetched:?}"),
            () = scene.world.db.begun("PutObject", 1) => {}
        }
        if after {
            hold.send(()).unwrap();
            fetch.await;
        } else {
            drop(fetch);
        }
        let row = scene.row().await.unwrap();
        assert_eq!((row.state, row.expires_at.is_some()), (MediaState::Waiting, true));
        assert_eq!(std::fs::read_dir(&scene.folder).unwrap().count(), 0, "a file stays in the folder");
        assert_eq!(scene.bucket.holds(row.workspace_id, row.id), after);
        scene.finishes().await;
    }
}

#[tokio::test]
async fn a_row_that_a_message_refers_to_is_not_changed() {
    let scene = Scene::start().await;
    scene.has(scene.described(PHOTO), PHOTO).await;
    let media = stored(scene.fetch(&photo()).await);
    // A message of another process refers to the file between this process's read and its write.
    let referenced = Media { state: MediaState::Referenced, expires_at: None, ..media };
    let waiting = scene.world.db.store().receive_media(&referenced).await.unwrap();
    assert_eq!(waiting, referenced, "a waiting row is replaced");
    let again =
        Media { state: MediaState::Waiting, created_at: scene.world.db.store().now(), ..referenced.clone() };
    assert_eq!(scene.world.db.store().receive_media(&again).await.unwrap(), referenced);
    let asked = scene.asked().await;
    scene.world.db.forget_calls();
    assert_eq!(stored(scene.fetch(&photo()).await), referenced);
    assert_eq!((scene.asked().await, trips(&scene.world.db.calls())), (asked, 1));
}

#[tokio::test]
async fn what_is_not_to_be_had_has_a_reason() {
    let scene = Scene::start().await;
    let limit = FileType::Image.max_bytes();
    let with = |name: &str, value: Value| {
        let mut described = scene.described(PHOTO);
        described[name] = value;
        described
    };
    let missing = Fetched::Missing;
    #[rustfmt::skip]
    let rows = [
        (with("file_size", json!(limit + 1)), PHOTO, missing(FileMissing::TooLarge)),
        (with("sha256", json!(hex(b"other"))), PHOTO, missing(FileMissing::WrongDigest)),
        (with("file_size", json!(9)), b"other bytes".as_slice(), missing(FileMissing::WrongDigest)),
        (with("url", json!("https://files.example/77")), PHOTO, missing(FileMissing::Refused)),
        (with("url", json!("http://169.254.169.254/latest")), PHOTO, missing(FileMissing::Refused)),
        (with("url", json!(format!("{}/none", scene.provider.uri()))), PHOTO, missing(FileMissing::Gone)),
        (with("url", json!(null)), PHOTO, Fetched::NotNow),
    ];
    for (described, bytes, expected) in rows {
        scene.has(described.clone(), bytes).await;
        assert_eq!(scene.fetch(&photo()).await, expected, "{described}");
        assert_eq!((scene.row().await, scene.bucket.all_bytes().len()), (None, 0), "{described}");
    }
    // Bytes over the limit, announced as fewer.
    let sticker =
        MediaFile { sent_as: SentAs::Sticker, mime_type: "image/webp".to_owned(), sha256: None, ..photo() };
    scene.has(scene.described(PHOTO), &vec![0; 500 * 1024 + 1]).await;
    assert_eq!(scene.fetch(&sticker).await, missing(FileMissing::TooLarge));
}

#[tokio::test]
async fn the_providers_refusals_are_final_only_if_the_file_is_gone() {
    let scene = Scene::start().await;
    let error = |code| json!({ "error": { "code": code } });
    #[rustfmt::skip]
    let rows = [
        (404, json!({}), Fetched::Missing(FileMissing::Gone)),
        (400, error(100), Fetched::Missing(FileMissing::Gone)),
        (400, error(131_000), Fetched::NotNow),
        (401, error(190), Fetched::NotNow),
        (429, error(80_007), Fetched::NotNow),
        (500, json!({}), Fetched::NotNow),
        (302, json!({}), Fetched::NotNow),
    ];
    for (status, body, expected) in rows {
        scene.provider.reset().await;
        let answer = ResponseTemplate::new(status).set_body_json(body);
        Mock::given(method("GET")).respond_with(answer).mount(&scene.provider).await;
        assert_eq!(scene.fetch(&photo()).await, expected, "{status}");
    }
}

#[tokio::test]
async fn without_a_token_the_provider_is_not_asked() {
    let mut scene = Scene::start().await;
    scene.line = ChannelId::parse("1").unwrap();
    assert_eq!(scene.fetch(&photo()).await, Fetched::Missing(FileMissing::NoToken));
    assert_eq!(scene.asked().await, 0);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_tried_again_later() {
    let scene = Scene::start().await;
    scene.has(scene.described(PHOTO), PHOTO).await;
    std::fs::remove_dir_all(&scene.folder).unwrap();
    assert_eq!(scene.fetch(&photo()).await, Fetched::NotNow);
}

#[tokio::test]
async fn a_file_of_an_unlisted_format_is_a_document_and_served_as_bytes() {
    let scene = Scene::start().await;
    scene.has(scene.described(PHOTO), PHOTO).await;
    let page = MediaFile {
        sent_as: SentAs::Document,
        mime_type: "text/html".to_owned(),
        sha256: None,
        filename: Some("../offer\u{202e}.html".to_owned()),
        ..photo()
    };
    let media = stored(scene.fetch(&page).await);
    assert_eq!((media.file_type, media.content_type.as_str()), (FileType::Document, "text/html"));
    assert_eq!(media.name.as_str(), ".._offer_.html");
    let served = scene.bucket.content_type(media.workspace_id, media.id);
    assert_eq!(served.as_deref(), Some("application/octet-stream"));
}

#[tokio::test]
async fn a_bucket_that_fails_is_tried_again_later() {
    let scene = Scene::start().await;
    scene.has(scene.described(PHOTO), PHOTO).await;
    scene.world.db.fail("PutObject", Fault::Unreachable, 3);
    assert_eq!(scene.try_fetch(&photo()).await.unwrap(), Fetched::NotNow);
    assert!(scene.row().await.is_some());
    scene.world.db.heal();
    stored(scene.fetch(&photo()).await);
}

#[tokio::test]
async fn a_fetch_begins_in_time_or_not_at_all() {
    let scene = Scene::start().await;
    scene.has(scene.described(PHOTO), PHOTO).await;
    let owner = FileOwner { workspace: scene.world.workspace, line: &scene.line };
    let (store, bucket, file) = (scene.world.db.store(), scene.bucket.bucket(), photo());
    let past = Instant::now() - Duration::from_millis(1);
    let late = scene.files.fetch(store, &bucket, owner, WAMID, &file, past).await.unwrap();
    assert_eq!((late, scene.asked().await), (Fetched::NoRoom, 0), "all rooms are free");
    stored(scene.fetch(&file).await);
    // A stored file needs no room.
    let late = scene.files.fetch(store, &bucket, owner, WAMID, &file, past).await.unwrap();
    assert!(matches!(late, Fetched::Stored { .. }));
}
