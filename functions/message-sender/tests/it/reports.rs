//! Reports of the provider about earlier parts, written while the sender works on later ones.

use std::time::Duration;

use domain::message::{Report, ReportKind, Reported};
use domain::{ConversationId, MessageId, MessageStatus, PartId, Retention, Timestamp};
use harness::Fault;
use store::{ErasedMessages, Table};

use crate::{CONVERSATION, FIRST_DUE, LEASE, Sender, task};

const AT: Timestamp = Timestamp::from_millis(1_792_487_728_000);
const CUSTOMERS: [&str; 3] = ["+12025550101", "+12025550102", "+12025550103"];

/// A message to three customers.
struct Scene {
    sender: Sender,
    id: MessageId,
}

impl Scene {
    async fn start() -> Self {
        let sender = Sender::start().await;
        let [one, other, third] = CUSTOMERS;
        let customers =
            [sender.customer(one).await, sender.customer(other).await, sender.customer(third).await];
        let conversation = sender.conversation(&[&customers[0], &customers[1], &customers[2]]).await;
        let id = sender.say(&conversation, "hello").await;
        sender.world.db.forget_calls();
        Self { sender, id }
    }

    /// The provider reports about every part that it accepted: first delivered, the next time read. Returns how many
    /// reports changed the message.
    async fn report(&self) -> u64 {
        let store = self.sender.store();
        let mut changes = 0;
        for part in 0..CUSTOMERS.len() {
            let message = self.sender.message(self.id).await;
            let Some(id) = message.parts[part].provider_message_id.clone() else { continue };
            let kind = match message.parts[part].status {
                MessageStatus::Sent => ReportKind::Delivered,
                MessageStatus::Delivered => ReportKind::Read,
                _ => continue,
            };
            let report = Report { provider_message_id: id, kind, pricing: None, at: AT };
            assert!(store.record_report(&message, part, &report).await.unwrap());
            changes += 1;
        }
        changes
    }

    /// Checks that each customer got the message once, that no report is lost, and that each change is told once.
    async fn check(&self, reports: u64, at: &str) {
        assert_eq!(self.sender.provider.numbers(), CUSTOMERS, "{at}");
        let message = self.sender.message(self.id).await;
        let mut reported = 0;
        for part in &message.parts {
            let rank = match part.status {
                MessageStatus::Sent => 0,
                MessageStatus::Delivered => 1,
                MessageStatus::Read => 2,
                other => panic!("{at}: {other:?}"),
            };
            reported += rank;
            assert_eq!(part.delivered_at, (rank > 0).then_some(AT), "{at}");
            assert_eq!(part.read_at, (rank > 1).then_some(AT), "{at}");
            assert!(part.provider_message_id.is_some() && part.error.is_none(), "{at}");
        }
        assert_eq!(reported, reports, "{at}");
        // Each part began and was sent.
        assert_eq!(message.version, 1 + 2 * 3 + reports, "{at}");
        self.sender.assert_idle(1);
    }
}

/// The writes of the sender after the lease, as operation and number: begin and outcome of each part, and the release.
/// The outcome of the last part is a transaction. Beside each, how many parts are accepted before it.
const POINTS: [(&str, usize, u64); 7] = [
    ("UpdateItem", 1, 0),
    ("UpdateItem", 2, 0),
    ("UpdateItem", 3, 1),
    ("UpdateItem", 4, 1),
    ("UpdateItem", 5, 2),
    ("TransactWriteItems", 0, 2),
    ("UpdateItem", 6, 3),
];

#[tokio::test]
async fn a_report_before_any_write_of_the_sender_is_kept_and_the_sender_goes_on() {
    for (operation, number, accepted) in POINTS {
        let at = format!("{operation} {number}");
        let scene = Scene::start().await;
        let db = &scene.sender.world.db;
        for _ in 0..number {
            drop(db.hold(operation));
        }
        let held = db.hold(operation);
        let reports = async {
            db.begun(operation, number + 1).await;
            // The second time, the parts are read.
            let reports = scene.report().await + scene.report().await;
            drop(held);
            reports
        };
        let ((), reports) = tokio::join!(scene.sender.wake(), reports);
        assert_eq!(reports, 2 * accepted, "{at}");
        scene.check(reports, &at).await;
    }
}

#[tokio::test]
async fn a_report_between_a_write_whose_answer_was_lost_and_its_repeat_is_kept() {
    for (operation, number, accepted) in POINTS.into_iter().take(6) {
        let at = format!("{operation} {number}");
        let scene = Scene::start().await;
        let db = &scene.sender.world.db;
        // The write before is held until the fault of this one, and the hold of its repeat, are planned.
        for _ in 1..number {
            drop(db.hold(operation));
        }
        let before = (number > 0).then(|| db.hold(operation));
        let reports = async {
            db.begun(operation, number).await;
            db.fail(operation, Fault::AnswerLost, 1);
            drop(db.hold(operation));
            let repeat = db.hold(operation);
            drop(before);
            db.begun(operation, number + 2).await;
            let reports = scene.report().await + scene.report().await;
            drop(repeat);
            reports
        };
        let (reports, ()) = tokio::join!(reports, scene.sender.wake());
        // The lost write is the outcome of a part every second time.
        let recorded = accepted + u64::from([2, 4].contains(&number) || number == 0);
        assert_eq!(reports, 2 * recorded, "{at}");
        scene.check(reports, &at).await;
    }
}

#[tokio::test]
async fn an_interrupted_send_beside_reports_becomes_unknown_and_its_own_report_resolves_it() {
    let scene = Scene::start().await;
    let (db, store) = (&scene.sender.world.db, scene.sender.store());
    // The lease, begin and outcome of part 0, and the begin of part 1: then the sender dies.
    for _ in 0..4 {
        drop(db.hold("UpdateItem"));
    }
    let held = db.hold("UpdateItem");
    let dies = async {
        db.begun("UpdateItem", 5).await;
        scene.report().await
    };
    let reports = tokio::select! {
        () = scene.sender.wake() => panic!("the sender was held"),
        reports = dies => reports,
    };
    drop(held);
    db.clock().advance(LEASE + FIRST_DUE);
    let message = scene.sender.message(scene.id).await;
    let early =
        Report { provider_message_id: "wamid.2".to_owned(), kind: ReportKind::Sent, pricing: None, at: AT };
    assert_eq!(message.reported(1, &early, store.now()), Reported::TooEarly);

    scene.sender.wake().await;
    let message = scene.sender.message(scene.id).await;
    let expected = [MessageStatus::Delivered, MessageStatus::Unknown, MessageStatus::Sent];
    assert_eq!(message.parts.iter().map(|part| part.status).collect::<Vec<_>>(), expected);
    assert!(store.record_report(&message, 1, &early).await.unwrap());
    assert_eq!(reports, 1);
    let reports = 1 + scene.report().await + scene.report().await;
    let parts = scene.sender.message(scene.id).await.parts;
    assert!(parts.iter().all(|part| part.status == MessageStatus::Read), "{parts:?}");
    assert_eq!((reports, scene.sender.provider.numbers().len()), (6, 3));
}

#[tokio::test]
async fn each_send_carries_its_part_and_its_row_finds_it_until_the_message_expires() {
    let mut scene = Scene::start().await;
    let retention = Retention { messages: Some(LEASE), ..Retention::default() };
    scene.sender.engine.store = scene.sender.engine.store.clone().with_retention(retention);
    scene.sender.wake().await;
    let message = scene.sender.message(scene.id).await;
    for (part, call) in scene.sender.provider.calls().iter().enumerate() {
        let id = PartId { conversation: message.conversation, message: message.id, part };
        assert_eq!(call.part, id.to_string());
        let name = message.parts[part].provider_message_id.clone().unwrap();
        let find = || scene.sender.store().provider_message(message.workspace_id, &name);
        assert_eq!(find().await.unwrap(), Some((message.conversation, message.id, Some(part))));
    }
    let rows = scene.sender.world.db.rows_from(Table::Messages, "P");
    let expires = message.created_at.plus(LEASE).as_seconds().to_string();
    assert_eq!(rows.iter().map(|row| row["expiresAt"]["N"].clone()).collect::<Vec<_>>(), vec![expires; 3]);
    scene.sender.world.db.clock().advance(LEASE + Duration::from_secs(2));
    let gone = scene.sender.store().provider_message(message.workspace_id, "wamid.1").await;
    assert_eq!(gone.unwrap(), None);
}

#[tokio::test]
async fn a_message_that_is_erased_during_its_call_leaves_no_row_of_the_provider_s_id() {
    let scene = Scene::start().await;
    let (db, store) = (&scene.sender.world.db, scene.sender.store());
    for _ in 0..2 {
        drop(db.hold("UpdateItem"));
    }
    let outcome = db.hold("UpdateItem");
    let erase = async {
        db.begun("UpdateItem", 3).await;
        let id = ConversationId::parse(CONVERSATION).unwrap();
        let whole = store.whole_conversation(scene.sender.world.workspace, id).await.unwrap();
        store.erase_messages(&whole, ErasedMessages::All).await.unwrap();
        drop(outcome);
    };
    let tasks = [task(CONVERSATION)];
    tokio::join!(scene.sender.run(&tasks), erase);
    assert_eq!(scene.sender.provider.numbers(), CUSTOMERS[..1]);
    assert_eq!(db.rows_from(Table::Messages, "P"), Vec::<serde_json::Value>::new());
}
