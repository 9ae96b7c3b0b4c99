//! Leads that an operator retries.

use domain::{LeadState, Timestamp};
use harness::TestClock;
use store::Table;

use crate::{SENT, Sender, failed, said, secs, suppressed, task, unknown};
use harness::{ACCEPTED, NO_ANSWER, answered};

#[tokio::test]
async fn an_unknown_or_failed_lead_is_sent_again_in_the_same_conversation() {
    for (outcome, before) in [(NO_ANSWER, unknown("NO_ANSWER")), (answered(400, 131_026), failed("131026"))] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.provider.ends(outcome);
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, before);
        let first = sender.stored(id).await;
        let tables = [Table::Contacts, Table::Conversations, Table::Messages];
        let rows = tables.map(|table| sender.world.db.rows(table).len());

        let queued = sender.try_again(id).await.unwrap();
        assert_eq!(sender.stored(id).await, queued);
        assert_eq!((queued.state, queued.error, queued.opened), (LeadState::Queued, None, true));
        assert_eq!(sender.part(id).await, said(before), "the message keeps its state");
        assert_eq!(sender.due().await, [id]);
        sender.wake(id).await;
        assert_eq!((sender.state(id).await, sender.part(id).await), (SENT, said(SENT)));
        // The row of the provider's id is new.
        let now =
            tables.map(|table| sender.world.db.rows(table).len() - usize::from(table == Table::Messages));
        assert_eq!(now, rows, "nothing is created twice");
        let last = sender.stored(id).await;
        assert_eq!(
            (last.contact, last.conversation, last.message),
            (first.contact, first.conversation, first.message)
        );
        assert_eq!(last.version, 6, "QUEUED, SENDING, its outcome, QUEUED, SENDING, SENT");
        let message = sender.message(id).await.unwrap();
        assert_eq!((message.version, message.parts[0].error.clone()), (3, None));
        assert_eq!(message.parts[0].provider_message_id.as_deref(), Some("wamid.2"));
        assert_eq!(sender.provider.calls().len(), 2);
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_lead_that_could_not_be_sent_creates_its_conversation_at_the_retry() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.change_capture(|capture| capture.template = None).await;
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, failed("NO_TEMPLATE"));
    let template = sender.template.id;
    sender.change_capture(|capture| capture.template = Some(template)).await;
    assert!(sender.try_again(id).await.is_some());
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.part(id).await), (SENT, said(SENT)));
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_lead_in_any_other_state_is_not_retried() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    assert!(sender.try_again(id).await.is_none(), "QUEUED");
    sender.provider.ends(provider::CallOutcome::NeverConnected);
    sender.wake(id).await;
    assert!(sender.try_again(id).await.is_none(), "SENDING");
    sender.world.db.clock().advance(secs(30));
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, SENT);
    assert!(sender.try_again(id).await.is_none(), "SENT");
    sender.change_capture(|capture| capture.enabled = false).await;
    let other = sender.lead_of("+12025550102").await;
    sender.wake(other).await;
    assert_eq!(sender.state(other).await, suppressed("CAPTURE_DISABLED"));
    assert!(sender.try_again(other).await.is_none(), "SUPPRESSED");
}

#[tokio::test]
async fn a_less_certain_outcome_changes_only_the_lead() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(answered(400, 131_026)).ends(NO_ANSWER);
    sender.wake(id).await;
    sender.try_again(id).await.unwrap();
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, unknown("NO_ANSWER"));
    assert_eq!(sender.part(id).await, said(failed("131026")));
    sender.assert_idle(id);
}

#[tokio::test]
async fn two_concurrent_operators_cause_one_retry() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(NO_ANSWER).ends(ACCEPTED);
    sender.wake(id).await;
    let lead = sender.stored(id).await;
    let next = lead.retried(sender.store().now()).unwrap();
    let (one, other) =
        tokio::join!(sender.store().retry_lead(&lead, &next), sender.store().retry_lead(&lead, &next));
    assert_ne!(one.unwrap(), other.unwrap());
    let tasks = [task(id)];
    tokio::join!(sender.run(&tasks), sender.run(&tasks));
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 2));
}

#[tokio::test]
async fn the_retry_schedule_of_a_day_starts_again() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.ends(NO_ANSWER).ends(provider::CallOutcome::NeverConnected);
    sender.wake(id).await;
    let later = Timestamp::from_millis(TestClock::START.as_millis() + 3 * 86_400_000);
    sender.world.db.clock().set(later);
    sender.try_again(id).await.unwrap();
    sender.wake(id).await;
    let lead = sender.stored(id).await;
    assert_eq!(
        (lead.state, lead.progress.since, lead.progress.failures),
        (LeadState::Sending, Some(later), 1)
    );
}
