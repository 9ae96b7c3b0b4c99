//! Storing messages, and the meaning of each refusal.

use std::time::Duration;

use domain::media::MediaState;
use domain::message::Draft;
use domain::{Conversation, ConversationStatus, Media, Message, MessageBody, MessageId};
use harness::{World, trips};
use serde_json::Value;
use store::{MessageStored, NewMessage, StoreError, Table};

const FIRST_DUE: Duration = Duration::from_secs(120);

/// The message that follows number `after` in a conversation.
fn message(world: &World, conversation: &Conversation, after: u64) -> Message {
    let draft = Draft {
        conversation: conversation.id,
        body: MessageBody::parse("Hello").ok(),
        media: vec![],
        broadcast: true,
        reply_to: None,
    };
    let store = world.db.store();
    draft.message(MessageId::generate(store.ids()), conversation, after + 1, vec![], store.now())
}

fn alone(message: &Message) -> NewMessage<'_> {
    NewMessage { message, first_references: &[], conversation: None, kept: None }
}

async fn take(world: &World, new: &NewMessage<'_>) -> Result<MessageStored, StoreError> {
    world.db.store().store_message(new, FIRST_DUE, "request").await
}

async fn stored(world: &World, message: &Message) -> Option<Message> {
    let found = world.db.store().message(message.workspace_id, message.conversation, message.id).await;
    found.expect("the row is one of a message")
}

/// All rows except those of the limiter.
fn rows(world: &World) -> Vec<Value> {
    let tables = [Table::Conversations, Table::Messages, Table::Media].into_iter();
    tables.flat_map(|table| world.db.rows(table)).collect()
}

#[tokio::test]
async fn a_message_is_found_only_in_its_conversation() {
    let world = World::start().await;
    let (one, other) = (world.conversation(|_| ()).await, world.conversation(|_| ()).await);
    let said = message(&world, &one, 0);
    world.db.forget_calls();
    assert_eq!(take(&world, &alone(&said)).await.unwrap(), MessageStored::Done);
    assert_eq!(trips(&world.db.calls()), 1);
    assert_eq!(stored(&world, &said).await, Some(said.clone()));
    let elsewhere = Message { conversation: other.id, ..said.clone() };
    assert_eq!(stored(&world, &elsewhere).await, None);
    let store = world.db.store();
    assert_eq!(store.last_seq(one.workspace_id, one.id).await.unwrap(), 1);
    assert_eq!(store.last_seq(other.workspace_id, other.id).await.unwrap(), 0);
}

#[tokio::test]
async fn an_existing_message_was_stored_by_an_earlier_attempt_even_if_it_changed_since() {
    let world = World::start().await;
    let conversation =
        world.conversation(|conversation| conversation.status = ConversationStatus::Ghost).await;
    let active = conversation.at_interaction(world.db.store().now()).unwrap();
    let media = world.media(|_| ()).await;
    let said = message(&world, &conversation, 0);
    let files = [(media, 1_000)];
    let new =
        NewMessage { first_references: &files, conversation: Some((&conversation, &active)), ..alone(&said) };
    assert_eq!(take(&world, &new).await.unwrap(), MessageStored::Done);
    let later = message(&world, &conversation, 1);
    assert_eq!(take(&world, &alone(&later)).await.unwrap(), MessageStored::Done);
    let pk = format!("{}#C#{}", said.workspace_id, said.conversation);
    let sender = |row: &mut Value| row["lastRequest"] = serde_json::json!({ "S": "sender" });
    world.db.change_row(Table::Messages, &pk, &format!("M#{}", said.id), sender);
    let before = rows(&world);
    assert_eq!(take(&world, &new).await.unwrap(), MessageStored::Done);
    assert_eq!(rows(&world), before);
}

#[tokio::test]
async fn a_message_gets_another_number_once_and_then_is_stale() {
    let world = World::start().await;
    let conversation = world.conversation(|_| ()).await;
    for after in 0..3 {
        let said = message(&world, &conversation, after);
        assert_eq!(take(&world, &alone(&said)).await.unwrap(), MessageStored::Done);
    }
    let late = message(&world, &conversation, 0);
    let before = rows(&world);
    // Between its two tries, another message takes the number that the first refusal returned.
    world.db.forget_calls();
    let second = async {
        while world.db.calls().iter().filter(|call| call.operation == "TransactWriteItems").count() < 1 {
            tokio::task::yield_now().await;
        }
        let held = world.db.hold("TransactWriteItems");
        while world.db.calls().iter().filter(|call| call.operation == "TransactWriteItems").count() < 2 {
            tokio::task::yield_now().await;
        }
        let said = message(&world, &conversation, 3);
        assert_eq!(take(&world, &alone(&said)).await.unwrap(), MessageStored::Done);
        drop(held);
    };
    let new = alone(&late);
    let (taken, ()) = tokio::join!(take(&world, &new), second);
    assert_eq!(taken.unwrap(), MessageStored::Stale);
    assert_eq!(stored(&world, &late).await, None);
    assert_eq!(rows(&world).len(), before.len() + 2, "the other's message and entry");

    assert_eq!(take(&world, &new).await.unwrap(), MessageStored::Done);
    assert_eq!(stored(&world, &late).await.unwrap().seq, 5);
}

#[tokio::test]
async fn a_message_is_stale_if_its_conversation_or_a_file_changed_since_it_was_read() {
    let world = World::start().await;
    let conversation = world.conversation(|_| ()).await;
    let said = message(&world, &conversation, 0);
    let (newer, newest) = (
        Conversation { version: 2, ..conversation.clone() },
        Conversation { version: 3, ..conversation.clone() },
    );
    let media = world.media(|_| ()).await;
    let unknown = Media { id: domain::MediaId::generate(world.db.store().ids()), ..media.clone() };
    let before = rows(&world);
    let changed = NewMessage { conversation: Some((&newer, &newest)), ..alone(&said) };
    assert_eq!(take(&world, &changed).await.unwrap(), MessageStored::Stale);
    let gone = [(unknown, 1_000)];
    let without = NewMessage { first_references: &gone, ..alone(&said) };
    assert_eq!(take(&world, &without).await.unwrap(), MessageStored::Stale);
    world.db.clock().advance(Media::KEPT + Duration::from_secs(1));
    let expired = [(media, 1_000)];
    let late = NewMessage { first_references: &expired, ..alone(&said) };
    assert_eq!(take(&world, &late).await.unwrap(), MessageStored::Stale);
    assert_eq!(rows(&world), before);
}

#[tokio::test]
async fn a_file_of_a_message_does_not_become_too_large() {
    let world = World::start().await;
    let conversation = world.conversation(|_| ()).await;
    let said = message(&world, &conversation, 0);
    let files = [(world.media(|_| ()).await, 1_000)];
    let new = NewMessage { first_references: &files, ..alone(&said) };
    assert_eq!(take(&world, &new).await.unwrap(), MessageStored::Done);
    let before = rows(&world);
    // Its upload was reported late, and the file was read before the message was stored.
    world.db.store().media_refused(&files[0].0, MediaState::TooLarge, u64::MAX >> 1).await.unwrap();
    assert_eq!(rows(&world), before);
}

#[tokio::test]
async fn a_message_for_a_conversation_that_was_erased_is_stale() {
    let world = World::start().await;
    let conversation = world.conversation(|_| ()).await;
    let nowhere =
        Conversation { id: domain::ConversationId::generate(world.db.store().ids()), ..conversation };
    let said = message(&world, &nowhere, 0);
    let before = rows(&world);
    assert_eq!(take(&world, &alone(&said)).await.unwrap(), MessageStored::Stale);
    assert_eq!(rows(&world), before);
}
