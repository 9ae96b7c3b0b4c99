use domain::{ContactId, Refused};
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, view};
use store::AskedMerge;

use crate::get::found;

/// POST /contacts/{contactId}/merge: three round trips. The contact of the path stays, and that of the body becomes part of it. The
/// function `people` does the work. The id of the job is derived from both, so a repeat finds the same one while it runs.
pub(crate) async fn merge(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "contactId", ContactId::parse);
    let merged = read_body(&mut form, Node::root("body", Some(&body)));
    let (id, merged) = form.finish(id.zip(merged))?;

    let (store, workspace) = (call.store(), call.workspace());
    found(&store.contact_read(workspace, id, None).await?)?;
    call.caller.admitted().await?;
    match store.ask_merge(workspace, id, merged).await? {
        AskedMerge::Running(merge) => Ok(Reply::list(&view::merge(&merge))?.accepted()),
        AskedMerge::Refused(reason) => Err(Refused::NotMerged { reason }.into()),
    }
}

/// The contact that becomes part of the other one. An unknown field is refused: nobody can undo a merge.
fn read_body(form: &mut Form, body: Node<'_>) -> Option<ContactId> {
    let body = body.object(form)?.only(form, &["contactId"]);
    body.field("contactId").required(form)?.text(form, ContactId::parse)
}
