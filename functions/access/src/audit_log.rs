use domain::text::within;
use domain::{AuditAction, AuditFilter, Timestamp, Unfit};
use edge::form::{Form, moment};
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;

/// The greatest number of characters in the id of an actor or a subject.
const LONGEST_ID: usize = 128;

/// GET /audit-log: one round trip. A page with a filter can be short and still have a next one.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "action", "actorId", "subjectId", "since", "until"]);
    let page_size = query.page_size(&mut form);
    let wanted = AuditFilter {
        action: query.text(&mut form, "action", AuditAction::parse),
        actor: query.text(&mut form, "actorId", read_id),
        subject: query.text(&mut form, "subjectId", read_id),
        since: query.text(&mut form, "since", moment),
        until: query.text(&mut form, "until", moment),
    };
    let shown = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let (since, until) = (shown(wanted.since), shown(wanted.until));
    let filters = [
        ("action", wanted.action.map(AuditAction::as_str)),
        ("actorId", wanted.actor.as_deref()),
        ("subjectId", wanted.subject.as_deref()),
        ("since", since.as_deref()),
        ("until", until.as_deref()),
    ];
    let cursors = call.cursors("audit-log", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let (store, workspace) = (call.store(), call.workspace());
    let page = async { Ok(store.audit_log(workspace, &wanted, page_size, after.as_deref()).await?) };
    let (page, ()) = try_join(page, cursors.warm()).await?;
    let entries = page.items.iter().map(view::audit_entry).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::AuditLogView { entries, cursor })
}

fn read_id(text: &str) -> Result<String, Unfit> {
    within(text, 1, LONGEST_ID)?;
    Ok(text.to_owned())
}
