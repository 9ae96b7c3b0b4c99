//! How long the service keeps personal data.

use std::time::Duration;

use crate::time::days;

/// The retention of a deployment, for each kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long a message is kept after its creation. `None` = without limit.
    pub messages: Option<Duration>,
    /// How long a conversation is kept after its release. `None` = without limit.
    pub conversations: Option<Duration>,
    /// How long a lead is kept after it was accepted. `None` = without limit.
    pub leads: Option<Duration>,
    /// How long an event and its deliveries are kept after the event was recorded.
    pub events: Duration,
}

impl Retention {
    /// How long events are kept if the deployment sets nothing else: 30 days.
    pub const EVENTS: Duration = days(30);
    /// The longest retention of events: a year.
    pub const LONGEST_EVENTS: Duration = days(365);
    /// The longest retention: ten years.
    const LONGEST_DAYS: u64 = 3_650;

    /// The retention that a number of days means: 0 = without limit.
    pub fn of_days(number: u64) -> Result<Option<Duration>, RetentionError> {
        match number {
            0 => Ok(None),
            1..=Self::LONGEST_DAYS => Ok(Some(days(number))),
            _ => Err(RetentionError),
        }
    }

    /// The retention of events that a number of days means. It always has a limit: only the TTL deletes events and
    /// deliveries.
    pub fn of_event_days(number: u64) -> Result<Duration, RetentionError> {
        let events = Self::of_days(number)?.filter(|events| *events <= Self::LONGEST_EVENTS);
        events.ok_or(RetentionError)
    }
}

impl Default for Retention {
    /// Events are kept for 30 days, everything else without limit.
    fn default() -> Self {
        Self { messages: None, conversations: None, leads: None, events: Self::EVENTS }
    }
}

/// The number of days is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a number of days within the limits")]
pub struct RetentionError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_days_mean_no_limit_except_for_events() {
        let rows = [
            // Days; the retention; that of events.
            (0, Ok(None), Err(RetentionError)),
            (1, Ok(Some(days(1))), Ok(days(1))),
            (30, Ok(Some(days(30))), Ok(Retention::EVENTS)),
            (365, Ok(Some(days(365))), Ok(Retention::LONGEST_EVENTS)),
            (366, Ok(Some(days(366))), Err(RetentionError)),
            (3_650, Ok(Some(days(3_650))), Err(RetentionError)),
            (3_651, Err(RetentionError), Err(RetentionError)),
        ];
        for (number, expected, events) in rows {
            assert_eq!(Retention::of_days(number), expected, "{number}");
            assert_eq!(Retention::of_event_days(number), events, "{number}");
        }
    }
}
