//! A webhook lane: its rows, and who works on them. `steps.rs` says what they do.
//!
//! Rows, as in the table: the lane `L`; a home row for each delivery, by key; pointers `R#<not before>#<key>`; one job
//! `J`. Keys are small numbers. Which relay comes when is free, so keys come in any order.

mod steps;

use std::fmt::{self, Debug};

use stateright::{Model, Property};

use crate::check::Shown;
use crate::lane::{Lane, Release, Released, Time};
use crate::properties;
use crate::rules::{Rule, Rules};
use steps::Steps;

/// A delivery's key: when its event was recorded. A larger one is a later one.
pub type Key = u8;

/// The greatest number of deliveries.
pub const KEYS: usize = 3;

/// What may happen: how much work, and how many faults of each kind.
#[derive(Clone, Debug)]
pub struct Webhooks {
    /// The rules that hold.
    pub rules: Rules,
    /// A batch of events each, by the keys of their deliveries. Relays run at the same time.
    pub relays: Vec<Vec<Key>>,
    /// How many rows a page has.
    pub page: usize,
    /// After how many failures a delivery is exhausted.
    pub attempts: u8,
    /// By how much a visitor's clock may be ahead of the others.
    pub ahead: Time,
    /// What the operator does, in this order.
    pub operator: Vec<Order>,
    /// A delivery whose post kills its visitor, each time.
    pub poison: Option<Key>,
    /// How many posts may fail.
    pub failures: u8,
    /// How many faults there may be, all in all.
    pub faults: u8,
    /// Which ones.
    pub kinds: Vec<Fault>,
    /// A relay puts its rows in one step: for bounds at which nobody is to look between them.
    pub puts_at_once: bool,
    /// How often a row may wait in vain for its event: a relay takes no longer.
    pub late_events: u8,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            rules: Rules::all(),
            relays: vec![vec![0]],
            page: 1,
            attempts: 2,
            ahead: 0,
            operator: vec![],
            poison: None,
            failures: 0,
            faults: 0,
            kinds: vec![
                Fault::RelayAgain,
                Fault::Kill,
                Fault::Lost,
                Fault::Stray,
                Fault::NotSent,
                Fault::TimeUp,
            ],
            puts_at_once: false,
            late_events: 0,
        }
    }
}

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A relay is killed, or its batch repeated though it was done.
    RelayAgain,
    /// A visitor is killed.
    Kill,
    /// A message is lost.
    Lost,
    /// A message is repeated, or so late that all it told of is done: it comes from nowhere.
    Stray,
    /// A post does not leave our network: the lane closes.
    NotSent,
    /// A visitor runs out of time.
    TimeUp,
}

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Disables the endpoint.
    Disable,
    /// Enables it: the row only.
    Enable,
    /// Puts a job.
    PutJob(JobKind),
    /// Tells the lane of it.
    TellJob,
    /// Cancels the job, or does not.
    MayCancel,
}

/// What a job attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Whatever waits, at once.
    Enable,
    /// Whatever was handled.
    Replay,
    /// Whatever was exhausted.
    Recover,
}

/// A home row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Home {
    /// What became of it.
    pub state: HomeState,
    /// Attempts that failed.
    pub failures: u8,
    /// No attempt before then, and a pointer there.
    pub next: Option<Time>,
    /// How often it was put off because its event was not there.
    pub put_off: u8,
    /// An attempt was begun, carefully.
    pub begun: bool,
    /// The job attempted it.
    pub by_job: bool,
    /// When it was last attempted, where jobs go by that.
    pub last: Time,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HomeState {
    /// It is to be attempted.
    #[default]
    Pending,
    /// It was acknowledged.
    Delivered,
    /// It failed too often.
    Exhausted,
}

/// A pointer: a moment and the delivery that waits for it, in this order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(u8);

impl Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "R#{}#{}", self.not_before(), self.key())
    }
}

impl Pointer {
    fn new(not_before: Time, key: Key) -> Self {
        Self(not_before * KEYS as u8 + key)
    }

    /// The last one that there may be of that moment.
    fn last_of(not_before: Time) -> Self {
        Self::new(not_before, KEYS as u8 - 1)
    }

    fn not_before(self) -> Time {
        self.0 / KEYS as u8
    }

    fn key(self) -> Key {
        self.0 % KEYS as u8
    }
}

/// A set of pointers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pointers(u64);

impl Pointers {
    fn put(&mut self, pointer: Pointer) {
        self.0 |= 1 << pointer.0;
    }

    /// Those behind one, in order.
    fn behind(self, waited: Pointer) -> impl Iterator<Item = Pointer> {
        (waited.0 + 1..64).map(Pointer).filter(move |pointer| self.has(*pointer))
    }

    fn has(self, pointer: Pointer) -> bool {
        self.0 & 1 << pointer.0 != 0
    }

    fn last(self) -> Pointer {
        Pointer(63_u32.saturating_sub(self.0.leading_zeros()) as u8)
    }
}

/// A set of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys(u8);

impl Keys {
    fn add(&mut self, key: Key) {
        self.0 |= 1 << key;
    }

    fn remove(&mut self, key: Key) {
        self.0 &= !(1 << key);
    }

    /// Whether a key is one of them.
    pub fn has(self, key: Key) -> bool {
        self.0 & 1 << key != 0
    }

    fn holds(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }
}

/// A job's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// What it attempts.
    pub kind: JobKind,
    /// How it stands.
    pub state: JobState,
    /// Where it goes on: the next key of a range of home rows, the last pointer of a range of pointers.
    pub position: u8,
    /// When it was put, by the operator's clock.
    pub made: Time,
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It is carried out.
    Active,
    /// It was.
    Finished,
    /// It was stopped.
    Cancelled,
}

/// Where a relay is in its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relay {
    /// Its next step.
    pub at: RelayStep,
    /// The events that stood when the batch began.
    pub stands: Keys,
}

/// The next step of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RelayStep {
    /// It has its batch.
    #[default]
    Begin,
    /// It puts the home row of the event of that number.
    Home(u8),
    /// It puts the event of that number.
    Event(u8),
    /// It tells the lane, by the first form.
    Tell,
    /// It tells the lane, by the second form.
    TellAgain,
    /// It brings forward the `dueAt` that the tell answered.
    Hasten(Time),
    /// It is done.
    End,
}

/// Somebody with a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Visitor {
    /// The lease's first form was refused: `low` is behind `base`. The clock is ahead by that much.
    Refused(Time),
    /// The lane was leased.
    Visiting(Visit),
}

/// A visit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit {
    /// Its lease is the lane's.
    pub mine: bool,
    /// By how much its clock is ahead.
    pub ahead: Time,
    /// The mark at the lease or the last refused release.
    pub seen: u8,
    /// The least key not handled, or behind the last one read: `base` at the release.
    pub position: Key,
    /// The last pointer handled: `waited` at the release.
    pub waited: Pointer,
    /// The last pointer that there may be.
    pub last_wait: Pointer,
    /// There may be jobs.
    pub has_jobs: bool,
    /// The lane's visitors died twice in a row.
    pub careful: bool,
    /// The endpoint as the first look found it, where later ones go by that.
    pub endpoint: Option<bool>,
    /// Something was done, so that time may be up.
    pub busy: bool,
    /// What it does next.
    pub stage: Stage,
}

/// What a visitor does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// It looks for work.
    Look,
    /// It notes that it begins with the page's only row.
    Note(Page),
    /// It posts and records a page.
    Act(Page),
    /// It gives the lane back; parked, if the endpoint is disabled.
    Release(Release, bool),
    /// It reads the mark again, and then gives the lane back.
    ReadMark(Release, bool),
}

/// A page of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Page {
    /// Where it comes from.
    pub from: Range,
    /// Its rows.
    pub items: Vec<Item>,
}

/// Where work comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Range {
    /// Pointers that are due.
    Due,
    /// Home rows from `base` on.
    Fresh,
    /// The job.
    Job,
}

/// A row of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item {
    /// Where it stands in its range: a key or a pointer.
    pub at: u8,
    /// Whose it is.
    pub key: Key,
    /// What is done with it.
    pub what: What,
}

/// What is done with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// Nothing.
    Pass,
    /// It is posted.
    Attempt,
    /// It waits for its event.
    PutOff,
    /// Its last attempt killed the visitor: that counts as a failure.
    Died,
    /// Its pointer is put again.
    Repair,
}

/// A write of a page's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Of a pointer.
    Pointer(Pointer),
    /// Of a home row.
    Home(Key, Home),
    /// Of the job's position, if it is active still.
    Position(u8),
}

/// What became of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Delivered,
    /// It was not.
    Failed,
    /// It never left.
    NotSent,
}

/// What went wrong once, and shows in no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A delivery that was recorded as delivered was attempted again, and nobody asked for it.
    DeliveredAgain,
    /// A delivery was attempted before its moment.
    TooEarly,
    /// A delivery was attempted without its event.
    NoEvent,
    /// A job ended without an attempt that it should have made.
    JobMissed,
    /// A job attempted again what it had recorded.
    JobRepeated,
    /// A job went on after it was cancelled.
    CancelledWentOn,
}

/// What the checker remembers, and no row does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// Deliveries that the lane was told of.
    pub told: Keys,
    /// Deliveries recorded as delivered at some time, and not replayed since.
    pub delivered: Keys,
    /// What the job should attempt.
    pub asked: Keys,
    /// What was attempted since.
    pub attempted: Keys,
    /// Pages that a cancelled job attempted: the one under way, at most.
    pub after_cancel: u8,
    /// What went wrong first.
    pub wrong: Option<Wrong>,
}

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The lane's generic part.
    pub lane: Lane,
    /// Home rows before it were handled.
    pub base: Key,
    /// The least key told of since the last lease.
    pub low: Option<Key>,
    /// Pointers up to it were handled.
    pub waited: Pointer,
    /// The last pointer put, as far as visitors lived to say so.
    pub last_wait: Pointer,
    /// There may be jobs.
    pub has_jobs: bool,
    /// The home rows.
    pub homes: [Option<Home>; KEYS],
    /// The pointers. Those up to `waited` are left out, as nobody reads them again.
    pub pointers: Pointers,
    /// The events.
    pub events: Keys,
    /// The job.
    pub job: Option<Job>,
    /// The endpoint is disabled.
    pub disabled: bool,
    /// The relays.
    pub relays: Vec<Relay>,
    /// How many of the operator's orders were carried out.
    pub orders: usize,
    /// Who has a message.
    pub visitors: Vec<Visitor>,
    /// Messages in the queue.
    pub messages: u8,
    /// The clock.
    pub clock: Time,
    /// How many posts may fail yet.
    pub failures: u8,
    /// How many faults may come yet.
    pub faults: u8,
    /// What the checker remembers.
    pub history: History,
}

impl State {
    /// The home row of a delivery.
    pub fn home(&self, key: Key) -> Option<&Home> {
        self.homes[key as usize].as_ref()
    }

    /// Whether a pointer leads to that row's next attempt, and will be read.
    pub fn is_found(&self, key: Key, home: &Home) -> bool {
        home.next.is_none_or(|next| {
            let pointer = Pointer::new(next, key);
            let looked_for = self.lane.begun > 0 || pointer <= self.last_wait;
            pointer > self.waited && self.pointers.has(pointer) && looked_for
        })
    }

    fn visit(&mut self, number: usize) -> &mut Visit {
        match &mut self.visitors[number] {
            Visitor::Visiting(visit) => visit,
            Visitor::Refused(_) => unreachable!("only who visits takes steps of a visit"),
        }
    }

    /// Queues a message. Of three, one might as well be the repeat of another.
    fn queue(&mut self) {
        self.messages = (self.messages + 1).min(2);
    }

    fn wrong(&mut self, wrong: Wrong) {
        self.history.wrong.get_or_insert(wrong);
    }

    /// The same state, as it is kept: what makes no difference is left out.
    fn settled(mut self) -> Self {
        let seen = self.visitors.iter().filter_map(|visitor| match visitor {
            Visitor::Visiting(visit) => Some(visit.seen),
            Visitor::Refused(_) => None,
        });
        let least = seen.min().unwrap_or(self.lane.mark).min(self.lane.mark);
        self.lane.mark -= least;
        self.lane.due = self.lane.due.map(|due| if due <= self.clock { 0 } else { due });
        for visitor in &mut self.visitors {
            if let Visitor::Visiting(visit) = visitor {
                visit.seen -= least;
            }
        }
        for visitor in &mut self.visitors {
            if let Visitor::Visiting(visit) = visitor {
                visit.busy &= self.faults > 0;
                visit.last_wait = visit.last_wait.max(self.waited);
            }
        }
        self.visitors.sort();
        for relay in &mut self.relays {
            if !matches!(relay.at, RelayStep::Home(_) | RelayStep::Event(_)) {
                relay.stands = Keys::default();
            }
        }
        for key in 0..KEYS as Key {
            if let Some(home) = &mut self.homes[key as usize]
                && self.events.has(key)
            {
                home.put_off = 0;
            }
        }
        self.last_wait = self.last_wait.max(self.waited);
        self.pointers.0 = (self.pointers.0 >> self.waited.0 >> 1) << self.waited.0 << 1;
        self
    }
}

/// A step, as a counterexample shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A relay did its step.
    Relay(usize, RelayStep),
    /// A relay died, or its batch came again: it begins anew.
    RelayAgain(usize),
    /// The operator gave an order, or did not.
    Operator(Order, bool),
    /// A message was lost.
    Lost,
    /// A message came from nowhere.
    Stray,
    /// The sweeper claimed the lane and queued a message.
    Sweep,
    /// The lease of a dead visitor ran out.
    Expired,
    /// Time went on.
    Tick,
    /// A message was dropped: the lane is leased.
    Held,
    /// A message's lease was refused, as `low` is behind `base`.
    LowInTheWay,
    /// A visitor with a clock ahead by that much took the lease.
    Leased(Time),
    /// A visitor looked, and will do this.
    Looked(Stage),
    /// A visitor noted what it begins.
    Noted,
    /// A visitor posted and recorded a page.
    Acted(Vec<Outcome>),
    /// A visitor posted a page and died, this of the record being written.
    DiedActing(Vec<Outcome>, Vec<Write>),
    /// A visitor died.
    Died(Stage),
    /// A visitor read the mark.
    ReadMark,
    /// A visitor gave the lane back, or could not.
    Released(Release, Released),
}

/// A step and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The step.
    pub step: Step,
    to: State,
}

impl Shown for Move {
    fn shown(&self) -> String {
        format!("{:?}", self.step)
    }
}

impl Webhooks {
    /// What the operator does, in the order that the rules give it.
    pub(crate) fn orders(&self) -> Vec<Order> {
        let mut orders = self.operator.clone();
        let tell = orders.iter().position(|order| *order == Order::TellJob);
        let put = orders.iter().position(|order| matches!(order, Order::PutJob(_)));
        if let (Some(tell), Some(put)) = (tell, put)
            && !self.rules.has(Rule::JobBeforeTell)
        {
            orders.swap(tell, put);
        }
        if !self.rules.has(Rule::EnableBeforeTell) {
            orders.retain(|order| *order != Order::Enable);
            orders.push(Order::Enable);
        }
        orders
    }
}

impl Model for Webhooks {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let relays = vec![Relay::default(); self.relays.len()];
        vec![State { relays, failures: self.failures, faults: self.faults, ..State::default() }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        Steps { model: self, from: state, moves }.all();
    }

    fn next_state(&self, _: &State, action: Move) -> Option<State> {
        Some(action.to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::of_webhooks()
    }

    fn within_boundary(&self, state: &State) -> bool {
        // Only a model without one of the rules comes here.
        state.clock < 12 && state.lane.mark < 12
    }
}
