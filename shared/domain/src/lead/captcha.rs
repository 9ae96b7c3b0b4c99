//! What a captcha's verdict on a visitor means for the lead: Google reCAPTCHA v3.

use std::fmt;
use std::time::Duration;

use crate::text::Unfit;
use crate::time::Timestamp;

/// The action for which a landing page asks for its token. One made for anything else is no token of a lead.
pub const ACTION: &str = "campaign_lead";
/// How long a solved challenge counts.
pub const MAX_AGE: Duration = Duration::from_secs(2 * 60);
/// By how much the provider's clock may differ from ours.
pub const SKEW: Duration = Duration::from_secs(60);

macro_rules! hundredths {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(u8);

        impl $name {
            /// From hundredths, 0 to 100.
            pub fn from_hundredths(hundredths: u8) -> Option<Self> {
                (hundredths <= 100).then_some(Self(hundredths))
            }

            /// In hundredths, 0 to 100.
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
    /// How human a visitor seemed, from 0 (a machine) to 1. Printed as `0.9`.
    Score;
    /// The least score of a visitor whose lead is taken. Printed as `0.5`.
    Threshold;
}

impl Default for Threshold {
    /// 0.5, Google's own advice to begin with.
    fn default() -> Self {
        Self(50)
    }
}

impl Threshold {
    /// Reads `0`, `1` and what lies between, with at most two decimals: `0.5`, `0.75`.
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
    /// From the provider's number, rounded down: a score that prints as the threshold reaches it. `None` if it is not
    /// from 0 to 1.
    fn of(number: f64) -> Option<Self> {
        (0..=100)
            .rev()
            .find(|&hundredths| f64::from(hundredths) / 100.0 <= number)
            .filter(|_| number <= 1.0)
            .map(Self)
    }
}

/// What the provider said of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum CaptchaAnswer {
    /// The token is one of its own, and was shown for the first time.
    Solved {
        /// How human the visitor seemed, as the provider wrote it: 0 to 1.
        score: f64,
        /// What the page asked the token for.
        action: String,
        /// The host of the page.
        hostname: String,
        /// When the challenge was solved.
        at: Timestamp,
    },
    /// It did not look at the visitor, for these reasons (its error codes).
    Refused(Vec<String>),
}

/// What follows from a [`CaptchaAnswer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptchaVerdict {
    /// A visitor whose lead is taken.
    Passed {
        /// How human the visitor seemed.
        score: Score,
    },
    /// A visitor whose lead is not taken.
    Rejected(Rejection),
    /// Nothing is known of the visitor, who may try again. The word is for the log.
    Unavailable(&'static str),
    /// The provider does not know our own secret: the operator's to put right, and no visitor's fault.
    SecretRefused,
}

/// Why a lead is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The token is empty.
    TokenMissing,
    /// The provider did not make the token.
    TokenInvalid,
    /// The token is too old, or was shown before: by whom, only our own table knows.
    Duplicate,
    /// Made for a page of a host that is none of the workspace's.
    WrongHostname,
    /// Made for something else than a lead.
    WrongAction,
    /// Solved more than [`MAX_AGE`] ago.
    TooOld,
    /// Solved in the future.
    FromTheFuture,
    /// Not human enough.
    LowScore,
}

impl Rejection {
    /// The word for the log.
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

/// What each of the provider's error codes means, in the order of their weight: of several codes the first one listed
/// here decides. A secret that is not ours says nothing of the token.
const CODES: &[(&str, CaptchaVerdict)] = &[
    ("missing-input-secret", CaptchaVerdict::SecretRefused),
    ("invalid-input-secret", CaptchaVerdict::SecretRefused),
    ("missing-input-response", CaptchaVerdict::Rejected(Rejection::TokenMissing)),
    ("invalid-input-response", CaptchaVerdict::Rejected(Rejection::TokenInvalid)),
    ("timeout-or-duplicate", CaptchaVerdict::Rejected(Rejection::Duplicate)),
    ("bad-request", CaptchaVerdict::Unavailable("bad_request")),
];

/// Judges an answer. `hosts` are those of the pages on which the workspace captures leads; they are compared whole and
/// without case.
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
