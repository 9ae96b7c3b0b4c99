//! A conversation's lane: it sends its messages in the order of their numbers, one call at a time.
//!
//! One transaction writes a message, its entry, the lane's number and the tell. A call is recorded before and after it
//! is made. Each record requires that the row is as it was last read, which the model shows by a version. A lead's lane
//! is this lane with one message.

use stateright::{Model, Property};

use crate::check::Shown;
use crate::lane::{Lane, Lease, Release, Released, Time};
use crate::properties;
use crate::rules::{Rule, Rules};

/// The maximum number of messages.
pub const MESSAGES: usize = 3;

/// The bounds of the model: how much work there is, and which faults may happen.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The rules in force.
    pub rules: Rules,
    /// The number of messages that are accepted.
    pub messages: u8,
    /// The number of failures after which a message is failed.
    pub attempts: u8,
    /// The maximum number of failing calls.
    pub failures: u8,
    /// The maximum number of faults in total.
    pub faults: u8,
    /// The kinds of faults that may happen.
    pub kinds: Vec<Fault>,
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            rules: Rules::all(),
            messages: 2,
            attempts: 2,
            failures: 1,
            faults: 2,
            kinds: vec![
                Fault::Kill,
                Fault::Lost,
                Fault::Stray,
                Fault::TimeUp,
                Fault::AnswerLost,
                Fault::WriterDies,
            ],
        }
    }
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A visitor is killed.
    Kill,
    /// A wake-up message is lost.
    Lost,
    /// A wake-up message is repeated or late, so that nothing caused it just before.
    Stray,
    /// A visitor runs out of time.
    TimeUp,
    /// The response to the record of a starting call is lost. The record was written, was not written, or will be
    /// written late.
    AnswerLost,
    /// The writer that accepted a message dies before it does anything else.
    WriterDies,
}

/// The row of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row {
    /// The state of the message.
    pub state: RowState,
    /// Failures so far.
    pub failures: u8,
    /// The time before which no call is made.
    pub next: Time,
    /// A number that every write increments.
    pub version: u8,
    /// The name of the visitor whose call is recorded. In the service this is a request id.
    pub by: u8,
    /// For the checker only: a call reached the provider.
    pub called: bool,
    /// For the checker only: a visitor died or ran out of time between the start and the end of a call.
    pub left: bool,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowState {
    /// The message is to be sent.
    #[default]
    Waiting,
    /// The start of a call is recorded, and no end.
    Calling,
    /// The message was sent.
    Sent,
    /// The message was not sent and will not be sent.
    Failed,
    /// The outcome of the call is unknown.
    Unknown,
}

impl Row {
    /// Whether the message is still to be sent.
    pub fn is_open(&self) -> bool {
        matches!(self.state, RowState::Waiting | RowState::Calling)
    }

    /// Records the start of a call.
    fn begin(&mut self, seen: u8, by: u8) -> bool {
        self.write(seen, |row| (row.state, row.by) = (RowState::Calling, by))
    }

    /// A write under the condition that the row is as it was read.
    fn write(&mut self, seen: u8, change: impl FnOnce(&mut Self)) -> bool {
        let stands = self.version == seen;
        if stands {
            self.version += 1;
            self.by = 0;
            change(self);
        }
        stands
    }
}

/// A visit of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit {
    /// Whether the visitor still holds the lease.
    pub mine: bool,
    /// A name that distinguishes this visitor's records of calls from those of others.
    pub name: u8,
    /// The mark at the lease or at the last refused release.
    pub seen: u8,
    /// The number of messages at that time.
    pub up_to: u8,
    /// Whether the visitor has done something, so that its time may be up.
    pub busy: bool,
    /// The next step of the visitor.
    pub stage: Stage,
}

/// The next step of a visitor. Its numbers are the index of a message and the version of the row as the visitor last
/// knew it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Reads the open entries.
    Look,
    /// Records the start of a call.
    Begin(u8, u8),
    /// Makes the call.
    Call(u8, u8),
    /// Records whether the provider accepted the call.
    End(u8, u8, bool),
    /// Undoes a start whose response was lost.
    Undo(u8, u8),
    /// Releases the lane.
    Release(Release),
    /// Reads the mark again, and then releases the lane.
    ReadMark(Release),
}

/// A violation of a property that no row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A message was sent again after a call had reached the provider.
    CalledTwice,
    /// A message was sent while a message with a smaller number was still open.
    Overtaken,
    /// A message became unknown although no visitor had died or run out of time.
    UnknownForNothing,
}

/// The whole state of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The part of the lane's row that all kinds have.
    pub lane: Lane,
    /// The number of accepted messages.
    pub taken: u8,
    /// The rows of the messages. Only the first `taken` of them exist.
    pub rows: [Row; MESSAGES],
    /// The number of tells that are still to come, if a tell is not part of the message's transaction.
    pub untold: u8,
    /// A record of a call that is in flight: message, version of the row, and name of the visitor.
    pub late: Option<(u8, u8, u8)>,
    /// The visitors of the lane.
    pub visitors: Vec<Visit>,
    /// The number of wake-up messages in the queue.
    pub wakes: u8,
    /// The clock.
    pub clock: Time,
    /// The number of calls that may still fail.
    pub failures: u8,
    /// The number of faults that may still happen.
    pub faults: u8,
    /// The first violation.
    pub wrong: Option<Wrong>,
}

impl State {
    /// The rows of the accepted messages.
    pub fn taken(&self) -> &[Row] {
        &self.rows[..self.taken as usize]
    }

    fn row(&mut self, message: u8) -> &mut Row {
        &mut self.rows[message as usize]
    }

    /// The least unused name.
    fn new_name(&self) -> u8 {
        let of_rows = self.rows.iter().map(|row| row.by);
        let of_visitors = self.visitors.iter().map(|visit| visit.name);
        let taken: Vec<u8> = of_rows.chain(of_visitors).chain(self.late.map(|late| late.2)).collect();
        (1..).find(|name| !taken.contains(name)).unwrap_or_default()
    }

    fn wake(&mut self) {
        self.wakes = (self.wakes + 1).min(2);
    }

    fn settled(mut self) -> Self {
        let seen = self.visitors.iter().map(|visit| visit.seen).min().unwrap_or(self.lane.mark);
        let least = seen.min(self.lane.mark);
        self.lane.mark -= least;
        self.visitors.iter_mut().for_each(|visit| visit.seen -= least);
        self.visitors.sort();
        self.lane.due = self.lane.due.map(|due| if due <= self.clock { 0 } else { due });
        self
    }
}

/// A step as the checker prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message was accepted by its transaction, and a wake-up was queued.
    Taken,
    /// The lane was told of a message after the message's transaction.
    Told,
    /// The writer died before it told the lane.
    WriterDied,
    /// A wake-up was lost.
    Lost,
    /// A stray wake-up arrived.
    Stray,
    /// The sweeper claimed the lane.
    Sweep,
    /// The lease of a dead visitor expired.
    Expired,
    /// The clock advanced.
    Tick,
    /// A late record arrived. `true`: it was written, `false`: it was refused.
    Late(bool),
    /// A wake-up was dropped, because the lease is in force.
    Held,
    /// A visitor took the lease.
    Leased,
    /// A visitor looked. The stage is what it does next.
    Looked(Stage),
    /// A visitor made a message unknown, because its call has no recorded end.
    MadeUnknown(u8),
    /// A visitor recorded the start of a call. If the response was lost, the text says what happened to the write.
    Began(u8, Option<&'static str>),
    /// A visitor made a call. `true`: the provider accepted it.
    Called(u8, bool),
    /// A visitor recorded the end of a call.
    Ended(u8),
    /// A visitor undid the start of a call.
    Undone(u8),
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
    to: State,
}

impl Shown for Move {
    fn shown(&self) -> String {
        format!("{:?}", self.step)
    }
}

impl Model for Conversation {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![State { failures: self.failures, faults: self.faults, ..State::default() }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        let mut steps = Steps { model: self, from: state, moves };
        steps.writers();
        steps.queue();
        steps.time();
        for number in 0..state.visitors.len() {
            steps.visitor(number);
        }
    }

    fn next_state(&self, _: &State, action: Move) -> Option<State> {
        Some(action.to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::of_conversations()
    }

    fn within_boundary(&self, state: &State) -> bool {
        // Only models without one of the rules reach this boundary.
        state.clock < 12 && state.rows.iter().all(|row| row.version < 24)
    }
}

/// Collects the possible steps of a state.
struct Steps<'a> {
    model: &'a Conversation,
    from: &'a State,
    moves: &'a mut Vec<Move>,
}

impl Steps<'_> {
    fn rule(&self, rule: Rule) -> bool {
        self.model.rules.has(rule)
    }

    fn may(&self, kind: Fault) -> bool {
        self.from.faults > 0 && self.model.kinds.contains(&kind)
    }

    fn fault(&mut self, step: Step, change: impl FnOnce(&mut State)) {
        self.step(step, |state| {
            state.faults -= 1;
            change(state);
        });
    }

    fn step(&mut self, step: Step, change: impl FnOnce(&mut State)) {
        let mut to = self.from.clone();
        change(&mut to);
        self.moves.push(Move { step, to: to.settled() });
    }

    fn writers(&mut self) {
        let rules = self.model.rules;
        let told = |state: &mut State| {
            state.lane.tell(rules, state.clock);
            if state.lane.lease == Lease::Free {
                state.wake();
            }
        };
        if self.from.taken < self.model.messages {
            let at_once = self.rule(Rule::TellInTransaction);
            self.step(Step::Taken, |state| {
                state.taken += 1;
                if at_once { told(state) } else { state.untold += 1 }
            });
        }
        if self.from.untold > 0 {
            self.step(Step::Told, |state| {
                state.untold -= 1;
                told(state);
            });
            if self.may(Fault::WriterDies) {
                self.fault(Step::WriterDied, |state| state.untold -= 1);
            }
        }
    }

    fn queue(&mut self) {
        let (state, rules) = (self.from, self.model.rules);
        if self.may(Fault::Stray) {
            self.fault(Step::Stray, State::wake);
        }
        if state.wakes == 0 {
            if state.lane.may_claim(rules, state.clock) {
                self.step(Step::Sweep, |state| {
                    state.lane.due = Some(state.clock);
                    state.wake();
                });
            }
            return;
        }
        if self.may(Fault::Lost) {
            self.fault(Step::Lost, |state| state.wakes -= 1);
        }
        if !state.lane.may_lease(rules) {
            self.step(Step::Held, |state| state.wakes -= 1);
        } else if state.visitors.len() < 2 {
            self.step(Step::Leased, |state| {
                state.wakes -= 1;
                state.lane.lease(rules);
                state.visitors.iter_mut().for_each(|visit| visit.mine = false);
                let (seen, up_to) = (state.lane.mark, state.taken);
                let name = state.new_name();
                state.visitors.push(Visit { mine: true, name, seen, up_to, busy: false, stage: Stage::Look });
            });
        }
    }

    fn time(&mut self) {
        let state = self.from;
        let dies_late = state.lane.lease == Lease::Running && !self.rule(Rule::LeaseOutlivesVisit);
        if state.lane.lease == Lease::Orphaned || dies_late {
            self.step(Step::Expired, |state| state.lane.lease = Lease::Free);
        }
        let waits = state.rows.iter().any(|row| row.is_open() && row.next > state.clock);
        if waits || state.lane.due.is_some_and(|due| due > state.clock) {
            self.step(Step::Tick, |state| state.clock += 1);
        }
        if let Some((message, version, by)) = state.late {
            let stands = state.rows[message as usize].version == version;
            self.step(Step::Late(stands), |state| {
                state.late = None;
                state.row(message).begin(version, by);
            });
        }
    }

    fn visitor(&mut self, number: usize) {
        let visit = self.from.visitors[number];
        let then = |state: &mut State, stage: Stage| {
            state.visitors[number].stage = stage;
            state.visitors[number].busy = true;
        };
        match visit.stage {
            Stage::Look => self.look(number, visit),
            Stage::Begin(message, version) => self.begin(number, message, version),
            Stage::Call(message, version) => {
                self.step(Step::Called(message, true), |state| {
                    state.call(message, true);
                    then(state, Stage::End(message, version, true));
                });
                if self.from.failures > 0 {
                    self.step(Step::Called(message, false), |state| {
                        state.failures -= 1;
                        state.call(message, false);
                        then(state, Stage::End(message, version, false));
                    });
                }
            }
            Stage::End(message, version, taken) => {
                let (attempts, next) = (self.model.attempts, self.from.clock + 1);
                self.step(Step::Ended(message), |state| {
                    state.row(message).write(version, |row| {
                        row.failures += u8::from(!taken);
                        row.next = next;
                        row.state = match taken {
                            true => RowState::Sent,
                            false if row.failures < attempts => RowState::Waiting,
                            false => RowState::Failed,
                        };
                    });
                    then(state, Stage::Look);
                });
            }
            Stage::Undo(message, version) => {
                let fences = self.rule(Rule::UndoingFences);
                let undoes = self.rule(Rule::LostBeginIsUndone);
                self.step(Step::Undone(message), |state| {
                    let row = state.row(message);
                    let written = row.version == version + 1 && row.by == visit.name;
                    if undoes && (written || fences) {
                        let seen = if written { version + 1 } else { version };
                        row.write(seen, |row| row.state = RowState::Waiting);
                    }
                    then(state, Stage::Look);
                });
            }
            Stage::ReadMark(how) => self.step(Step::ReadMark, |state| {
                state.visitors[number].seen = state.lane.mark;
                state.visitors[number].stage = Stage::Release(how);
            }),
            Stage::Release(how) => self.release(number, visit, how),
        }
        if matches!(visit.stage, Stage::Look | Stage::Undo(..)) && visit.busy && self.may(Fault::TimeUp) {
            self.release(number, visit, Release::TimeUp);
        }
        if self.may(Fault::Kill) {
            self.fault(Step::Died(visit.stage), |state| {
                state.leave(visit.stage);
                state.visitors.remove(number);
                if visit.mine && state.lane.lease == Lease::Running {
                    state.lane.lease = Lease::Orphaned;
                }
            });
        }
    }

    /// The visitor reads the open messages. A query may miss any of those accepted after the lease.
    fn look(&mut self, number: usize, visit: Visit) {
        let known = if self.rule(Rule::EntriesUpToSeen) { visit.up_to } else { self.from.taken };
        let newer = known.saturating_sub(visit.up_to);
        for missed in 0..1_u8 << newer {
            let is_seen = |message: u8| message < visit.up_to || missed & 1 << (message - visit.up_to) == 0;
            let open: Vec<u8> = (0..known)
                .filter(|message| is_seen(*message) && self.from.rows[*message as usize].is_open())
                .collect();
            self.go_on(number, &open);
        }
    }

    fn go_on(&mut self, number: usize, open: &[u8]) {
        let row = |message: &u8| &self.from.rows[*message as usize];
        let waits = |message: &u8| row(message).next > self.from.clock;
        let head = match self.rule(Rule::HeadStops) {
            true => open.first(),
            false => open.iter().find(|message| !waits(message)).or(open.first()),
        };
        let stage = match head {
            None => Release::Done,
            Some(message) if waits(message) => Release::Closed(row(message).next),
            Some(message) => {
                let (message, Row { state, version, .. }) = (*message, *row(message));
                let unknown = state == RowState::Calling && self.rule(Rule::UnknownIsNotRepeated);
                if unknown {
                    self.step(Step::MadeUnknown(message), |state| {
                        let row = state.row(message);
                        let for_nothing = !row.left;
                        row.write(version, |row| row.state = RowState::Unknown);
                        if for_nothing {
                            state.wrong.get_or_insert(Wrong::UnknownForNothing);
                        }
                        state.visitors[number].busy = true;
                    });
                } else {
                    let stage = Stage::Begin(message, version);
                    self.step(Step::Looked(stage), |state| state.visitors[number].stage = stage);
                }
                return;
            }
        };
        let stage = match self.rule(Rule::MarkBeforeLook) {
            true => Stage::Release(stage),
            false => Stage::ReadMark(stage),
        };
        self.step(Step::Looked(stage), |state| state.visitors[number].stage = stage);
    }

    fn begin(&mut self, number: usize, message: u8, version: u8) {
        let then = |state: &mut State, stage: Stage| state.visitors[number].stage = stage;
        if !self.rule(Rule::BeginBeforeCall) {
            return self.step(Step::Began(message, None), |state| then(state, Stage::Call(message, version)));
        }
        let name = self.from.visitors[number].name;
        let write = |state: &mut State| state.row(message).begin(version, name);
        self.step(Step::Began(message, None), |state| {
            let next = if write(state) { Stage::Call(message, version + 1) } else { Stage::Look };
            then(state, next);
        });
        if self.may(Fault::AnswerLost) {
            let next = match self.rule(Rule::BeginMustBeAnswered) {
                true => Stage::Undo(message, version),
                false => Stage::Call(message, version + 1),
            };
            self.fault(Step::Began(message, Some("written")), |state| {
                write(state);
                then(state, next);
            });
            self.fault(Step::Began(message, Some("not written")), |state| then(state, next));
            if self.from.late.is_none() {
                self.fault(Step::Began(message, Some("late")), |state| {
                    state.late = Some((message, version, name));
                    then(state, next);
                });
            }
        }
    }

    fn release(&mut self, number: usize, visit: Visit, how: Release) {
        let mut to = self.from.clone();
        let released = to.lane.release(self.model.rules, how, visit.mine, visit.seen, to.clock);
        match released {
            Released::Yes | Released::NotMine => {
                to.visitors.remove(number);
                if how == Release::TimeUp {
                    to.faults -= 1;
                    to.leave(visit.stage);
                    to.wake();
                }
            }
            Released::MarkMoved => {
                let (seen, up_to) = (to.lane.mark, to.taken);
                to.visitors[number] = Visit { seen, up_to, busy: true, stage: Stage::Look, ..visit };
            }
        }
        self.moves.push(Move { step: Step::Released(how, released), to: to.settled() });
    }
}

impl State {
    /// Makes a call. `taken` says whether the provider accepted it.
    fn call(&mut self, message: u8, taken: bool) {
        let before = &self.rows[..message as usize];
        if before.iter().any(Row::is_open) {
            self.wrong.get_or_insert(Wrong::Overtaken);
        }
        if self.row(message).called {
            self.wrong.get_or_insert(Wrong::CalledTwice);
        }
        self.row(message).called |= taken;
    }

    /// Notes that a visitor left a message between the start and the end of a call.
    fn leave(&mut self, stage: Stage) {
        if let Stage::Call(message, _) | Stage::End(message, ..) | Stage::Undo(message, _) = stage {
            self.row(message).left = true;
        }
    }
}
