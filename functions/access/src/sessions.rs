//! All sessions of the workspace.

use domain::{AuditAction, KeyId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};
use futures::future::try_join;

use crate::get::author;

/// GET /sessions: one round trip.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor"]);
    let page_size = query.page_size(&mut form);
    let cursors = call.cursors("sessions", &[]);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let page = async { Ok(call.store().sessions_page(call.workspace(), page_size, after.as_deref()).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let cursor = match page.next {
        Some(position) => Some(cursors.seal(&position).await?),
        None => None,
    };
    Reply::list(&view::SessionsView { sessions: page.items.iter().map(view::session).collect(), cursor })
}

/// DELETE /sessions/{sessionId}: two round trips. The session stays in the list for a day. A repeat changes nothing.
pub(crate) async fn end(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "sessionId", KeyId::parse);
    let id = form.finish(id)?;
    end_session(call, id).await
}

/// Ends a session of the workspace.
pub(crate) async fn end_session(call: &Call<'_>, id: KeyId) -> Result<Reply, ApiError> {
    call.until_written(|| attempt(call, id)).await
}

/// One try. Returns `None` if another writer changed the session in between.
async fn attempt(call: &Call<'_>, id: KeyId) -> Result<Option<Reply>, ApiError> {
    let store = call.store();
    let listed = store.listed_session(call.workspace(), id).await?;
    let listed = listed.ok_or(ApiError::NotFound(Resource::ApiKey))?;
    let Some(next) = listed.key.revoked(store.now()) else { return Ok(Some(Reply::no_content())) };

    call.caller.admitted().await?;
    let action = AuditAction::SessionRevoke;
    let is_done = store.replace_listed_key(&listed, &next, action, &author(call)).await?;
    Ok(is_done.then(Reply::no_content))
}
