//! Merges: two contacts of one person become one, with everything that was stored for both.

use std::time::Duration;

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::contact::address::WaId;
use domain::conversation::{ConversationChange, Opening};
use domain::{
    Cellphone, ChannelId, Contact, ContactId, Conversation, ConversationId, Email, Erasure, ExternalId,
    Internal, LaneId, LaneKind, Language, Merge, MergeRefusal, PersonJobId, PersonName, ProviderUserId,
    Reached, Timestamp, UserRef,
};
use harness::{Death, TestBucket, TestFailures, TestQueue, World};
use people::{Engine, Rules};
use queue::Queues;
use runtime::Metrics;
use serde_json::Value;
use store::{AskedMerge, Changed, Opened, Replaced, Store, Table};

const LINE: &str = "line";

/// A workspace with two contacts of one person, and Bob.
struct Scene {
    world: World,
    queue: TestQueue,
    /// Has the number. It stays.
    survivor: ContactId,
    /// Has the user id, a conversation of its own, one with the other contact, and one with Bob that it left.
    merged: ContactId,
    own: ConversationId,
    both: ConversationId,
    left: ConversationId,
}

impl Scene {
    async fn new() -> Self {
        let world = World::start().await;
        world.db.store().ensure_person_key([9; 32]).await.unwrap();
        let survivor = world
            .contact(|of| {
                of.cellphone = Cellphone::parse("+5215512345678").ok();
                of.first_name = PersonName::parse("Ana").ok();
            })
            .await;
        let merged = world
            .contact(|of| {
                of.wa_id = WaId::parse("14155550123").ok();
                of.user_ids = World::user_ids("MX.1");
                of.first_name = PersonName::parse("Anita").ok();
                of.last_name = PersonName::parse("Ruiz").ok();
                of.email = Email::parse("ana@example.com").ok();
                of.external_id = ExternalId::parse("crm-2").ok();
                of.language = Language::parse("es").ok();
            })
            .await;
        let bob = world.contact(|of| of.cellphone = Cellphone::parse("+34600999111").ok()).await;
        let own = opened(&world, &[merged.id]).await;
        let both = opened(&world, &[survivor.id, merged.id, bob.id]).await;
        let left = opened(&world, &[merged.id, bob.id]).await;
        change(world.db.store(), &left, |next| next.externals.retain(|of| of.contact == bob.id)).await;
        let store = world.db.store();
        let out = Chosen {
            choice: Choice::Out,
            scopes: [ChoiceScope::All].into(),
            source: ChoiceSource::Keyword,
            at: store.now(),
        };
        let user = ProviderUserId::parse("MX.1").unwrap();
        assert!(store.choose(world.workspace, &[Chooser::from(&user)], &out).await.unwrap());
        store.saw(world.workspace, own.id, merged.id, store.now()).await.unwrap();
        let scene = Self {
            queue: TestQueue::default(),
            survivor: survivor.id,
            merged: merged.id,
            own: own.id,
            both: both.id,
            left: left.id,
            world,
        };
        scene.wrote(survivor.id, own.id, 10);
        scene.wrote(merged.id, own.id, 20);
        scene
    }

    /// A row that says when a customer wrote, as an inbound message stores it.
    fn wrote(&self, contact: ContactId, conversation: ConversationId, seconds: u64) {
        let at = self.world.db.store().now().plus(Duration::from_secs(seconds));
        let row = serde_json::json!({
            "pk": { "S": format!("{}#C#{contact}", self.world.workspace) },
            "sk": { "S": format!("W#{LINE}") },
            "kind": { "S": "window" },
            "sv": { "N": "1" },
            "lastInboundAt": { "S": at.to_string() },
            "conversationId": { "S": conversation.to_string() },
        });
        self.world.db.put_row(Table::Contacts, &row);
    }

    fn store(&self) -> &Store {
        self.world.db.store()
    }

    fn engine(&self) -> Engine {
        let db = &self.world.db;
        let sqs = self.queue.client();
        Engine {
            store: db.store_of("people"),
            queues: Queues::default()
                .with(LaneKind::Person, sqs.clone(), "http://queue.invalid/1/person-jobs")
                .with_webhooks(sqs, "http://queue.invalid/1/fast", "http://queue.invalid/1/slow"),
            media: TestBucket::beside(db).bucket_with(db, "people", db.clock().clone()),
            failures: TestFailures::default().bucket(),
            rules: Rules { settle: Erasure::SETTLES, lease: Rules::LEASE, rescue: Duration::from_secs(120) },
            metrics: Metrics::kept(db.clock().clone()).0,
        }
    }

    async fn ask(&self) -> Merge {
        match self.store().ask_merge(self.world.workspace, self.survivor, self.merged).await.unwrap() {
            AskedMerge::Running(merge) => merge,
            AskedMerge::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    async fn visit(&self, job: PersonJobId) {
        let lane = LaneId::Person(self.world.workspace, job);
        let context = harness::context(self.store().now(), Duration::from_secs(300));
        let event = harness::queue_event("people.json", &[queue::body(&lane)], context);
        let response = self.engine().handle(event).await.unwrap();
        assert_eq!(harness::failed_messages(response), [""; 0]);
    }

    /// Whether the merge is over.
    fn is_over(&self, job: PersonJobId) -> bool {
        let jobs = self.world.db.rows_of(Table::Contacts, "merge");
        jobs.iter().all(|row| row["sk"]["S"] != job.to_string())
    }

    /// Visits the merge until it is over. The lease of a visit that died ends after five and a half minutes.
    async fn finish(&self, job: PersonJobId) {
        for _ in 0..6 {
            self.visit(job).await;
            if self.is_over(job) {
                return;
            }
            self.world.db.clock().advance(Duration::from_secs(6 * 60));
        }
        panic!("the merge does not end")
    }

    async fn merge(&self) {
        let job = self.ask().await.id;
        self.finish(job).await;
    }

    async fn contact(&self, id: ContactId) -> Option<Contact> {
        self.store().contact(self.world.workspace, id).await.unwrap()
    }

    async fn conversation(&self, id: ConversationId) -> Conversation {
        self.store().conversation(self.world.workspace, id).await.unwrap().unwrap()
    }

    /// The rows that name the merged contact in a key or in a list, except the one that says where it went.
    fn leftovers(&self) -> Vec<String> {
        let mut found = vec![];
        for table in [Table::Contacts, Table::Conversations] {
            for row in self.world.db.rows(table) {
                let (pk, sk) = (row["pk"]["S"].as_str().unwrap(), row["sk"]["S"].as_str().unwrap());
                let is_kept = row["kind"]["S"] == "mergedContact" || sk.starts_with("H#");
                let mut shown = row.clone();
                // The survivor's list of those that became part of it.
                shown.as_object_mut().unwrap().remove("merged");
                if !is_kept && shown.to_string().contains(&self.merged.to_string()) {
                    found.push(format!("{pk} {sk}"));
                }
            }
        }
        found
    }

    /// All rows without what depends on when a step was taken and by which attempt.
    fn rows(&self) -> Vec<String> {
        let mut rows = vec![];
        for table in [Table::Contacts, Table::Conversations, Table::Leads] {
            for mut row in self.world.db.rows(table) {
                let of = row.as_object_mut().unwrap();
                for of_time in
                    ["lastRequest", "updatedAt", "mergedAt", "since", "to", "numberSince", "joinedAt"]
                {
                    of.remove(of_time);
                }
                let mut text = row.to_string();
                if row["sk"]["S"].as_str().unwrap().starts_with("H#") {
                    text = format!("{} {}", row["pk"]["S"], row["digits"]["S"]);
                }
                rows.push(text);
            }
        }
        rows.sort();
        rows
    }
}

async fn opened(world: &World, with: &[ContactId]) -> Conversation {
    let store = world.db.store();
    let conversation = Conversation {
        externals: with.iter().map(|contact| World::external(*contact, LINE)).collect(),
        ..Conversation::blank(ConversationId::generate(store.ids()), world.workspace, store.now())
    };
    let opening = Opening { conversation, new_contacts: vec![], plan: None };
    let opened = store.open_conversation(&opening, Duration::ZERO, None, "seed").await;
    assert_eq!(opened.unwrap(), Opened::Done);
    opening.conversation
}

async fn change(store: &Store, old: &Conversation, change: impl FnOnce(&mut Conversation)) {
    let mut next = Conversation { version: old.version + 1, ..old.clone() };
    change(&mut next);
    let change = ConversationChange { conversation: next, new_contacts: vec![] };
    let request = store.ids().next().to_string();
    assert_eq!(store.change_conversation(old, &change, &request).await.unwrap(), Changed::Done);
}

#[tokio::test]
async fn two_contacts_become_one_with_the_ids_conversations_windows_and_choices_of_both() {
    let scene = Scene::new().await;
    let workspace = scene.world.workspace;
    scene.merge().await;
    let stays = scene.contact(scene.survivor).await.unwrap();
    let text = |name: &Option<PersonName>| name.as_ref().map(|name| name.as_str().to_owned());
    // A name is one unit. Other fields that are blank are filled.
    assert_eq!((text(&stays.first_name), text(&stays.last_name)), (Some("Ana".to_owned()), None));
    assert_eq!(stays.email, Email::parse("ana@example.com").ok());
    assert_eq!(stays.language, Language::parse("es").ok());
    let external_id = ExternalId::parse("crm-2").unwrap();
    let holder = scene.store().contact_holding_external_id(workspace, &external_id).await.unwrap();
    assert_eq!((stays.external_id, holder), (Some(external_id), Some(scene.survivor)));
    assert_eq!(stays.cellphone, Cellphone::parse("+5215512345678").ok());
    assert_eq!((stays.merged, stays.merging, stays.version), (vec![scene.merged], None, 2));
    assert_eq!(scene.contact(scene.merged).await, None);
    assert_eq!(scene.store().merged_into(workspace, scene.merged).await.unwrap(), Some(scene.survivor));
    let followed = scene.store().contact_or_survivor(workspace, scene.merged).await.unwrap();
    assert_eq!(followed.map(|contact| contact.id), Some(scene.survivor));
    for (number, user) in [("5215512345678", ""), ("14155550123", ""), ("", "MX.1")] {
        let reached = Reached::named(Some(number), Some(user));
        let found = scene.store().contact_reached_at(workspace, &reached).await.unwrap();
        assert_eq!(found, Some(scene.survivor), "{number}{user}");
    }
    // Each of the ids has the choice of the merged contact.
    let number = Cellphone::parse("+5215512345678").unwrap();
    let kept = scene.store().choices(workspace, &number).await.unwrap();
    assert!(kept.is_some_and(|kept| kept.is_out_of(&ChoiceScope::All)));

    let externals = async |id| {
        let of = scene.conversation(id).await;
        of.externals.iter().map(|external| external.contact).collect::<Vec<_>>()
    };
    assert_eq!(externals(scene.own).await, [scene.survivor]);
    assert_eq!(externals(scene.both).await[0], scene.survivor);
    assert_eq!((externals(scene.both).await.len(), externals(scene.left).await.len()), (2, 1));
    let all = scene.store().conversations_with(workspace, scene.survivor).await.unwrap();
    assert_eq!(all, [scene.own, scene.both, scene.left].into());
    let line = ChannelId::parse(LINE).unwrap();
    let (start, window) = (
        harness::TestClock::START,
        scene.store().last_inbound(workspace, scene.survivor, &line).await.unwrap(),
    );
    assert!(window.is_some_and(|at| at >= start.plus(Duration::from_secs(20))), "{window:?}");
    assert_eq!(scene.leftovers(), [""; 0]);
    // Both numbers have been the person's without a gap.
    for number in ["+5215512345678", "+14155550123"] {
        let key = Cellphone::parse(number).unwrap().key();
        let tenures = scene.store().tenures(workspace, &key).await.unwrap();
        let at = domain::person::times::holder_at(&tenures, scene.store().now());
        assert_eq!(at, Some(scene.survivor), "{number} {tenures:?}");
        let before = domain::person::times::holder_at(&tenures, Timestamp::from_millis(0));
        let first = if number == "+14155550123" { scene.merged } else { scene.survivor };
        assert_eq!(before, Some(first), "{number}");
    }
}

#[tokio::test]
async fn an_external_id_that_the_survivor_does_not_take_is_free_again() {
    let scene = Scene::new().await;
    let (store, workspace) = (scene.store(), scene.world.workspace);
    let id = |text: &str| ExternalId::parse(text).unwrap();
    let seen = scene.contact(scene.survivor).await.unwrap();
    let own = Contact { external_id: Some(id("crm-1")), version: seen.version + 1, ..seen.clone() };
    assert_eq!(store.replace_contact(&seen, &own, "own").await.unwrap(), Replaced::Done);
    scene.merge().await;
    for (text, holder) in [("crm-1", Some(scene.survivor)), ("crm-2", None)] {
        let found = store.contact_holding_external_id(workspace, &id(text)).await.unwrap();
        assert_eq!(found, holder, "{text}");
    }
    assert_eq!(scene.contact(scene.survivor).await.unwrap().external_id, Some(id("crm-1")));
    scene.world.contact(|of| of.external_id = Some(id("crm-2"))).await;
}

#[tokio::test]
async fn what_was_stored_for_a_merged_contact_moves_too() {
    let scene = Scene::new().await;
    let job = scene.ask().await.id;
    scene.visit(job).await;
    assert_eq!((scene.leftovers(), scene.is_over(job)), (vec![], false));
    // A request that read the contact before the join opens a conversation, and another one stores a message.
    let late = opened(&scene.world, &[scene.merged]).await;
    scene.wrote(scene.merged, late.id, 500);
    scene.world.db.clock().advance(Duration::from_secs(100));
    scene.visit(job).await;
    assert!(!scene.is_over(job), "the second look is two minutes later");
    scene.world.db.clock().advance(Duration::from_secs(20));
    scene.visit(job).await;
    assert!(scene.is_over(job));
    assert_eq!(scene.leftovers(), [""; 0]);
    let all = scene.store().conversations_with(scene.world.workspace, scene.survivor).await.unwrap();
    assert!(all.contains(&late.id));
    let windows = scene.store().windows(scene.world.workspace, scene.survivor).await.unwrap();
    assert!(windows[0].1 > harness::TestClock::START.plus(Duration::from_secs(400)), "{windows:?}");
}

#[tokio::test]
async fn what_was_stored_late_follows_a_survivor_that_was_merged_meanwhile() {
    let scene = Scene::new().await;
    let job = scene.ask().await.id;
    scene.visit(job).await;
    let late = opened(&scene.world, &[scene.merged]).await;
    let last = scene.world.contact(|of| of.cellphone = Cellphone::parse("+34600999222").ok()).await.id;
    let asked = scene.store().ask_merge(scene.world.workspace, last, scene.survivor).await.unwrap();
    let AskedMerge::Running(next) = asked else { panic!("{asked:?}") };
    scene.visit(next.id).await;
    for contact in [scene.survivor, scene.merged] {
        let into = scene.store().merged_into(scene.world.workspace, contact).await.unwrap();
        assert_eq!(into, Some(last), "one hop, always");
    }
    scene.finish(next.id).await;
    scene.finish(job).await;
    let all = scene.store().conversations_with(scene.world.workspace, last).await.unwrap();
    assert_eq!(all, [scene.own, scene.both, scene.left, late.id].into());
    assert_eq!(scene.contact(last).await.unwrap().merged, [scene.survivor, scene.merged]);
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[tokio::test]
async fn a_merge_is_asked_for_once_and_refused_for_a_reason() {
    let scene = Scene::new().await;
    let workspace = scene.world.workspace;
    let ask =
        async |survivor, merged| match scene.store().ask_merge(workspace, survivor, merged).await.unwrap() {
            AskedMerge::Running(merge) => Ok(merge.id),
            AskedMerge::Refused(refusal) => Err(refusal),
        };
    let nobody = ContactId::generate(scene.store().ids());
    assert_eq!(ask(scene.survivor, scene.survivor).await, Err(MergeRefusal::Itself));
    assert_eq!(ask(scene.survivor, nobody).await, Err(MergeRefusal::Unknown));
    assert_eq!(ask(nobody, scene.merged).await, Err(MergeRefusal::Unknown));
    let first = ask(scene.survivor, scene.merged).await;
    assert_eq!(ask(scene.survivor, scene.merged).await, first);
    // The reverse is asked for at the same time. Whichever joins first, the other one ends.
    let reverse = ask(scene.merged, scene.survivor).await;
    assert!(reverse.is_ok() && reverse != first);
    scene.visit(first.unwrap()).await;
    assert_eq!(ask(scene.survivor, scene.merged).await, first);
    scene.visit(reverse.unwrap()).await;
    scene.finish(first.unwrap()).await;
    assert_eq!(ask(scene.survivor, scene.merged).await, Err(MergeRefusal::AlreadyMerged));
    assert_eq!(ask(scene.merged, nobody).await, Err(MergeRefusal::AlreadyMerged));
    assert_eq!(scene.contact(scene.survivor).await.unwrap().merged, [scene.merged]);
}

#[tokio::test]
async fn a_merge_survives_a_crash_at_any_call() {
    let scene = Scene::new().await;
    let job = scene.ask().await.id;
    scene.world.db.forget_calls();
    scene.finish(job).await;
    let calls = scene.world.db.calls().len();
    let expected = scene.rows();
    assert!(calls > 25, "{calls}");
    for at in 0..calls {
        let scene = Scene::new().await;
        let job = scene.ask().await.id;
        let dead = scene.world.db.die_after(at, [Death::Before, Death::After][at % 2]);
        tokio::select! {
            () = scene.finish(job) => {}
            _ = dead => {}
        }
        scene.world.db.revive();
        scene.finish(job).await;
        assert_eq!(scene.leftovers(), [""; 0], "died at call {at}");
        pretty(&scene.rows(), &expected, at);
    }
}

/// Fails with the rows that differ.
fn pretty(found: &[String], expected: &[String], at: usize) {
    let new: Vec<_> = found.iter().filter(|row| !expected.contains(row)).collect();
    let lost: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
    assert!(new.is_empty() && lost.is_empty(), "died at call {at}: {new:#?} instead of {lost:#?}");
}

#[tokio::test]
async fn a_contact_is_never_merged_and_erased_at_the_same_time() {
    // The one that is erased, and whether the erasure begins first.
    for (is_survivor, erased_first) in [(true, true), (false, true), (true, false), (false, false)] {
        let scene = Scene::new().await;
        let workspace = scene.world.workspace;
        let erased = if is_survivor { scene.survivor } else { scene.merged };
        let erasure =
            Erasure::of_contacts([erased].into(), workspace, false, "operator", scene.store().now());
        let merge = scene.ask().await.id;
        scene.store().ask_erasure(&erasure, None, None).await.unwrap();
        let jobs = match erased_first {
            true => [erasure.id.into(), merge],
            false => [merge, erasure.id.into()],
        };
        for _ in 0..8 {
            for job in jobs {
                scene.visit(job).await;
            }
            scene.world.db.clock().advance(Duration::from_secs(6 * 60));
        }
        let done = scene.store().erasure(workspace, erasure.id).await.unwrap().unwrap();
        assert!(done.is_over() && scene.is_over(merge), "{is_survivor} {erased_first}");
        // If they were one before the erasure found them, they went as one person. Otherwise one is as it was.
        let other = if is_survivor { scene.merged } else { scene.survivor };
        assert_eq!(scene.contact(erased).await, None);
        let other = scene.contact(other).await;
        assert_eq!(other.is_some(), erased_first, "{is_survivor}");
        assert!(other.is_none_or(|other| other.merged.is_empty() && other.merging.is_none()));
        let tombstones = scene.world.db.rows_of(Table::Contacts, "mergedContact");
        assert_eq!(tombstones, [Value::Null; 0]);
        if !erased_first {
            let names = |row: &Value| {
                let row = row.to_string();
                [scene.survivor, scene.merged].iter().any(|id| row.contains(&id.to_string()))
            };
            let left: Vec<_> = [Table::Contacts, Table::Conversations, Table::Messages]
                .into_iter()
                .flat_map(|table| scene.world.db.rows(table))
                .filter(names)
                .collect();
            assert_eq!(left, [Value::Null; 0], "{is_survivor}");
        }
    }
}

#[tokio::test]
async fn the_later_time_of_two_contacts_is_kept_also_if_both_are_of_the_same_minute() {
    for (survivors, mergeds, kept) in [(0, 30, 30), (30, 0, 30), (0, 90, 90)] {
        let scene = Scene::new().await;
        let (store, workspace) = (scene.store(), scene.world.workspace);
        let at = |seconds| store.now().plus(Duration::from_secs(seconds));
        store.saw(workspace, scene.both, scene.survivor, at(survivors)).await.unwrap();
        store.saw(workspace, scene.both, scene.merged, at(mergeds)).await.unwrap();
        let expected = at(kept);
        scene.finish(scene.ask().await.id).await;
        let (_, seen) = store.conversation_and_seen(workspace, scene.both).await.unwrap().unwrap();
        assert_eq!(seen.get(&scene.survivor), Some(&expected), "{survivors} {mergeds}");
        assert_eq!(seen.get(&scene.merged), None);
    }
}

/// The write units of a merge of a contact with so many conversations, each with an agent, that wrote to so many lines.
async fn units(conversations: usize, lines: usize) -> f64 {
    let scene = Scene::new().await;
    let world = &scene.world;
    let fill = |of: &mut Contact, number: &str, user: &str| {
        of.cellphone = Cellphone::parse(number).ok();
        of.user_ids = World::user_ids(user);
        of.first_name = PersonName::parse("Ana").ok();
    };
    let stays = world.contact(|of| fill(of, "+5215512340001", "")).await.id;
    let goes = world.contact(|of| fill(of, "", "MX.9")).await.id;
    let agent = world.user("agent@example.com", |_| ()).await;
    let shown = UserRef::Id(agent.id);
    let internal = Internal { user: agent.id, shown, joined_at: agent.created_at, last_seen_at: None };
    for _ in 0..conversations {
        world
            .conversation(|of| {
                of.externals = vec![World::external(goes, LINE)];
                of.internals = vec![internal.clone()];
            })
            .await;
    }
    let store = world.db.store();
    for n in 0..lines {
        let row = serde_json::json!({
            "pk": { "S": format!("{}#C#{goes}", world.workspace) },
            "sk": { "S": format!("W#line{n}") },
            "kind": { "S": "window" },
            "sv": { "N": "1" },
            "lastInboundAt": { "S": store.now().to_string() },
            "conversationId": { "S": scene.own.to_string() },
        });
        world.db.put_row(Table::Contacts, &row);
    }
    let AskedMerge::Running(job) = store.ask_merge(world.workspace, stays, goes).await.unwrap() else {
        panic!("the merge runs")
    };
    world.db.forget_calls();
    scene.finish(job.id).await;
    world.db.calls().iter().map(|call| call.write_units).sum()
}

#[tokio::test]
async fn a_merge_costs_the_two_contacts_and_something_for_each_conversation_and_line() {
    let none = units(0, 0).await;
    let of_conversations = (units(10, 0).await - none) / 10.0;
    let of_lines = (units(0, 2).await - none) / 2.0;
    assert_eq!((none, of_conversations, of_lines), (24.0, 14.0, 4.0));
}
