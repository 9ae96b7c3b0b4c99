//! A customer's new number or user id.

use domain::{ContactId, ProviderUserId, Reached, Timestamp, WaId};
use provider::webhook::Person;
use store::{Moved, StoreError};

use crate::item::{Origin, Processed};
use crate::run::Run;

/// How often the function reads the contact again if others change it at the same time.
const TRIES: usize = 5;

/// Changes the ids by which the contact is found: from the old number or the old user id to those that the provider
/// names now. `at` is the provider's time of the change. An id that another contact has changes nothing.
pub(crate) async fn process(
    run: &Run<'_>,
    origin: Origin<'_>,
    old_number: Option<&str>,
    old_user_id: Option<&str>,
    to: &Person,
    at: Timestamp,
) -> Result<Processed, StoreError> {
    let (old, new) = (reached(old_number, old_user_id), reached(to.wa_id.as_deref(), to.user_id.as_deref()));
    for _ in 0..TRIES {
        let found =
            run.store.contact_reached_at(origin.workspace, old.wa_id.as_ref(), old.user_id.as_ref()).await?;
        let contact = match found {
            Some(id) => run.store.contact(origin.workspace, id).await?,
            None => None,
        };
        let Some(contact) = contact else {
            return Ok(Processed::Dropped("nobody has the old number or user id"));
        };
        let request = run.store.ids().next().to_string();
        match run.store.move_contact(&contact, &new, at, &request).await? {
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

/// The ids that are of the provider's form.
fn reached(wa_id: Option<&str>, user_id: Option<&str>) -> Reached {
    Reached {
        wa_id: wa_id.and_then(|id| WaId::parse(id).ok()),
        user_id: user_id.and_then(|id| ProviderUserId::parse(id).ok()),
    }
}
