//! A customer's new number or user id.

use std::time::Duration;

use domain::{Contact, ContactId, Reached, Timestamp};
use store::{Moved, StoreError};

use crate::invocation::Invocation;
use crate::item::{Origin, Processed};

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
    let at = at.min(origin.inbound.received_at);
    for _ in 0..TRIES {
        let Some(contact) = invocation.store.reached_contact(origin.workspace, old).await? else {
            return Ok(Processed::Dropped("nobody has the old number or user id"));
        };
        if is_another(&contact, old, at) {
            return Ok(Processed::Dropped("the contact was made after the move, so it is another customer"));
        }
        let request = invocation.store.ids().next().to_string();
        match invocation.store.move_contact(&contact, new, at, &request).await? {
            Moved::Done => return Ok(Processed::Done),
            Moved::Taken(by) => return Ok(refused(invocation, origin, contact.id, by)),
            Moved::Stale => {}
        }
    }
    Err(StoreError::Busy("others keep changing the contact".into()))
}

/// Whether the old number found a contact that was made after the customer left that number: somebody else has the
/// number by now. A user id is never given to somebody else.
fn is_another(contact: &Contact, old: &Reached, at: Timestamp) -> bool {
    let is_same_user = old.user_id.is_some() && old.user_id == contact.user_id;
    // The provider's times are whole seconds.
    contact.created_at.since(at) >= Duration::from_secs(1) && !is_same_user
}

/// Both contacts stay as they are. An operator decides which of them is the customer.
fn refused(invocation: &Invocation<'_>, origin: Origin<'_>, contact: ContactId, by: ContactId) -> Processed {
    let (workspace, line) = (origin.workspace, origin.line.as_str());
    tracing::warn!(
        workspace = %workspace, line, contact = %contact, by = %by,
        "a customer moved to a number or user id of another contact, not changed",
    );
    invocation.counted.moves_refused.add(1);
    Processed::Dropped("another contact has the new number or user id")
}
