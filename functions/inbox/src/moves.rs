//! A customer's new number or user id.

use std::time::Duration;

use domain::contact::conflict::{Conflict, ConflictReason};
use domain::contact::identified::Identified;
use domain::contact::reached::Move;
use domain::{BusinessAccountId, Contact, Reached, Timestamp};
use store::{Moved, StoreError};

use crate::invocation::Invocation;
use crate::item::{Origin, Processed, Wait};

/// How often the function reads the contact again if others change it at the same time.
const TRIES: usize = 5;

/// Changes the ids by which the contact is found: from the `old` ones to the `new` ones. `at` is the provider's time of the
/// change; one of the future counts as the moment at which it was received. An id that another contact has changes
/// nothing.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    old: &Reached,
    new: &Reached,
    at: Timestamp,
) -> Result<Processed, StoreError> {
    let Ok(account) = BusinessAccountId::parse(&origin.inbound.account) else {
        return Ok(Processed::Dropped("the webhook names no account"));
    };
    let at = at.min(origin.inbound.received_at);
    let moved = Move { from: old, to: new, account: &account, at };
    for _ in 0..TRIES {
        let Some(contact) = invocation.store.reached_contact(origin.workspace, old).await? else {
            return Ok(Processed::Dropped("nobody has the old number or user id"));
        };
        if is_another(&contact, &moved) {
            return Ok(Processed::Dropped("the contact was made after the move, so it is another customer"));
        }
        let request = invocation.store.ids().next().to_string();
        match invocation.store.move_contact(&contact, moved, &request).await? {
            Moved::Done => return Ok(Processed::Done),
            Moved::Taken(by) => {
                let Some(holder) = invocation.store.contact(origin.workspace, by).await? else { continue };
                return taken(invocation, origin, (&contact, &moved), &holder).await;
            }
            Moved::Stale => {}
        }
    }
    Err(StoreError::Busy("others keep changing the contact".into()))
}

/// Whether the old number found a contact that was made after the customer left that number: somebody else has the
/// number by now. A user id is never given to somebody else. A contact that has the new number, too, is the customer's: it was
/// made when a tenant dialled that number, and the customer's earlier contact became part of it.
fn is_another(contact: &Contact, moved: &Move<'_>) -> bool {
    let is_same_user = moved.from.user_id.as_ref().is_some_and(|id| contact.user_ids.has(id));
    // The provider's times are whole seconds.
    let is_later = contact.created_at.since(moved.at) >= Duration::from_secs(1);
    is_later && !is_same_user && !contact.is_reached_at(moved.to)
}

/// Another contact has the new number or user id. If it is the same customer, the move waits for the merge. Otherwise both
/// contacts stay as they are, and the tenant is told.
async fn taken(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    (contact, moved): (&Contact, &Move<'_>),
    holder: &Contact,
) -> Result<Processed, StoreError> {
    let (store, reason) = (invocation.store, ConflictReason::MoveToNumberOfAnother);
    if let Identified::Same { survivor, merged } = Identified::of_move(contact, moved, holder)
        && store.are_one_person(survivor, merged).await?
        && let Some(wait) = Wait::for_merge(store.now(), origin)
    {
        return Ok(Processed::Later(wait));
    }
    store.keep_conflict(&Conflict::between(contact, reason, holder.id, store.now())).await?;
    let (workspace, contact, by) = (contact.workspace_id, contact.id, holder.id);
    tracing::warn!(
        workspace = %workspace, contact = %contact, by = %by,
        "a customer moved to a number or user id of another contact, not changed",
    );
    invocation.counted.moves_refused.add(1);
    Ok(Processed::Dropped("another contact has the new number or user id"))
}
