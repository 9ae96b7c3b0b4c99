use std::time::Duration;

use domain::message::summary::Direction;
use domain::message::{Content, SentBy};
use domain::sending::PartError;
use domain::{
    Conversation, ConversationId, Message, MessageBody, MessageId, MessageStatus, Retention, Scope,
};
use edge::{ApiRequest, Call, Reply, view};
use harness::{Answer, GatewayEvent, trips};
use serde_json::{Value, json};
use store::{MessageStored, NewMessage};

use crate::{FIRST_DUE, Function, text};

const NOBODY: &str = "00000000-0000-4000-8000-0000000fffff";

impl Function {
    fn list_event(&self, conversation: &Conversation, query: &[(&str, &str)]) -> GatewayEvent {
        self.world.event("messages-list.json").path("conversationId", conversation.id).query(query)
    }

    async fn list(&self, conversation: &Conversation, query: &[(&str, &str)]) -> Answer {
        self.send(self.list_event(conversation, query)).await
    }

    /// Stores a message of this direction, as `change` makes it, one second after the one before.
    async fn said(
        &self,
        conversation: &Conversation,
        direction: Direction,
        change: impl FnOnce(&mut Message),
    ) -> Message {
        self.world.db.clock().advance(Duration::from_secs(1));
        let store = self.world.db.store();
        let broadcast = direction == Direction::Outbound;
        let content = Content::Written { body: MessageBody::parse("Hello").ok(), media: vec![], broadcast };
        let recipients = if broadcast { conversation.recipients() } else { vec![] };
        let mut message = Message {
            id: MessageId::generate(store.ids()),
            workspace_id: conversation.workspace_id,
            conversation: conversation.id,
            seq: store.last_seq(conversation.workspace_id, conversation.id).await.unwrap() + 1,
            sent_by: if direction == Direction::Inbound { SentBy::Customer } else { SentBy::Api },
            lead: None,
            parts: content.parts_for(&recipients),
            content,
            reply_to: None,
            recipients,
            progress: Default::default(),
            created_at: store.now(),
            updated_at: store.now(),
            version: 1,
        };
        change(&mut message);
        assert_eq!(message.direction(), direction);
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        let stored = store.store_message(&new, FIRST_DUE, &message.id.to_string()).await.unwrap();
        assert_eq!(stored, MessageStored::Done);
        message
    }

    /// Stores `n` messages to the customer and returns them oldest first.
    async fn some(&self, conversation: &Conversation, n: usize) -> Vec<Message> {
        let mut made = vec![];
        for _ in 0..n {
            made.push(self.said(conversation, Direction::Outbound, |_| ()).await);
        }
        made
    }
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let shown = answer.json["messages"].as_array().unwrap();
    shown.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

fn newest_first<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Vec<String> {
    messages.rev().map(|message| message.id.to_string()).collect()
}

fn cursor(answer: &Answer) -> Option<String> {
    answer.json["cursor"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn messages_are_listed_newest_first_in_pages_of_twenty() {
    let f = Function::start().await;
    let (conversation, other) = (f.world.conversation(|_| ()).await, f.world.conversation(|_| ()).await);
    let made = f.some(&conversation, 25).await;
    f.some(&other, 1).await;
    let first = f.list(&conversation, &[]).await;
    assert_eq!(ids(&first), newest_first(made.iter())[..20]);
    let second = f.list(&conversation, &[("cursor", &cursor(&first).unwrap())]).await;
    assert_eq!(ids(&second), newest_first(made.iter())[20..]);
    assert_eq!(second.json["cursor"], Value::Null, "the last page");
    assert_eq!(second.json.as_object().unwrap().len(), 2);
    assert_eq!((second.headers.get("etag"), &*second.headers["cache-control"]), (None, "no-store"));
}

#[tokio::test]
async fn a_page_that_ends_with_the_last_message_is_the_last_page() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    assert_eq!(f.list(&conversation, &[]).await.json, json!({"messages": [], "cursor": null}));
    let made = f.some(&conversation, 3).await;
    for (page_size, more) in [("2", true), ("3", false), ("4", false)] {
        let page = f.list(&conversation, &[("pageSize", page_size)]).await;
        assert_eq!(cursor(&page).is_some(), more, "{page_size}");
    }
    assert_eq!(ids(&f.list(&conversation, &[]).await), newest_first(made.iter()));
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds() {
    let f = Function::start().await;
    let id = harness::fixture("messages-list.json")["pathParameters"]["conversationId"].clone();
    let id = ConversationId::parse(id.as_str().unwrap()).unwrap();
    let conversation = f.world.conversation(|conversation| conversation.id = id).await;
    let made = f.some(&conversation, 1).await;
    assert_eq!(ids(&f.send(f.world.event("messages-list.json")).await), newest_first(made.iter()));
}

#[tokio::test]
async fn a_listed_message_is_shown_as_its_events_show_it() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let said = f
        .said(&conversation, Direction::Outbound, |message| {
            message.parts[0].status = MessageStatus::Failed;
            message.parts[0].error = Some(PartError::of("131026"));
            message.version = 3;
        })
        .await;
    let note = f.said(&conversation, Direction::Internal, |_| ()).await;
    let posted = f.take(&text(&conversation, "Bye")).await;
    let expected = json!([view::message(&posted), view::message(&note), view::message(&said)]);
    assert_eq!(f.list(&conversation, &[]).await.json, json!({"messages": expected, "cursor": null}));
}

#[tokio::test]
async fn a_direction_lists_only_its_messages_in_full_pages() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let mut made = vec![];
    for at in 0..42 {
        let direction = [Direction::Outbound, Direction::Inbound, Direction::Internal][at % 3];
        made.push(f.said(&conversation, direction, |_| ()).await);
    }
    for direction in [Direction::Inbound, Direction::Outbound, Direction::Internal] {
        let only = newest_first(made.iter().filter(|message| message.direction() == direction));
        let query = [("direction", direction.as_str()), ("pageSize", "8")];
        f.world.db.forget_calls();
        let first = f.list(&conversation, &query).await;
        assert_eq!(ids(&first), only[..8], "{direction:?}");
        let next = cursor(&first).unwrap();
        let second = f.list(&conversation, &[query[0], query[1], ("cursor", &next)]).await;
        assert_eq!((ids(&second), cursor(&second)), (only[8..].to_vec(), None), "{direction:?}");
    }
}

#[tokio::test]
async fn few_messages_of_a_direction_are_found_among_many_others() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let oldest = f.said(&conversation, Direction::Inbound, |_| ()).await;
    f.some(&conversation, 120).await;
    f.list(&conversation, &[]).await;
    f.world.db.forget_calls();
    let page = f.list(&conversation, &[("direction", "INBOUND"), ("pageSize", "5")]).await;
    assert_eq!((ids(&page), cursor(&page)), (newest_first([oldest].iter()), None));
    assert_eq!(trips(&f.world.db.calls()), 4, "three rounds of the list, and the message");
}

#[tokio::test]
async fn a_walk_shows_each_message_once_while_others_are_written() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let made = f.some(&conversation, 12).await;
    let (mut seen, mut next) = (vec![], None::<String>);
    loop {
        let mut query = vec![("pageSize", "5")];
        query.extend(next.as_deref().map(|next| ("cursor", next)));
        let page = f.list(&conversation, &query).await;
        seen.extend(ids(&page));
        next = cursor(&page);
        if next.is_none() {
            break;
        }
        f.take(&text(&conversation, "meanwhile")).await;
    }
    assert_eq!(seen, newest_first(made.iter()));
}

#[tokio::test]
async fn an_expired_message_is_absent_and_makes_no_page_short() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let day = Duration::from_secs(24 * 60 * 60);
    let kept = f.some(&conversation, 4).await;
    let store =
        f.world.db.store().clone().with_retention(Retention { messages: Some(day), ..Retention::default() });
    for seq in 5..=9 {
        let message = Message { id: MessageId::generate(store.ids()), seq, ..kept[0].clone() };
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        let stored = store.store_message(&new, FIRST_DUE, &message.id.to_string()).await.unwrap();
        assert_eq!(stored, MessageStored::Done);
    }
    assert_eq!(ids(&f.list(&conversation, &[]).await).len(), 9);
    f.world.db.clock().advance(2 * day);
    let first = f.list(&conversation, &[("pageSize", "3")]).await;
    assert_eq!(ids(&first), newest_first(kept.iter())[..3]);
    let second = f.list(&conversation, &[("pageSize", "3"), ("cursor", &cursor(&first).unwrap())]).await;
    assert_eq!((ids(&second), cursor(&second)), (newest_first(kept[..1].iter()), None));
}

#[tokio::test]
async fn an_unknown_conversation_and_a_foreign_one_get_the_same_404() {
    let f = Function::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.conversation_of(other, |_| ()).await;
    f.some(&foreign, 1).await;
    let get = async |id: ConversationId| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(Duration::from_secs(1));
        f.send(f.world.event("messages-list.json").path("conversationId", id).request_id("r")).await
    };
    let unknown = get(ConversationId::parse(NOBODY).unwrap()).await;
    assert_eq!((unknown.status, unknown.json["code"].as_str()), (404, Some("SERVICE_CONVERSATION_0404")));
    assert_eq!(get(foreign.id).await, unknown);
}

#[tokio::test]
async fn all_failures_of_a_request_are_reported_together() {
    let f = Function::start().await;
    let event = f.world.event("messages-list.json").path("conversationId", "7").query(&[
        ("pageSize", "101"),
        ("direction", "inbound"),
        ("cursor", "nonsense"),
        ("status", "SENT"),
    ]);
    let answer = f.send(event).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
    let expected = [
        ("query.status", "extra_forbidden"),
        ("path.conversationId", "uuid_parsing"),
        ("query.pageSize", "less_than_equal"),
        ("query.direction", "enum"),
        ("query.cursor", "value_error"),
    ];
    assert_eq!(answer.failures(), expected.map(|(at, kind)| (at.to_owned(), kind.to_owned())));
    assert_eq!(answer.json["detail"][3]["ctx"]["expected"], json!(["INBOUND", "OUTBOUND", "INTERNAL"]));
}

#[tokio::test]
async fn a_cursor_is_valid_only_for_its_own_conversation_and_direction() {
    let f = Function::start().await;
    let (one, other) = (f.world.conversation(|_| ()).await, f.world.conversation(|_| ()).await);
    for conversation in [&one, &other] {
        for direction in [Direction::Inbound, Direction::Outbound, Direction::Internal].repeat(2) {
            f.said(conversation, direction, |_| ()).await;
        }
    }
    let directions = [None, Some("INBOUND"), Some("OUTBOUND"), Some("INTERNAL")];
    let lists =
        [&one, &other].map(|conversation| directions.map(|direction| (conversation, direction))).concat();
    let query = |direction: Option<&'static str>| direction.map(|direction| ("direction", direction));
    for from in &lists {
        let first: Vec<_> = query(from.1).into_iter().chain([("pageSize", "1")]).collect();
        let next = cursor(&f.list(from.0, &first).await).unwrap();
        for to in &lists {
            let second: Vec<_> = query(to.1).into_iter().chain([("cursor", &*next)]).collect();
            let answer = f.list(to.0, &second).await;
            if (to.0.id, to.1) == (from.0.id, from.1) {
                assert_eq!(ids(&answer).len(), if to.1.is_some() { 1 } else { 5 }, "{:?}", to.1);
            } else {
                assert_eq!(answer.failures(), [("query.cursor".to_owned(), "value_error".to_owned())]);
            }
            f.world.db.clock().advance(Duration::from_millis(100));
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_endpoint_or_workspace_is_refused() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let made = f.some(&conversation, 3).await;
    let own = cursor(&f.list(&conversation, &[("pageSize", "1")]).await).unwrap();
    let as_foreign = [("query.cursor".to_owned(), "value_error".to_owned())];

    // A cursor that another function of this deployment would seal for a list of the same form.
    let id = conversation.id.to_string();
    let sealed = async |endpoint: &str| {
        let filters = [("conversationId", Some(&*id)), ("direction", None)];
        let seal = async |call: &Call<'_>| {
            let cursor = call.cursors(endpoint, &filters).seal("L9999999999999").await?;
            Reply::list(&json!({ "cursor": cursor }))
        };
        let request = ApiRequest::new(f.list_event(&conversation, &[]).request());
        cursor(&f.messages.api.answer(&request, Scope::MessagesRead, seal).await.into()).unwrap()
    };
    let messages = sealed("messages").await;
    assert_eq!(
        ids(&f.list(&conversation, &[("cursor", &messages)]).await),
        [""; 0],
        "the test seals like the function"
    );
    let conversations = sealed("conversations").await;
    assert_eq!(f.list(&conversation, &[("cursor", &conversations)]).await.failures(), as_foreign);

    // The same conversation id in another workspace.
    let (other, key) = f.world.second_workspace().await;
    let twin = f.world.conversation_of(other, |twin| twin.id = conversation.id).await;
    f.some(&twin, 3).await;
    let elsewhere = |cursor| {
        f.list_event(&twin, &[("cursor", cursor)]).path("workspaceId", other).header("x-api-key", &key)
    };
    assert_eq!(f.send(elsewhere(&own)).await.failures(), as_foreign, "another workspace");
    for at in (0..own.len()).step_by(7) {
        let changed = if own.as_bytes()[at] == b'A' { "B" } else { "A" };
        let changed = format!("{}{changed}{}", &own[..at], &own[at + 1..]);
        f.world.db.clock().advance(Duration::from_millis(100));
        assert_eq!(f.list(&conversation, &[("cursor", &changed)]).await.failures(), as_foreign, "{changed}");
    }
    assert_eq!(ids(&f.list(&conversation, &[("cursor", &own)]).await), newest_first(made[..2].iter()));
}

#[tokio::test]
async fn a_key_without_the_scope_is_refused() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    for (scope, status) in
        [("messages:read", 200), ("*", 200), ("messages:write", 403), ("conversations:read", 403)]
    {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let answer = f.send(f.list_event(&conversation, &[]).header("x-api-key", &key)).await;
        assert_eq!(answer.status, status, "{scope}");
    }
    let reader = f.world.key_with(f.world.workspace, &["messages:read"], |_| ()).await;
    let post = f.event(&text(&conversation, "no")).header("x-api-key", &reader);
    assert_eq!(f.send(post).await.status, 403, "to read is not to write");
}

#[tokio::test]
async fn a_warm_page_takes_two_round_trips_and_the_first_one_no_more() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    f.some(&conversation, 6).await;
    // Posting fills the cache of keys of API callers, but not that of the key of cursors.
    f.take(&text(&conversation, "warm")).await;
    let page = ["BatchGetItem messages", "GetItem conversations", "Query messages", "UpdateItem limits"];
    for (query, sealing) in [(vec![], true), (vec![], false), (vec![("direction", "OUTBOUND")], false)] {
        let query: Vec<_> = query.into_iter().chain([("pageSize", "5")]).collect();
        f.world.db.forget_calls();
        let answer = f.list(&conversation, &query).await;
        assert_eq!((ids(&answer).len(), cursor(&answer).is_some()), (5, true));
        let mut expected = page.to_vec();
        if sealing {
            expected.insert(2, "GetItem secrets");
        }
        assert_eq!(
            (f.world.db.sorted_operations(), trips(&f.world.db.calls())),
            (expected.iter().map(|&name| name.to_owned()).collect(), 2)
        );
    }
}

#[tokio::test]
async fn an_unknown_conversation_takes_one_round_trip() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    f.list(&conversation, &[]).await;
    f.world.db.forget_calls();
    let unknown = f.world.event("messages-list.json").path("conversationId", NOBODY);
    assert_eq!(f.send(unknown).await.status, 404);
    assert_eq!(trips(&f.world.db.calls()), 1);
}
