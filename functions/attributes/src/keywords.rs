//! The keywords by which customers opt out and in.

use domain::inbound::keywords::Keywords;
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, OfCall, Reply, view};

/// GET /settings/opt-out-keywords: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    let own = call.store().own_keywords(call.workspace()).await?;
    Reply::resource(&view::keywords(own.as_ref()), 0)
}

/// PUT /settings/opt-out-keywords: two round trips. A repeat changes nothing.
pub(crate) async fn put(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let own = read(&mut form, Node::root("body", Some(&body)));
    let own = form.finish(own)?;
    OfCall::admin(call).set_keywords(Some(&own)).await?;
    Reply::resource(&view::keywords(Some(&own)), 0)
}

/// DELETE /settings/opt-out-keywords: two round trips. The default keywords hold again.
pub(crate) async fn reset(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    OfCall::admin(call).set_keywords(None).await?;
    Ok(Reply::no_content())
}

/// All fields are required: the request replaces all keywords.
fn read(form: &mut Form, body: Node<'_>) -> Option<Keywords> {
    let body = body.object(form)?.only(form, &["stop", "stopMarketing", "start"]);
    let mut words = |name: &str| -> Option<Vec<String>> {
        let items = body.field(name).required(form)?.items(form, 0, Keywords::MOST);
        Some(items.iter().filter_map(|at| at.text(form, Keywords::word)).collect())
    };
    let (stop, stop_marketing, start) = (words("stop"), words("stopMarketing"), words("start"));
    let twice = "a word cannot be a keyword of two kinds";
    let own = Keywords::new(&stop?, &stop_marketing?, &start?);
    own.map_err(|_| form.fail(&body, Rejection::Refused(twice))).ok()
}
