//! A customer's new number or user id.

use provider::webhook::Person;
use store::StoreError;

use crate::line::Origin;
use crate::{Processed, Run};

/// Changes the ids by which the contact is found.
pub(crate) async fn process(
    run: &Run<'_>,
    origin: Origin<'_>,
    from: &Person,
    to: &Person,
    previous_user_id: Option<&str>,
) -> Result<Processed, StoreError> {
    let _ = (run.store, origin, from, to, previous_user_id);
    Ok(Processed::Dropped("not processed"))
}
