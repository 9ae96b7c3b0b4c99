//! The erasure of the person behind a contact. The function `people` does the work, and these requests ask for it and show it.

use domain::{ContactId, Erasure, ErasureId, ErasureState};
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, Resource, view};

/// POST /contacts/{contactId}/erasure: two round trips. The id of the job is derived from the contact, so a repeat finds the
/// same one, and later its receipt. A preview that is over is made anew.
pub(crate) async fn erase(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.optional_json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "contactId", ContactId::parse);
    let is_preview = read_body(&mut form, body.as_ref().map(|body| Node::root("body", Some(body))));
    let (id, is_preview) = form.finish(id.zip(is_preview))?;

    let (store, workspace) = (call.store(), call.workspace());
    let by = call.caller.key().to_string();
    let new = Erasure::of_contacts([id].into(), workspace, is_preview, by, store.now());
    let seen = store.erasure(workspace, new.id);
    let (seen, contact) = futures::future::try_join(seen, store.contact(workspace, id)).await?;
    if contact.is_none() && seen.as_ref().is_none_or(|seen| seen.is_preview) {
        return Err(ApiError::NotFound(Resource::Contact));
    }
    call.caller.admitted().await?;
    let asked = store.ask_erasure(&new, seen.as_ref(), None).await?;
    let reply = Reply::list(&view::erasure(&asked))?;
    Ok(if asked.state == ErasureState::Done { reply } else { reply.accepted() })
}

/// Whether only a preview is asked for. An unknown field is refused: a misspelt `dryRun` would erase.
fn read_body(form: &mut Form, body: Option<Node<'_>>) -> Option<bool> {
    let Some(body) = body else { return Some(false) };
    let body = body.object(form)?.only(form, &["dryRun"]);
    body.field("dryRun").given().map_or(Some(false), |given| given.boolean(form))
}

/// GET /erasures/{erasureId}: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "erasureId", ErasureId::parse);
    let id = form.finish(id)?;
    let erasure = call.store().erasure(call.workspace(), id).await?;
    Reply::resource(&view::erasure(&erasure.ok_or(ApiError::NotFound(Resource::Erasure))?), 0)
}
