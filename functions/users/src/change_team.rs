//! Changes of teams.

use admin::Created;
use domain::settings::workspace::TeamChange;
use domain::text::operator_name;
use domain::{Team, TeamId, User, UserId, UserRef};
use edge::form::{Form, Node};
use edge::{ApiError, Call, OfCall, Reply, Tagged, created_again, people, view};

use crate::teams::shown;

/// POST /teams: three round trips, four with members. With an `Idempotency-Key`, a repeat gets the same answer.
pub(crate) async fn create(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "teams");
    let wanted = read_new(&mut form, Node::root("body", Some(&body)), call);
    let (empty, named) = form.finish(wanted)?;

    let admin = OfCall::admin(call);
    let members = admin.members(&named).await?;
    let team = admin.with_members(empty, &members)?;
    let reply = Reply::list(&view::team(&team, &members))?;
    let kept = once.as_ref().map(|once| (once, reply.body()));
    match admin.create_team(&team, kept).await? {
        Created::Done => Ok(team.tag(reply)?.created()),
        // The stored answer is that of another team, whose tag a `GET` shows.
        Created::Answered(answered) => created_again(once.as_ref(), answered, Reply::list_again),
    }
}

/// PATCH /teams/{teamId}: three round trips, one more with a name and one more with members.
pub(crate) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let update = read_update(&mut form, Node::root("body", Some(&body)));
    let (id, update) = form.finish(id.zip(update))?;

    let admin = OfCall::admin(call);
    let named = [&update.add[..], &update.remove[..]].concat();
    let users = admin.members(&named).await?;
    let ids = |users: &[User]| users.iter().map(|user| user.id).collect::<Vec<UserId>>();
    let (add, remove) = users.split_at(update.add.len());
    let change = TeamChange { name: update.name, add: ids(add), remove: ids(remove) };
    let team = admin.update_team(id, &change).await?;
    shown(call, &team).await
}

/// DELETE /teams/{teamId}: two round trips.
pub(crate) async fn delete(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let id = form.finish(id)?;
    OfCall::admin(call).delete_team(id).await?;
    Ok(Reply::no_content())
}

fn path_id(call: &Call<'_>, form: &mut Form) -> Option<TeamId> {
    call.request.query().only(form, &[]);
    call.request.path_id(form, "teamId", TeamId::parse)
}

/// A change of a team, with members as the request names them.
struct Update {
    name: Option<String>,
    add: Vec<UserRef>,
    remove: Vec<UserRef>,
}

fn read_new(form: &mut Form, body: Node<'_>, call: &Call<'_>) -> Option<(Team, Vec<UserRef>)> {
    let body = body.object(form)?.only(form, &["name", "members"]);
    let (store, workspace) = (call.store(), call.workspace());
    let new = |name: &str| Team::new(TeamId::generate(store.ids()), workspace, name, store.now());
    let team = body.field("name").required(form).and_then(|at| at.text(form, new));
    let members = read_members(form, body.field("members"));
    Some((team?, members))
}

fn read_update(form: &mut Form, body: Node<'_>) -> Option<Update> {
    let body = body.object(form)?.only(form, &["name", "members"]);
    let name = body.field("name");
    let name = if name.is_absent() { Some(None) } else { name.text(form, operator_name).map(Some) };
    let (mut add, mut remove) = (vec![], vec![]);
    if let Some(members) = body.field("members").given() {
        let members = members.object(form)?.only(form, &["add", "remove"]);
        add = read_members(form, members.field("add"));
        remove = read_members(form, members.field("remove"));
    }
    Some(Update { name: name?, add, remove })
}

/// The users of an optional list.
fn read_members(form: &mut Form, at: Node<'_>) -> Vec<UserRef> {
    let Some(at) = at.given() else { return vec![] };
    let mut members = vec![];
    for item in at.items(form, 0, Team::MAX_MEMBERS) {
        let Some(item) = item.object(form) else { continue };
        members.extend(people::user(form, &item.field("identifier"), &item.field("identifierType")));
    }
    members
}
