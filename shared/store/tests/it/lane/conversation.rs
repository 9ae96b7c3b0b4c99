//! Histories of a conversation's lane.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use domain::conversation::Opening;
use domain::message::Draft;
use domain::{Conversation, ConversationId, LaneId, MessageBody, MessageId, Rest};
use harness::{TestClock, TestDb, World};
use store::{ConversationLane, Leased, MessageStored, NewMessage, Store, StoreError, Table};
use uuid::Uuid;

use super::RESCUE;
use super::history::{Dice, Kind, histories, run_history};

struct Talk {
    world: World,
    conversation: Conversation,
    /// The numbers of the messages that were sent, in order. If a visitor dies, the next one sends the
    /// message again.
    sent: RefCell<Vec<u64>>,
}

impl Talk {
    async fn start() -> Self {
        let world = World::start().await;
        let contact = world.contact(|_| ()).await;
        let conversation = Conversation {
            externals: vec![World::external(contact.id, "line")],
            // An id in the first partition of the index.
            ..Conversation::blank(
                ConversationId::from_uuid(Uuid::from_u128(0xc)),
                world.workspace,
                TestClock::START,
            )
        };
        let opening = Opening { conversation: conversation.clone(), new_contacts: vec![], plan: None };
        world.db.store().open_conversation(&opening, RESCUE, None, "seed").await.unwrap();
        Self { world, conversation, sent: RefCell::default() }
    }
}

impl Kind for Talk {
    fn db(&self) -> &TestDb {
        &self.world.db
    }

    fn lane(&self) -> LaneId {
        LaneId::Conversation(self.conversation.workspace_id, self.conversation.id)
    }

    async fn add_work(&self, store: &Store, _: &Dice) -> Result<bool, StoreError> {
        let conversation = &self.conversation;
        let draft = Draft {
            conversation: conversation.id,
            body: MessageBody::parse("hello").ok(),
            media: vec![],
            broadcast: true,
            reply_to: None,
        };
        let seq = store.last_seq(conversation.workspace_id, conversation.id).await? + 1;
        let id = MessageId::generate(store.ids());
        let message = draft.message(id, conversation, seq, vec![], store.now());
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        let taken = store.store_message(&new, RESCUE, &store.write_id("request")).await?;
        Ok(taken == MessageStored::Done)
    }

    async fn visit(&self, store: &Store, lane: &mut Leased, dice: &Dice) -> Result<Rest, StoreError> {
        let lane = ConversationLane::of(lane).unwrap();
        loop {
            let open = store.open_in(&lane).await?;
            for entry in open.entries {
                match dice.below(10) {
                    0 => return Ok(Rest::TimeUp),
                    1 => return Ok(Rest::Closed(store.now().plus(Duration::from_secs(40)))),
                    _ => {}
                }
                self.sent.borrow_mut().push(entry.seq);
                store.close_entry(&lane, entry).await?;
            }
            if !open.more {
                return Ok(Rest::Done);
            }
        }
    }

    async fn operate(&self, _: &Store, _: &Dice) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn complete_interrupted(&self, _: &Store) -> Result<(), StoreError> {
        Ok(())
    }

    async fn check(&self, is_over: bool) {
        let rows = self.db().rows(Table::Messages);
        let sk = |row: &serde_json::Value| row["sk"]["S"].as_str().unwrap().to_owned();
        let open = rows.iter().filter(|row| sk(row).starts_with("Q#")).count();
        let lane = rows.iter().find(|row| sk(row) == "L").unwrap();
        assert!(open == 0 || lane.get("dueAt").is_some(), "what is to be sent is without duty");
        let sent = self.sent.borrow();
        // The messages are sent in order. One is sent again if its visitor died before recording it.
        assert!(sent.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1), "{sent:?}");
        if is_over {
            let last: u64 = lane["seq"]["N"].as_str().unwrap().parse().unwrap();
            assert_eq!((open, lane.get("dueAt"), lane.get("lease")), (0, None, None));
            assert_eq!(sent.iter().copied().collect::<BTreeSet<_>>(), (1..=last).collect());
        }
    }
}

#[tokio::test]
async fn in_any_history_every_message_is_sent_in_order() {
    for seed in 1..=histories(4) {
        run_history(Talk::start().await, seed, 200).await;
    }
}
