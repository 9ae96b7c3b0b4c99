//! The jobs of an endpoint.

use admin::JobProgress;
use domain::{EndpointId, JobId, Slot};
use edge::form::Form;
use edge::{ApiError, Call, Reply, view};

/// GET /webhook-endpoints/{endpointId}/jobs: two round trips. All active jobs and the 20 last requested ended ones, so the list has
/// no pages.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let id = endpoint_id(call, &mut form);
    let id = form.finish(id)?;
    let endpoint = admin::endpoint::<ApiError>(call.store(), call.workspace(), id).await?;
    let jobs = JobProgress::all_of(call.store(), &endpoint).await?;
    Reply::list(&view::JobsView { jobs: jobs.iter().map(view::job).collect() })
}

/// GET /webhook-endpoints/{endpointId}/jobs/{jobId}: two round trips.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let ids = ids(call, &mut form);
    let (endpoint, job) = form.finish(ids)?;
    let endpoint = admin::endpoint::<ApiError>(call.store(), call.workspace(), endpoint).await?;
    let slots: Vec<Slot> = endpoint.all_slots().collect();
    let job = JobProgress::read::<ApiError>(call.store(), job, &slots).await?;
    Reply::list(&view::job(&job))
}

/// The endpoint's id in the path of a request without a query.
pub(crate) fn endpoint_id(call: &Call<'_>, form: &mut Form) -> Option<EndpointId> {
    call.request.query().only(form, &[]);
    call.request.path_id(form, "endpointId", EndpointId::parse)
}

/// The ids of an endpoint and of its job in the path.
pub(crate) fn ids(call: &Call<'_>, form: &mut Form) -> Option<(EndpointId, JobId)> {
    let endpoint = endpoint_id(call, form);
    endpoint.zip(call.request.path_id(form, "jobId", JobId::parse))
}
