//! What a lane counts of its conversation's messages, so that nobody has to read them all for a summary.
//!
//! A message is counted by the write of the lane that gives it its number. The steps of an onboarding plan, whose numbers
//! are taken when the conversation is made, are counted when the lane is given back in which they became messages. A
//! lane whose counts come to fewer than the numbers taken (steps are left, a sender died or had to stop, an older row)
//! has not counted all: then the messages are read.

use domain::summary::{Direction, Tally};
use domain::{Message, Timestamp};

use crate::dynamodb::item::n;
use crate::dynamodb::update::Change;
use crate::lanes::row::LaneRow;

impl LaneRow {
    /// What it counts, which may not be all.
    fn tally(&self) -> Tally {
        Tally {
            inbound: self.inbound,
            outbound: self.outbound,
            internal: self.internal,
            first: self.first_at.map(Timestamp::from_millis),
            last: self.last_at.map(Timestamp::from_millis),
        }
    }

    /// All messages of the conversation, if it counts them all and none is younger than that.
    pub(crate) fn counted(&self, until: Timestamp) -> Option<Tally> {
        let tally = self.tally();
        let all = u64::try_from(tally.messages()).is_ok_and(|messages| messages == self.seq);
        (all && tally.last.is_none_or(|last| last <= until)).then_some(tally)
    }
}

/// What the lane of a conversation counts, under a lease.
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
    /// Those of a lane that was just taken.
    pub(crate) fn of(row: &LaneRow) -> Self {
        Self { seq: row.seq, tally: row.tally(), made: Tally::default() }
    }

    /// The same, once a step of the plan became that message.
    pub(crate) fn with_step(self, message: &Message) -> Self {
        Self { made: self.made.and(Tally::of(message)), ..self }
    }

    /// The same, in a row that was found changed meanwhile.
    pub(crate) fn moved(self, found: Self) -> Self {
        Self { made: self.made, ..found }
    }

    /// The release also counts the steps that were made. It needs the lane as it was read: a message that came
    /// meanwhile may be the last.
    pub(crate) fn put_back(self, change: Change) -> Change {
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

/// The change that gives a message its number also counts it. It expects that the message is younger than those before
/// it, as nearly all are: if clocks differ it is refused, and repeated with the lane as it was `found`.
pub(crate) fn count(change: Change, message: &Message, found: Option<&LaneRow>) -> Change {
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
