//! The events of changes, without a record of them: for tools that show events as they happen.

use std::sync::Arc;

use domain::{Event, EventType, WorkspaceId};
use futures::StreamExt;
use store::{RowChange, Store, StoreError};

use crate::body::body;
use crate::change::{EventChange, changes_of};
use crate::relay::AT_ONCE;

/// An event and its body, as the relay would record it.
#[derive(Debug)]
pub struct Derived {
    /// The event.
    pub event: Event,
    /// The body, as the receivers get it.
    pub body: Vec<u8>,
}

/// Why a change gives no events.
#[derive(Debug, thiserror::Error)]
pub enum NotDerived {
    /// A row cannot be read.
    #[error("a changed row cannot be read")]
    Row(#[source] StoreError),
    /// The event has no body.
    #[error("event {} ({}) has no body", event.id, event.event_type.as_str())]
    Body {
        /// The event.
        event: Event,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Separates an event that never has a body from one whose body cannot be read at the moment.
fn not_busy(derived: Result<Derived, NotDerived>) -> Result<Result<Derived, NotDerived>, StoreError> {
    match derived {
        Err(NotDerived::Body { event, source }) => match source.downcast::<StoreError>() {
            Ok(error) if matches!(*error, StoreError::Busy(_)) => Err(*error),
            Ok(error) => Ok(Err(NotDerived::Body { event, source: error })),
            Err(source) => Ok(Err(NotDerived::Body { event, source })),
        },
        other => Ok(other),
    }
}

/// Derives the events of a workspace's changes that `takes` accepts, whether an endpoint subscribes to them or not.
/// The function only reads. The ids are those that the relay derives. A body shows the change with the attribute
/// definitions of this moment. One round trip for the definitions if a contact changed, and one for each released
/// conversation. If the store is busy, the call fails as a whole and can be repeated.
pub async fn derive(
    store: &Store,
    workspace: WorkspaceId,
    rows: &[RowChange],
    takes: impl Fn(EventType) -> bool,
) -> Result<Vec<Result<Derived, NotDerived>>, StoreError> {
    let mut changes: Vec<Result<EventChange, NotDerived>> = vec![];
    for row in rows {
        match changes_of(row) {
            Ok(of_row) => {
                changes.extend(of_row.into_iter().filter(|change| takes(change.event.event_type)).map(Ok));
            }
            Err(error) => changes.push(Err(NotDerived::Row(error))),
        }
    }
    let has_contacts = changes.iter().flatten().any(|change| change.about.shows_contacts());
    let definitions = if has_contacts { store.current_definitions(workspace).await? } else { Arc::default() };
    let derived = changes.into_iter().map(async |change| {
        let change = change?;
        match body(store, &change, &definitions).await {
            Ok(body) => Ok(Derived { event: change.event, body }),
            Err(source) => Err(NotDerived::Body { event: change.event, source }),
        }
    });
    let derived: Vec<_> = futures::stream::iter(derived).buffered(AT_ONCE).collect().await;
    derived.into_iter().map(not_busy).collect()
}
