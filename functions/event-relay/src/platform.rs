//! Changes of the platform's templates.

use std::collections::BTreeSet;

use domain::{WorkspaceId, error_chain};
use futures::StreamExt;
use futures::future::try_join_all;
use store::{Store, StoreError};

use crate::change::{EventChange, OfPlatform, of_template};
use crate::relay::AT_ONCE;

/// The events of these changes: one in each workspace that has a line of an account that the change concerns. Returns also the records
/// whose workspaces could not be read. One round trip for each account of a change, some of them at the same time.
pub(crate) async fn of_platform(store: &Store, templates: &[OfPlatform]) -> (Vec<EventChange>, Vec<usize>) {
    let of_each = templates.iter().map(async |OfPlatform { record, change }| {
        let read =
            try_join_all(change.accounts().into_iter().map(|account| store.workspaces_of_account(account)));
        let workspaces: Result<Vec<Vec<WorkspaceId>>, StoreError> = read.await;
        match workspaces {
            Ok(workspaces) => {
                let workspaces: BTreeSet<WorkspaceId> = workspaces.into_iter().flatten().collect();
                let event =
                    |workspace| EventChange { record: *record, ..of_template(workspace, change.clone()) };
                Ok(workspaces.into_iter().map(event).collect::<Vec<_>>())
            }
            Err(error) => {
                let (template, cause) = (change.after.id, error_chain(&error));
                tracing::error!(template = %template, cause, "the workspaces of a template cannot be read");
                Err(*record)
            }
        }
    });
    let read: Vec<_> = futures::stream::iter(of_each).buffered(AT_ONCE).collect().await;
    let (mut changes, mut unread) = (vec![], vec![]);
    for of_change in read {
        match of_change {
            Ok(of_change) => changes.extend(of_change),
            Err(record) => unread.push(record),
        }
    }
    (changes, unread)
}
