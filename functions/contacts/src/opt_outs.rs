//! Customers who get no templates. They are persons, so they go with contacts.

use domain::choices::Choices;
use domain::{Cellphone, ChoiceScope, Unfit};
use edge::form::{Form, Node};
use edge::{ApiError, Call, OfCall, Reply, view};
use futures::future::try_join;

/// GET /opt-outs: one round trip, up to four if many opted in again within the last 30 days.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor"]);
    let page_size = query.page_size(&mut form);
    let cursors = call.cursors("opt-outs", &[]);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let page = async { Ok(call.store().opt_outs_page(call.workspace(), page_size, after.as_deref()).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::OptOutsView { opt_outs: page.items.iter().map(view::opt_out).collect(), cursor })
}

/// POST /opt-outs: five round trips. 200 if the number had opted out before.
pub(crate) async fn add(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let wanted = read(&mut form, Node::root("body", Some(&body)));
    let (cellphone, scope) = form.finish(wanted)?;
    let (kept, is_new) = OfCall::admin(call).opt_out(&cellphone, &scope).await?;
    let reply = Reply::list(&view::opt_out(&kept))?;
    Ok(if is_new { reply.created() } else { reply })
}

/// DELETE /opt-outs/{optOutId}: five round trips.
pub(crate) async fn remove(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "optOutId", Choices::parse_digest);
    let id = form.finish(id)?;
    OfCall::admin(call).opt_in(&id).await?;
    Ok(Reply::no_content())
}

fn read(form: &mut Form, body: Node<'_>) -> Option<(Cellphone, ChoiceScope)> {
    let body = body.object(form)?.only(form, &["cellphone", "scope"]);
    let cellphone = body.field("cellphone").required(form).and_then(|at| at.text(form, Cellphone::parse));
    let scope = match body.field("scope").given() {
        Some(at) => at.text(form, scope_named),
        None => Some(ChoiceScope::All),
    };
    cellphone.zip(scope)
}

fn scope_named(text: &str) -> Result<ChoiceScope, Unfit> {
    match text {
        "ALL" => Ok(ChoiceScope::All),
        "MARKETING" => Ok(ChoiceScope::Marketing),
        _ => Err(Unfit::NotOneOf { expected: &["ALL", "MARKETING"] }),
    }
}
