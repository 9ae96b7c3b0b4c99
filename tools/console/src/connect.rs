//! Connects to a stack's tables, queues and buckets with the settings of the environment.

use std::sync::Arc;

use domain::TrustedReceivers;
use runtime::{OsRandomness, Process, Settings};
use store::{Store, Tables};

use crate::beside::Beside;
use crate::console::Graph;
use crate::{Console, Refusal, Result};

/// Connects to the stack that the command line names, otherwise to the one in `STACK`. Region, credentials and
/// endpoint come from the usual AWS variables. `TRUSTED_RECEIVERS` names receivers that are not public, and
/// `EVENT_RETENTION_DAYS` is how long recorded events are kept, both as in the stack. `GRAPH_URL` and `GRAPH_VERSION` are the
/// stack's Cloud API, if it is not the default one.
pub async fn to_stack(stack: Option<String>) -> Result<Console> {
    let settings = Settings::from_env();
    let stack = stack.or_else(|| settings.optional("STACK")).ok_or(Refusal::NoStack)?;
    let trusted = settings.read_with("TRUSTED_RECEIVERS", TrustedReceivers::parse)?;
    let process = Process::of_stack(stack).await?;
    let tables = Tables::of_stack(&process.stack);
    let store = Store::new(process.dynamodb(), tables, process.clock(), process.ids())
        .with_retention(process.retention()?);
    let beside = Beside::OfStack(Box::new(process));
    let graph = Graph::default();
    let graph = Graph {
        url: settings.optional("GRAPH_URL").unwrap_or(graph.url),
        version: settings.optional("GRAPH_VERSION").unwrap_or(graph.version),
    };
    Ok(Console { store, beside, random: Arc::new(OsRandomness), trusted, graph })
}
