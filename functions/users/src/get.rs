use domain::UserId;
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, view};

/// GET /users/{userId}: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "userId", UserId::parse);
    let id = form.finish(id)?;

    let user = call.store().user(call.workspace(), id).await?.ok_or(ApiError::NotFound(Resource::User))?;
    Reply::resource(&view::user(&user), 0)
}
