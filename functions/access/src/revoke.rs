use domain::{AuditAction, KeyId};
use edge::{ApiError, Call, Reply, Resource};

use crate::get::{author, read_id, shown};

/// DELETE /api-keys/{keyId}: three round trips, and two for each session that began with the key, because they end too. The key is
/// revoked and stays in the list. A repeat ends the sessions that are left.
pub(crate) async fn revoke(call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call)?;
    let reply = call.until_written(|| attempt(call, id)).await?;
    call.store().end_sessions(call.workspace(), Some(id), &author(call)).await?;
    Ok(reply)
}

/// One try. Returns `None` if another writer changed the key in between.
async fn attempt(call: &Call<'_>, id: KeyId) -> Result<Option<Reply>, ApiError> {
    let store = call.store();
    let listed = store.listed_key(call.workspace(), id).await?;
    let listed = listed.ok_or(ApiError::NotFound(Resource::ApiKey))?;
    call.request.check_if_match(&shown(&listed.key, None)?)?;
    let Some(next) = listed.key.revoked(store.now()) else { return Ok(Some(Reply::no_content())) };

    call.caller.admitted().await?;
    let is_done = store.replace_listed_key(&listed, &next, AuditAction::ApiKeyRevoke, &author(call)).await?;
    Ok(is_done.then(Reply::no_content))
}
