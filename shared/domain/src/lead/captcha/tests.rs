use proptest::prelude::*;

use super::*;

const HOSTS: &[&str] = &["www.example.com", "Landing.Example.com", "localhost"];
const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

/// A valid answer except for the given values. `age_millis` is the time since the challenge was solved.
fn solved(score: f64, action: &str, hostname: &str, age_millis: i64) -> CaptchaAnswer {
    let at = Timestamp::from_millis(NOW.as_millis() - age_millis);
    CaptchaAnswer::Solved { score, action: action.to_owned(), hostname: hostname.to_owned(), at }
}

fn scored(score: f64) -> CaptchaAnswer {
    solved(score, ACTION, HOSTS[0], 0)
}

fn judged(answer: &CaptchaAnswer) -> CaptchaVerdict {
    judge(answer, Threshold::default(), HOSTS, NOW)
}

fn passed(hundredths: u8) -> CaptchaVerdict {
    CaptchaVerdict::Passed { score: Score(hundredths) }
}

#[test]
fn a_threshold_parses_from_its_decimal_form() {
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
        assert_eq!((threshold.hundredths(), threshold.to_string().as_str()), (hundredths, printed), "{text}");
    }
    for bad in
        ["", ".", ".5", "1.", "0.500", "1.01", "2", "01", "-0.5", "+1", "0,5", "0.5 ", "NaN", "5e-1", "٠.٥"]
    {
        assert!(Threshold::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(Threshold::default().to_string(), "0.5");
    assert_eq!(Threshold::from_hundredths(100).map(Threshold::hundredths), Some(100));
    assert_eq!(Threshold::from_hundredths(101), None);
}

#[test]
fn a_score_at_or_above_the_threshold_passes() {
    for (score, verdict) in [
        (1.0, passed(100)),
        (0.9, passed(90)),
        (0.999, passed(99)),
        (0.5, passed(50)),
        (0.499_999, CaptchaVerdict::Rejected(Rejection::LowScore)),
        (0.3, CaptchaVerdict::Rejected(Rejection::LowScore)),
        (0.0, CaptchaVerdict::Rejected(Rejection::LowScore)),
        (-0.0, CaptchaVerdict::Rejected(Rejection::LowScore)),
    ] {
        assert_eq!(judged(&scored(score)), verdict, "{score}");
    }
    let everybody = Threshold::from_hundredths(0).unwrap();
    assert_eq!(judge(&scored(0.0), everybody, HOSTS, NOW), passed(0));
    let nobody_else = Threshold::from_hundredths(100).unwrap();
    assert_eq!(judge(&scored(1.0), nobody_else, HOSTS, NOW), passed(100));
    assert_eq!(judge(&scored(0.99), nobody_else, HOSTS, NOW), CaptchaVerdict::Rejected(Rejection::LowScore));
}

#[test]
fn each_hundredth_reaches_its_own_threshold_and_not_the_next() {
    for hundredths in 0..=100 {
        let answer = scored(format!("{}", f64::from(hundredths) / 100.0).parse().unwrap());
        let at = |threshold| judge(&answer, Threshold(threshold), HOSTS, NOW);
        assert_eq!(at(hundredths), passed(hundredths));
        if hundredths < 100 {
            assert_eq!(at(hundredths + 1), CaptchaVerdict::Rejected(Rejection::LowScore), "{hundredths}");
        }
    }
}

#[test]
fn a_score_out_of_range_gives_no_verdict() {
    for score in [-0.1, 1.000_001, 9.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN] {
        assert_eq!(judged(&scored(score)), CaptchaVerdict::Unavailable("score_out_of_range"), "{score}");
    }
}

#[test]
fn a_token_is_valid_only_for_leads_on_the_workspaces_pages() {
    let rejected = |reason| CaptchaVerdict::Rejected(reason);
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
fn a_challenge_is_valid_for_two_minutes_plus_one_of_clock_skew() {
    for (age_millis, verdict) in [
        (0, passed(90)),
        (120_000, passed(90)),
        (180_000, passed(90)),
        (180_001, CaptchaVerdict::Rejected(Rejection::TooOld)),
        (3_600_000, CaptchaVerdict::Rejected(Rejection::TooOld)),
        (NOW.as_millis(), CaptchaVerdict::Rejected(Rejection::TooOld)),
        (-60_000, passed(90)),
        (-60_001, CaptchaVerdict::Rejected(Rejection::FromTheFuture)),
        (i64::MIN / 2, CaptchaVerdict::Rejected(Rejection::FromTheFuture)),
    ] {
        assert_eq!(judged(&solved(0.9, ACTION, HOSTS[0], age_millis)), verdict, "{age_millis}");
    }
}

#[test]
fn each_error_code_has_its_verdict_and_the_first_in_the_list_decides() {
    let rejected = |reason| CaptchaVerdict::Rejected(reason);
    let rows: &[(&[&str], CaptchaVerdict)] = &[
        (&["missing-input-secret"], CaptchaVerdict::SecretRefused),
        (&["invalid-input-secret"], CaptchaVerdict::SecretRefused),
        (&["missing-input-response"], rejected(Rejection::TokenMissing)),
        (&["invalid-input-response"], rejected(Rejection::TokenInvalid)),
        (&["timeout-or-duplicate"], rejected(Rejection::Duplicate)),
        (&["bad-request"], CaptchaVerdict::Unavailable("bad_request")),
        (&[], CaptchaVerdict::Unavailable("no_code")),
        (&["browser-error"], CaptchaVerdict::Unavailable("unknown_code")),
        (&["INVALID-INPUT-SECRET"], CaptchaVerdict::Unavailable("unknown_code")),
        (&[""], CaptchaVerdict::Unavailable("unknown_code")),
        (&["invalid-input-response", "invalid-input-secret"], CaptchaVerdict::SecretRefused),
        (&["timeout-or-duplicate", "missing-input-secret"], CaptchaVerdict::SecretRefused),
        (&["bad-request", "invalid-input-response"], rejected(Rejection::TokenInvalid)),
        (&["browser-error", "timeout-or-duplicate"], rejected(Rejection::Duplicate)),
        (&["browser-error", "bad-request"], CaptchaVerdict::Unavailable("bad_request")),
    ];
    for (codes, verdict) in rows {
        let answer = CaptchaAnswer::Refused(codes.iter().map(|&code| code.to_owned()).collect());
        assert_eq!(judged(&answer), *verdict, "{codes:?}");
    }
}

#[test]
fn the_names_for_the_log_are_unique() {
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
    prop_oneof![any::<f64>(), 0.0..=1.0, (0_u8..=100).prop_map(|hundredths| f64::from(hundredths) / 100.0)]
}

fn any_answer() -> impl Strategy<Value = CaptchaAnswer> {
    let action = prop_oneof![9 => Just(ACTION.to_owned()), 1 => ".*"];
    let hostname = prop_oneof![9 => prop::sample::select(HOSTS).prop_map(str::to_owned), 1 => ".*"];
    let solved = (any_score(), action, hostname, -90_000_i64..240_000)
        .prop_map(|(score, action, hostname, age)| solved(score, &action, &hostname, age));
    let code = prop::sample::select(CODES).prop_map(|(code, _)| code.to_owned());
    let codes = prop::collection::vec(prop_oneof![code, ".*"], 0..4);
    prop_oneof![3 => solved, 1 => codes.prop_map(CaptchaAnswer::Refused)]
}

proptest! {
    #[test]
    fn an_answer_with_a_score_below_the_threshold_never_passes(answer in any_answer(), threshold in 0_u8..=100) {
        if let CaptchaVerdict::Passed { score } = judge(&answer, Threshold(threshold), HOSTS, NOW) {
            let CaptchaAnswer::Solved { score: given, action, hostname, at } = answer else {
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
    fn an_answer_that_passes_a_threshold_passes_every_lower_one(answer in any_answer(), high in 0_u8..=100, low in 0_u8..=100) {
        let (low, high) = (low.min(high), low.max(high));
        let at = |threshold| judge(&answer, Threshold(threshold), HOSTS, NOW);
        if matches!(at(high), CaptchaVerdict::Passed { .. }) {
            prop_assert_eq!(at(low), at(high));
        }
    }
}

fn now_minus(at: Timestamp) -> i64 {
    NOW.as_millis() - at.as_millis()
}
