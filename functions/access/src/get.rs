use domain::{ApiKey, KeyId, Timestamp};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};

/// GET /api-keys/{keyId}: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call, "keyId")?;
    let found = call.store().listed_key_and_use(call.workspace(), id).await?;
    let (listed, used) = found.ok_or(ApiError::NotFound(Resource::ApiKey))?;
    shown(&listed.key, used)
}

/// The id of a key or a session in the path of a request without a query.
pub(crate) fn read_id(call: &Call<'_>, name: &str) -> Result<KeyId, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, name, KeyId::parse);
    form.finish(id)
}

/// The key with the tag that `If-Match` names. The last use changes with each request, so the tag does not depend on it.
pub(crate) fn shown(key: &ApiKey, used: Option<Timestamp>) -> Result<Reply, ApiError> {
    Reply::resource(&view::api_key(key, used), 0)?.tagged_by(&view::api_key(key, None))
}
