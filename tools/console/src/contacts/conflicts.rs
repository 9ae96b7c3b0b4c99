//! What the service did not decide about contacts, as operators see it.

use domain::contact::conflict::Conflict;
use domain::{ContactId, WorkspaceId};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::view::View;
use crate::{Console, Result};

/// The conflicts of these contacts, the oldest first.
pub(crate) async fn conflicts_of(
    console: &Console,
    workspace: WorkspaceId,
    contacts: &[ContactId],
) -> Result<Vec<Conflict>> {
    let read = contacts.iter().map(|contact| console.store.conflicts(workspace, *contact));
    let mut conflicts: Vec<Conflict> = try_join_all(read).await?.into_iter().flatten().collect();
    conflicts.sort_by_key(|conflict| (conflict.at, conflict.reason, conflict.other));
    Ok(conflicts)
}

/// The conflicts of one contact, or of several, which the lines then name.
pub(crate) fn conflicts_view(conflicts: &[Conflict], are_of_several: bool) -> View {
    let as_json = |of: &Conflict| {
        json!({
            "contactId": of.contact.to_string(),
            "otherContactId": of.other.map(|other| other.to_string()),
            "reason": of.reason.as_str(),
            "occurredAt": of.at.to_string(),
        })
    };
    let line = |of: &Conflict| {
        let contact = if are_of_several { format!("{} ", of.contact) } else { String::new() };
        let other = of.other.map(|other| format!(" with {other}")).unwrap_or_default();
        format!("{contact}{}{other} at {}", of.reason.as_str(), of.at)
    };
    View::new()
        .json("conflicts", conflicts.iter().map(as_json).collect::<Value>())
        .lines("conflicts", conflicts.iter().map(line))
}
