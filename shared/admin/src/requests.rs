//! Requests for jobs about an endpoint that must be enabled.

use domain::{DeliveryId, EndpointId, WebhookEndpoint};
use futures::future::join;

use crate::admin::{Admin, Check};
use crate::endpoints::endpoint_to_call;
use crate::jobs::{JobRequest, RequestedJob};
use crate::refused::Refused;

impl<G: Check<WebhookEndpoint>> Admin<'_, G> {
    /// Requests a job that attempts one delivery, whatever its state. Six round trips; a repeat takes as many.
    pub async fn retry_delivery(&self, id: DeliveryId) -> Result<RequestedJob, G::Refusal> {
        let endpoint = endpoint_to_call::<G::Refusal>(self.store, self.workspace, id.endpoint);
        let (delivery, endpoint) = join(self.store.delivery(self.workspace, id), endpoint).await;
        // Of a foreign delivery nothing else is said.
        let delivery = delivery?.ok_or(Refused::UnknownDelivery(id))?;
        self.ready(&endpoint?).await?;
        JobRequest::retry(&delivery).submit(self).await
    }

    /// Requests the job that `of` makes for an endpoint, which must be enabled. Five round trips.
    pub async fn request_job(
        &self,
        id: EndpointId,
        of: impl FnOnce(&WebhookEndpoint) -> Result<JobRequest, Refused>,
    ) -> Result<RequestedJob, G::Refusal> {
        let endpoint = endpoint_to_call::<G::Refusal>(self.store, self.workspace, id).await?;
        self.ready(&endpoint).await?;
        of(&endpoint)?.submit(self).await
    }
}
