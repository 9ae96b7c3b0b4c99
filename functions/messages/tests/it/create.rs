use domain::message::{Content, SentBy};
use domain::sending::Progress;
use domain::{
    ChannelId, Conversation, ConversationId, ConversationStatus, MediaId, Message, MessageBody, MessageId,
    MessageStatus, Part, Recipient, Timestamp, UserId, UserRef,
};
use harness::World;
use serde_json::{Value, json};
use store::Table;

use crate::{FIRST_DUE, Function, id_of, text};

#[tokio::test]
async fn a_message_is_stored_as_queued_for_all_participants() {
    let f = Function::start().await;
    let (ana, bo) = (f.world.contact(|_| ()).await, f.world.contact(|_| ()).await);
    let externals = vec![World::external(ana.id, "line-a"), World::external(bo.id, "line-b")];
    let conversation = f.world.conversation(|conversation| conversation.externals = externals).await;
    let answer = f.post(&text(&conversation, "  Hello \n")).await;
    let stored = f.stored(conversation.id, &answer).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json, json!({"messageId": stored.id.to_string(), "messagingProduct": "SERVICE"}));
    assert_eq!((answer.headers.get("etag"), answer.headers.get("idempotent-replayed")), (None, None));

    let to = |contact, line| Recipient { contact, channel: ChannelId::parse(line).unwrap() };
    let part = |recipient| Part {
        recipient,
        index: 0,
        status: MessageStatus::Queued,
        provider_message_id: None,
        error: None,
        text: None,
        delivered_at: None,
        read_at: None,
        is_held: false,
        pricing: None,
    };
    let now = f.world.db.store().now();
    assert_eq!(
        stored,
        Message {
            id: stored.id,
            workspace_id: f.world.workspace,
            conversation: conversation.id,
            seq: 1,
            sent_by: SentBy::Api,
            lead: None,
            content: Content::Written {
                body: MessageBody::parse("Hello").ok(),
                media: vec![],
                broadcast: true
            },
            reply_to: None,
            recipients: vec![to(ana.id, "line-a"), to(bo.id, "line-b")],
            parts: vec![part(ana.id), part(bo.id)],
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    );

    let open = f.rows_of(&conversation, "Q#");
    assert_eq!(open.len(), 1);
    assert_eq!(open[0]["sk"]["S"], "Q#000000000001");
    assert_eq!(open[0]["messageId"]["S"], stored.id.to_string());
    let lane = f.lane(&conversation);
    assert_eq!(lane["seq"]["N"], "1");
    assert_eq!(lane["dueAt"]["N"], now.plus(FIRST_DUE).as_millis().to_string());
    let shard = conversation.id.as_uuid().as_bytes()[0] % 16;
    assert_eq!(lane["dueShard"]["S"], format!("due#{shard:02}"));
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_as_it_is() {
    let f = Function::start().await;
    let body: Value =
        serde_json::from_str(harness::fixture("messages-create.json")["body"].as_str().unwrap()).unwrap();
    let file = MediaId::parse(body["mediaIds"][0].as_str().unwrap()).unwrap();
    f.world.conversation(|conversation| conversation.id = id_of(&body["conversationId"])).await;
    let media = f.world.media(|media| media.id = file).await;
    f.bucket.upload(&media, 1_000);
    let answer = f.send(f.world.event("messages-create.json")).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn an_internal_note_is_stored_and_not_sent() {
    let f = Function::start().await;
    for status in [ConversationStatus::Active, ConversationStatus::Ghost] {
        let conversation = f.world.conversation(|conversation| conversation.status = status).await;
        let mut note = text(&conversation, "Call them back");
        note["enableExternalBroadcast"] = json!(false);
        let stored = f.take(&note).await;
        assert_eq!((stored.is_broadcast(), stored.status()), (false, MessageStatus::Queued));
        assert_eq!((stored.recipients.len(), stored.parts.len(), stored.seq), (0, 0, 1));
        assert_eq!(f.rows_of(&conversation, "Q#"), [Value::Null; 0]);
        let lane = f.lane(&conversation);
        assert_eq!((&lane["seq"]["N"], lane.get("dueAt"), lane.get("dueShard")), (&json!("1"), None, None));
        assert_eq!(current(&f, &conversation).await, conversation, "a note is not an interaction");
    }
}

async fn current(f: &Function, conversation: &Conversation) -> Conversation {
    let found = f.world.db.store().conversation(conversation.workspace_id, conversation.id).await;
    found.unwrap().unwrap()
}

#[tokio::test]
async fn optional_fields_may_be_null() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let mut body = text(&conversation, "Hello");
    for field in ["enableExternalBroadcast", "replyToMessageId", "mediaIds"] {
        body[field] = Value::Null;
    }
    body["somethingNew"] = json!({"ignored": true});
    let stored = f.take(&body).await;
    assert_eq!((stored.is_broadcast(), stored.reply_to), (true, None));

    let media = f.world.media(|_| ()).await;
    f.bucket.upload(&media, 1_000);
    let file = json!({
        "conversationId": conversation.id.to_string().to_uppercase(),
        "messageBody": null,
        "mediaIds": [media.id.to_string().to_uppercase()],
    });
    let answer = f.post(&file).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let Content::Written { body, media, .. } = f.stored(conversation.id, &answer).await.content else {
        panic!("no template was asked for")
    };
    assert_eq!((body, media.len()), (None, 1));
}

#[tokio::test]
async fn a_message_may_reply_to_any_message_or_note_of_its_conversation() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let mut note = text(&conversation, "Note");
    note["enableExternalBroadcast"] = json!(false);
    let note = f.take(&note).await;
    let mut reply = text(&conversation, "Hello");
    reply["replyToMessageId"] = json!(note.id.to_string());
    assert_eq!(f.take(&reply).await.reply_to, Some(note.id));
}

#[tokio::test]
async fn a_ghost_becomes_active_in_all_its_lists_at_the_first_message() {
    let f = Function::start().await;
    let agent = UserId::generate(f.world.db.store().ids());
    let conversation = f
        .world
        .conversation(|conversation| {
            conversation.status = ConversationStatus::Ghost;
            conversation.internals = vec![domain::Internal {
                user: agent,
                shown: UserRef::Id(agent),
                joined_at: conversation.created_at,
                last_seen_at: None,
            }];
        })
        .await;
    f.world.db.clock().advance(std::time::Duration::from_secs(60));
    f.take(&text(&conversation, "Hello")).await;
    let active = Conversation {
        status: ConversationStatus::Active,
        version: 2,
        updated_at: f.world.db.store().now(),
        ..conversation.clone()
    };
    assert_eq!(current(&f, &conversation).await, active);
    let rows = f.world.db.rows(Table::Conversations);
    let statuses: Vec<&Value> = rows.iter().map(|row| &row["status"]["S"]).collect();
    assert_eq!(
        statuses, ["ACTIVE"; 4],
        "the home row and the lists of all, of the customer and of the agent"
    );
    let listed = rows.iter().filter_map(|row| row["statusPk"]["S"].as_str());
    assert_eq!(listed.filter(|list| list.ends_with("#ACTIVE")).count(), 3);

    f.world.db.clock().advance(std::time::Duration::from_secs(60));
    f.take(&text(&conversation, "Hello again")).await;
    assert_eq!(current(&f, &conversation).await, active);
}

#[tokio::test]
async fn one_of_two_concurrent_first_messages_makes_a_ghost_active() {
    let f = Function::start().await;
    let conversation =
        f.world.conversation(|conversation| conversation.status = ConversationStatus::Ghost).await;
    let (one, other) =
        futures::future::join(f.take(&text(&conversation, "A")), f.take(&text(&conversation, "B"))).await;
    let mut numbers = [one.seq, other.seq];
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
    let active = current(&f, &conversation).await;
    assert_eq!((active.status, active.version), (ConversationStatus::Active, 2));
}

#[tokio::test]
async fn messages_do_not_change_a_conversation_that_is_no_ghost() {
    use ConversationStatus::{Active, NotAssignedToHuman, Released};
    let f = Function::start().await;
    for status in [Active, NotAssignedToHuman, Released] {
        let conversation = f.world.conversation(|conversation| conversation.status = status).await;
        f.take(&text(&conversation, "Hello")).await;
        assert_eq!(current(&f, &conversation).await, conversation);
    }
}

#[tokio::test]
async fn all_failures_of_a_request_are_reported_together() {
    let f = Function::start().await;
    let file = "be4a6c8d-0f2b-4d4e-9a6c-8e0a2c4d6f8a";
    let body = json!({
        "conversationId": "x",
        "messageBody": 5,
        "mediaIds": [file, "y", file, 7],
        "enableExternalBroadcast": "true",
        "replyToMessageId": "z",
    });
    let event = f.event(&body).query(&[("notify", "no")]).header("idempotency-key", &"k".repeat(256));
    let before = f.world.db.everything();
    let answer = f.send(event).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
    let expected = [
        ("query.notify", "extra_forbidden"),
        ("header.Idempotency-Key", "string_too_long"),
        ("body.conversationId", "uuid_parsing"),
        ("body.messageBody", "string_type"),
        ("body.mediaIds.1", "uuid_parsing"),
        ("body.mediaIds.2", "value_error"),
        ("body.mediaIds.3", "string_type"),
        ("body.enableExternalBroadcast", "bool_parsing"),
        ("body.replyToMessageId", "uuid_parsing"),
    ];
    assert_eq!(answer.failures(), expected.map(|(loc, kind)| (loc.to_owned(), kind.to_owned())));
    assert_eq!(answer.json["detail"][5]["ctx"], json!({"error": "the file is named twice"}));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn each_validation_failure_alone() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let with = |field: &str, value: Value| {
        let mut body = text(&conversation, "Hello");
        body[field] = value;
        body
    };
    let alone = |rest: Value| {
        let mut body = json!({"conversationId": conversation.id.to_string()});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        body
    };
    let files: Vec<String> =
        (0..11).map(|_| MediaId::generate(f.world.db.store().ids()).to_string()).collect();
    let rows = [
        (json!([]), "body", "dict_type"),
        (json!(null), "body", "dict_type"),
        (json!({"messageBody": "Hello"}), "body.conversationId", "missing"),
        (with("conversationId", json!(null)), "body.conversationId", "string_type"),
        (with("conversationId", json!("")), "body.conversationId", "uuid_parsing"),
        (alone(json!({})), "body.messageBody", "missing"),
        (alone(json!({"messageBody": null, "mediaIds": null})), "body.messageBody", "missing"),
        (alone(json!({"mediaIds": []})), "body.messageBody", "missing"),
        (alone(json!({"mediaIds": {}})), "body.mediaIds", "list_type"),
        (alone(json!({"mediaIds": files})), "body.mediaIds", "too_long"),
        (alone(json!({"mediaIds": [null]})), "body.mediaIds.0", "string_type"),
        (alone(json!({"mediaIds": [files[0], files[0].to_uppercase()]})), "body.mediaIds.1", "value_error"),
        (with("messageBody", json!("")), "body.messageBody", "string_too_short"),
        (with("messageBody", json!(" \n\t ")), "body.messageBody", "string_too_short"),
        (with("messageBody", json!("é".repeat(4_097))), "body.messageBody", "string_too_long"),
        (with("messageBody", json!("a\u{0}b")), "body.messageBody", "value_error"),
        (with("messageBody", json!(["Hello"])), "body.messageBody", "string_type"),
        (with("enableExternalBroadcast", json!(1)), "body.enableExternalBroadcast", "bool_parsing"),
        (with("replyToMessageId", json!("")), "body.replyToMessageId", "uuid_parsing"),
        (with("replyToMessageId", json!(7)), "body.replyToMessageId", "string_type"),
    ];
    let before = f.world.db.everything();
    for (body, loc, kind) in rows {
        let answer = f.post(&body).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(answer.failures(), [(loc.to_owned(), kind.to_owned())], "{body}");
    }
    assert_eq!(f.world.db.everything(), before);
    let longest = format!(" {} ", "é".repeat(4_096));
    assert_eq!(f.post(&text(&conversation, &longest)).await.status, 201);
}

#[tokio::test]
async fn bodies_that_are_not_json_are_refused_before_their_fields() {
    let f = Function::start().await;
    let event = || f.event(&json!({}));
    for (event, status) in [
        (event().raw_body("{"), 400),
        (event().raw_body(""), 400),
        (event().without_header("content-type"), 415),
        (event().raw_body(&format!("\"{}\"", "x".repeat(256 * 1024 - 1))), 413),
    ] {
        let answer = f.send(event).await;
        assert_eq!(
            (answer.status, &answer.json["code"]),
            (status, &json!(format!("SERVICE_CORE_0{status}")))
        );
    }
}

#[tokio::test]
async fn refusals_name_their_cause_have_a_fixed_order_and_change_nothing() {
    let f = Function::start().await;
    let blocked =
        f.world.conversation(|conversation| conversation.status = ConversationStatus::Blocked).await;
    let (conversation, other) = (f.world.conversation(|_| ()).await, f.world.conversation(|_| ()).await);
    let elsewhere = f.take(&text(&other, "Hello")).await;
    let (foreign_workspace, _) = f.world.second_workspace().await;
    let foreign = f.world.conversation_of(foreign_workspace, |_| ()).await;
    let ids = f.world.db.store().ids();
    let (unknown, no_reply) = (ConversationId::generate(ids), MessageId::generate(ids));
    let no_file = MediaId::generate(ids).to_string();

    let body = |conversation: ConversationId, reply: Option<MessageId>, file: bool| {
        json!({
            "conversationId": conversation.to_string(),
            "messageBody": "Hello",
            "replyToMessageId": reply.map(|id| id.to_string()),
            "mediaIds": file.then_some([&no_file]),
        })
    };
    let about_reply = |id: MessageId| json!({"replyToMessageId": id.to_string()});
    let rows = [
        (body(unknown, Some(no_reply), true), 422, "SERVICE_MESSAGE_1002", Value::Null),
        (body(unknown, None, false), 422, "SERVICE_MESSAGE_1002", Value::Null),
        (body(foreign.id, None, false), 422, "SERVICE_MESSAGE_1002", Value::Null),
        (body(blocked.id, Some(no_reply), true), 409, "SERVICE_CONVERSATION_0409", Value::Null),
        (body(blocked.id, None, false), 409, "SERVICE_CONVERSATION_0409", Value::Null),
        (body(conversation.id, Some(no_reply), true), 422, "SERVICE_MESSAGE_1001", about_reply(no_reply)),
        (body(conversation.id, Some(no_reply), false), 422, "SERVICE_MESSAGE_1001", about_reply(no_reply)),
        (
            body(conversation.id, Some(elsewhere.id), false),
            422,
            "SERVICE_MESSAGE_1001",
            about_reply(elsewhere.id),
        ),
        (body(conversation.id, None, true), 422, "SERVICE_FILE_0902", json!({"mediaId": no_file})),
    ];
    let before = f.world.db.everything();
    for (mut body, status, code, extra) in rows {
        for broadcast in [true, false] {
            body["enableExternalBroadcast"] = json!(broadcast);
            let answer = f.send(f.event(&body).header("idempotency-key", "a key")).await;
            assert_eq!((answer.status, &answer.json["code"]), (status, &json!(code)), "{body}");
            assert_eq!(answer.json["extra"], extra, "{body}");
        }
    }
    assert_eq!(f.world.db.everything(), before, "no answer is stored for the key");
}

#[tokio::test]
async fn a_foreign_conversation_and_an_unknown_one_get_the_same_answer_byte_for_byte() {
    let f = Function::start().await;
    let (workspace, _) = f.world.second_workspace().await;
    let foreign = f.world.conversation_of(workspace, |_| ()).await;
    let unknown = Conversation { id: ConversationId::generate(f.world.db.store().ids()), ..foreign.clone() };
    let post = |conversation: &Conversation| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        f.send(f.event(&text(conversation, "Hello")).request_id("r"))
    };
    assert_eq!(post(&foreign).await, post(&unknown).await);
    assert_eq!(f.rows_of(&foreign, "M#"), [Value::Null; 0]);
}

#[tokio::test]
async fn creating_a_message_needs_the_write_scope() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let reading = f.world.key_with(f.world.workspace, &["conversations:write", "files:write"], |_| ()).await;
    let before = f.world.db.everything().len();
    let answer = f.send(f.event(&text(&conversation, "Hello")).header("x-api-key", &reading)).await;
    assert_eq!((answer.status, &answer.json["code"]), (403, &json!("SERVICE_CORE_0301")));
    assert_eq!(f.world.db.everything().len(), before, "no row");
    let writing = f.world.key_with(f.world.workspace, &["messages:write"], |_| ()).await;
    let answer = f.send(f.event(&text(&conversation, "Hello")).header("x-api-key", &writing)).await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn other_methods_are_refused() {
    let f = Function::start().await;
    for method in ["GET", "PUT", "DELETE"] {
        let answer = f.send(f.event(&json!({})).method(method)).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("SERVICE_CORE_0404")));
    }
}

#[tokio::test]
async fn a_message_makes_one_new_stream_record_of_its_kind() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let stored = f.take(&text(&conversation, "Hello")).await;
    let stream = f.world.db.stream(Table::Messages);
    let records = stream["Records"].as_array().unwrap().iter();
    let of_messages: Vec<&Value> = records
        .map(|record| &record["dynamodb"])
        .filter(|change| change["Keys"]["sk"]["S"].as_str().unwrap().starts_with("M#"))
        .collect();
    assert_eq!(of_messages.len(), 1);
    assert_eq!(of_messages[0]["NewImage"]["id"]["S"], stored.id.to_string());
    assert_eq!(stored.created_at, Timestamp::parse("2026-01-02T03:04:05.678Z").unwrap());
}
