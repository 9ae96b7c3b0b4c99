//! Leads that an operator retries, and leads that their visitors repeat.

use domain::conversation::ConversationChange;
use domain::{ConversationStatus, LeadState, MessageId, MessageStatus};
use store::{Changed, Table};

use crate::{OPENED, PHONE, Sender, failed, suppressed, task};

#[tokio::test]
async fn a_retry_adds_a_message_to_the_same_conversation() {
    for status in [MessageStatus::Unknown, MessageStatus::Failed] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.wake(id).await;
        sender.ends(id, status).await;
        let (first, before) = (sender.stored(id).await, sender.message(id).await.unwrap());
        let rows = sender.created();

        let queued = sender.try_again(id).await.unwrap();
        assert_eq!(sender.stored(id).await, queued);
        assert_eq!(
            (queued.state, queued.error.clone(), queued.message_version),
            (LeadState::Queued, None, None)
        );
        assert_eq!(sender.due().await, [id]);
        sender.wake(id).await;
        let last = sender.stored(id).await;
        assert_eq!((last.contact, last.conversation), (first.contact, first.conversation));
        assert_ne!(last.message, first.message);
        assert_eq!(sender.state(id).await, OPENED);
        let message = sender.message(id).await.unwrap();
        assert_eq!((message.seq, message.status(), message.lead), (2, MessageStatus::Queued, Some(id)));
        assert_eq!(sender.created(), [rows[0], rows[1], rows[2] + 2], "a message and its entry");
        sender.assert_idle(id);

        // The message of before stays, and its later statuses do not move the lead.
        let mut late = before.clone();
        late.parts[0].status = MessageStatus::Read;
        late.version += 5;
        sender.store().follow_message(&late).await.unwrap();
        assert_eq!(sender.stored(id).await, last);
    }
}

#[tokio::test]
async fn a_lead_that_could_not_be_sent_uses_its_conversation_at_the_retry() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.change_capture(|capture| capture.template = None).await;
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, failed("NO_TEMPLATE"));
    let rows = sender.created();
    let template = sender.template.id;
    sender.change_capture(|capture| capture.template = Some(template)).await;
    assert!(sender.try_again(id).await.is_some());
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.message(id).await.unwrap().seq), (OPENED, 1));
    assert_eq!(sender.created(), [rows[0], rows[1], rows[2] + 2]);
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_lead_in_any_other_state_is_not_retried() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    assert!(sender.try_again(id).await.is_none(), "QUEUED");
    sender.wake(id).await;
    assert!(sender.try_again(id).await.is_none(), "SENDING");
    sender.ends(id, MessageStatus::Sent).await;
    assert!(sender.try_again(id).await.is_none(), "SENT");
    sender.change_capture(|capture| capture.enabled = false).await;
    let other = sender.lead_of("+12025550102").await;
    sender.wake(other).await;
    assert_eq!(sender.state(other).await, suppressed("CAPTURE_DISABLED"));
    assert!(sender.try_again(other).await.is_none(), "SUPPRESSED");
}

#[tokio::test]
async fn two_concurrent_operators_cause_one_retry() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.wake(id).await;
    sender.ends(id, MessageStatus::Unknown).await;
    let (lead, store) = (sender.stored(id).await, sender.store());
    let [first, second] =
        [(); 2].map(|()| lead.retried(MessageId::generate(store.ids()), store.now()).unwrap());
    let (one, other) =
        tokio::join!(store.retry_lead(&lead, &first, None), store.retry_lead(&lead, &second, None));
    assert_ne!(one.unwrap(), other.unwrap());
    let tasks = [task(id)];
    tokio::join!(sender.run(&tasks), sender.run(&tasks));
    assert_eq!(sender.world.db.rows_from(Table::Messages, "M#").len(), 2);
}

#[tokio::test]
async fn a_blocked_conversation_gets_no_message_and_one_that_is_gone_is_replaced() {
    for is_gone in [false, true] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.wake(id).await;
        sender.ends(id, MessageStatus::Failed).await;
        let lead = sender.stored(id).await;
        let store = sender.store();
        if is_gone {
            let pk = format!("{}#C#{}", lead.workspace_id, lead.conversation);
            sender.world.db.remove_row(Table::Conversations, &pk, "C");
        } else {
            let known = store.conversation(lead.workspace_id, lead.conversation).await.unwrap().unwrap();
            let mut blocked = known.clone();
            (blocked.version, blocked.status) = (2, ConversationStatus::Blocked);
            let change = ConversationChange { conversation: blocked, new_contacts: vec![] };
            assert_eq!(store.change_conversation(&known, &change, "block").await.unwrap(), Changed::Done);
        }
        sender.try_again(id).await.unwrap();
        sender.wake(id).await;
        let expected = if is_gone { OPENED } else { failed("BLOCKED") };
        let after = sender.stored(id).await;
        assert_eq!((sender.state(id).await, after.conversation == lead.conversation), (expected, !is_gone));
        assert_eq!(sender.message(id).await.map(|message| message.seq), is_gone.then_some(1));
    }
}

#[tokio::test]
async fn a_suppressed_lead_that_is_repeated_is_judged_again() {
    for opts_in in [false, true] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        let (lead, store) = (sender.stored(id).await, sender.store());
        assert!(
            store
                .opt_out(
                    lead.workspace_id,
                    &lead.cellphone,
                    domain::ChoiceScope::All,
                    store.now(),
                    harness::operator()
                )
                .await
                .unwrap()
        );
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, suppressed("OPTED_OUT"));
        if opts_in {
            sender.world.db.clock().advance(crate::secs(1));
            let seen = store.choices(lead.workspace_id, &lead.cellphone).await.unwrap().unwrap();
            assert!(store.opt_in(&seen, harness::operator()).await.unwrap());
        }
        let repeated =
            store.repeat_lead(lead.workspace_id, "another", id, &lead.cellphone, &lead.brand).await;
        assert_eq!(repeated.unwrap(), None);
        assert_eq!(sender.due().await, [id]);
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, if opts_in { OPENED } else { suppressed("OPTED_OUT") });
        assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), usize::from(opts_in));
        assert_eq!(lead.cellphone.as_str(), PHONE);
    }
}
