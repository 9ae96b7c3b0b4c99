//! How long the rows that a function writes are kept, from its environment.

use domain::Retention;
use domain::retention::RetentionError;

use crate::{SettingError, Settings};

/// Reads the retention. A function has the variables for the rows that it writes; the others are at their defaults.
pub(crate) fn read(settings: &Settings) -> Result<Retention, SettingError> {
    let kept = |name| days(settings, name, None, Retention::of_days);
    Ok(Retention {
        messages: kept("MESSAGE_RETENTION_DAYS")?,
        conversations: kept("CONVERSATION_RETENTION_DAYS")?,
        leads: kept("LEAD_RETENTION_DAYS")?,
        events: days(settings, "EVENT_RETENTION_DAYS", Retention::EVENTS, Retention::of_event_days)?,
    })
}

fn days<T>(
    settings: &Settings,
    name: &'static str,
    default: T,
    of_days: fn(u64) -> Result<T, RetentionError>,
) -> Result<T, SettingError> {
    settings.read_with(name, |text| match text {
        "" => Ok(default),
        text => text.parse().map_err(|_| RetentionError).and_then(of_days),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn a_retention_that_is_not_set_has_its_default() {
        assert_eq!(read(&Settings::from_pairs(&[])).unwrap(), Retention::default());
        let set = Settings::from_pairs(&[
            ("MESSAGE_RETENTION_DAYS", "1"),
            ("CONVERSATION_RETENTION_DAYS", "2"),
            ("LEAD_RETENTION_DAYS", "0"),
            ("EVENT_RETENTION_DAYS", "7"),
        ]);
        let expected =
            Retention { messages: Some(DAY), conversations: Some(2 * DAY), leads: None, events: 7 * DAY };
        assert_eq!(read(&set).unwrap(), expected);
    }

    #[test]
    fn a_retention_out_of_range_stops_the_start() {
        let rows = [
            ("MESSAGE_RETENTION_DAYS", "-1"),
            ("LEAD_RETENTION_DAYS", "3651"),
            ("EVENT_RETENTION_DAYS", "0"),
        ];
        for (name, value) in rows {
            let error = read(&Settings::from_pairs(&[(name, value)])).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
