use domain::{Contact, ContactId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};
use store::ContactRead;

/// GET /contacts/{contactId}: one call, which reads the contact and shows whether the remembered definitions are current.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "contactId", ContactId::parse);
    let id = form.finish(id)?;

    let (store, workspace) = (call.store(), call.workspace());
    let read = store.contact_read(workspace, id, None).await?;
    let (contact, definitions) = (found(&read)?, &read.definitions);
    Reply::resource(&view::contact(contact, definitions, store.now()), definitions.version())
}

/// The contact that was read. If it became part of another one, the error names that one.
pub(crate) fn found(read: &ContactRead) -> Result<&Contact, ApiError> {
    let absent = || read.merged_into.map_or(ApiError::NotFound(Resource::Contact), ApiError::Merged);
    read.contact.as_ref().ok_or_else(absent)
}
