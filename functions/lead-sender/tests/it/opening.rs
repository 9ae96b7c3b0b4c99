//! What a lead creates, and its cost.

use std::time::Duration;

use domain::contact::search::SearchQuery;
use domain::message::{Content, SentBy};
use domain::{BrandId, ChannelId, ContactRef, ConversationStatus, LeadId, LeadState, MessageStatus};
use harness::{Fault, TestClock, World, context, fixture, trips};
use lambda_runtime::LambdaEvent;
use store::{ContactQuery, Table};

use crate::{FIRST_DUE, LEASE, LINE, OPENED, PHONE, Sender, failed, secs};

#[tokio::test]
async fn a_lead_is_opened_in_five_round_trips() {
    let sender = Sender::start().await;
    let id = LeadId::parse("c7e9f1a3-5b7d-4e9f-8a1c-3e5d7f9b1a2c").unwrap();
    let accepted = sender.world.lead(PHONE, |lead| lead.id = id).await;
    let event = serde_json::from_value(fixture("lead-sender.json")).unwrap();
    sender.world.db.clock().advance(secs(1));
    // A process reads the person key once in five minutes.
    sender.engine.store.person_key().await.unwrap();
    sender.world.db.forget_calls();
    let event = LambdaEvent::new(event, context(sender.store().now(), crate::TIMEOUT));
    assert!(sender.engine.handle(event).await.unwrap().batch_item_failures.is_empty());
    let calls = sender.world.db.calls();
    assert_eq!(trips(&calls), 5, "lease, two reads, search rows, opening: {calls:?}");
    assert_eq!(calls.len(), 9, "{calls:?}");
    let reads: f64 = calls.iter().map(|call| call.read_units).sum();
    let writes: f64 = calls.iter().map(|call| call.write_units).sum();
    // The recipient was not a contact. The contact and its lookup rows are most of the cost.
    assert_eq!((reads, writes), (7.0, 30.0));

    let lead = sender.stored(id).await;
    assert_eq!((lead.state, lead.error.clone(), lead.opened), (LeadState::Sending, None, true));
    assert_eq!((lead.version, lead.message_version), (2, None));
    assert_eq!(
        (lead.contact, lead.conversation, lead.message, &lead.consent, lead.created_at),
        (accepted.contact, accepted.conversation, accepted.message, &accepted.consent, accepted.created_at)
    );
    assert!(lead.updated_at > accepted.updated_at);
    sender.assert_idle(id);
    sender.world.db.clock().advance(FIRST_DUE + LEASE);
    assert_eq!(sender.due().await, []);
    // The conversation is due, also if the relay never queues it.
    let due = sender.world.db.due(domain::LaneKind::Conversation).await;
    assert_eq!(due, [domain::LaneId::Conversation(lead.workspace_id, lead.conversation)]);
    assert_eq!(sender.counted.values()["LeadsOpened"], [1]);
}

#[tokio::test]
async fn a_lead_creates_a_contact_a_conversation_and_a_message_to_send() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.wake(id).await;
    let (store, workspace, lead) = (sender.store(), sender.world.workspace, sender.stored(id).await);

    let contact = store.contact(workspace, lead.contact).await.unwrap().unwrap();
    let name = |name: &Option<domain::PersonName>| name.as_ref().unwrap().as_str().to_owned();
    assert_eq!((name(&contact.first_name), name(&contact.last_name)), ("Ana".to_owned(), "Pérez".to_owned()));
    assert_eq!((contact.cellphone.as_ref().unwrap().as_str(), contact.version), (PHONE, 1));
    let holder = store.contact_holding_cellphone(workspace, &lead.cellphone).await.unwrap();
    assert_eq!(holder, Some(lead.contact));
    for words in ["perez an", "0101"] {
        let search = SearchQuery::parse(words).ok();
        let query = ContactQuery { owner: None, external_id: None, search, page_size: 20, after: None };
        let found = store.contacts_page(workspace, query).await.unwrap();
        assert_eq!(found.items, std::slice::from_ref(&contact), "{words}");
    }

    let conversation = store.conversation(workspace, lead.conversation).await.unwrap().unwrap();
    assert_eq!((conversation.status, conversation.name), (ConversationStatus::NotAssignedToHuman, None));
    assert_eq!((conversation.internals.len(), conversation.externals.len()), (0, 1));
    let external = &conversation.externals[0];
    assert_eq!((external.contact, &external.shown), (lead.contact, &ContactRef::Cellphone(lead.cellphone)));
    assert_eq!(
        (external.channel.clone(), external.brand.clone()),
        (ChannelId::parse(LINE).unwrap(), BrandId::parse(World::BRAND).unwrap())
    );
    assert_eq!(sender.world.db.rows(Table::Conversations).len(), 3, "by its id, among all, of the contact");

    let message = store.message(workspace, lead.conversation, lead.message).await.unwrap().unwrap();
    assert_eq!((message.sent_by, message.lead, message.seq, message.version), (SentBy::Lead, Some(id), 1, 1));
    assert_eq!(message.content, Content::Template(sender.template.bare_content(message.created_at)));
    assert_eq!((message.parts.len(), message.parts[0].status), (1, MessageStatus::Queued));
    let entries = sender.world.db.rows_from(Table::Messages, "Q#");
    assert_eq!((entries.len(), &entries[0]["messageId"]["S"]), (1, &lead.message.to_string().into()));
    let tally = store.tally(workspace, lead.conversation, store.now()).await.unwrap();
    assert_eq!((tally.outbound, tally.inbound), (1, 0));
}

#[tokio::test]
async fn the_message_is_sent_from_the_line_of_the_brand() {
    let sender = Sender::start().await;
    let other = BrandId::parse("other").unwrap();
    sender.world.line("2", |line| line.brand = other.clone()).await;
    sender.world.brand("lineless", |_| ()).await;
    let (of_other, of_lineless) = (
        sender.world.lead(PHONE, |lead| lead.brand = other.clone()).await.id,
        sender.world.lead("+12025550102", |lead| lead.brand = BrandId::parse("lineless").unwrap()).await.id,
    );
    for (id, line) in [(of_other, "2"), (of_lineless, LINE)] {
        sender.wake(id).await;
        let message = sender.message(id).await.unwrap();
        // A brand without a line uses the workspace's default line.
        assert_eq!(message.recipients[0].channel.as_str(), line);
    }
    let lead = sender.stored(of_lineless).await;
    let conversation = sender.store().conversation(lead.workspace_id, lead.conversation).await;
    assert_eq!(
        conversation.unwrap().unwrap().externals[0].brand,
        lead.brand,
        "the message shows the brand's name"
    );
}

#[tokio::test]
async fn a_template_of_the_platform_is_usable() {
    let sender = Sender::start().await;
    let template = sender.world.platform_template(|template| template.name = "platform".to_owned()).await;
    sender.change_capture(|capture| capture.template = Some(template.id)).await;
    let id = sender.lead().await;
    sender.wake(id).await;
    assert_eq!(sender.message(id).await.unwrap().content.template(), Some(template.id));
}

#[tokio::test]
async fn twenty_queue_messages_of_one_lead_make_one_message() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let tasks = vec![crate::task(id); 20];
    assert_eq!(sender.run(&tasks).await, Vec::<String>::new());
    let one = [crate::task(id)];
    futures::future::join_all((0..20).map(|_| sender.run(&one))).await;
    assert_eq!((sender.state(id).await, sender.world.db.rows_from(Table::Messages, "M#").len()), (OPENED, 1));
    sender.assert_idle(id);

    let other = sender.lead_of("+12025550102").await;
    let task = [crate::task(other)];
    futures::future::join_all((0..20).map(|_| sender.run(&task))).await;
    assert_eq!(
        (sender.state(other).await, sender.world.db.rows_from(Table::Messages, "M#").len()),
        (OPENED, 2)
    );
}

#[tokio::test]
async fn a_queue_message_without_work_leaves_the_queue() {
    let sender = Sender::start().await;
    let nobodys = LeadId::from_uuid(uuid::Uuid::from_u128(1));
    let poison = "{}".to_owned();
    assert_eq!(
        sender.run(&[crate::task(nobodys), poison]).await,
        ["1"],
        "a message without a lead id is kept"
    );
    assert_eq!(sender.world.db.rows(Table::Leads), Vec::<serde_json::Value>::new());
    let id = sender.lead().await;
    sender.wake(id).await;
    let judged = sender.stored(id).await;
    sender.wake(id).await;
    assert_eq!(sender.stored(id).await, judged, "a judged lead does not change");
}

#[tokio::test]
async fn only_the_failed_messages_of_a_batch_are_repeated() {
    let sender = Sender::start().await;
    let (good, bad) = (sender.lead().await, sender.lead_of("+12025550102").await);
    let mut row = sender.row(bad);
    row["sv"] = serde_json::json!({ "N": "99" });
    sender.world.db.import(Table::Leads, &[row]);
    assert_eq!(sender.run(&[crate::task(good), crate::task(bad)]).await, ["1"]);
    assert_eq!(sender.state(good).await, OPENED);
}

#[tokio::test]
async fn data_that_cannot_be_read_is_read_again_later() {
    for operation in ["GetItem", "Query", "BatchGetItem"] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        let before = sender.stored(id).await;
        sender.world.db.fail(operation, Fault::Throttled, 20);
        let failed = sender.run(&[crate::task(id)]).await;
        sender.world.db.heal();
        assert_eq!((failed, sender.stored(id).await), (vec!["0".to_owned()], before), "{operation}");
        sender.sqs.take();
        sender.world.db.clock().advance(LEASE);
        sender.wake(id).await;
        assert_eq!((sender.state(id).await, sender.stored(id).await.version), (OPENED, 2));
    }
}

#[tokio::test]
async fn a_lost_queue_message_costs_only_two_minutes() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.world.db.clock().set(TestClock::START.plus(FIRST_DUE - Duration::from_millis(1)));
    assert_eq!(sender.due().await, []);
    sender.world.db.clock().set(TestClock::START.plus(FIRST_DUE));
    assert_eq!(sender.due().await, [id]);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, OPENED);
}

#[tokio::test]
async fn a_lead_without_a_line_of_its_brand_is_seen_by_an_agent() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.world.line("2", |_| ()).await;
    let pk = format!("{}#L", World::WORKSPACE);
    sender.world.db.remove_row(Table::Workspaces, &pk, &format!("L#{LINE}"));
    sender.wake(id).await;
    let lead = sender.stored(id).await;
    assert_eq!((sender.state(id).await, lead.opened), (failed("NO_LINE"), true));
    let conversation = sender.store().conversation(lead.workspace_id, lead.conversation).await;
    assert_eq!(conversation.unwrap().unwrap().externals[0].channel.as_str(), "2", "the oldest line");
    assert_eq!(sender.world.db.rows_from(Table::Messages, "M#"), Vec::<serde_json::Value>::new());
    // The next message of the conversation is the first one.
    assert_eq!(sender.store().last_seq(lead.workspace_id, lead.conversation).await.unwrap(), 0);
    sender.assert_idle(id);
    assert_eq!(sender.counted.values()["LeadsFailed"], [1]);
}
