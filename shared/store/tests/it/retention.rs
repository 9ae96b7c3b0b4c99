//! Retention: which rows get a TTL, and that an expired row no longer counts, although DynamoDB deletes it late.

use std::time::Duration;

use domain::conversation::ConversationUpdate;
use domain::message::Draft;
use domain::{
    Conversation, ConversationStatus, LaneId, LeadState, Media, Message, MessageBody, MessageId, Retention,
    Timestamp,
};
use harness::{World, trips};
use serde_json::Value;
use store::{Changed, ConversationQuery, LeadFilter, Lease, MessageStored, NewMessage, Store, Table};

const DAY: Duration = Duration::from_secs(86_400);
const FIRST_DUE: Duration = Duration::from_secs(120);
const KEPT: Retention = Retention {
    messages: Some(Duration::from_secs(2 * 86_400)),
    conversations: Some(Duration::from_secs(3 * 86_400)),
    leads: Some(Duration::from_secs(4 * 86_400)),
    events: Duration::from_secs(5 * 86_400),
};

fn keeping(world: &World) -> Store {
    world.db.store().clone().with_retention(KEPT)
}

fn message(store: &Store, conversation: &Conversation, files: &[Media]) -> Message {
    let draft = Draft {
        conversation: conversation.id,
        body: MessageBody::parse("Hello").ok(),
        media: files.iter().map(|media| media.id).collect(),
        broadcast: true,
        reply_to: None,
    };
    let attached = files.iter().map(|media| media.attached(1)).collect();
    draft.message(MessageId::generate(store.ids()), conversation, 1, attached, store.now())
}

async fn take(store: &Store, message: &Message, files: &[Media]) {
    let first_references: Vec<(Media, u64)> = files.iter().map(|media| (media.clone(), 1)).collect();
    let new = NewMessage { message, first_references: &first_references, conversation: None, kept: None };
    assert_eq!(store.store_message(&new, FIRST_DUE, "request").await.unwrap(), MessageStored::Done);
}

/// The TTL of each row, by kind and sort key.
fn expiries(world: &World, table: Table) -> Vec<(String, Option<i64>)> {
    let text = |value: &Value| value["S"].as_str().unwrap().to_owned();
    let expiry = |row: &Value| row["expiresAt"]["N"].as_str().map(|seconds| seconds.parse().unwrap());
    let rows = world.db.rows(table);
    let mut found: Vec<_> = rows.iter().map(|row| (text(&row["kind"]), expiry(row))).collect();
    found.sort();
    found
}

fn seconds(at: Timestamp, kept: Duration) -> Option<i64> {
    Some(at.plus(kept).as_seconds())
}

async fn set_status(
    world: &World,
    conversation: &Conversation,
    status: ConversationStatus,
    kept: Option<Duration>,
) -> Conversation {
    let store = world.db.store();
    let update = ConversationUpdate { status: Some(status), ..ConversationUpdate::default() };
    let (known, lines) = (domain::conversation::KnownPeople::default(), domain::Lines::default());
    let people = domain::conversation::People {
        workspace: world.workspace,
        known: &known,
        lines: &lines,
        ids: store.ids(),
        now: store.now(),
    };
    let change = conversation.apply(&update, &people).unwrap().unwrap().retained(conversation, kept);
    assert_eq!(store.change_conversation(conversation, &change, "change").await.unwrap(), Changed::Done);
    change.conversation
}

async fn listed(world: &World, status: Option<ConversationStatus>) -> usize {
    let query = ConversationQuery { status, external: None, internal: None, page_size: 20, after: None };
    let page = world.db.store().conversations_page(world.workspace, query).await.unwrap();
    assert_eq!(page.next, None);
    page.items.len()
}

#[tokio::test]
async fn without_retention_only_unused_files_and_events_expire() {
    let world = World::start().await;
    let conversation = world.conversation(|_| ()).await;
    let file = world.media(|_| ()).await;
    take(world.db.store(), &message(world.db.store(), &conversation, std::slice::from_ref(&file)), &[file])
        .await;
    world.lead("+34600111222", |_| ()).await;
    set_status(&world, &conversation, ConversationStatus::Released, None).await;
    for table in [Table::Conversations, Table::Messages, Table::Media] {
        assert!(expiries(&world, table).iter().all(|(_, expiry)| expiry.is_none()), "{table:?}");
    }
    let leads = expiries(&world, Table::Leads);
    assert!(leads.iter().filter(|(kind, _)| kind == "lead").all(|(_, expiry)| expiry.is_none()));
}

#[tokio::test]
async fn a_message_expires_with_its_entry_and_its_files_at_no_cost() {
    let world = World::start().await;
    let store = keeping(&world);
    let conversation = world.conversation(|_| ()).await;
    let file = world.media(|_| ()).await;
    let said = message(&store, &conversation, std::slice::from_ref(&file));
    world.db.forget_calls();
    take(&store, &said, std::slice::from_ref(&file)).await;
    assert_eq!(trips(&world.db.calls()), 1);
    let ttl = seconds(said.created_at, 2 * DAY);
    let expected = [("entry", ttl), ("lane", None), ("message", ttl)];
    assert_eq!(expiries(&world, Table::Messages), expected.map(|(kind, ttl)| (kind.to_owned(), ttl)));
    assert_eq!(expiries(&world, Table::Media), [("media".to_owned(), ttl)]);

    let find = async || store.message(said.workspace_id, said.conversation, said.id).await.unwrap();
    world.db.clock().advance(2 * DAY);
    assert!(find().await.is_some());
    assert_eq!(store.media(file.workspace_id, &[file.id]).await.unwrap().len(), 1);
    assert_eq!(
        store.lane_state(said.workspace_id, said.conversation).await.unwrap().unwrap().open.entries.len(),
        1
    );
    world.db.clock().advance(Duration::from_secs(1));
    assert!(find().await.is_none());
    assert!(store.media(file.workspace_id, &[file.id]).await.unwrap().is_empty());
    assert!(
        store
            .lane_state(said.workspace_id, said.conversation)
            .await
            .unwrap()
            .unwrap()
            .open
            .entries
            .is_empty()
    );
}

#[tokio::test]
async fn a_released_conversation_expires_with_all_its_rows_and_a_reopened_one_does_not() {
    let world = World::start().await;
    let active = world.conversation(|_| ()).await;
    world.db.clock().advance(DAY);
    let released = set_status(&world, &active, ConversationStatus::Released, Some(3 * DAY)).await;
    let ttl = seconds(released.updated_at, 3 * DAY);
    assert_eq!(released.expires_at, Some(released.updated_at.plus(3 * DAY)));
    let all = expiries(&world, Table::Conversations);
    // The lists go with the conversation. An erasure of its customer finds it by the other row.
    let (found_by, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|(kind, _)| kind == "leftConversation");
    assert_eq!(found_by, vec![("leftConversation".to_owned(), None); active.externals.len()]);
    assert!(all.len() >= 3 && all.iter().all(|(_, expiry)| *expiry == ttl), "{all:?}");
    assert_eq!(expiries(&world, Table::Messages), [("lane".to_owned(), ttl)]);

    // The retention counts from the release, whatever changes later.
    world.db.clock().advance(DAY);
    let stored = world.db.store().conversation(world.workspace, active.id).await.unwrap().unwrap();
    let reopened = set_status(&world, &stored, ConversationStatus::Active, Some(3 * DAY)).await;
    assert_eq!(reopened.expires_at, None);
    for table in [Table::Conversations, Table::Messages] {
        assert!(expiries(&world, table).iter().all(|(_, expiry)| expiry.is_none()), "{table:?}");
    }
}

#[tokio::test]
async fn an_expired_conversation_is_absent_and_in_no_list() {
    let world = World::start().await;
    let (one, other) = (world.conversation(|_| ()).await, world.conversation(|_| ()).await);
    for conversation in [&one, &other] {
        let kept = (conversation.id == one.id).then_some(3 * DAY);
        set_status(&world, conversation, ConversationStatus::Released, kept).await;
    }
    let (all, released) = (None, Some(ConversationStatus::Released));
    world.db.clock().advance(3 * DAY);
    assert_eq!((listed(&world, all).await, listed(&world, released).await), (2, 2));
    world.db.clock().advance(Duration::from_secs(1));
    assert_eq!((listed(&world, all).await, listed(&world, released).await), (1, 1));
    let find = async |id| world.db.store().conversation(world.workspace, id).await.unwrap();
    assert!(find(one.id).await.is_none() && find(other.id).await.is_some());
}

#[tokio::test]
async fn a_list_with_many_expired_conversations_ends_in_short_pages() {
    let world = World::start().await;
    let last = world.conversation(|_| ()).await;
    for _ in 0..60 {
        world.db.clock().advance(Duration::from_secs(1));
        let conversation = world.conversation(|_| ()).await;
        set_status(&world, &conversation, ConversationStatus::Released, Some(DAY)).await;
    }
    world.db.clock().advance(2 * DAY);
    let query = ConversationQuery { status: None, external: None, internal: None, page_size: 5, after: None };
    let page = world.db.store().conversations_page(world.workspace, query).await.unwrap();
    assert_eq!(page.items.iter().map(|conversation| conversation.id).collect::<Vec<_>>(), [last.id]);
    assert_eq!(page.next, None);
}

#[tokio::test]
async fn a_lead_expires_and_is_then_absent_for_operators_and_repeats() {
    let world = World::start().await;
    let store = keeping(&world);
    let lead = world.lead("+34600111222", |_| ()).await;
    let mut kept = lead.clone();
    kept.id = domain::LeadId::generate(store.ids());
    kept.cellphone = domain::Cellphone::parse("+34600111223").unwrap();
    store.accept_lead(&kept, "another token", FIRST_DUE).await.unwrap();
    let ttls = expiries(&world, Table::Leads);
    let of_leads: Vec<_> = ttls.iter().filter(|(kind, _)| kind == "lead").map(|(_, ttl)| *ttl).collect();
    assert_eq!(of_leads, [None, seconds(kept.created_at, 4 * DAY)]);

    let state = async |id| store.lead(world.workspace, id).await.unwrap().map(|lead| lead.state);
    let ids = async || {
        let page = store.leads(world.workspace, LeadFilter::default(), None, 10).await.unwrap();
        page.leads.iter().map(|lead| lead.id).collect::<Vec<_>>()
    };
    assert_eq!((state(kept.id).await, ids().await.len()), (Some(LeadState::Queued), 2));
    world.db.clock().advance(4 * DAY + Duration::from_secs(1));
    assert_eq!((state(kept.id).await, state(lead.id).await), (None, Some(LeadState::Queued)));
    assert_eq!(ids().await, [lead.id]);

    let lease = async |id| store.lease_lane(LaneId::Lead(world.workspace, id), DAY).await.unwrap();
    assert!(matches!(lease(kept.id).await, Lease::Finished), "nobody is written to after the retention");
    assert!(matches!(lease(lead.id).await, Lease::Taken(_)));
}

#[tokio::test]
async fn when_a_customer_was_last_seen_expires_by_itself() {
    let world = World::start().await;
    let conversation = world.conversation(|_| ()).await;
    let (store, contact) = (keeping(&world), conversation.externals[0].contact);
    let at = store.now();
    store.saw(world.workspace, conversation.id, contact, at).await.unwrap();
    let expected = ("seen".to_owned(), seconds(at, KEPT.conversations.unwrap()));
    assert!(expiries(&world, Table::Conversations).contains(&expected));
    let seen = async || {
        let found = store.conversation_and_seen(world.workspace, conversation.id).await.unwrap();
        let listed = store.last_seen(std::slice::from_ref(&conversation)).await.unwrap();
        [&found.unwrap().1, &listed[0]].map(|seen| seen.get(&contact).copied())
    };
    assert_eq!(seen().await, [Some(at); 2]);
    world.db.clock().advance(KEPT.conversations.unwrap() + Duration::from_secs(2));
    assert_eq!(seen().await, [None; 2]);
}
