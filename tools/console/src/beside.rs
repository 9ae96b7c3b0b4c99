//! The streams, queues and buckets of a stack.

use clap::Args;
use domain::{Actor, Author};
use queue::{InboundQueue, NoQueue, Queues};
use runtime::Process;
use store::{Bucket, FailureBucket, Streams};

use crate::refusal::deepest;
use crate::{Refusal, Result};

/// The stack's streams, queues and buckets. Only the verbs that need them look them up.
pub enum Beside {
    /// The queues and buckets are looked up in the stack.
    OfStack(Box<Process>),
    /// The queues and buckets are given.
    Known(Box<KnownStack>),
}

/// The streams, queues and buckets that verbs need.
#[derive(Clone)]
pub struct KnownStack {
    /// The id of the operator's AWS access key.
    pub operator: String,
    /// The streams of the tables.
    pub streams: Streams,
    /// The queues of webhook lanes. The sweeper processes lanes of other kinds.
    pub queues: Queues,
    /// The queue of the provider's webhooks.
    pub inbound: InboundQueue,
    /// The bucket of files.
    pub media: Bucket,
    /// The bucket of the records that the relay could not process.
    pub failures: FailureBucket,
}

/// The buckets of the stack.
#[derive(Args)]
pub(crate) struct Buckets {
    /// The failure bucket (the stack's output FailureBucketName), if it cannot be found by the stack's name.
    #[arg(long, value_name = "NAME")]
    bucket: Option<String>,
    /// The bucket of files (the stack's output MediaBucketName), if it cannot be found by the stack's name.
    #[arg(long, value_name = "NAME")]
    media_bucket: Option<String>,
}

impl Beside {
    /// Who runs the command.
    pub(crate) async fn operator(&self) -> Result<Author> {
        let id = match self {
            Self::OfStack(process) => operator_of(process).await?,
            Self::Known(known) => known.operator.clone(),
        };
        Ok(Author { actor: Actor::Operator(id), request_id: None })
    }

    /// The queues of webhook lanes.
    pub(crate) async fn queues(&self) -> Result<Queues, NoQueue> {
        match self {
            Self::OfStack(process) => Queues::webhooks_of_stack(process.sqs(), &process.stack).await,
            Self::Known(known) => Ok(known.queues.clone()),
        }
    }

    /// The streams of the stack's tables.
    pub(crate) fn streams(&self) -> Streams {
        match self {
            Self::OfStack(process) => Streams::new(process.streams()),
            Self::Known(known) => known.streams.clone(),
        }
    }

    /// The queue of the provider's webhooks.
    pub(crate) async fn inbound(&self) -> Result<InboundQueue, NoQueue> {
        match self {
            Self::OfStack(process) => InboundQueue::of_stack(process.sqs(), &process.stack).await,
            Self::Known(known) => Ok(known.inbound.clone()),
        }
    }

    /// The failure bucket.
    pub(crate) async fn failures(&self, named: Option<String>) -> Result<FailureBucket> {
        Ok(match self {
            Self::OfStack(process) => {
                FailureBucket::new(process.s3(), named_or_found(named, process, FAILURES).await?)
            }
            Self::Known(known) => known.failures.clone(),
        })
    }

    /// Returns everything that the relay needs.
    pub(crate) async fn known(&self, named: Buckets) -> Result<KnownStack> {
        let process = match self {
            Self::OfStack(process) => process,
            Self::Known(known) => return Ok(KnownStack::clone(known)),
        };
        let media = named_or_found(named.media_bucket, process, MEDIA).await?;
        let operator = operator_of(process).await?;
        Ok(KnownStack {
            operator,
            streams: self.streams(),
            queues: self.queues().await?,
            inbound: self.inbound().await?,
            media: Bucket::new(process.s3(), media, process.clock()),
            failures: self.failures(named.bucket).await?,
        })
    }
}

async fn operator_of(process: &Process) -> Result<String> {
    process.access_key_id().await.map_err(|error| Refusal::Unreachable(deepest(&error)))
}

/// A bucket of the template: its logical id, the output with its name, and the argument that sets its name.
type BucketOfTemplate = (&'static str, &'static str, &'static str);

const FAILURES: BucketOfTemplate = ("FailureBucket", "FailureBucketName", "--bucket");
const MEDIA: BucketOfTemplate = ("MediaBucket", "MediaBucketName", "--media-bucket");

async fn named_or_found(
    named: Option<String>,
    process: &Process,
    (logical, output, argument): BucketOfTemplate,
) -> Result<String> {
    if let Some(name) = named {
        return Ok(name);
    }
    let found = store::bucket_of_stack(&process.s3(), &process.stack, logical).await?;
    found.ok_or(Refusal::BucketNotFound { output, argument })
}
