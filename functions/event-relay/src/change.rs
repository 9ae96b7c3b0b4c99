//! What a stream record says has happened.

use aws_lambda_events::dynamodb::EventRecord;
use domain::{Contact, Event, EventType};
use store::{StoreError, contact_from_image};

/// A change of a contact that is an event, whether or not somebody wants it.
pub(crate) struct ContactChange {
    pub(crate) contact: Contact,
    pub(crate) event: Event,
}

/// The change in a record; none where nothing changed that the API shows: a helper row, a write that left the
/// version as it was, a removal.
pub(crate) fn read(record: &EventRecord) -> Result<Option<ContactChange>, StoreError> {
    let change = &record.change;
    let event_type = match record.event_name.as_str() {
        "INSERT" => EventType::ContactCreated,
        "MODIFY" => EventType::ContactUpdated,
        _ => return Ok(None),
    };
    let Some(contact) = contact_from_image(change.new_image.clone())? else { return Ok(None) };
    if event_type == EventType::ContactUpdated {
        let before = contact_from_image(change.old_image.clone())?;
        if before.is_some_and(|before| before.version >= contact.version) {
            return Ok(None);
        }
    }
    let (id, version) = (contact.id, contact.version);
    let event = Event::of_change(event_type, contact.workspace_id, id.as_uuid(), version, contact.updated_at);
    Ok(Some(ContactChange { contact, event }))
}
