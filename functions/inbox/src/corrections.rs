//! An edit or a deletion of a message, by the customer or in the Business app. It makes no message, opens no window and wakes no GHOST.

use domain::message::{Corrected, Correction};
use store::StoreError;

use crate::invocation::Invocation;
use crate::item::{Origin, Processed, Wait};

/// Changes the message with this id of the provider. Three round trips; one more for a deleted message with a file, and one for
/// a message that has not come yet.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    of: &str,
    correction: &Correction,
) -> Result<Processed, StoreError> {
    let (store, workspace) = (invocation.store, origin.workspace);
    let at = correction.at.min(origin.inbound.received_at);
    let correction = Correction { at, ..correction.clone() };
    let Some((conversation, message, _)) = store.provider_message(workspace, of).await? else {
        return Ok(match Wait::for_a_record(store.now(), origin.inbound) {
            Some(wait) => Processed::Later(wait),
            None => Processed::Dropped("an edit or a deletion of a message that no row names"),
        });
    };
    let Some(message) = store.message(workspace, conversation, message).await? else {
        return Ok(Processed::Dropped("an edit or a deletion of a message that does not exist"));
    };
    match message.corrected(&correction, origin.line, store.now()) {
        Corrected::Foreign => {
            return Ok(Processed::Dropped(
                "an edit or a deletion of what its author did not write on the line",
            ));
        }
        Corrected::NoText => return Ok(Processed::Dropped("an edit of a message without a text")),
        Corrected::Unchanged | Corrected::Changed(_) => {}
    }
    Ok(match store.record_correction(&message, origin.line, &correction).await? {
        true => Processed::Done,
        false => Processed::Dropped("an edit or a deletion of a message that was erased"),
    })
}
