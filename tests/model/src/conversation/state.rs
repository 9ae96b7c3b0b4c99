//! What a state holds, and by which steps it changes.

use crate::check::Shown;
use crate::lane::{Lane, Release, Released, Time};
use crate::rules::Rules;

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
    pub(super) fn begin(&mut self, seen: u8, by: u8) -> bool {
        self.write(seen, |row| (row.state, row.by) = (RowState::Calling, by))
    }

    /// A write under the condition that the row is as it was read.
    pub(super) fn write(&mut self, seen: u8, change: impl FnOnce(&mut Self)) -> bool {
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
    /// The number of notifications that are still to come, if a notification is not part of the message's transaction.
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

    pub(super) fn row(&mut self, message: u8) -> &mut Row {
        &mut self.rows[message as usize]
    }

    /// The least unused name.
    pub(super) fn new_name(&self) -> u8 {
        let of_rows = self.rows.iter().map(|row| row.by);
        let of_visitors = self.visitors.iter().map(|visit| visit.name);
        let taken: Vec<u8> = of_rows.chain(of_visitors).chain(self.late.map(|late| late.2)).collect();
        (1..).find(|name| !taken.contains(name)).unwrap_or_default()
    }

    pub(super) fn wake(&mut self) {
        self.wakes = (self.wakes + 1).min(2);
    }

    pub(super) fn settled(mut self) -> Self {
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
    /// The lane was notified of a message after the message's transaction.
    Told,
    /// The writer died before it notified the lane.
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
    pub(super) to: State,
}

impl Shown for Move {
    fn shown(&self) -> String {
        format!("{:?}", self.step)
    }
}

impl State {
    /// Makes a call. `taken` says whether the provider accepted it.
    pub(super) fn call(&mut self, message: u8, taken: bool) {
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
    pub(super) fn leave(&mut self, stage: Stage) {
        if let Stage::Call(message, _) | Stage::End(message, ..) | Stage::Undo(message, _) = stage {
            self.row(message).left = true;
        }
    }
}
