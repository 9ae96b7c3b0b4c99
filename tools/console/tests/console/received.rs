//! Customers' messages: shown, and erased or exported with their author.

use std::time::Duration;

use domain::message::arrival::{Arrival, Destination};
use domain::message::received::{Degrees, Location, Received, ReceivedContent, ReceivedText, Said};
use domain::{ChannelId, Contact, Conversation, MessageId, PersonName, Reached, WaId};
use harness::{TestClock, World};
use serde_json::{Value, json};
use store::{InboundStored, NewInbound, Store, Table};

use crate::Desk;
use crate::persons;

/// A conversation of Ana and Bob, in which each wrote a message; Ana's second is a place.
struct Scene {
    desk: Desk,
    ana: Contact,
    bob: Contact,
    shared: Conversation,
    messages: Vec<MessageId>,
}

async fn wrote(store: &Store, contact: &Contact, into: &Conversation, id: &str, said: Said) -> MessageId {
    let line = ChannelId::parse("line").unwrap();
    let message = Received::message_id(into.workspace_id, id);
    let from = Reached { wa_id: contact.wa_id.clone(), user_id: None };
    let mut ids = store.inbound_ids(into.workspace_id, &line, (id, None), &from).await.unwrap();
    ids.answered = Some((into.id, message));
    let place = store.inbound_place(into.workspace_id, contact.id, &line, &ids).await.unwrap().unwrap();
    assert_eq!(place.destination, Destination::Into(Box::new(into.clone())));
    let what = ReceivedContent::Said(said);
    let received = Received {
        contact: contact.id,
        channel: line,
        provider_message_id: id.to_owned(),
        what,
        extras: Default::default(),
    };
    let arrival =
        Arrival { by: domain::message::SentBy::Customer, received, reply_to: None, created_at: store.now() };
    let new = NewInbound { contact, conversation: into, arrival: &arrival, file: None, conflict: None };
    assert_eq!(store.store_inbound(&place, &new).await.unwrap(), InboundStored::Done);
    message
}

impl Scene {
    async fn new() -> Self {
        let world = World::start().await;
        let name = |text: &str| PersonName::parse(text).ok();
        let known_as = |contact: &mut Contact, first_name, wa_id| {
            (contact.first_name, contact.wa_id) = (name(first_name), WaId::parse(wa_id).ok());
        };
        let ana = world.contact(|contact| known_as(contact, "Ana", "14155550123")).await;
        let bob = world.contact(|contact| known_as(contact, "Bob", "14155550124")).await;
        let externals = [&ana, &bob].map(|contact| World::external(contact.id, "line"));
        let shared = world.conversation(|conversation| conversation.externals = externals.into()).await;
        let store = world.db.store();
        let [latitude, longitude] = [40.5, -3.0].map(|angle| Degrees::of(angle).unwrap());
        let place = Location {
            latitude,
            longitude,
            name: Some(ReceivedText::cut("Sol", 9)),
            address: None,
            url: None,
        };
        let mut messages = vec![];
        for (contact, id, said) in [
            (&ana, "wamid.1", Said::text("Ana was here")),
            (&bob, "wamid.2", Said::text("Bob was here")),
            (&ana, "wamid.3", Said::Location(place)),
        ] {
            messages.push(wrote(store, contact, &shared, id, said).await);
        }
        Self { desk: Desk::over(world.db), ana, bob, shared, messages }
    }

    fn rows(&self, table: Table, prefix: &str) -> Vec<Value> {
        self.desk.db.rows_from(table, prefix)
    }

    /// The arguments that name the conversation.
    fn of(&self) -> [String; 4] {
        let (workspace, id) = (self.shared.workspace_id.to_string(), self.shared.id.to_string());
        ["--workspace".to_owned(), workspace, "--conversation".to_owned(), id]
    }

    async fn json(&self, verb: [&str; 2], more: &[&str]) -> Value {
        let of = self.of();
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        self.desk.json(&[&verb[..], &of, more].concat()).await
    }

    async fn run(&self, verb: [&str; 2], more: &[&str]) -> String {
        let of = self.of();
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        self.desk.run(&[&verb[..], &of, more].concat()).await.out
    }
}

#[tokio::test]
async fn a_customers_message_is_shown_with_its_type_and_content() {
    let scene = Scene::new().await;
    let id = scene.messages[2].to_string();
    let shown = scene.json(["message", "show"], &["--message", &id]).await;
    assert_eq!(
        (&shown["sentBy"], &shown["status"], &shown["type"], &shown["broadcast"]),
        (&json!("CUSTOMER"), &json!("RECEIVED"), &json!("LOCATION"), &json!(false))
    );
    let place = json!({ "latitude": 40.5, "longitude": -3.0, "name": "Sol", "address": null, "url": null });
    assert_eq!((&shown["content"], &shown["messageBody"]), (&place, &Value::Null));
    let table = scene.run(["message", "show"], &["--message", &id]).await;
    assert!(
        table.contains(r#"{"address":null,"latitude":40.5,"longitude":-3.0,"name":"Sol","url":null}"#),
        "{table}"
    );

    let listed = scene.json(["message", "list"], &[]).await;
    let said: Vec<_> = listed.as_array().unwrap().iter().map(|message| &message["messageBody"]).collect();
    assert_eq!(said, [&Value::Null, &json!("Bob was here"), &json!("Ana was here")]);
    let table = scene.run(["message", "list"], &[]).await;
    assert!(table.contains("LOCATION") && table.contains("Bob was here"), "{table}");
}

#[tokio::test]
async fn a_conversation_shows_until_when_each_customer_can_be_written_to() {
    let scene = Scene::new().await;
    scene.desk.db.clock().advance(Duration::from_secs(24 * 60 * 60 - 1));
    let shown = scene.json(["conversation", "show"], &[]).await["windows"].clone();
    let window = |contact: &Contact, is_open| {
        json!({
            "contactId": contact.id.to_string(), "providerChannelId": "line", "isOpen": is_open,
            "lastInboundAt": TestClock::START.to_string(), "openUntil": "2026-01-03T03:04:05.678Z",
        })
    };
    assert_eq!(shown, json!([window(&scene.ana, true), window(&scene.bob, true)]));
    let end = "2026-01-03T03:04:05.678Z";
    let table = scene.run(["conversation", "show"], &[]).await;
    assert!(table.contains(&format!("24-hour window  {} until {end}", scene.ana.id)), "{table}");
    scene.desk.db.clock().advance(Duration::from_secs(1));
    let shown = scene.json(["conversation", "show"], &[]).await["windows"].clone();
    assert_eq!(shown, json!([window(&scene.ana, false), window(&scene.bob, false)]));
    let table = scene.run(["conversation", "show"], &[]).await;
    assert!(table.contains(&format!("{} closed since {end}", scene.bob.id)), "{table}");
}

#[tokio::test]
async fn what_a_customer_wrote_is_exported_and_erased_with_the_customer_alone() {
    let scene = Scene::new().await;
    let (workspace, ana) = (scene.shared.workspace_id.to_string(), scene.ana.id.to_string());
    let folder = std::env::temp_dir().join(format!("received-export-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let export = ["person", "export", "--workspace", &workspace, "--contact", &ana, "--output", path];
    scene.desk.json(&export).await;
    let text = std::fs::read_to_string(folder.join("person.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains("Ana was here") && text.contains("\"latitude\": 40.5"), "{text}");
    assert!(!text.contains("Bob was here") && text.matches("lastInboundAt").count() == 1, "{text}");

    let erased = persons::erased(&scene.desk, &workspace, &["--contact", &ana]).await;
    assert_eq!(erased["erased"]["messages"], 2);
    let store = scene.desk.db.store();
    let left = store.messages_before(scene.shared.workspace_id, scene.shared.id, None, 9).await.unwrap();
    assert_eq!(left.iter().map(|message| message.id).collect::<Vec<_>>(), [scene.messages[1]]);
    let windows = scene.rows(Table::Contacts, "W#");
    assert_eq!(windows.len(), 1);
    assert!(windows[0]["pk"]["S"].as_str().unwrap().ends_with(&scene.bob.id.to_string()));

    // The provider may repeat the messages for a week, and a dead letter may be redriven. A repeat is still known, so the person does not come back.
    let ids: Vec<Value> = scene.rows(Table::Messages, "P");
    let expires: Vec<_> = ids.iter().filter_map(|row| row["expiresAt"]["N"].as_str()).collect();
    let end = TestClock::START.plus(Duration::from_secs(30 * 24 * 60 * 60)).as_seconds().to_string();
    assert_eq!((ids.len(), expires), (3, vec![end.as_str(); 2]));
    let line = ChannelId::parse("line").unwrap();
    for (id, is_known) in [("wamid.1", true), ("wamid.3", true), ("wamid.9", false)] {
        let ids = store
            .inbound_ids(scene.shared.workspace_id, &line, (id, None), &Reached::default())
            .await
            .unwrap();
        assert_eq!(ids.stored.is_some(), is_known, "{id}");
    }
}
