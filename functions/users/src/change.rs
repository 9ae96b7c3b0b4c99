//! Changes of internal users.

use admin::Created;
use domain::settings::user::UserChange;
use domain::{Cellphone, Email, Language, Patch, PersonName, User, UserId, UserRef, UserStatus};
use edge::form::{Form, Node};
use edge::{ApiError, Call, OfCall, Reply, created_again, view};

/// POST /users: one round trip, after the limiter's. With an `Idempotency-Key`, a repeat gets the same answer.
pub(crate) async fn create(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "users");
    let wanted = read_new(&mut form, Node::root("body", Some(&body)));
    let (email, change) = form.finish(wanted)?;

    let (store, workspace) = (call.store(), call.workspace());
    let empty = User::new(UserId::generate(store.ids()), workspace, email, store.now());
    let user = empty.changed(&change, store.now()).map_or(empty, |user| User { version: 1, ..user });
    let reply = Reply::resource(&view::user(&user), 0)?;
    let kept = once.as_ref().map(|once| (once, reply.body()));
    match OfCall::admin(call).create_user(&user, kept).await? {
        Created::Done => Ok(reply.created()),
        Created::Answered(answered) => created_again(once.as_ref(), answered, Reply::resource_again),
    }
}

/// PATCH /users/{userId}: two round trips. The e-mail address never changes.
pub(crate) async fn update(call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let id = call.request.path_id(&mut form, "userId", UserId::parse);
    let change = read_change(&mut form, Node::root("body", Some(&body)));
    let (id, change) = form.finish(id.zip(change))?;
    let user = OfCall::admin(call).update_user(&UserRef::Id(id), &change).await?;
    Reply::resource(&view::user(&user), 0)
}

fn read_new(form: &mut Form, body: Node<'_>) -> Option<(Email, UserChange)> {
    let fields = &["email", "firstName", "lastName", "cellphone", "languageCode"];
    let body = body.object(form)?.only(form, fields);
    let email = body.field("email").required(form).and_then(|at| at.text(form, Email::parse));
    let change = read_patches(form, &body);
    Some((email?, change))
}

fn read_change(form: &mut Form, body: Node<'_>) -> Option<UserChange> {
    let fields = &["firstName", "lastName", "cellphone", "languageCode", "status"];
    let body = body.object(form)?.only(form, fields);
    let status = body.field("status");
    let status = if status.is_absent() { None } else { status.text(form, UserStatus::parse) };
    Some(UserChange { status, ..read_patches(form, &body) })
}

fn read_patches(form: &mut Form, body: &Node<'_>) -> UserChange {
    let name = |form: &mut Form, field: &str| -> Patch<PersonName> {
        body.patch(form, field, |form, at| at.text(form, PersonName::parse))
    };
    UserChange {
        first_name: name(form, "firstName"),
        last_name: name(form, "lastName"),
        cellphone: body.patch(form, "cellphone", |form, at| at.text(form, Cellphone::parse)),
        language: body.patch(form, "languageCode", |form, at| at.text(form, Language::parse)),
        status: None,
    }
}
