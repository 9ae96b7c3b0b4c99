//! Reports of the provider about the message of a lead, while the lead is not sent, is sent, and is sent again.

use domain::message::{Report, ReportKind, Reported};
use domain::sending::PartError;
use domain::{LeadId, MessageStatus, Timestamp};
use harness::{Fault, NO_ANSWER, TestProvider};
use store::Table;

use crate::{PHONE, SENT, Sender, unknown};

const AT: Timestamp = Timestamp::from_millis(1_792_487_728_000);

/// The provider reports about the send with this id. Returns whether the report changed the message.
async fn report(sender: &Sender<TestProvider>, lead: LeadId, id: &str, kind: ReportKind) -> bool {
    let message = sender.message(lead).await.unwrap();
    let report = Report { provider_message_id: id.to_owned(), kind, at: AT };
    let reported = message.reported(0, &report, sender.store().now());
    if reported != Reported::TooEarly {
        assert!(sender.store().record_report(&message, 0, &report).await.unwrap());
    }
    matches!(reported, Reported::Changed(_))
}

/// A lead whose outcome is unknown.
async fn unanswered() -> (Sender, LeadId) {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(NO_ANSWER);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, unknown("NO_ANSWER"));
    (sender, id)
}

async fn status(sender: &Sender, id: LeadId) -> (MessageStatus, Option<String>) {
    let part = sender.message(id).await.unwrap().parts.remove(0);
    (part.status, part.provider_message_id)
}

/// The provider's ids that have a row.
fn named(sender: &Sender) -> Vec<String> {
    let rows = sender.world.db.rows(Table::Messages).into_iter();
    let names = rows.filter(|row| row["kind"]["S"] == "providerMessage");
    let key = |row: serde_json::Value| row["pk"]["S"].as_str().unwrap().to_owned();
    names.map(|row| key(row).rsplit('#').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_retry_after_a_reported_failure_leaves_the_row_of_the_new_id_only() {
    let (sender, id) = unanswered().await;
    let failed = ReportKind::Failed(PartError::of("131026"));
    assert!(report(&sender, id, "wamid.first", failed).await);
    assert_eq!(named(&sender), ["wamid.first"]);
    sender.try_again(id).await.unwrap();
    sender.wake(id).await;
    assert_eq!(status(&sender, id).await, (MessageStatus::Sent, Some("wamid.2".to_owned())));
    assert_eq!(named(&sender), ["wamid.2"], "an erasure finds the row by the message");
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_retried_lead_whose_message_was_reported_as_sent_is_not_sent_again() {
    for kind in [ReportKind::Sent, ReportKind::Read] {
        let (sender, id) = unanswered().await;
        assert!(report(&sender, id, "wamid.first", kind).await);
        assert_eq!(sender.state(id).await, unknown("NO_ANSWER"), "the message tells, the lead does not");
        sender.try_again(id).await.unwrap();
        sender.wake(id).await;
        assert_eq!((sender.state(id).await, sender.provider.numbers()), (SENT, vec![PHONE.to_owned()]));
        assert_eq!(status(&sender, id).await.1.as_deref(), Some("wamid.first"));
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_report_about_the_first_send_during_the_second_is_kept_and_the_lead_is_sent() {
    // The first transaction is the begin, the second one the outcome.
    for number in [1, 2] {
        let (sender, id) = unanswered().await;
        sender.try_again(id).await.unwrap();
        let db = &sender.world.db;
        db.forget_calls();
        if number == 2 {
            drop(db.hold("TransactWriteItems"));
        }
        let held = db.hold("TransactWriteItems");
        let reports = async {
            db.begun("TransactWriteItems", number).await;
            assert!(report(&sender, id, "wamid.first", ReportKind::Delivered).await);
            drop(held);
        };
        tokio::join!(sender.wake(id), reports);
        assert_eq!((sender.state(id).await, sender.provider.numbers().len()), (SENT, 2), "{number}");
        let expected = (MessageStatus::Delivered, Some("wamid.first".to_owned()));
        assert_eq!(status(&sender, id).await, expected, "{number}");
        assert_eq!(named(&sender), ["wamid.first"], "{number}");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_report_between_the_record_of_the_outcome_whose_answer_was_lost_and_its_repeat_is_kept() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let db = &sender.world.db;
    db.forget_calls();
    // The first transaction opens the conversation. It is held until the fault of the second is planned.
    let opens = db.hold("TransactWriteItems");
    let reports = async {
        db.begun("TransactWriteItems", 1).await;
        db.fail("TransactWriteItems", Fault::AnswerLost, 1);
        drop(db.hold("TransactWriteItems"));
        let repeat = db.hold("TransactWriteItems");
        drop(opens);
        db.begun("TransactWriteItems", 3).await;
        assert!(report(&sender, id, "wamid.1", ReportKind::Delivered).await);
        drop(repeat);
    };
    tokio::join!(reports, sender.wake(id));
    assert_eq!((sender.state(id).await, sender.provider.numbers().len()), (SENT, 1));
    assert_eq!(status(&sender, id).await, (MessageStatus::Delivered, Some("wamid.1".to_owned())));
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_report_before_the_record_of_the_outcome_is_too_early() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let db = &sender.world.db;
    db.forget_calls();
    drop(db.hold("TransactWriteItems"));
    let held = db.hold("TransactWriteItems");
    let reports = async {
        db.begun("TransactWriteItems", 2).await;
        assert!(!report(&sender, id, "wamid.1", ReportKind::Read).await);
        assert_eq!(db.rows_from(Table::Conversations, "S#"), Vec::<serde_json::Value>::new());
        drop(held);
    };
    tokio::join!(sender.wake(id), reports);
    assert!(report(&sender, id, "wamid.1", ReportKind::Read).await);
    assert_eq!(status(&sender, id).await.0, MessageStatus::Read);
}
