//! From the environment to a stack's tables and queue.

use std::sync::Arc;

use domain::TrustedReceivers;
use queue::{DeliveryQueue, NoQueue};
use runtime::{OsRandomness, Process, Settings};
use store::{Store, Tables};

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
    let queue = Queue::OfStack(Box::new(process));
    Ok(Console { store, queue, random: Arc::new(OsRandomness), trusted })
}

/// The queue of deliveries, looked up only by the verb that needs it.
pub enum Queue {
    /// The one of the stack.
    OfStack(Box<Process>),
    /// One that is known.
    Known(DeliveryQueue),
}

impl Queue {
    pub(crate) async fn open(&self) -> Result<DeliveryQueue, NoQueue> {
        match self {
            Self::OfStack(process) => DeliveryQueue::of_stack(process.sqs(), &process.stack).await,
            Self::Known(queue) => Ok(queue.clone()),
        }
    }
}
