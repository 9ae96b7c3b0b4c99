//! A customer's message with a file: it waits for the file, and keeps it.

use std::time::Duration;

use domain::inbound::file::media_id;
use domain::media::FileMissing;
use domain::media::MediaState;
use domain::message::received::ReceivedContent;
use domain::message::{Content, MessageType};
use domain::{Message, Timestamp};
use harness::{Death, Fault, trips};
use inbox::Files;
use provider::{FileClient, FileHosts};
use queue::Inbound;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{LINE, Site};

const PHOTO: &[u8] = b"the bytes of a photo";
const WAMID: &str = "wamid.1";

fn image() -> Value {
    json!({
        "id": WAMID, "from": "34600111222", "timestamp": "1767323045", "type": "image",
        "image": {
            "id": "77", "mime_type": "image/jpeg", "caption": "Look",
            "sha256": domain::encoding::sha256_hex(PHOTO),
        },
    })
}

fn text() -> Value {
    json!({
        "id": "wamid.2", "from": "34600111222", "timestamp": "1767323046", "type": "text",
        "text": { "body": "And?" },
    })
}

impl Site {
    /// The provider gives the photo.
    async fn with_photo(mut self, provider: &MockServer) -> Self {
        let url = format!("{}/bytes/77", provider.uri());
        let described =
            json!({ "url": url, "mime_type": "image/jpeg", "file_size": PHOTO.len(), "id": "77" });
        let describe = Mock::given(method("GET")).and(path("/v25.0/77"));
        describe.respond_with(ResponseTemplate::new(200).set_body_json(described)).mount(provider).await;
        let give = Mock::given(method("GET")).and(path("/bytes/77"));
        give.respond_with(ResponseTemplate::new(200).set_body_bytes(PHOTO)).mount(provider).await;
        let client = FileClient::new(&provider.uri(), "v25.0", FileHosts::parse("").unwrap()).unwrap();
        self.function.files = Files::new(client, std::env::temp_dir());
        self
    }

    async fn all_messages(&self) -> Vec<Message> {
        let (store, workspace) = (self.store(), self.world.workspace);
        let homes = self.world.db.rows(store::Table::Messages);
        let mut all = vec![];
        for row in homes.iter().filter(|row| row["kind"]["S"] == "message") {
            let id = |name: &str| row[name]["S"].as_str().unwrap().to_owned();
            let conversation = domain::ConversationId::parse(&id("conversationId")).unwrap();
            let message = domain::MessageId::parse(&id("id")).unwrap();
            all.extend(store.message(workspace, conversation, message).await.unwrap());
        }
        all.sort_by_key(|message| (message.created_at, message.seq));
        all
    }
}

fn file_of(message: &Message) -> &ReceivedContent {
    match &message.content {
        Content::Received(received) => &received.what,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_file_is_stored_and_kept_with_its_message() {
    let provider = MockServer::start().await;
    let site = Site::start().await.with_photo(&provider).await;
    for _ in 0..2 {
        assert_eq!(site.process(&[site.piece(LINE, "messages", &[image()])]).await, Vec::<String>::new());
    }
    let [message] = &site.all_messages().await[..] else { panic!("one message") };
    let ReceivedContent::File { file: Ok(file), caption, .. } = file_of(message) else { panic!("a file") };
    let id = media_id(site.world.workspace, WAMID, "77");
    assert_eq!((file.media, file.size), (id, PHOTO.len() as u64));
    assert_eq!(caption.as_ref().unwrap().as_str(), "Look");
    let media = site.store().media_of(site.world.workspace, id).await.unwrap().unwrap();
    assert_eq!((media.state, media.expires_at), (MediaState::Referenced, None), "the file does not expire");
    assert_eq!(site.bucket.all_bytes(), [PHOTO.to_vec()]);
}

impl Site {
    /// Processes a piece, which must be queued again with the delay of a file. Returns it as it is queued.
    async fn waits(&self, piece: &Inbound) -> Inbound {
        assert_eq!(self.process(std::slice::from_ref(piece)).await, Vec::<String>::new());
        let is_file = |message: &Message| matches!(file_of(message), ReceivedContent::File { .. });
        assert!(!self.all_messages().await.iter().any(is_file));
        let mut queued = self.queued();
        assert_eq!((queued.len(), queued[0].1), (1, 10));
        queued.remove(0).0
    }

    /// Processes a piece whose file is not waited for any more.
    async fn is_without_file(&self, piece: &Inbound) {
        assert_eq!(self.process(std::slice::from_ref(piece)).await, Vec::<String>::new());
        let stored = self.all_messages().await;
        let ReceivedContent::File { file: Err(why), .. } = file_of(&stored[0]) else { panic!("a file") };
        assert_eq!((*why, self.queued()), (FileMissing::Unavailable, vec![]));
    }

    /// The tables fail, so the file is not asked for. The queue repeats the piece after its visibility time-out.
    async fn is_repeated_late(&self, piece: &Inbound) {
        self.world.db.fail("BatchGetItem", Fault::Unreachable, 6);
        assert_eq!(self.process(std::slice::from_ref(piece)).await, ["0"]);
        self.world.db.heal();
        self.later(360);
    }

    fn later(&self, seconds: u64) {
        self.world.db.clock().advance(Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn a_message_waits_at_most_two_minutes_for_its_file_and_later_messages_of_the_customer_do_not_wait() {
    // The site's provider does not answer.
    let site = Site::start().await;
    let mut piece = site.piece(LINE, "messages", &[image(), text()]);
    // The next time can end ten seconds of delay and thirty of the fetch later.
    for seconds in [0, 10, 70] {
        site.later(seconds);
        piece = site.waits(&piece).await;
        assert_eq!(
            (piece.value["messages"].as_array().unwrap().len(), site.all_messages().await.len()),
            (1, 1),
            "only the file waits"
        );
    }
    site.world.db.clock().advance(Duration::from_millis(1));
    site.is_without_file(&piece).await;
    let shown: Vec<u64> = site.all_messages().await.iter().map(|message| message.seq).collect();
    assert_eq!(shown, [2, 1], "the file is read before the text, which was stored before it");
}

#[tokio::test]
async fn a_file_is_asked_for_twice_at_least_however_late_its_piece_comes() {
    let site = Site::start().await;
    let piece = site.piece(LINE, "messages", &[image()]);
    site.is_repeated_late(&piece).await;
    let rest = site.waits(&piece).await;
    // The file has been asked for once now.
    site.is_repeated_late(&rest).await;
    site.is_without_file(&rest).await;
}

#[tokio::test]
async fn a_file_that_comes_late_is_stored_with_its_message() {
    let site = Site::start().await;
    let piece = site.piece(LINE, "messages", &[image(), text()]);
    let rest = site.waits(&piece).await;
    let provider = MockServer::start().await;
    let site = site.with_photo(&provider).await;
    site.later(360);
    assert_eq!(site.process(&[rest]).await, Vec::<String>::new());
    let [file, text] = &site.all_messages().await[..] else { panic!("two messages") };
    assert!(matches!(file_of(file), ReceivedContent::File { file: Ok(_), .. }));
    assert_eq!((file.seq, text.seq), (2, 1));
}

#[tokio::test]
async fn what_waits_for_a_file_is_queued_again_although_another_item_failed() {
    let site = Site::start().await;
    let mut bob = text();
    bob["from"] = json!("34600333444");
    bob["id"] = json!("wamid.3");
    let piece = site.piece(LINE, "messages", &[bob, image(), text()]);
    site.world.db.fail("TransactWriteItems", Fault::Unreachable, 3);
    assert_eq!(site.process(&[piece]).await, ["0"]);
    let queued = site.queued();
    let [(rest, 10)] = &queued[..] else { panic!("{queued:?}") };
    assert_eq!(rest.value["messages"], json!([image()]));
}

#[tokio::test]
async fn a_file_without_room_is_not_asked_for_and_its_time_does_not_begin() {
    let provider = MockServer::start().await;
    let site = Site::start().await.with_photo(&provider).await;
    let from = |number: usize| {
        let mut image = image();
        (image["id"], image["from"]) =
            (json!(format!("wamid.{number}")), json!(format!("3460011122{number}")));
        site.piece(LINE, "messages", &[image])
    };
    let pieces: Vec<Inbound> = (0..Files::AT_ONCE).map(from).collect();
    let held: Vec<_> = pieces.iter().map(|_| site.world.db.hold("PutObject")).collect();
    let process = site.process(&pieces);
    tokio::pin!(process);
    tokio::select! {
        failed = &mut process => panic!("{failed:?}"),
        () = site.world.db.begun("PutObject", Files::AT_ONCE) => {}
    }
    // All rooms are taken. The next invocation stops waiting for one after a second.
    let next = from(9);
    let failed = site.process_after(Duration::from_secs(14), std::slice::from_ref(&next)).await;
    assert_eq!((failed, site.queued()), (vec![], vec![(next, 0)]), "without the moment of a first try");
    drop(held);
    assert_eq!(process.await, Vec::<String>::new());
    assert_eq!(site.all_messages().await.len(), pieces.len());
}

#[tokio::test]
async fn the_file_of_a_deleted_message_stays_a_day_also_after_a_kill_at_any_call() {
    for calls in 0..4 {
        let provider = MockServer::start().await;
        let site = Site::start().await.with_photo(&provider).await;
        assert!(site.process(&[site.piece(LINE, "messages", &[image()])]).await.is_empty());
        let (workspace, id) = (site.world.workspace, media_id(site.world.workspace, WAMID, "77"));
        let file = async || site.store().media_of(workspace, id).await.unwrap().unwrap();
        assert_eq!(file().await.expires_at, None);
        let revoke = json!({
            "id": "wamid.r", "from": "34600111222", "timestamp": "1767323050", "type": "revoke",
            "revoke": { "original_message_id": WAMID },
        });
        let piece = site.piece(LINE, "messages", &[revoke]);
        let ends = site.store().now().plus(Duration::from_hours(24));
        if calls > 0 {
            let dead = site.world.db.die_after(calls - 1, Death::After);
            tokio::select! {
                _ = site.process(std::slice::from_ref(&piece)) => {}
                _ = dead => {}
            }
            site.world.db.revive();
        }
        site.world.db.forget_calls();
        assert!(site.process(&[piece]).await.is_empty());
        if calls == 0 {
            let made = site.world.db.calls();
            let written: f64 = made.iter().map(|call| call.write_units).sum();
            assert_eq!((trips(&made), written), (4, 2.0), "one for the file");
        }
        assert_eq!(file().await.expires_at.map(Timestamp::as_seconds), Some(ends.as_seconds()), "{calls}");
        let messages = site.all_messages().await;
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].file_ids(), [], "{calls}");
        assert_eq!(*file_of(&messages[0]), ReceivedContent::Revoked(MessageType::Image), "{calls}");
    }
}
