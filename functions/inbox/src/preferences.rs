//! A customer's choice about templates: in the settings of the provider's app, or by a keyword in a conversation, which
//! the customer writes or taps.
//!
//! A choice is kept for all numbers and user ids of the customer, whichever are known, so that it holds however the next
//! message is addressed.

use std::collections::BTreeSet;

use domain::Timestamp;
use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::message::received::{ReceivedText, Said};
use provider::webhook::{Content, Customer, Incoming, Preference};
use store::StoreError;

use crate::invocation::Invocation;
use crate::item::{Origin, Processed};

/// Opts the customer out of templates that advertise, or in again, for this line: the provider's preference names it.
pub(crate) async fn process(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    preference: &Preference,
) -> Result<Processed, StoreError> {
    let choice = if preference.stops { Choice::Out } else { Choice::In };
    if !preference.is_marketing {
        tracing::warn!(workspace = %origin.workspace, "a customer's preference of a category that is not known");
        invocation.counted.other_changes.add(1);
        // The service knows less than the customer meant, so it sends less.
        if choice == Choice::In {
            return Ok(Processed::Dropped("the category of the preference is not known"));
        }
    }
    let choice = (choice, [ChoiceScope::Line(origin.line.clone())].into());
    choose(invocation, origin, &preference.from, choice, ChoiceSource::Provider, preference.at).await
}

/// Opts the customer out, or in again, if the message is a keyword. The message is stored already. No round trip for
/// another message, if the workspace's keywords are in memory.
pub(crate) async fn apply_keyword(
    invocation: &Invocation<'_>,
    origin: Origin<'_>,
    message: &Incoming,
) -> Result<(), StoreError> {
    let Some((texts, source)) = texts_of(&message.content) else { return Ok(()) };
    let keywords = invocation.store.keywords(origin.workspace).await?;
    let Some(keyword) = keywords.heard_in(&texts) else { return Ok(()) };
    choose(invocation, origin, &message.from, keyword.choice(), source, message.at).await.map(drop)
}

/// The texts of a message that may be a keyword, and how the customer chose them. A tenant's buttons carry the keyword in
/// what the customer sees or in the payload behind it.
fn texts_of(content: &Content) -> Option<(Vec<&str>, ChoiceSource)> {
    let (texts, source) = match content {
        Content::Said(Said::Text(text)) => (vec![text], ChoiceSource::Keyword),
        Content::Media(file) => (file.caption.iter().collect(), ChoiceSource::Keyword),
        Content::Said(Said::ButtonReply { text, payload }) => {
            (payload.iter().chain([text]).collect(), ChoiceSource::Button)
        }
        Content::Said(Said::InteractiveReply { id, title, .. }) => (vec![id, title], ChoiceSource::Button),
        Content::Said(
            Said::Location(_)
            | Said::Contacts(_)
            | Said::FlowReply { .. }
            | Said::CallPermissionReply { .. }
            | Said::Order(_)
            | Said::Unsupported(_),
        )
        | Content::Reaction { .. }
        | Content::Moved { .. } => return None,
    };
    Some((texts.into_iter().map(ReceivedText::as_str).collect(), source))
}

async fn choose(
    invocation: &Invocation<'_>,
    Origin { workspace, inbound, .. }: Origin<'_>,
    person: &Customer,
    (choice, scopes): (Choice, BTreeSet<ChoiceScope>),
    source: ChoiceSource,
    at: Timestamp,
) -> Result<Processed, StoreError> {
    // A repeat must not be later than it was at first, whatever the provider's clock says.
    let at = at.min(inbound.received_at);
    let named = Chooser::named(&person.reached());
    if named.is_empty() {
        return Ok(Processed::Dropped("neither the number nor the user id can be used"));
    }
    let changed = invocation.store.choose(workspace, &named, &Chosen { choice, scopes, source, at }).await?;
    let (choice, source) = (choice.as_str(), source.as_str());
    tracing::info!(workspace = %workspace, choice, source, changed, "a customer chose about templates");
    Ok(Processed::Done)
}
