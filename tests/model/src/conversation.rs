//! A conversation's lane: it sends its messages in the order of their numbers, one call at a time.
//!
//! One transaction writes a message, its entry, the lane's number and the notification. A call is recorded before and after it
//! is made. Each record requires that the row is as it was last read, which the model shows by a version. A lead's lane
//! is this lane with one message.

mod properties;
mod state;

use stateright::{Model, Property};

use crate::lane::{Lease, Release, Released};
use crate::rules::Rule;

pub use state::{Conversation, Fault, MESSAGES, Move, Row, RowState, Stage, State, Step, Visit, Wrong};

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
        let notified = |state: &mut State| {
            state.lane.notify(rules, state.clock);
            if state.lane.lease == Lease::Free {
                state.wake();
            }
        };
        if self.from.taken < self.model.messages {
            let at_once = self.rule(Rule::TellInTransaction);
            self.step(Step::Taken, |state| {
                state.taken += 1;
                if at_once { notified(state) } else { state.untold += 1 }
            });
        }
        if self.from.untold > 0 {
            self.step(Step::Told, |state| {
                state.untold -= 1;
                notified(state);
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
