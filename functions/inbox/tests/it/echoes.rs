//! What somebody of the business writes with the Business app: where it goes, and what it leaves as it was.

use domain::message::received::{Received, ReceivedContent};
use domain::message::{Content, SentBy};
use domain::{Cellphone, Contact, Conversation, ConversationStatus, Message, MessageStatus, Timestamp};
use harness::{Death, World, trips};
use serde_json::{Value, json};
use store::Table;

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";
const WAMID: &str = "wamid.echo";
/// Seconds since 1970.
const AT: i64 = 1_767_323_000;

/// A customer with a conversation in this status.
struct Scene {
    site: Site,
    talk: Conversation,
    ana: Contact,
}

fn echo(id: &str, seconds: i64, kind: &str, content: Value) -> Value {
    json!({ "id": id, "from": "15550000005", "to": NUMBER, "timestamp": (AT + seconds).to_string(), "type": kind, kind: content })
}

fn text() -> Value {
    echo(WAMID, 0, "text", json!({ "body": "It is on its way" }))
}

fn edit(seconds: i64, to: &str) -> Value {
    let message = json!({ "type": "text", "text": { "body": to } });
    echo("wamid.edit", seconds, "edit", json!({ "original_message_id": WAMID, "message": message }))
}

impl Scene {
    async fn start(status: ConversationStatus) -> Self {
        let site = Site::start().await;
        let number = Cellphone::parse(&format!("+{NUMBER}")).ok();
        let ana = site.world.contact(|contact| contact.cellphone = number).await;
        let externals = vec![World::external(ana.id, LINE)];
        let change = |conversation: &mut Conversation| {
            conversation.externals = externals;
            conversation.status = status;
        };
        let talk = site.world.conversation(change).await;
        Self { site, talk, ana }
    }

    async fn process(&self, list: &str, items: &[Value]) {
        let fields = json!({ "metadata": { "phone_number_id": LINE }, list: items });
        let field = if list == "messages" { list } else { "smb_message_echoes" };
        let piece = self.site.change(World::ACCOUNT, field, fields);
        assert_eq!(self.site.process(&[piece]).await, Vec::<String>::new());
    }

    async fn echoes(&self, items: &[Value]) {
        self.process("message_echoes", items).await;
    }

    async fn message(&self) -> Option<Message> {
        let (store, workspace) = (self.site.store(), self.site.world.workspace);
        let id = Received::message_id(workspace, WAMID);
        store.message(workspace, self.talk.id, id).await.unwrap()
    }

    async fn status(&self) -> ConversationStatus {
        let (store, workspace) = (self.site.store(), self.site.world.workspace);
        store.conversation(workspace, self.talk.id).await.unwrap().unwrap().status
    }

    fn dropped(&self) -> u64 {
        self.site.counted.values().get("InboxItemsDropped").map_or(0, |counts| counts.iter().sum())
    }

    fn windows(&self) -> usize {
        let rows = self.site.world.db.rows(Table::Contacts);
        rows.iter().filter(|row| row["kind"]["S"] == "window").count()
    }
}

fn said(message: &Message) -> (Option<&str>, Option<Timestamp>) {
    let Content::Received(received) = &message.content else { panic!("{:?}", message.content) };
    (received.text(), received.extras.revoked_at)
}

#[tokio::test]
async fn an_echo_is_a_sent_message_in_the_conversation_and_opens_no_window() {
    let scene = Scene::start(ConversationStatus::Ghost).await;
    let contacts = scene.site.world.db.rows(Table::Contacts).len();
    scene.echoes(&[text()]).await;
    let message = scene.message().await.unwrap();
    assert_eq!(
        (message.sent_by, message.seq, message.status()),
        (SentBy::BusinessApp, 1, MessageStatus::Sent)
    );
    assert_eq!(said(&message), (Some("It is on its way"), None));
    assert_eq!(message.created_at, Timestamp::from_millis(AT * 1_000));
    let [part] = &message.parts[..] else { panic!("{:?}", message.parts) };
    assert_eq!((part.recipient, part.provider_message_id.as_deref()), (scene.ana.id, Some(WAMID)));
    assert_eq!(scene.status().await, ConversationStatus::Active, "as an agent's message does");
    assert_eq!((scene.windows(), scene.site.world.db.rows(Table::Contacts).len()), (0, contacts));
    // A repeat finds it, and nothing is to be sent.
    scene.echoes(&[text()]).await;
    assert_eq!((scene.message().await, scene.dropped()), (Some(message), 0));
    assert!(scene.site.world.db.rows_from(Table::Messages, "Q#").is_empty());
    scene.site.world.db.forget_calls();
    scene.echoes(&[echo("wamid.next", 1, "text", json!({ "body": "Tomorrow" }))]).await;
    assert_eq!(trips(&scene.site.world.db.calls()), 4, "{:?}", scene.site.world.db.operations());
}

#[tokio::test]
async fn statuses_edits_and_deletions_of_an_echo_change_it_and_a_customer_cannot() {
    let scene = Scene::start(ConversationStatus::Active).await;
    scene.echoes(&[text()]).await;
    let status =
        json!({ "id": WAMID, "status": "read", "timestamp": (AT + 5).to_string(), "recipient_id": NUMBER });
    scene.process("statuses", &[status]).await;
    assert_eq!(scene.message().await.unwrap().status(), MessageStatus::Read);
    let mut of_customer = edit(6, "Never mind");
    of_customer["from"] = json!(NUMBER);
    scene.process("messages", &[of_customer]).await;
    assert_eq!(
        (said(&scene.message().await.unwrap()), scene.dropped()),
        ((Some("It is on its way"), None), 1)
    );
    scene.echoes(&[edit(10, "It arrives today")]).await;
    assert_eq!(said(&scene.message().await.unwrap()), (Some("It arrives today"), None));
    let revoke = echo("wamid.revoke", 20, "revoke", json!({ "original_message_id": WAMID }));
    scene.echoes(&[revoke, edit(30, "Too late")]).await;
    let revoked_at = Some(Timestamp::from_millis((AT + 20) * 1_000));
    assert_eq!(said(&scene.message().await.unwrap()), (None, revoked_at));
}

#[tokio::test]
async fn an_echo_makes_neither_a_contact_nor_a_conversation() {
    for status in [ConversationStatus::Blocked, ConversationStatus::Released] {
        let scene = Scene::start(status).await;
        let contacts = scene.site.world.db.rows_from(Table::Contacts, "C").len();
        scene.echoes(&[text()]).await;
        assert_eq!((scene.message().await, scene.dropped(), scene.status().await), (None, 1, status));
        let mut to_nobody = text();
        to_nobody["to"] = json!("34600999999");
        scene.echoes(&[to_nobody]).await;
        assert_eq!(scene.dropped(), 2);
        assert_eq!(scene.site.world.db.rows_from(Table::Conversations, "C").len(), 1);
        assert_eq!(scene.site.world.db.rows_from(Table::Contacts, "C").len(), contacts);
        assert!(scene.site.world.db.rows_from(Table::Messages, "M#").is_empty());
    }
}

#[tokio::test]
async fn a_later_kind_of_echo_is_kept_raw() {
    let scene = Scene::start(ConversationStatus::Active).await;
    scene.echoes(&[echo(WAMID, 0, "poll", json!({ "question": "When?" }))]).await;
    let message = scene.message().await.unwrap();
    let Content::Received(Received { what, extras, .. }) = &message.content else { panic!("{message:?}") };
    assert!(matches!(what, ReceivedContent::Said(_)));
    assert_eq!(extras.raw.as_ref().map(|raw| raw.as_str()), Some(r#"{"poll":{"question":"When?"}}"#));
}

#[tokio::test]
async fn an_echo_survives_a_crash_at_any_call() {
    for death in [Death::Before, Death::After] {
        for calls in 0.. {
            let scene = Scene::start(ConversationStatus::Ghost).await;
            let dead = scene.site.world.db.die_after(calls, death);
            let echoes = [text()];
            let survived = tokio::select! {
                () = scene.echoes(&echoes) => true,
                _ = dead => false,
            };
            scene.site.world.db.revive();
            scene.echoes(&[text()]).await;
            assert!(scene.message().await.is_some(), "{death:?} {calls}");
            assert_eq!(scene.site.world.db.rows_from(Table::Messages, "M#").len(), 1, "{death:?} {calls}");
            assert_eq!(scene.status().await, ConversationStatus::Active, "{death:?} {calls}");
            if survived {
                break;
            }
        }
    }
}
