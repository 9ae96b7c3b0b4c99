//! The body of an event, as the receivers get it.

use domain::{Contact, ContactId, Conversation, Definitions, EndpointState, Event, Summary, Timestamp};
use edge::view;
use store::{Store, StoreError};

use crate::change::{About, EventChange};

/// Why an event has no body.
pub(crate) type NoBody = Box<dyn std::error::Error + Send + Sync>;

/// The body of a change's event. `definitions` are the workspace's; only the body of a contact needs them.
pub(crate) async fn body(
    store: &Store,
    EventChange { event, about, .. }: &EventChange,
    definitions: &Definitions,
) -> Result<Vec<u8>, NoBody> {
    Ok(match about {
        About::Contact(contact) => contact_body(store, event, contact, definitions)?,
        About::Merged(merged, into, at) => {
            let contact = store.contact(event.workspace_id, *into).await?;
            merged_body(store, event, (merged, *into, *at), contact.as_ref(), definitions)?
        }
        About::Conflict(conflict) => view::event_body(event, &view::conflict(conflict))?,
        About::Conversation(conversation) => view::event_body(event, &view::conversation(conversation))?,
        About::Release(conversation) => {
            view::event_body(event, &view::summary(&summary(store, conversation).await?))?
        }
        About::Message(message) => view::event_body(event, &view::message(message))?,
        About::Lead(lead) => view::event_body(event, &view::lead(lead))?,
        About::Template(change) => {
            let lines = store.lines(event.workspace_id).await?;
            view::event_body(event, &view::template_updated(change, &lines.accounts(None)))?
        }
        About::Line(line) => view::event_body(event, &view::line_state(line))?,
        About::Account(account) => view::event_body(event, &view::account_report(account))?,
        About::Endpoint(endpoint) => match endpoint.state {
            EndpointState::Disabled { since, reason } => {
                view::event_body(event, &view::endpoint_disabled(endpoint, since, reason))?
            }
            EndpointState::Enabled => {
                let since = endpoint.failing_since.ok_or("the endpoint neither fails nor is disabled")?;
                view::event_body(event, &view::endpoint_failing(endpoint, since))?
            }
        },
        About::Choice(choices, scope, held) => view::event_body(event, &view::choice(choices, scope, held))?,
    })
}

fn contact_body(
    store: &Store,
    event: &Event,
    contact: &Contact,
    definitions: &Definitions,
) -> Result<Vec<u8>, serde_json::Error> {
    let payload = || view::contact(contact, definitions, store.now());
    let body = view::event_body(event, &payload())?;
    if body.len() <= Event::MAX_BODY {
        return Ok(body);
    }
    view::event_body(event, &payload().without_attributes())
}

/// The contact that went, as it was, and the one that stays. Both fit, but for names of attributes that are very long.
fn merged_body(
    store: &Store,
    event: &Event,
    (merged, into, at): (&Contact, ContactId, Timestamp),
    contact: Option<&Contact>,
    definitions: &Definitions,
) -> Result<Vec<u8>, serde_json::Error> {
    let shown = |of| view::contact(of, definitions, store.now());
    let body = view::event_body(event, &view::merged(into, merged, at, contact.map(shown), shown(merged)))?;
    if body.len() <= Event::MAX_BODY {
        return Ok(body);
    }
    let shown = |of| shown(of).without_attributes();
    view::event_body(event, &view::merged(into, merged, at, contact.map(shown), shown(merged)))
}

/// Summarizes a released conversation, as of its release.
async fn summary(store: &Store, released: &Conversation) -> Result<Summary, StoreError> {
    let Conversation { id, workspace_id, updated_at, .. } = released;
    let tally = store.tally(*workspace_id, *id, *updated_at).await?;
    Ok(Summary { conversation: released.clone(), tally })
}
