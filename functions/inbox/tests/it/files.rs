//! A customer's message with a file: it waits for the file, and keeps it.

use std::time::Duration;

use domain::Message;
use domain::inbound::file::media_id;
use domain::media::FileMissing;
use domain::media::MediaState;
use domain::message::Content;
use domain::message::received::ReceivedContent;
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
        all.sort_by_key(|message| message.seq);
        all
    }

    /// Processes what the function queued again.
    async fn again(&self) {
        let queued: Vec<Inbound> = self.queued().into_iter().map(|(inbound, _)| inbound).collect();
        assert_eq!(self.process(&queued).await, Vec::<String>::new());
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

#[tokio::test]
async fn a_message_waits_two_minutes_for_its_file_and_later_messages_of_the_customer_wait_with_it() {
    // The site's provider does not answer.
    let site = Site::start().await;
    let piece = site.piece(LINE, "messages", &[image(), text()]);
    assert_eq!(site.process(&[piece]).await, Vec::<String>::new());
    assert_eq!(site.all_messages().await, [], "the text does not overtake the file");
    site.world.db.clock().advance(Duration::from_millis(119_999));
    site.again().await;
    assert_eq!(site.all_messages().await, []);
    let waiting = site.queued();
    let [(inbound, delay)] = &waiting[..] else { panic!("{waiting:?}") };
    assert_eq!((*delay, inbound.value["messages"].as_array().unwrap().len()), (10, 2));
    site.world.db.clock().advance(Duration::from_millis(1));
    assert_eq!(site.process(std::slice::from_ref(inbound)).await, Vec::<String>::new());
    let [file, text] = &site.all_messages().await[..] else { panic!("two messages") };
    let ReceivedContent::File { file: Err(why), .. } = file_of(file) else { panic!("a file") };
    assert_eq!((*why, text.seq), (FileMissing::Unavailable, 2));
    assert_eq!(site.queued(), []);
}
