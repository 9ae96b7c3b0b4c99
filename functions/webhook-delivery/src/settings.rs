use std::time::Duration;

use domain::{RetrySchedule, TrustedReceivers};
use runtime::{SettingError, Settings};

/// What a deployment decides about deliveries.
#[derive(Clone, Debug)]
pub struct Rules {
    /// When a failed delivery is tried again.
    pub schedule: RetrySchedule,
    /// How long a worker has a delivery for itself.
    pub lease: Duration,
    /// How long an attempt may take in all.
    pub attempt: Duration,
    /// How long after its time a retry whose message was lost is taken up by the sweeper.
    pub rescue: Duration,
    /// Receivers allowed although their port or address is not public.
    pub trusted: TrustedReceivers,
}

impl Rules {
    /// An answer that takes longer is a slow one: 3 of the 30 seconds that an attempt has.
    pub fn patience(&self) -> Duration {
        self.attempt / 10
    }

    /// Reads and checks the settings. That a lease outlasts the function's own time-out as well can only be seen
    /// when it is called.
    pub fn read(settings: &Settings) -> Result<Self, SettingError> {
        let seconds = |name, default| settings.parsed(name, default).map(Duration::from_secs);
        let attempt = seconds("ATTEMPT_TIMEOUT_SECONDS", 30)?;
        let lease = settings.read_with("LEASE_SECONDS", |text| {
            let seconds = if text.is_empty() { Ok(90) } else { text.parse() };
            match seconds.map(Duration::from_secs) {
                Ok(lease) if lease > attempt => Ok(lease),
                Ok(_) => Err("a lease is longer than ATTEMPT_TIMEOUT_SECONDS".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })?;
        Ok(Self {
            schedule: settings.parsed("RETRY_SCHEDULE", RetrySchedule::default())?,
            lease,
            attempt,
            rescue: seconds("FIRST_DUE_SECONDS", 120)?,
            trusted: settings.read_with("TRUSTED_RECEIVERS", TrustedReceivers::parse)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_that_says_nothing_gets_what_is_decided() {
        let rules = Rules::read(&Settings::from_pairs(&[])).unwrap();
        assert_eq!(rules.schedule, RetrySchedule::default());
        assert_eq!((rules.attempt.as_secs(), rules.lease.as_secs(), rules.rescue.as_secs()), (30, 90, 120));
        assert!(rules.trusted.is_empty());
    }

    #[test]
    fn settings_that_cannot_work_together_stop_the_start() {
        for (name, value) in [
            ("LEASE_SECONDS", "30"),
            ("LEASE_SECONDS", "x"),
            ("ATTEMPT_TIMEOUT_SECONDS", "90"),
            ("RETRY_SCHEDULE", "5;6"),
            ("TRUSTED_RECEIVERS", "http://127.0.0.1"),
        ] {
            assert!(Rules::read(&Settings::from_pairs(&[(name, value)])).is_err(), "{name}={value}");
        }
    }
}
