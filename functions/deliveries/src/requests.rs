//! What delivers again: retries, jobs and test events.

use admin::{JobRequest, RequestedJob};
use domain::{Event, Timestamp, WebhookEndpoint};
use edge::form::{Form, Node, Rejection, moment};
use edge::{ApiError, Call, Reply, view};

use crate::jobs::{endpoint_id, ids};
use crate::log::delivery_id;
use crate::process::Deliveries;

/// POST /deliveries/{deliveryId}/retry: six round trips. A repeat finds the job while it is active.
pub(crate) async fn retry(of: &Deliveries, call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let id = delivery_id(call, &mut form);
    let id = form.finish(id)?;
    shown(&of.admin(call).retry_delivery(id).await?)
}

/// POST /webhook-endpoints/{endpointId}/jobs: five round trips. A repeat finds the job.
pub(crate) async fn request(of: &Deliveries, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    let id = endpoint_id(call, &mut form);
    let wanted = Wanted::read(&mut form, Node::root("body", Some(&body)));
    let (id, wanted) = form.finish(id.zip(wanted))?;
    let now = call.store().now();
    let request = |endpoint: &WebhookEndpoint| match wanted {
        Wanted::Replay { since, until } => JobRequest::replay(endpoint, since, until, now),
        Wanted::Recover { since } => JobRequest::recover(endpoint, Some(since), now),
    };
    shown(&of.admin(call).request_job(id, request).await?)
}

/// A requested job: 201 if this request made it.
fn shown(requested: &RequestedJob) -> Result<Reply, ApiError> {
    let reply = Reply::list(&view::job(&requested.progress))?;
    Ok(if requested.is_new { reply.created() } else { reply })
}

/// The job that a body asks for.
enum Wanted {
    Replay { since: Timestamp, until: Option<Timestamp> },
    Recover { since: Timestamp },
}

impl Wanted {
    /// An unknown field is refused: whoever misspells `until` would get everything up to now.
    fn read(form: &mut Form, body: Node<'_>) -> Option<Self> {
        let body = body.object(form)?.only(form, &["what", "since", "until"]);
        let what = body.field("what").required(form).and_then(|at| at.text(form, what));
        let since = body.field("since").required(form).and_then(|at| at.text(form, moment));
        let until = body.field("until");
        let end = match until.clone().given() {
            None => Some(None),
            Some(_) if what == Some(What::Recover) => {
                form.fail(&until, Rejection::Refused("only a REPLAY has an end"));
                None
            }
            Some(at) => at.text(form, moment).map(Some),
        };
        Some(match what? {
            What::Replay => Self::Replay { since: since?, until: end? },
            What::Recover => {
                end?;
                Self::Recover { since: since? }
            }
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Replay,
    Recover,
}

fn what(word: &str) -> Result<What, domain::Unfit> {
    match word {
        "REPLAY" => Ok(What::Replay),
        "RECOVER" => Ok(What::Recover),
        _ => Err(domain::Unfit::NotOneOf { expected: &["REPLAY", "RECOVER"] }),
    }
}

/// POST /webhook-endpoints/{endpointId}/jobs/{jobId}/cancel: four round trips. A repeat changes nothing.
pub(crate) async fn cancel(of: &Deliveries, call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let ids = ids(call, &mut form);
    let (endpoint, job) = form.finish(ids)?;
    let endpoint = admin::endpoint::<ApiError>(call.store(), call.workspace(), endpoint).await?;
    Reply::list(&view::job(&of.admin(call).cancel_job(&endpoint, job).await?))
}

/// POST /webhook-endpoints/{endpointId}/test: four round trips. A repeat sends another test event.
pub(crate) async fn test(of: &Deliveries, call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let id = endpoint_id(call, &mut form);
    let id = form.finish(id)?;
    let body = |event: &Event| {
        let body = view::event_body(event, &view::trial(id));
        body.map_err(|_| ApiError::unexpected("the body of a test event cannot be written"))
    };
    let sent = of.admin(call).test_endpoint(id, body).await?;
    Ok(Reply::list(&view::sent_test(sent.delivery))?.created())
}
