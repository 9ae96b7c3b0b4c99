//! Customers' messages: the contact, the conversation, the content, exactly once.

use std::time::Duration;

use domain::contact::reached::Move;
use domain::message::Content;
use domain::message::arrival::{Arrival, Destination};
use domain::message::received::{Received, ReceivedContent, Said};
use domain::message::{Draft, SentBy};
use domain::{
    Cellphone, ChannelId, Contact, ContactId, ContactUpdate, Conversation, ConversationId,
    ConversationStatus, Definitions, Message, MessageBody, MessageId, PersonName, ProviderAppId, Reached,
    Timestamp, UserIds, WaId, WorkspaceId,
};
use harness::{Call, Death, Fault, TestClock, World, trips};
use queue::Inbound;
use serde_json::{Value, json};
use store::{
    Changed, InboundPlace, InboundStored, MessageStored, Moved, NewInbound, NewMessage, Replaced, Store,
    Table, Tables,
};

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";

/// A message of Ana, who has the number [`NUMBER`].
fn message(id: &str, content: Value) -> Value {
    let mut message = content;
    message["id"] = json!(id);
    message["from"] = json!(NUMBER);
    message["timestamp"] = json!(TestClock::START.as_seconds().to_string());
    message
}

fn text(id: &str, text: &str) -> Value {
    message(id, json!({ "type": "text", "text": { "body": text } }))
}

/// A piece of the line with these messages of Ana.
fn of(items: &[Value]) -> Inbound {
    piece("Ana María Ruiz", items)
}

fn piece(profile: &str, items: &[Value]) -> Inbound {
    let contacts = json!([{ "wa_id": NUMBER, "profile": { "name": profile } }]);
    let seconds = items.iter().filter_map(|item| item["timestamp"].as_str()?.parse::<i64>().ok());
    let last = Timestamp::from_millis(seconds.max().unwrap_or_default() * 1_000);
    Inbound {
        app: ProviderAppId::parse("1042000000001").unwrap(),
        workspace: None,
        received_at: TestClock::START.max(last),
        account: World::ACCOUNT.to_owned(),
        field: "messages".to_owned(),
        value: json!({ "metadata": { "phone_number_id": LINE }, "contacts": contacts, "messages": items }),
        ranks: Default::default(),
        files_since: Default::default(),
    }
}

fn one(item: Value) -> [Inbound; 1] {
    [of(&[item])]
}

impl Site {
    /// Processes these pieces, which must all be done.
    async fn done(&self, pieces: &[Inbound]) {
        assert!(self.process(pieces).await.is_empty());
    }

    /// The sum of a metric.
    fn sum(&self, metric: &str) -> u64 {
        self.counted.values().get(metric).map(|values| values.iter().sum()).unwrap_or_default()
    }

    /// A contact with the number.
    async fn ana(&self) -> Contact {
        self.world
            .contact(|contact| {
                contact.cellphone = Cellphone::parse(&format!("+{NUMBER}")).ok();
                contact.first_name = PersonName::parse("Ana").ok();
            })
            .await
    }

    /// A conversation of this contact on the line, created a second after the one before.
    async fn talk(&self, contact: &Contact, status: ConversationStatus) -> Conversation {
        self.world.db.clock().advance(Duration::from_secs(1));
        let externals = vec![World::external(contact.id, LINE)];
        self.world
            .conversation(|conversation| {
                conversation.externals = externals;
                conversation.status = status;
            })
            .await
    }

    /// Another process moves the line to a second workspace, so the function's process still remembers the claim.
    async fn move_line(&self) -> WorkspaceId {
        let (store, workspace) = (self.world.db.store(), self.world.workspace);
        let seen = store.workspace(workspace).await.unwrap().unwrap();
        let lines = store.lines(workspace).await.unwrap();
        let brand = lines.brands[0].with_line(None);
        let line = &lines.lines[0].channel;
        let next = seen.without_line(line);
        let db = &self.world.db;
        let table = db.table(Table::Workspaces);
        let tables = Tables::of_stack(table.strip_suffix("-workspaces").unwrap());
        let other = Store::new(db.client().clone(), tables, db.clock().clone(), db.ids().clone());
        assert!(other.delete_line(&next, &lines.lines[0], brand.as_ref(), true).await.unwrap());
        assert_eq!(other.line_delivers_inbound_since(workspace, line).await.unwrap(), None);
        let (second, _) = self.world.second_workspace().await;
        self.world.line_of(second, LINE, |_| ()).await;
        second
    }

    async fn reached(&self) -> Option<ContactId> {
        let number = Cellphone::parse(&format!("+{NUMBER}")).unwrap();
        let store = self.world.db.store();
        store.contact_holding_cellphone(self.world.workspace, &number).await.unwrap()
    }

    async fn only_contact(&self) -> Contact {
        let id = self.reached().await.unwrap();
        self.world.db.store().contact(self.world.workspace, id).await.unwrap().unwrap()
    }

    async fn home(&self, id: ConversationId) -> Conversation {
        self.world.db.store().conversation(self.world.workspace, id).await.unwrap().unwrap()
    }

    /// All messages of a conversation, in the order of a list, the oldest first.
    async fn messages(&self, id: ConversationId) -> Vec<Message> {
        let store = self.world.db.store();
        let mut all = store.messages_before(self.world.workspace, id, None, 100).await.unwrap();
        all.reverse();
        all
    }

    /// The ids of all conversations, the newest first.
    async fn conversations(&self) -> Vec<ConversationId> {
        let homes = self.world.db.rows_from(Table::Conversations, "C");
        let id = |row: &Value| ConversationId::parse(row["id"]["S"].as_str().unwrap()).unwrap();
        homes.iter().map(id).collect()
    }

    /// The texts of a conversation's messages, in order. Their numbers must have no gap.
    async fn texts(&self, id: ConversationId) -> Vec<String> {
        let messages = self.messages(id).await;
        let mut numbers: Vec<u64> = messages.iter().map(|message| message.seq).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=messages.len() as u64).collect::<Vec<_>>());
        messages.iter().map(|message| received(message).text().unwrap_or("-").to_owned()).collect()
    }

    /// Answers the conversation as an agent does.
    async fn answer(&self, id: ConversationId, body: &str) -> MessageStored {
        let store = self.world.db.store();
        let conversation = self.home(id).await;
        let draft = Draft {
            conversation: id,
            body: MessageBody::parse(body).ok(),
            media: vec![],
            broadcast: true,
            reply_to: None,
        };
        let seq = store.last_seq(self.world.workspace, id).await.unwrap() + 1;
        let message =
            draft.message(MessageId::generate(store.ids()), &conversation, seq, vec![], store.now());
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        store.store_message(&new, Duration::from_secs(120), &message.id.to_string()).await.unwrap()
    }

    async fn set_status(&self, id: ConversationId, status: ConversationStatus) {
        let store = self.world.db.store();
        let old = self.home(id).await;
        let conversation =
            Conversation { status, version: old.version + 1, updated_at: store.now(), ..old.clone() };
        let change = domain::conversation::ConversationChange { conversation, new_contacts: vec![] };
        let changed = store.change_conversation(&old, &change, &store.write_id("test")).await.unwrap();
        assert_eq!(changed, Changed::Done);
    }

    fn window(&self) -> Vec<Value> {
        self.world.db.rows_from(Table::Contacts, "W#")
    }

    fn seen(&self) -> Vec<Value> {
        self.world.db.rows_from(Table::Conversations, "S#")
    }

    /// The calls of the database since the last time.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let calls = self.world.db.calls();
        self.world.db.forget_calls();
        calls
    }
}

fn received(message: &Message) -> &Received {
    match &message.content {
        Content::Received(received) => received,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_text_joins_the_newest_open_conversation_of_the_contact_on_the_line() {
    let site = Site::start().await;
    let ana = site.ana().await;
    site.talk(&ana, ConversationStatus::Active).await;
    let newest = site.talk(&ana, ConversationStatus::NotAssignedToHuman).await;
    site.talk(&ana, ConversationStatus::Released).await;
    let elsewhere = vec![World::external(ana.id, "another")];
    site.world.conversation(|conversation| conversation.externals = elsewhere).await;
    site.done(&one(text("wamid.1", "¡Hola!"))).await;

    let messages = site.messages(newest.id).await;
    assert_eq!(messages.len(), 1);
    let stored = &messages[0];
    assert_eq!((stored.seq, stored.sent_by, stored.reply_to), (1, SentBy::Customer, None));
    assert_eq!((stored.version, stored.shown_status()), (1, "RECEIVED"));
    assert_eq!(stored.created_at, Timestamp::from_millis(TestClock::START.as_seconds() * 1_000));
    assert_eq!(stored.updated_at, site.world.db.store().now());
    let content = received(stored);
    assert_eq!((content.contact, content.channel.as_str()), (ana.id, LINE));
    assert_eq!((content.provider_message_id.as_str(), content.text()), ("wamid.1", Some("¡Hola!")));
    assert_eq!(site.home(newest.id).await, newest, "the conversation does not change");
    assert_eq!(site.only_contact().await, ana, "nor does the contact");
    assert_eq!(site.seen()[0]["sk"]["S"], json!(format!("S#{}", ana.id)));
    let (store, workspace) = (site.world.db.store(), site.world.workspace);
    let line = ChannelId::parse(LINE).unwrap();
    assert_eq!(store.last_inbound(workspace, ana.id, &line).await.unwrap(), Some(stored.created_at));
    let found = store.provider_message(workspace, "wamid.1").await.unwrap();
    assert_eq!(found, Some((newest.id, stored.id, None)));
    let tally = store.tally(workspace, newest.id, store.now()).await.unwrap();
    assert_eq!((tally.inbound, tally.outbound, tally.internal), (1, 0, 0));
    assert_eq!((site.queue.take().len(), site.sum("InboxItemsProcessed")), (0, 1));
}

#[tokio::test]
async fn an_unknown_customer_becomes_a_partial_contact_with_a_conversation_that_waits_for_an_agent() {
    let site = Site::start().await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    let ana = site.only_contact().await;
    let name = |name: &Option<PersonName>| name.as_ref().map(|name| name.as_str().to_owned());
    assert_eq!(name(&ana.first_name).as_deref(), Some("Ana"));
    assert_eq!(name(&ana.last_name).as_deref(), Some("María Ruiz"));
    assert_eq!((ana.version, ana.created_at), (1, TestClock::START));
    let partial = ana.contact_type(&Definitions::default(), TestClock::START);
    assert_eq!(partial.as_str(), "PARTIAL");

    let conversations = site.conversations().await;
    assert_eq!(conversations.len(), 1);
    let opened = site.home(conversations[0]).await;
    assert_eq!(opened.status, ConversationStatus::NotAssignedToHuman);
    let external = &opened.externals[0];
    assert_eq!(
        (external.contact, external.channel.as_str(), external.brand.as_str()),
        (ana.id, LINE, World::BRAND)
    );
    assert_eq!(external.shown.identifier(), format!("+{NUMBER}"));
    assert!(opened.internals.is_empty() && opened.name.is_none());
    assert_eq!(site.texts(opened.id).await, ["Hola"]);
    site.done(&one(text("wamid.2", "¿Hay alguien?"))).await;
    assert_eq!(site.texts(opened.id).await, ["Hola", "¿Hay alguien?"]);
    assert_eq!(site.answer(opened.id, "Sí").await, MessageStored::Done);
    let numbers: Vec<u64> = site.messages(opened.id).await.iter().map(|message| message.seq).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn a_profile_fills_the_name_of_a_contact_without_one() {
    let site = Site::start().await;
    let number = Cellphone::parse(&format!("+{NUMBER}")).ok();
    let nameless = site.world.contact(|contact| contact.cellphone = number.clone()).await;
    site.talk(&nameless, ConversationStatus::Active).await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    let named = site.only_contact().await;
    assert_eq!((named.id, named.version), (nameless.id, 2));
    assert_eq!(named.first_name, PersonName::parse("Ana").ok());
    site.done(&[piece("Otra", &[text("wamid.2", "Hola")])]).await;
    assert_eq!(site.only_contact().await, named);
}

#[tokio::test]
async fn only_printable_text_of_a_profile_is_stored() {
    let site = Site::start().await;
    let profile = "\u{202e}Ana\u{1b}]52;c;YQ==\u{7}\nRuiz\u{2028}\u{2066}";
    site.done(&[piece(profile, &[text("wamid.1", "Hola")])]).await;
    let contact = site.only_contact().await;
    assert_eq!(contact.first_name, PersonName::parse("Ana").ok());
    assert_eq!(contact.last_name, PersonName::parse("]52;c;YQ==  Ruiz").ok());
}

#[tokio::test]
async fn a_customer_who_hides_the_number_is_a_contact_with_the_user_id_only() {
    let site = Site::start().await;
    let hidden = |id: &str| {
        let mut hidden = text(id, "Hola");
        hidden.as_object_mut().unwrap().remove("from");
        hidden["from_user_id"] = json!("ES.7");
        hidden
    };
    let short = {
        let mut short = text("wamid.3", "Hola");
        short["from"] = json!("12345");
        short
    };
    site.done(&[of(&[hidden("wamid.1"), hidden("wamid.2"), short])]).await;
    let [talk] = site.conversations().await[..] else { panic!("one conversation") };
    let talk = site.home(talk).await;
    assert_eq!(site.texts(talk.id).await, ["Hola", "Hola"]);
    let (store, workspace) = (site.world.db.store(), site.world.workspace);
    let reached = Reached::named(None, Some("ES.7"));
    let contact = store.reached_contact(workspace, &reached).await.unwrap().unwrap();
    assert_eq!((contact.cellphone, contact.user_ids), (None, World::user_ids("ES.7")));
    assert_eq!(talk.externals[0].contact, contact.id);
    assert_eq!(site.sum("InboxItemsDropped"), 1, "of a number that is too short");
}

#[tokio::test]
async fn a_customer_is_found_by_each_id_that_a_message_named() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let mut both = text("wamid.1", "Hola");
    both["from_user_id"] = json!("ES.7");
    let mut hidden = text("wamid.2", "Otra vez");
    hidden.as_object_mut().unwrap().remove("from");
    hidden["from_user_id"] = json!("ES.7");
    site.done(&one(both)).await;
    site.done(&one(hidden)).await;
    let [talk] = site.conversations().await[..] else { panic!("one conversation") };
    let talk = site.home(talk).await;
    assert_eq!((site.texts(talk.id).await.len(), talk.externals[0].contact), (2, ana.id));
    assert_eq!(site.only_contact().await.version, ana.version, "ids are no change of the contact");
}

#[tokio::test]
async fn every_type_of_content_without_a_file_is_stored() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let talk = site.talk(&ana, ConversationStatus::Active).await;
    let rows = [
        ("TEXT", json!({ "type": "text", "text": { "body": "Hola" } }), "Hola"),
        ("LOCATION", json!({ "type": "location", "location": { "latitude": 40.4, "longitude": -3.7 } }), "-"),
        (
            "CONTACTS",
            json!({ "type": "contacts", "contacts": [{ "name": { "formatted_name": "Eva" } }] }),
            "-",
        ),
        ("BUTTON_REPLY", json!({ "type": "button", "button": { "text": "Sí", "payload": "p" } }), "Sí"),
        (
            "INTERACTIVE_REPLY",
            json!({ "type": "interactive", "interactive": { "type": "list_reply", "list_reply": { "id": "1", "title": "Uno" } } }),
            "Uno",
        ),
        (
            "REACTION",
            json!({ "type": "reaction", "reaction": { "message_id": "wamid.0", "emoji": "👍" } }),
            "-",
        ),
        ("UNSUPPORTED", json!({ "type": "order", "order": {} }), "-"),
    ];
    for (number, (_, content, _)) in rows.iter().enumerate() {
        site.done(&one(message(&format!("wamid.{number}"), content.clone()))).await;
    }
    let found: Vec<_> = site
        .messages(talk.id)
        .await
        .iter()
        .map(|message| message.message_type().as_str().to_owned())
        .collect();
    assert_eq!(found, rows.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    assert_eq!(site.texts(talk.id).await, rows.iter().map(|(.., text)| *text).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_reaction_names_its_message_and_its_removal_has_no_emoji() {
    let site = Site::start().await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    let reaction = |id: &str, to: &str, emoji: Option<&str>| {
        message(id, json!({ "type": "reaction", "reaction": { "message_id": to, "emoji": emoji } }))
    };
    site.done(&[of(&[
        reaction("wamid.2", "wamid.1", Some("👍")),
        reaction("wamid.3", "wamid.1", None),
        reaction("wamid.4", "wamid.unknown", Some("👍")),
    ])])
    .await;
    let messages = site.messages(site.conversations().await[0]).await;
    let shown: Vec<_> = messages[1..]
        .iter()
        .map(|message| match &received(message).what {
            ReceivedContent::Reaction { to, emoji, .. } => {
                (*to, emoji.as_ref().map(|emoji| emoji.as_str()), message.reply_to)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let to = Some(messages[0].id);
    assert_eq!(shown, [(to, Some("👍"), None), (to, None, None), (None, Some("👍"), None)]);
}

#[tokio::test]
async fn an_answer_goes_into_the_conversation_of_the_message_that_it_answers() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let older = site.talk(&ana, ConversationStatus::Active).await;
    site.done(&one(text("wamid.1", "uno"))).await;
    let newer = site.talk(&ana, ConversationStatus::Active).await;
    let answer = |id: &str, to: &str| {
        message(id, json!({ "type": "text", "text": { "body": id }, "context": { "id": to } }))
    };
    site.done(&one(answer("wamid.2", "wamid.1"))).await;
    assert_eq!(site.texts(older.id).await, ["uno", "wamid.2"]);
    let messages = site.messages(older.id).await;
    assert_eq!(messages[1].reply_to, Some(messages[0].id));

    // Once it is released, the newest conversation gets the answer. The answer still names the message.
    site.set_status(older.id, ConversationStatus::Released).await;
    site.done(&one(answer("wamid.3", "wamid.1"))).await;
    assert_eq!(site.texts(newer.id).await, ["wamid.3"]);
    assert_eq!(site.messages(newer.id).await[0].reply_to, Some(messages[0].id));
    // An unknown message decides nothing.
    site.done(&one(answer("wamid.4", "wamid.unknown"))).await;
    assert_eq!(site.texts(newer.id).await, ["wamid.3", "wamid.4"]);
    assert_eq!(site.messages(newer.id).await[1].reply_to, None);
}

#[tokio::test]
async fn an_answer_to_a_conversation_that_the_contact_left_goes_to_the_newest() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let left = site.talk(&ana, ConversationStatus::Active).await;
    site.done(&one(text("wamid.1", "uno"))).await;
    let store = site.world.db.store();
    let other = site.world.contact(|_| ()).await;
    let next = Conversation { externals: vec![World::external(other.id, LINE)], version: 2, ..left.clone() };
    let change = domain::conversation::ConversationChange { conversation: next, new_contacts: vec![] };
    assert_eq!(store.change_conversation(&left, &change, "r").await.unwrap(), Changed::Done);
    let answer = message(
        "wamid.2",
        json!({ "type": "text", "text": { "body": "dos" }, "context": { "id": "wamid.1" } }),
    );
    site.done(&one(answer)).await;
    let all = site.conversations().await;
    assert_eq!(all.len(), 2);
    let opened = all.into_iter().find(|id| *id != left.id).unwrap();
    assert_eq!(site.texts(opened).await, ["dos"]);
}

#[tokio::test]
async fn a_ghost_becomes_active_with_the_first_message() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let ghost = site.talk(&ana, ConversationStatus::Ghost).await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    let active = site.home(ghost.id).await;
    assert_eq!((active.status, active.version), (ConversationStatus::Active, 2));
    assert_eq!(site.texts(ghost.id).await, ["Hola"]);
    site.done(&one(text("wamid.2", "Hola"))).await;
    assert_eq!(site.home(ghost.id).await, active);
}

#[tokio::test]
async fn a_message_into_a_blocked_conversation_is_dropped_and_counted() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let open = site.talk(&ana, ConversationStatus::Active).await;
    let blocked = site.talk(&ana, ConversationStatus::Blocked).await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    assert!(site.messages(blocked.id).await.is_empty() && site.messages(open.id).await.is_empty());
    assert!(site.seen().is_empty());
    assert_eq!(site.sum("InboxItemsDropped"), 1);
    assert_eq!(site.world.db.store().provider_message(site.world.workspace, "wamid.1").await.unwrap(), None);
}

#[tokio::test]
async fn a_message_into_a_blocked_conversation_opens_the_window_and_nothing_else() {
    let site = Site::start().await;
    let (store, workspace) = (site.world.db.store(), site.world.workspace);
    let (ana, line) = (site.ana().await, ChannelId::parse(LINE).unwrap());
    let blocked = site.talk(&ana, ConversationStatus::Blocked).await;
    let at = |seconds: u64| Timestamp::from_millis((TestClock::START.as_seconds() + seconds as i64) * 1_000);
    let written = |id: &str, seconds: u64| {
        let mut message = text(id, "Hola");
        message["timestamp"] = json!(at(seconds).as_seconds().to_string());
        message
    };
    let last = async || store.last_inbound(workspace, ana.id, &line).await.unwrap();
    site.world.db.clock().advance(Duration::from_secs(600));
    site.done(&one(written("wamid.1", 10))).await;
    assert_eq!(last().await, Some(at(10)));
    // An older one, in the same piece as a newer one.
    site.done(&[of(&[written("wamid.2", 5), written("wamid.3", 20)])]).await;
    assert_eq!(last().await, Some(at(20)));
    site.calls();
    site.done(&one(written("wamid.2", 5))).await;
    assert_eq!(site.calls().iter().map(|call| call.write_units).sum::<f64>(), 0.0, "nothing is newer");

    // The conversation takes messages again.
    site.set_status(blocked.id, ConversationStatus::Active).await;
    site.done(&one(written("wamid.4", 30))).await;
    assert_eq!((site.texts(blocked.id).await, last().await), (vec!["Hola".to_owned()], Some(at(30))));
    // The row still names the conversation of the last message that was stored.
    let named = site.window()[0]["conversationId"].clone();
    let other = site.talk(&ana, ConversationStatus::Blocked).await;
    site.done(&one(written("wamid.5", 40))).await;
    assert_eq!((site.window()[0]["conversationId"].clone(), last().await), (named, Some(at(40))));
    assert!(site.messages(other.id).await.is_empty());
}

#[tokio::test]
async fn a_blocked_message_and_a_stored_one_at_the_same_time_keep_the_later_time() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let older = site.talk(&ana, ConversationStatus::Active).await;
    site.done(&one(text("wamid.0", "Hola"))).await;
    site.talk(&ana, ConversationStatus::Blocked).await;
    let mut answer = text("wamid.1", "Sí");
    answer["context"] = json!({ "id": "wamid.0" });
    site.world.db.clock().advance(Duration::from_secs(60));
    let later = |mut message: Value, seconds: i64| {
        message["timestamp"] = json!((TestClock::START.as_seconds() + seconds).to_string());
        message
    };
    site.done(&[of(&[later(answer, 20)]), of(&[later(text("wamid.2", "No"), 30)])]).await;
    assert_eq!(site.texts(older.id).await, ["Hola", "Sí"]);
    let line = ChannelId::parse(LINE).unwrap();
    let last = site.world.db.store().last_inbound(site.world.workspace, ana.id, &line).await.unwrap();
    assert_eq!(last.map(Timestamp::as_seconds), Some(TestClock::START.as_seconds() + 30));
}

#[tokio::test]
async fn of_two_messages_into_a_blocked_conversation_at_the_same_time_the_later_one_keeps_the_window_open() {
    let site = Site::start().await;
    let ana = site.ana().await;
    site.talk(&ana, ConversationStatus::Blocked).await;
    site.world.db.clock().advance(Duration::from_secs(60));
    let written = |id: &str, seconds: i64| {
        let mut message = text(id, "Hola");
        message["timestamp"] = json!((TestClock::START.as_seconds() + seconds).to_string());
        one(message)
    };
    site.done(&written("wamid.0", 10)).await;
    site.world.db.forget_calls();
    let held = site.world.db.hold("PutItem");
    let (earlier, later) = (written("wamid.1", 20), written("wamid.2", 30));
    let meanwhile = async {
        site.world.db.begun("PutItem", 1).await;
        site.done(&later).await;
        drop(held);
    };
    tokio::join!(site.done(&earlier), meanwhile);
    let line = ChannelId::parse(LINE).unwrap();
    let last = site.world.db.store().last_inbound(site.world.workspace, ana.id, &line).await.unwrap();
    assert_eq!(last.map(Timestamp::as_seconds), Some(TestClock::START.as_seconds() + 30));
}

#[tokio::test]
async fn after_a_release_a_message_opens_a_new_conversation() {
    let site = Site::start().await;
    site.done(&one(text("wamid.1", "uno"))).await;
    let first = site.conversations().await[0];
    site.set_status(first, ConversationStatus::Released).await;
    site.done(&one(text("wamid.2", "dos"))).await;
    let all = site.conversations().await;
    assert_eq!(all.len(), 2);
    let second = all.into_iter().find(|id| *id != first).unwrap();
    assert_eq!(site.texts(second).await, ["dos"]);
    assert_eq!(site.texts(first).await, ["uno"]);
    assert_eq!(site.only_contact().await.version, 1);
}

#[tokio::test]
async fn a_conversation_among_many_released_ones_is_found_up_to_the_hundredth() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let open = site.talk(&ana, ConversationStatus::Active).await;
    for _ in 0..99 {
        site.talk(&ana, ConversationStatus::Released).await;
    }
    site.done(&one(text("wamid.1", "uno"))).await;
    assert_eq!(site.texts(open.id).await, ["uno"]);
    site.talk(&ana, ConversationStatus::Released).await;
    site.done(&one(text("wamid.2", "dos"))).await;
    assert_eq!(site.texts(open.id).await, ["uno"], "a hundred newer ones are read, and no more");
    assert_eq!(site.conversations().await.len(), 102);
}

#[tokio::test]
async fn repeated_and_shuffled_messages_are_stored_once() {
    let site = Site::start().await;
    site.ana().await;
    let texts: Vec<Value> = (1..=6).map(|n| text(&format!("wamid.{n}"), &n.to_string())).collect();
    let batches: [Vec<usize>; 5] =
        [vec![2], vec![0, 1, 2], vec![5, 4, 3, 2, 1, 0], vec![3, 3, 3], vec![0, 1, 2, 3, 4, 5]];
    for batch in &batches {
        // Each item is a piece of its own: they are processed at the same time.
        let pieces: Vec<Inbound> = batch.iter().map(|at| of(std::slice::from_ref(&texts[*at]))).collect();
        site.done(&pieces).await;
    }
    let conversations = site.conversations().await;
    assert_eq!(conversations.len(), 1);
    let mut found = site.texts(conversations[0]).await;
    found.sort();
    assert_eq!(found, ["1", "2", "3", "4", "5", "6"]);
    // A repeat a week later.
    site.world.db.clock().advance(Duration::from_secs(7 * 24 * 60 * 60));
    site.done(&one(texts[0].clone())).await;
    assert_eq!(site.texts(conversations[0]).await.len(), 6);
}

#[tokio::test]
async fn the_messages_of_a_piece_keep_their_order() {
    let site = Site::start().await;
    let texts: Vec<Value> = (0..10).map(|n| text(&format!("wamid.{n}"), &n.to_string())).collect();
    site.done(&[of(&texts)]).await;
    let conversations = site.conversations().await;
    assert_eq!(site.texts(conversations[0]).await, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
}

#[tokio::test]
async fn two_first_messages_at_the_same_time_make_one_contact_and_one_conversation() {
    let site = Site::start().await;
    let pieces: Vec<Inbound> = (0..4).map(|n| of(&[text(&format!("wamid.{n}"), "x")])).collect();
    site.done(&pieces).await;
    assert_eq!(site.world.db.rows_from(Table::Contacts, "C").len(), 1);
    let conversations = site.conversations().await;
    assert_eq!(conversations.len(), 1);
    assert_eq!(site.texts(conversations[0]).await.len(), 4);
}

#[tokio::test]
async fn messages_of_a_known_contact_at_the_same_time_open_one_conversation() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let released = site.talk(&ana, ConversationStatus::Released).await;
    let pieces: Vec<Inbound> = (0..4).map(|n| of(&[text(&format!("wamid.{n}"), "x")])).collect();
    site.done(&pieces).await;
    let conversations = site.conversations().await;
    assert_eq!(conversations.len(), 2);
    let opened = conversations.into_iter().find(|id| *id != released.id).unwrap();
    assert_eq!(site.texts(opened).await.len(), 4);
}

/// The time of the customer's last message stays, so only the conversation of the window changes.
#[tokio::test]
async fn late_messages_at_the_same_time_open_one_conversation() {
    let site = Site::start().await;
    let sent = |id: &str, ago: i64| {
        let mut message = text(id, "x");
        message["timestamp"] = json!((TestClock::START.as_seconds() - ago).to_string());
        message
    };
    site.done(&one(sent("wamid.last", 300))).await;
    let released = site.conversations().await[0];
    site.set_status(released, ConversationStatus::Released).await;
    let pieces: Vec<Inbound> = (0..4).map(|n| of(&[sent(&format!("wamid.{n}"), 600)])).collect();
    site.done(&pieces).await;
    let conversations = site.conversations().await;
    assert_eq!(conversations.len(), 2);
    let opened = conversations.into_iter().find(|id| *id != released).unwrap();
    assert_eq!(site.texts(opened).await.len(), 4);
}

/// What another writer does between the reads of a message and its transaction.
#[tokio::test]
async fn a_message_is_stored_after_any_change_between_its_reads_and_its_transaction() {
    for change in ["answer", "release", "erase", "rename", "block"] {
        let site = Site::start().await;
        let ana = site.ana().await;
        let talk = site.talk(&ana, ConversationStatus::Ghost).await;
        let store = site.world.db.store();
        let held = site.world.db.hold("TransactWriteItems");
        site.world.db.forget_calls();
        let (pieces, mut begun) = (one(text("wamid.1", "Hola")), false);
        let processed = site.done(&pieces);
        tokio::pin!(processed);
        tokio::select! {
            () = &mut processed => {}
            () = site.world.db.begun("TransactWriteItems", 1) => begun = true,
        }
        assert!(begun, "{change}");
        match change {
            "answer" => assert_eq!(site.answer(talk.id, "Sí").await, MessageStored::Done),
            "release" => site.set_status(talk.id, ConversationStatus::Released).await,
            "block" => site.set_status(talk.id, ConversationStatus::Blocked).await,
            "rename" => {
                let update = ContactUpdate {
                    last_name: domain::Patch::Set(PersonName::parse("Ruiz").unwrap()),
                    ..ContactUpdate::default()
                };
                let next = ana.apply(&update, &Definitions::default(), None, store.now()).unwrap().unwrap();
                assert_eq!(store.replace_contact(&ana, &next, "r").await.unwrap(), Replaced::Done);
            }
            _ => {
                let whole = store.whole_conversation(site.world.workspace, talk.id).await.unwrap();
                store.erase_messages(&whole, store::ErasedMessages::All).await.unwrap();
                assert!(store.erase_conversation(&talk).await.unwrap());
                assert!(store.erase_contact(&ana).await.unwrap());
            }
        }
        drop(held);
        processed.await;
        let conversations = site.conversations().await;
        let into = match change {
            "answer" | "rename" => vec![talk.id],
            "release" => conversations.iter().copied().filter(|id| *id != talk.id).collect(),
            "block" => vec![],
            _ => conversations.clone(),
        };
        for id in &into {
            let messages = site.messages(*id).await;
            let inbound = messages.iter().filter(|message| message.sent_by == SentBy::Customer).count();
            assert_eq!(inbound, 1, "{change}");
        }
        assert_eq!(into.len(), usize::from(change != "block"), "{change}");
        assert_eq!(site.reached().await.is_some_and(|id| id == ana.id), change != "erase");
        if change == "rename" {
            assert_eq!(site.only_contact().await.last_name, PersonName::parse("Ruiz").ok());
        }
    }
}

#[tokio::test]
async fn a_text_takes_three_round_trips_and_at_most_twelve_units() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let talk = site.talk(&ana, ConversationStatus::Active).await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    assert_eq!(site.answer(talk.id, "Sí").await, MessageStored::Done);
    site.world.db.clock().advance(Duration::from_secs(20));
    site.calls();
    site.done(&one(text("wamid.2", "Un texto de tamaño normal, como los que escribe la gente."))).await;
    let calls = site.calls();
    let units: f64 = calls.iter().map(|call| call.write_units).sum();
    assert_eq!(trips(&calls), 3, "{calls:#?}");
    assert!((8.0..=12.0).contains(&units), "{units} {calls:#?}");
    let reads: f64 = calls.iter().map(|call| call.read_units).sum();
    assert!((6.0..=8.0).contains(&reads), "{reads} {calls:#?}");
    // A repeat takes two reads and one look at the time at which the customer was seen.
    site.done(&one(text("wamid.2", "x"))).await;
    assert_eq!(trips(&site.calls()), 3);
    // The first message after a change of the conversation takes one more.
    let next = site.talk(&ana, ConversationStatus::Active).await;
    site.calls();
    site.done(&one(text("wamid.3", "x"))).await;
    assert_eq!(site.texts(next.id).await, ["x"]);
    assert!(trips(&site.calls()) >= 4);
}

#[tokio::test]
async fn the_claim_of_a_line_is_remembered_for_thirty_seconds() {
    let site = Site::start().await;
    site.ana().await;
    site.done(&one(text("wamid.1", "x"))).await;
    let claims = |calls: Vec<Call>| {
        calls.iter().filter(|call| call.operation == "GetItem" && call.table.ends_with("workspaces")).count()
    };
    site.calls();
    site.world.db.clock().advance(Duration::from_millis(29_999));
    site.done(&one(text("wamid.2", "x"))).await;
    assert_eq!(claims(site.calls()), 0);
    site.world.db.clock().advance(Duration::from_millis(1));
    site.done(&one(text("wamid.3", "x"))).await;
    assert_eq!(claims(site.calls()), 1);
}

#[tokio::test]
async fn a_message_that_was_received_before_the_line_moved_is_not_shown_to_the_new_workspace() {
    let site = Site::start().await;
    let old = one(text("wamid.1", "for the first workspace"));
    site.world.db.clock().advance(Duration::from_secs(120));
    site.move_line().await;
    // A redriven dead letter, for example.
    site.done(&old).await;
    assert_eq!(site.world.db.rows_from(Table::Messages, "M#"), Vec::<Value>::new());
    let now = site.world.db.store().now();
    let new = Inbound { received_at: now, ..of(&[text("wamid.2", "for the second")]) };
    site.done(&[new]).await;
    assert_eq!(site.world.db.rows_from(Table::Messages, "M#").len(), 1);
}

#[tokio::test]
async fn a_message_from_before_a_move_does_not_bring_an_old_user_id_back() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let to = Reached::named(None, Some("ES.2"));
    let from = Reached::default();
    let moved = Move { from: &from, to: &to, account: &World::account(), at: TestClock::START };
    let store = site.world.db.store();
    assert_eq!(store.move_contact(&ana, moved, "move").await.unwrap(), Moved::Done);
    let mut old = text("wamid.1", "late");
    old["from_user_id"] = json!("ES.1");
    site.done(&one(old)).await;
    let now = store.contact(site.world.workspace, ana.id).await.unwrap().unwrap();
    assert_eq!(now.user_ids, World::user_ids("ES.2"));
}

#[tokio::test]
async fn a_message_to_a_line_that_moved_goes_to_the_workspace_that_has_it_now() {
    let site = Site::start().await;
    site.ana().await;
    site.done(&one(text("wamid.1", "x"))).await;
    let (workspace, second) = (site.world.workspace, site.move_line().await);
    assert_eq!(site.process(&one(text("wamid.2", "y"))).await.len(), 1, "it is delivered again");
    site.done(&one(text("wamid.2", "y"))).await;
    let rows = site.world.db.rows_from(Table::Messages, "M#");
    let of = |workspace: &WorkspaceId| {
        let mine = |row: &&Value| row["workspaceId"]["S"] == workspace.to_string();
        rows.iter().filter(mine).count()
    };
    assert_eq!((of(&workspace), of(&second)), (1, 1));
}

#[tokio::test]
async fn moves_and_choices_of_a_line_that_moved_change_only_the_workspace_that_has_it_now() {
    let stop = json!({ "wa_id": NUMBER, "value": "stop", "timestamp": TestClock::START.as_seconds() });
    let choice =
        json!({ "metadata": { "phone_number_id": LINE }, "contacts": [], "user_preferences": [stop] });
    let moved =
        json!({ "type": "system", "system": { "type": "user_changed_number", "wa_id": "34600999888" } });
    let moved = of(&[message("wamid.2", moved)]);
    for is_choice in [true, false] {
        let site = Site::start().await;
        let ana = site.ana().await;
        site.done(&one(text("wamid.1", "x"))).await;
        let second = site.move_line().await;
        let choice = site.change(World::ACCOUNT, "user_preferences", choice.clone());
        site.done(&[if is_choice { choice } else { moved.clone() }]).await;
        assert_eq!(site.only_contact().await, ana);
        let leads = site.world.db.rows(Table::Leads);
        let mine =
            leads.iter().filter(|row| row["pk"]["S"].as_str().unwrap().starts_with(&second.to_string()));
        assert_eq!((leads.len(), mine.count()), if is_choice { (1, 1) } else { (0, 0) });
    }
}

#[tokio::test]
async fn the_window_and_the_last_sight_never_go_back() {
    let site = Site::start().await;
    let ana = site.ana().await;
    site.talk(&ana, ConversationStatus::Active).await;
    let line = ChannelId::parse(LINE).unwrap();
    let at = |ago: u64| TestClock::START.minus(Duration::from_secs(ago));
    let sent = |id: &str, ago: u64| {
        let mut message = text(id, "x");
        message["timestamp"] = json!(at(ago).as_seconds().to_string());
        message
    };
    let moment = |at: Timestamp| Timestamp::from_millis(at.as_seconds() * 1_000);
    for (id, ago, last) in [("wamid.1", 600, 600), ("wamid.2", 900, 600), ("wamid.3", 300, 300)] {
        site.done(&one(sent(id, ago))).await;
        let found = site.world.db.store().last_inbound(site.world.workspace, ana.id, &line).await.unwrap();
        assert_eq!(found, Some(moment(at(last))), "{id}");
        assert_eq!(
            site.seen()[0]["lastSeenAt"]["N"],
            json!(moment(at(last)).as_millis().to_string()),
            "{id}"
        );
    }
    let created: Vec<Timestamp> =
        site.messages(site.conversations().await[0]).await.iter().map(|message| message.created_at).collect();
    assert_eq!(created, [900, 600, 300].map(|ago| moment(at(ago))), "in the order of their times");
}

#[tokio::test]
async fn a_message_survives_a_crash_at_any_call() {
    for (known, contents) in [(true, text("wamid.1", "Hola")), (false, text("wamid.1", "Hola"))] {
        for death in [Death::Before, Death::After] {
            for calls in 0.. {
                let site = Site::start().await;
                if known {
                    let ana = site.ana().await;
                    site.talk(&ana, ConversationStatus::Ghost).await;
                }
                let mut dead = site.world.db.die_after(calls, death);
                let (pieces, mut survived) = (one(contents.clone()), false);
                tokio::select! {
                    () = site.done(&pieces) => survived = true,
                    _ = &mut dead => {}
                }
                site.world.db.revive();
                site.done(&pieces).await;
                let conversations = site.conversations().await;
                assert_eq!(conversations.len(), 1, "{known} {death:?} {calls}");
                assert_eq!(site.texts(conversations[0]).await, ["Hola"], "{known} {death:?} {calls}");
                assert_eq!(site.window().len(), 1);
                assert_eq!(site.seen().len(), 1, "{known} {death:?} {calls}");
                // The test's conversation has a contact of its own.
                let contacts = site.world.db.rows_from(Table::Contacts, "C").len();
                assert_eq!(contacts, if known { 2 } else { 1 });
                if survived {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_message_that_cannot_be_stored_is_delivered_again() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let talk = site.talk(&ana, ConversationStatus::Active).await;
    site.world.db.fail("TransactWriteItems", Fault::Unreachable, 3);
    assert_eq!(site.process(&one(text("wamid.1", "Hola"))).await.len(), 1);
    site.world.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    site.done(&one(text("wamid.1", "Hola"))).await;
    assert_eq!(site.texts(talk.id).await, ["Hola"]);
}

#[tokio::test]
async fn a_disabled_workspace_gets_its_messages() {
    let site = Site::start().await;
    site.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    site.done(&one(text("wamid.1", "Hola"))).await;
    assert_eq!(site.texts(site.conversations().await[0]).await, ["Hola"]);
}

#[tokio::test]
async fn the_providers_id_is_kept_longer_than_the_provider_repeats() {
    const DAY: u64 = 24 * 60 * 60;
    for (days, expected) in [(None, None), (Some(1), Some(30)), (Some(40), Some(40))] {
        let mut site = Site::start().await;
        let messages = days.map(|days: u64| Duration::from_secs(days * DAY));
        let retention = domain::Retention { messages, ..Default::default() };
        site.function.store = site.function.store.with_retention(retention);
        site.done(&one(text("wamid.1", "x"))).await;
        let row = &site.world.db.rows_from(Table::Messages, "P")[0];
        let expires = expected.map(|days: u64| TestClock::START.plus(Duration::from_secs(days * DAY)));
        let expires = expires.map(|at| at.as_seconds().to_string());
        assert_eq!(row["expiresAt"]["N"].as_str(), expires.as_deref(), "{days:?}");
    }
}

#[tokio::test]
async fn the_providers_id_of_an_erased_message_is_not_kept_longer_than_before_nor_made_again() {
    const DAY: u64 = 24 * 60 * 60;
    for is_gone in [false, true] {
        let mut site = Site::start().await;
        let messages = Some(Duration::from_secs(30 * DAY));
        let retention = domain::Retention { messages, ..Default::default() };
        site.function.store = site.function.store.with_retention(retention);
        site.done(&one(text("wamid.1", "x"))).await;
        let row = site.world.db.rows_from(Table::Messages, "P").remove(0);
        site.world.db.clock().advance(Duration::from_secs(DAY));
        let (store, workspace) = (&site.function.store, site.world.workspace);
        let whole = store.whole_conversation(workspace, site.conversations().await[0]).await.unwrap();
        if is_gone {
            let pk = row["pk"]["S"].as_str().unwrap();
            site.world.db.remove_row(Table::Messages, pk, row["sk"]["S"].as_str().unwrap());
        }
        store.erase_messages(&whole, store::ErasedMessages::All).await.unwrap();
        let expected = if is_gone { vec![] } else { vec![row] };
        assert_eq!(site.world.db.rows(Table::Messages), expected);
    }
}

#[tokio::test]
async fn a_number_or_an_id_that_changes_hands_between_reads_makes_no_message_of_the_other() {
    type Named = fn(&mut Contact);
    let ways: [(Reached, Named); 3] = [
        (Reached::named(Some(NUMBER), None), |ana| {
            ana.cellphone = Cellphone::parse(&format!("+{NUMBER}")).ok()
        }),
        (Reached::named(Some(NUMBER), None), |ana| ana.wa_id = WaId::parse(NUMBER).ok()),
        (Reached::named(None, Some("US.1")), |ana| ana.user_ids = World::user_ids("US.1")),
    ];
    for (from, named) in ways {
        let site = Site::start().await;
        let ana = site.world.contact(named).await;
        let (store, workspace) = (site.world.db.store(), site.world.workspace);
        let talk = site.talk(&ana, ConversationStatus::Active).await;
        let line = ChannelId::parse(LINE).unwrap();
        let ids = store.inbound_ids(workspace, &line, ("wamid.1", None), &from).await.unwrap();
        let place = store.inbound_place(workspace, ana.id, &line, &ids).await.unwrap().unwrap();
        assert_eq!(place.destination, Destination::Into(Box::new(talk.clone())));
        let without =
            Contact { cellphone: None, wa_id: None, user_ids: UserIds::default(), version: 2, ..ana.clone() };
        assert_eq!(store.replace_contact(&ana, &without, "r").await.unwrap(), Replaced::Done);
        let received = Received {
            contact: ana.id,
            channel: line,
            provider_message_id: "wamid.1".to_owned(),
            what: ReceivedContent::Said(Said::text("Hola")),
            extras: Default::default(),
        };
        let arrival = Arrival { by: SentBy::Customer, received, reply_to: None, created_at: store.now() };
        let new =
            NewInbound { contact: &ana, conversation: &talk, arrival: &arrival, file: None, conflict: None };
        assert_eq!(store.store_inbound(&place, &new).await.unwrap(), InboundStored::Stale, "{from:?}");
        let place = store.inbound_place(workspace, ana.id, &arrival.received.channel, &ids).await.unwrap();
        assert!(place.is_none(), "another customer's message would go to Ana: {from:?}");
        let nobody = InboundPlace::of_nobody();
        let opened = arrival.opens(&ana, talk.externals[0].brand.clone(), 1, store.now());
        let new = NewInbound { conversation: &opened, ..new };
        let stored = store.store_inbound(&nobody, &new).await.unwrap();
        assert_eq!(stored, InboundStored::Stale, "the contact exists");
    }
}

#[tokio::test]
async fn a_message_that_is_delivered_again_after_its_number_changed_hands_is_stored_once() {
    let site = Site::start().await;
    let ana = site.ana().await;
    site.talk(&ana, ConversationStatus::Active).await;
    site.done(&one(text("wamid.0", "Hola"))).await;
    let store = site.world.db.store();
    site.world.db.forget_calls();
    let held = site.world.db.hold("TransactWriteItems");
    let piece = one(text("wamid.1", "Adiós"));
    let meanwhile = async {
        site.world.db.begun("TransactWriteItems", 1).await;
        let without = Contact { cellphone: None, version: ana.version + 1, ..ana.clone() };
        assert_eq!(store.replace_contact(&ana, &without, "r").await.unwrap(), Replaced::Done);
        site.done(&piece).await;
        drop(held);
    };
    tokio::join!(site.done(&piece), meanwhile);
    assert_ne!(site.reached().await, Some(ana.id));
    assert_eq!(site.all_texts().await, [["Adiós"], ["Hola"]]);
}

/// A customer with another number.
fn from(number: &str, mut message: Value) -> Value {
    message["from"] = json!(number);
    message
}

const BOB: &str = "34600333444";

impl Site {
    /// The texts of all conversations.
    async fn all_texts(&self) -> Vec<Vec<String>> {
        let mut all = vec![];
        for id in self.conversations().await {
            all.push(self.texts(id).await);
        }
        all.sort();
        all
    }
}

#[tokio::test]
async fn an_error_of_a_message_stops_no_other_one() {
    let site = Site::start().await;
    let piece = of(&[
        text("wamid.1", "1"),
        text("wamid.2", "2"),
        from(BOB, text("wamid.3", "3")),
        text("wamid.4", "4"),
    ]);
    let ranks = [("wamid.2".to_owned(), 1), ("wamid.4".to_owned(), 2)].into();
    let piece = Inbound { ranks, ..piece };
    site.world.db.fail("TransactWriteItems", Fault::Unreachable, 3);
    assert_eq!(site.process(std::slice::from_ref(&piece)).await.len(), 1, "the piece is repeated");
    assert_eq!(
        (site.all_texts().await, site.queued()),
        (vec![vec!["2".to_owned(), "4".to_owned()], vec!["3".to_owned()]], vec![])
    );
    site.done(&[piece]).await;
    assert_eq!(site.all_texts().await, [vec!["1", "2", "4"], vec!["3"]]);
    assert_eq!(site.sum("InboxItemsProcessed"), 3 + 4);
}

#[tokio::test]
async fn what_comes_from_the_new_number_waits_for_the_move_that_failed() {
    let site = Site::start().await;
    let ana = site.ana().await;
    let moved = json!({ "type": "system", "system": { "type": "user_changed_number", "wa_id": BOB } });
    let piece = of(&[message("wamid.1", moved), from(BOB, text("wamid.2", "It is me"))]);
    site.world.db.fail("TransactWriteItems", Fault::Unreachable, 3);
    assert_eq!(site.process(std::slice::from_ref(&piece)).await.len(), 1);
    assert_eq!(site.only_contact().await, ana);
    site.done(&[piece]).await;
    assert_eq!(site.world.db.rows_from(Table::Contacts, "C").len(), 1, "one customer");
    assert_eq!(site.all_texts().await, [["It is me"]]);
}

#[tokio::test]
async fn items_that_do_not_begin_in_time_are_queued_again_and_a_piece_that_takes_too_long_is_repeated() {
    let piece = of(&[text("wamid.1", "1"), from(BOB, text("wamid.2", "2"))]);
    // Seconds since the invocation began; what is done, what is queued again, what fails.
    for (seconds, done, queued, failed) in [(0, 2, 0, 0), (15, 0, 2, 0), (50, 0, 2, 0), (57, 0, 0, 1)] {
        let site = Site::start().await;
        let ran = Duration::from_secs(seconds) + Duration::from_millis(1);
        let repeated = site.process_after(ran, std::slice::from_ref(&piece)).await;
        let again = site.queued();
        let items = again.iter().map(|(rest, _)| rest.value["messages"].as_array().unwrap().len()).sum();
        let found: (usize, usize, usize) = (site.all_texts().await.len(), items, repeated.len());
        assert_eq!(found, (done, queued, failed), "{seconds}");
        assert!(again.iter().all(|(rest, delay)| (rest, *delay) == (&piece, 0)), "{seconds}");
    }
}

#[tokio::test]
async fn a_repeat_of_an_erased_message_says_nothing_of_when_the_customer_was_seen() {
    for writes_again in [false, true] {
        let site = Site::start().await;
        site.done(&one(text("wamid.1", "Hola"))).await;
        let (store, workspace) = (site.world.db.store(), site.world.workspace);
        let (ana, talk) = (site.only_contact().await, site.conversations().await[0]);
        let whole = store.whole_conversation(workspace, talk).await.unwrap();
        store.erase_messages(&whole, store::ErasedMessages::All).await.unwrap();
        store.erase_seen(workspace, talk, None).await.unwrap();
        assert!(store.erase_conversation(&site.home(talk).await).await.unwrap());
        assert!(store.erase_contact(&ana).await.unwrap());
        store.erase_windows(workspace, ana.id).await.unwrap();
        if writes_again {
            site.done(&one(text("wamid.2", "Hola"))).await;
        }
        site.world.db.clock().advance(Duration::from_secs(120));
        site.done(&one(text("wamid.1", "Hola"))).await;
        assert_eq!(site.seen().len(), usize::from(writes_again));
        assert_eq!(
            (site.conversations().await.len(), site.window().len()),
            (site.seen().len(), site.seen().len())
        );
    }
}
