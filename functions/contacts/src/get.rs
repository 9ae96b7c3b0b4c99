use domain::ContactId;
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
    let ContactRead { contact, definitions, .. } = store.contact_read(workspace, id, None).await?;
    let contact = contact.ok_or(ApiError::NotFound(Resource::Contact))?;
    Reply::resource(&view::contact(&contact, &definitions, store.now()), definitions.version())
}
