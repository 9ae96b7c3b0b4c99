//! The files of messages, which are checked when a message first refers to them.

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::media::{Attached, MediaState, Uploaded};
use domain::message::Content;
use domain::{Conversation, FileType, Media, MediaDigest, MediaId, Message};
use harness::{Answer, Fault, trips};
use serde_json::{Value, json};

use crate::{Function, text};

/// A message of these files.
fn files(conversation: &Conversation, media: &[&Media]) -> Value {
    let ids: Vec<String> = media.iter().map(|media| media.id.to_string()).collect();
    json!({"conversationId": conversation.id.to_string(), "mediaIds": ids})
}

fn attached(message: &Message) -> &[Attached] {
    match &message.content {
        Content::Written { media, .. } => media,
        Content::Template(_) | Content::Received(_) => panic!("a caller writes"),
    }
}

async fn current(f: &Function, media: &Media) -> Option<Media> {
    f.world.db.store().media(media.workspace_id, &[media.id]).await.unwrap().pop()
}

fn heads(f: &Function) -> usize {
    f.world.db.calls().iter().filter(|call| call.operation == "HeadObject").count()
}

#[tokio::test]
async fn files_are_attached_in_the_order_of_the_request_with_their_actual_sizes() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let picture = f.world.media(|_| ()).await;
    let film = f
        .world
        .media(|media| {
            media.file_type = FileType::Video;
            media.content_type = "video/mp4".to_owned();
        })
        .await;
    f.bucket.upload(&picture, 1_000);
    f.bucket.upload(&film, 2_000);
    let mut body = files(&conversation, &[&film, &picture]);
    body["messageBody"] = json!("Look");
    let stored = f.take(&body).await;
    assert_eq!(attached(&stored), [film.attached(2_000), picture.attached(1_000)]);
    assert_eq!(stored.parts.len(), 2, "the video with the text, then the image");
    for (media, size) in [(film, 2_000), (picture, 1_000)] {
        let kept =
            Media { size: Some(size), state: MediaState::Referenced, expires_at: None, ..media.clone() };
        assert_eq!(current(&f, &media).await, Some(kept));
    }
}

#[tokio::test]
async fn the_first_message_with_files_costs_one_more_round_trip_and_the_next_none() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let mut all = vec![];
    for _ in 0..Message::MAX_MEDIA {
        let media = f.world.media(|_| ()).await;
        f.bucket.upload(&media, 1_000);
        all.push(media);
    }
    let (newest, others) = all.split_last().unwrap();
    let others: Vec<&Media> = others.iter().collect();
    f.take(&text(&conversation, "warm")).await;

    f.world.db.forget_calls();
    assert_eq!(f.post(&files(&conversation, &others)).await.status, 201);
    assert_eq!((trips(&f.world.db.calls()), heads(&f)), (3, 9));

    f.world.db.forget_calls();
    assert_eq!(f.post(&files(&conversation, &all.iter().collect::<Vec<_>>())).await.status, 201);
    assert_eq!((trips(&f.world.db.calls()), heads(&f)), (3, 1), "one is new");
    assert!(current(&f, newest).await.unwrap().is_referenced());

    f.world.db.forget_calls();
    assert_eq!(f.post(&files(&conversation, &others)).await.status, 201);
    assert_eq!(
        f.world.db.sorted_operations(),
        ["BatchGetItem conversations+media+messages", "TransactWriteItems messages", "UpdateItem limits"]
    );
    assert_eq!(trips(&f.world.db.calls()), 2);
}

#[tokio::test]
async fn a_file_is_kept_beyond_a_day_once_a_message_refers_to_it() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (kept, forgotten) = (f.world.media(|_| ()).await, f.world.media(|_| ()).await);
    f.bucket.upload(&kept, 1_000);
    f.bucket.upload(&forgotten, 1_000);
    // A note refers to a file like any other message.
    let mut note = files(&conversation, &[&kept]);
    note["enableExternalBroadcast"] = json!(false);
    f.take(&note).await;
    f.world.db.clock().advance(Media::KEPT + Duration::from_secs(1));
    assert_eq!(f.post(&files(&conversation, &[&kept])).await.status, 201);
    refused(&f, &files(&conversation, &[&forgotten]), "0902", &json!({"mediaId": forgotten.id.to_string()}))
        .await;
}

#[tokio::test]
async fn a_file_that_was_too_large_when_it_arrived_is_refused_without_a_look_into_the_bucket() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let media = f.world.media(|_| ()).await;
    let limit = media.file_type.max_bytes();
    f.world.db.store().media_refused(&media, MediaState::TooLarge, limit + 1).await.unwrap();
    f.world.db.forget_calls();
    let extra = json!({"mediaId": media.id.to_string(), "maxBytes": limit});
    refused(&f, &files(&conversation, &[&media]), "0903", &extra).await;
    assert_eq!(heads(&f), 0);
}

#[tokio::test]
async fn an_empty_file_is_refused_and_deleted_whether_its_notification_came_or_not() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (late, known) = (f.world.media(|_| ()).await, f.world.media(|_| ()).await);
    f.bucket.upload(&late, 0);
    f.world.db.store().media_refused(&known, MediaState::Empty, 0).await.unwrap();
    for (media, looked) in [(&late, 1), (&known, 0)] {
        f.world.db.forget_calls();
        let extra = json!({"mediaId": media.id.to_string(), "minBytes": 1});
        refused(&f, &files(&conversation, &[media]), "0903", &extra).await;
        assert_eq!(heads(&f), looked);
        assert!(!f.bucket.holds(media.workspace_id, media.id));
    }
}

/// Posts a message that must be refused with this file error code. Checks that nothing changes.
async fn refused(f: &Function, body: &Value, code: &str, extra: &Value) -> Answer {
    let before = f.world.db.everything();
    let answer = f.post(body).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    assert_eq!(answer.json["code"], format!("SERVICE_FILE_{code}"));
    assert_eq!(&answer.json["extra"], extra);
    assert_eq!(f.world.db.everything(), before);
    answer
}

#[tokio::test]
async fn files_that_are_unknown_foreign_or_not_uploaded_are_refused() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (workspace, _) = f.world.second_workspace().await;
    let good = f.world.media(|_| ()).await;
    let foreign = f.world.media_of(workspace, |_| ()).await;
    let missing = f.world.media(|_| ()).await;
    let unknown = Media { id: MediaId::generate(f.world.db.store().ids()), ..missing.clone() };
    f.bucket.upload(&good, 1_000);
    f.bucket.upload(&foreign, 1_000);
    // The bucket may have a file without a row.
    f.bucket.upload(&unknown, 1_000);
    let about = |media: &Media| json!({"mediaId": media.id.to_string()});

    for (unfit, looked) in [(&unknown, 0), (&foreign, 0), (&missing, 2)] {
        f.world.db.forget_calls();
        refused(&f, &files(&conversation, &[&good, unfit]), "0902", &about(unfit)).await;
        assert_eq!(heads(&f), looked, "the bucket is not called for a file without a row");
        assert!(!current(&f, &good).await.unwrap().is_referenced(), "the other one is still unreferenced");
    }
    // The refusal names the first of several files.
    refused(&f, &files(&conversation, &[&missing, &foreign, &unknown]), "0902", &about(&foreign)).await;

    let event = |media: &Media| f.event(&files(&conversation, &[media])).request_id("r");
    let (foreign, unknown) = (f.send(event(&foreign)).await, f.send(event(&unknown)).await);
    let same = |answer: Answer| answer.text.split_once("mediaId").unwrap().0.to_owned();
    assert_eq!(same(foreign), same(unknown));
}

#[tokio::test]
async fn a_file_with_another_digest_than_declared_is_refused_and_kept() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let media = f.world.media(|_| ()).await;
    let about = json!({"mediaId": media.id.to_string()});
    for digest in [MediaDigest::parse(&format!("{}=", "A".repeat(43))).ok(), None] {
        f.bucket.put(media.workspace_id, media.id, Uploaded { size: 1_000, digest });
        refused(&f, &files(&conversation, &[&media]), "0903", &about).await;
        assert!(f.bucket.holds(media.workspace_id, media.id));
    }
    f.bucket.upload(&media, 1_000);
    assert_eq!(f.post(&files(&conversation, &[&media])).await.status, 201, "uploaded again as declared");
}

#[tokio::test]
async fn files_over_their_limit_are_deleted_and_refused() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let max = FileType::Image.max_bytes();
    let (good, large, larger) =
        (f.world.media(|_| ()).await, f.world.media(|_| ()).await, f.world.media(|_| ()).await);
    f.bucket.upload(&good, max);
    f.bucket.upload(&large, max + 1);
    f.bucket.upload(&larger, 2 * max);
    let about = json!({"mediaId": large.id.to_string(), "maxBytes": max});
    refused(&f, &files(&conversation, &[&good, &large, &larger]), "0903", &about).await;
    let held = [&good, &large, &larger].map(|media| f.bucket.holds(media.workspace_id, media.id));
    assert_eq!(held, [true, false, false]);
    let gone = json!({"mediaId": large.id.to_string()});
    refused(&f, &files(&conversation, &[&large]), "0902", &gone).await;
    assert_eq!(f.post(&files(&conversation, &[&good])).await.status, 201, "at the limit");
}

#[tokio::test]
async fn a_file_over_its_limit_is_deleted_even_if_the_refusal_names_another_one() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (missing, large) = (f.world.media(|_| ()).await, f.world.media(|_| ()).await);
    f.bucket.upload(&large, FileType::Image.max_bytes() + 1);
    let about = json!({"mediaId": missing.id.to_string()});
    refused(&f, &files(&conversation, &[&missing, &large]), "0902", &about).await;
    assert!(!f.bucket.holds(large.workspace_id, large.id));
}

#[tokio::test]
async fn nothing_is_deleted_for_a_request_over_the_rate_limit() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let slow = RateLimit::new(1, 1).unwrap();
    let key = f.world.key_with(f.world.workspace, &["*"], |key| key.rate = slow).await;
    let large = f.world.media(|_| ()).await;
    f.bucket.upload(&large, FileType::Image.max_bytes() + 1);
    let post = |body: Value| f.send(f.event(&body).header("x-api-key", &key));
    assert_eq!(post(text(&conversation, "the accepted request")).await.status, 201);
    assert_eq!(post(files(&conversation, &[&large])).await.status, 429);
    assert!(f.bucket.holds(large.workspace_id, large.id));
}

#[tokio::test]
async fn concurrent_messages_with_one_new_file_all_have_it() {
    let f = Function::start().await;
    let (one, other) = (f.world.conversation(|_| ()).await, f.world.conversation(|_| ()).await);
    let media = f.world.media(|_| ()).await;
    f.bucket.upload(&media, 1_000);
    let (one, other) =
        futures::future::join(f.take(&files(&one, &[&media])), f.take(&files(&other, &[&media]))).await;
    assert_eq!(attached(&one), attached(&other));
    assert!(current(&f, &media).await.unwrap().is_referenced());
}

#[tokio::test]
async fn a_file_that_expires_during_its_check_is_not_attached() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let media = f.world.media(|_| ()).await;
    f.bucket.upload(&media, 1_000);
    let before = f.world.db.everything();
    let passes = async { f.world.db.clock().advance(Media::KEPT + Duration::from_secs(1)) };
    let answer = f.meanwhile("HeadObject", f.post(&files(&conversation, &[&media])), passes).await;
    assert_eq!((answer.status, &answer.json["code"]), (422, &json!("SERVICE_FILE_0902")));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn an_unavailable_bucket_is_not_a_missing_file() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let media = f.world.media(|_| ()).await;
    f.bucket.upload(&media, 1_000);
    let before = f.world.db.everything();
    for fault in [Fault::Throttled, Fault::Unreachable] {
        f.world.db.fail("HeadObject", fault, 3);
        let answer = f.post(&files(&conversation, &[&media])).await;
        assert_eq!((answer.status, &answer.json["code"]), (503, &json!("SERVICE_CORE_0503")), "{fault:?}");
        assert_eq!(f.world.db.everything(), before);
        f.world.db.fail("HeadObject", fault, 1);
    }
    assert_eq!(f.post(&files(&conversation, &[&media])).await.status, 201, "one failure is retried");
}
