//! A customer's new number or user id.

use domain::{ContactId, Reached, Timestamp};
use store::{Moved, StoreError};

use crate::item::{Origin, Processed};
use crate::run::Run;

/// How often the function reads the contact again if others change it at the same time.
const TRIES: usize = 5;

/// Changes the ids by which the contact is found: from the `old` ones to the `new` ones. `at` is the provider's time of the change. An id that another contact has changes nothing.
pub(crate) async fn process(
    run: &Run<'_>,
    origin: Origin<'_>,
    old: &Reached,
    new: &Reached,
    at: Timestamp,
) -> Result<Processed, StoreError> {
    for _ in 0..TRIES {
        let Some(contact) = run.store.reached_contact(origin.workspace, old).await? else {
            return Ok(Processed::Dropped("nobody has the old number or user id"));
        };
        let request = run.store.ids().next().to_string();
        match run.store.move_contact(&contact, new, at, &request).await? {
            Moved::Done => return Ok(Processed::Done),
            Moved::Taken(by) => return Ok(refused(run, origin, contact.id, by)),
            Moved::Stale => {}
        }
    }
    Err(StoreError::Busy("others keep changing the contact".into()))
}

/// Both contacts stay as they are. An operator decides which of them is the customer.
fn refused(run: &Run<'_>, origin: Origin<'_>, contact: ContactId, by: ContactId) -> Processed {
    let (workspace, line) = (origin.workspace, origin.line.as_str());
    tracing::warn!(
        workspace = %workspace, line, contact = %contact, by = %by,
        "a customer moved to a number or user id of another contact, not changed",
    );
    run.counted.moves_refused.add(1);
    Processed::Dropped("another contact has the new number or user id")
}
