//! Random histories: every recorded event is delivered in the end, in any order of failures.
//!
//! `SEEDS=1000 cargo nextest run -p webhook-delivery -E 'test(random_histories)'` runs more of them, starting at
//! `FIRST_SEED`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::webhook::job::JobState;
use domain::{AttemptError, DeliveryState, Event, EventId, JobId, JobKind};
use harness::{Death, Fault, TestClock};

use crate::reactions::Reaction;
use crate::world::{BODY, LEASE, RESCUE, World, event_at, least, message, new_event, secs, slot};

/// A SplitMix64 random number generator.
struct Rng(u64);

impl Rng {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides
    }

    fn death(&mut self) -> Death {
        if self.below(2) == 0 { Death::Before } else { Death::After }
    }
}

struct History {
    world: World,
    rng: Rng,
    /// All events.
    events: Vec<Event>,
    /// Recorded events that may not have been added to their lane.
    untold: Vec<Event>,
    jobs: Vec<JobId>,
    log: Vec<String>,
    /// The random numbers of the receiver.
    mood: Arc<Mutex<Mood>>,
}

struct Mood {
    rng: Rng,
    /// The percentage of posts that fail.
    bad: u64,
    /// How often the receiver acknowledged each event.
    acknowledged: HashMap<EventId, u32>,
}

impl Mood {
    fn react(&mut self, event: EventId) -> Reaction {
        if self.rng.below(100) >= self.bad {
            *self.acknowledged.entry(event).or_default() += 1;
            return Reaction::Answers(200, "");
        }
        match self.rng.below(20) {
            0 => Reaction::Stays,
            1 => Reaction::Answers(429, "400"),
            2 => Reaction::Panics,
            3..10 => Reaction::Fails(AttemptError::Timeout),
            _ => Reaction::Answers(503, ""),
        }
    }
}

impl History {
    async fn begin(seed: u64) -> Self {
        let world = World::empty().await;
        let mood = Mood { rng: Rng(seed ^ 0xabcd), bad: 20, acknowledged: HashMap::new() };
        let mood = Arc::new(Mutex::new(mood));
        let reacts = mood.clone();
        world.receivers.always(move |posted| reacts.lock().unwrap().react(posted.event()));
        let rng = Rng(seed);
        Self { world, rng, events: vec![], untold: vec![], jobs: vec![], log: vec![], mood }
    }

    async fn step(&mut self) {
        let what = self.rng.below(100);
        self.log.push(format!("{what} at +{:?}", self.world.now().since(TestClock::START)));
        match what {
            0..25 => self.relay().await,
            25..45 => drop(self.world.run(&[message()]).await),
            45..60 => self.die().await,
            60..68 => {
                self.world.db.heal();
                if self.world.sweep().await.is_some() {
                    self.world.run(&[message()]).await;
                }
            }
            68..73 => self.fail(),
            73..85 => {
                let longest = [5, 100, 1_000, 40_000][self.rng.below(4) as usize];
                self.world.pass(secs(1 + self.rng.below(longest)));
            }
            85..89 => self.mood.lock().unwrap().bad = [0, 20, 60, 100][self.rng.below(4) as usize],
            89..95 => self.ask().await,
            95..98 => {
                self.world.db.heal();
                if self.world.endpoint().await.is_enabled() {
                    self.world.disable().await;
                } else {
                    self.jobs.push(self.world.enable().await);
                }
            }
            // All queue messages are lost.
            _ => drop(self.world.sqs.take()),
        }
    }

    /// Simulates recent or old events. The relay records them and adds them to the lane, or dies.
    async fn relay(&mut self) {
        let now = self.world.now();
        for _ in 0..=self.rng.below(4) {
            let ago = [0, 50, 100_000][self.rng.below(3) as usize];
            let at = now.minus(Duration::from_millis(self.rng.below(ago + 1)));
            let event = event_at(self.events.len() as u64, at);
            self.events.push(event.clone());
            self.untold.push(event);
        }
        if self.rng.below(5) > 0 {
            self.relay_again().await;
            return;
        }
        let (calls, death) = (self.rng.below(4) as usize, self.rng.death());
        let mut dead = self.world.db.die_after(calls, death);
        let through = async { self.relayed().await };
        let is_done = tokio::select! { is_done = through => is_done, _ = &mut dead => false };
        self.world.db.revive();
        if is_done {
            self.untold.clear();
        }
    }

    async fn relay_again(&mut self) {
        if self.relayed().await {
            self.untold.clear();
        }
    }

    /// Simulates the relay's processing of a batch, once or repeated. Returns whether all of it is done.
    async fn relayed(&self) -> bool {
        let store = self.world.store();
        if self.untold.is_empty() {
            return true;
        }
        let ids: Vec<_> = self.untold.iter().map(|event| (slot().workspace, event.id)).collect();
        let Ok(standing) = store.recorded_events(&ids).await else { return false };
        let new: Vec<_> = self.untold.iter().filter(|event| !standing.contains_key(&event.id)).collect();
        let new: Vec<_> = new.into_iter().map(|event| new_event(event, BODY)).collect();
        if store.record_events(&new).await.iter().any(Result::is_err) {
            return false;
        }
        store.notify_webhook_lane(slot(), least(&self.untold), RESCUE).await.is_ok()
    }

    async fn die(&mut self) {
        let (calls, death) = (self.rng.below(12) as usize, self.rng.death());
        self.world.die(calls, death).await;
        if self.rng.below(2) == 0 {
            self.world.pass(LEASE + secs(1));
        }
    }

    fn fail(&mut self) {
        let operation = ["UpdateItem", "Query", "BatchGetItem", "BatchWriteItem"][self.rng.below(4) as usize];
        let faults = match operation {
            "BatchGetItem" | "BatchWriteItem" => {
                &[Fault::Throttled, Fault::AnswerLost, Fault::Unprocessed, Fault::HalfProcessed][..]
            }
            _ => &[Fault::Throttled, Fault::AnswerLost],
        };
        let fault = faults[self.rng.below(faults.len() as u64) as usize];
        self.world.db.fail(operation, fault, 1 + self.rng.below(3) as usize);
    }

    async fn ask(&mut self) {
        let Some(last) = self.events.len().checked_sub(1) else { return };
        self.world.db.heal();
        let mut any = || self.events[self.rng.below(last as u64 + 1) as usize].clone();
        let (one, other) = (any(), any());
        let kind = match self.rng.below(3) {
            0 => JobKind::Retry { event: one.id, at: one.at },
            1 => JobKind::Replay { since: one.at.min(other.at), until: one.at.max(other.at) },
            _ => JobKind::Recover { since: one.at },
        };
        self.jobs.push(self.world.ask(kind).await);
    }

    /// Ends all failures.
    async fn end(&mut self) {
        self.world.db.heal();
        self.mood.lock().unwrap().bad = 0;
        self.relay_again().await;
        assert!(self.untold.is_empty());
        if !self.world.endpoint().await.is_enabled() {
            self.jobs.push(self.world.enable().await);
        }
        self.world.to_rest().await;
        let mut wrong = BTreeMap::new();
        for event in &self.events {
            let Some(delivery) = self.world.delivery(event.id).await else {
                wrong.insert(event.id, "there is none".to_owned());
                continue;
            };
            let attempts = self.world.store().attempts(&delivery).await.unwrap();
            let posts = self.world.receivers.count_of(event.id);
            let recorded =
                attempts.iter().filter(|it| it.outcome.error_code() != Some("WORKER_DIED")).count();
            let acknowledged = self.mood.lock().unwrap().acknowledged.get(&event.id).copied().unwrap_or(0);
            let is_well = match delivery.state {
                DeliveryState::Delivered => acknowledged > 0,
                DeliveryState::Exhausted => delivery.failures >= 10,
                DeliveryState::Pending | DeliveryState::Parked | DeliveryState::Cancelled => false,
            };
            let is_whole = delivery.attempts as usize == attempts.len()
                && attempts.iter().zip(1..).all(|(attempt, number)| attempt.number == number)
                && recorded <= posts;
            if !is_well || !is_whole {
                wrong.insert(event.id, format!("{posts} posts, {acknowledged} answered: {delivery:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        for id in &self.jobs {
            assert_ne!(self.world.job(*id).await.job.state, JobState::Active);
        }
    }
}

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
}

#[tokio::test]
async fn every_recorded_event_is_delivered_after_random_failures() {
    let first = from_env("FIRST_SEED", 1);
    for seed in first..first + from_env("SEEDS", 60) {
        let mut history = History::begin(seed).await;
        for _ in 0..40 {
            history.step().await;
        }
        let log = history.log.join("\n");
        let ends = std::panic::AssertUnwindSafe(history.end());
        if let Err(panic) = futures::FutureExt::catch_unwind(ends).await {
            println!("seed {seed}:\n{log}");
            std::panic::resume_unwind(panic);
        }
    }
}
