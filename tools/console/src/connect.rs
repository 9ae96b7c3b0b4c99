//! From the environment to a stack's tables, queues and buckets.

use std::sync::Arc;

use domain::TrustedReceivers;
use queue::{NoQueue, Queues};
use runtime::{OsRandomness, Process, Settings};
use store::{Bucket, FailureBucket, Store, Tables};

use crate::{Console, Refusal};

/// The console of the stack named on the command line, else by `STACK`. Region, credentials and endpoint come
/// from the usual variables of AWS; receivers that are not public from `TRUSTED_RECEIVERS`, as the stack has them.
pub async fn to_stack(stack: Option<String>) -> Result<Console, Refusal> {
    let settings = Settings::from_env();
    let stack = stack.or_else(|| settings.optional("STACK")).ok_or(Refusal::NoStack)?;
    let trusted = settings.read_with("TRUSTED_RECEIVERS", TrustedReceivers::parse)?;
    let process = Process::of_stack(stack).await?;
    let tables = Tables::of_stack(&process.stack);
    let store = Store::new(process.dynamodb(), tables, process.clock(), process.ids());
    let beside = Beside::OfStack(Box::new(process));
    Ok(Console { store, beside, random: Arc::new(OsRandomness), trusted })
}

/// What stands beside the tables, looked up only by the verbs that need it.
pub enum Beside {
    /// What the stack has.
    OfStack(Box<Process>),
    /// What is known.
    Known(Box<Known>),
}

/// Queues and buckets that are known.
#[derive(Clone)]
pub struct Known {
    /// The queues of webhook lanes. Lanes of another kind are left to the sweeper.
    pub queues: Queues,
    /// The bucket of files.
    pub media: Bucket,
    /// The bucket of what the relay could not process.
    pub failures: FailureBucket,
}

impl Beside {
    /// The queues of webhook lanes.
    pub(crate) async fn queues(&self) -> Result<Queues, NoQueue> {
        match self {
            Self::OfStack(process) => Queues::webhooks_of_stack(process.sqs(), &process.stack).await,
            Self::Known(known) => Ok(known.queues.clone()),
        }
    }

    /// Everything that the relay works with. `failures` and `media` name the buckets that cannot be found by the stack's
    /// name.
    pub(crate) async fn known(
        &self,
        failures: Option<String>,
        media: Option<String>,
    ) -> Result<Known, Refusal> {
        let process = match self {
            Self::OfStack(process) => process,
            Self::Known(known) => return Ok(Known::clone(known)),
        };
        let s3 = process.s3();
        let failures = named_or_found(failures, process, FAILURES).await?;
        let media = named_or_found(media, process, MEDIA).await?;
        Ok(Known {
            queues: self.queues().await?,
            media: Bucket::new(s3.clone(), media, process.clock()),
            failures: FailureBucket::new(s3, failures),
        })
    }
}

/// A bucket of the template: its logical id, the output that names it, and the argument that does.
type BucketOfTemplate = (&'static str, &'static str, &'static str);

const FAILURES: BucketOfTemplate = ("FailureBucket", "FailureBucketName", "--bucket");
const MEDIA: BucketOfTemplate = ("MediaBucket", "MediaBucketName", "--media-bucket");

async fn named_or_found(
    named: Option<String>,
    process: &Process,
    (logical, output, argument): BucketOfTemplate,
) -> Result<String, Refusal> {
    if let Some(name) = named {
        return Ok(name);
    }
    let found = store::bucket_of_stack(&process.s3(), &process.stack, logical).await?;
    found.ok_or(Refusal::BucketNotFound { output, argument })
}
