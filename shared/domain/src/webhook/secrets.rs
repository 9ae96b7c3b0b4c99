//! The secrets of an endpoint: the signing secrets and the tenant's API key.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::secret::Secret;
use crate::text::Unfit;
use crate::time::Timestamp;

/// The secrets of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSecrets {
    /// The tenant's own API key, which each delivery contains.
    pub api_key: ReceiverKey,
    /// The secrets that sign the deliveries.
    pub signing: SigningSecrets,
}

/// The signing secrets of an endpoint, with the state of their rotation. The next secret signs in addition to
/// the active one until it is activated. The previous secret signs in addition to its successor until its
/// overlap ends. At most these three sign at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecrets {
    /// The secret of the legacy signature and of the first Standard Webhooks signature.
    pub active: SigningSecret,
    /// A secret that was given out and is not activated yet.
    pub next: Option<SigningSecret>,
    /// The replaced secret, and the time until which it signs.
    pub previous: Option<(SigningSecret, Timestamp)>,
}

impl SigningSecrets {
    /// The secrets of an endpoint without a rotation.
    pub fn only(active: SigningSecret) -> Self {
        Self { active, next: None, previous: None }
    }

    /// How long a replaced secret continues to sign: 24 hours.
    pub const OVERLAP: Duration = Duration::from_hours(24);

    /// All secrets that sign at this time, the active one first.
    pub fn in_force(&self, now: Timestamp) -> impl Iterator<Item = &SigningSecret> {
        let previous = self.overlapping(now).map(|(secret, _)| secret);
        std::iter::once(&self.active).chain(&self.next).chain(previous)
    }

    /// The replaced secret that still signs, and the time until which it does.
    pub fn overlapping(&self, now: Timestamp) -> Option<&(SigningSecret, Timestamp)> {
        self.previous.as_ref().filter(|(_, until)| now < *until)
    }

    /// The first phase of a rotation: a next secret, which from now on signs in addition to the active one.
    /// Another next secret is discarded only if `replace` is set, because a receiver may already use it.
    pub fn rotated(
        &self,
        next: SigningSecret,
        replace: bool,
        now: Timestamp,
    ) -> Result<Self, RotationRefused> {
        if self.next.is_some() && !replace {
            return Err(RotationRefused::NextWaits);
        }
        let previous = self.overlapping(now).cloned();
        Ok(Self { active: self.active.clone(), next: Some(next), previous })
    }

    /// The second phase: the next secret becomes the active one, and the replaced one continues to sign until
    /// its overlap ends. Only one replaced secret can overlap at a time, so every secret signs until the end
    /// of its overlap.
    pub fn activated(&self, now: Timestamp) -> Result<Self, RotationRefused> {
        match (&self.next, self.overlapping(now)) {
            (None, None) => Err(RotationRefused::NoNext),
            (None, Some((_, until))) => Err(RotationRefused::Activated { until: *until }),
            (Some(_), Some((_, until))) => Err(RotationRefused::Overlapping { until: *until }),
            (Some(next), None) => {
                let previous = Some((self.active.clone(), now.plus(Self::OVERLAP)));
                Ok(Self { active: next.clone(), next: None, previous })
            }
        }
    }
}

/// Why a rotation cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationRefused {
    /// A next secret exists that is not activated yet.
    #[error("a next secret already exists: activate it, or replace it with --replace")]
    NextWaits,
    /// There is no next secret.
    #[error("there is no next secret: rotate first")]
    NoNext,
    /// The next secret is already active, and there is no newer one.
    #[error("the next secret is already active, and the previous secret also signs until {until}")]
    Activated {
        /// When the overlap ends.
        until: Timestamp,
    },
    /// The secret before the active one still signs.
    #[error("the previous secret signs until {until}: activate the next secret after that")]
    Overlapping {
        /// When the overlap ends.
        until: Timestamp,
    },
}

/// A signing secret: `whsec_` and the base64 of 32 bytes. Its debug output is redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecret(Secret);

impl SigningSecret {
    const PREFIX: &'static str = "whsec_";
    const PATTERN: &'static str = "^whsec_[A-Za-z0-9+/]{43}=$";
    const FORM: &'static str = "whsec_ and the Base64 of 32 bytes";

    /// Makes a secret of 32 random bytes.
    pub fn from_entropy(entropy: [u8; 32]) -> Self {
        Self(Secret::new(format!("{}{}", Self::PREFIX, STANDARD.encode(entropy))))
    }

    /// Parses a secret in its displayed form.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let secret = Self(Secret::new(text));
        match secret.decoded() {
            Some(bytes) if bytes.len() == 32 => Ok(secret),
            _ => Err(Unfit::Shape { pattern: Self::PATTERN, form: Self::FORM }),
        }
    }

    /// The secret in its displayed form. Its UTF-8 bytes are the key of the legacy signature.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The 32 bytes after the prefix, which are the key of the Standard Webhooks signature.
    pub fn key_bytes(&self) -> Vec<u8> {
        // Both constructors make sure that the text decodes.
        self.decoded().unwrap_or_default()
    }

    fn decoded(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.expose().strip_prefix(Self::PREFIX)?).ok()
    }
}

/// The tenant's API key, sent unchanged in a header: 1 to 256 visible ASCII characters. Its debug output is
/// redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverKey(Secret);

impl ReceiverKey {
    /// The greatest number of characters in a key.
    pub const MAX: usize = 256;
    const PATTERN: &'static str = "^[!-~]{1,256}$";
    const FORM: &'static str = "1 to 256 visible ASCII characters, without spaces";

    /// Parses a key.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (1..=Self::MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: Self::FORM };
        if fits { Ok(Self(Secret::new(text))) } else { Err(shape) }
    }

    /// The plain text of the key.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_signing_secret_is_a_prefix_and_32_bytes() {
        let secret = SigningSecret::from_entropy([7; 32]);
        assert_eq!(secret.expose(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
        assert_eq!(secret.key_bytes(), [7; 32]);
        assert_eq!(SigningSecret::parse(secret.expose()), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "SigningSecret([redacted])");
        for bad in ["", "whsec_", "whsec_BwcH", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", "whsec_ü"] {
            assert!(SigningSecret::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_receiver_key_contains_only_visible_ascii_characters() {
        assert!(ReceiverKey::parse("k-123_~!").is_ok());
        for bad in ["", "a b", "a\r\nX-Evil: 1", "é", &"k".repeat(257)] {
            assert!(ReceiverKey::parse(bad).is_err(), "{bad:?}");
        }
    }

    fn signing(byte: u8) -> SigningSecret {
        SigningSecret::from_entropy([byte; 32])
    }

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    #[test]
    fn the_previous_secret_signs_until_its_overlap_ends() {
        let at = Timestamp::from_millis;
        let secrets = SigningSecrets {
            active: signing(1),
            next: Some(signing(2)),
            previous: Some((signing(0), at(10))),
        };
        let in_force = |now| secrets.in_force(at(now)).cloned().collect::<Vec<_>>();
        assert_eq!(in_force(9), [signing(1), signing(2), signing(0)]);
        assert_eq!(in_force(10), [signing(1), signing(2)]);
        assert_eq!(SigningSecrets::only(signing(1)).in_force(at(0)).count(), 1);
    }

    #[test]
    fn a_rotation_has_two_phases_and_each_refuses_to_shorten_an_overlap() {
        let (ends, past) = (NOW.plus(Duration::from_secs(1)), NOW);
        let secrets = |next: Option<u8>, previous: Option<Timestamp>| SigningSecrets {
            active: signing(1),
            next: next.map(signing),
            previous: previous.map(|until| (signing(0), until)),
        };
        let switched = SigningSecrets {
            active: signing(2),
            next: None,
            previous: Some((signing(1), NOW.plus(SigningSecrets::OVERLAP))),
        };
        use RotationRefused::*;
        for (before, rotated, replaced, activated) in [
            (secrets(None, None), Ok(secrets(Some(9), None)), secrets(Some(9), None), Err(NoNext)),
            // The next change discards a secret whose overlap has ended.
            (secrets(None, Some(past)), Ok(secrets(Some(9), None)), secrets(Some(9), None), Err(NoNext)),
            (
                secrets(None, Some(ends)),
                Ok(secrets(Some(9), Some(ends))),
                secrets(Some(9), Some(ends)),
                Err(Activated { until: ends }),
            ),
            (secrets(Some(2), None), Err(NextWaits), secrets(Some(9), None), Ok(switched.clone())),
            (secrets(Some(2), Some(past)), Err(NextWaits), secrets(Some(9), None), Ok(switched)),
            (
                secrets(Some(2), Some(ends)),
                Err(NextWaits),
                secrets(Some(9), Some(ends)),
                Err(Overlapping { until: ends }),
            ),
        ] {
            assert_eq!(before.rotated(signing(9), false, NOW), rotated, "{before:?}");
            assert_eq!(before.rotated(signing(9), true, NOW), Ok(replaced), "{before:?}");
            assert_eq!(before.activated(NOW), activated, "{before:?}");
        }
    }

    proptest! {
        /// After any sequence of requests, a secret that was active signs for its whole overlap, and at most
        /// three secrets sign.
        #[test]
        fn a_secret_that_was_active_signs_until_its_overlap_ends(
            steps in proptest::collection::vec((0u8..3, 0u64..30 * 3_600), 1..40),
        ) {
            let (mut secrets, mut now) = (SigningSecrets::only(signing(0)), NOW);
            let mut replaced: Vec<(SigningSecret, Timestamp)> = vec![];
            for (number, (step, wait)) in (1..).zip(steps) {
                now = now.plus(Duration::from_secs(wait));
                let before = secrets.clone();
                let after = match step {
                    0 => before.activated(now),
                    step => before.rotated(signing(number), step == 2, now),
                };
                secrets = after.unwrap_or(secrets);
                if secrets.active != before.active {
                    prop_assert_eq!(Some(&secrets.active), before.next.as_ref(), "only what was given out");
                    replaced.push((before.active, now.plus(SigningSecrets::OVERLAP)));
                }
                let in_force: Vec<&SigningSecret> = secrets.in_force(now).collect();
                prop_assert!(in_force.len() <= 3);
                for (secret, until) in &replaced {
                    prop_assert_eq!(in_force.contains(&secret), now < *until);
                }
            }
        }
    }
}
