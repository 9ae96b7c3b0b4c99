use domain::ContactId;
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};
use futures::future::try_join;

/// GET /contacts/{contactId}: one round trip, which reads the contact and the definitions together.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "contactId", ContactId::parse);
    let id = form.finish(id)?;

    let (store, workspace) = (call.store(), call.workspace());
    let (contact, definitions) = try_join(store.contact(workspace, id), store.definitions(workspace)).await?;
    let contact = contact.ok_or(ApiError::NotFound(Resource::Contact))?;
    Reply::resource(&view::contact(&contact, &definitions, store.now()), definitions.version())
}
