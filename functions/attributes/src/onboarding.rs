//! The templates that open the conversations of a workspace.

use domain::{Onboarding, Override, TemplateId};
use edge::form::{Form, Node};
use edge::{ApiError, Call, OfCall, Reply, view};

/// GET /settings/onboarding: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    let workspace = call.store().workspace(call.workspace()).await?.ok_or_else(ApiError::no_workspace)?;
    Reply::resource(&view::onboarding(&workspace.onboarding), 0)
}

/// PUT /settings/onboarding: three round trips. A repeat changes nothing.
pub(crate) async fn put(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let wanted = read(&mut form, Node::root("body", Some(&body)));
    let wanted = form.finish(wanted)?;
    let set = OfCall::admin(call).set_onboarding(&wanted, edge::is_object).await?;
    Reply::resource(&view::onboarding(&set.onboarding), 0)
}

/// Both fields are required: the request replaces the whole onboarding.
fn read(form: &mut Form, body: Node<'_>) -> Option<Onboarding> {
    let body = body.object(form)?.only(form, &["override", "sequence"]);
    let overriding = body.field("override").required(form).and_then(|at| at.text(form, Override::parse));
    let sequence = body.field("sequence").required(form).map(|at| {
        let items = at.items(form, 0, Onboarding::MAX);
        items.iter().filter_map(|at| at.text(form, TemplateId::parse)).collect()
    });
    Some(Onboarding { overriding: overriding?, sequence: sequence? })
}
