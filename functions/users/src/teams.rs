use domain::{Team, TeamId, UserRef};
use edge::form::Form;
use edge::{ApiError, Call, Reply, Resource, Tagged, view};
use futures::future::try_join;
use store::Page;

/// GET /teams: two round trips, the first for all teams, the second for all users of the workspace.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor"]);
    let page_size = query.page_size(&mut form);
    let cursors = call.cursors("teams", &[]);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let teams = async { Ok(call.store().teams(call.workspace()).await?) };
    let (teams, ()) = try_join(teams, cursors.warm()).await?;
    // A user of whom a team knows exists, and no user is ever deleted.
    let users = call.store().users(call.workspace()).await?;
    let page = Page::of_all(teams, page_size, after.as_deref(), |team| team.id.to_string());
    let teams = page.items.iter().map(|team| view::team(team, &users)).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::TeamsView { teams, cursor })
}

/// GET /teams/{teamId}: two round trips.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "teamId", TeamId::parse);
    let id = form.finish(id)?;

    let team = call.store().team(call.workspace(), id).await?.ok_or(ApiError::NotFound(Resource::Setting))?;
    shown(call, &team).await
}

/// A team with the addresses of its members. One round trip.
pub(crate) async fn shown(call: &Call<'_>, team: &Team) -> Result<Reply, ApiError> {
    let named: Vec<UserRef> = team.members.iter().copied().map(UserRef::Id).collect();
    let members = call.store().users_named(call.workspace(), &named).await?;
    team.tag(Reply::list(&view::team(team, &members))?)
}
