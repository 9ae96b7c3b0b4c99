use domain::access::kind::{Link, Visitor};
use domain::access::session::{LINK_SECONDS, SESSION_SECONDS, portal_url, return_url};
use domain::secret::{Randomness, numbers};
use domain::text::operator_name;
use domain::{ApiKeyToken, KeyId, Refused, Role, Unfit};
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, view};

struct Wanted {
    role: Role,
    link: Link,
    seconds: u32,
    confirms: bool,
}

/// POST /portal-links: two round trips, the first of which is the limiter's. The answer has the secret value of the link, which is
/// stored nowhere. An unknown field is refused: whoever misspells `linkSeconds` would get a link that lives for another time.
pub(crate) async fn create(call: &Call<'_>, random: &dyn Randomness) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let wanted = read_wanted(&mut form, Node::root("body", Some(&body)));
    let Wanted { role, link, seconds, confirms } = form.finish(wanted)?;
    let caller = call.caller.api_key();
    let beyond = role.scopes().beyond(&caller.scopes);
    if !beyond.is_empty() {
        return Err(Refused::ScopesNotHeld { scopes: beyond }.into());
    }

    let (store, workspace) = (call.store(), call.workspace());
    let own_path = format!("/service/api/v1/workspaces/{workspace}/portal-links");
    let base = call.request.base_url(&own_path);
    let base = base.ok_or_else(|| ApiError::unexpected("the event does not say which host was called"))?;
    let token = ApiKeyToken::from_entropy(numbers(random));
    let link = caller.link(KeyId::generate(store.ids()), link, role, seconds, store.now());
    call.caller.admitted().await?;
    store.create_link(&token.sha256_hex(), &link, &call.author()).await?;
    let url = portal_url(&base, workspace, &token, confirms);
    Reply::list(&view::portal_link(&link, role, &url)).map(Reply::created)
}

fn read_wanted(form: &mut Form, body: Node<'_>) -> Option<Wanted> {
    const FIELDS: &[&str] = &["role", "subject", "linkSeconds", "sessionSeconds", "confirm", "returnUrl"];
    let body = body.object(form)?.only(form, FIELDS);
    let role = body.field("role").required(form).and_then(|at| at.text(form, Role::parse));
    let text = |form: &mut Form, field: &str, parse: fn(&str) -> Result<String, Unfit>| {
        body.field(field).given().map_or(Some(None), |at| at.text(form, parse).map(Some))
    };
    let seconds = |form: &mut Form, field: &str, (least, most, usual): (u32, u32, u32)| {
        body.field(field).given().map_or(Some(usual), |at| at.number(form, least, most))
    };
    let subject = text(form, "subject", operator_name);
    let back = text(form, "returnUrl", return_url);
    let link_seconds = seconds(form, "linkSeconds", LINK_SECONDS);
    let session_seconds = seconds(form, "sessionSeconds", SESSION_SECONDS);
    let confirms = body.field("confirm").given().map_or(Some(false), |at| at.boolean(form));
    let (role, session_seconds) = (role?, session_seconds?);
    let visitor = Visitor { role: Some(role), subject: subject?, return_url: back? };
    let link = Link { visitor, session_seconds, used_at: None };
    Some(Wanted { role, link, seconds: link_seconds?, confirms: confirms? })
}
