//! The time after a customer's message in which the provider takes more than templates.

use std::time::Duration;

use crate::contact::Contact;
use crate::time::Timestamp;

/// What is known about a customer's messages on a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceWindow {
    /// Since when the line delivers customers' messages to the service; `None` if it may not.
    pub line_since: Option<Timestamp>,
    /// When the customer last wrote on the line, if the service got a message.
    pub last_inbound: Option<Timestamp>,
}

impl ServiceWindow {
    /// How long the provider takes texts and files after a customer's message.
    pub const OPEN: Duration = Duration::from_hours(24);

    /// By how much the clocks of the provider and of the service may differ.
    const CLOCKS: Duration = Duration::from_mins(1);

    /// Whether the window is surely closed: the line has delivered messages for the whole time, and the
    /// customer wrote none. The contact must be unchanged for as long, because its number may have been another
    /// contact's, who wrote.
    pub fn is_surely_closed(&self, contact: &Contact, now: Timestamp) -> bool {
        let is_over = |from: Timestamp| now.since(from) > Self::OPEN + Self::CLOCKS;
        self.line_since.is_some_and(is_over)
            && is_over(self.last_inbound.map_or(contact.updated_at, |at| at.max(contact.updated_at)))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::{ContactId, WorkspaceId};

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const HOUR: i64 = 3_600_000;
    const MINUTE: i64 = 60_000;

    fn before(millis: i64) -> Timestamp {
        Timestamp::from_millis(NOW.as_millis() - millis)
    }

    #[test]
    fn a_window_is_surely_closed_only_if_the_line_would_have_told_of_a_message() {
        // Since the line delivers, since the customer wrote, and since the contact changed.
        const OPEN: i64 = 24 * HOUR + MINUTE;
        let rows = [
            (Some(48 * HOUR), Some(25 * HOUR), HOUR, false),
            (Some(48 * HOUR), Some(25 * HOUR), 25 * HOUR, true),
            (Some(48 * HOUR), Some(24 * HOUR), 48 * HOUR, false),
            (Some(48 * HOUR), Some(OPEN), 48 * HOUR, false),
            (Some(48 * HOUR), Some(OPEN + 1), 48 * HOUR, true),
            (Some(48 * HOUR), Some(HOUR), 48 * HOUR, false),
            (Some(48 * HOUR), Some(-HOUR), 48 * HOUR, false), // by another clock
            (Some(48 * HOUR), None, 48 * HOUR, true),
            (Some(48 * HOUR), None, 24 * HOUR, false),
            (Some(OPEN), Some(72 * HOUR), 72 * HOUR, false),
            (Some(OPEN + 1), Some(72 * HOUR), 72 * HOUR, true),
            (Some(HOUR), None, 72 * HOUR, false),
            (None, Some(72 * HOUR), 72 * HOUR, false),
            (None, None, 72 * HOUR, false),
        ];
        for (line, inbound, contact, expected) in rows {
            let window = ServiceWindow { line_since: line.map(before), last_inbound: inbound.map(before) };
            let id = (ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
            let contact = Contact::blank(id.0, id.1, before(contact));
            assert_eq!(window.is_surely_closed(&contact, NOW), expected, "{window:?}");
        }
    }
}
