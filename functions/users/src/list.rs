use domain::contact::search::SearchQuery;
use domain::{User, UserStatus};
use edge::form::Form;
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;
use store::Page;

/// GET /users: one round trip, which reads all users of the workspace.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "search", "status"]);
    let page_size = query.page_size(&mut form);
    let search = query.text(&mut form, "search", SearchQuery::parse);
    let status = query.text(&mut form, "status", UserStatus::parse);
    let search_filter = search.as_ref().map(SearchQuery::canonical);
    let filters = [("search", search_filter.as_deref()), ("status", status.map(UserStatus::as_str))];
    let cursors = call.cursors("users", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let users = async { Ok(call.store().users(call.workspace()).await?) };
    let (mut users, ()) = try_join(users, cursors.warm()).await?;
    let is_found = |user: &User| search.as_ref().is_none_or(|search| search.finds_user(user));
    users.retain(|user| status.is_none_or(|status| user.status == status) && is_found(user));
    let page = Page::of_all(users, page_size, after.as_deref(), |user| user.id.to_string());
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::UsersView { users: page.items.iter().map(view::user).collect(), cursor })
}
