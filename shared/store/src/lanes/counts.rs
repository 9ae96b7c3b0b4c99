//! The counts of a conversation's messages in its lane, so a summary need not read all messages.
//!
//! A message is counted by the write of the lane that gives it its number. The steps of an onboarding plan
//! take their numbers when the conversation is created; they are counted when the lane is released under
//! which they became messages. If the counts add up to fewer messages than numbers taken (steps are left, a
//! sender died or had to stop), the messages are read.

use domain::message::summary::{Direction, Tally};
use domain::{Message, Timestamp};

use crate::dynamodb::item::n;
use crate::dynamodb::update::RowUpdate;
use crate::lanes::row::LaneRow;

impl LaneRow {
    /// The counts of the row, which may be incomplete.
    fn tally(&self) -> Tally {
        Tally {
            inbound: self.inbound,
            outbound: self.outbound,
            internal: self.internal,
            first: self.first_at.map(Timestamp::from_millis),
            last: self.last_at.map(Timestamp::from_millis),
        }
    }

    /// The counts of all messages, if the row counts all of them and none is later than `until`.
    pub(crate) fn counted(&self, until: Timestamp) -> Option<Tally> {
        let tally = self.tally();
        let all = u64::try_from(tally.messages()).is_ok_and(|messages| messages == self.seq);
        (all && tally.last.is_none_or(|last| last <= until)).then_some(tally)
    }
}

/// The counts of a conversation's lane under a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The last number that a message took.
    pub seq: u64,
    /// The messages that the row counted when it was last read.
    tally: Tally,
    /// The steps that became messages under this lease.
    made: Tally,
}

impl Counts {
    /// The counts of a lane that was just leased.
    pub(crate) fn of(row: &LaneRow) -> Self {
        Self { seq: row.seq, tally: row.tally(), made: Tally::default() }
    }

    /// The counts after a step of the plan became this message.
    pub(crate) fn with_step(self, message: &Message) -> Self {
        Self { made: self.made.and(Tally::of(message)), ..self }
    }

    /// The counts of a row that changed meanwhile, with the steps of this lease.
    pub(crate) fn merged_with(self, found: Self) -> Self {
        Self { made: self.made, ..found }
    }

    /// The release also counts the steps that became messages. It requires the lane as it was read, because a
    /// message that was added since may be the last.
    pub(crate) fn add_to_release(self, change: RowUpdate) -> RowUpdate {
        let all = self.tally.and(self.made);
        match all.first.zip(all.last) {
            Some((first, last)) if self.made.messages() > 0 => change
                .when("#seq = :seq")
                .name("seq")
                .bind(":seq", n(self.seq))
                .add("outbound", n(self.made.messages()))
                .set("firstAt", n(first.as_millis()))
                .set("lastAt", n(last.as_millis())),
            _ => change,
        }
    }
}

/// Adds the count of a message to the change that gives it its number. The change expects that the message is
/// later than those before it, as nearly all are. If clocks differ, it is refused and repeated with the lane
/// as it was `found`.
pub(crate) fn count(change: RowUpdate, message: &Message, found: Option<&LaneRow>) -> RowUpdate {
    let at = message.created_at.as_millis();
    let change = change.add(counter(message.direction()), n(1));
    match found.and_then(|found| found.first_at.zip(found.last_at)) {
        Some((first, last)) if last > at => {
            change.set("firstAt", n(first.min(at))).set("lastAt", n(last)).when("#lastAt = :lastAt")
        }
        _ => change
            .set_if_absent("firstAt", n(at))
            .set("lastAt", n(at))
            .when("(attribute_not_exists(#lastAt) OR #lastAt <= :lastAt)"),
    }
}

/// The attribute that counts messages of a direction.
fn counter(direction: Direction) -> &'static str {
    match direction {
        Direction::Inbound => "inbound",
        Direction::Outbound => "outbound",
        Direction::Internal => "internal",
    }
}
