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
    pub const OPEN: Duration = Duration::from_secs(24 * 60 * 60);

    /// By how much the clocks of the provider and of the service may differ.
    const CLOCKS: Duration = Duration::from_secs(60);

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

    fn hours(hours: f64) -> Timestamp {
        Timestamp::from_millis(NOW.as_millis() - (hours * 3_600_000.0) as i64)
    }

    #[test]
    fn a_window_is_surely_closed_only_if_the_line_would_have_told_of_a_message() {
        // Hours since the line delivers, since the customer wrote, and since the contact changed.
        let rows = [
            (Some(48.0), Some(25.0), 1.0, false),
            (Some(48.0), Some(25.0), 25.0, true),
            (Some(48.0), Some(24.0), 48.0, false),
            (Some(48.0), Some(24.016), 48.0, false), // less than a minute over
            (Some(48.0), Some(24.017), 48.0, true),
            (Some(48.0), Some(1.0), 48.0, false),
            (Some(48.0), Some(-1.0), 48.0, false), // by another clock
            (Some(48.0), None, 48.0, true),
            (Some(48.0), None, 24.0, false),
            (Some(24.016), Some(72.0), 72.0, false),
            (Some(24.017), Some(72.0), 72.0, true),
            (Some(1.0), None, 72.0, false),
            (None, Some(72.0), 72.0, false),
            (None, None, 72.0, false),
        ];
        for (line, inbound, contact, expected) in rows {
            let window = ServiceWindow { line_since: line.map(hours), last_inbound: inbound.map(hours) };
            let id = (ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
            let contact = Contact::blank(id.0, id.1, hours(contact));
            assert_eq!(window.is_surely_closed(&contact, NOW), expected, "{window:?}");
        }
    }
}
