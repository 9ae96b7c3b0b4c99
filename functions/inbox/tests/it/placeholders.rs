//! The first message of a customer to a line that a phone uses too: the provider sends its content later, under the same id.

use domain::message::received::{Received, ReceivedContent};
use domain::message::{Content, MessageType};
use domain::{Cellphone, Conversation, ConversationStatus, Message};
use harness::{Death, World, trips};
use serde_json::{Value, json};

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";
const WAMID: &str = "wamid.first";

fn item(kind: &str, content: &Value) -> Value {
    let mut item = json!({ "id": WAMID, "from": NUMBER, "timestamp": "1767323000", "type": kind });
    for (name, value) in content.as_object().unwrap() {
        item[name.as_str()] = value.clone();
    }
    item
}

fn placeholder(code: i64) -> Value {
    item("unsupported", &json!({ "errors": [{ "code": code, "title": "This message is unavailable" }] }))
}

fn text(body: &str) -> Value {
    item("text", &json!({ "text": { "body": body } }))
}

async fn start() -> (Site, Conversation) {
    let site = Site::start().await;
    let number = Cellphone::parse(&format!("+{NUMBER}")).ok();
    let ana = site.world.contact(|contact| contact.cellphone = number).await;
    let externals = vec![World::external(ana.id, LINE)];
    let of_ana = site.world.conversation(|conversation| {
        conversation.externals = externals;
        conversation.status = ConversationStatus::NotAssignedToHuman;
    });
    let of_ana = of_ana.await;
    (site, of_ana)
}

impl Site {
    async fn gets(&self, items: &[Value]) {
        assert_eq!(self.process(&[self.piece(LINE, "messages", items)]).await, Vec::<String>::new());
    }

    async fn first(&self, of: &Conversation) -> Message {
        let id = Received::message_id(self.world.workspace, WAMID);
        self.store().message(self.world.workspace, of.id, id).await.unwrap().unwrap()
    }
}

fn said(message: &Message) -> &Received {
    match &message.content {
        Content::Received(received) => received,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn content_replaces_its_placeholder_once_and_nothing_else() {
    let (site, of_ana) = start().await;
    site.gets(&[placeholder(131_060)]).await;
    let before = site.first(&of_ana).await;
    assert_eq!(before.message_type(), MessageType::Unsupported);
    site.gets(&[placeholder(131_060)]).await;
    assert_eq!(site.first(&of_ana).await.version, before.version, "a repeat of the placeholder");

    site.world.db.forget_calls();
    site.gets(&[text("Hello")]).await;
    // One of them reads the keywords, which are not in memory yet.
    assert_eq!(trips(&site.world.db.calls()), 4, "{:?}", site.world.db.operations());
    let after = site.first(&of_ana).await;
    assert_eq!((said(&after).text(), after.message_type()), (Some("Hello"), MessageType::Text));
    assert!(said(&after).extras.errors.is_empty());
    assert_eq!(
        (after.version, after.created_at, after.seq),
        (before.version + 1, before.created_at, before.seq)
    );

    for repeat in [text("Hello"), text("Other"), placeholder(131_060)] {
        site.gets(&[repeat]).await;
        assert_eq!(site.first(&of_ana).await, after);
    }
    assert_eq!(site.queued().len(), 0);
}

#[tokio::test]
async fn another_unsupported_message_and_one_that_was_deleted_stay() {
    let (site, of_ana) = start().await;
    site.gets(&[placeholder(131_051)]).await;
    site.gets(&[text("Hello")]).await;
    assert_eq!(site.first(&of_ana).await.message_type(), MessageType::Unsupported);

    let (site, of_ana) = start().await;
    site.gets(&[placeholder(131_060)]).await;
    let revoke = json!({ "id": "wamid.r", "from": NUMBER, "timestamp": "1767323010", "type": "revoke",
        "revoke": { "original_message_id": WAMID } });
    site.gets(&[revoke]).await;
    site.gets(&[text("Hello")]).await;
    assert_eq!(said(&site.first(&of_ana).await).what, ReceivedContent::Revoked(MessageType::Unsupported));
}

#[tokio::test]
async fn a_kill_at_any_call_leaves_a_placeholder_that_a_repeat_fills() {
    for calls in 0..3 {
        let (site, of_ana) = start().await;
        site.gets(&[placeholder(131_060)]).await;
        let version = site.first(&of_ana).await.version;
        let dead = site.world.db.die_after(calls, Death::After);
        let hello = [text("Hello")];
        tokio::select! {
            () = site.gets(&hello) => {}
            _ = dead => {}
        }
        site.world.db.revive();
        site.gets(&[text("Hello")]).await;
        let after = site.first(&of_ana).await;
        assert_eq!((said(&after).text(), after.version), (Some("Hello"), version + 1), "{calls}");
    }
}

#[tokio::test]
async fn leaves_of_statuses_that_are_not_known_are_counted_once_each() {
    let (site, _) = start().await;
    let status = json!({ "id": "wamid.s", "status": "sent", "timestamp": "1767323000", "recipient_id": NUMBER,
        "made_up": { "one": 1, "two": [true, ""] }, "pricing": { "billable": true, "later": "x" } });
    let piece = site.piece(LINE, "statuses", &[status]);
    assert!(site.process(&[piece]).await.is_empty());
    let counted: u64 = site.counted.values()["ProviderLeavesUnmapped"].iter().sum();
    assert_eq!(counted, 3);
}
