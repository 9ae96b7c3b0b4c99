//! Every read leaves out the rows whose time is over, although DynamoDB deletes them up to days late.

use std::path::{Path, PathBuf};

use domain::contact::search::SearchQuery;
use domain::conversation::ContactRef;
use domain::message::Draft;
use domain::webhook::job::Job;
use domain::{
    AttributeType, Cellphone, ChannelId, Contact, Conversation, Delivery, DeliveryState, JobId, JobKind,
    LaneKind, Lead, Media, Message, MessageBody, MessageId, Team, Template, TemplateScope, Timestamp, User,
};
use harness::World;
use serde_json::json;
use store::{
    ContactQuery, ConversationQuery, DeliveryFilter, LeadFilter, MessageQuery, MessageStored, NewMessage,
    Store, Table, WebhookLane,
};

use crate::support::hooks::{Hooks, RESCUE, event, place_of, slot, workspace};

const EMAIL: &str = "ana@example.com";
const NUMBER: &str = "+34600111222";
const LINE: &str = "1045551234567";

/// Reads that also find rows that have expired: what an erasure must find, and two reads that tell where to look (the
/// rows themselves decide).
const FIND_EXPIRED_ROWS: [&str; 4] =
    ["due_lanes", "last_pointer", "conversations_with", "whole_conversation"];

#[tokio::test]
async fn no_read_finds_a_row_whose_time_is_over() {
    let scene = Scene::start().await;
    for (read, found) in scene.found().await {
        assert!(found > 0, "{read} finds nothing");
    }
    scene.expire();
    for (read, found) in scene.found().await {
        assert_eq!(found > 0, FIND_EXPIRED_ROWS.contains(&read), "{read} finds {found}");
    }
}

/// A visit goes on after pages in which nothing is left, and finds what lies behind them.
#[tokio::test]
async fn pages_of_expired_rows_lead_to_the_rows_after_them() {
    let hooks = Hooks::start().await;
    let events: Vec<_> = (0..10).map(|n| event(n, n as i64)).collect();
    hooks.record(&events).await;
    let mut lane = WebhookLane::default();
    let now = hooks.now();
    let records: Vec<_> = hooks.all().await.iter().map(|of| hooks.failed(&mut lane, of, now)).collect();
    hooks.put(&records).await.unwrap();
    let mut rows = hooks.db.rows(Table::Webhooks);
    rows.retain(|row| {
        let sk = row["sk"]["S"].as_str().unwrap();
        (sk.starts_with("D#") || sk.starts_with("R#")) && !sk.contains(&events[9].event.id.to_string())
    });
    rows.iter_mut().for_each(|row| row["expiresAt"] = json!({ "N": (now.as_seconds() - 1).to_string() }));
    hooks.db.import(Table::Webhooks, &rows);

    let (mut fresh, mut from, mut pages) = (vec![], None, 0);
    while pages == 0 || from.is_some() {
        let (page, next) = hooks.store().fresh_deliveries(slot(1), from, 2).await.unwrap();
        fresh.extend(page.iter().map(|delivery| delivery.event));
        (from, pages) = (next, pages + 1);
    }
    assert_eq!(fresh, [events[9].event.id]);
    let (mut waiting, mut behind, mut pages) = (vec![], None, 0);
    while pages == 0 || behind.is_some() {
        let (page, last) = hooks.store().waiting_deliveries(slot(1), behind, 2).await.unwrap();
        waiting.extend(page);
        (behind, pages) = (last, pages + 1);
    }
    assert_eq!(waiting, [records[9].pointer.unwrap()]);
    assert_eq!(hooks.store().last_pointer(slot(1)).await.unwrap(), lane.watermarks.last_wait);
}

/// The module of reads leaves out the rows that have expired. A call elsewhere would return them.
#[test]
fn only_one_module_calls_the_read_operations_of_dynamodb() {
    const READS: [&str; 6] = [
        ".get_item()",
        ".batch_get_item()",
        ".query()",
        ".scan()",
        ".transact_get_items()",
        ".execute_statement()",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) = (vec![root], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let calling = |path: &PathBuf| {
        let text: String = std::fs::read_to_string(path).unwrap().split_whitespace().collect();
        READS.iter().any(|read| text.contains(read))
    };
    files.retain(calling);
    assert!(files.len() == 1 && files[0].ends_with("dynamodb/read.rs"), "{files:?}");
}

/// A row of each kind, or nearly.
struct Scene {
    world: World,
    user: User,
    team: Team,
    template: Template,
    contact: Contact,
    conversation: Conversation,
    message: Message,
    file: Media,
    lead: Lead,
    delivery: Delivery,
    job: JobId,
}

impl Scene {
    async fn start() -> Self {
        let hooks = Hooks::start().await;
        let event = event(1, 0);
        hooks.relay(std::slice::from_ref(&event)).await;
        let mut lane = WebhookLane::default();
        for _ in 0..2 {
            let record = hooks.failed(&mut lane, &hooks.all().await[0], hooks.now());
            hooks.put(&[record]).await.unwrap();
        }
        let delivery = hooks.all().await.remove(0);
        let kind = JobKind::Retry { event: delivery.event, at: delivery.created_at };
        let job = Job::new(JobId::generate(hooks.store().ids()), slot(1), kind, hooks.now());
        hooks.store().request_job(&job, RESCUE, None).await.unwrap();

        let world = World::over(hooks.db).await;
        let store = world.db.store();
        let user = world.user(EMAIL, |_| ()).await;
        let team = world.team(&[user.id]).await;
        let template = world.template(|_| ()).await;
        world.line(LINE, |_| ()).await;
        world.open_attribute("size", AttributeType::Text, |_| ()).await;
        world.capture(|_| ()).await;
        let contact = world.contact(|contact| contact.cellphone = Cellphone::parse(NUMBER).ok()).await;
        let external = World::external(contact.id, LINE);
        let conversation = world.conversation(|conversation| conversation.externals = vec![external]).await;
        let file = world.media(|_| ()).await;
        let draft = Draft {
            conversation: conversation.id,
            body: MessageBody::parse("Hello").ok(),
            media: vec![],
            broadcast: true,
            reply_to: None,
        };
        let message = draft.message(MessageId::generate(store.ids()), &conversation, 1, vec![], store.now());
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        let stored = store.store_message(&new, RESCUE, "request").await.unwrap();
        assert_eq!(stored, MessageStored::Done);
        store.saw(world.workspace, conversation.id, contact.id, store.now()).await.unwrap();
        let lead = world.lead("+34600111223", |_| ()).await;
        Self {
            world,
            user,
            team,
            template,
            contact,
            conversation,
            message,
            file,
            lead,
            delivery,
            job: job.id,
        }
    }

    /// A store that remembers nothing.
    fn store(&self) -> Store {
        self.world.db.operator_store(self.world.db.clock().clone(), self.world.db.ids().clone())
    }

    /// Sets the end of each row, in each table. The keys and all else stay.
    fn expire(&self) {
        let over = self.world.db.store().now().as_seconds() - 1;
        for table in Table::ALL {
            let mut rows = self.world.db.rows(table);
            rows.iter_mut().for_each(|row| row["expiresAt"] = json!({ "N": over.to_string() }));
            self.world.db.import(table, &rows);
        }
    }

    /// How much each read finds.
    async fn found(&self) -> Vec<(&'static str, usize)> {
        // Later than the moment at which the lanes with work are due.
        self.world.db.clock().advance(RESCUE);
        let (store, of) = (self.store(), self.world.workspace);
        let (talk, slot, home) = (self.conversation.id, slot(1), place_of(&self.delivery));
        let channel = ChannelId::parse(LINE).unwrap();
        let number = Cellphone::parse(NUMBER).unwrap();
        let all = DeliveryFilter {
            since: Timestamp::from_millis(0),
            until: Timestamp::from_millis(i64::MAX),
            states: &[],
            event_type: None,
        };
        let contacts =
            ContactQuery { owner: None, external_id: None, search: None, page_size: 10, after: None };
        let search = ContactQuery { search: SearchQuery::parse("600111").ok(), ..contacts.clone() };
        let talks =
            ConversationQuery { status: None, external: None, internal: None, page_size: 10, after: None };
        let active = ConversationQuery { status: Some(self.conversation.status), ..talks.clone() };
        let messages = MessageQuery { conversation: talk, direction: None, page_size: 10, after: None };
        let batch = store.visit_batch(slot, &[home.event], &[home]).await.unwrap();
        let whole = store.whole_conversation(of, talk).await.unwrap();
        let place = [(workspace(), home.event)];
        let people = [ContactRef::Cellphone(number.clone())];
        let kind = LaneKind::Webhook;
        let mut due = 0;
        for shard in 0..Store::due_shards(kind) {
            due += store.due_lanes(kind, shard, None, 10).await.unwrap().lanes.len();
        }
        vec![
            ("workspace", store.workspace(of).await.unwrap().iter().count()),
            ("workspaces", store.workspaces().await.unwrap().len()),
            ("user", store.user(of, self.user.id).await.unwrap().iter().count()),
            ("users", store.users(of).await.unwrap().len()),
            ("team", store.team(of, self.team.id).await.unwrap().iter().count()),
            ("teams", store.teams(of).await.unwrap().len()),
            (
                "template",
                store.template(TemplateScope::Workspace(of), self.template.id).await.unwrap().iter().count(),
            ),
            ("templates_of", store.templates_of(TemplateScope::Workspace(of)).await.unwrap().len()),
            ("definitions", store.definitions(of).await.unwrap().iter().count()),
            ("line", store.line(of, &channel).await.unwrap().iter().count()),
            ("line_claim", store.line_claim(&channel).await.unwrap().iter().count()),
            ("line_token", store.line_token(of, &channel).await.unwrap().iter().count()),
            ("capture", store.capture(of).await.unwrap().iter().count()),
            ("captcha_secret", store.captcha_secret(of).await.unwrap().iter().count()),
            ("api_keys", store.api_keys(of).await.unwrap().len()),
            ("contact", store.contact(of, self.contact.id).await.unwrap().iter().count()),
            (
                "contacts_by_id",
                store.contacts_by_id(of, &[self.contact.id, self.contact.id]).await.unwrap().len(),
            ),
            ("contacts_page", store.contacts_page(of, contacts).await.unwrap().items.len()),
            ("a search", store.contacts_page(of, search).await.unwrap().items.len()),
            (
                "contact_holding_cellphone",
                store.contact_holding_cellphone(of, &number).await.unwrap().iter().count(),
            ),
            ("people_named", store.people_named(of, &people, &[]).await.unwrap().contacts.len()),
            ("conversation", store.conversation(of, talk).await.unwrap().iter().count()),
            ("conversations_page", store.conversations_page(of, talks).await.unwrap().items.len()),
            ("of a status", store.conversations_page(of, active).await.unwrap().items.len()),
            ("conversation_and_seen", store.conversation_and_seen(of, talk).await.unwrap().iter().count()),
            ("last_seen", store.last_seen(std::slice::from_ref(&self.conversation)).await.unwrap()[0].len()),
            ("message", store.message(of, talk, self.message.id).await.unwrap().iter().count()),
            ("messages_before", store.messages_before(of, talk, None, 10).await.unwrap().len()),
            ("messages_page", store.messages_page(of, messages).await.unwrap().items.len()),
            ("last_seq", store.last_seq(of, talk).await.unwrap() as usize),
            ("lane_state", store.lane_state(of, talk).await.unwrap().iter().count()),
            ("media", store.media(of, &[self.file.id]).await.unwrap().len()),
            ("media_of", store.media_of(of, self.file.id).await.unwrap().iter().count()),
            ("lead", store.lead(of, self.lead.id).await.unwrap().iter().count()),
            ("leads", store.leads(of, LeadFilter::default(), None, 10).await.unwrap().leads.len()),
            ("recorded_events", store.recorded_events(&place).await.unwrap().len()),
            ("fresh_deliveries", store.fresh_deliveries(slot, None, 10).await.unwrap().0.len()),
            ("waiting_deliveries", store.waiting_deliveries(slot, None, 10).await.unwrap().0.len()),
            ("events of a visit", batch.events.len()),
            ("homes of a visit", batch.homes.len()),
            ("deliveries", store.deliveries(slot, all, 10, None).await.unwrap().deliveries.len()),
            ("count_deliveries", store.count_deliveries(slot, DeliveryState::Pending).await.unwrap()),
            ("attempts", store.attempts(&self.delivery).await.unwrap().len() - 1),
            ("jobs", store.jobs(slot).await.unwrap().len()),
            ("job", store.job(slot, self.job).await.unwrap().iter().count()),
            ("due_lanes", due),
            ("last_pointer", store.last_pointer(slot).await.unwrap().iter().count()),
            ("conversations_with", store.conversations_with(of, self.contact.id).await.unwrap().len()),
            ("whole_conversation", whole.messages.len()),
        ]
    }
}
