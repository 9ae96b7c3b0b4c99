//! Requests of a measured function.

use std::time::Duration;

use bench::Function;

/// Makes this number of requests. The function waits for the next one afterwards.
pub(crate) async fn warm(function: &mut Function, events: &mut impl Iterator<Item = &str>, requests: usize) {
    for event in events.take(requests) {
        answered(function, event).await;
    }
    function.lambda.polled().await;
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
