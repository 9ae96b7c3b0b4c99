//! Requests of a measured function.

use std::time::Duration;

use bench::Function;
use tokio::time::{Instant, sleep_until};

/// The number of requests after which a process is warm: they take a second and a half. After a second, a process draws
/// several tokens of the rate limit with one write.
pub(crate) const WARM: usize = 30;
/// The time from one of them to the next. It is the same under valgrind, so the process draws as many tokens.
const PACE: Duration = Duration::from_millis(50);

/// Makes [`WARM`] requests at an even pace. The function waits for the next one afterwards.
pub(crate) async fn warm(function: &mut Function, events: &mut impl Iterator<Item = &str>) {
    paced(function, events, WARM).await;
}

/// Makes this number of requests at the same pace.
pub(crate) async fn paced(function: &mut Function, events: &mut impl Iterator<Item = &str>, requests: usize) {
    let mut next = Instant::now();
    for event in events.take(requests) {
        sleep_until(next).await;
        next += PACE;
        answered(function, event).await;
    }
    function.lambda.polled().await;
}

/// Makes this number of requests one after another. The function waits for the next one afterwards.
pub(crate) async fn repeat(
    function: &mut Function,
    events: &mut impl Iterator<Item = &str>,
    requests: usize,
) {
    for event in events.take(requests) {
        answered(function, event).await;
    }
    function.lambda.polled().await;
}

/// The CPU time of one request, when this number of requests comes one after another.
pub(crate) async fn cpu(
    function: &mut Function,
    events: &mut impl Iterator<Item = &str>,
    requests: usize,
) -> Duration {
    let before = function.cpu();
    repeat(function, events, requests).await;
    (function.cpu() - before) / requests as u32
}

/// The duration of a request. Panics if the request fails.
pub(crate) async fn answered(function: &mut Function, event: &str) -> Duration {
    let end = function.lambda.invoke(event.to_owned()).await;
    let answer: serde_json::Value = serde_json::from_slice(&end.answer).unwrap_or_default();
    let well = answer["statusCode"].as_u64().is_none_or(|status| status < 300)
        && answer["batchItemFailures"].as_array().is_none_or(Vec::is_empty);
    assert!(end.answered && well, "{event}\n{}", String::from_utf8_lossy(&end.answer));
    end.took
}
