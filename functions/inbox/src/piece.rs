//! One piece: which line, account, template or other change it is about.

use provider::webhook::{Piece, Subject, read, unmapped};
use queue::Inbound;
use store::StoreError;
use tokio::time::timeout_at;

use crate::invocation::Invocation;
use crate::{accounts, daily, line, templates};

/// Why a piece is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the time of the invocation is up")]
    TimeUp,
}

/// Processes a piece, and gives it up at the end of its time. That is as if the function had died at this call, so the
/// repeat finishes it.
pub(crate) async fn in_time(invocation: &Invocation<'_>, inbound: &Inbound) -> Result<(), Failure> {
    // Boxed, because the type of the future is as deep as the compiler permits.
    match timeout_at(invocation.ends_at(), Box::pin(process(invocation, inbound))).await {
        Ok(processed) => Ok(processed?),
        Err(_) => Err(Failure::TimeUp),
    }
}

async fn process(invocation: &Invocation<'_>, inbound: &Inbound) -> Result<(), StoreError> {
    let Inbound { account, field, .. } = inbound;
    if daily::is_of_the_day(inbound) {
        return daily::process(invocation, inbound).await;
    }
    match read(&piece(inbound)) {
        Subject::Line(line, items) => {
            note_unmapped(invocation, inbound);
            line::process(invocation, inbound, &line, items).await
        }
        Subject::Template(event) => templates::process(invocation, inbound, &event).await.map(drop),
        Subject::Account(event) => accounts::process(invocation, inbound, &event).await,
        Subject::Ignored => {
            tracing::info!(account, field, "a change of a kind that the service does not need");
            invocation.counted.items_dropped.add(1);
            Ok(())
        }
        Subject::Other => {
            tracing::warn!(account, field, "a change that the service only counts");
            invocation.counted.other_changes.add(1);
            Ok(())
        }
    }
}

/// Counts the leaves that the service does not know. The log has their paths, and not what they say.
fn note_unmapped(invocation: &Invocation<'_>, Inbound { account, value, .. }: &Inbound) {
    let leaves = unmapped(value);
    if !leaves.is_empty() {
        invocation.counted.leaves_unmapped.add(leaves.values().sum());
        let paths = leaves.into_keys().collect::<Vec<_>>().join(", ");
        tracing::info!(account, paths, "leaves that the service does not know");
    }
}

pub(crate) fn piece(inbound: &Inbound) -> Piece {
    let Inbound { account, field, value, ranks, .. } = inbound.clone();
    Piece { account, field, value, ranks }
}
