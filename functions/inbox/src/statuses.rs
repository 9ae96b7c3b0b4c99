//! What became of a sent message.

use provider::webhook::Status;
use store::StoreError;

use crate::line::Origin;
use crate::{Processed, Run};

/// Records a status of a part.
pub(crate) async fn process(
    run: &Run<'_>,
    origin: Origin<'_>,
    status: &Status,
) -> Result<Processed, StoreError> {
    let _ = (run.store, origin, status);
    Ok(Processed::Dropped("not processed"))
}
