//! Histories of a webhook lane.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use domain::webhook::delivery::Next;
use domain::webhook::job::Job;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, EventId, HomeKey, JobId, JobKind, JobState, LaneId,
    Pointer, Rest, Timestamp,
};
use futures::FutureExt;
use harness::{Fault, TestDb};
use store::{Leased, NewEvent, Record, Store, StoreError, Table, VisitBatch, WebhookLane};

use super::RESCUE;
use super::history::{Dice, FUNCTION, Kind, histories, run_history};
use crate::support::hooks::{Hooks, RETRY_FOR, event, place, place_of, slot};

/// The number of rows that a visit reads at once: few, so that there are many pages.
const PAGE: usize = 3;

struct Slot {
    hooks: Hooks,
    /// The number of events so far.
    events: Cell<u64>,
    /// Batches of the stream that were not relayed yet.
    batches: RefCell<Vec<Vec<NewEvent>>>,
    /// Events that the lane was notified of.
    told: RefCell<BTreeSet<HomeKey>>,
    /// The number of posts by event.
    posts: RefCell<BTreeMap<EventId, usize>>,
    is_enabled: Cell<bool>,
    /// A job whose request was interrupted.
    asking: RefCell<Option<Job>>,
    /// The place up to which visitors read.
    position: Cell<Option<HomeKey>>,
    /// A rule that the actors break.
    flaw: Option<Flaw>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// A visitor that was notified of late rows continues from where it was.
    ForgetsLateRows,
    /// Work that is not due yet counts as processed.
    PassesWhatWaits,
    /// A visitor reports that no work is left although a delivery waits.
    LeavesWhatWaits,
}

impl Slot {
    async fn start(flaw: Option<Flaw>) -> Self {
        Self {
            flaw,
            position: Cell::new(None),
            hooks: Hooks::start().await,
            events: Cell::new(0),
            batches: RefCell::default(),
            told: RefCell::default(),
            posts: RefCell::default(),
            is_enabled: Cell::new(true),
            asking: RefCell::default(),
        }
    }

    /// A batch of the stream. Some of its events happened a while ago.
    fn batch(&self, store: &Store, dice: &Dice) -> Vec<NewEvent> {
        let at = store.now().as_millis() - harness::TestClock::START.as_millis();
        let new = |_| {
            self.events.set(self.events.get() + 1);
            let late = if dice.one_in(3) { 10_000 } else { 20 };
            event(self.events.get(), at - dice.below(late) as i64)
        };
        (0..1 + dice.below(4)).map(new).collect()
    }

    /// Processes deliveries that were read; each with the pointer that named it, if any.
    async fn handle(
        &self,
        store: &Store,
        lane: &mut WebhookLane,
        deliveries: Vec<(Delivery, Option<Pointer>)>,
        found: &VisitBatch,
        dice: &Dice,
    ) -> Result<u64, StoreError> {
        let (mut records, mut attempted) = (vec![], 0);
        for (delivery, through) in deliveries {
            if delivery.state != DeliveryState::Pending {
                continue;
            }
            let is_due = match (delivery.next_at, through) {
                (None, _) => true,
                (Some(next_at), Some(through)) => next_at == through.not_before,
                (Some(_), None) => false,
            };
            // A delivery that waits has its own pointer: any other pointer and the row itself are skipped.
            if !is_due {
                continue;
            }
            let mut attempt = None;
            let (delivery, pointer) = if !found.events.contains_key(&delivery.event) {
                let pointer = lane
                    .watermarks
                    .add_pointer(place_of(&delivery), store.now().plus(Duration::from_secs(60)));
                (delivery.waiting(pointer.not_before), Some(pointer))
            } else {
                attempted += 1;
                *self.posts.borrow_mut().entry(delivery.event).or_default() += 1;
                let made = attempt_of(store, &delivery);
                let after = self.attempted(store, lane, &delivery, &made, dice);
                attempt = Some(made);
                after
            };
            records.push(Record { delivery, attempt, pointer });
        }
        if dice.one_in(8) {
            self.db().fail("BatchWriteItem", Fault::HalfProcessed, 1);
        }
        if !records.is_empty() {
            store.record_deliveries(slot(1), &records, RETRY_FOR).await?;
        }
        Ok(attempted)
    }

    fn attempted(
        &self,
        store: &Store,
        lane: &mut WebhookLane,
        delivery: &Delivery,
        attempt: &Attempt,
        dice: &Dice,
    ) -> (Delivery, Option<Pointer>) {
        if dice.below(10) < 5 {
            return (delivery.attempted(attempt, Next::Delivered, store.now()), None);
        }
        if delivery.failures >= 3 {
            return (delivery.attempted(attempt, Next::Exhausted, store.now()), None);
        }
        let wait = [2, 30, 600, 1_200][dice.below(4)];
        let at = store.now().plus(Duration::from_secs(wait));
        let pointer = lane.watermarks.add_pointer(place_of(delivery), at);
        let next = Next::Again { at: pointer.not_before };
        (delivery.attempted(attempt, next, store.now()), Some(pointer))
    }

    /// The deliveries that these pointers name, with the pointers.
    async fn behind(&self, store: &Store, pointers: &[Pointer]) -> Result<Found, StoreError> {
        let events: BTreeSet<EventId> = pointers.iter().map(|pointer| pointer.home.event).collect();
        let homes: BTreeSet<HomeKey> = pointers.iter().map(|pointer| pointer.home).collect();
        let (events, homes): (Vec<_>, Vec<_>) = (events.into_iter().collect(), homes.into_iter().collect());
        let mut batch = store.visit_batch(slot(1), &events, &homes).await?;
        // Two pointers may name one delivery; the one for which it waits counts.
        let mut by_home: BTreeMap<HomeKey, Pointer> = BTreeMap::new();
        for pointer in pointers {
            let next_at = batch.homes.get(&pointer.home).and_then(|home| home.next_at);
            let known = by_home.entry(pointer.home).or_insert(*pointer);
            if next_at == Some(pointer.not_before) {
                *known = *pointer;
            }
        }
        let homes = std::mem::take(&mut batch.homes);
        let deliveries =
            homes.into_iter().map(|(place, home)| (home, by_home.get(&place).copied())).collect();
        Ok((deliveries, batch))
    }

    /// Works on a job. Returns `false` if there was no time for all of it.
    async fn carry_out(
        &self,
        store: &Store,
        lane: &mut WebhookLane,
        mut of: store::LaneJob,
        ends_at: Timestamp,
        dice: &Dice,
    ) -> Result<bool, StoreError> {
        loop {
            if store.now() > ends_at || !self.is_enabled.get() {
                return Ok(false);
            }
            let page = store.job_page(&of, lane, PAGE).await?;
            let (mut found, mut batch) = self.behind(store, &page.pointers).await?;
            let mut places: Vec<HomeKey> = page.deliveries.iter().map(place_of).collect();
            places.extend(&page.places);
            let events: Vec<EventId> = places.iter().map(|place| place.event).collect();
            let homes = store.visit_batch(slot(1), &events, &places).await?;
            found.extend(homes.homes.into_values().map(|home| (home, None)));
            batch.events.extend(homes.events);
            let mut wanted = vec![];
            for (home, through) in found {
                if of.job.asks_for(&home) && batch.events.contains_key(&home.event) {
                    let mut again = home.restarted(of.job.mark(), store.now());
                    again.next_at = None;
                    wanted.push((again, through));
                }
            }
            let attempted = self.handle(store, lane, wanted, &batch, dice).await?;
            let progress = Job { attempted: of.job.attempted + attempted, ..of.job.clone() };
            match store.advance_job(&of, &page, &progress).await? {
                Some(next) if next.job.state == JobState::Active => of = next,
                _ => return Ok(true),
            }
        }
    }

    async fn ask(&self, store: &Store) -> Result<bool, StoreError> {
        let Some(job) = self.asking.borrow().clone() else { return Ok(false) };
        let (_, told) = store.request_job(&job, RESCUE, None).await?;
        self.asking.borrow_mut().take_if(|asking| asking.id == job.id);
        Ok(told.wake.is_some())
    }

    async fn relay(&self, store: &Store, batch: &[NewEvent]) -> Result<bool, StoreError> {
        let ids: Vec<_> = batch.iter().map(|new| (new.event.workspace_id, new.event.id)).collect();
        let standing = store.recorded_events(&ids).await?;
        let new: Vec<_> = batch.iter().filter(|new| !standing.contains_key(&new.event.id)).cloned().collect();
        for end in store.record_events(&new).await {
            end?;
        }
        let least = batch.iter().map(place).min().unwrap();
        let told = store.notify_webhook_lane(slot(1), least, RESCUE).await?;
        self.told.borrow_mut().extend(batch.iter().map(place));
        self.batches.borrow_mut().retain(|other| other != batch);
        Ok(told.wake.is_some())
    }
}

type Found = (Vec<(Delivery, Option<Pointer>)>, VisitBatch);

fn attempt_of(store: &Store, delivery: &Delivery) -> Attempt {
    let outcome = AttemptOutcome::Answered { status: 200, retry_after: None };
    let number = delivery.attempts + 1;
    Attempt { number, at: store.now(), took: Duration::ZERO, outcome, answer: vec![] }
}

impl Kind for Slot {
    fn db(&self) -> &TestDb {
        &self.hooks.db
    }

    fn lane(&self) -> LaneId {
        LaneId::Webhook(slot(1))
    }

    async fn add_work(&self, store: &Store, dice: &Dice) -> Result<bool, StoreError> {
        let known = self.batches.borrow().len();
        let batch = if known > 0 && dice.below(3) < 2 {
            self.batches.borrow()[dice.below(known)].clone()
        } else {
            let batch = self.batch(store, dice);
            self.batches.borrow_mut().push(batch.clone());
            batch
        };
        self.relay(store, &batch).await
    }

    async fn visit(&self, store: &Store, leased: &mut Leased, dice: &Dice) -> Result<Rest, StoreError> {
        let (ends_at, deaths) = (store.now().plus(FUNCTION / 2), leased.deaths);
        let lane = leased.webhook().unwrap();
        if self.flaw == Some(Flaw::ForgetsLateRows) {
            lane.watermarks.base = lane.watermarks.base.max(self.position.get());
        }
        if deaths > 0 {
            lane.watermarks.last_wait = lane.watermarks.last_wait.max(store.last_pointer(slot(1)).await?);
        }
        while lane.watermarks.is_waiting() {
            if store.now() > ends_at {
                return Ok(Rest::TimeUp);
            }
            let now = store.now();
            let (page, more) = store.waiting_deliveries(slot(1), lane.watermarks.waited, PAGE).await?;
            if !self.is_enabled.get() {
                return Ok(Rest::Done);
            }
            let due: Vec<Pointer> = page.iter().copied().take_while(|it| it.not_before <= now).collect();
            let (found, batch) = self.behind(store, &due).await?;
            // Pointers are written after those that were read. If that fails, the next visitor reads these again.
            let before = lane.watermarks.waited;
            lane.watermarks.waited = due.last().copied().or(before);
            if let Err(error) = self.handle(store, lane, found, &batch, dice).await {
                lane.watermarks.waited = before;
                return Err(error);
            }
            if self.flaw == Some(Flaw::PassesWhatWaits) {
                lane.watermarks.waited = page.last().copied().or(lane.watermarks.waited);
            }
            if due.len() < page.len() || more.is_none() {
                break;
            }
        }
        loop {
            if store.now() > ends_at || dice.one_in(15) {
                return Ok(Rest::TimeUp);
            }
            let (page, more) = store.fresh_deliveries(slot(1), lane.watermarks.base, PAGE).await?;
            if !self.is_enabled.get() {
                return Ok(Rest::Done);
            }
            let events: Vec<EventId> = page.iter().map(|delivery| delivery.event).collect();
            let batch = store.visit_batch(slot(1), &events, &[]).await?;
            let last = page.last().map(place_of);
            let page = page.into_iter().map(|delivery| (delivery, None)).collect();
            self.handle(store, lane, page, &batch, dice).await?;
            lane.watermarks.base = last.map(HomeKey::next).or(lane.watermarks.base);
            self.position.set(lane.watermarks.base);
            if more.is_none() {
                break;
            }
        }
        if lane.has_jobs {
            let jobs = store.jobs(slot(1)).await?;
            for job in jobs.into_iter().filter(|of| of.job.state == JobState::Active) {
                if !self.carry_out(store, lane, job, ends_at, dice).await? {
                    return Ok(if self.is_enabled.get() { Rest::TimeUp } else { Rest::Done });
                }
            }
            lane.has_jobs = false;
        }
        if !lane.watermarks.is_waiting() || self.flaw == Some(Flaw::LeavesWhatWaits) {
            return Ok(Rest::Done);
        }
        let (next, _) = store.waiting_deliveries(slot(1), lane.watermarks.waited, 1).await?;
        Ok(next.first().map_or(Rest::Done, |next| Rest::Waits(next.not_before)))
    }

    async fn operate(&self, store: &Store, dice: &Dice) -> Result<bool, StoreError> {
        if self.asking.borrow().is_some() {
            return self.ask(store).await;
        }
        let since = store.now().minus(Duration::from_secs(600));
        let kind = match dice.below(6) {
            0 => {
                self.is_enabled.set(false);
                return Ok(false);
            }
            1 => JobKind::Replay { since, until: store.now() },
            2 => JobKind::Recover { since },
            3 => {
                let jobs = store.jobs(slot(1)).await?;
                for job in jobs {
                    store.cancel_job(&[&job], harness::operator()).await?;
                }
                return Ok(false);
            }
            _ => {
                self.is_enabled.set(true);
                JobKind::Enable
            }
        };
        let job = Job::new(JobId::generate(store.ids()), slot(1), kind, store.now());
        *self.asking.borrow_mut() = Some(job);
        self.ask(store).await
    }

    async fn complete_interrupted(&self, store: &Store) -> Result<(), StoreError> {
        self.ask(store).await?;
        self.is_enabled.set(true);
        let job = Job::new(JobId::generate(store.ids()), slot(1), JobKind::Enable, store.now());
        *self.asking.borrow_mut() = Some(job);
        self.ask(store).await?;
        let batches = self.batches.borrow().clone();
        for batch in batches {
            self.relay(store, &batch).await?;
        }
        Ok(())
    }

    async fn check(&self, is_over: bool) {
        let rows = self.db().rows(Table::Webhooks);
        let own = format!("#E#{}#0", slot(1).endpoint);
        let sk = |row: &serde_json::Value| row["sk"]["S"].as_str().unwrap().to_owned();
        let mine: Vec<&serde_json::Value> =
            rows.iter().filter(|row| row["pk"]["S"].as_str().unwrap().ends_with(&own)).collect();
        let lane = mine.iter().find(|row| sk(row) == "L").map(|row| (*row).clone()).unwrap_or_default();
        let text = |name: &str| lane[name]["S"].as_str().map(str::to_owned);
        let pointers: Vec<String> =
            mine.iter().map(|row| sk(row)).filter(|sk| sk.starts_with("R#")).collect();
        let (base, low) = (text("base"), text("low"));
        let (waited, last_wait) = (text("waited"), text("lastWait"));
        let is_looked_after = lane.get("dueAt").is_some();
        let is_settled = self.asking.borrow().is_none();
        let told: BTreeSet<String> = self.told.borrow().iter().map(|it| it.event.to_string()).collect();
        let is_begun = lane.get("begun").is_some();
        for row in &mine {
            let place = sk(row);
            let Some((_, event)) = place.strip_prefix("D#").and_then(|place| place.split_once('#')) else {
                continue;
            };
            if row["state"]["S"] != "PENDING" || !told.contains(event) {
                continue;
            }
            // The fresh range: from `base` on, or from the lowest place the lane was notified of since the last
            // lease.
            let is_fresh = base.as_ref().is_none_or(|base| place >= *base)
                || low.as_ref().is_some_and(|low| place >= *low);
            let next_at = row["nextAt"]["N"].as_str().map(|at| at.parse::<i64>().unwrap());
            let is_waiting = next_at.is_some_and(|next_at| {
                let pointer = format!("R#{next_at:013}#{}", place.strip_prefix("D#").unwrap());
                // After a visitor's death, the next one reads the last pointer from the table.
                let is_known = is_begun || last_wait.as_ref().is_some_and(|last| pointer <= *last);
                let is_ahead = waited.as_ref().is_none_or(|waited| pointer > *waited);
                is_known && is_ahead && pointers.contains(&pointer)
            });
            assert!(next_at.is_some() || is_fresh, "nobody looks at {place}: {lane}");
            assert!(next_at.is_none() || is_waiting, "nobody comes back to {place}: {lane}, {pointers:?}");
            assert!(
                is_looked_after || !self.is_enabled.get() || !is_settled,
                "{place} is without duty: {lane}"
            );
        }
        if is_over {
            assert!(!is_looked_after && lane.get("lease").is_none(), "{lane}");
            let homes = mine.iter().filter(|row| sk(row).starts_with("D#"));
            let (mut deliveries, posts) = (0, self.posts.borrow());
            for home in homes {
                deliveries += 1;
                let event = sk(home).rsplit('#').next().unwrap().to_owned();
                assert_ne!(home["state"]["S"], "PENDING", "{home}");
                assert!(posts.keys().any(|posted| posted.to_string() == event), "{event} was never posted");
            }
            assert_eq!(deliveries, self.events.get(), "each once");
            assert_eq!(told.len() as u64, self.events.get());
        }
    }
}

async fn histories_of(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        run_history(Slot::start(None).await, seed, 300).await;
    }
}

#[tokio::test]
async fn in_any_history_every_delivery_is_attempted_until_it_ends() {
    histories_of(0..histories(4)).await;
}

#[tokio::test]
async fn in_more_histories_every_delivery_is_attempted_until_it_ends() {
    histories_of(1_000..1_000 + histories(4)).await;
}

/// Whether any history detects that a rule is broken.
async fn is_found(flaw: Flaw) -> bool {
    for seed in 0..20 {
        let history = run_history(Slot::start(Some(flaw)).await, seed, 200);
        if AssertUnwindSafe(history).catch_unwind().await.is_err() {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn a_history_detects_a_visitor_that_forgets_late_rows() {
    assert!(is_found(Flaw::ForgetsLateRows).await);
}

#[tokio::test]
async fn a_history_detects_a_visitor_that_treats_work_not_yet_due_as_done() {
    assert!(is_found(Flaw::PassesWhatWaits).await);
}

#[tokio::test]
async fn a_history_detects_a_visitor_that_leaves_waiting_deliveries() {
    assert!(is_found(Flaw::LeavesWhatWaits).await);
}
