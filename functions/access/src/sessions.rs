//! All sessions of the workspace.

use domain::{AuditAction, KeyId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};
use futures::future::try_join;

use crate::get::read_id;
use crate::revoke;

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
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::SessionsView { sessions: page.items.iter().map(view::session).collect(), cursor })
}

/// DELETE /sessions/{sessionId}: two round trips. The session stays in the list for a day. A repeat changes nothing.
pub(crate) async fn end(call: &Call<'_>) -> Result<Reply, ApiError> {
    end_session(call, read_id(call, "sessionId")?).await
}

/// Ends a session of the workspace.
pub(crate) async fn end_session(call: &Call<'_>, id: KeyId) -> Result<Reply, ApiError> {
    call.until_written(|| attempt(call, id)).await
}

/// One try. Returns `None` if another writer changed the session in between.
async fn attempt(call: &Call<'_>, id: KeyId) -> Result<Option<Reply>, ApiError> {
    let listed = call.store().listed_session(call.workspace(), id).await?;
    let listed = listed.ok_or(ApiError::NotFound(Resource::ApiKey))?;
    revoke::end(call, &listed, AuditAction::SessionRevoke).await
}
