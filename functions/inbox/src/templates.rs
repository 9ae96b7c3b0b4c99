//! The provider's decisions about templates.

use provider::webhook::TemplateEvent;
use queue::Inbound;
use store::StoreError;

use crate::{Processed, Run};

/// Approves, revokes or pauses the template for its account.
pub(crate) async fn process(
    run: &Run<'_>,
    inbound: &Inbound,
    event: &TemplateEvent,
) -> Result<Processed, StoreError> {
    let _ = (run.store, inbound, event);
    Ok(Processed::Dropped("not processed"))
}
