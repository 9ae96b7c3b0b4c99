//! Persons who are erased and exported. A canary is in every field that a person or others can fill about the person.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::contact::conflict::Conflict;
use domain::conversation::{ConversationChange, Opening};
use domain::lead::capture::LeadCaps;
use domain::lead::{LandingUri, LeadName, Utm};
use domain::media::FileName;
use domain::message::{Draft, Report, ReportKind};
use domain::retry::Jitter;
use domain::sending::{End, SendSchedule};
use domain::settings::template::{ParameterValue, Parameters, Requested};
use domain::webhook::delivery::Next;
use domain::{
    Attempt, AttemptOutcome, AttributeType, Cellphone, Contact, ContactId, ContactRef, Conversation,
    ConversationId, ConversationName, Email, Erasure, ExternalId, LaneId, LaneKind, Media, Message,
    MessageBody, MessageId, PersonName, Rest, TemplateId, WaId,
};
use harness::{Death, OptedOut, World};
use queue::Queues;
use runtime::Metrics;
use serde_json::{Value, json};
use store::{
    Changed, ConversationLane, Created, IdempotencyKey, Lease, MessageStored, NewMessage, Opened, Record,
    Store, Table,
};

use crate::Desk;
use crate::events::left_behind;

const PHONE: &str = "+34600999111";
const OLD_PHONE: &str = "+34600999222";
const EMAIL: &str = "Canary@example.com";
/// What must not be found after an erasure: in texts, and in the digits of numbers forwards and backwards.
const NEEDLES: [&str; 5] = ["canary", "600999111", "111999006", "600999222", "222999006"];

/// A workspace with Ana, whose data has canaries, and Bob, who stays.
struct Scene {
    desk: Desk,
    workspace: String,
    ana: ContactId,
    bob: ContactId,
    shared: ConversationId,
    to_bob: MessageId,
    file: Media,
}

fn name(text: &str) -> Option<PersonName> {
    PersonName::parse(text).ok()
}

fn conversation(world: &World, externals: &[(ContactId, ContactRef)]) -> Conversation {
    let store = world.db.store();
    let external = |(contact, shown): &(ContactId, ContactRef)| domain::External {
        shown: shown.clone(),
        ..World::external(*contact, "line")
    };
    Conversation {
        name: ConversationName::parse("Canary's order").ok(),
        externals: externals.iter().map(external).collect(),
        ..Conversation::blank(ConversationId::generate(store.ids()), world.workspace, store.now())
    }
}

async fn opened(world: &World, conversation: Conversation, steps: Vec<Requested>) -> Conversation {
    let plan = (!steps.is_empty()).then(|| domain::OnboardingPlan {
        workspace_id: world.workspace,
        conversation: conversation.id,
        recipients: conversation.recipients(),
        steps: steps.into_iter().map(World::content).collect(),
        done: 0,
        created_at: conversation.created_at,
    });
    let key = conversation.id.to_string();
    let once =
        IdempotencyKey { route: "conversations", key_sha256_hex: key.clone(), fingerprint: "f".to_owned() };
    let answer = json!({ "id": key, "identifier": EMAIL, "name": "Canary's order" }).to_string();
    let opening = Opening { conversation, new_contacts: vec![], plan };
    let opened =
        world.db.store().open_conversation(&opening, Duration::ZERO, Some((&once, &answer)), "seed").await;
    assert_eq!(opened.unwrap(), Opened::Done);
    opening.conversation
}

async fn said(
    store: &Store,
    to: &Conversation,
    body: &str,
    broadcast: bool,
    files: &[(Media, u64)],
) -> MessageId {
    let seq = store.last_seq(to.workspace_id, to.id).await.unwrap() + 1;
    let draft = Draft {
        conversation: to.id,
        body: MessageBody::parse(body).ok(),
        media: files.iter().map(|(media, _)| media.id).collect(),
        broadcast,
        reply_to: None,
    };
    let attached = files.iter().map(|(media, size)| media.attached(*size)).collect();
    let message: Message = draft.message(MessageId::generate(store.ids()), to, seq, attached, store.now());
    let new = NewMessage { message: &message, first_references: files, conversation: None, kept: None };
    let request = message.id.to_string();
    let stored = store.store_message(&new, Duration::ZERO, &request).await.unwrap();
    assert_eq!(stored, MessageStored::Done);
    message.id
}

/// A sender sends the parts of a message, and the customers read them.
async fn read(store: &Store, of: &Conversation, id: MessageId) {
    let lane = LaneId::Conversation(of.workspace_id, of.id);
    let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(90)).await.unwrap() else {
        panic!("the lane must be free")
    };
    let lane = ConversationLane::of(&leased).unwrap();
    loop {
        let outbound = store.outbound(&lane, id).await.unwrap().unwrap();
        let Some(part) = outbound.message.part_at_hand() else { break };
        let provider_message_id = format!("wamid.canary.{id}.{part}");
        let (end, schedule) = (End::Sent(provider_message_id.clone()), SendSchedule::recommended());
        store.keep_provider_id(&outbound.message, part, &end).await;
        let step = |message: &Message| message.ended(end.clone(), &schedule, Jitter::NONE, store.now());
        let sent = store.record(&outbound, Duration::ZERO, step).await.unwrap().unwrap();
        let report = Report { provider_message_id, kind: ReportKind::Read, pricing: None, at: store.now() };
        assert!(store.record_report(&sent.message, part, &report).await.unwrap());
    }
    store.release_lane(&leased, Rest::Done, Duration::ZERO).await.unwrap();
}

impl Scene {
    async fn new() -> Self {
        let world = World::start().await;
        let (store, workspace) = (world.db.store().clone(), world.workspace);
        let note = world.open_attribute("Note", AttributeType::Text, |_| ()).await;
        let ana = world
            .contact(|contact| {
                contact.first_name = name("Canaryold");
                contact.cellphone = Cellphone::parse(OLD_PHONE).ok();
                contact.email = Email::parse("old.canary@example.com").ok();
            })
            .await;
        let content = domain::contact::OpenContent::parse("allergic to canary").unwrap();
        let next = Contact {
            first_name: name("Canaryfirst"),
            last_name: name("Canarylast"),
            email: Email::parse(EMAIL).ok(),
            cellphone: Cellphone::parse(PHONE).ok(),
            external_id: ExternalId::parse("crm of canary").ok(),
            attributes: [(note.id, domain::contact::AttributeContent::Open(content))].into(),
            version: 2,
            ..ana.clone()
        };
        store.replace_contact(&ana, &next, "update").await.unwrap();
        let ana = next;
        let bob = world.contact(|contact| contact.first_name = name("Bob")).await;
        let (by_mail, by_id) = (ContactRef::Email(Email::parse(EMAIL).unwrap()), ContactRef::Id(bob.id));

        let parameters = Parameters::from([("name".to_owned(), ParameterValue::parse("Canary").unwrap())]);
        let steps = vec![Requested { template: TemplateId::generate(store.ids()), parameters }];
        let alone = opened(&world, conversation(&world, &[(ana.id, by_mail.clone())]), steps).await;
        let file = world.media(|media| media.name = FileName::parse("canary.png").unwrap()).await;
        let to_ana = said(&store, &alone, "Hello Canary", true, &[(file.clone(), 9)]).await;
        read(&store, &alone, to_ana).await;

        // Bob got a message before Ana joined, both get one, and agents wrote a note.
        let shared = opened(&world, conversation(&world, &[(bob.id, by_id.clone())]), vec![]).await;
        let to_bob = said(&store, &shared, "Only for Bob", true, &[]).await;
        let phone = ContactRef::Cellphone(Cellphone::parse(PHONE).unwrap());
        let joined = conversation(&world, &[(bob.id, by_id.clone()), (ana.id, phone)]).externals;
        let joined = Conversation { externals: joined, version: 2, ..shared.clone() };
        change(&store, &shared, &joined).await;
        let to_both = said(&store, &joined, "Hello Canary and Bob", true, &[]).await;
        read(&store, &joined, to_both).await;
        said(&store, &joined, "The canary is angry", false, &[]).await;

        // Ana left a conversation in which she got a message.
        let both = [(bob.id, by_id), (ana.id, by_mail)];
        let before = opened(&world, conversation(&world, &both), vec![]).await;
        let last = said(&store, &before, "Bye Canary", true, &[]).await;
        read(&store, &before, last).await;
        // Each change of a message is a millisecond later than the one before.
        world.db.clock().advance(Duration::from_secs(1));
        let after = Conversation { externals: before.externals[..1].to_vec(), version: 2, ..before.clone() };
        change(&store, &before, &after).await;

        for phone in [PHONE, OLD_PHONE] {
            let lead = world
                .lead(phone, |lead| {
                    lead.name = LeadName::read("Canary Lead").unwrap();
                    lead.landing_uri = LandingUri::parse("https://www.example.com/?q=canary").unwrap();
                    lead.consent.user_agent = Some("Canary/1.0".to_owned());
                    lead.utm = Utm::of([("utm_source".to_owned(), "canary".to_owned())].into()).unwrap();
                    lead.opened = phone == OLD_PHONE;
                    if lead.opened {
                        lead.contact = ana.id;
                    }
                })
                .await;
            let caps = LeadCaps { daily: Some(9), per_phone: Some(9) };
            store.count_lead(workspace, &lead.cellphone, caps).await.unwrap();
            store
                .opt_out(
                    workspace,
                    &lead.cellphone,
                    domain::ChoiceScope::All,
                    store.now(),
                    harness::operator(),
                )
                .await
                .unwrap();
        }
        let stray = ContactId::generate(store.ids());
        let row = json!({
            "pk": { "S": format!("{workspace}#D#346") }, "sk": { "S": format!("34600999111#{stray}") },
            "kind": { "S": "phone" }, "sv": { "N": "1" }, "ph": { "S": "34600999111" },
        });
        world.db.import(Table::Contacts, &[row]);

        let desk = Desk::over(world.db);
        desk.media.put_bytes(&file, b"old canary");
        desk.media.put_bytes(&file, b"a canary");
        let url = "https://hooks.example.com/in";
        let workspace = workspace.to_string();
        desk.json(&["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "k"]).await;
        let scene = Self { desk, workspace, ana: ana.id, bob: bob.id, shared: shared.id, to_bob, file };
        scene.relay().await;
        scene.answer().await;
        scene.fail();
        scene
    }

    fn store(&self) -> &Store {
        self.desk.db.store()
    }

    fn id(&self) -> domain::WorkspaceId {
        domain::WorkspaceId::parse(&self.workspace).unwrap()
    }

    /// Relays all changes so far.
    async fn relay(&self) {
        for (at, table) in
            [Table::Contacts, Table::Conversations, Table::Messages, Table::Leads].iter().enumerate()
        {
            let object = left_behind(&self.desk.db.stream(*table));
            self.desk.failures.put(&format!("aws/lambda/all/{at}"), "2026-01-02T03:10:00.000Z", object);
        }
        self.desk.json(&["events", "redrive", "--prefix", "aws/lambda/all/"]).await;
    }

    /// The receiver answers each event twice, with what it was told.
    async fn answer(&self) {
        let endpoint = self.store().endpoints(self.id()).await.unwrap().remove(0);
        for slot in endpoint.all_slots() {
            let (deliveries, _) = self.store().fresh_deliveries(slot, None, 1_000).await.unwrap();
            for delivery in deliveries {
                let event = self.store().recorded_event(self.id(), delivery.event).await.unwrap().unwrap();
                let mut now = delivery;
                for number in [1, 2] {
                    let attempt = Attempt {
                        number,
                        at: self.store().now(),
                        took: Duration::from_millis(31),
                        outcome: AttemptOutcome::Answered { status: 500, retry_after: None },
                        answer: [b"Thank you for ", &event.body[..event.body.len().min(4_000)]].concat(),
                    };
                    let later = self.store().now().plus(Duration::from_secs(60));
                    now = now.attempted(&attempt, Next::Again { at: later }, self.store().now());
                    let record = Record { delivery: now.clone(), attempt: Some(attempt), pointer: None };
                    self.store().record_deliveries(slot, &[record], Duration::ZERO).await.unwrap();
                }
            }
        }
    }

    /// The relay left records of Ana and Bob in the failure bucket.
    fn fail(&self) {
        let digits = PHONE.trim_start_matches('+');
        for (of, about) in [("ana", digits), ("bob", "34600999888")] {
            let webhook = json!({ "entry": [{ "from": about, "text": "Hi" }] });
            let key = format!("inbound/1042/2026-01-02/{of}");
            self.desk.failures.put(&key, "2026-01-02T03:10:00.000Z", webhook.to_string());
        }
        for (at, as_text) in [true, false].into_iter().enumerate() {
            let records = self.desk.db.stream(Table::Contacts);
            let payload = if as_text { Value::String(records.to_string()) } else { records };
            self.desk.failures.put(
                &format!("aws/lambda/x/{at}"),
                "2026-01-02T03:10:00.000Z",
                left_behind(&payload),
            );
        }
    }

    fn delete(&self, table: Table, row: &Value) {
        let [pk, sk] = ["pk", "sk"].map(|name| row[name]["S"].as_str().unwrap());
        self.desk.db.remove_row(table, pk, sk);
    }

    /// Asks for the erasure, and lets the function work on it. Returns the erasure after that.
    async fn erase(&self, more: &[&str]) -> Value {
        let who = if more.is_empty() { vec!["--cellphone", PHONE] } else { more.to_vec() };
        erased(&self.desk, &self.workspace, &who).await
    }

    /// Where canaries are left.
    fn canaries(&self) -> Vec<String> {
        let mut found = vec![];
        let mut look = |place: String, text: &str| {
            let text = text.to_lowercase();
            found.extend(
                NEEDLES
                    .iter()
                    .filter(|needle| text.contains(**needle))
                    .map(|needle| format!("{place}: {needle}")),
            );
        };
        for table in Table::ALL {
            for row in self.desk.db.rows(table) {
                let keys = format!("{table:?} {} / {}", row["pk"]["S"], row["sk"]["S"]);
                let mut values = vec![&row];
                while let Some(value) = values.pop() {
                    match value {
                        Value::Object(fields) => {
                            if let Some(Value::String(bytes)) = fields.get("B") {
                                let bytes = BASE64_STANDARD.decode(bytes).unwrap();
                                look(keys.clone(), &String::from_utf8_lossy(&bytes));
                            }
                            for name in fields.keys() {
                                look(keys.clone(), name);
                            }
                            values.extend(fields.values());
                        }
                        Value::Array(items) => values.extend(items),
                        Value::String(text) => look(keys.clone(), text),
                        _ => {}
                    }
                }
            }
        }
        for bytes in self.desk.media.all_bytes() {
            look("file".to_owned(), &String::from_utf8_lossy(&bytes));
        }
        for bytes in self.desk.failures.contents() {
            look("failed record".to_owned(), &String::from_utf8_lossy(&bytes));
        }
        for message in self.desk.queue.take() {
            look("queue".to_owned(), &message.body);
        }
        found.sort();
        found.dedup();
        found
    }

    /// The keys of all rows, for comparing the ends of two erasures.
    fn keys(&self) -> Vec<String> {
        let mut keys = vec![];
        for table in Table::ALL {
            let rows = self.desk.db.rows(table).into_iter();
            keys.extend(rows.map(|row| format!("{table:?} {} {}", row["pk"]["S"], row["sk"]["S"])));
        }
        keys.sort();
        keys
    }
}

/// The function `people`, with the rights of its role.
fn engine(desk: &Desk) -> people::Engine {
    let url = "http://queue.invalid/1/person-jobs";
    let (fast, slow) = ("http://queue.invalid/fast", "http://queue.invalid/slow");
    people::Engine {
        store: desk.db.store_of("people"),
        queues: Queues::default().with(LaneKind::Person, desk.queue.client(), url).with_webhooks(
            desk.queue.client(),
            fast,
            slow,
        ),
        media: desk.media.bucket_with(&desk.db, "people", desk.db.clock().clone()),
        failures: desk.failures.bucket(),
        rules: people::Rules {
            settle: Erasure::SETTLES,
            lease: people::Rules::LEASE,
            rescue: Duration::from_secs(120),
        },
        metrics: Metrics::kept(desk.db.clock().clone()).0,
    }
}

/// One visit of a job.
pub(crate) async fn visit(desk: &Desk, workspace: &str, erasure: &str) {
    let lane = LaneId::Person(
        domain::WorkspaceId::parse(workspace).unwrap(),
        domain::ErasureId::parse(erasure).unwrap().into(),
    );
    let context = harness::context(desk.db.store().now(), Duration::from_secs(300));
    let event = harness::queue_event("people.json", &[queue::body(&lane)], context);
    let response = engine(desk).handle(event).await.unwrap();
    assert_eq!(harness::failed_messages(response), [""; 0]);
}

/// Asks for an erasure, and visits it once. Returns it after that.
pub(crate) async fn erased(desk: &Desk, workspace: &str, who: &[&str]) -> Value {
    let erase = ["person", "erase", "--workspace", workspace, "--yes"];
    let asked = desk.json(&[&erase[..], who].concat()).await;
    let id = asked["erasureId"].as_str().unwrap();
    visit(desk, workspace, id).await;
    let listed = desk.json(&["person", "erasures", "--workspace", workspace]).await;
    let listed = listed.as_array().unwrap();
    listed.iter().find(|erasure| erasure["erasureId"] == id).unwrap().clone()
}

async fn change(store: &Store, old: &Conversation, new: &Conversation) {
    let change = ConversationChange { conversation: new.clone(), new_contacts: vec![] };
    let request = store.ids().next().to_string();
    assert_eq!(store.change_conversation(old, &change, &request).await.unwrap(), Changed::Done);
}

#[tokio::test]
async fn nothing_of_an_erased_person_is_left_anywhere() {
    let scene = Scene::new().await;
    assert!(scene.canaries().len() > 40, "{:#?}", scene.canaries());
    let seen = |of: ContactId| {
        let rows = scene.desk.db.rows_from(Table::Conversations, &format!("S#{of}"));
        rows.len()
    };
    assert_eq!((seen(scene.ana), seen(scene.bob)), (3, 2));
    let first = scene.erase(&[]).await;
    assert_eq!(first["state"], "SETTLING");
    // The job still knows whom it erases, and its rows show nothing of her.
    assert!(scene.desk.db.rows(Table::Contacts).iter().any(|row| row.get("sealed").is_some()));
    assert_eq!(scene.canaries(), [""; 0]);
    assert_eq!((seen(scene.ana), seen(scene.bob)), (0, 2));

    // Requests that began before the erasure write now, and the relay repeats all records.
    let world_row = |text: &str| Email::parse(text).unwrap();
    let late = Contact {
        email: Some(world_row(EMAIL)),
        first_name: name("Canarylate"),
        ..Contact::blank(ContactId::generate(scene.store().ids()), scene.id(), scene.store().now())
    };
    scene.store().create_contact(&late, "late").await.unwrap();
    scene.desk.media.put_bytes(&scene.file, b"a late canary");
    scene.relay().await;
    assert_eq!(scene.erase(&[]).await, first, "the second pass waits");
    scene.desk.db.clock().advance(Duration::from_secs(15 * 60));
    let done = scene.erase(&[]).await;
    assert_eq!(done["state"], "DONE");
    assert_eq!(scene.canaries(), [""; 0]);
    insta::assert_json_snapshot!(done["erased"], @r#"
    {
      "answers": 3,
      "consents": 2,
      "contacts": 2,
      "conversations": 1,
      "counts": 2,
      "deliveries": 23,
      "events": 23,
      "failedRecords": 65,
      "files": 1,
      "leads": 2,
      "messages": 4,
      "optOuts": 2,
      "participants": 2,
      "plans": 1,
      "searchRows": 16
    }
    "#);

    // The relay's late records show nothing of her, and Bob keeps what is his.
    scene.relay().await;
    assert_eq!(scene.canaries(), [""; 0]);
    let (store, id) = (scene.store(), scene.id());
    assert!(store.contact(id, scene.bob).await.unwrap().is_some());
    let shared = store.conversation(id, scene.shared).await.unwrap().unwrap();
    assert_eq!(shared.externals.iter().map(|external| external.contact).collect::<Vec<_>>(), [scene.bob]);
    let kept = store.message(id, scene.shared, scene.to_bob).await.unwrap().unwrap();
    assert_eq!(kept.recipients.len(), 1);
    assert!(!scene.desk.media.holds(id, scene.file.id));
    let left = String::from_utf8(scene.desk.failures.contents().concat()).unwrap();
    assert!(left.contains(&scene.bob.to_string()), "Bob's failed records stay");

    // Her numbers are still opted out.
    for phone in [PHONE, OLD_PHONE] {
        assert!(store.opted_out(id, &Cellphone::parse(phone).unwrap()).await.unwrap());
    }
    let opt_outs = scene.desk.json(&["opt-out", "list", "--workspace", &scene.workspace]).await;
    assert_eq!(opt_outs[0]["cellphone"], Value::Null);

    // A repeat changes nothing, however she is named.
    let ana = scene.ana.to_string();
    for who in [["--cellphone", PHONE], ["--email", EMAIL], ["--contact", &ana], ["--cellphone", OLD_PHONE]] {
        assert_eq!(scene.erase(&who).await, done, "{who:?}");
    }
    let listed = scene.desk.json(&["person", "erasures", "--workspace", &scene.workspace]).await;
    assert_eq!(listed, json!([done]));
}

#[tokio::test]
async fn receivers_are_told_of_the_erasure_and_get_redacted_events() {
    let scene = Scene::new().await;
    scene.erase(&[]).await;
    let store = scene.store();
    let slot = store.endpoints(scene.id()).await.unwrap()[0].all_slots().next().unwrap();
    let (deliveries, _) = store.fresh_deliveries(slot, None, 1_000).await.unwrap();
    let mut told = 0;
    for delivery in deliveries {
        let event = store.recorded_event(scene.id(), delivery.event).await.unwrap().unwrap();
        let body: Value = serde_json::from_slice(&event.body).unwrap();
        assert_eq!(body["eventId"], delivery.event.to_string());
        match body["eventType"].as_str().unwrap() {
            "contact.erased" => {
                told += 1;
                assert_eq!(body["payload"]["id"], scene.ana.to_string());
                assert_eq!(delivery.attempts, 0);
            }
            "event.redacted" => {
                assert_eq!(body["payload"], json!({ "eventType": delivery.event_type.as_str() }));
                assert_eq!(delivery.attempts, 2, "its deliveries go on as before");
            }
            _ => assert_eq!(delivery.event_type.as_str(), body["eventType"]),
        }
    }
    assert_eq!(told, 1);
}

#[tokio::test]
async fn an_erasure_finishes_with_the_same_receipt_after_a_crash_at_any_call() {
    let scene = Scene::new().await;
    // The lease of a visit that died ends after five and a half minutes.
    let end = async |scene: &Scene| {
        for _ in 0..6 {
            let erasure = scene.erase(&[]).await;
            scene.desk.db.clock().advance(Duration::from_secs(15 * 60));
            if erasure["state"] == "DONE" {
                // A visit may die between the receipt and the end of the job. The next one drops what is left.
                visit(&scene.desk, &scene.workspace, erasure["erasureId"].as_str().unwrap()).await;
                return erasure;
            }
        }
        panic!("the erasure does not end")
    };
    scene.desk.db.forget_calls();
    let expected = (end(&scene).await, scene.keys());
    let calls = scene.desk.db.calls().iter().filter(|call| call.table != harness::TestBucket::NAME).count();
    for (turn, at) in (0..calls).step_by(STEP).enumerate() {
        let scene = Scene::new().await;
        let death = [Death::Before, Death::After][turn % 2];
        let dead = scene.desk.db.die_after(at, death);
        tokio::select! {
            _ = end(&scene) => {}
            _ = dead => {}
        }
        scene.desk.db.revive();
        assert_eq!(end(&scene).await["erased"], expected.0["erased"], "died at call {at}");
        assert_eq!(scene.canaries(), [""; 0], "died at call {at}");
        assert_eq!(scene.keys(), expected.1, "died at call {at}");
    }
}

/// The crashes are tried at every 31st call, in turn before and after it is executed.
const STEP: usize = 31;

#[tokio::test]
async fn an_erasure_ends_without_a_second_command() {
    let scene = Scene::new().await;
    scene.desk.queue.take();
    let erase = ["person", "erase", "--workspace", &scene.workspace, "--yes", "--cellphone", PHONE];
    let asked = scene.desk.json(&erase).await;
    assert_eq!((&asked["state"], &asked["askedBy"]), (&json!("ASKED"), &json!("operator")));
    // The relay queues the lane of the new row. From then on each visit queues the next one.
    let id = asked["erasureId"].as_str().unwrap();
    visit(&scene.desk, &scene.workspace, id).await;
    let mut waited = 0;
    let next = loop {
        let messages = scene.desk.queue.take();
        let next = messages.into_iter().find(|message| message.queue == "person-jobs");
        let Some(next) = next else { break queue::read(LaneKind::Person, "") };
        waited += next.delay;
        scene.desk.db.clock().advance(Duration::from_secs(next.delay));
        visit(&scene.desk, &scene.workspace, id).await;
    };
    assert!(next.is_err() && (900..1_200).contains(&waited), "{waited}");
    assert_eq!(scene.canaries(), [""; 0]);
    let done = scene.desk.json(&erase).await;
    assert_eq!((&done["state"], &done["erased"]["contacts"]), (&json!("DONE"), &json!(1)));

    // The receipt proves whom it was about, to those who know the number.
    let verify = async |of: [&str; 2]| {
        let verify = ["person", "verify", "--workspace", &scene.workspace, "--erasure", id];
        scene.desk.json(&[&verify[..], &of].concat()).await["matches"].clone()
    };
    assert_eq!(verify(["--cellphone", PHONE]).await, true);
    assert_eq!(verify(["--cellphone", OLD_PHONE]).await, true);
    assert_eq!(verify(["--email", "canary@EXAMPLE.com"]).await, true);
    assert_eq!(verify(["--cellphone", "+34600999333"]).await, false);
}

#[tokio::test]
async fn a_preview_names_what_goes_and_erases_nothing() {
    let scene = Handover::new().await;
    let [ana, bob] = &scene.of;
    let preview = ["person", "erase", "--workspace", &scene.workspace, "--contact", &ana[0], "--dry-run"];
    let workspace = domain::WorkspaceId::parse(&scene.workspace).unwrap();
    let contact = ContactId::parse(&ana[0]).unwrap();
    let contacts = [contact].into();
    let now = scene.desk.db.store().now();
    let conflict = Conflict { at: now, ..Conflict::of_user_id(&Contact::blank(contact, workspace, now)) };
    assert!(scene.desk.db.store().keep_conflict(&conflict).await.unwrap());
    let before = scene.rows(ana);
    let id = Erasure::of_contacts(contacts, workspace, true, "operator", now).id.to_string();
    let visits = async {
        while scene.desk.db.rows_from(Table::Contacts, &id).is_empty() {
            tokio::task::yield_now().await;
        }
        visit(&scene.desk, &scene.workspace, &id).await;
    };
    let (asked, ()) = futures::future::join(scene.desk.json(&preview), visits).await;
    let of_ana = &asked["contacts"][0];
    assert_eq!((&asked["state"], &of_ana["contactId"]), (&json!("FOUND"), &json!(ana[0])));
    assert_eq!(
        of_ana["counts"],
        json!({"contacts": 1, "conversations": 1, "leads": 1, "sharedConversations": 0})
    );
    assert_eq!(
        (of_ana["numbers"].as_array().unwrap().len(), &of_ana["others"][0]["contactId"]),
        (2, &json!(bob[0]))
    );
    assert_eq!(asked["nobodysLeads"], json!([scene.between]));
    let moment = json!({
        "contactId": ana[0], "otherContactId": null, "reason": "USER_ID_CHANGED", "occurredAt": now.to_string(),
    });
    assert_eq!(asked["conflicts"], json!([moment]));
    assert_eq!(scene.rows(ana), before);
    // It is deleted after a day, and a repeat before that is made anew.
    scene.desk.db.clock().advance(Duration::from_secs(24 * 3_600));
    visit(&scene.desk, &scene.workspace, &id).await;
    let erasures = ["person", "erasures", "--workspace", &scene.workspace];
    assert_eq!(scene.desk.json(&erasures).await, json!([]));
}

#[tokio::test]
async fn a_list_of_erasures_fits_into_80_columns() {
    let scene = Handover::new().await;
    scene.erase(&["--contact", &scene.of[0][0]]).await;
    let shown = scene.desk.run(&["person", "erasures", "--workspace", &scene.workspace]).await.out;
    assert!(shown.contains("DONE") && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[tokio::test]
async fn events_of_a_lead_that_has_expired_are_found_by_its_contact() {
    let scene = Scene::new().await;
    let leads = scene.desk.db.rows(Table::Leads).into_iter().filter(|row| row["kind"]["S"] == "lead");
    for lead in leads.filter(|row| row["contactId"]["S"] == scene.ana.to_string()) {
        scene.delete(Table::Leads, &lead);
    }
    scene.erase(&[]).await;
    scene.desk.db.clock().advance(Duration::from_secs(15 * 60));
    scene.erase(&[]).await;
    let left: Vec<_> = scene.canaries().into_iter().filter(|canary| canary.starts_with("Webhooks")).collect();
    assert_eq!(left, [""; 0]);
}

#[tokio::test]
async fn what_a_visit_stores_between_the_passes_is_erased_by_the_second() {
    let scene = Scene::new().await;
    let rows = scene.desk.db.rows(Table::Webhooks).into_iter();
    let answers: Vec<Value> = rows.filter(|row| row["kind"]["S"] != "event").collect();
    scene.erase(&[]).await;
    scene.desk.db.import(Table::Webhooks, &answers);
    assert_ne!(scene.canaries(), [""; 0], "a visit stored an answer again");
    scene.desk.db.clock().advance(Duration::from_secs(15 * 60));
    scene.erase(&[]).await;
    assert_eq!(scene.canaries(), [""; 0]);
}

#[tokio::test]
async fn who_comes_back_between_the_passes_is_erased_by_the_second() {
    type Fill = fn(&mut Contact);
    let fills: [(&str, Fill); 4] = [
        ("number", |contact| contact.cellphone = Cellphone::parse(PHONE).ok()),
        ("address", |contact| contact.email = Email::parse(EMAIL).ok()),
        ("external id", |contact| contact.external_id = ExternalId::parse("canary-7").ok()),
        ("user id", |contact| contact.user_ids = World::user_ids("US.canary")),
    ];
    let whole = |contact: &mut Contact| fills.iter().for_each(|(_, fill)| fill(contact));
    for (id, fill) in fills {
        for is_stranger in [false, true] {
            let world = World::start().await;
            let (ana, workspace) = (world.contact(whole).await.id.to_string(), world.workspace.to_string());
            let desk = Desk::over(world.db);
            let first = erased(&desk, &workspace, &["--contact", &ana]).await;
            desk.db.clock().advance(Duration::from_secs(60));
            let store = desk.db.store();
            let mut back = Contact::blank(ContactId::generate(store.ids()), world.workspace, store.now());
            fill(&mut back);
            // A user id that the person had not is somebody else's.
            let is_stranger = is_stranger && id != "user id";
            if is_stranger {
                back.user_ids = World::user_ids("US.other");
            }
            assert_eq!(store.create_contact(&back, "back").await.unwrap(), Created::Done);
            desk.db.clock().advance(Erasure::SETTLES);
            visit(&desk, &workspace, first["erasureId"].as_str().unwrap()).await;
            let left = store.contact(world.workspace, back.id).await.unwrap();
            assert_eq!(left.is_some(), is_stranger, "{id}");
        }
    }
}

#[tokio::test]
async fn an_export_of_everything_shows_what_an_erasure_removes() {
    let scene = Scene::new().await;
    let folder = std::env::temp_dir().join(format!("person-export-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let export =
        ["person", "export", "--all", "--workspace", &scene.workspace, "--email", EMAIL, "--output", path];
    let shown = scene.desk.json(&export).await;
    assert_eq!(
        (&shown["contacts"], &shown["conversations"], &shown["leads"], &shown["files"]),
        (&json!(1), &json!(3), &json!(2), &json!(1))
    );
    let text = std::fs::read_to_string(folder.join("person.json")).unwrap();
    for expected in [
        "Canaryfirst",
        "Canarylast",
        EMAIL,
        PHONE,
        OLD_PHONE,
        "allergic to canary",
        "Canary's order",
        "Hello Canary",
        "Hello Canary and Bob",
        "The canary is angry",
        "Bye Canary",
        "canary.png",
        "Canary/1.0",
        "?q=canary",
        "Thank you for ",
        "Canaryold",
    ] {
        assert!(text.contains(expected), "{expected} is missing");
    }
    assert!(!text.contains("Only for Bob"));
    let person: Value = serde_json::from_str(&text).unwrap();
    let file = person["files"][0]["file"].as_str().unwrap();
    assert_eq!(std::fs::read(folder.join(file)).unwrap(), b"a canary");
    let again = scene.desk.refused(&export).await;
    assert!(again.contains("exists"), "{again}");
    std::fs::remove_dir_all(&folder).unwrap();
    scene.erase(&[]).await;
    let gone = scene.desk.refused(&export).await;
    assert_eq!(gone, "The workspace holds nothing of this person.");
}

#[tokio::test]
async fn an_export_shows_nobody_else() {
    let scene = Scene::new().await;
    let folder = std::env::temp_dir().join(format!("person-own-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let export = ["person", "export", "--workspace", &scene.workspace, "--email", EMAIL, "--output", path];
    let shown = scene.desk.json(&export).await;
    assert_eq!((&shown["contacts"], &shown["leads"], &shown["files"]), (&json!(1), &json!(2), &json!(1)));
    let text = std::fs::read_to_string(folder.join("person.json")).unwrap();
    for own in [
        "Canaryfirst",
        EMAIL,
        PHONE,
        OLD_PHONE,
        "allergic to canary",
        "Hello Canary",
        "Hello Canary and Bob",
        "Bye Canary",
        "Canary/1.0",
        "Canaryold",
    ] {
        assert!(text.contains(own), "{own} is missing");
    }
    let bob = scene.bob.to_string();
    for others in
        [&*bob, "Only for Bob", "The canary is angry", "Thank you for ", "failedRecords", "storedAnswer"]
    {
        assert!(!text.contains(others), "{others} is shown");
    }
    let person: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(person["numbers"].as_array().unwrap().len(), 2);
    std::fs::remove_dir_all(&folder).unwrap();

    // Whoever had the number before or after is somebody else.
    let scene = Handover::new().await;
    for (own, other, [name, stranger]) in
        [(0, 1, ["Anafirst", "Bobsecond"]), (1, 0, ["Bobsecond", "Anafirst"])]
    {
        let contact = ["--workspace", &scene.workspace, "--contact", &scene.of[own][0], "--output", path];
        scene.desk.json(&[&["person", "export"], &contact[..]].concat()).await;
        let text = std::fs::read_to_string(folder.join("person.json")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(text.contains(name) && text.contains(&scene.of[own][1]), "{name}");
        assert!(
            !text.contains(stranger) && scene.of[other].iter().all(|id| !text.contains(id)),
            "{stranger}"
        );
    }
}

#[tokio::test]
async fn a_person_without_a_number_is_exported_and_erased_with_the_ids_at_the_provider() {
    let world = World::start().await;
    let fill = |contact: &mut Contact| {
        contact.user_ids = World::user_ids("US.canary");
        contact.wa_id = WaId::parse("34600111999").ok();
    };
    let contact = world.contact(fill).await;
    let conflict = Conflict::of_user_id(&contact);
    assert!(world.db.store().keep_conflict(&conflict).await.unwrap());
    let (ana, workspace) = (contact.id.to_string(), world.workspace.to_string());
    let lead = world.lead("+34600111999", |_| ()).await;
    let desk = Desk::over(world.db);
    let folder = std::env::temp_dir().join(format!("person-of-user-id-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let person = ["--workspace", &workspace, "--contact", &ana];
    desk.json(&[&["person", "export", "--output", path], &person[..]].concat()).await;
    let text = std::fs::read_to_string(folder.join("person.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    for expected in ["US.canary", "34600111999", &lead.id.to_string()] {
        assert!(text.contains(expected), "{expected} is missing");
    }
    erased(&desk, &workspace, &["--contact", &ana]).await;
    let left = desk.db.rows(Table::Contacts).into_iter();
    let left: Vec<Value> =
        left.filter(|row| !row["kind"]["S"].as_str().unwrap().starts_with("erasure")).collect();
    assert_eq!(left, Vec::<Value>::new());
}

#[tokio::test]
async fn an_erasure_needs_confirmation_and_somebody_to_erase() {
    let (desk, workspace) = Desk::with_workspace().await;
    let erase = ["person", "erase", "--workspace", &workspace, "--email", EMAIL];
    let unconfirmed = desk.run(&erase).await;
    assert!(unconfirmed.status == 2 && unconfirmed.err.contains("--yes"), "{unconfirmed:?}");
    let confirmed = [&erase[..], &["--yes"]].concat();
    assert_eq!(desk.refused(&confirmed).await, "The workspace holds nothing of this person.");
    assert_eq!(desk.json(&["person", "erasures", "--workspace", &workspace]).await, json!([]));
}

/// Two contacts that had the same number, one after the other, each with a lead that was never opened, a conversation, and
/// what is kept under the number.
struct Handover {
    desk: Desk,
    workspace: String,
    /// The first holder's contact, lead and conversation, and those of the second.
    of: [[String; 3]; 2],
    /// A lead from the time in which nobody had the number.
    between: String,
}

impl Handover {
    async fn new() -> Self {
        let world = World::start().await;
        let (store, workspace) = (world.db.store().clone(), world.workspace);
        let hour = Duration::from_secs(3_600);
        let number = Cellphone::parse(PHONE).unwrap();
        let person = async |first_name: &str| {
            let contact = world
                .contact(|contact| {
                    contact.first_name = name(first_name);
                    contact.cellphone = Some(number.clone());
                })
                .await;
            let shown = ContactRef::Id(contact.id);
            let conversation = opened(&world, conversation(&world, &[(contact.id, shown)]), vec![]).await;
            said(&store, &conversation, &format!("Hello {first_name}"), true, &[]).await;
            world.db.clock().advance(hour);
            let lead = world.lead(PHONE, |lead| lead.name = LeadName::read(first_name).unwrap()).await;
            let caps = LeadCaps { daily: None, per_phone: Some(9) };
            store.count_lead(workspace, &lead.cellphone, caps).await.unwrap();
            (contact.clone(), [contact.id.to_string(), lead.id.to_string(), conversation.id.to_string()])
        };
        let (ana, of_ana) = person("Anafirst").await;
        world.db.clock().advance(hour);
        let update = domain::ContactUpdate {
            cellphone: domain::Patch::Set(Cellphone::parse(OLD_PHONE).unwrap()),
            ..Default::default()
        };
        let moved = ana.apply(&update, &domain::Definitions::default(), None, store.now()).unwrap().unwrap();
        store.replace_contact(&ana, &moved, "move").await.unwrap();
        world.db.clock().advance(25 * hour);
        let between = world.lead(PHONE, |_| ()).await.id.to_string();
        // The counts and the repeats of the first holder have expired.
        world.db.clock().advance(72 * hour);
        let (_, of_bob) = person("Bobsecond").await;
        store
            .opt_out(workspace, &number, domain::ChoiceScope::All, store.now(), harness::operator())
            .await
            .unwrap();
        Self { desk: Desk::over(world.db), workspace: workspace.to_string(), of: [of_ana, of_bob], between }
    }

    /// All rows but those of erasures and those that have expired, as text: those that name one of these ids, and the others.
    fn rows(&self, ids: &[String]) -> [Vec<String>; 2] {
        let now = self.desk.db.store().now().as_seconds();
        let mut rows: Vec<String> = vec![];
        for table in Table::ALL {
            let of_table = self.desk.db.rows(table).into_iter();
            let others = of_table.filter(|row| {
                let expires = row["expiresAt"]["N"].as_str().map(|at| at.parse::<i64>().unwrap());
                let kind = row["kind"]["S"].as_str().unwrap_or_default();
                // A used captcha token shows no number, and names its lead for a day.
                !kind.starts_with("eras") && kind != "captchaToken" && expires.is_none_or(|at| at > now)
            });
            rows.extend(others.map(|row| format!("{table:?} {row}")));
        }
        rows.sort();
        let (of_ids, others) = rows.into_iter().partition(|row| ids.iter().any(|id| row.contains(id)));
        [of_ids, others]
    }

    async fn erase(&self, who: &[&str]) -> Value {
        let first = erased(&self.desk, &self.workspace, who).await;
        self.desk.db.clock().advance(Duration::from_secs(15 * 60));
        visit(&self.desk, &self.workspace, first["erasureId"].as_str().unwrap()).await;
        let listed = self.desk.json(&["person", "erasures", "--workspace", &self.workspace]).await;
        listed[0].clone()
    }
}

#[tokio::test]
async fn erasing_the_former_holder_leaves_every_row_of_the_new_one() {
    let scene = Handover::new().await;
    let [ana, bob] = &scene.of;
    let [_, others] = scene.rows(ana);
    assert!(others.iter().filter(|row| bob.iter().any(|id| row.contains(id))).count() > 10);
    let done = scene.erase(&["--contact", &ana[0]]).await;
    assert_eq!((&done["state"], &done["erased"]["leads"]), (&json!("DONE"), &json!(1)));
    let [left, after] = scene.rows(ana);
    assert_eq!(left, [""; 0]);
    // The lines of the difference alone, because there are many rows.
    let lost: Vec<_> = others.iter().filter(|row| !after.contains(row)).collect();
    assert_eq!((lost, after.len()), (vec![], others.len()));
}

#[tokio::test]
async fn erasing_the_present_holder_leaves_every_row_of_the_former_one() {
    let scene = Handover::new().await;
    let [ana, bob] = &scene.of;
    let [of_ana, _] = scene.rows(ana);
    assert!(of_ana.len() > 10);
    // The number means the one who has it now. What nobody had, is taken only if it is named.
    let done = scene.erase(&["--cellphone", PHONE, "--also-lead", &scene.between]).await;
    assert_eq!((&done["contactIds"], &done["erased"]["leads"]), (&json!([bob[0]]), &json!(2)));
    let [left, _] = scene.rows(&[&bob[..], std::slice::from_ref(&scene.between)].concat());
    assert_eq!(left, [""; 0]);
    let [after, _] = scene.rows(ana);
    let lost: Vec<_> = of_ana.iter().filter(|row| !after.contains(row)).collect();
    assert_eq!((lost, after.len()), (vec![], of_ana.len()));
}

#[tokio::test]
async fn a_former_holder_is_erased_too_if_it_is_named() {
    let scene = Handover::new().await;
    let [ana, bob] = &scene.of;
    let done = scene.erase(&["--cellphone", PHONE, "--also-contact", &ana[0]]).await;
    assert_eq!(done["erased"]["leads"], 2);
    let [left, others] = scene.rows(&[&ana[..], &bob[..]].concat());
    assert_eq!(left, [""; 0]);
    assert!(others.iter().any(|row| row.contains(&scene.between)), "nobody's lead stays");
}
