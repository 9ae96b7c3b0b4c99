//! The items of one line, one after another.

use std::time::Duration;

use domain::{ChannelId, WorkspaceId};
use provider::webhook::{Content, Customer, Item};
use queue::Inbound;
use store::StoreError;

use crate::invocation::Invocation;
use crate::item::{Origin, Processed};
use crate::left::Left;
use crate::{corrections, echoes, messages, moves, preferences, statuses};

/// The age of a piece that still shows that the line delivers. An older one may be a dead letter that was redriven.
const RECENT: Duration = Duration::from_secs(60 * 60);

/// Processes the items, and queues those again that must wait, as a piece of their own. An item that fails does not stop
/// those of other customers. Its error is returned at the end, so the queue repeats the piece.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    line: &ChannelId,
    items: Vec<Item>,
) -> Result<(), StoreError> {
    let workspace = match workspace_of(invocation, inbound, line, &items).await? {
        Ok(workspace) => workspace,
        Err(reason) => {
            tracing::warn!(items = items.len(), reason, "items dropped");
            invocation.counted.items_dropped.add(items.len());
            return Ok(());
        }
    };
    let is_recent = invocation.store.now().since(inbound.received_at) < RECENT;
    if is_recent && items.iter().any(|item| matches!(item, Item::Message(_))) {
        invocation.store.note_inbound(workspace, line, invocation.store.now()).await;
    }
    let (origin, mut left) = (Origin { workspace, line, inbound }, Left::default());
    for item in &items {
        if left.holds(item) {
            continue;
        }
        if invocation.is_late() {
            left.is_late(item);
            continue;
        }
        match one(invocation, origin, item).await {
            Ok(Processed::Done) => invocation.counted.items_processed.add(1),
            Ok(Processed::Dropped(reason)) => {
                tracing::info!(workspace = %workspace, reason, "item dropped");
                invocation.counted.items_dropped.add(1);
            }
            Ok(Processed::Later(wait)) => left.waits(item, wait),
            Err(error) => left.failed(item, error),
        }
    }
    if let Some((rest, delay)) = left.rest(inbound) {
        invocation.counted.pieces_deferred.add(1);
        let queued = invocation.queue.send_delayed(&[rest], delay).await;
        queued.map_err(|error| StoreError::Failed(error.into()))?;
    }
    left.result()
}

/// The workspace of the line, or why no workspace gets the items. One round trip, or none.
async fn workspace_of(
    invocation: &Invocation<'_>,
    inbound: &Inbound,
    line: &ChannelId,
    items: &[Item],
) -> Result<Result<WorkspaceId, &'static str>, StoreError> {
    let speaks_for = |workspace: &WorkspaceId| inbound.workspace.is_none_or(|only| only == *workspace);
    let is_safe = !items.iter().any(needs_claim);
    let remembered =
        invocation.store.remembered_line_claim(line).filter(|workspace| is_safe && speaks_for(workspace));
    if let Some(workspace) = remembered {
        return Ok(Ok(workspace));
    }
    Ok(match invocation.store.line_claim(line).await? {
        None => Err("no workspace has the line"),
        Some(workspace) if !speaks_for(&workspace) => Err("the app does not speak for the line's workspace"),
        Some(workspace) => Ok(workspace),
    })
}

/// Whether an item may change rows of the workspace from which the line moved, if the claim is old. A status changes
/// or a correction only the message that it names, and what a customer says is stored only if the workspace has the line.
fn needs_claim(item: &Item) -> bool {
    match item {
        Item::Status(_) => false,
        Item::Message(message) => matches!(message.content, Content::Moved { .. }),
        Item::Preference(_) => true,
        Item::Echo(_) | Item::Correction { .. } | Item::Notice(_) => false,
    }
}

async fn one(invocation: &Invocation<'_>, origin: Origin<'_>, item: &Item) -> Result<Processed, StoreError> {
    match item {
        Item::Status(status) => statuses::process(invocation, origin, status).await,
        Item::Message(message) => match &message.content {
            Content::Moved { to, previous_user_id } => {
                let user_id = previous_user_id.as_ref().or(message.from.user_id.as_ref()).cloned();
                let old = Customer { user_id, ..message.from.clone() }.reached();
                moves::process(invocation, origin, &old, &to.reached(), message.at).await
            }
            _ => messages::process(invocation, origin, message).await,
        },
        Item::Echo(message) => echoes::process(invocation, origin, message).await,
        Item::Correction { of, correction } => corrections::process(invocation, origin, of, correction).await,
        Item::Preference(preference) => preferences::process(invocation, origin, preference).await,
        Item::Notice(kind) => {
            tracing::info!(workspace = %origin.workspace, kind, "what is no message of a customer");
            Ok(Processed::Dropped("it is no message of a customer"))
        }
    }
}
