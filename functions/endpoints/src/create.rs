use admin::{Created, EndpointDraft};
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{EndpointCaps, EndpointSecrets, EventFilter, TrustedReceivers};
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, created_again, view};

use crate::fields::{FIELDS, cap, description, events, receiver_key, url};
use crate::process::WebhookEndpoints;

/// POST /webhook-endpoints: three round trips. The answer has the signing secret, which no other answer has: a repeat under the same
/// `Idempotency-Key` gets `null` in its place.
pub(crate) async fn create(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "webhook-endpoints");
    let wanted = read_wanted(&mut form, Node::root("body", Some(&body)), &of.trusted);
    let (draft, api_key) = form.finish(wanted)?;

    let admin = of.admin(call);
    let endpoint = admin.drafted(draft)?;
    let secret = fresh_secret(of);
    let secrets = EndpointSecrets { api_key, signing: SigningSecrets::only(secret.clone()) };
    let answer = Reply::list(&view::created_endpoint(&endpoint, None))?;
    let kept = once.as_ref().map(|once| (once, answer.body()));
    match admin.create_endpoint(&endpoint, &secrets, kept).await? {
        Created::Done => {
            let shown = view::created_endpoint(&endpoint, Some(secret.expose()));
            Ok(Reply::list(&shown)?.created())
        }
        Created::Answered(answered) => created_again(once.as_ref(), answered, Reply::list_again),
    }
}

fn read_wanted(
    form: &mut Form,
    body: Node<'_>,
    trusted: &TrustedReceivers,
) -> Option<(EndpointDraft, ReceiverKey)> {
    let body = body.object(form)?.only(form, FIELDS);
    let url = body.field("url").required(form).and_then(|at| url(form, &at, trusted));
    let api_key = body.field("receiverKey").required(form).and_then(|at| receiver_key(form, &at));
    let given = |field: &str| body.field(field).given();
    let description = given("description").map_or(Some(None), |at| description(form, &at).map(Some));
    let filter = given("events").map_or(Some(EventFilter::All), |at| events(form, &at));
    let optional_cap =
        |form: &mut Form, field: &str| given(field).map_or(Some(None), |at| cap(form, &at).map(Some));
    let (concurrency, per_second) =
        (optional_cap(form, "maxConcurrency"), optional_cap(form, "maxPerSecond"));
    let caps = EndpointCaps { concurrency: concurrency?, per_second: per_second? };
    Some((EndpointDraft { url: url?, description: description?, filter: filter?, caps, slots: 1 }, api_key?))
}

/// A new signing secret.
pub(crate) fn fresh_secret(of: &WebhookEndpoints) -> SigningSecret {
    let mut entropy = [0; 32];
    of.random.fill(&mut entropy);
    SigningSecret::from_entropy(entropy)
}
