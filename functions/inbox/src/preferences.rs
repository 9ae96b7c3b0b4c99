//! A customer's choice about marketing messages.

use provider::webhook::Preference;
use store::StoreError;

use crate::line::Origin;
use crate::{Processed, Run};

/// Opts the customer out, or in again.
pub(crate) async fn process(
    run: &Run<'_>,
    origin: Origin<'_>,
    preference: &Preference,
) -> Result<Processed, StoreError> {
    let _ = (run.store, origin, preference);
    Ok(Processed::Dropped("not processed"))
}
