//! What a process needs at start: settings from the environment, SDK clients, the clock, ids, logs, metrics.
//!
//! This is the only crate that reads the environment. Everything here is built once, at start, and passed on.

mod aws;
mod fields;
mod http;
pub mod metrics;
mod retention;
mod sending;
pub mod settings;
pub mod system;
mod telemetry;

use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use domain::{Clock, Ids, Retention};
use store::{Bucket, FailureBucket, Store, Tables};

pub use fields::{Fields, trace_id};
pub use metrics::Metrics;
pub use sending::SendRules;
pub use settings::{SettingError, Settings};
pub use system::{OsRandomness, RandomIds, SystemClock};

/// How long the body of an object may bring no bytes. It is the SDK's default.
const STALLED: Duration = Duration::from_secs(5);

/// A started process.
pub struct Process {
    /// The settings of the process.
    pub settings: Settings,
    /// The name of the stack. It is the prefix of the stack's table names.
    pub stack: String,
    aws: SdkConfig,
}

impl Process {
    /// Starts a function. It logs to standard output and reads its settings, region, credentials and endpoint
    /// from the environment.
    pub async fn start() -> Result<Self, SettingError> {
        let settings = Settings::from_env();
        telemetry::start(&settings);
        let stack = settings.required("STACK")?;
        let aws = aws::function_config(&settings)?;
        Ok(Self { settings, stack, aws })
    }

    /// Starts a tool for the stack with this name. It writes no logs, and takes region and credentials from
    /// the SDK's default chain.
    pub async fn of_stack(stack: String) -> Result<Self, SettingError> {
        let settings = Settings::from_env();
        let aws = aws::tool_config(&settings).await?;
        Ok(Self { settings, stack, aws })
    }

    /// The id of the AWS access key with which the process works.
    pub async fn access_key_id(&self) -> Result<String, CredentialsError> {
        let Some(provider) = self.aws.credentials_provider() else {
            return Err(CredentialsError::not_loaded("no credentials are configured"));
        };
        Ok(provider.provide_credentials().await?.access_key_id().to_owned())
    }

    /// A new DynamoDB client. Build it once.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.aws)
    }

    /// A new client of DynamoDB's streams. Build it once.
    pub fn streams(&self) -> aws_sdk_dynamodbstreams::Client {
        aws_sdk_dynamodbstreams::Client::new(&self.aws)
    }

    /// A new SQS client. Build it once.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.aws)
    }

    /// A new S3 client. Build it once.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        // AWS serves each bucket under its own host name. An emulator has one host for all buckets.
        let one_host = self.aws.endpoint_url().is_some();
        // The body of an object is read after its call, and the time limits end with the call.
        let streams = StalledStreamProtectionConfig::enabled().grace_period(STALLED).build();
        let config = aws_sdk_s3::config::Builder::from(&self.aws)
            .force_path_style(one_host)
            .stalled_stream_protection(streams)
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// The operating system's clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    /// The stack's metrics, written to standard output.
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.stack, self.clock())
    }

    /// How long the rows that the process writes are kept.
    pub fn retention(&self) -> Result<Retention, SettingError> {
        retention::read(&self.settings)
    }

    /// The tables of the stack. Build it once.
    pub fn store(&self) -> Result<Store, SettingError> {
        let store = Store::new(self.dynamodb(), Tables::of_stack(&self.stack), self.clock(), self.ids());
        Ok(store.with_retention(self.retention()?))
    }

    /// The bucket of files (`MEDIA_BUCKET`). Build it once.
    pub fn bucket(&self) -> Result<Bucket, SettingError> {
        Ok(Bucket::new(self.s3(), self.settings.required("MEDIA_BUCKET")?, self.clock()))
    }

    /// The bucket of records that the relay could not process (`FAILURE_BUCKET`). Build it once.
    pub fn failure_bucket(&self) -> Result<FailureBucket, SettingError> {
        Ok(FailureBucket::new(self.s3(), self.settings.required("FAILURE_BUCKET")?))
    }

    /// The time after which the sweeper looks at a lane with new work (`FIRST_DUE_SECONDS`), by default two minutes.
    pub fn first_due(&self) -> Result<Duration, SettingError> {
        Ok(Duration::from_secs(self.settings.parsed("FIRST_DUE_SECONDS", 120)?))
    }

    /// Random ids from the operating system.
    pub fn ids(&self) -> Arc<dyn Ids> {
        Arc::new(RandomIds)
    }
}
