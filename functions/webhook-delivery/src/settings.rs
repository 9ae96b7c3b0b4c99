use std::time::Duration;

use domain::{RetrySchedule, TrustedReceivers};
use runtime::{SettingError, Settings};
use url::Url;

/// The settings of a deployment for deliveries.
#[derive(Clone, Debug)]
pub struct Rules {
    /// When failed deliveries are retried.
    pub schedule: RetrySchedule,
    /// How long a lease of a lane lasts.
    pub lease: Duration,
    /// The time limit of a whole attempt.
    pub attempt: Duration,
    /// How long after a lane's queue message the sweeper queues the lane again.
    pub rescue: Duration,
    /// Receivers that are allowed although their port or address is not public.
    pub trusted: TrustedReceivers,
}

impl Rules {
    /// The limit above which an answer is slow: a tenth of the attempt's time limit, which is 3 of 30 seconds by
    /// default.
    pub fn patience(&self) -> Duration {
        self.attempt / 10
    }

    /// The settings of the visits.
    pub(crate) fn of_visits(&self) -> worker::Rules {
        worker::Rules { lease: self.lease, longest: self.attempt, rescue: self.rescue }
    }

    /// Reads and checks the settings. The lease must also outlast the function's own time-out, but this can only be
    /// checked when the function is called.
    pub fn read(settings: &Settings) -> Result<Self, SettingError> {
        let seconds = |name, default| settings.parsed(name, default).map(Duration::from_secs);
        let attempt = seconds("ATTEMPT_TIMEOUT_SECONDS", 30)?;
        let lease = settings.read_with("LEASE_SECONDS", |text| {
            let seconds = if text.is_empty() { Ok(65) } else { text.parse() };
            match seconds.map(Duration::from_secs) {
                Ok(lease) if lease > attempt => Ok(lease),
                Ok(_) => Err("must be longer than ATTEMPT_TIMEOUT_SECONDS".to_owned()),
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

    /// The URL of the service for control connections when a receiver cannot be reached: `EGRESS_CONTROL_URL`, or by
    /// default `queue`, which this function depends on. If the queue is reached over a VPC endpoint, it does not show
    /// whether the internet is reachable. Such a deployment sets a URL that is reached like the receivers.
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
    fn a_deployment_without_settings_gets_the_defaults() {
        let rules = Rules::read(&Settings::from_pairs(&[])).unwrap();
        assert_eq!(rules.schedule, RetrySchedule::default());
        assert_eq!((rules.attempt.as_secs(), rules.lease.as_secs(), rules.rescue.as_secs()), (30, 65, 120));
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
    fn conflicting_settings_are_refused() {
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
