//! What a process is started with: settings from the environment, SDK clients, the clock, ids, logs, metrics.
//!
//! The only room that reads the environment. Everything here is made once, at start, and passed in.

mod aws;
mod http;
pub mod metrics;
mod sending;
pub mod settings;
pub mod system;
mod telemetry;

use std::sync::Arc;

use aws_config::SdkConfig;
use domain::{Clock, Ids};

pub use metrics::Metrics;
pub use sending::SendRules;
pub use settings::{SettingError, Settings};
pub use system::{OsRandomness, RandomIds, SystemClock};
pub use telemetry::trace_id;

/// A started process.
pub struct Process {
    /// Its settings.
    pub settings: Settings,
    /// The name of its stack, by which its tables are named.
    pub stack: String,
    aws: SdkConfig,
}

impl Process {
    /// Starts a function: logs to standard output, settings from the environment, AWS by the environment's
    /// region, credentials and endpoint.
    pub async fn start() -> Result<Self, SettingError> {
        let settings = Settings::from_env();
        telemetry::start(&settings);
        let stack = settings.required("STACK")?;
        let aws = aws::of_function(&settings)?;
        Ok(Self { settings, stack, aws })
    }

    /// Starts a tool that works on the stack of that name: without logs, and with region and credentials from where the
    /// tools of AWS look for them.
    pub async fn of_stack(stack: String) -> Result<Self, SettingError> {
        let settings = Settings::from_env();
        let aws = aws::of_tool(&settings).await?;
        Ok(Self { settings, stack, aws })
    }

    /// A DynamoDB client; to be made once.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.aws)
    }

    /// An SQS client; to be made once.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.aws)
    }

    /// An S3 client; to be made once.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        // AWS serves each bucket under a host name of its own; what stands in for it has one for all.
        let one_host = self.aws.endpoint_url().is_some();
        let config = aws_sdk_s3::config::Builder::from(&self.aws).force_path_style(one_host).build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// The operating system's clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    /// The stack's metrics, on standard output.
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.stack, self.clock())
    }

    /// The operating system's random ids.
    pub fn ids(&self) -> Arc<dyn Ids> {
        Arc::new(RandomIds)
    }
}
