use edge::{ApiError, Call, Reply, view};

/// GET /webhook-endpoints: one round trip. A workspace has at most ten endpoints, so the list has no pages.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    let endpoints = call.store().endpoints(call.workspace()).await?;
    let webhook_endpoints = endpoints.iter().map(view::webhook_endpoint).collect();
    Reply::list(&view::WebhookEndpointsView { webhook_endpoints })
}
