//! SDK clients, made once at start: rustls over ring, bounded time-outs, standard retries.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};

/// Neither time-out is set by the SDK: without them a call could hang for the whole of the function's time.
const CONNECT: Duration = Duration::from_millis(1_000);
const ATTEMPT: Duration = Duration::from_millis(2_000);
const OPERATION: Duration = Duration::from_millis(6_000);
const ATTEMPTS: u32 = 3;

/// Region, credentials and transport from the environment (`AWS_REGION`, `AWS_ENDPOINT_URL`, ...).
pub(crate) async fn config() -> SdkConfig {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT)
        .operation_timeout(OPERATION)
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .load()
        .await
}
