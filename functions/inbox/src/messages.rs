//! A customer's message.

use provider::webhook::Incoming;
use store::StoreError;

use crate::line::Origin;
use crate::{Processed, Run};

/// Stores the message in its conversation.
pub(crate) async fn process(
    run: &Run<'_>,
    origin: Origin<'_>,
    message: &Incoming,
) -> Result<Processed, StoreError> {
    let _ = (run.store, origin, message);
    Ok(Processed::Dropped("not processed"))
}
