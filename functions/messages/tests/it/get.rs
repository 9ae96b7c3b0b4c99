use domain::{Conversation, ConversationId, Message, MessageId};
use edge::view;
use harness::{Answer, GatewayEvent, trips};
use serde_json::{Value, json};

use crate::{Function, text};

impl Function {
    fn get_event(&self, message: &str, query: &[(&str, &str)]) -> GatewayEvent {
        self.world.event("messages-get.json").path("messageId", message).query(query).request_id("r")
    }

    async fn get(&self, conversation: &Conversation, message: &Message) -> Answer {
        let (conversation, message) = (conversation.id.to_string(), message.id.to_string());
        self.send(self.get_event(&message, &[("conversationId", &conversation)])).await
    }
}

#[tokio::test]
async fn a_message_is_shown_as_its_events_show_it() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let said = f.take(&text(&conversation, "Hello")).await;
    let answer = f.get(&conversation, &said).await;
    assert_eq!((answer.status, &answer.json), (200, &json!(view::message(&said))));
    assert_eq!(
        ["direction", "sender", "type", "content"].map(|field| answer.json[field].clone()),
        [json!("OUTBOUND"), json!({"type": "API", "contactId": null}), json!("TEXT"), Value::Null]
    );
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert_eq!(f.get(&conversation, &said).await.headers["etag"], answer.headers["etag"]);
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds() {
    let f = Function::start().await;
    let event = harness::fixture("messages-get.json");
    let id =
        ConversationId::parse(event["queryStringParameters"]["conversationId"].as_str().unwrap()).unwrap();
    let conversation = f.world.conversation(|conversation| conversation.id = id).await;
    let said = f.take(&text(&conversation, "Hello")).await;
    let event = f.world.event("messages-get.json").path("messageId", said.id);
    assert_eq!(f.send(event).await.status, 200);
}

#[tokio::test]
async fn an_unknown_message_a_foreign_one_and_one_of_another_conversation_get_the_same_404() {
    let f = Function::start().await;
    let (one, other) = (f.world.conversation(|_| ()).await, f.world.conversation(|_| ()).await);
    let said = f.take(&text(&one, "Hello")).await;
    let (workspace, key) = f.world.second_workspace().await;
    let foreign = f.world.conversation_of(workspace, |_| ()).await;
    let body = text(&foreign, "Theirs");
    let theirs = f.event(&body).path("workspaceId", workspace).header("x-api-key", &key);
    let theirs = f.send(theirs).await.json["messageId"].as_str().unwrap().to_owned();
    let ask = async |conversation: ConversationId, message: &str| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        f.send(f.get_event(message, &[("conversationId", &conversation.to_string())])).await
    };
    let unknown = ask(one.id, &MessageId::generate(f.world.db.store().ids()).to_string()).await;
    assert_eq!((unknown.status, unknown.json["code"].as_str()), (404, Some("SERVICE_MESSAGE_0404")));
    assert_eq!(unknown.json["title"], "Message Not Found");
    assert_eq!(ask(other.id, &said.id.to_string()).await, unknown);
    assert_eq!(ask(foreign.id, &theirs).await, unknown);
    assert_eq!(ask(foreign.id, &said.id.to_string()).await, unknown);
    assert_eq!(ask(one.id, &said.id.to_string()).await.status, 200);
}

#[tokio::test]
async fn the_conversation_is_required_and_the_refusal_names_it() {
    let f = Function::start().await;
    let id = MessageId::generate(f.world.db.store().ids()).to_string();
    type Pairs<'a> = &'a [(&'a str, &'a str)];
    let rows: &[(&str, Pairs<'_>, Pairs<'_>)] = &[
        (&id, &[], &[("query.conversationId", "missing")]),
        (&id, &[("conversationId", "")], &[("query.conversationId", "uuid_parsing")]),
        (
            &id,
            &[("conversationId", &id), ("conversationId", &id)],
            &[("query.conversationId", "value_error")],
        ),
        ("7", &[("conversationId", &id)], &[("path.messageId", "uuid_parsing")]),
        (
            "7",
            &[("conversationId", "7"), ("expand", "parts")],
            &[
                ("query.expand", "extra_forbidden"),
                ("path.messageId", "uuid_parsing"),
                ("query.conversationId", "uuid_parsing"),
            ],
        ),
    ];
    for (message, query, expected) in rows {
        let answer = f.send(f.get_event(message, query)).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
        let expected: Vec<_> =
            expected.iter().map(|(at, kind)| ((*at).to_owned(), (*kind).to_owned())).collect();
        assert_eq!(answer.failures(), expected, "{query:?}");
    }
}

#[tokio::test]
async fn a_key_without_the_scope_cannot_read_a_message() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let said = f.take(&text(&conversation, "Hello")).await;
    let (id, of) = (said.id.to_string(), conversation.id.to_string());
    for (scope, status) in [("messages:read", 200), ("messages:write", 403), ("files:read", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let answer = f.send(f.get_event(&id, &[("conversationId", &of)]).header("x-api-key", &key)).await;
        assert_eq!(answer.status, status, "{scope}");
    }
}

#[tokio::test]
async fn a_message_takes_one_round_trip() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let said = f.take(&text(&conversation, "Hello")).await;
    f.world.db.forget_calls();
    assert_eq!(f.get(&conversation, &said).await.status, 200);
    assert_eq!(
        (trips(&f.world.db.calls()), f.world.db.sorted_operations()),
        (1, vec!["GetItem messages".to_owned(), "UpdateItem limits".to_owned()])
    );
}
