//! The first message to a lead: its content, the rows it creates, and its cost.

use std::time::Duration;

use domain::contact::search::SearchQuery;
use domain::message::{Content, Draft, SentBy};
use domain::{
    BrandId, ChannelId, ContactRef, ConversationStatus, LaneId, LeadId, LeadState, MessageStatus, PartId,
    Rest,
};
use harness::{TestClock, World, context, fixture, trips};
use lambda_runtime::LambdaEvent;
use provider::Outgoing;
use store::{ContactQuery, ConversationLane, Lease, Released, Table};

use crate::{FIRST_DUE, LEASE, LINE, PHONE, SENT, Sender, secs};
use harness::Called;

fn hello(sender: &Sender, values: &[&str]) -> Outgoing {
    let names = ["first", "last"].map(str::to_owned).into_iter();
    Outgoing::template(&sender.template, names.zip(values.iter().map(|value| (*value).to_owned())).collect())
}

#[tokio::test]
async fn a_lead_gets_one_message_in_six_round_trips() {
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
    assert_eq!(trips(&calls), 6, "lease, two reads, two writes of the begin, outcome: {calls:?}");
    assert_eq!(calls.len(), 13, "{calls:?}");
    let reads: f64 = calls.iter().map(|call| call.read_units).sum();
    let writes: f64 = calls.iter().map(|call| call.write_units).sum();
    // The recipient was not a contact. The contact and its lookup rows are most of the cost.
    assert_eq!((reads, writes), (9.0, 34.0));
    assert_eq!(sender.provider.beginnings(), 1);

    let expected = Called {
        channel: LINE.to_owned(),
        token: format!("token-of-{LINE}"),
        to: PHONE.to_owned(),
        what: hello(&sender, &["Ana", "Pérez"]),
        answers: None,
        part: PartId { conversation: accepted.conversation, message: accepted.message, part: 0 }.to_string(),
    };
    assert_eq!(sender.provider.calls(), [expected]);
    let found = sender.store().provider_message(accepted.workspace_id, "wamid.1").await.unwrap();
    assert_eq!(found, Some((accepted.conversation, accepted.message, Some(0))));

    let lead = sender.stored(id).await;
    assert_eq!((lead.state, lead.error.clone(), lead.opened), (LeadState::Sent, None, true));
    assert_eq!(lead.version, 3, "QUEUED, SENDING, SENT");
    assert_eq!(
        (lead.contact, lead.conversation, lead.message, &lead.consent, lead.created_at),
        (accepted.contact, accepted.conversation, accepted.message, &accepted.consent, accepted.created_at)
    );
    assert!(lead.updated_at > accepted.updated_at);
    sender.assert_idle(id);
    sender.world.db.clock().advance(FIRST_DUE + LEASE);
    assert_eq!(sender.due().await, []);
}

#[tokio::test]
async fn a_lead_creates_a_contact_a_conversation_and_a_message() {
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
        let query = ContactQuery { owner: None, search, page_size: 20, after: None };
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
    assert_eq!((message.sent_by, message.seq, message.version), (SentBy::Lead, 1, 2));
    assert_eq!(message.content, Content::Template(sender.template.bare_content(message.created_at)));
    assert_eq!((message.parts.len(), message.parts[0].status), (1, MessageStatus::Sent));
    assert_eq!(message.parts[0].provider_message_id.as_deref(), Some("wamid.1"));
    assert_eq!(
        (
            sender.world.db.rows_of(Table::Messages, "plan").len(),
            sender.world.db.rows_from(Table::Messages, "M#").len()
        ),
        (0, 1)
    );
}

#[tokio::test]
async fn the_next_message_gets_the_second_number_and_is_the_only_open_one() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.wake(id).await;
    let (store, workspace, lead) = (sender.store(), sender.world.workspace, sender.stored(id).await);
    let conversation = store.conversation(workspace, lead.conversation).await.unwrap().unwrap();
    let lane = LaneId::Conversation(workspace, lead.conversation);
    let lease = async || match store.lease_lane(lane, LEASE).await.unwrap() {
        Lease::Taken(leased) => *leased,
        other => panic!("the lane exists and has no lease: {other:?}"),
    };
    let leased = lease().await;
    let open = store.open_in(&ConversationLane::of(&leased).unwrap()).await.unwrap();
    assert_eq!((open.plan, open.entries, open.more), (None, vec![], false));
    assert_eq!(store.release_lane(&leased, Rest::Done, FIRST_DUE).await.unwrap(), Released::Done);

    let reply = |draft: &mut Draft| draft.reply_to = Some(lead.message);
    let message = sender.world.message(&conversation, Some("and now I"), vec![], reply).await;
    assert_eq!(message.seq, 2);
    let entries = store.open_in(&ConversationLane::of(&lease().await).unwrap()).await.unwrap().entries;
    assert_eq!(entries.iter().map(|entry| (entry.seq, entry.message)).collect::<Vec<_>>(), [(2, message.id)]);
}

#[tokio::test]
async fn a_lead_without_a_name_gets_its_message() {
    let sender = Sender::start().await;
    let id = sender.world.lead(PHONE, |lead| lead.name = None).await.id;
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, SENT);
    assert_eq!(sender.provider.calls()[0].what, hello(&sender, &["friend", "of ours"]));
    let contact = sender.store().contact(sender.world.workspace, sender.stored(id).await.contact).await;
    let contact = contact.unwrap().unwrap();
    assert_eq!((contact.first_name, contact.last_name), (None, None));
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
    sender.wake(of_other).await;
    sender.wake(of_lineless).await;
    let lines: Vec<String> = sender.provider.calls().into_iter().map(|call| call.channel).collect();
    assert_eq!(lines, ["2", LINE], "a brand without a line uses the workspace's default line");
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
    assert_eq!(sender.state(id).await, SENT);
    assert!(
        matches!(&sender.provider.calls()[0].what, Outgoing::Template { name, .. } if name == "platform")
    );
}

#[tokio::test]
async fn twenty_queue_messages_of_one_lead_make_one_call() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let tasks = vec![crate::task(id); 20];
    assert_eq!(sender.run(&tasks).await, Vec::<String>::new());
    let one = [crate::task(id)];
    futures::future::join_all((0..20).map(|_| sender.run(&one))).await;
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 1));
    sender.assert_idle(id);

    let other = sender.lead_of("+12025550102").await;
    let task = [crate::task(other)];
    futures::future::join_all((0..20).map(|_| sender.run(&task))).await;
    assert_eq!((sender.state(other).await, sender.provider.calls().len()), (SENT, 2));
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
    assert_eq!((sender.provider.calls(), sender.world.db.rows(Table::Leads)), (vec![], vec![]));
    let id = sender.lead().await;
    sender.wake(id).await;
    sender.wake(id).await;
    assert_eq!(sender.provider.calls().len(), 1, "a finished lead does not change");
}

#[tokio::test]
async fn only_the_failed_messages_of_a_batch_are_repeated() {
    let sender = Sender::start().await;
    let (good, bad, breaks) =
        (sender.lead().await, sender.lead_of("+12025550102").await, sender.lead_of("+12025550103").await);
    let mut row = sender.row(bad);
    row["sv"] = serde_json::json!({ "N": "99" });
    sender.world.db.import(Table::Leads, &[row]);
    assert_eq!(sender.run(&[crate::task(good), crate::task(bad), crate::task(unknown_lead())]).await, ["1"]);
    assert_eq!(sender.state(good).await, SENT);
    sender.provider.then(harness::Reaction::Panics);
    assert_eq!(sender.run(&[crate::task(breaks), crate::task(unknown_lead())]).await, ["0"]);

    // The failed call may have been sent, so it is not repeated.
    sender.world.db.clock().advance(LEASE + Duration::from_millis(1));
    sender.wake(breaks).await;
    assert_eq!(sender.state(breaks).await, crate::unknown(crate::INTERRUPTED));
    assert_eq!(sender.provider.numbers(), [PHONE, "+12025550103"]);
}

fn unknown_lead() -> LeadId {
    LeadId::from_uuid(uuid::Uuid::from_u128(1))
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
    assert_eq!(sender.state(id).await, SENT);
}
