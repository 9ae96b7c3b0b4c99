//! The settings of a deployment for both functions that send messages.

use std::time::Duration;

use domain::sending::SendSchedule;

use crate::{SettingError, Settings};

/// The settings of a deployment for sending.
#[derive(Clone, Debug)]
pub struct SendRules {
    /// When a message that was not accepted is sent again.
    pub schedule: SendSchedule,
    /// The time limit of a call to the provider.
    pub call: Duration,
    /// How long the lease of a conversation or lead lasts.
    pub lease: Duration,
    /// How long after a lane's queue message the sweeper queues the lane again.
    pub rescue: Duration,
}

impl SendRules {
    /// Reads and checks the settings. It cannot check that the lease is longer than the function's time
    /// limit, nor that this limit leaves time for a call; `queue::InvocationBudget` checks both at each invocation.
    pub fn read(settings: &Settings) -> Result<Self, SettingError> {
        let call = settings.read_with("SEND_TIMEOUT_SECONDS", |text| match seconds(text, 10)? {
            Duration::ZERO => Err("must be at least 1 second".to_owned()),
            call => Ok(call),
        })?;
        let lease = settings.read_with("SEND_LEASE_SECONDS", |text| match seconds(text, 65)? {
            lease if lease > call => Ok(lease),
            _ => Err("must be longer than SEND_TIMEOUT_SECONDS".to_owned()),
        })?;
        let decided = SendSchedule::recommended();
        let schedule = SendSchedule {
            retries: settings.parsed("SEND_RETRY_SCHEDULE", decided.retries)?,
            throttled: settings.parsed("SEND_THROTTLE_SCHEDULE", decided.throttled)?,
            template_look: settings
                .read_with("TEMPLATE_LOOK_SECONDS", |text| seconds(text, decided.template_look.as_secs()))?,
            give_up: decided.give_up,
        };
        let rescue = settings.read_with("FIRST_DUE_SECONDS", |text| seconds(text, 120))?;
        Ok(Self { schedule, call, lease, rescue })
    }
}

/// Whole seconds, or the default if the text is empty.
fn seconds(text: &str, default: u64) -> Result<Duration, String> {
    let seconds = if text.is_empty() { Ok(default) } else { text.parse() };
    seconds.map(Duration::from_secs).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_settings_have_the_recommended_defaults() {
        let rules = SendRules::read(&Settings::from_pairs(&[])).unwrap();
        assert_eq!((rules.call.as_secs(), rules.lease.as_secs(), rules.rescue.as_secs()), (10, 65, 120));
        assert_eq!(rules.schedule.retries, "30,120,600,3600,14400".parse().unwrap());
        assert_eq!(rules.schedule.throttled, "5,10,30,60,300".parse().unwrap());
        assert_eq!(rules.schedule.template_look.as_secs(), 900);
        assert_eq!(rules.schedule.give_up.as_secs(), 86_400);
    }

    #[test]
    fn settings_that_do_not_fit_together_are_refused_at_start() {
        for (name, value) in [
            ("SEND_LEASE_SECONDS", "10"),
            ("SEND_LEASE_SECONDS", "x"),
            ("SEND_TIMEOUT_SECONDS", "90"),
            ("SEND_TIMEOUT_SECONDS", "0"),
            ("SEND_RETRY_SCHEDULE", "5;6"),
            ("SEND_THROTTLE_SCHEDULE", "soon"),
        ] {
            assert!(SendRules::read(&Settings::from_pairs(&[(name, value)])).is_err(), "{name}={value}");
        }
    }
}
