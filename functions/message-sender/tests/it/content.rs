//! The content of messages: texts, files, templates, answers, and content that cannot be sent.

use domain::media::{Attached, FileName};
use domain::settings::template::{ContactField, ParameterValue, Parameters, Requested, Source, Variable};
use domain::{
    Cellphone, ConversationId, ConversationStatus, FileType, MediaId, MessageStatus, PersonName, Template,
    TemplateId,
};
use harness::{TestBucket, TestClock, World, context, fixture, trips};
use lambda_runtime::LambdaEvent;
use provider::Outgoing;
use store::Table;

use crate::{CONVERSATION, LINE, Sender, failed, sent, task};

fn conversation() -> ConversationId {
    ConversationId::parse(CONVERSATION).unwrap()
}

fn file(file_type: FileType, content_type: &str, name: &str, n: u128) -> Attached {
    Attached {
        media: MediaId::from_uuid(uuid::Uuid::from_u128(n)),
        file_type,
        content_type: content_type.to_owned(),
        name: FileName::parse(name).unwrap(),
        size: 1_000,
    }
}

#[tokio::test]
async fn a_text_is_sent_in_seven_round_trips() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "¡Hola!").await;
    let event = serde_json::from_value(fixture("message-sender.json")).unwrap();
    sender.world.db.forget_calls();
    let event = LambdaEvent::new(event, context(sender.store().now(), crate::TIMEOUT));
    assert!(sender.engine.handle(event).await.unwrap().batch_item_failures.is_empty());
    let calls = sender.world.db.calls();
    assert_eq!(trips(&calls), 7, "lease, entries, message, its data, begin, outcome, release");
    assert_eq!(calls.len(), 15, "eight of them at the same time, and two more");

    let calls = sender.provider.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].channel.as_str(), calls[0].to.as_str()), (LINE, "+12025550101"));
    assert_eq!(calls[0].token, format!("token-of-{LINE}"));
    assert_eq!(calls[0].what, Outgoing::Text("¡Hola!".to_owned()));

    let message = sender.message(id).await;
    assert_eq!(message.parts[0].status, MessageStatus::Sent);
    assert_eq!(message.parts[0].provider_message_id.as_deref(), Some("wamid.1"));
    assert_eq!(message.version, 3, "SENDING, SENT");
    assert!(message.updated_at > message.created_at);
    sender.assert_idle(1);
    assert_eq!(sender.provider.beginnings(), 1);
}

#[tokio::test]
async fn another_part_costs_three_round_trips_and_another_message_four() {
    let sender = Sender::start().await;
    let (one, other) = (sender.customer("+12025550101").await, sender.customer("+12025550102").await);
    let conversation = sender.conversation(&[&one, &other]).await;
    sender.say(&conversation, "one").await;
    sender.say(&conversation, "two").await;
    sender.world.db.forget_calls();
    sender.wake().await;
    assert_eq!(trips(&sender.world.db.calls()), 3 + 2 * (1 + 2 * 3), "the visit, messages, parts");
    assert_eq!(sender.provider.calls().len(), 4);
}

#[tokio::test]
async fn files_are_sent_as_newly_signed_links_with_their_caption_and_name() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let files = vec![
        file(FileType::Image, "image/png", "a.png", 1),
        file(FileType::Audio, "audio/ogg", "b.ogg", 2),
        file(FileType::Document, "application/pdf", "offer ñ.pdf", 3),
        file(FileType::Sticker, "image/webp", "d.webp", 4),
        file(FileType::Gif, "image/gif", "e.gif", 5),
    ];
    let id = sender.take(&conversation, Some("Look"), files, |_| ()).await;
    sender.wake().await;
    assert_eq!(sender.parts(id).await, sent(5));

    let calls = sender.provider.calls();
    let shown: Vec<(&str, Option<&str>, Option<&str>)> = calls
        .iter()
        .map(|call| match &call.what {
            Outgoing::Media { sent_as, caption, filename, .. } => {
                let word = match sent_as {
                    domain::media::SentAs::Image => "image",
                    domain::media::SentAs::Audio => "audio",
                    domain::media::SentAs::Document => "document",
                    domain::media::SentAs::Sticker => "sticker",
                    domain::media::SentAs::Video => "video",
                };
                (word, caption.as_deref(), filename.as_deref())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("image", Some("Look"), None),
            ("audio", None, None),
            ("document", None, Some("offer ñ.pdf")),
            ("sticker", None, None),
            ("document", None, Some("e.gif")),
        ]
    );
    let Outgoing::Media { link, .. } = &calls[0].what else { panic!("{:?}", calls[0].what) };
    let (bucket, workspace) = (TestBucket::NAME, World::WORKSPACE);
    let object = format!("{workspace}/00000000-0000-0000-0000-000000000001");
    assert!(link.contains(bucket) && link.contains(&object), "{link}");
    assert!(link.contains("X-Amz-Expires=3600") && link.contains("X-Amz-Date=20260102T030405Z"), "{link}");
}

#[tokio::test]
async fn a_text_too_long_for_a_caption_is_sent_before_the_files() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let (long, picture) = ("x".repeat(1_025), file(FileType::Image, "image/png", "a.png", 1));
    let id = sender.take(&conversation, Some(&long), vec![picture], |_| ()).await;
    sender.wake().await;
    assert_eq!(sender.parts(id).await, sent(2));
    let calls = sender.provider.calls();
    assert_eq!(calls[0].what, Outgoing::Text(long));
    assert!(matches!(&calls[1].what, Outgoing::Media { caption: None, .. }));
}

fn contact_variable(name: &str, field: ContactField, fallback: Option<&str>) -> Variable {
    let fallback = fallback.map(|text| ParameterValue::parse(text).unwrap());
    Variable { name: name.to_owned(), source: Source::Contact { field, fallback } }
}

fn requested(template: TemplateId, parameters: &[(&str, &str)]) -> Requested {
    let value = |(name, value): &(&str, &str)| ((*name).to_owned(), ParameterValue::parse(value).unwrap());
    Requested { template, parameters: parameters.iter().map(value).collect::<Parameters>() }
}

#[tokio::test]
async fn a_template_is_filled_for_each_recipient_at_the_time_of_sending() {
    let sender = Sender::start().await;
    let greeting = sender
        .world
        .template(|template| {
            template.set_variables(vec![
                contact_variable("name", ContactField::FirstName, Some("friend")),
                Variable { name: "code".to_owned(), source: Source::Caller },
            ]);
        })
        .await;
    let plain = sender.world.platform_template(|template| template.name = "plain".to_owned()).await;
    let ana = sender
        .world
        .contact(|contact| {
            contact.cellphone = Cellphone::parse("+12025550101").ok();
            contact.first_name = PersonName::parse("Ana").ok();
        })
        .await;
    let nobody = sender.customer("+12025550102").await;
    let steps = [requested(greeting.id, &[("code", "A  1")]), requested(plain.id, &[])];
    sender.conversation_with(conversation(), &[&ana, &nobody], &steps).await;
    sender.wake().await;

    let template = |template: &Template, values: &[(&str, &str)]| {
        let value = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Outgoing::template(template, values.iter().map(value).collect())
    };
    let calls = sender.provider.calls();
    let said: Vec<(&str, &Outgoing)> = calls.iter().map(|call| (call.to.as_str(), &call.what)).collect();
    assert_eq!(
        said,
        [
            ("+12025550101", &template(&greeting, &[("name", "Ana"), ("code", "A 1")])),
            ("+12025550102", &template(&greeting, &[("name", "friend"), ("code", "A 1")])),
            ("+12025550101", &template(&plain, &[])),
            ("+12025550102", &template(&plain, &[])),
        ]
    );
    sender.assert_idle(2);
}

#[tokio::test]
async fn an_answer_refers_to_the_part_that_its_recipient_got() {
    let sender = Sender::start().await;
    let (one, other) = (sender.customer("+12025550101").await, sender.customer("+12025550102").await);
    let conversation = sender.conversation(&[&one, &other]).await;
    let question = sender.say(&conversation, "question").await;
    let note = sender.take(&conversation, Some("note"), vec![], |draft| draft.broadcast = false).await;
    let sound = file(FileType::Audio, "audio/ogg", "b.ogg", 2);
    sender.take(&conversation, Some("answer"), vec![sound], |draft| draft.reply_to = Some(question)).await;
    sender.take(&conversation, Some("to a note"), vec![], |draft| draft.reply_to = Some(note)).await;
    sender.wake().await;
    let answers: Vec<Option<String>> = sender.provider.calls().into_iter().map(|call| call.answers).collect();
    let to = |id: &str| Some(id.to_owned());
    assert_eq!(answers, [None, None, to("wamid.1"), None, to("wamid.2"), None, None, None]);
}

#[tokio::test]
async fn an_internal_note_is_not_sent() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let note = sender.take(&conversation, Some("note"), vec![], |draft| draft.broadcast = false).await;
    sender.wake().await;
    assert_eq!(sender.provider.calls(), []);
    let note = sender.message(note).await;
    assert_eq!((note.status(), note.version), (MessageStatus::Queued, 1));
    sender.assert_idle(1);
}

#[tokio::test]
async fn unsendable_content_fails_without_a_call_and_delays_nothing() {
    let sender = Sender::start().await;
    let (silent, customer) = (sender.world.contact(|_| ()).await, sender.customer("+12025550102").await);
    let conversation = sender.conversation(&[&silent, &customer]).await;
    let id = sender.say(&conversation, "hello").await;
    sender.wake().await;
    assert_eq!(sender.parts(id).await, [failed("NO_ADDRESS"), sent(1).remove(0)]);
    assert_eq!(sender.message(id).await.version, 4, "FAILED, SENDING, SENT");
    assert_eq!(sender.provider.calls().len(), 1);
    sender.assert_idle(1);
}

#[tokio::test]
async fn a_part_of_a_deleted_line_fails() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    let lines = format!("{}#L", World::WORKSPACE);
    sender.world.db.remove_row(Table::Workspaces, &lines, &format!("L#{LINE}"));
    sender.wake().await;
    assert_eq!(sender.parts(id).await, [failed("NO_LINE")]);
    assert_eq!(sender.provider.calls(), []);
}

#[tokio::test]
async fn a_template_that_is_deleted_or_lacks_a_value_fails_and_the_next_one_is_sent() {
    let sender = Sender::start().await;
    let nameless = sender
        .world
        .template(|template| {
            template.set_variables(vec![contact_variable("name", ContactField::FirstName, None)]);
        })
        .await;
    let plain = sender.world.template(|template| template.name = "plain".to_owned()).await;
    let customer = sender.customer("+12025550101").await;
    let gone = TemplateId::from_uuid(uuid::Uuid::from_u128(9));
    let steps = [gone, nameless.id, plain.id].map(|id| requested(id, &[]));
    sender.conversation_with(conversation(), &[&customer], &steps).await;
    sender.wake().await;
    assert_eq!(sender.provider.said(), ["plain"]);
    let mut errors = vec![];
    for row in sender.world.db.rows(Table::Messages) {
        if row["sk"]["S"].as_str().unwrap().starts_with("M#") {
            let error = &row["parts"]["L"][0]["M"]["error"]["S"];
            errors.push((row["seq"]["N"].as_str().unwrap().to_owned(), error.as_str().map(str::to_owned)));
        }
    }
    errors.sort();
    let error = |seq: &str, word: Option<&str>| (seq.to_owned(), word.map(str::to_owned));
    assert_eq!(
        errors,
        [error("1", Some("NO_TEMPLATE")), error("2", Some("MISSING_VALUE")), error("3", None)]
    );
    sender.assert_idle(3);
}

#[tokio::test]
async fn a_conversation_blocked_in_between_gets_no_message() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let template = sender.world.template(|_| ()).await;
    let steps = [requested(template.id, &[])];
    let conversation = sender.conversation_with(conversation(), &[&customer], &steps).await;
    let id = sender.say(&conversation, "hello").await;
    let mut blocked = domain::Conversation { version: 2, ..conversation.clone() };
    blocked.status = ConversationStatus::Blocked;
    let change = domain::conversation::ConversationChange { conversation: blocked, new_contacts: vec![] };
    let changed = sender.store().change_conversation(&conversation, &change, "block").await;
    assert_eq!(changed.unwrap(), store::Changed::Done);
    sender.wake().await;
    assert_eq!((sender.parts(id).await, sender.provider.calls()), (vec![failed("BLOCKED")], vec![]));
    assert_eq!(sender.rows("M#"), 2, "the step became a message");
    sender.assert_idle(2);
}

#[tokio::test]
async fn a_part_waits_for_the_token_of_its_line() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    sender.world.db.remove_row(Table::Secrets, &format!("{}#L#{LINE}", World::WORKSPACE), "S");
    sender.wake().await;
    let message = sender.message(id).await;
    assert_eq!((message.parts[0].status, message.progress.failures), (MessageStatus::Sending, 1));
    assert_eq!(sender.provider.calls(), []);
    assert_eq!(sender.sqs.take()[0].delay, 30);

    let channel = domain::ChannelId::parse(LINE).unwrap();
    let line = sender.store().line(sender.world.workspace, &channel).await.unwrap().unwrap();
    let token = domain::Secret::new("another");
    sender.store().set_line_token(&line.with_new_token(), &token).await.unwrap();
    sender.world.db.clock().set(TestClock::START.plus(std::time::Duration::from_secs(30)));
    assert_eq!(sender.run(&[task(CONVERSATION)]).await, Vec::<String>::new());
    assert_eq!((sender.parts(id).await, sender.provider.calls()[0].token.as_str()), (sent(1), "another"));
}
