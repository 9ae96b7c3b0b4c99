//! What happens to files when they arrive in the bucket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use domain::media::{MediaState, Uploaded};
use domain::{Media, MediaId, WorkspaceId};
use harness::{Fault, TestBucket, World, failed_messages, fixture_text, sqs_event, trips};
use serde_json::json;
use uploads::Uploads;

const LIMIT: u64 = 16 * 1024 * 1024;

struct Scene {
    world: World,
    bucket: TestBucket,
    uploads: Uploads,
}

impl Scene {
    async fn start() -> Self {
        let world = World::start().await;
        let bucket = TestBucket::beside(&world.db);
        let uploads =
            Uploads { store: world.db.store_of("uploads"), bucket: bucket.bucket_of(&world.db, "uploads") };
        Self { world, bucket, uploads }
    }

    /// A picture of this size arrives.
    async fn arrived(&self, size: u64) -> Media {
        let media = self.world.media(|_| ()).await;
        self.bucket.upload(&media, size);
        media
    }

    /// Delivers one message for each file. Returns the numbers of the messages that must be delivered again.
    async fn notify(&self, files: &[(&str, u64)]) -> Vec<String> {
        let body = |(key, size): &(&str, u64)| {
            json!({"Records": [{"s3": {"object": {"key": key, "size": size}}}]}).to_string()
        };
        let bodies: Vec<String> = files.iter().map(body).collect();
        self.deliver(&bodies).await
    }

    async fn deliver(&self, bodies: &[String]) -> Vec<String> {
        failed_messages(self.uploads.handle(sqs_event("uploads.json", bodies)).await)
    }

    async fn current(&self, media: &Media) -> Option<Media> {
        self.world.db.store().media_of(media.workspace_id, media.id).await.unwrap()
    }

    fn holds(&self, media: &Media) -> bool {
        self.bucket.holds(media.workspace_id, media.id)
    }
}

fn key(media: &Media) -> String {
    format!("{}/{}", media.workspace_id, media.id)
}

#[tokio::test]
async fn a_file_over_the_limit_of_its_type_is_deleted_when_it_arrives() {
    let scene = Scene::start().await;
    let (fits, over) = (scene.arrived(LIMIT).await, scene.arrived(LIMIT + 1).await);
    scene.world.db.forget_calls();
    assert!(scene.notify(&[(&key(&fits), LIMIT)]).await.is_empty());
    assert_eq!(trips(&scene.world.db.calls()), 1);
    scene.world.db.forget_calls();
    assert!(scene.notify(&[(&key(&over), LIMIT + 1)]).await.is_empty());
    assert_eq!(trips(&scene.world.db.calls()), 3);

    assert!(scene.holds(&fits) && !scene.holds(&over));
    let [fits_now, over_now] = [scene.current(&fits).await.unwrap(), scene.current(&over).await.unwrap()];
    assert_eq!(fits_now.state, MediaState::Waiting);
    assert_eq!((over_now.state, over_now.size), (MediaState::TooLarge, Some(LIMIT + 1)));
    assert_eq!(over_now.expires_at, fits_now.expires_at, "the row expires like any other");
}

#[tokio::test]
async fn an_empty_file_is_deleted_when_it_arrives() {
    let scene = Scene::start().await;
    let (one, none) = (scene.arrived(1).await, scene.arrived(0).await);
    assert!(scene.notify(&[(&key(&one), 1), (&key(&none), 0)]).await.is_empty());
    assert!(scene.holds(&one) && !scene.holds(&none));
    let [one, none] = [scene.current(&one).await.unwrap(), scene.current(&none).await.unwrap()];
    assert_eq!((one.state, none.state, none.size), (MediaState::Waiting, MediaState::Empty, Some(0)));
}

#[tokio::test]
async fn a_file_without_a_row_is_deleted_and_other_objects_stay() {
    let scene = Scene::start().await;
    let late = scene.arrived(1).await;
    let unknown = MediaId::generate(&**scene.world.db.ids());
    scene.bucket.put(scene.world.workspace, unknown, Uploaded { size: 1, digest: None });
    scene.world.db.clock().advance(Media::KEPT + Duration::from_secs(1));
    let unknown_key = format!("{}/{unknown}", scene.world.workspace);
    let names = [(&*key(&late), 1), (&*unknown_key, 1), ("export.csv", LIMIT + 1), ("a/b", 1)];
    assert!(scene.notify(&names).await.is_empty());
    assert!(!scene.holds(&late), "the row has expired");
    assert!(!scene.bucket.holds(scene.world.workspace, unknown));
}

#[tokio::test]
async fn a_repeated_notification_changes_nothing_more() {
    let scene = Scene::start().await;
    let over = scene.arrived(LIMIT + 1).await;
    assert!(scene.notify(&[(&key(&over), LIMIT + 1)]).await.is_empty());
    let marked = scene.current(&over).await;
    assert!(scene.notify(&[(&key(&over), LIMIT + 1), (&key(&over), LIMIT + 1)]).await.is_empty());
    assert_eq!(scene.current(&over).await, marked);
}

#[tokio::test]
async fn only_a_notification_that_fails_is_delivered_again() {
    let scene = Scene::start().await;
    let over = scene.arrived(LIMIT + 1).await;
    for operation in ["GetItem", "UpdateItem", "DeleteObject"] {
        scene.world.db.fail(operation, Fault::Unreachable, 3);
        assert_eq!(scene.notify(&[(&key(&over), LIMIT + 1), ("export.csv", 1)]).await, ["0"], "{operation}");
        scene.world.db.heal();
    }
    assert!(scene.notify(&[(&key(&over), LIMIT + 1)]).await.is_empty());
    assert!(!scene.holds(&over));
    let setup = json!({"Service": "Amazon S3", "Event": "s3:TestEvent"}).to_string();
    assert_eq!(scene.deliver(&[setup, "not a notification".to_owned()]).await, ["1"]);
}

#[tokio::test]
async fn the_event_of_the_fixture_names_one_upload() {
    let scene = Scene::start().await;
    let event: SqsEvent = serde_json::from_str(&fixture_text("uploads.json")).unwrap();
    let uploads = queue::read_uploads(event.records[0].body.as_deref().unwrap()).unwrap();
    let place = store::Bucket::file_of(&uploads[0].key);
    let (workspace, media): (WorkspaceId, MediaId) = place.expect("the key of a file");
    scene.bucket.put(workspace, media, Uploaded { size: uploads[0].size, digest: None });
    assert!(scene.uploads.handle(event).await.batch_item_failures.is_empty());
    assert!(!scene.bucket.holds(workspace, media), "the workspace has no such row");
}
