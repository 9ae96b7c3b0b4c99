use domain::access::api_key::{ExpiryRefused, KeyChange};
use domain::text::operator_name;
use domain::{AuditAction, KeyId};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, Reply, Resource};
use serde_json::Value;

use crate::create::read_expiry;
use crate::get::shown;

/// PATCH /api-keys/{keyId}: two round trips. A key never gains anything, so its expiry only becomes earlier. An unknown field is
/// refused: whoever misspells `expiresAt` would believe that the key ends.
pub(crate) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "keyId", KeyId::parse);
    let change = read_change(&mut form, Node::root("body", Some(&body)));
    let (id, change) = form.finish(id.zip(change))?;
    call.until_written(|| attempt(call, id, &change, &body)).await
}

fn read_change(form: &mut Form, body: Node<'_>) -> Option<KeyChange> {
    let body = body.object(form)?.only(form, &["name", "expiresAt"]);
    let name = body.field("name");
    let name = if name.is_absent() { Some(None) } else { name.text(form, operator_name).map(Some) };
    let expires_at = body.patch(form, "expiresAt", read_expiry);
    Some(KeyChange { name: name?, expires_at })
}

/// One try. Returns `None` if another writer changed the key in between.
async fn attempt(
    call: &Call<'_>,
    id: KeyId,
    change: &KeyChange,
    body: &Value,
) -> Result<Option<Reply>, ApiError> {
    let store = call.store();
    let found = store.listed_key_and_use(call.workspace(), id).await?;
    let (listed, used) = found.ok_or(ApiError::NotFound(Resource::ApiKey))?;
    let reply = shown(&listed.key, used)?;
    call.request.check_if_match(&reply)?;
    let changed = listed.key.changed(change, store.now()).map_err(|refused| unfit(body, refused))?;
    let Some(next) = changed else { return Ok(Some(reply)) };

    call.caller.admitted().await?;
    match store.replace_listed_key(&listed, &next, AuditAction::ApiKeyUpdate, &call.author()).await? {
        true => shown(&next, used).map(Some),
        false => Ok(None),
    }
}

fn unfit(body: &Value, refused: ExpiryRefused) -> ApiError {
    let reason = match refused {
        ExpiryRefused::Past => "the expiry is in the past",
        ExpiryRefused::Later => "an expiry can only become earlier",
    };
    let mut form = Form::default();
    form.fail(&Node::root("body", Some(body)).field("expiresAt"), Rejection::Refused(reason));
    form.finish(None::<()>).err().unwrap_or_else(|| ApiError::unexpected("a refusal without a failure"))
}
