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
pub enum Answer {
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

/// What follows from an [`Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
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
const CODES: &[(&str, Verdict)] = &[
    ("missing-input-secret", Verdict::SecretRefused),
    ("invalid-input-secret", Verdict::SecretRefused),
    ("missing-input-response", Verdict::Rejected(Rejection::TokenMissing)),
    ("invalid-input-response", Verdict::Rejected(Rejection::TokenInvalid)),
    ("timeout-or-duplicate", Verdict::Rejected(Rejection::Duplicate)),
    ("bad-request", Verdict::Unavailable("bad_request")),
];

/// Judges an answer. `hosts` are those of the pages on which the workspace captures leads; they are compared whole and
/// without case.
pub fn judge(answer: &Answer, threshold: Threshold, hosts: &[&str], now: Timestamp) -> Verdict {
    let (score, action, hostname, at) = match answer {
        Answer::Solved { score, action, hostname, at } => (*score, action, hostname, *at),
        Answer::Refused(codes) => return refused(codes),
    };
    let Some(score) = Score::of(score) else { return Verdict::Unavailable("score_out_of_range") };
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
        return Verdict::Passed { score };
    };
    Verdict::Rejected(rejection)
}

fn refused(codes: &[String]) -> Verdict {
    let said = CODES.iter().find(|(code, _)| codes.iter().any(|given| given == code));
    match said {
        Some((_, verdict)) => *verdict,
        None if codes.is_empty() => Verdict::Unavailable("no_code"),
        None => Verdict::Unavailable("unknown_code"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOSTS: &[&str] = &["www.example.com", "Landing.Example.com", "localhost"];
    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    /// An answer with which everything is in order, and how long ago it was solved.
    fn solved(score: f64, action: &str, hostname: &str, age_millis: i64) -> Answer {
        let at = Timestamp::from_millis(NOW.as_millis() - age_millis);
        Answer::Solved { score, action: action.to_owned(), hostname: hostname.to_owned(), at }
    }

    fn scored(score: f64) -> Answer {
        solved(score, ACTION, HOSTS[0], 0)
    }

    fn judged(answer: &Answer) -> Verdict {
        judge(answer, Threshold::default(), HOSTS, NOW)
    }

    fn passed(hundredths: u8) -> Verdict {
        Verdict::Passed { score: Score(hundredths) }
    }

    #[test]
    fn a_threshold_is_read_as_it_is_written() {
        for (text, hundredths, printed) in [
            ("0.5", 50, "0.5"),
            ("0.50", 50, "0.5"),
            ("0.05", 5, "0.05"),
            ("0.07", 7, "0.07"),
            ("0.29", 29, "0.29"),
            ("0", 0, "0"),
            ("0.0", 0, "0"),
            ("1", 100, "1"),
            ("1.00", 100, "1"),
        ] {
            let threshold = Threshold::parse(text).unwrap();
            assert_eq!(
                (threshold.hundredths(), threshold.to_string().as_str()),
                (hundredths, printed),
                "{text}"
            );
        }
        for bad in [
            "", ".", ".5", "1.", "0.500", "1.01", "2", "01", "-0.5", "+1", "0,5", "0.5 ", "NaN", "5e-1",
            "٠.٥",
        ] {
            assert!(Threshold::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Threshold::default().to_string(), "0.5");
        assert_eq!(Threshold::from_hundredths(100).map(Threshold::hundredths), Some(100));
        assert_eq!(Threshold::from_hundredths(101), None);
    }

    #[test]
    fn whoever_reaches_the_threshold_passes() {
        for (score, verdict) in [
            (1.0, passed(100)),
            (0.9, passed(90)),
            (0.999, passed(99)),
            (0.5, passed(50)),
            (0.499_999, Verdict::Rejected(Rejection::LowScore)),
            (0.3, Verdict::Rejected(Rejection::LowScore)),
            (0.0, Verdict::Rejected(Rejection::LowScore)),
            (-0.0, Verdict::Rejected(Rejection::LowScore)),
        ] {
            assert_eq!(judged(&scored(score)), verdict, "{score}");
        }
        let everybody = Threshold::from_hundredths(0).unwrap();
        assert_eq!(judge(&scored(0.0), everybody, HOSTS, NOW), passed(0));
        let nobody_else = Threshold::from_hundredths(100).unwrap();
        assert_eq!(judge(&scored(1.0), nobody_else, HOSTS, NOW), passed(100));
        assert_eq!(judge(&scored(0.99), nobody_else, HOSTS, NOW), Verdict::Rejected(Rejection::LowScore));
    }

    #[test]
    fn each_hundredth_reaches_itself_and_not_the_next() {
        for hundredths in 0..=100 {
            let answer = scored(format!("{}", f64::from(hundredths) / 100.0).parse().unwrap());
            let at = |threshold| judge(&answer, Threshold(threshold), HOSTS, NOW);
            assert_eq!(at(hundredths), passed(hundredths));
            if hundredths < 100 {
                assert_eq!(at(hundredths + 1), Verdict::Rejected(Rejection::LowScore), "{hundredths}");
            }
        }
    }

    #[test]
    fn a_score_that_is_none_says_nothing_of_the_visitor() {
        for score in [-0.1, 1.000_001, 9.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN] {
            assert_eq!(judged(&scored(score)), Verdict::Unavailable("score_out_of_range"), "{score}");
        }
    }

    #[test]
    fn a_token_counts_for_leads_of_the_workspaces_own_pages() {
        let rejected = |reason| Verdict::Rejected(reason);
        for (action, hostname, verdict) in [
            (ACTION, "www.example.com", passed(90)),
            (ACTION, "WWW.example.COM", passed(90)),
            (ACTION, "landing.example.com", passed(90)),
            (ACTION, "localhost", passed(90)),
            (ACTION, "example.com", rejected(Rejection::WrongHostname)),
            (ACTION, "www.example.com.", rejected(Rejection::WrongHostname)),
            (ACTION, "www.example.com:443", rejected(Rejection::WrongHostname)),
            (ACTION, "www.example.com.evil.example", rejected(Rejection::WrongHostname)),
            (ACTION, "evil-www.example.com", rejected(Rejection::WrongHostname)),
            (ACTION, "a.www.example.com", rejected(Rejection::WrongHostname)),
            (ACTION, "", rejected(Rejection::WrongHostname)),
            ("submit", "www.example.com", rejected(Rejection::WrongAction)),
            ("Campaign_Lead", "www.example.com", rejected(Rejection::WrongAction)),
            ("campaign_lead ", "www.example.com", rejected(Rejection::WrongAction)),
            ("", "www.example.com", rejected(Rejection::WrongAction)),
        ] {
            assert_eq!(judged(&solved(0.9, action, hostname, 0)), verdict, "{action} {hostname}");
        }
        assert_eq!(
            judge(&scored(1.0), Threshold::default(), &[], NOW),
            rejected(Rejection::WrongHostname),
            "no page at all"
        );
    }

    #[test]
    fn a_challenge_counts_two_minutes_and_the_clocks_may_differ_by_one() {
        for (age_millis, verdict) in [
            (0, passed(90)),
            (120_000, passed(90)),
            (180_000, passed(90)),
            (180_001, Verdict::Rejected(Rejection::TooOld)),
            (3_600_000, Verdict::Rejected(Rejection::TooOld)),
            (NOW.as_millis(), Verdict::Rejected(Rejection::TooOld)),
            (-60_000, passed(90)),
            (-60_001, Verdict::Rejected(Rejection::FromTheFuture)),
            (i64::MIN / 2, Verdict::Rejected(Rejection::FromTheFuture)),
        ] {
            assert_eq!(judged(&solved(0.9, ACTION, HOSTS[0], age_millis)), verdict, "{age_millis}");
        }
    }

    #[test]
    fn each_error_code_has_its_meaning_and_the_heaviest_decides() {
        let rejected = |reason| Verdict::Rejected(reason);
        let rows: &[(&[&str], Verdict)] = &[
            (&["missing-input-secret"], Verdict::SecretRefused),
            (&["invalid-input-secret"], Verdict::SecretRefused),
            (&["missing-input-response"], rejected(Rejection::TokenMissing)),
            (&["invalid-input-response"], rejected(Rejection::TokenInvalid)),
            (&["timeout-or-duplicate"], rejected(Rejection::Duplicate)),
            (&["bad-request"], Verdict::Unavailable("bad_request")),
            (&[], Verdict::Unavailable("no_code")),
            (&["browser-error"], Verdict::Unavailable("unknown_code")),
            (&["INVALID-INPUT-SECRET"], Verdict::Unavailable("unknown_code")),
            (&[""], Verdict::Unavailable("unknown_code")),
            (&["invalid-input-response", "invalid-input-secret"], Verdict::SecretRefused),
            (&["timeout-or-duplicate", "missing-input-secret"], Verdict::SecretRefused),
            (&["bad-request", "invalid-input-response"], rejected(Rejection::TokenInvalid)),
            (&["browser-error", "timeout-or-duplicate"], rejected(Rejection::Duplicate)),
            (&["browser-error", "bad-request"], Verdict::Unavailable("bad_request")),
        ];
        for (codes, verdict) in rows {
            let answer = Answer::Refused(codes.iter().map(|&code| code.to_owned()).collect());
            assert_eq!(judged(&answer), *verdict, "{codes:?}");
        }
    }

    #[test]
    fn the_words_of_the_log_are_told_apart() {
        let rejections = [
            Rejection::TokenMissing,
            Rejection::TokenInvalid,
            Rejection::Duplicate,
            Rejection::WrongHostname,
            Rejection::WrongAction,
            Rejection::TooOld,
            Rejection::FromTheFuture,
            Rejection::LowScore,
        ];
        let words: std::collections::BTreeSet<_> = rejections.map(Rejection::as_str).into();
        assert_eq!(words.len(), rejections.len());
    }

    fn any_score() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            0.0..=1.0,
            (0_u8..=100).prop_map(|hundredths| f64::from(hundredths) / 100.0)
        ]
    }

    fn any_answer() -> impl Strategy<Value = Answer> {
        let action = prop_oneof![9 => Just(ACTION.to_owned()), 1 => ".*"];
        let hostname = prop_oneof![9 => prop::sample::select(HOSTS).prop_map(str::to_owned), 1 => ".*"];
        let solved = (any_score(), action, hostname, -90_000_i64..240_000)
            .prop_map(|(score, action, hostname, age)| solved(score, &action, &hostname, age));
        let code = prop::sample::select(CODES).prop_map(|(code, _)| code.to_owned());
        let codes = prop::collection::vec(prop_oneof![code, ".*"], 0..4);
        prop_oneof![3 => solved, 1 => codes.prop_map(Answer::Refused)]
    }

    proptest! {
        #[test]
        fn no_answer_whose_score_is_below_the_threshold_passes(answer in any_answer(), threshold in 0_u8..=100) {
            if let Verdict::Passed { score } = judge(&answer, Threshold(threshold), HOSTS, NOW) {
                let Answer::Solved { score: given, action, hostname, at } = answer else {
                    panic!("a refusal passed");
                };
                let least = f64::from(threshold) / 100.0;
                prop_assert!((least..=1.0).contains(&given), "{given} passed {least}");
                prop_assert!(f64::from(score.hundredths()) / 100.0 <= given && score.hundredths() >= threshold);
                prop_assert_eq!(action, ACTION);
                prop_assert!(HOSTS.iter().any(|host| host.eq_ignore_ascii_case(&hostname)));
                prop_assert!(now_minus(at) <= 180_000 && now_minus(at) >= -60_000);
            }
        }

        #[test]
        fn what_passes_a_threshold_passes_every_lower_one(answer in any_answer(), high in 0_u8..=100, low in 0_u8..=100) {
            let (low, high) = (low.min(high), low.max(high));
            let at = |threshold| judge(&answer, Threshold(threshold), HOSTS, NOW);
            if matches!(at(high), Verdict::Passed { .. }) {
                prop_assert_eq!(at(low), at(high));
            }
        }
    }

    fn now_minus(at: Timestamp) -> i64 {
        NOW.as_millis() - at.as_millis()
    }
}
