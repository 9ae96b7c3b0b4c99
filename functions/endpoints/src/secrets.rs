//! The two phases of a rotation of the signing secret.

use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, view};

use crate::create::fresh_secret;
use crate::get::{path_id, read_id};
use crate::process::WebhookEndpoints;

/// POST /webhook-endpoints/{endpointId}/rotate-secret: two round trips. The answer has the next secret, which no other answer has.
pub(crate) async fn rotate(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let body = call.request.optional_json()?;
    let mut form = Form::default();
    let id = path_id(call, &mut form);
    let replace = match &body {
        None => Some(false),
        Some(body) => read_replace(&mut form, Node::root("body", Some(body))),
    };
    let (id, replace) = form.finish(id.zip(replace))?;
    let secret = fresh_secret(of);
    let secrets = of.admin(call).rotate_secret(id, &secret, replace).await?;
    let signatures = secrets.in_force(call.store().now()).count();
    Reply::list(&view::new_secret(secret.expose(), signatures))
}

fn read_replace(form: &mut Form, body: Node<'_>) -> Option<bool> {
    let body = body.object(form)?.only(form, &["replace"]);
    let replace = body.field("replace");
    if replace.is_absent() { Some(false) } else { replace.boolean(form) }
}

/// POST /webhook-endpoints/{endpointId}/activate-secret: two round trips. A repeat changes nothing.
pub(crate) async fn activate(of: &WebhookEndpoints, call: &Call<'_>) -> Result<Reply, ApiError> {
    let id = read_id(call)?;
    let activated = of.admin(call).activate_secret(id).await?;
    Reply::list(&view::activated_secret(activated))
}
