//! Crash recovery at every database call: what a lead creates exists once or not at all.

use domain::{Cellphone, LeadId, MessageStatus};
use harness::Death;
use store::Table;

use crate::{FIRST_DUE, LEASE, OPENED, PHONE, Sender};

/// Lets the function die at each of its calls in turn, and checks how later visits recover.
async fn at_each_call(messages: usize, prepare: impl AsyncFn(&Sender) -> LeadId) {
    for death in [Death::Before, Death::After] {
        for calls in 0.. {
            let sender = Sender::start().await;
            let id = prepare(&sender).await;
            let mut dead = sender.world.db.die_after(calls, death);
            let survived = tokio::select! {
                () = sender.wake(id) => true,
                _ = &mut dead => false,
            };
            sender.world.db.revive();
            sender.sqs.take();
            let at = format!("{death:?} call {calls}");
            recover(&sender, id, &at).await;
            assert_eq!(sender.state(id).await, OPENED, "{at}");
            whole(&sender, id, messages, &at).await;
            if survived {
                break;
            }
        }
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

/// Checks that contact and conversation exist once, with this number of messages, of which the lead's is to be sent.
async fn whole(sender: &Sender, id: LeadId, messages: usize, at: &str) {
    let lead = sender.stored(id).await;
    let message = sender.message(id).await.unwrap();
    assert_eq!((message.status(), message.seq), (MessageStatus::Queued, messages as u64), "{at}");
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), 1, "{at}");
    assert_eq!(sender.world.db.rows_from(Table::Conversations, "C").len(), 1, "{at}");
    assert_eq!(sender.world.db.rows_from(Table::Messages, "M#").len(), messages, "{at}");
    assert_eq!(sender.world.db.rows_from(Table::Messages, "Q#").len(), messages, "{at}");
    let conversation = sender.store().conversation(lead.workspace_id, lead.conversation).await;
    assert_eq!(conversation.unwrap().unwrap().externals[0].contact, lead.contact, "{at}");
    sender.assert_idle(id);
}

#[tokio::test]
async fn with_a_stranger() {
    at_each_call(1, async |sender| sender.lead().await).await;
}

#[tokio::test]
async fn with_a_contact_whose_blanks_are_filled() {
    at_each_call(1, async |sender| {
        sender.world.contact(|contact| contact.cellphone = Cellphone::parse(PHONE).ok()).await;
        sender.lead().await
    })
    .await;
}

#[tokio::test]
async fn at_a_retry_by_an_operator() {
    at_each_call(2, async |sender| {
        let id = sender.lead().await;
        sender.wake(id).await;
        sender.ends(id, MessageStatus::Failed).await;
        sender.try_again(id).await.unwrap();
        id
    })
    .await;
}
