use admin::{ChangedEndpoint, EndpointUpdate};
use domain::TrustedReceivers;
use domain::webhook::EndpointChange;
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, Tagged, view};

use crate::fields::{FIELDS, cap, description, events, receiver_key, url};
use crate::get::path_id;
use crate::process::WebhookEndpoints;

/// PATCH /webhook-endpoints/{endpointId}: two round trips, and one more if a new URL requests a job.
pub(crate) async fn update(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let update = read_update(&mut form, Node::root("body", Some(&body)), &of.trusted);
    let (id, update) = form.finish(id.zip(update))?;
    let changed = of.admin(call).update_endpoint(id, &update).await?;
    shown(&changed)
}

/// A changed endpoint with its job.
pub(crate) fn shown(changed: &ChangedEndpoint) -> Result<Reply, ApiError> {
    let job = changed.job.as_ref().map(|job| &job.progress);
    changed.endpoint.tag(Reply::list(&view::changed_endpoint(&changed.endpoint, job))?)
}

fn read_update(form: &mut Form, body: Node<'_>, trusted: &TrustedReceivers) -> Option<EndpointUpdate> {
    let body = body.object(form)?.only(form, FIELDS);
    let (at_url, at_key, at_events) = (body.field("url"), body.field("receiverKey"), body.field("events"));
    let url = if at_url.is_absent() { Some(None) } else { url(form, &at_url, trusted).map(Some) };
    let receiver_key = if at_key.is_absent() { Some(None) } else { receiver_key(form, &at_key).map(Some) };
    let filter = if at_events.is_absent() { Some(None) } else { events(form, &at_events).map(Some) };
    let settings = EndpointChange {
        description: body.patch(form, "description", description),
        max_concurrency: body.patch(form, "maxConcurrency", cap),
        max_per_second: body.patch(form, "maxPerSecond", cap),
        url: url?,
        filter: filter?,
        slots: None,
    };
    Some(EndpointUpdate { settings, receiver_key: receiver_key? })
}
