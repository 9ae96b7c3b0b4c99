//! What a state holds, and by which steps it changes.

use std::collections::BTreeSet;
use std::fmt::Debug;

use domain::{EventId, HomeKey, LaneProgress, Pointer, Timestamp, Watermarks};
use uuid::Uuid;

use crate::check::Shown;
use crate::lane::{Lane, Release, Released, Time};
use crate::rules::{Rule, Rules};

/// The key of a delivery: the time at which its event was recorded. A larger key is a later one.
pub type Key = u8;

/// The maximum number of deliveries.
pub const KEYS: usize = 3;

/// The bounds of the model: how much work there is, and how many faults of each kind.
#[derive(Clone, Debug)]
pub struct Webhooks {
    /// The rules in force.
    pub rules: Rules,
    /// The batches of events, by the keys of their deliveries. Each has its own relay, and the relays run at the same
    /// time.
    pub relays: Vec<Vec<Key>>,
    /// The number of rows in a page.
    pub page: usize,
    /// The number of failures after which a delivery is exhausted.
    pub attempts: u8,
    /// How far the clock of a visitor may be ahead of the others.
    pub ahead: Time,
    /// The commands of the operator, in order.
    pub operator: Vec<Order>,
    /// A delivery whose every post kills its visitor.
    pub poison: Option<Key>,
    /// The maximum number of failing posts.
    pub failures: u8,
    /// The maximum number of faults in total.
    pub faults: u8,
    /// The kinds of faults that may happen.
    pub kinds: Vec<Fault>,
    /// A relay puts its rows in one step, for bounds in which no visitor looks between them.
    pub puts_at_once: bool,
    /// How many times a row may wait for its event. A relay is never slower than that.
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

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A relay is killed, or its batch is repeated although it was done.
    RelayAgain,
    /// A visitor is killed.
    Kill,
    /// A message is lost.
    Lost,
    /// A message is repeated, or so late that all work it was queued for is done.
    Stray,
    /// A post does not leave the service's network, so the lane closes.
    NotSent,
    /// A visitor runs out of time.
    TimeUp,
    /// The answer to a lease is lost. The visitor learns of its lease from the repeat, after others notified the lane.
    LeaseUnanswered,
}

/// A command of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Disables the endpoint.
    Disable,
    /// Enables the endpoint, without notifying the lane.
    Enable,
    /// Puts a job's row.
    PutJob(JobKind),
    /// Notifies the lane of the job.
    NotifyJob,
    /// Cancels the job, or does nothing.
    MayCancel,
}

/// The rows that a job attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// All waiting rows, without waiting for their time.
    Enable,
    /// All handled rows.
    Replay,
    /// All exhausted rows.
    Recover,
}

/// A home row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Home {
    /// The state of the delivery.
    pub state: HomeState,
    /// The number of failed attempts.
    pub failures: u8,
    /// The time before which no attempt is made. A pointer exists for it.
    pub next: Option<Time>,
    /// How many times the row was postponed because its event did not exist.
    pub put_off: u8,
    /// Careful mode: the start of an attempt is recorded.
    pub begun: bool,
    /// Whether the job attempted the row.
    pub by_job: bool,
    /// The time of the last attempt, for a protocol without `JobMarksRows`.
    pub last: Time,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HomeState {
    /// The delivery is to be attempted.
    #[default]
    Pending,
    /// The receiver acknowledged the delivery.
    Delivered,
    /// The delivery failed too many times.
    Exhausted,
}

/// The place of a delivery's home row. All events have one moment, so the next place is that of the next key. It is not 0,
/// because there is no place before the first one of that moment.
pub(super) fn home_key(key: Key) -> HomeKey {
    HomeKey { at: moment(1), event: EventId::from_uuid(Uuid::from_u128(u128::from(key))) }
}

pub(super) fn key_of(home: HomeKey) -> Key {
    home.event.as_uuid().as_u128() as Key
}

pub(super) fn pointer(not_before: Time, key: Key) -> Pointer {
    Pointer { not_before: moment(not_before), home: home_key(key) }
}

pub(super) fn moment(time: Time) -> Timestamp {
    Timestamp::from_millis(i64::from(time))
}

pub(super) fn time(moment: Timestamp) -> Time {
    moment.as_millis() as Time
}

/// A set of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys(u8);

impl Keys {
    pub(super) fn add(&mut self, key: Key) {
        self.0 |= 1 << key;
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.0 &= !(1 << key);
    }

    /// Whether the set contains a key.
    pub fn has(self, key: Key) -> bool {
        self.0 & 1 << key != 0
    }

    pub(super) fn holds(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }
}

/// The row of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The kind of the job.
    pub kind: JobKind,
    /// The state of the job.
    pub state: JobState,
    /// The last row that was processed.
    pub position: Option<Position>,
    /// When the operator put the job, by the operator's clock.
    pub made: Time,
}

/// A row of a job: the pointer that it was read by, if the job reads pointers, and its key.
pub type Position = (Option<Pointer>, Key);

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// The job runs.
    Active,
    /// The job is done.
    Finished,
    /// The job was cancelled.
    Cancelled,
}

/// The progress of a relay in its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relay {
    /// The next step.
    pub at: RelayStep,
    /// The events that existed when the batch started.
    pub stands: Keys,
}

/// The next step of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RelayStep {
    /// It starts its batch.
    #[default]
    Begin,
    /// It puts the home row of the event with this index.
    Home(u8),
    /// It puts the event with this index.
    Event(u8),
    /// It notifies the lane by the first form.
    Notify,
    /// It notifies the lane by the second form.
    TellAgain,
    /// It moves the lane's `dueAt`, which the notification returned, forward.
    Hasten(Time),
    /// It is done.
    End,
}

/// An invocation with a message for the lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Visitor {
    /// The first form of the lease was refused, because `low` is before `base`. The clock is ahead by this much.
    Refused(Time),
    /// It holds the lease, but the answer was lost, so it repeats the lease.
    Repeats(Visit),
    /// It holds the lease.
    Visiting(Visit),
}

/// A visit of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit {
    /// Whether the visitor still holds the lease.
    pub mine: bool,
    /// How far the visitor's clock is ahead.
    pub ahead: Time,
    /// The mark at the lease or at the last refused release.
    pub seen: u8,
    /// How far the visitor has come. The release writes its watermarks.
    pub progress: LaneProgress,
    /// Whether jobs may exist.
    pub has_jobs: bool,
    /// Careful mode: visitors of the lane died twice in a row.
    pub careful: bool,
    /// Whether the first look found the endpoint disabled, for a protocol in which later looks do not read it.
    pub endpoint: Option<bool>,
    /// Whether the visitor has done something, so that its time may be up.
    pub busy: bool,
    /// The next step of the visitor.
    pub stage: Stage,
}

/// The next step of a visitor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Looks for work.
    Look,
    /// Records the start of the attempt of the page's only row.
    Note(Page),
    /// Posts a page and records it.
    Act(Page),
    /// Releases the lane. `true`: the endpoint is disabled and its work is parked.
    Release(Release, bool),
    /// Reads the mark again, and then releases the lane.
    ReadMark(Release, bool),
}

/// A page of work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Page {
    /// For a page of a job: the last row that was read.
    pub of_job: Option<Position>,
    /// The deliveries that need work.
    pub items: Vec<Item>,
}

/// A delivery of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item {
    /// The key of the delivery.
    pub key: Key,
    /// The treatment of the delivery.
    pub what: What,
}

/// The treatment of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// The row is posted.
    Attempt,
    /// The row is postponed, because its event does not exist yet.
    PutOff,
    /// The last attempt of the row killed its visitor, which counts as a failure.
    Died,
    /// The pointer of the row is put again.
    Repair,
}

/// One write in the record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Puts a pointer.
    Pointer(Pointer),
    /// Overwrites a home row.
    Home(Key, Home),
    /// Saves the job's position, if the job is still active.
    Position(Position),
}

/// The outcome of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver acknowledged it.
    Delivered,
    /// It failed.
    Failed,
    /// It did not leave the service's network.
    NotSent,
}

/// A violation of a property that no row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A delivery recorded as delivered was attempted again, although no job requested it.
    DeliveredAgain,
    /// A delivery was attempted before its time.
    TooEarly,
    /// A delivery was attempted without its event.
    NoEvent,
    /// A job ended without an attempt that it had to make.
    JobMissed,
    /// A job repeated an attempt that it had recorded.
    JobRepeated,
    /// A job went on after it was cancelled.
    CancelledWentOn,
}

/// Facts that no row stores and that the checker needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// The deliveries that the lane was notified of.
    pub notified: Keys,
    /// The deliveries that were recorded as delivered and not replayed since.
    pub delivered: Keys,
    /// The deliveries that the job must attempt.
    pub asked: Keys,
    /// The deliveries that were attempted since the job was put.
    pub attempted: Keys,
    /// The number of pages that a job attempted after it was cancelled. One is allowed: the current page.
    pub after_cancel: u8,
    /// The first violation.
    pub wrong: Option<Wrong>,
}

/// The whole state of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The part of the lane's row that all kinds have.
    pub lane: Lane,
    /// Up to where the lane is processed, as far as a release recorded it.
    pub watermarks: Watermarks,
    /// The least key notified since the last lease.
    pub low: Option<Key>,
    /// Whether jobs may exist.
    pub has_jobs: bool,
    /// The home rows.
    pub homes: [Option<Home>; KEYS],
    /// The pointers. Those up to `waited` are left out, because no visitor reads them again.
    pub pointers: BTreeSet<Pointer>,
    /// The events.
    pub events: Keys,
    /// The job.
    pub job: Option<Job>,
    /// Whether the endpoint is disabled.
    pub disabled: bool,
    /// The relays.
    pub relays: Vec<Relay>,
    /// The number of operator commands that were executed.
    pub orders: usize,
    /// The invocations with a message.
    pub visitors: Vec<Visitor>,
    /// The number of messages in the queue.
    pub messages: u8,
    /// The clock.
    pub clock: Time,
    /// The number of posts that may still fail.
    pub failures: u8,
    /// The number of faults that may still happen.
    pub faults: u8,
    /// Facts that only the checker needs.
    pub history: History,
}

impl State {
    /// The home row of a delivery.
    pub fn home(&self, key: Key) -> Option<&Home> {
        self.homes[key as usize].as_ref()
    }

    /// Whether a pointer leads to the row's next attempt and a visitor will read that pointer.
    pub fn is_found(&self, key: Key, home: &Home) -> bool {
        home.next.is_none_or(|next| {
            let (pointer, Watermarks { waited, last_wait, .. }) = (pointer(next, key), self.watermarks);
            let looked_for = self.lane.begun > 0 || Some(pointer) <= last_wait;
            Some(pointer) > waited && self.pointers.contains(&pointer) && looked_for
        })
    }

    pub(super) fn visit(&mut self, number: usize) -> &mut Visit {
        match &mut self.visitors[number] {
            Visitor::Visiting(visit) => visit,
            Visitor::Refused(_) | Visitor::Repeats(_) => {
                unreachable!("only a visitor that knows of its lease takes the steps of a visit")
            }
        }
    }

    /// The watermarks, with `base` moved back to the least key of the notifications since the lease.
    pub(super) fn back_to_low(&self, from: Watermarks) -> Watermarks {
        let base = from.base.map(|base| self.low.map_or(base, |low| base.min(home_key(low))));
        Watermarks { base, ..from }
    }

    /// Whether the lane was notified of a key before `base`.
    pub(super) fn low_is_before_base(&self) -> bool {
        self.low.is_some_and(|low| Some(home_key(low)) < self.watermarks.base)
    }

    /// Queues a message. Two messages suffice: a third one acts like a repeat of another.
    pub(super) fn queue(&mut self) {
        self.messages = (self.messages + 1).min(2);
    }

    pub(super) fn wrong(&mut self, wrong: Wrong) {
        self.history.wrong.get_or_insert(wrong);
    }

    /// Normalises the state: removes differences that no step can observe.
    pub(super) fn settled(mut self) -> Self {
        let seen = self.visitors.iter().filter_map(|visitor| match visitor {
            Visitor::Visiting(visit) => Some(visit.seen),
            Visitor::Refused(_) | Visitor::Repeats(_) => None,
        });
        let least = seen.min().unwrap_or(self.lane.mark).min(self.lane.mark);
        self.lane.mark -= least;
        self.lane.due = self.lane.due.map(|due| if due <= self.clock { 0 } else { due });
        for visitor in &mut self.visitors {
            match visitor {
                Visitor::Visiting(visit) => visit.seen -= least,
                // The repeat reads the mark.
                Visitor::Repeats(visit) => visit.seen = 0,
                Visitor::Refused(_) => {}
            }
        }
        for visitor in &mut self.visitors {
            if let Visitor::Visiting(visit) = visitor {
                visit.busy &= self.faults > 0;
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
        let Watermarks { waited, last_wait, .. } = &mut self.watermarks;
        *last_wait = (*last_wait).max(*waited);
        self.pointers.retain(|pointer| Some(*pointer) > *waited);
        self
    }
}

/// A step as the checker prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A relay took a step.
    Relay(usize, RelayStep),
    /// A relay died or its batch was repeated, so it starts again.
    RelayAgain(usize),
    /// The operator executed a command. `false`: it chose to do nothing.
    Operator(Order, bool),
    /// A message was lost.
    Lost,
    /// A stray message arrived.
    Stray,
    /// The sweeper claimed the lane and queued a message.
    Sweep,
    /// The lease of a dead visitor expired.
    Expired,
    /// The clock advanced.
    Tick,
    /// A message was dropped, because the lease is in force.
    Held,
    /// The first form of a lease was refused, because `low` is before `base`.
    LowInTheWay,
    /// A visitor took the lease. Its clock is ahead by this much.
    Leased(Time),
    /// A visitor took the lease, and the answer was lost.
    LeaseUnanswered(Time),
    /// A visitor repeated its lease, and learned that it has it.
    LeaseRepeated,
    /// A visitor looked. The stage is what it does next.
    Looked(Stage),
    /// A visitor recorded the start of an attempt.
    Noted,
    /// A visitor posted and recorded a page.
    Acted(Vec<Outcome>),
    /// A visitor posted a page and died. These writes of its record were executed.
    DiedActing(Vec<Outcome>, Vec<Write>),
    /// A visitor died.
    Died(Stage),
    /// A visitor read the mark again.
    ReadMark,
    /// A visitor released the lane, or the release was refused.
    Released(Release, Released),
}

/// A step and the state it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The step.
    pub step: Step,
    pub(super) to: State,
}

impl Shown for Move {
    fn shown(&self) -> String {
        format!("{:?}", self.step)
    }
}

impl Webhooks {
    /// The operator's commands in the order that the rules require.
    pub(crate) fn orders(&self) -> Vec<Order> {
        let mut orders = self.operator.clone();
        let notify = orders.iter().position(|order| *order == Order::NotifyJob);
        let put = orders.iter().position(|order| matches!(order, Order::PutJob(_)));
        if let (Some(notify), Some(put)) = (notify, put)
            && !self.rules.has(Rule::JobBeforeTell)
        {
            orders.swap(notify, put);
        }
        if !self.rules.has(Rule::EnableBeforeTell) {
            orders.retain(|order| *order != Order::Enable);
            orders.push(Order::Enable);
        }
        orders
    }
}
