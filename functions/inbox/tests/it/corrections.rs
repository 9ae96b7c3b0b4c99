//! Edits and deletions of customers' messages: late, early, repeated, in any order, and what they cost.

use std::time::Duration;

use domain::message::received::{Received, ReceivedContent};
use domain::message::{Content, MessageType};
use domain::{Cellphone, Contact, Conversation, ConversationStatus, Message, Timestamp};
use harness::{World, trips};
use serde_json::{Value, json};
use store::Table;

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";
const WAMID: &str = "wamid.said";
/// Seconds since 1970.
const AT: i64 = 1_767_323_000;

/// A GHOST of a customer.
struct Scene {
    site: Site,
    ghost: Conversation,
    ana: Contact,
}

fn item(id: &str, seconds: i64, kind: &str, content: Value) -> Value {
    json!({ "id": id, "from": NUMBER, "timestamp": (AT + seconds).to_string(), "type": kind, kind: content })
}

fn text() -> Value {
    item(WAMID, 0, "text", json!({ "body": "Hey" }))
}

fn edit(id: &str, seconds: i64, to: &str) -> Value {
    let message = json!({ "type": "text", "text": { "body": to } });
    item(id, seconds, "edit", json!({ "original_message_id": WAMID, "message": message }))
}

fn revoke(seconds: i64) -> Value {
    item("wamid.revoke", seconds, "revoke", json!({ "original_message_id": WAMID }))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis((AT + seconds) * 1_000)
}

impl Scene {
    async fn start() -> Self {
        let site = Site::start().await;
        let number = Cellphone::parse(&format!("+{NUMBER}")).ok();
        let ana = site.world.contact(|contact| contact.cellphone = number).await;
        let externals = vec![World::external(ana.id, LINE)];
        let ghost = site
            .world
            .conversation(|conversation| {
                conversation.externals = externals;
                conversation.status = ConversationStatus::Ghost;
            })
            .await;
        Self { site, ghost, ana }
    }

    /// The same after the customer wrote.
    async fn with_text() -> Self {
        let scene = Self::start().await;
        scene.process(&[text()]).await;
        scene.site.world.db.forget_calls();
        scene
    }

    async fn process(&self, items: &[Value]) {
        let piece = self.site.piece(LINE, "messages", items);
        assert_eq!(self.site.process(&[piece]).await, Vec::<String>::new());
    }

    async fn message(&self) -> Option<Message> {
        let (store, workspace) = (self.site.store(), self.site.world.workspace);
        let id = Received::message_id(workspace, WAMID);
        store.message(workspace, self.ghost.id, id).await.unwrap()
    }

    /// The text, the time of the last edit, and that of the deletion.
    async fn shown(&self) -> (Option<String>, Option<Timestamp>, Option<Timestamp>) {
        let received = received(self.message().await.unwrap());
        let edited_at = received.extras.edit.as_ref().map(|edit| edit.at);
        (received.text().map(str::to_owned), edited_at, received.extras.revoked_at)
    }

    fn dropped(&self) -> u64 {
        self.site.counted.values().get("InboxItemsDropped").map_or(0, |counts| counts.iter().sum())
    }
}

fn received(message: Message) -> Received {
    match message.content {
        Content::Received(received) => received,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_edit_costs_three_trips_two_read_units_and_one_write_and_makes_nothing_else() {
    for (correction, shown) in [
        (edit("wamid.edit", 30, "Hello"), (Some("Hello".to_owned()), Some(at(30)), None)),
        (revoke(30), (None, None, Some(at(30)))),
    ] {
        let scene = Scene::with_text().await;
        let (store, workspace) = (scene.site.store(), scene.site.world.workspace);
        let home = store.conversation(workspace, scene.ghost.id).await.unwrap().unwrap();
        let contacts = scene.site.world.db.rows_from(Table::Contacts, "W#");
        let before = scene.message().await.unwrap();
        scene.site.world.db.forget_calls();
        scene.process(std::slice::from_ref(&correction)).await;
        let calls = scene.site.world.db.calls();
        let (read, written): (f64, f64) =
            (calls.iter().map(|call| call.read_units).sum(), calls.iter().map(|call| call.write_units).sum());
        assert_eq!((trips(&calls), read, written), (3, 2.0, 1.0), "{correction}");
        assert_eq!(scene.shown().await, shown);
        let after = scene.message().await.unwrap();
        assert_eq!((after.version, after.created_at), (before.version + 1, before.created_at));
        assert_eq!(store.conversation(workspace, scene.ghost.id).await.unwrap().unwrap(), home);
        assert_eq!(scene.site.world.db.rows_from(Table::Contacts, "W#"), contacts, "no window is opened");
        // A repeat reads only.
        scene.site.world.db.forget_calls();
        scene.process(&[correction]).await;
        let calls = scene.site.world.db.calls();
        assert_eq!((trips(&calls), calls.iter().map(|call| call.write_units).sum::<f64>()), (2, 0.0));
        assert_eq!((scene.dropped(), scene.site.queued().len()), (0, 0));
    }
}

#[tokio::test]
async fn edits_and_a_deletion_end_alike_in_every_order() {
    let all = [edit("wamid.e1", 10, "one"), edit("wamid.e2", 20, "two"), revoke(15)];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let scene = Scene::with_text().await;
        let both = order.iter().filter(|at| **at < 2).map(|at| all[*at].clone());
        scene.process(&both.collect::<Vec<_>>()).await;
        assert_eq!(scene.shown().await, (Some("two".to_owned()), Some(at(20)), None), "{order:?}");

        let scene = Scene::with_text().await;
        for at in order {
            scene.process(std::slice::from_ref(&all[at])).await;
        }
        assert_eq!(scene.shown().await, (None, None, Some(at(15))), "{order:?}");
        let received = received(scene.message().await.unwrap());
        assert_eq!(received.what, ReceivedContent::Revoked(MessageType::Text), "{order:?}");
    }
}

#[tokio::test]
async fn an_edit_before_its_message_waits_up_to_15_minutes_and_is_then_counted() {
    let scene = Scene::start().await;
    scene.process(&[edit("wamid.edit", 30, "Hello"), revoke(31)]).await;
    assert_eq!((scene.dropped(), scene.message().await), (0, None));
    let mut pieces: Vec<_> = scene.site.queued();
    assert_eq!(pieces.len(), 1, "both wait together");
    let (piece, delay) = pieces.remove(0);
    assert_eq!((piece.value["messages"].as_array().unwrap().len(), delay), (2, 5));
    // The message comes.
    scene.process(&[text()]).await;
    let only_edit = queue::Inbound { value: with_first(&piece.value), ..piece.clone() };
    assert!(scene.site.process(&[only_edit]).await.is_empty());
    assert_eq!(scene.shown().await, (Some("Hello".to_owned()), Some(at(30)), None));

    // It never comes.
    let scene = Scene::start().await;
    let mut piece = scene.site.piece(LINE, "messages", &[edit("wamid.edit", 30, "Hello")]);
    let (mut waits, mut waited) = (0, 0);
    loop {
        assert!(scene.site.process(&[piece.clone()]).await.is_empty());
        let Some((next, delay)) = scene.site.queued().pop() else { break };
        scene.site.world.db.clock().advance(Duration::from_secs(delay));
        (piece, waits, waited) = (next, waits + 1, waited + delay);
    }
    assert_eq!((waited, scene.dropped(), scene.message().await), (900, 1, None));
    assert!(waits <= 14, "{waits}");
}

/// The change with the first of its messages.
fn with_first(value: &Value) -> Value {
    let mut value = value.clone();
    value["messages"].as_array_mut().unwrap().truncate(1);
    value
}

#[tokio::test]
async fn what_a_correction_cannot_change_is_counted() {
    let scene = Scene::start().await;
    scene.process(&[item(WAMID, 0, "poll", json!({ "name": "Lunch?" }))]).await;
    scene.process(&[edit("wamid.edit", 30, "Hello")]).await;
    assert_eq!(scene.dropped(), 1, "it has no text");

    // A message of the workspace.
    let said = scene.site.world.say(&scene.ghost, "hello").await;
    let store = scene.site.store();
    store.keep_provider_id(&said, 0, &domain::sending::End::Sent("wamid.ours".to_owned())).await;
    let revoke = item("wamid.r", 30, "revoke", json!({ "original_message_id": "wamid.ours" }));
    scene.process(&[revoke]).await;
    assert_eq!(scene.dropped(), 2);
    let unchanged = store.message(said.workspace_id, said.conversation, said.id).await.unwrap();
    assert_eq!(unchanged, Some(said));

    // Another line of the workspace.
    let scene = Scene::with_text().await;
    scene.site.world.line("1045559999999", |_| ()).await;
    let piece = scene.site.piece("1045559999999", "messages", &[edit("wamid.edit", 30, "Hello")]);
    assert!(scene.site.process(&[piece]).await.is_empty());
    assert_eq!((scene.shown().await.0.as_deref(), scene.dropped()), (Some("Hey"), 1));

    // Another workspace does not find it.
    scene.site.other_workspace("1045558888888").await;
    let piece = scene.site.piece("1045558888888", "messages", &[edit("wamid.edit", 30, "Hello")]);
    assert!(scene.site.process(&[piece]).await.is_empty());
    assert_eq!((scene.shown().await.0.as_deref(), scene.site.queued().len()), (Some("Hey"), 1));
}

#[tokio::test]
async fn an_edit_to_a_keyword_is_no_choice() {
    let scene = Scene::with_text().await;
    scene.process(&[edit("wamid.edit", 30, "STOP")]).await;
    assert_eq!(scene.shown().await.0.as_deref(), Some("STOP"));
    let number = scene.ana.cellphone.unwrap();
    let choices = scene.site.store().choices_seen(scene.site.world.workspace, &number).await.unwrap();
    assert_eq!(choices.kept, None);
}
