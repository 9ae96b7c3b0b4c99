//! The data of the cases, and events about it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::retry::Jitter;
use domain::sending::{End, SendSchedule};
use domain::{Cellphone, Contact, Conversation, Email, LaneId, MessageId, PartId, PersonName, Timestamp};
use harness::{World, fixture, queue_fixture};
use serde_json::{Value, json};
use store::{ConversationLane, Lease, Table};

/// The line of the workspace.
pub(crate) const LINE: &str = "1045551234567";
const LEASE: Duration = Duration::from_secs(90);

/// A Spanish mobile number.
pub(crate) fn phone(n: usize) -> String {
    format!("+346001{n:05}")
}

pub(crate) async fn someone(world: &World, n: usize) -> domain::ContactId {
    world.contact(|contact| named(contact, n)).await.id
}

/// A name, an address and a number.
pub(crate) fn named(contact: &mut Contact, n: usize) {
    contact.first_name = PersonName::parse("Ana").ok();
    contact.last_name = PersonName::parse("Ruiz").ok();
    contact.email = Email::parse(&format!("ana{n}@example.com")).ok();
    contact.cellphone = Cellphone::parse(&phone(n)).ok();
}

/// Creates a conversation with a contact who has a phone number.
pub(crate) async fn reached(world: &World, n: usize) -> Conversation {
    let contact = someone(world, n).await;
    world.conversation(|one| one.externals = vec![World::external(contact, LINE)]).await
}

/// Adds a text message to a conversation, as the API does.
pub(crate) async fn say(world: &World, conversation: &Conversation) -> MessageId {
    world.say(conversation, "Your order is on its way.").await.id
}

/// Adds a text message that the provider accepted under this id, and returns its part.
pub(crate) async fn sent(world: &World, conversation: &Conversation, wamid: &str) -> PartId {
    let store = world.db.store();
    let message = say(world, conversation).await;
    let lane = LaneId::Conversation(conversation.workspace_id, conversation.id);
    let Lease::Taken(leased) = store.lease_lane(lane, LEASE).await.unwrap() else {
        panic!("{lane:?} is leased")
    };
    let lane = ConversationLane::of(&leased).unwrap();
    let queued = store.outbound(&lane, message).await.unwrap().unwrap();
    let begun = store.record(&queued, LEASE, |message| message.begun(lane.lease, store.now()));
    let begun = begun.await.unwrap().unwrap();
    let end = End::Sent(wamid.to_owned());
    store.keep_provider_id(&begun.message, begun.message.part_at_hand().unwrap(), &end).await;
    let schedule = SendSchedule::recommended();
    let ended = store
        .record(&begun, LEASE, |message| message.ended(end.clone(), &schedule, Jitter::NONE, store.now()));
    assert!(ended.await.unwrap().is_some());
    PartId { conversation: conversation.id, message, part: 0 }
}

/// An event of `inbox`: a piece of a webhook about the line, received now, with these lists.
pub(crate) fn inbound(lists: Value) -> String {
    let seed = fixture("inbox.json");
    let mut piece: Value = serde_json::from_str(seed["Records"][0]["body"].as_str().unwrap()).unwrap();
    piece["receivedAt"] = json!(now().as_millis());
    piece["value"] = lists;
    piece["value"]["metadata"] = json!({ "phone_number_id": LINE });
    queue_fixture("inbox.json", &[piece.to_string()]).to_string()
}

/// Makes the last change of the workspace's settings an hour old. A process remembers the settings that have not changed of
/// late.
pub(crate) async fn age_settings(world: &World) {
    let an_hour_ago = json!({ "N": (now().as_millis() - 3_600_000).to_string() });
    let pk = format!("{}#W", world.workspace);
    world.db.change_row(Table::Workspaces, &pk, "W", |row| row["changedAt"] = an_hour_ago);
}

/// The machine's time.
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    Timestamp::from_millis(i64::try_from(since_1970).unwrap())
}
