//! Times that others send: date-times, and how long a receiver asks to wait.

use std::time::Duration;

use domain::Timestamp;
use domain::retry::parse_retry_after;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

/// The input is a text.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Some(time) = Timestamp::parse(text) {
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time), "{text}");
        assert_eq!(Timestamp::from_millis(time.as_millis()), time);
        assert_eq!(time.to_string().len(), 24, "{text}");
        assert!(time.to_string().starts_with(&time.to_day_string()));
    }
    if let Some(wait) = parse_retry_after(text, NOW) {
        // Nobody waits so long; what counts is that the sum with a time is a time.
        assert!(NOW.plus(wait) >= NOW);
        let is_seconds = text.trim().bytes().all(|byte| byte.is_ascii_digit());
        assert!(is_seconds || wait <= Duration::from_secs(10_000 * 366 * 86_400), "{text}");
    }
}
