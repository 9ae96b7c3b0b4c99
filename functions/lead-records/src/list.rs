//! Leads, newest first, and one lead.

use domain::{LeadId, LeadState};
use edge::form::{Form, moment};
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;
use store::LeadFilter;

/// The maximum number of reads for a page with a filter.
pub(crate) const READS: usize = 4;

/// GET /leads: two round trips; with a filter that fits few leads up to eight. Then a page can be short and still have a next one.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "state", "since", "until"]);
    let page_size = query.page_size(&mut form);
    let state = query.text(&mut form, "state", LeadState::parse);
    let since = query.text(&mut form, "since", moment);
    let until = query.text(&mut form, "until", moment);
    let [from, to] = [since, until].map(|at| at.map(|at| at.to_string()));
    let filters =
        [("state", state.map(LeadState::as_str)), ("since", from.as_deref()), ("until", to.as_deref())];
    let cursors = call.cursors("leads", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let filter =
        LeadFilter { states: state.as_slice(), since, until, reads: Some(READS), ..LeadFilter::default() };
    let most = u16::try_from(page_size).unwrap_or(u16::MAX);
    let page = async { Ok(call.store().leads(call.workspace(), filter, after.as_deref(), most).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let leads = page.leads.iter().map(view::lead_record).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::LeadsView { leads, cursor })
}

/// GET /leads/{requestId}: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let id = lead_id(call, &mut form);
    let id = form.finish(id)?;
    let lead = admin::lead::<ApiError>(call.store(), call.workspace(), id).await?;
    Reply::resource(&view::lead_record(&lead), 0)
}

/// The lead's id in the path of a request without a query.
pub(crate) fn lead_id(call: &Call<'_>, form: &mut Form) -> Option<LeadId> {
    call.request.query().only(form, &[]);
    call.request.path_id(form, "requestId", LeadId::parse)
}
