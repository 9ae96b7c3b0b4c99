use domain::{EndpointId, WorkspaceId};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Tagged, view};
use store::Store;

/// GET /webhook-endpoints/{endpointId}: two round trips.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call)?;
    let (store, workspace): (&Store, WorkspaceId) = (call.store(), call.workspace());
    let details = admin::endpoint_details::<ApiError>(store, workspace, id).await?;
    details.endpoint.tag(Reply::list(&view::endpoint_details(&details))?)
}

/// The endpoint's id in the path of a request without a query.
pub(crate) fn read_id(call: &Call<'_>) -> Result<EndpointId, ApiError> {
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    form.finish(id)
}

/// The same for a request with other input.
pub(crate) fn path_id(call: &Call<'_>, form: &mut Form) -> Option<EndpointId> {
    call.request.query().only(form, &[]);
    call.request.path_id(form, "endpointId", EndpointId::parse)
}
