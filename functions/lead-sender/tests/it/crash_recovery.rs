//! Crash recovery at every database call: no recipient gets a message twice, and no lead is lost silently.

use domain::{Cellphone, LeadId, LeadState};
use harness::Death;
use provider::CallOutcome;
use store::Table;

use crate::{FIRST_DUE, INTERRUPTED, LEASE, PHONE, SENT, Sender, said, secs, unknown};
use harness::NO_ANSWER;

/// Lets a sender die at each of its calls in turn, and checks how later visits recover.
async fn at_each_call(prepare: impl AsyncFn(&Sender) -> LeadId) {
    for death in [Death::Before, Death::After] {
        let (mut survived, mut unknowns) = (false, 0);
        for calls in 0.. {
            let sender = Sender::start().await;
            let id = prepare(&sender).await;
            let called = sender.provider.calls().len();
            let mut dead = sender.world.db.die_after(calls, death);
            tokio::select! {
                () = sender.wake(id) => survived = true,
                _ = &mut dead => {}
            }
            sender.world.db.revive();
            sender.sqs.take();
            let at = format!("{death:?} call {calls}");
            recover(&sender, id, &at).await;

            let called = sender.provider.calls().len() - called;
            match sender.state(id).await {
                SENT => assert_eq!(called, 1, "{at}"),
                (LeadState::Unknown, Some(error)) => {
                    assert_eq!((error.as_str(), survived), (INTERRUPTED, false), "{at}");
                    let least = usize::from(death == Death::Before);
                    assert!((least..=1).contains(&called), "{at}: {called}");
                    unknowns += 1;
                }
                other => panic!("{at}: {other:?}"),
            }
            whole(&sender, id, &at).await;
            if survived {
                break;
            }
        }
        // A crash with an unknown outcome happens either before the call with the begin recorded, or after it with
        // the outcome not recorded. The outcome and the row of the provider's id are written at the same time, so a
        // death at the second write may stop the first.
        assert!([1, 2].contains(&unknowns), "{death:?}: {unknowns}");
    }
}

/// The lease ends, and the sweeper queues the lead until nothing is due.
async fn recover(sender: &Sender, id: LeadId, at: &str) {
    for _ in 0..3 {
        sender.world.db.clock().advance(LEASE + FIRST_DUE);
        if sender.due().await.is_empty() {
            return;
        }
        sender.wake(id).await;
    }
    panic!("{at}: the lead stays due: {}", sender.row(id));
}

/// Checks that contact, conversation and message exist once, and that the message has the state of the lead.
async fn whole(sender: &Sender, id: LeadId, at: &str) {
    let lead = sender.stored(id).await;
    let (part, expected) = (sender.part(id).await.unwrap(), said(sender.state(id).await).unwrap());
    assert_eq!(part.0, expected.0, "{at}");
    // A message that was UNKNOWN before keeps its state and error.
    assert!(part == expected || part.1.as_deref() == Some("NO_ANSWER"), "{at}: {part:?}");
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), 1, "{at}");
    assert_eq!(sender.world.db.rows_from(Table::Conversations, "C").len(), 1, "{at}");
    assert_eq!(sender.world.db.rows_from(Table::Messages, "M#").len(), 1, "{at}");
    let conversation = sender.store().conversation(lead.workspace_id, lead.conversation).await;
    assert_eq!(conversation.unwrap().unwrap().externals[0].contact, lead.contact, "{at}");
    sender.assert_idle(id);
}

#[tokio::test]
async fn with_a_stranger() {
    at_each_call(async |sender| sender.lead().await).await;
}

#[tokio::test]
async fn with_a_contact_whose_blanks_are_filled() {
    at_each_call(async |sender| {
        sender.world.contact(|contact| contact.cellphone = Cellphone::parse(PHONE).ok()).await;
        sender.lead().await
    })
    .await;
}

#[tokio::test]
async fn at_a_retry() {
    at_each_call(async |sender| {
        let id = sender.lead().await;
        sender.provider.ends(CallOutcome::NeverConnected);
        sender.wake(id).await;
        sender.world.db.clock().advance(secs(30));
        id
    })
    .await;
}

#[tokio::test]
async fn at_a_retry_by_an_operator() {
    at_each_call(async |sender| {
        let id = sender.lead().await;
        sender.provider.ends(NO_ANSWER);
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, unknown("NO_ANSWER"));
        sender.try_again(id).await.unwrap();
        id
    })
    .await;
}

#[tokio::test]
async fn a_crash_while_a_lead_is_suppressed_makes_no_call() {
    for death in [Death::Before, Death::After] {
        for calls in 0.. {
            let sender = Sender::start().await;
            let id = sender.lead().await;
            sender.change_capture(|capture| capture.enabled = false).await;
            let mut dead = sender.world.db.die_after(calls, death);
            let survived = tokio::select! {
                () = sender.wake(id) => true,
                _ = &mut dead => false,
            };
            sender.world.db.revive();
            recover(&sender, id, &format!("{death:?} call {calls}")).await;
            assert_eq!(sender.state(id).await, crate::suppressed("CAPTURE_DISABLED"));
            assert_eq!(sender.provider.calls(), []);
            sender.assert_idle(id);
            if survived {
                break;
            }
        }
    }
}
