//! The items of one line, one after another: the messages of one customer stay in their order.

use std::time::Duration;

use domain::ChannelId;
use provider::webhook::{Content, Item, Person, only};
use queue::Inbound;
use store::StoreError;

use crate::item::{Origin, Processed};
use crate::run::Run;
use crate::{messages, moves, preferences, statuses};

/// Processes the items, and queues those again that must wait, as a piece of their own.
pub(crate) async fn process(
    run: &Run<'_>,
    inbound: &Inbound,
    line: &ChannelId,
    items: Vec<Item>,
) -> Result<(), StoreError> {
    let Some(workspace) = run.store.recent_line_claim(line).await? else {
        foreign(run, items.len(), "no workspace has the line");
        return Ok(());
    };
    let is_foreign = |workspace| inbound.workspace.is_some_and(|only| only != workspace);
    let workspace = match is_foreign(workspace) {
        // The line may have moved since the claim was read.
        true => {
            run.store.forget_line_claim(line);
            run.store.recent_line_claim(line).await?.unwrap_or(workspace)
        }
        false => workspace,
    };
    if is_foreign(workspace) {
        foreign(run, items.len(), "the app does not speak for the line's workspace");
        return Ok(());
    }
    let origin = Origin { workspace, line, inbound };
    if items.iter().any(|item| matches!(item, Item::Message(_))) {
        run.store.note_inbound(workspace, line, run.store.now()).await;
    }
    let mut waiting: Vec<(&Item, Duration)> = vec![];
    for item in &items {
        let held = waiting.iter().find(|(waiting, _)| is_of_same_sender(waiting, item));
        if let Some(delay) = held.map(|(_, delay)| *delay).or(run.is_late().then_some(Duration::ZERO)) {
            waiting.push((item, delay));
            continue;
        }
        match one(run, origin, item).await? {
            Processed::Done => run.counted.items_processed.add(1),
            Processed::Dropped(reason) => {
                tracing::info!(workspace = %workspace, reason, "item dropped");
                run.counted.items_dropped.add(1);
            }
            Processed::Later(delay) => waiting.push((item, delay)),
        }
    }
    let Some(delay) = waiting.iter().map(|(_, delay)| *delay).min() else { return Ok(()) };
    run.counted.pieces_deferred.add(1);
    let value = only(&inbound.value, |item| waiting.iter().any(|(waiting, _)| *waiting == item));
    let rest = Inbound { value, ..inbound.clone() };
    let queued = run.queue.send_delayed(&[rest], delay).await;
    queued.map_err(|error| StoreError::Failed(error.into()))
}

async fn one(run: &Run<'_>, origin: Origin<'_>, item: &Item) -> Result<Processed, StoreError> {
    match item {
        Item::Status(status) => statuses::process(run, origin, status).await,
        Item::Message(message) => match &message.content {
            Content::Moved { to, previous_user_id } => {
                let user_id = previous_user_id.as_ref().or(message.from.user_id.as_ref()).cloned();
                let old = Person { user_id, ..message.from.clone() }.reached();
                moves::process(run, origin, &old, &to.reached(), message.at).await
            }
            _ => messages::process(run, origin, message).await,
        },
        Item::Preference(preference) => preferences::process(run, origin, preference).await,
    }
}

/// Whether both are messages of one customer. A message must not overtake another one that waits for its file.
fn is_of_same_sender(waiting: &Item, item: &Item) -> bool {
    match (waiting, item) {
        (Item::Message(waiting), Item::Message(message)) => waiting.from == message.from,
        _ => false,
    }
}

fn foreign(run: &Run<'_>, items: usize, reason: &'static str) {
    tracing::warn!(items, reason, "items dropped");
    run.counted.items_dropped.add(items);
}
