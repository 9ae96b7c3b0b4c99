//! Downloads of files.

use domain::media::{FileName, MediaState, Uploaded};
use domain::{FileType, Media, MediaDigest, MediaId};
use harness::{Answer, Fault, GatewayEvent, trips};
use serde_json::json;

use crate::{DIGEST, Files, ZEROS, parameter};

impl Files {
    fn get_event(&self, id: impl ToString) -> GatewayEvent {
        self.world.event("files-get.json").path("mediaId", id).request_id("r")
    }

    async fn get(&self, media: &Media) -> Answer {
        self.send(self.get_event(media.id)).await
    }

    /// A file of this size to which a message has referred.
    async fn referenced(&self, size: u64, change: impl FnOnce(&mut Media)) -> Media {
        let media = self.world.media(|media| {
            (media.state, media.size, media.expires_at) = (MediaState::Referenced, Some(size), None);
            change(media);
        });
        media.await
    }
}

#[tokio::test]
async fn a_file_has_a_url_that_saves_it_under_its_own_name_for_ten_minutes() {
    let f = Files::start().await;
    let media = f
        .referenced(1_234, |media| {
            media.file_type = FileType::Document;
            media.content_type = "application/pdf".to_owned();
            media.name = FileName::parse("Übersicht 1.pdf").unwrap();
        })
        .await;
    let answer = f.get(&media).await;
    let url = answer.json["url"].as_str().unwrap();
    assert_eq!(
        answer.json,
        json!({
            "mediaId": media.id.to_string(),
            "url": url,
            "expiresAt": "2026-01-02T03:14:05.000Z",
            "fileName": "Übersicht 1.pdf",
            "fileType": "DOCUMENT",
            "contentType": "application/pdf",
            "sizeBytes": 1_234,
            "checksumBase64": DIGEST,
            "createdAt": "2026-01-02T03:04:05.678Z",
        })
    );
    let place =
        format!("https://media-bucket.s3.eu-central-1.amazonaws.com/{}/{}?", f.world.workspace, media.id);
    assert!(url.starts_with(&place), "{url}");
    let disposition = "attachment%3B%20filename%3D%22_bersicht%201.pdf%22%3B%20filename%2A%3DUTF-8%27%27%25C3%259Cbersicht%25201.pdf";
    for (name, value) in [
        ("response-content-type", "application%2Fpdf"),
        ("response-content-disposition", disposition),
        ("X-Amz-Date", "20260102T030405Z"),
        ("X-Amz-Expires", "600"),
        ("X-Amz-SignedHeaders", "host"),
    ] {
        assert_eq!(parameter(url, name), value);
    }
    // The URL is another one each time.
    assert_eq!((answer.status, answer.headers.get("etag")), (200, None));
    assert_eq!(answer.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn a_content_type_that_is_not_in_the_table_is_served_as_bytes() {
    let f = Files::start().await;
    for (file_type, stored, served) in [
        (FileType::Image, "image/png", "image/png"),
        (FileType::Document, "image/svg+xml", "application/octet-stream"),
        (FileType::Document, "text/html", "application/octet-stream"),
        (FileType::Gif, "video/mp4", "video/mp4"),
    ] {
        let media = f
            .referenced(1, |media| {
                media.file_type = file_type;
                media.content_type = stored.to_owned();
            })
            .await;
        let answer = f.get(&media).await;
        assert_eq!(answer.json["contentType"], served);
        let signed = parameter(answer.json["url"].as_str().unwrap(), "response-content-type");
        assert_eq!(signed, served.replace('/', "%2F"));
    }
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds() {
    let f = Files::start().await;
    let id = harness::fixture("files-get.json")["pathParameters"]["mediaId"].clone();
    let id = MediaId::parse(id.as_str().unwrap()).unwrap();
    f.referenced(1, |media| media.id = id).await;
    assert_eq!(f.send(f.world.event("files-get.json")).await.status, 200);
}

#[tokio::test]
async fn a_file_that_no_message_refers_to_can_be_downloaded_once_it_is_uploaded_as_declared() {
    let f = Files::start().await;
    let media = f.world.media(|_| ()).await;
    let (most, digest) = (media.file_type.max_bytes(), |text| MediaDigest::parse(text).ok());
    for (uploaded, size) in [
        (None, None),
        (Some(Uploaded { size: 5, digest: digest(ZEROS) }), None),
        (Some(Uploaded { size: most + 1, digest: digest(DIGEST) }), None),
        (Some(Uploaded { size: most, digest: digest(DIGEST) }), Some(most)),
    ] {
        if let Some(uploaded) = uploaded {
            f.s3.put(f.world.workspace, media.id, uploaded);
        }
        let answer = f.get(&media).await;
        match size {
            Some(size) => assert_eq!((answer.status, &answer.json["sizeBytes"]), (200, &json!(size))),
            None => assert_eq!((answer.status, &answer.json["code"]), (404, &json!("SERVICE_FILE_0404"))),
        }
    }
    f.world.db.clock().advance(Media::KEPT + std::time::Duration::from_secs(1));
    assert_eq!(f.get(&media).await.status, 404, "it has expired");
}

#[tokio::test]
async fn an_unknown_file_a_foreign_one_and_a_deleted_one_get_the_same_404() {
    let f = Files::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign =
        f.world.media_of(other, |media| (media.state, media.size) = (MediaState::Referenced, Some(1)));
    let too_large = f.world.media(|media| media.state = MediaState::TooLarge).await;
    // Each answer says that the same number of requests is left.
    let get = async |id: MediaId| {
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        f.send(f.get_event(id)).await
    };
    let unknown = get(MediaId::generate(f.world.db.store().ids())).await;
    assert_eq!(unknown.json, json!({"title": "File Not Found", "status": 404, "code": "SERVICE_FILE_0404"}));
    assert_eq!(get(foreign.await.id).await, unknown);
    f.world.db.forget_calls();
    assert_eq!(get(too_large.id).await, unknown);
    assert!(
        !f.world.db.operations().iter().any(|name| name.starts_with("HeadObject")),
        "the row says that it is gone"
    );
}

#[tokio::test]
async fn an_invalid_id_and_a_parameter_are_refused() {
    let f = Files::start().await;
    let answer = f.send(f.get_event("7").query(&[("expires", "60")])).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
    let expected = [("query.expires", "extra_forbidden"), ("path.mediaId", "uuid_parsing")];
    assert_eq!(answer.failures(), expected.map(|(at, kind)| (at.to_owned(), kind.to_owned())));
}

#[tokio::test]
async fn a_key_without_the_scope_cannot_download() {
    let f = Files::start().await;
    let media = f.referenced(1, |_| ()).await;
    for (scope, status) in [("files:read", 200), ("*", 200), ("files:write", 403), ("messages:read", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        assert_eq!(f.send(f.get_event(media.id).header("x-api-key", &key)).await.status, status, "{scope}");
    }
}

#[tokio::test]
async fn a_file_takes_one_round_trip_and_one_to_the_bucket_before_a_message_refers_to_it() {
    let f = Files::start().await;
    let (sent, waiting) = (f.referenced(1, |_| ()).await, f.world.media(|_| ()).await);
    f.s3.upload(&waiting, 5);
    f.get(&sent).await;
    for (media, expected) in [(&sent, 1), (&waiting, 2)] {
        f.world.db.forget_calls();
        assert_eq!(f.get(media).await.status, 200);
        assert_eq!(trips(&f.world.db.calls()), expected, "{:?}", f.world.db.operations());
    }
}

#[tokio::test]
async fn a_bucket_that_does_not_answer_is_a_503() {
    let f = Files::start().await;
    let media = f.world.media(|_| ()).await;
    f.world.db.fail("HeadObject", Fault::Throttled, 100);
    assert_eq!(f.get(&media).await.status, 503);
}
