//! The events that were recorded for webhook endpoints.

use std::collections::HashMap;

use admin::{After, DeliverySearch, FoundDelivery};
use domain::{EventId, EventType, HomeKey, Unfit};
use edge::form::Form;
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;

use crate::log::{Spans, place};

/// A page with bodies ends when its bodies, as JSON strings, have this many bytes. An answer may have 6 MB.
const MOST: usize = 4 * 1024 * 1024;
/// The number of bodies in one read.
const AT_ONCE: usize = 20;

/// GET /events: two round trips for 16 slots, and one more for each 20 bodies.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "eventType", "since", "until", "include"]);
    let page_size = query.page_size(&mut form);
    let include = query.text(&mut form, "include", include);
    let spans = Spans::read(&query, &mut form);
    // The same list with and without bodies: a cursor fits both.
    let filters = [
        ("eventType", spans.event_type.map(EventType::as_str)),
        ("since", spans.texts.0.as_deref()),
        ("until", spans.texts.1.as_deref()),
    ];
    let cursors = call.cursors("events", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let search = DeliverySearch { after: place(after)?, ..spans.search() };
    let page = async { Ok(search.events(call.store(), call.workspace(), page_size).await?) };
    let (mut page, ()) = try_join(page, cursors.warm()).await?;
    let bodies = match include {
        Some(Body) => {
            let bodies = bodies(call, &page.items).await?;
            if bodies.len() < page.items.len() {
                page.items.truncate(bodies.len());
                let last = page.items.last().map(|event| After::Event(HomeKey::of(&event[0].0)));
                page.next = last.map(|after| after.to_string());
            }
            bodies
        }
        None => vec![None; page.items.len()],
    };
    let events = page.items.iter().zip(&bodies);
    let events = events.map(|(deliveries, body)| view::event(deliveries, body.as_deref())).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::EventsView { events, cursor })
}

/// `include=body`.
struct Body;

fn include(word: &str) -> Result<Body, Unfit> {
    if word == "body" { Ok(Body) } else { Err(Unfit::NotOneOf { expected: &["body"] }) }
}

/// The bodies of the first of these events, as many as fit into an answer. An event that is not recorded completely, or was lost,
/// has none.
async fn bodies(call: &Call<'_>, events: &[Vec<FoundDelivery>]) -> Result<Vec<Option<String>>, ApiError> {
    let (mut bodies, mut size) = (vec![], 0);
    for events in events.chunks(AT_ONCE) {
        let ids: Vec<EventId> = events.iter().map(|event| event[0].0.event).collect();
        let mut found: HashMap<_, _> = call.store().events_with_bodies(call.workspace(), &ids).await?;
        for id in ids {
            let body = found.remove(&id).map(|event| text(event.body));
            let length =
                body.as_ref().map_or(Ok(0), |body| serde_json::to_string(body).map(|json| json.len()));
            size += length.map_err(|_| ApiError::unexpected("a body has no length"))?;
            if size > MOST && !bodies.is_empty() {
                return Ok(bodies);
            }
            bodies.push(body);
        }
    }
    Ok(bodies)
}

/// Bodies are JSON, so they are UTF-8.
fn text(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// GET /events/{eventId}: two round trips.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "eventId", EventId::parse);
    let id = form.finish(id)?;
    let mut details = admin::event_details::<ApiError>(call.store(), call.workspace(), id).await?;
    let body = text(std::mem::take(&mut details.event.body));
    Reply::list(&view::event_details(&details, &body))
}
