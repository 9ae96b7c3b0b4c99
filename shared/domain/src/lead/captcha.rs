//! The decision about a lead from the captcha's answer: Google reCAPTCHA v3.

use std::fmt;
use std::time::Duration;

use crate::text::Unfit;
use crate::time::Timestamp;

/// The action of the token. The service rejects a token for another action.
pub const ACTION: &str = "campaign_lead";
/// The greatest age of a solved challenge.
pub const MAX_AGE: Duration = Duration::from_mins(2);
/// The greatest tolerated difference between the provider's clock and the service's clock.
pub const SKEW: Duration = Duration::from_secs(60);

macro_rules! hundredths {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(u8);

        impl $name {
            /// Makes it from hundredths, 0 to 100. Returns `None` for a greater number.
            pub fn from_hundredths(hundredths: u8) -> Option<Self> {
                (hundredths <= 100).then_some(Self(hundredths))
            }

            /// The number in hundredths, 0 to 100.
            pub fn hundredths(self) -> u8 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", f64::from(self.0) / 100.0)
            }
        }
    )*};
}

hundredths! {
    /// The score of a visitor, from 0 (a machine) to 1 (a human). Printed as `0.9`.
    Score;
    /// The least score of an accepted lead. Printed as `0.5`.
    Threshold;
}

impl Default for Threshold {
    /// 0.5, the initial value that Google recommends.
    fn default() -> Self {
        Self(50)
    }
}

impl Threshold {
    /// Parses a number from 0 to 1 with at most two decimals: `0.5`, `0.75`.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        const WRONG: Unfit =
            Unfit::Value { reason: "a score must be 0 to 1 with at most two decimals (0.5)" };
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str, most| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 1) || !digits(decimals, 2) {
            return Err(WRONG);
        }
        format!("{whole}{decimals:0<2}").parse().ok().and_then(Self::from_hundredths).ok_or(WRONG)
    }
}

impl Score {
    /// The provider's number, rounded down to hundredths, so a score that prints as the threshold reaches it.
    /// `None` if the number is not from 0 to 1.
    fn of(number: f64) -> Option<Self> {
        (0..=100)
            .rev()
            .find(|&hundredths| f64::from(hundredths) / 100.0 <= number)
            .filter(|_| number <= 1.0)
            .map(Self)
    }
}

/// The provider's answer about a token.
#[derive(Clone, Debug, PartialEq)]
pub enum CaptchaAnswer {
    /// The token is valid and was not verified before.
    Solved {
        /// The score as the provider wrote it, 0 to 1.
        score: f64,
        /// The action for which the page requested the token.
        action: String,
        /// The host name of the page.
        hostname: String,
        /// When the challenge was solved.
        at: Timestamp,
    },
    /// The provider returned these error codes instead of a score.
    Refused(Vec<String>),
}

/// The decision that follows from a [`CaptchaAnswer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptchaVerdict {
    /// The lead is accepted.
    Passed {
        /// The visitor's score.
        score: Score,
    },
    /// The lead is rejected.
    Rejected(Rejection),
    /// The captcha gave no result. The visitor may try again. The text is for the log.
    Unavailable(&'static str),
    /// The provider does not accept the workspace's secret. An operator must correct it; the visitor is not
    /// at fault.
    SecretRefused,
}

/// Why a lead is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The token is empty.
    TokenMissing,
    /// The provider did not make the token.
    TokenInvalid,
    /// The token expired or was verified before. Only the service's table knows whether the same request
    /// verified it.
    Duplicate,
    /// The token was solved on a host that is none of the workspace's.
    WrongHostname,
    /// The token was requested for another action.
    WrongAction,
    /// The challenge was solved more than [`MAX_AGE`] plus [`SKEW`] ago.
    TooOld,
    /// The challenge was solved more than [`SKEW`] in the future.
    FromTheFuture,
    /// The score is below the threshold.
    LowScore,
}

impl Rejection {
    /// The name for the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TokenMissing => "token_missing",
            Self::TokenInvalid => "token_invalid",
            Self::Duplicate => "duplicate",
            Self::WrongHostname => "wrong_hostname",
            Self::WrongAction => "wrong_action",
            Self::TooOld => "too_old",
            Self::FromTheFuture => "from_the_future",
            Self::LowScore => "low_score",
        }
    }
}

/// The meaning of the provider's error codes. If the provider returns several codes, the first one in this
/// list decides. A rejected secret says nothing about the token.
const CODES: &[(&str, CaptchaVerdict)] = &[
    ("missing-input-secret", CaptchaVerdict::SecretRefused),
    ("invalid-input-secret", CaptchaVerdict::SecretRefused),
    ("missing-input-response", CaptchaVerdict::Rejected(Rejection::TokenMissing)),
    ("invalid-input-response", CaptchaVerdict::Rejected(Rejection::TokenInvalid)),
    ("timeout-or-duplicate", CaptchaVerdict::Rejected(Rejection::Duplicate)),
    ("bad-request", CaptchaVerdict::Unavailable("bad_request")),
];

/// Decides about an answer. `hosts` are the hosts of the workspace's pages. The function compares whole host
/// names, regardless of case.
pub fn judge(answer: &CaptchaAnswer, threshold: Threshold, hosts: &[&str], now: Timestamp) -> CaptchaVerdict {
    let (score, action, hostname, at) = match answer {
        CaptchaAnswer::Solved { score, action, hostname, at } => (*score, action, hostname, *at),
        CaptchaAnswer::Refused(codes) => return refused(codes),
    };
    let Some(score) = Score::of(score) else { return CaptchaVerdict::Unavailable("score_out_of_range") };
    let rejection = if !hosts.iter().any(|host| host.eq_ignore_ascii_case(hostname)) {
        Rejection::WrongHostname
    } else if action != ACTION {
        Rejection::WrongAction
    } else if now.since(at) > MAX_AGE + SKEW {
        Rejection::TooOld
    } else if at.since(now) > SKEW {
        Rejection::FromTheFuture
    } else if score.hundredths() < threshold.hundredths() {
        Rejection::LowScore
    } else {
        return CaptchaVerdict::Passed { score };
    };
    CaptchaVerdict::Rejected(rejection)
}

fn refused(codes: &[String]) -> CaptchaVerdict {
    let said = CODES.iter().find(|(code, _)| codes.iter().any(|given| given == code));
    match said {
        Some((_, verdict)) => *verdict,
        None if codes.is_empty() => CaptchaVerdict::Unavailable("no_code"),
        None => CaptchaVerdict::Unavailable("unknown_code"),
    }
}

#[cfg(test)]
mod tests;
