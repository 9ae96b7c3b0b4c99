//! What became of a sent message.
//!
//! The service names the part in each send, and the provider repeats that name in each status: one read and one
//! write of the message. A status without the name is found by the provider's id, with one read more.

use domain::message::{Report, ReportKind, Reported};
use domain::sending::PartError;
use domain::{PartId, Timestamp};
use provider::webhook::{Status, StatusKind};
use store::{Store, StoreError};

use crate::invocation::Invocation;
use crate::item::{Origin, Processed, Wait};

/// Records a status of a part. Two round trips, and one more if the status does not name the part.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    status: &Status,
) -> Result<Processed, StoreError> {
    let (store, workspace) = (invocation.store, origin.workspace);
    if status.id.len() > Store::MAX_PROVIDER_ID {
        return Ok(Processed::Dropped("a status with an id that is too long"));
    }
    let Some(PartId { conversation, message, part }) = part_of(invocation, origin, status).await? else {
        return Ok(Processed::Dropped("a status of a message that no row names"));
    };
    let Some(message) = store.message(workspace, conversation, message).await? else {
        return Ok(Processed::Dropped("a status of a message that does not exist"));
    };
    let report = report(status, origin.inbound.received_at);
    match message.reported(part, &report, store.now()) {
        Reported::NoPart => return Ok(Processed::Dropped("a status of a part that does not exist")),
        Reported::TooEarly => {
            if let Some(wait) = Wait::for_a_record(store.now(), origin.inbound) {
                return Ok(Processed::Later(wait));
            }
            let (conversation, message) = (message.conversation, message.id);
            tracing::error!(
                workspace = %workspace, conversation = %conversation, messageId = %message, part,
                "a status waited for the outcome of its send in vain",
            );
            return Ok(Processed::Dropped("a status of a send whose outcome was not recorded in time"));
        }
        Reported::Unchanged | Reported::Changed(_) => {}
    }
    Ok(match store.record_report(&message, part, &report).await? {
        true => Processed::Done,
        false => Processed::Dropped("a status of a message that was erased"),
    })
}

/// The part that a status is about, in the workspace of the line.
async fn part_of(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    status: &Status,
) -> Result<Option<PartId>, StoreError> {
    if let Some(part) = status.part.as_deref().and_then(PartId::parse) {
        return Ok(Some(part));
    }
    let found = invocation.store.provider_message(origin.workspace, &status.id).await?;
    Ok(found.and_then(|(conversation, message, part)| Some(PartId { conversation, message, part: part? })))
}

/// What the status reports. A time after the service received the status counts as that moment.
fn report(status: &Status, received_at: Timestamp) -> Report {
    let kind = match &status.kind {
        StatusKind::Sent => ReportKind::Sent,
        StatusKind::Delivered => ReportKind::Delivered,
        StatusKind::Read => ReportKind::Read,
        StatusKind::Failed { code, detail } => {
            let code = code.map_or_else(|| PartError::NOT_DELIVERED.to_owned(), |code| code.to_string());
            ReportKind::Failed(PartError::of(code).because_of(detail.as_deref()))
        }
    };
    let (pricing, at) = (status.pricing.clone(), status.at.min(received_at));
    Report { provider_message_id: status.id.clone(), kind, pricing, at }
}
