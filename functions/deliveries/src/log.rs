//! The log of deliveries.

use admin::{After, DeliverySearch};
use domain::{DeliveryId, DeliveryState, EndpointId, EventType, Timestamp};
use edge::form::{Form, Query, moment};
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;

/// The maximum number of reads of each slot for a page with a filter: of 1,000 rows each.
pub(crate) const READS: usize = 4;

/// GET /deliveries: two round trips for 16 slots. A page with a filter can be short and still have a next one.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "endpointId", "state", "eventType", "since", "until"]);
    let page_size = query.page_size(&mut form);
    let endpoint = query.text(&mut form, "endpointId", EndpointId::parse);
    let state = query.text(&mut form, "state", DeliveryState::parse);
    let spans = Spans::read(&query, &mut form);
    let of_endpoint = endpoint.map(|endpoint| endpoint.to_string());
    let filters = [
        ("endpointId", of_endpoint.as_deref()),
        ("state", state.map(DeliveryState::as_str)),
        ("eventType", spans.event_type.map(EventType::as_str)),
        ("since", spans.texts.0.as_deref()),
        ("until", spans.texts.1.as_deref()),
    ];
    let cursors = call.cursors("deliveries", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let search = DeliverySearch { endpoint, state, after: place(after)?, ..spans.search() };
    let page = async { Ok(search.deliveries(call.store(), call.workspace(), page_size).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let deliveries = page.items.iter().map(view::delivery).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::DeliveriesView { deliveries, cursor })
}

/// GET /deliveries/{deliveryId}: two round trips.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let id = delivery_id(call, &mut form);
    let id = form.finish(id)?;
    let details = admin::delivery_details::<ApiError>(call.store(), call.workspace(), id).await?;
    Reply::list(&view::delivery_details(&details))
}

/// The delivery's id in the path of a request without a query.
pub(crate) fn delivery_id(call: &Call<'_>, form: &mut Form) -> Option<DeliveryId> {
    call.request.query().only(form, &[]);
    call.request.path_id(form, "deliveryId", DeliveryId::parse)
}

/// The filters that the lists of deliveries and of events have in common.
pub(crate) struct Spans {
    pub(crate) event_type: Option<EventType>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// The moments as the cursors are bound to them.
    pub(crate) texts: (Option<String>, Option<String>),
}

impl Spans {
    pub(crate) fn read(query: &Query, form: &mut Form) -> Self {
        let event_type = query.text(form, "eventType", EventType::parse);
        let (since, until) = (query.text(form, "since", moment), query.text(form, "until", moment));
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        Self { event_type, since, until, texts: (text(since), text(until)) }
    }

    pub(crate) fn search(&self) -> DeliverySearch {
        let Self { event_type, since, until, .. } = *self;
        DeliverySearch { event_type, since, until, reads: Some(READS), ..DeliverySearch::default() }
    }
}

/// The place in a cursor.
pub(crate) fn place(position: Option<String>) -> Result<Option<After>, ApiError> {
    let lost = || ApiError::unexpected("the position of a cursor cannot be read");
    position.map(|position| After::parse(&position).ok_or_else(lost)).transpose()
}
