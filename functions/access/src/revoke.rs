use domain::{AuditAction, KeyId};
use edge::{ApiError, Call, Reply, Resource};
use store::ListedKey;

use crate::get::{read_id, shown};

/// DELETE /api-keys/{keyId}: three round trips, and one for each session that began with the key, because they end too. The key is
/// revoked and stays in the list. A repeat ends the sessions that are left.
pub(crate) async fn revoke(call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call, "keyId")?;
    let reply = call.until_written(|| attempt(call, id)).await?;
    call.store().end_sessions(call.workspace(), Some(id), &call.author()).await?;
    Ok(reply)
}

/// One try. Returns `None` if another writer changed the key in between.
async fn attempt(call: &Call<'_>, id: KeyId) -> Result<Option<Reply>, ApiError> {
    let listed = call.store().listed_key(call.workspace(), id).await?;
    let listed = listed.ok_or(ApiError::NotFound(Resource::ApiKey))?;
    call.request.check_if_match(&shown(&listed.key, None)?)?;
    end(call, &listed, AuditAction::ApiKeyRevoke).await
}

/// Revokes a key or ends a session, as it was read. Returns `None` if another writer changed it in between.
pub(crate) async fn end(
    call: &Call<'_>,
    listed: &ListedKey,
    action: AuditAction,
) -> Result<Option<Reply>, ApiError> {
    let store = call.store();
    let Some(next) = listed.key.revoked(store.now()) else { return Ok(Some(Reply::no_content())) };

    call.caller.admitted().await?;
    let is_done = store.replace_listed_key(listed, &next, action, &call.author()).await?;
    Ok(is_done.then(Reply::no_content))
}
