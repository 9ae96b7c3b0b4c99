//! What ends and begins deliveries.

use admin::ChangedEndpoint;
use domain::webhook::DisabledReason;
use edge::{ApiError, Call, Reply};

use crate::get::read_id;
use crate::process::WebhookEndpoints;
use crate::update::shown;

/// POST /webhook-endpoints/{endpointId}/enable: three round trips.
pub(crate) async fn enable(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call)?;
    let enabled = of.admin(call).enable_endpoint(id).await?;
    let (endpoint, job) = enabled;
    shown(&ChangedEndpoint { endpoint, job: Some(job) })
}

/// POST /webhook-endpoints/{endpointId}/disable: two round trips.
pub(crate) async fn disable(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call)?;
    let reason = DisabledReason::Tenant;
    let endpoint = of.admin(call).disable_endpoint(id, reason).await?;
    shown(&ChangedEndpoint { endpoint, job: None })
}

/// DELETE /webhook-endpoints/{endpointId}: two round trips. A repeat changes nothing.
pub(crate) async fn delete(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call)?;
    of.admin(call).delete_endpoint(id).await?;
    Ok(Reply::no_content())
}
