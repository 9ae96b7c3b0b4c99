//! The caller's own session.

use domain::access::kind::Link;
use domain::access::session::SESSION_SECONDS;
use domain::secret::{Randomness, numbers};
use domain::{ApiKey, ApiKeyToken, Author, KeyId, KeyKind};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, Call, Reply, view};
use runtime::metrics::Denial;
use store::SessionStart;

use crate::sessions::end_session;

/// GET /session: one round trip.
pub(crate) async fn get(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    let workspace = call.store().workspace(call.workspace()).await?.ok_or_else(ApiError::no_workspace)?;
    Reply::list(&view::own_session(call.caller.api_key(), &workspace))
}

/// POST /sessions: two round trips. By a link the first one reads its makers. The answer has the secret value of the session, which
/// is stored nowhere.
pub(crate) async fn start(call: &Call<'_>, random: &dyn Randomness) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let caller = call.caller.api_key();
    let wanted = read_seconds(&mut form, Node::root("body", Some(&body)), &caller.kind);
    let seconds = form.finish(wanted)?;

    let (store, now) = (call.store(), call.store().now());
    let (id, token) = (KeyId::generate(store.ids()), ApiKeyToken::from_entropy(numbers(random)));
    let sha256_hex = token.sha256_hex();
    let (session, link, by) = match &caller.kind {
        KeyKind::Link(link) => {
            let session = started_by(call, link, id).await?;
            let by = Author { actor: session.actor(), request_id: Some(call.request.id().to_owned()) };
            (session, Some((call.caller.sha256_hex(), caller)), by)
        }
        KeyKind::Key | KeyKind::Session(_) => (caller.session(id, seconds, now), None, call.author()),
    };
    call.caller.admitted().await?;
    match store.start_session((&sha256_hex, &session), link, &by).await? {
        SessionStart::Done => {
            Reply::list(&view::started_session(&session, token.expose())).map(Reply::created)
        }
        SessionStart::LinkUsed => Err(Denial::UsedLink.into()),
        SessionStart::MakerRevoked => Err(Denial::LostMaker.into()),
    }
}

/// The session that a link starts, if all its makers are still good.
async fn started_by(call: &Call<'_>, link: &Link, id: KeyId) -> Result<ApiKey, ApiError> {
    let (store, caller) = (call.store(), call.caller.api_key());
    let makers = store.makers(caller).await?;
    caller.linked_session(link, &makers, id, store.now()).ok_or_else(|| Denial::LostMaker.into())
}

fn read_seconds(form: &mut Form, body: Node<'_>, of: &KeyKind) -> Option<u32> {
    let body = body.object(form)?.only(form, &["seconds"]);
    let (least, most, usual) = SESSION_SECONDS;
    let Some(at) = body.field("seconds").given() else { return Some(usual) };
    if matches!(of, KeyKind::Link(_)) {
        form.fail(&at, Rejection::Refused("the link says how long its session lasts"));
    }
    at.number(form, least, most)
}

/// DELETE /session: signs out. Two round trips.
pub(crate) async fn end(call: &Call<'_>) -> Result<Reply, ApiError> {
    call.without_query()?;
    end_session(call, call.caller.key()).await
}
