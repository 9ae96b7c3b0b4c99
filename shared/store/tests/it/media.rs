//! Rows of files: created all or none, kept for a day and some minutes, and their cost.

use std::time::Duration;

use domain::media::{Declared, FileName, MediaState};
use domain::{FileType, Media, MediaDigest, MediaId, Timestamp};
use harness::{Fault, TestDb, trips};
use store::{IdempotencyKey, MediaCreated, StoreError, StoredAnswer, Table};

use crate::support::{OTHER, WORKSPACE};

const DIGEST: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn media(db: &TestDb) -> Media {
    let file = Declared {
        name: FileName::parse("Ana's picture.png").unwrap(),
        file_type: FileType::Image,
        content_type: "image/png",
        digest: MediaDigest::parse(DIGEST).unwrap(),
        size: Some(7),
    };
    Media::ready(&file, WORKSPACE, &**db.ids(), db.store().now())
}

/// The file as it is read back: a row expires at a whole second.
fn read(media: &Media) -> Media {
    let to_the_second = |at: Timestamp| Timestamp::from_millis(at.as_seconds() * 1_000);
    Media { expires_at: media.expires_at.map(to_the_second), ..media.clone() }
}

fn once(fingerprint: &str) -> IdempotencyKey {
    IdempotencyKey { route: "files", key_sha256_hex: "5e".repeat(32), fingerprint: fingerprint.to_owned() }
}

async fn create(db: &TestDb, media: &[Media]) {
    assert_eq!(db.store().create_media(media, None, "create").await.unwrap(), MediaCreated::Done);
}

#[tokio::test]
async fn files_are_read_in_the_order_of_the_ids_each_once() {
    let db = TestDb::start().await;
    let all: Vec<Media> = (0..3).map(|_| media(&db)).collect();
    create(&db, &all).await;
    let unknown = MediaId::generate(&**db.ids());
    let wanted = [all[2].id, unknown, all[0].id, all[2].id];
    db.forget_calls();
    assert_eq!(db.store().media(WORKSPACE, &wanted).await.unwrap(), [read(&all[2]), read(&all[0])]);
    let calls = db.calls();
    assert_eq!((calls.len(), calls[0].operation.as_str()), (1, "BatchGetItem"));
    assert_eq!(calls[0].read_units, 3.0, "strong reads, one a row, unknown or not");
    assert_eq!(db.store().media(OTHER, &wanted).await.unwrap(), []);
    assert_eq!(db.store().media(WORKSPACE, &[]).await.unwrap(), []);
}

#[tokio::test]
async fn a_file_without_an_expiry_is_still_read_after_a_year() {
    let db = TestDb::start().await;
    let unmeasured = Media { size: None, ..media(&db) };
    let referenced = Media { state: MediaState::Referenced, expires_at: None, ..media(&db) };
    create(&db, &[unmeasured.clone(), referenced.clone()]).await;
    db.clock().advance(365 * DAY);
    assert_eq!(db.store().media(WORKSPACE, &[unmeasured.id, referenced.id]).await.unwrap(), [referenced]);
}

#[tokio::test]
async fn a_file_expires_after_a_day_and_the_ten_minutes_of_a_last_upload_url() {
    let db = TestDb::start().await;
    let media = media(&db);
    create(&db, std::slice::from_ref(&media)).await;
    let found = async || db.store().media(WORKSPACE, &[media.id]).await.unwrap().len();
    db.clock().advance(DAY + Media::UPLOAD_VALID);
    assert_eq!(found().await, 1);
    db.clock().advance(Duration::from_secs(1));
    assert_eq!(found().await, 0);
}

#[tokio::test]
async fn files_are_created_all_or_none() {
    let db = TestDb::start().await;
    let (taken, free) = (media(&db), media(&db));
    create(&db, std::slice::from_ref(&taken)).await;
    let answer = db.store().create_media(&[free.clone(), taken.clone()], None, "another").await;
    assert!(matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
    let alone = db.store().create_media(std::slice::from_ref(&taken), None, "another").await;
    assert!(matches!(alone, Err(StoreError::Failed(_))), "{alone:?}");
    assert_eq!(db.store().media(WORKSPACE, &[free.id]).await.unwrap(), []);
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_recognised() {
    let db = TestDb::start().await;
    let (one, two) = (media(&db), [media(&db), media(&db)]);
    db.fail("PutItem", Fault::AnswerLost, 1);
    create(&db, std::slice::from_ref(&one)).await;
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    create(&db, &two).await;
    // The same request again with a new client token, without a key and with one.
    create(&db, &two).await;
    let (keyed, once) = (media(&db), once("body"));
    for _ in 0..2 {
        let kept = Some((&once, "answer of ours"));
        let again = db.store().create_media(std::slice::from_ref(&keyed), kept, "r").await.unwrap();
        assert_eq!(again, MediaCreated::Done);
    }
}

#[tokio::test]
async fn for_a_day_an_answered_idempotency_key_returns_its_answer_and_creates_nothing() {
    let db = TestDb::start().await;
    let (first, second, third) = (media(&db), media(&db), media(&db));
    let make = async |media: &Media, once: &IdempotencyKey, answer: &str| {
        db.store().create_media(std::slice::from_ref(media), Some((once, answer)), "r").await.unwrap()
    };
    assert_eq!(make(&first, &once("body"), "first").await, MediaCreated::Done);
    let kept = StoredAnswer { fingerprint: "body".to_owned(), answer: "first".to_owned() };
    for fingerprint in ["body", "another body"] {
        let answered = make(&second, &once(fingerprint), "second").await;
        assert_eq!(answered, MediaCreated::Answered(kept.clone()), "{fingerprint}");
    }
    assert_eq!(
        db.store().answered(Table::Media, WORKSPACE, &once("body")).await.unwrap(),
        Some(kept.clone())
    );
    assert_eq!(db.store().media(WORKSPACE, &[second.id]).await.unwrap(), []);
    db.clock().advance(DAY + Duration::from_secs(1));
    assert_eq!(make(&third, &once("body"), "third").await, MediaCreated::Done);
}

#[tokio::test]
async fn twenty_files_with_a_key_are_one_round_trip_and_two_units_each() {
    let db = TestDb::start().await;
    let all: Vec<Media> = (0..Media::MAX_AT_ONCE).map(|_| media(&db)).collect();
    let rows: &[(&[Media], Option<&str>, f64)] =
        &[(&all[..1], None, 1.0), (&all[1..2], Some("one"), 4.0), (&all[2..], None, 36.0)];
    for (media, key, units) in rows {
        db.forget_calls();
        let once = key.map(|key| IdempotencyKey { key_sha256_hex: key.to_owned(), ..once("body") });
        let kept = once.as_ref().map(|once| (once, "answer"));
        assert_eq!(db.store().create_media(media, kept, "r").await.unwrap(), MediaCreated::Done);
        let calls = db.calls();
        let written: f64 = calls.iter().map(|call| call.write_units).sum();
        assert_eq!((trips(&calls), written), (1, *units), "{} files", media.len());
    }
    db.forget_calls();
    let full: Vec<Media> = (0..Media::MAX_AT_ONCE).map(|_| media(&db)).collect();
    let longest = "x".repeat(20 * 37);
    db.store().create_media(&full, Some((&once("full"), &longest)), "r").await.unwrap();
    assert_eq!(db.calls()[0].write_units, 42.0);
    assert_eq!(db.store().create_media(&[], None, "r").await.unwrap(), MediaCreated::Done);
}
