//! Histories: whoever puts work into a lane, visits it, sweeps, or asks for something there, call by call in an order that
//! dice decide. Some die at a call, some answers are lost, messages are lost and come twice, and clocks differ.
//!
//! After every call what must always hold is looked at; in the end everybody rests, and all work is done.
//! `HISTORIES=200 cargo nextest run -p store --test lane` makes more of them.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use domain::{LaneId, Rest, Timestamp};
use harness::TestDb;
use store::{Lease, Leased, Released, Store, StoreError};

use crate::gate::{Actor, Is, Turn};
use crate::{LEASE, RESCUE};

/// How long a function may run; less than a lease by more than clocks differ.
pub(crate) const FUNCTION: Duration = Duration::from_secs(60);
/// By how many milliseconds clocks differ from the right time.
const SKEW: i64 = 2_000;
/// For how long a lane that is claimed is not due again.
const CLAIM: Duration = Duration::from_secs(300);

/// A kind of lanes: what work is in them, and what must hold of it.
pub(crate) trait Kind {
    fn db(&self) -> &TestDb;
    fn lane(&self) -> LaneId;
    /// Puts some work in, or goes on with what somebody died at; whether a visit is to be queued.
    fn put_in(&self, store: &Store, dice: &Dice) -> impl Future<Output = Result<bool, StoreError>>;
    /// Works in the lane.
    fn visit(
        &self,
        store: &Store,
        lane: &mut Leased,
        dice: &Dice,
    ) -> impl Future<Output = Result<Rest, StoreError>>;
    /// Asks for something; whether a visit is to be queued.
    fn operate(&self, store: &Store, dice: &Dice) -> impl Future<Output = Result<bool, StoreError>>;
    /// Ends what was left half done, before everybody rests.
    fn settle(&self, store: &Store) -> impl Future<Output = Result<(), StoreError>>;
    /// Panics if something is not as it must always be. In the end nothing is left to be done.
    fn check(&self, is_over: bool) -> impl Future<Output = ()>;
}

/// Dice that fall alike in every run (xorshift).
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

/// What all actors of a history share.
#[derive(Default)]
struct Shared {
    /// Messages of the queue, with the moment before which they are held back.
    messages: Vec<Timestamp>,
    /// Which visitor works in the lane, as far as it knows.
    holder: Option<usize>,
}

impl Shared {
    fn takes(&mut self, visitor: usize) {
        assert_eq!(self.holder.replace(visitor), None, "two visitors have the lane");
    }

    fn leaves(&mut self, visitor: usize) {
        if self.holder == Some(visitor) {
            self.holder = None;
        }
    }
}

/// Somebody of whom something becomes.
struct Living {
    actor: Actor,
    number: usize,
    /// By when it must have ended.
    deadline: Timestamp,
}

struct History<K> {
    kind: Rc<K>,
    dice: Dice,
    shared: Rc<RefCell<Shared>>,
    living: Vec<Living>,
    born: usize,
}

/// How many histories there are, by default so many.
pub(crate) fn histories(default: u64) -> u64 {
    std::env::var("HISTORIES").ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Goes through a history of so many calls, and brings it to rest.
#[allow(clippy::print_stdout, reason = "what fails names its seed")]
pub(crate) async fn go_through<K: Kind + 'static>(kind: K, seed: u64, calls: usize) {
    println!("{} of seed {seed}", kind.lane());
    let mut history = History {
        kind: Rc::new(kind),
        dice: Dice::new(seed),
        shared: Rc::default(),
        living: vec![],
        born: 0,
    };
    for _ in 0..calls {
        history.happens().await;
        history.kind.check(false).await;
    }
    history.rests().await;
}

impl<K: Kind + 'static> History<K> {
    fn now(&self) -> Timestamp {
        self.kind.db().store().now()
    }

    /// Something happens: a call is made, somebody comes or dies, time passes.
    async fn happens(&mut self) {
        let dice = self.dice.clone();
        if self.living.is_empty() || (self.living.len() < 6 && dice.one_in(5)) {
            match dice.below(10) {
                0..3 => self.puts_in(),
                3 => self.operates(),
                4 => self.sweeps(),
                _ => self.comes(),
            }
        }
        if dice.one_in(12) {
            let seconds = [1, 5, 20, 61, 130, 900][dice.below(6)];
            self.passes(Duration::from_secs(seconds));
        }
        if self.living.is_empty() {
            return;
        }
        let at = dice.below(self.living.len());
        let turn = match dice.below(40) {
            0 => Turn::IsTheLast,
            1 => return self.dies(at),
            2..4 => Turn::IsLost,
            _ => Turn::Goes,
        };
        if self.living[at].actor.step(turn).await != Is::Alive {
            self.dies(at);
        }
    }

    /// Everybody ends what they are at, and then visitors and sweepers come until nothing is left to be done.
    async fn rests(&mut self) {
        self.ends().await;
        // The stream brings again what was not relayed, and operators repeat what was interrupted.
        self.kind.settle(&self.kind.db().store().clone()).await.unwrap();
        for round in 0.. {
            assert!(round < 400, "there is no rest");
            self.passes(Duration::from_secs(61));
            self.sweeps();
            self.ends().await;
            while !self.shared.borrow().messages.is_empty() {
                self.passes(Duration::from_secs(1));
                self.comes();
                if self.living.is_empty() {
                    break;
                }
                self.ends().await;
            }
            self.kind.check(false).await;
            if !self.has_duty().await {
                break;
            }
        }
        self.kind.check(true).await;
    }

    /// Whether anybody is to look after the lane, now or later.
    async fn has_duty(&self) -> bool {
        let now = self.now();
        let clock = self.kind.db().clock();
        clock.advance(Duration::from_secs(30 * 86_400));
        let due = self.kind.db().due(self.kind.lane().kind()).await;
        clock.set(now);
        due.contains(&self.kind.lane())
    }

    async fn ends(&mut self) {
        while !self.living.is_empty() {
            if self.living[0].actor.step(Turn::Goes).await != Is::Alive {
                self.dies(0);
            }
        }
    }

    /// Time passes, and functions end at their deadline.
    fn passes(&mut self, time: Duration) {
        self.kind.db().clock().advance(time);
        let now = self.now();
        for at in (0..self.living.len()).rev() {
            if self.living[at].deadline < now {
                self.dies(at);
            }
        }
    }

    fn dies(&mut self, at: usize) {
        let Living { number, .. } = self.living.remove(at);
        self.shared.borrow_mut().leaves(number);
    }

    fn begins<F: Future<Output = ()> + 'static>(&mut self, act: impl FnOnce(Store, usize) -> F) {
        self.born += 1;
        let number = self.born;
        let actor = Actor::new(self.kind.db(), self.dice.skew(), |store| act(store, number));
        self.living.push(Living { actor, number, deadline: self.now().plus(FUNCTION) });
    }

    fn puts_in(&mut self) {
        let (kind, dice, shared) = (self.kind.clone(), self.dice.clone(), self.shared.clone());
        self.begins(|store, _| async move {
            if let Ok(true) = kind.put_in(&store, &dice).await {
                shared.borrow_mut().messages.push(store.now());
            }
        });
    }

    fn operates(&mut self) {
        let (kind, dice, shared) = (self.kind.clone(), self.dice.clone(), self.shared.clone());
        self.begins(|store, _| async move {
            if let Ok(true) = kind.operate(&store, &dice).await {
                shared.borrow_mut().messages.push(store.now());
            }
        });
    }

    fn sweeps(&mut self) {
        let (kind, shared) = (self.kind.clone(), self.shared.clone());
        self.begins(|store, _| async move {
            // The lanes of histories stand in the first part of the index.
            let Ok(page) = store.due_lanes(kind.lane().kind(), 0, None, 10).await else { return };
            for due in page.lanes {
                if let Ok(Some(_)) = store.claim_lane(&due, store.now().plus(CLAIM)).await {
                    shared.borrow_mut().messages.push(store.now());
                }
            }
        });
    }

    /// A visitor comes, if a message says so. Some messages are lost, and some come once more.
    fn comes(&mut self) {
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
        self.begins(|store, number| async move {
            let Ok(Lease::Taken(mut leased)) = store.lease_lane(kind.lane(), LEASE).await else { return };
            loop {
                shared.borrow_mut().takes(number);
                let visited = kind.visit(&store, &mut leased, &dice).await;
                let rest =
                    visited.unwrap_or_else(|_| Rest::Closed(store.now().plus(Duration::from_secs(30))));
                // A release may be carried out although its answer never comes.
                shared.borrow_mut().leaves(number);
                match store.release_lane(&leased, rest, RESCUE).await {
                    Ok(Released::Moved(moved)) => leased = moved,
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
