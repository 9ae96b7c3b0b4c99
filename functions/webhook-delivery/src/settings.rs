use std::time::Duration;

use domain::{RetrySchedule, TrustedReceivers};
use runtime::{SettingError, Settings};
use url::Url;

/// What a deployment decides about deliveries.
#[derive(Clone, Debug)]
pub struct Rules {
    /// When a failed delivery is tried again.
    pub schedule: RetrySchedule,
    /// How long a visitor has a lane for itself.
    pub lease: Duration,
    /// How long an attempt may take in all.
    pub attempt: Duration,
    /// How long after its queue message the sweeper looks after a lane.
    pub rescue: Duration,
    /// Receivers allowed although their port or address is not public.
    pub trusted: TrustedReceivers,
}

impl Rules {
    /// An answer that takes longer is a slow one: 3 of the 30 seconds that an attempt has.
    pub fn patience(&self) -> Duration {
        self.attempt / 10
    }

    /// What they say of visits.
    pub(crate) fn of_visits(&self) -> worker::Rules {
        worker::Rules { lease: self.lease, longest: self.attempt, rescue: self.rescue }
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

    /// The URL of the service that is tried when a receiver cannot be reached: `EGRESS_CONTROL_URL`, or `queue`, which
    /// this function depends on itself. Where the queue is reached by a VPC endpoint, it does not tell whether the
    /// internet is: such a deployment names something that is reached as receivers are.
    pub fn control(settings: &Settings, queue: &str) -> Result<String, SettingError> {
        settings.read_with("EGRESS_CONTROL_URL", |text| {
            let text = if text.is_empty() { queue } else { text };
            match Url::parse(text) {
                Ok(url) if url.has_host() && url.port_or_known_default().is_some() => Ok(text.to_owned()),
                Ok(_) => Err("has no host or no port".to_owned()),
                Err(error) => Err(error.to_string()),
            }
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
    fn the_control_connection_goes_to_the_queue_unless_the_deployment_names_another_service() {
        let queue = "https://sqs.eu-central-1.amazonaws.com/1/deliveries";
        let control = |url| Rules::control(&Settings::from_pairs(&[("EGRESS_CONTROL_URL", url)]), queue);
        assert_eq!(control("").unwrap(), queue);
        assert_eq!(control("https://checkip.amazonaws.com").unwrap(), "https://checkip.amazonaws.com");
        for wrong in
            ["checkip.amazonaws.com", "checkip.amazonaws.com:443", "mailto:a@example.com", "x://host/"]
        {
            assert!(control(wrong).is_err(), "{wrong}");
        }
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
