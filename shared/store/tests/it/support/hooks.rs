//! Shared by the tests of webhooks and of lanes: events for slots, notifying lanes of them, and visits.

use std::time::Duration;

use domain::webhook::delivery::Next;
use domain::{
    Attempt, AttemptOutcome, Delivery, EndpointId, Event, EventType, HomeKey, LaneId, Pointer, Rest, Slot,
    Timestamp, WorkspaceId,
};
use harness::{TestClock, TestDb};
use serde_json::Value;
use store::{Lease, Leased, NewEvent, NotifyResult, Record, Released, Store, StoreError, Table, WebhookLane};
use uuid::Uuid;

pub(crate) const LEASE: Duration = Duration::from_secs(90);
pub(crate) const RESCUE: Duration = Duration::from_secs(120);
pub(crate) const RETRY_FOR: Duration = Duration::from_secs(2);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const MOMENT: Duration = Duration::from_millis(1);

pub(crate) fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

pub(crate) fn endpoint(n: u128) -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(100 + n))
}

/// The first slot of an endpoint.
pub(crate) fn slot(n: u128) -> Slot {
    Slot { workspace: workspace(), endpoint: endpoint(n), number: 0 }
}

/// An event for the first endpoint, `millis` milliseconds after the start of the clock.
pub(crate) fn event(version: u64, millis: i64) -> NewEvent {
    let at = Timestamp::from_millis(TestClock::START.as_millis() + millis);
    NewEvent {
        about: None,
        event: Event::of_change(EventType::ContactUpdated, workspace(), &Uuid::from_u128(2), version, at),
        request: Some(format!("request-{version}")),
        body: format!("body {version}").into_bytes(),
        slots: vec![slot(1)].into(),
    }
}

pub(crate) fn place(new: &NewEvent) -> HomeKey {
    HomeKey { at: new.event.at, event: new.event.id }
}

pub(crate) fn place_of(delivery: &Delivery) -> HomeKey {
    HomeKey { at: delivery.created_at, event: delivery.event }
}

pub(crate) struct Hooks {
    pub(crate) db: TestDb,
}

impl Hooks {
    pub(crate) async fn start() -> Self {
        Self { db: TestDb::start().await }
    }

    pub(crate) fn store(&self) -> &Store {
        self.db.store()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.store().now()
    }

    pub(crate) async fn record(&self, events: &[NewEvent]) {
        let ends = self.store().record_events(events).await;
        assert!(ends.len() == events.len() && ends.iter().all(Result::is_ok), "{ends:?}");
    }

    pub(crate) async fn notify(&self, new: &NewEvent) -> NotifyResult {
        self.store().notify_webhook_lane(slot(1), place(new), RESCUE).await.unwrap()
    }

    /// Records events and notifies the first endpoint's lane of them.
    pub(crate) async fn relay(&self, events: &[NewEvent]) -> NotifyResult {
        self.record(events).await;
        self.notify(events.iter().min_by_key(|new| place(new)).unwrap()).await
    }

    pub(crate) async fn lease(&self) -> Lease {
        self.store().lease_lane(LaneId::Webhook(slot(1)), LEASE).await.unwrap()
    }

    pub(crate) async fn leased(&self) -> Leased {
        match self.lease().await {
            Lease::Taken(leased) => *leased,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn release(&self, leased: &Leased, rest: Rest) -> Released {
        self.store().release_lane(leased, rest, RESCUE).await.unwrap()
    }

    /// Reads all fresh deliveries, delivers them, and releases the lane.
    pub(crate) async fn visit(&self, rest: Rest) -> Vec<Delivery> {
        let mut leased = self.leased().await;
        let base = leased.webhook().unwrap().watermarks.base;
        let (fresh, next) = self.store().fresh_deliveries(slot(1), base, 1_000).await.unwrap();
        assert_eq!(next, None);
        for delivery in &fresh {
            self.attempt(delivery, 200, Next::Delivered).await;
        }
        let lane = leased.webhook().unwrap();
        lane.watermarks.base = fresh.last().map(|last| place_of(last).next()).or(base);
        assert_eq!(self.release(&leased, rest).await, Released::Done);
        fresh
    }

    /// Records an attempt without a pointer. Returns the delivery after it.
    pub(crate) async fn attempt(&self, delivery: &Delivery, status: u16, next: Next) -> Delivery {
        let attempt = self.attempt_of(delivery, status);
        let after = delivery.attempted(&attempt, next, self.now());
        let record = Record { delivery: after.clone(), attempt: Some(attempt), pointer: None };
        self.store().record_deliveries(delivery.slot, &[record], RETRY_FOR).await.unwrap();
        after
    }

    pub(crate) fn attempt_of(&self, delivery: &Delivery, status: u16) -> Attempt {
        Attempt {
            number: delivery.attempts + 1,
            at: self.now(),
            took: Duration::from_millis(12),
            outcome: AttemptOutcome::Answered { status, retry_after: None },
            answer: vec![0xff, b'x'],
        }
    }

    /// The record of a failed attempt in a lane; the next attempt is made at `at`.
    pub(crate) fn failed(&self, lane: &mut WebhookLane, delivery: &Delivery, at: Timestamp) -> Record {
        let pointer = lane.watermarks.add_pointer(place_of(delivery), at);
        let attempt = self.attempt_of(delivery, 500);
        let next = Next::Again { at: pointer.not_before };
        let delivery = delivery.attempted(&attempt, next, self.now());
        Record { delivery, attempt: Some(attempt), pointer: Some(pointer) }
    }

    pub(crate) async fn put(&self, records: &[Record]) -> Result<(), StoreError> {
        self.store().record_deliveries(slot(1), records, RETRY_FOR).await
    }

    /// All deliveries of the first endpoint.
    pub(crate) async fn all(&self) -> Vec<Delivery> {
        self.store().fresh_deliveries(slot(1), None, 1_000).await.unwrap().0
    }

    pub(crate) async fn waiting(&self) -> Vec<Pointer> {
        self.store().waiting_deliveries(slot(1), None, 1_000).await.unwrap().0
    }

    /// The rows whose sort keys have this prefix.
    pub(crate) fn rows(&self, sk: &str) -> Vec<Value> {
        let mut rows = self.db.rows(Table::Webhooks);
        rows.retain(|row| row["sk"]["S"].as_str().unwrap().starts_with(sk));
        rows
    }

    /// The first endpoint's lane.
    pub(crate) fn lane(&self) -> Value {
        let pk = format!("{}#E#{}#0", workspace(), endpoint(1));
        let mut rows = self.rows("L");
        rows.retain(|row| row["pk"]["S"] == pk);
        rows.pop().unwrap_or_default()
    }

    /// A number attribute of the lane's row.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.lane()[name]["N"].as_str().map(|number| number.parse().unwrap())
    }

    /// The write units and the number of calls since the last call of this method.
    pub(crate) fn cost(&self) -> (f64, usize) {
        let calls = self.db.calls();
        self.db.forget_calls();
        (calls.iter().map(|call| call.write_units).sum(), calls.len())
    }
}
