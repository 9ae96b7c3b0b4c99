//! The fixture of webhook tests: a workspace with endpoints, their deliveries and their jobs.

use std::time::Duration;

use domain::webhook::delivery::Next;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, EndpointId, Event, EventType, Job, JobId, LaneId, Rest,
    Slot, WebhookEndpoint, WorkspaceId,
};
use serde_json::{Value, json};
use store::{JobPage, Lease, NewEvent, Record, Table, WebhookLane};

use crate::Desk;

pub(crate) struct Hooks {
    pub(crate) desk: Desk,
    pub(crate) workspace: String,
}

impl Hooks {
    pub(crate) async fn new() -> Self {
        let (desk, workspace) = Desk::with_workspace().await;
        Self { desk, workspace }
    }

    pub(crate) fn within<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &["--workspace", &self.workspace]].concat()
    }

    pub(crate) async fn json(&self, arguments: &[&str]) -> Value {
        self.desk.json(&self.within(arguments)).await
    }

    pub(crate) async fn refused(&self, arguments: &[&str]) -> String {
        self.desk.refused(&self.within(arguments)).await
    }

    pub(crate) fn store(&self) -> &store::Store {
        self.desk.db.store()
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.desk.db.clock().advance(Duration::from_secs(seconds));
    }

    pub(crate) fn id(&self) -> WorkspaceId {
        WorkspaceId::parse(&self.workspace).unwrap()
    }

    pub(crate) async fn endpoint(&self) -> String {
        self.endpoint_with(&[]).await
    }

    pub(crate) async fn endpoint_with(&self, more: &[&str]) -> String {
        let url = "https://hooks.example.com/in";
        let create = [&["webhook", "create", "--url", url, "--api-key", "k"], more].concat();
        self.json(&create).await["endpointId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn read(&self, endpoint: &str) -> WebhookEndpoint {
        let id = EndpointId::parse(endpoint).unwrap();
        self.store().endpoint(self.id(), id).await.unwrap().unwrap()
    }

    pub(crate) async fn slots(&self, endpoint: &str) -> Vec<Slot> {
        self.read(endpoint).await.all_slots().collect()
    }

    /// Sends a test event and returns its delivery's id. The clock advances, so the deliveries have an order.
    pub(crate) async fn test(&self, endpoint: &str) -> String {
        self.desk.db.clock().advance(Duration::from_millis(1));
        let sent = self.json(&["webhook", "test", "--endpoint", endpoint]).await;
        sent["deliveryId"].as_str().unwrap().to_owned()
    }

    /// Records an event for these endpoints, as the relay does.
    pub(crate) async fn event(&self, endpoints: &[&WebhookEndpoint]) -> Event {
        let (store, trial) = (self.store(), self.store().ids().next());
        let event = Event::of_change(EventType::ContactUpdated, self.id(), &trial, 1, store.now());
        let slots: Vec<Slot> =
            endpoints.iter().map(|endpoint| endpoint.slot_of(event.id.as_uuid())).collect();
        let new = NewEvent {
            event: event.clone(),
            about: None,
            request: None,
            body: b"{}".to_vec(),
            slots: slots.into(),
        };
        store.record_events(&[new]).await.into_iter().collect::<Result<(), _>>().unwrap();
        event
    }

    pub(crate) async fn delivery(&self, delivery: &str) -> Delivery {
        let id = DeliveryId::parse(delivery).unwrap();
        self.store().delivery(self.id(), id).await.unwrap().unwrap()
    }

    /// Records an attempt with this status and this resulting state.
    pub(crate) async fn attempted(&self, delivery: &str, status: u16, next: Next) {
        let retry_after = Some(Duration::from_secs(60));
        self.ended(delivery, AttemptOutcome::Answered { status, retry_after }, next).await;
    }

    /// Records an attempt with this outcome and this resulting state.
    pub(crate) async fn ended(&self, delivery: &str, outcome: AttemptOutcome, next: Next) {
        let (store, delivery) = (self.store(), self.delivery(delivery).await);
        let attempt = Attempt {
            number: delivery.attempts + 1,
            at: store.now(),
            took: Duration::from_millis(31),
            outcome,
            answer: b"come \x1b[31mback\nlater".to_vec(),
        };
        self.write(delivery.attempted(&attempt, next, store.now()), Some(attempt)).await;
    }

    /// Overwrites a delivery.
    pub(crate) async fn write(&self, delivery: Delivery, attempt: Option<Attempt>) {
        let record = Record { delivery, attempt, pointer: None };
        self.store().record_deliveries(record.delivery.slot, &[record], Duration::ZERO).await.unwrap();
    }

    /// Records the pace that a visit of a lane leaves.
    pub(crate) async fn visited(&self, slot: Slot, change: impl FnOnce(&mut WebhookLane)) {
        let (store, lane) = (self.store(), LaneId::Webhook(slot));
        let taken = store.lease_lane(lane, Duration::from_secs(90)).await.unwrap();
        let Lease::Taken(mut leased) = taken else { panic!("{taken:?}") };
        change(leased.webhook().unwrap());
        store.release_lane(&leased, Rest::Done, Duration::from_secs(120)).await.unwrap();
    }

    /// The rows of this job in the given slots, if they exist.
    pub(crate) async fn rows_of(&self, job: &str, slots: &[Slot]) -> Vec<Job> {
        let (mut rows, id) = (vec![], JobId::parse(job).unwrap());
        for slot in slots {
            rows.extend(self.store().job(*slot, id).await.unwrap().map(|of| of.job));
        }
        rows
    }

    /// Records a visit that executes a part of a job: the numbers of attempted, acknowledged and skipped deliveries,
    /// and whether these were the last.
    pub(crate) async fn carried_out(&self, slot: Slot, job: &str, counts: [u64; 3], is_last: bool) {
        let id = JobId::parse(job).unwrap();
        let of = self.store().job(slot, id).await.unwrap().unwrap();
        let mut page = JobPage::default();
        page.is_last = is_last;
        let [attempted, delivered, passed] = counts;
        let progress = Job { attempted, delivered, passed, ..of.job.clone() };
        assert!(self.store().advance_job(&of, &page, &progress).await.unwrap().is_some(), "{of:?}");
    }

    /// The slots whose lanes were queued since the last call, in their order, once for each message, with the queue.
    pub(crate) fn queued(&self) -> Vec<(String, u64)> {
        let queued = self.desk.queue.take();
        let mut queued: Vec<(String, u64)> = queued
            .into_iter()
            .map(|message| {
                let body: Value = serde_json::from_str(&message.body).unwrap();
                let slot = body["slot"].as_u64().unwrap();
                let endpoint = &message.group;
                let lane = json!({ "lane": "webhook", "workspaceId": self.workspace, "endpointId": endpoint, "slot": slot });
                assert_eq!((body, message.delay), (lane, 0));
                (message.queue, slot)
            })
            .collect();
        queued.sort();
        queued
    }

    /// The slots of the lanes that were told of a job, with the time when the sweeper processes them.
    pub(crate) fn told(&self) -> Vec<(String, Duration)> {
        let now = self.store().now();
        let rows = self.desk.db.rows(Table::Webhooks);
        let lanes = rows.iter().filter(|row| row["sk"]["S"] == "L" && row["hasJobs"]["BOOL"] == true);
        let mut told: Vec<_> = lanes
            .map(|lane| {
                let due: i64 = lane["dueAt"]["N"].as_str().unwrap().parse().unwrap();
                let slot = lane["pk"]["S"].as_str().unwrap().rsplit('#').next().unwrap();
                (slot.to_owned(), domain::Timestamp::from_millis(due).since(now))
            })
            .collect();
        told.sort();
        told
    }

    pub(crate) async fn listed(&self, more: &[&str]) -> Vec<(String, String)> {
        let listed = self.json(&[&["delivery", "list"], more].concat()).await;
        let text = |delivery: &Value, name: &str| delivery[name].as_str().unwrap().to_owned();
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|delivery| (text(delivery, "deliveryId"), text(delivery, "state")))
            .collect()
    }
}

pub(crate) fn in_state(state: &str, deliveries: &[&String]) -> Vec<(String, String)> {
    deliveries.iter().map(|id| ((*id).clone(), state.to_owned())).collect()
}
