//! A conversation's lane: its messages go out in the order of their numbers, one call at a time.
//!
//! A message, its entry, the lane's number and the tell are one transaction. A call is recorded before it is made and
//! after; each record needs the row as it was last read, here its version. A lead's lane is this one with one message.

use stateright::{Model, Property};

use crate::check::Shown;
use crate::lane::{Lane, Lease, Release, Released, Time};
use crate::properties;
use crate::rules::{Rule, Rules};

/// The greatest number of messages.
pub const MESSAGES: usize = 3;

/// What may happen.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The rules that hold.
    pub rules: Rules,
    /// How many messages are taken in.
    pub messages: u8,
    /// After how many failures a message has failed.
    pub attempts: u8,
    /// How many calls may fail.
    pub failures: u8,
    /// How many faults there may be, all in all.
    pub faults: u8,
    /// Which ones.
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

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A visitor is killed.
    Kill,
    /// A wake is lost.
    Lost,
    /// A wake is repeated or late: it comes from nowhere.
    Stray,
    /// A visitor runs out of time.
    TimeUp,
    /// The answer to the record of a call that begins is lost: it was written, was not, or will be.
    AnswerLost,
    /// Who took in a message dies before it does anything more.
    WriterDies,
}

/// A message's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row {
    /// How it stands.
    pub state: RowState,
    /// Failures so far.
    pub failures: u8,
    /// No call before then.
    pub next: Time,
    /// Grows with each write.
    pub version: u8,
    /// Whose call it is that is recorded: a request's id, in life.
    pub by: u8,
    /// What the checker remembers: a call reached the provider.
    pub called: bool,
    /// What the checker remembers: a visitor died or ran out of time between a begin and its end.
    pub left: bool,
}

/// How a message stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowState {
    /// It is to be sent.
    #[default]
    Waiting,
    /// A call is recorded, and no end.
    Calling,
    /// It was sent.
    Sent,
    /// It was not, and will not be.
    Failed,
    /// Nobody knows.
    Unknown,
}

impl Row {
    /// Whether it is to be sent still.
    pub fn is_open(&self) -> bool {
        matches!(self.state, RowState::Waiting | RowState::Calling)
    }

    /// Records that a call begins.
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

/// A visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit {
    /// Its lease is the lane's.
    pub mine: bool,
    /// Tells its records of calls from others'.
    pub name: u8,
    /// The mark at the lease or the last refused release.
    pub seen: u8,
    /// The last number taken by then.
    pub up_to: u8,
    /// Something was done, so that time may be up.
    pub busy: bool,
    /// What it does next.
    pub stage: Stage,
}

/// What a visitor does next. A message is named by its index, with the version of its row as it was last known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// It reads the open entries.
    Look,
    /// It records that it calls.
    Begin(u8, u8),
    /// It calls.
    Call(u8, u8),
    /// It records whether the call was taken.
    End(u8, u8, bool),
    /// It takes back a begin whose answer was lost.
    Undo(u8, u8),
    /// It gives the lane back.
    Release(Release),
    /// It reads the mark again, and then gives the lane back.
    ReadMark(Release),
}

/// What went wrong once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// A message was called for again, though a call had reached the provider.
    CalledTwice,
    /// A message was called for before one with a smaller number was through.
    Overtaken,
    /// A message became unknown, and no visitor had died or run out of time.
    UnknownForNothing,
}

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// The lane's generic part.
    pub lane: Lane,
    /// The last number taken: rows below it are there.
    pub taken: u8,
    /// The messages.
    pub rows: [Row; MESSAGES],
    /// Messages that the lane is to be told of, where that is no part of their transaction.
    pub untold: u8,
    /// A record of a call on its way: of which message, as of which version, and whose.
    pub late: Option<(u8, u8, u8)>,
    /// Who has taken the lane.
    pub visitors: Vec<Visit>,
    /// Wakes in the queue.
    pub wakes: u8,
    /// The clock.
    pub clock: Time,
    /// Calls that may fail yet.
    pub failures: u8,
    /// Faults that may come yet.
    pub faults: u8,
    /// What went wrong first.
    pub wrong: Option<Wrong>,
}

impl State {
    /// The messages that were taken in.
    pub fn taken(&self) -> &[Row] {
        &self.rows[..self.taken as usize]
    }

    fn row(&mut self, message: u8) -> &mut Row {
        &mut self.rows[message as usize]
    }

    /// The least name that nobody has.
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

/// A step, as a counterexample shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message was taken in, by its transaction, and a wake queued.
    Taken,
    /// The lane was told, where that comes after.
    Told,
    /// Who was to tell it is dead.
    WriterDied,
    /// A wake was lost.
    Lost,
    /// A wake came from nowhere.
    Stray,
    /// The sweeper claimed the lane.
    Sweep,
    /// The lease of a dead visitor ran out.
    Expired,
    /// Time went on.
    Tick,
    /// A record that was late came: written, or refused.
    Late(bool),
    /// A wake was dropped: the lane is leased.
    Held,
    /// A visitor took the lease.
    Leased,
    /// A visitor looked, and will do this.
    Looked(Stage),
    /// A visitor made a call unknown whose end nobody recorded.
    MadeUnknown(u8),
    /// A visitor recorded that it calls; or the answer was lost, and what became of the write.
    Began(u8, Option<&'static str>),
    /// A visitor called; whether it was taken.
    Called(u8, bool),
    /// A visitor recorded the end.
    Ended(u8),
    /// A visitor took a begin back.
    Undone(u8),
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
        // Only a model without one of the rules comes here.
        state.clock < 12 && state.rows.iter().all(|row| row.version < 24)
    }
}

/// The steps that can be taken from a state.
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

    /// The first open message; of those taken after the lease, a query may miss any.
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
    /// A call is made, and taken by the provider or refused.
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

    /// A visitor leaves a message as it is.
    fn leave(&mut self, stage: Stage) {
        if let Stage::Call(message, _) | Stage::End(message, ..) | Stage::Undo(message, _) = stage {
            self.row(message).left = true;
        }
    }
}
