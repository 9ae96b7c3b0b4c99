//! Histories: actors add work to a lane, visit it, sweep and request jobs, call by call in a random order.
//! Some die at a call, some answers are lost, queue messages are lost or duplicated, and clocks differ.
//!
//! After every call the invariants are checked. In the end all actors finish and all work must be done.
//! `HISTORIES=200 cargo nextest run -p store --test it lane::` runs more of them.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use domain::{LaneId, Rest, Timestamp};
use harness::TestDb;
use store::{Lease, Leased, Released, Store, StoreError};

use super::gate::{Actor, ActorState, CallFate};
use super::{LEASE, RESCUE};

/// How long a function may run: less than a lease, by more than clocks differ.
pub(crate) const FUNCTION: Duration = Duration::from_secs(60);
/// By how many milliseconds clocks differ from the right time.
const SKEW: i64 = 2_000;
/// How long a claimed lane is not due again.
const CLAIM: Duration = Duration::from_secs(300);

/// A kind of lanes: its work, and the invariants of the work.
pub(crate) trait Kind {
    fn db(&self) -> &TestDb;
    fn lane(&self) -> LaneId;
    /// Adds work, or continues with work at which an actor died. Returns whether a visit is to be queued.
    fn add_work(&self, store: &Store, dice: &Dice) -> impl Future<Output = Result<bool, StoreError>>;
    /// Works in the lane.
    fn visit(
        &self,
        store: &Store,
        lane: &mut Leased,
        dice: &Dice,
    ) -> impl Future<Output = Result<Rest, StoreError>>;
    /// Executes an operator's request. Returns whether a visit is to be queued.
    fn operate(&self, store: &Store, dice: &Dice) -> impl Future<Output = Result<bool, StoreError>>;
    /// Completes interrupted requests, before the final phase.
    fn complete_interrupted(&self, store: &Store) -> impl Future<Output = Result<(), StoreError>>;
    /// Panics if an invariant is violated. If `is_over`, no work may be left.
    fn check(&self, is_over: bool) -> impl Future<Output = ()>;
}

/// A generator of the same random numbers in every run (xorshift).
#[derive(Clone)]
pub(crate) struct Dice(Rc<RefCell<u64>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)))
    }

    pub(crate) fn below(&self, end: usize) -> usize {
        let mut state = self.0.borrow_mut();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) as usize % end
    }

    pub(crate) fn one_in(&self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn skew(&self) -> i64 {
        self.below(2 * SKEW as usize + 1) as i64 - SKEW
    }
}

/// The state that all actors of a history share.
#[derive(Default)]
struct Shared {
    /// The messages in the queue, each with the moment until which it is delayed.
    messages: Vec<Timestamp>,
    /// The visitor that works in the lane, as far as it can tell.
    holder: Option<usize>,
}

impl Shared {
    fn hold(&mut self, visitor: usize) {
        assert_eq!(self.holder.replace(visitor), None, "two visitors have the lane");
    }

    fn release(&mut self, visitor: usize) {
        if self.holder == Some(visitor) {
            self.holder = None;
        }
    }
}

/// An actor that has not ended.
struct RunningActor {
    actor: Actor,
    number: usize,
    /// When the actor's function times out.
    deadline: Timestamp,
}

struct History<K> {
    kind: Rc<K>,
    dice: Dice,
    shared: Rc<RefCell<Shared>>,
    running: Vec<RunningActor>,
    started: usize,
}

/// The number of histories: `HISTORIES`, or the default.
pub(crate) fn histories(default: u64) -> u64 {
    std::env::var("HISTORIES").ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Runs a history of this many calls, and then its final phase.
#[allow(clippy::print_stdout, reason = "what fails names its seed")]
pub(crate) async fn run_history<K: Kind + 'static>(kind: K, seed: u64, calls: usize) {
    println!("{} of seed {seed}", kind.lane());
    let mut history = History {
        kind: Rc::new(kind),
        dice: Dice::new(seed),
        shared: Rc::default(),
        running: vec![],
        started: 0,
    };
    for _ in 0..calls {
        history.random_event().await;
        history.kind.check(false).await;
    }
    history.run_to_completion().await;
}

impl<K: Kind + 'static> History<K> {
    fn now(&self) -> Timestamp {
        self.kind.db().store().now()
    }

    /// One random event: a call is made, an actor starts or dies, time passes.
    async fn random_event(&mut self) {
        let dice = self.dice.clone();
        if self.running.is_empty() || (self.running.len() < 6 && dice.one_in(5)) {
            match dice.below(10) {
                0..3 => self.start_producer(),
                3 => self.start_operator(),
                4 => self.start_sweeper(),
                _ => self.start_visitor(),
            }
        }
        if dice.one_in(12) {
            let seconds = [1, 5, 20, 61, 130, 900][dice.below(6)];
            self.advance(Duration::from_secs(seconds));
        }
        if self.running.is_empty() {
            return;
        }
        let at = dice.below(self.running.len());
        let fate = match dice.below(40) {
            0 => CallFate::ActorDies,
            1 => return self.kill(at),
            2..4 => CallFate::AnswerLost,
            _ => CallFate::Executed,
        };
        if self.running[at].actor.step(fate).await != ActorState::Alive {
            self.kill(at);
        }
    }

    /// The final phase: all actors end, and then visitors and sweepers run until no work is left.
    async fn run_to_completion(&mut self) {
        self.finish_actors().await;
        // The stream redelivers records that were not relayed, and operators repeat interrupted commands.
        self.kind.complete_interrupted(&self.kind.db().store().clone()).await.unwrap();
        for round in 0.. {
            assert!(round < 400, "there is no rest");
            self.advance(Duration::from_secs(61));
            self.start_sweeper();
            self.finish_actors().await;
            while !self.shared.borrow().messages.is_empty() {
                self.advance(Duration::from_secs(1));
                self.start_visitor();
                if self.running.is_empty() {
                    break;
                }
                self.finish_actors().await;
            }
            self.kind.check(false).await;
            if !self.is_due_now_or_later().await {
                break;
            }
        }
        self.kind.check(true).await;
    }

    /// Whether the lane is due now or later.
    async fn is_due_now_or_later(&self) -> bool {
        let now = self.now();
        let clock = self.kind.db().clock();
        clock.advance(Duration::from_secs(30 * 86_400));
        let due = self.kind.db().due(self.kind.lane().kind()).await;
        clock.set(now);
        due.contains(&self.kind.lane())
    }

    async fn finish_actors(&mut self) {
        while !self.running.is_empty() {
            if self.running[0].actor.step(CallFate::Executed).await != ActorState::Alive {
                self.kill(0);
            }
        }
    }

    /// Advances the clock. Functions past their deadline end.
    fn advance(&mut self, time: Duration) {
        self.kind.db().clock().advance(time);
        let now = self.now();
        for at in (0..self.running.len()).rev() {
            if self.running[at].deadline < now {
                self.kill(at);
            }
        }
    }

    fn kill(&mut self, at: usize) {
        let RunningActor { number, .. } = self.running.remove(at);
        self.shared.borrow_mut().release(number);
    }

    fn start_actor<F: Future<Output = ()> + 'static>(&mut self, act: impl FnOnce(Store, usize) -> F) {
        self.started += 1;
        let number = self.started;
        let actor = Actor::new(self.kind.db(), self.dice.skew(), |store| act(store, number));
        self.running.push(RunningActor { actor, number, deadline: self.now().plus(FUNCTION) });
    }

    fn start_producer(&mut self) {
        let (kind, dice, shared) = (self.kind.clone(), self.dice.clone(), self.shared.clone());
        self.start_actor(|store, _| async move {
            if let Ok(true) = kind.add_work(&store, &dice).await {
                shared.borrow_mut().messages.push(store.now());
            }
        });
    }

    fn start_operator(&mut self) {
        let (kind, dice, shared) = (self.kind.clone(), self.dice.clone(), self.shared.clone());
        self.start_actor(|store, _| async move {
            if let Ok(true) = kind.operate(&store, &dice).await {
                shared.borrow_mut().messages.push(store.now());
            }
        });
    }

    fn start_sweeper(&mut self) {
        let (kind, shared) = (self.kind.clone(), self.shared.clone());
        self.start_actor(|store, _| async move {
            // The lanes of histories are in the first partition of the index.
            let Ok(page) = store.due_lanes(kind.lane().kind(), 0, None, 10).await else { return };
            for due in page.lanes {
                if let Ok(Some(_)) = store.claim_lane(&due, store.now().plus(CLAIM)).await {
                    shared.borrow_mut().messages.push(store.now());
                }
            }
        });
    }

    /// Starts a visitor if there is a message. Some messages are lost, and some are delivered twice.
    fn start_visitor(&mut self) {
        let now = self.now().plus(Duration::from_millis(SKEW as u64));
        let mut shared = self.shared.borrow_mut();
        let Some(at) = shared.messages.iter().position(|held_until| *held_until <= now) else { return };
        if self.dice.below(10) > 0 {
            shared.messages.remove(at);
        }
        drop(shared);
        if self.dice.one_in(12) {
            return;
        }
        let (kind, dice, shared) = (self.kind.clone(), self.dice.clone(), self.shared.clone());
        self.start_actor(|store, number| async move {
            let Ok(Lease::Taken(mut leased)) = store.lease_lane(kind.lane(), LEASE).await else { return };
            loop {
                shared.borrow_mut().hold(number);
                let visited = kind.visit(&store, &mut leased, &dice).await;
                let rest =
                    visited.unwrap_or_else(|_| Rest::Closed(store.now().plus(Duration::from_secs(30))));
                // A release may be executed although its answer is lost.
                shared.borrow_mut().release(number);
                match store.release_lane(&leased, rest, RESCUE).await {
                    Ok(Released::HasNewWork(moved)) => leased = moved,
                    Ok(Released::Done) => {
                        let wake = rest.plan(RESCUE, store.now()).and_then(|plan| plan.wake_after);
                        let at = wake.map(|after| store.now().plus(after));
                        shared.borrow_mut().messages.extend(at);
                        return;
                    }
                    Ok(Released::Lost) | Err(_) => return,
                }
            }
        });
    }
}
