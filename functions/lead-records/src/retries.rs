//! Retries of leads.

use admin::LeadRetries;
use domain::text::within;
use domain::{LeadState, Timestamp, Unfit};
use edge::form::{Form, Node, moment};
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;
use store::LeadFilter;

use crate::list::{READS, lead_id};
use crate::process::LeadRecords;

/// The default and the maximum of `limit`.
const LIMITS: (u16, u16) = (20, 50);
/// The states of leads that can be retried.
const STATES: &[&str] = &[LeadState::Failed.as_str(), LeadState::Unknown.as_str()];
/// The maximum number of errors in a filter, and of the characters of one of them.
const MOST_ERRORS: usize = 20;
const LONGEST_ERROR: usize = 64;

/// POST /leads/{requestId}/retry: three round trips, and the queue's.
pub(crate) async fn of_one(of: &LeadRecords, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.optional_json()?;
    let mut form = Form::default();
    let id = lead_id(call, &mut form);
    let may_send_twice = match &body {
        None => Some(false),
        Some(body) => Node::root("body", Some(body))
            .object(&mut form)
            .map(|body| body.only(&mut form, &["maySendTwice"]))
            .and_then(|body| read_twice(&mut form, &body)),
    };
    let (id, may_send_twice) = form.finish(id.zip(may_send_twice))?;
    let lead = of.admin(call).retry_lead(id, may_send_twice).await?;
    Reply::resource(&view::lead_record(&lead), 0)
}

fn read_twice(form: &mut Form, body: &Node<'_>) -> Option<bool> {
    body.field("maySendTwice").given().map_or(Some(false), |at| at.boolean(form))
}

/// POST /lead-retries: retries one page of leads.
pub(crate) async fn of_page(of: &LeadRecords, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let body = Node::root("body", Some(&body));
    let wanted = Wanted::read(&mut form, &body);
    let filters = wanted.as_ref().map(Wanted::filters).unwrap_or_default();
    let filters = filters.each_ref().map(|(name, text)| (*name, text.as_deref()));
    let cursors = call.cursors("lead-retries", &filters);
    let from = match body.field("cursor").given() {
        // Without the filters, no cursor fits.
        Some(at) if wanted.is_some() => cursors.open_at(&mut form, &at).await?,
        _ => None,
    };
    let wanted = form.finish(wanted)?;

    let Wanted { states, errors, since, until, may_send_twice, limit } = &wanted;
    let filter = LeadFilter { states, errors, since: *since, until: *until, reads: Some(READS) };
    let retries =
        LeadRetries { filter, from: from.as_deref(), limit: *limit, may_send_twice: *may_send_twice };
    let admin = of.admin(call);
    let (done, ()) = try_join(admin.retry_leads(&retries), cursors.warm()).await?;
    let cursor = cursors.next(done.next.as_deref()).await?;
    Reply::list(&view::lead_retries(&done, cursor))
}

/// The leads that a body asks for.
struct Wanted {
    states: Vec<LeadState>,
    errors: Vec<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    may_send_twice: bool,
    limit: u16,
}

impl Wanted {
    /// An unknown field is refused: whoever misspells `since` would retry everything.
    fn read(form: &mut Form, body: &Node<'_>) -> Option<Self> {
        let allowed = &["states", "errors", "since", "until", "maySendTwice", "limit", "cursor"];
        let body = body.clone().object(form)?.only(form, allowed);
        let states = body.field("states").required(form).and_then(|at| {
            let items = at.items(form, 1, STATES.len());
            let states: Vec<_> = items.iter().filter_map(|at| at.text(form, state)).collect();
            (!items.is_empty() && states.len() == items.len()).then_some(states)
        });
        let errors = body.field("errors").given().map_or(Some(vec![]), |at| {
            let items = at.items(form, 1, MOST_ERRORS);
            let errors: Vec<_> = items.iter().filter_map(|at| at.text(form, error)).collect();
            (!items.is_empty() && errors.len() == items.len()).then_some(errors)
        });
        let mut time =
            |name| body.field(name).given().map_or(Some(None), |at| at.text(form, moment).map(Some));
        let (since, until) = (time("since"), time("until"));
        let may_send_twice = read_twice(form, &body);
        let (default, most) = LIMITS;
        let limit = body.field("limit").given().map_or(Some(default), |at| at.number(form, 1, most));
        Some(Self {
            states: states?,
            errors: errors?,
            since: since?,
            until: until?,
            may_send_twice: may_send_twice?,
            limit: limit?,
        })
    }

    /// The filters to which a cursor is bound.
    fn filters(&self) -> [(&'static str, Option<String>); 4] {
        let states: Vec<&str> = self.states.iter().map(|state| state.as_str()).collect();
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
        [
            ("states", Some(states.join(" "))),
            ("errors", Some(self.errors.join(" "))),
            ("since", time(self.since)),
            ("until", time(self.until)),
        ]
    }
}

fn state(word: &str) -> Result<LeadState, Unfit> {
    let found = LeadState::parse(word).ok().filter(|state| STATES.contains(&state.as_str()));
    found.ok_or(Unfit::NotOneOf { expected: STATES })
}

fn error(code: &str) -> Result<String, Unfit> {
    within(code, 1, LONGEST_ERROR)?;
    Ok(code.to_owned())
}
