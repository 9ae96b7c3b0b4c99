//! SDK clients, built once at start, with time limits and standard retries.
//!
//! A function takes region, credentials and endpoint from its environment, as Lambda sets it. A tool uses the
//! SDK's default provider chain, with profiles. So a function reads no files and builds no clients for
//! providers it does not use.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;

use crate::http::connections;
use crate::{SettingError, Settings};

/// The SDK sets none of these time limits by default. Without them a call could use up the whole time of the
/// function.
const CONNECT: Duration = Duration::from_millis(1_000);
const ATTEMPT: Duration = Duration::from_millis(2_000);
const OPERATION: Duration = Duration::from_millis(6_000);
const ATTEMPTS: u32 = 3;

/// The configuration of a function: region, credentials and endpoint from the environment only.
///
/// A call to DynamoDB or SQS has a body that is sent and received within the time of its attempt. So it needs no protection
/// against stalled streams, which takes 4 % of the processor time of a `GET` for its timers.
pub(crate) fn function_config(settings: &Settings) -> Result<SdkConfig, SettingError> {
    let credentials = Credentials::new(
        settings.required("AWS_ACCESS_KEY_ID")?,
        settings.required("AWS_SECRET_ACCESS_KEY")?,
        settings.optional("AWS_SESSION_TOKEN"),
        None,
        "environment",
    );
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(settings.required("AWS_REGION")?))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(connections(settings, CONNECT)?)
        .timeout_config(timeouts())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .retry_config(retries());
    config.set_endpoint_url(settings.optional("AWS_ENDPOINT_URL"));
    config.set_app_name(caller(settings));
    Ok(config.build())
}

/// The name of the function without that of the stack, for the user agent of its calls. The local stack's validator and
/// CloudTrail name the caller by it.
fn caller(settings: &Settings) -> Option<AppName> {
    let name = settings.optional("AWS_LAMBDA_FUNCTION_NAME")?;
    let stack = settings.optional("STACK")?;
    let short = name.strip_prefix(&stack).and_then(|rest| rest.strip_prefix('-')).unwrap_or(&name);
    AppName::new(short.to_owned()).ok()
}

/// The configuration of a tool: the SDK's default chain of environment and profiles.
pub(crate) async fn tool_config(settings: &Settings) -> Result<SdkConfig, SettingError> {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(connections(settings, CONNECT)?)
        .timeout_config(timeouts())
        .retry_config(retries());
    Ok(config.load().await)
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT)
        .operation_timeout(OPERATION)
        .build()
}

fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(ATTEMPTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAMBDA: [(&str, &str); 3] =
        [("AWS_REGION", "eu-west-1"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    #[test]
    fn a_function_is_configured_by_its_environment_alone() {
        let config = function_config(&Settings::from_pairs(&LAMBDA)).unwrap();
        assert_eq!(config.region().map(Region::as_ref), Some("eu-west-1"));
        assert_eq!(config.endpoint_url(), None);
        assert_eq!(config.app_name(), None);
        assert!(!config.stalled_stream_protection().unwrap().is_enabled());
        for missing in 0..LAMBDA.len() {
            let mut pairs = LAMBDA.to_vec();
            let (name, _) = pairs.remove(missing);
            let refused = function_config(&Settings::from_pairs(&pairs)).unwrap_err();
            assert_eq!(refused.to_string(), format!("environment variable {name}: is not set"));
        }
    }

    #[test]
    fn the_user_agent_names_the_function_without_its_stack() {
        for (name, wanted) in [("messaging-inbox", "inbox"), ("inbox", "inbox"), ("mess-inbox", "mess-inbox")]
        {
            let mut pairs = LAMBDA.to_vec();
            pairs.extend([("STACK", "messaging"), ("AWS_LAMBDA_FUNCTION_NAME", name)]);
            let config = function_config(&Settings::from_pairs(&pairs)).unwrap();
            assert_eq!(config.app_name().map(AsRef::as_ref), Some(wanted));
        }
    }
}
