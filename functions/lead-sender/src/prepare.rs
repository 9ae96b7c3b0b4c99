//! Reads everything that a message to a lead needs now.

use std::error::Error;

use domain::lead::{LeadKnown, LeadOpening, NotSent};
use domain::message::{MessageKnown, NotReady, Words};
use domain::retry::Jitter;
use domain::sending::PartError;
use domain::settings::template::Filled;
use domain::{
    BusinessAccountId, ChannelId, Choices, Contact, Lead, Line, LineThrottle, Lines, Message, Secret,
    Template, Timestamp, WorkspaceId,
};
use provider::Outgoing;
use store::{ChoicesSeen, Store, StoreError};

use crate::invocation::Invocation;

/// The data for a call.
pub(crate) struct Prepared {
    /// The line that sends the message.
    pub(crate) channel: ChannelId,
    /// The throttling state of the line.
    pub(crate) line: LineThrottle,
    /// The account of the line.
    pub(crate) account: BusinessAccountId,
    /// The access token of the line.
    pub(crate) token: Secret,
    /// The content of the message.
    pub(crate) what: Outgoing,
    /// The conversation with its contact and message, existing or new.
    pub(crate) opening: LeadOpening,
    /// The contact with the number as it was read, if one exists.
    pub(crate) found: Option<Contact>,
    /// The choices of the number about templates, as they were read.
    pub(crate) choices: ChoicesSeen,
}

/// Why no message is sent to a lead now.
pub(crate) enum NotPrepared {
    /// The message must not or cannot be sent.
    Never(NotSent),
    /// The line is throttled until then.
    LineThrottled(Timestamp),
    /// The workspace is disabled.
    WorkspaceDisabled,
    /// The required data could not be read.
    NotNow(Box<dyn Error + Send + Sync>),
}

impl From<StoreError> for NotPrepared {
    fn from(error: StoreError) -> Self {
        Self::NotNow(error.into())
    }
}

/// Reads what a lead needs in two strongly consistent round trips, and checks again whether a message may be sent:
/// changes since the lead was accepted count. `message` is the lead's message, if it exists already.
pub(crate) async fn prepare<P>(
    invocation: &Invocation<'_, P>,
    lead: &Lead,
    message: Option<&Message>,
    jitter: Jitter,
) -> Result<Prepared, NotPrepared> {
    let (store, workspace) = (invocation.store, lead.workspace_id);
    let conversation =
        async { if lead.opened { store.conversation(workspace, lead.conversation).await } else { Ok(None) } };
    let holder = async {
        match lead.opened {
            true => Ok(Some(lead.contact)),
            false => store.contact_holding_cellphone(workspace, &lead.cellphone).await,
        }
    };
    let (capture, choices, settings, lines, conversation, holder) = tokio::try_join!(
        store.capture(workspace),
        store.choices_seen(workspace, &lead.cellphone),
        store.workspace(workspace),
        store.lines(workspace),
        conversation,
        holder,
    )?;
    let settings = settings.ok_or_else(|| NotPrepared::NotNow("the workspace is not there".into()))?;
    if settings.state.is_disabled() {
        return Err(NotPrepared::WorkspaceDisabled);
    }
    let lines = Lines { default: settings.default_line.clone(), ..lines };
    let line = lead.line(message, &lines);
    let template = match message {
        Some(message) => message.content.template(),
        None => capture.as_ref().and_then(|capture| capture.template),
    };

    let contact = async {
        match holder {
            Some(contact) => store.contact_or_survivor(workspace, contact).await,
            None => Ok(None),
        }
    };
    let (found, (token, throttle), templates) = tokio::try_join!(
        contact,
        token_and_throttle(store, workspace, line),
        store.templates(workspace, template.as_slice()),
    )?;
    // The consent covers the number. An existing conversation keeps the contact who had the number when it was made.
    // If another contact has the number now, the message must not show that contact's details.
    let found = found.filter(|contact| contact.phone_keys().any(|key| key == lead.cellphone.key()));

    let known = LeadKnown {
        capture: capture.as_ref(),
        choices: choices.kept.as_slice(),
        line,
        template: template.and_then(|id| templates.get(&id)),
    };
    let (line, template) = lead.check(&known).map_err(NotPrepared::Never)?;
    if let Some(until) = throttle.put_off(jitter, store.now()) {
        return Err(NotPrepared::LineThrottled(until));
    }
    let content = template.bare_content(store.now());
    let mut opening = lead.opening(found.as_ref(), line, content, settings.list_shards_write, store.now());
    if let Some(message) = message {
        opening.message = message.clone();
    }
    opening.conversation = conversation.unwrap_or(opening.conversation);
    let what = outgoing(&opening, line, template, choices.kept.as_slice(), store.now())?;
    let (channel, account) = (line.channel.clone(), line.business_account.clone());
    let token = token.ok_or_else(|| NotPrepared::NotNow(format!("line {channel:?} has no token").into()))?;
    Ok(Prepared { channel, line: throttle, account, token, what, opening, found, choices })
}

/// The access token and the throttling state of the line, if there is a line.
async fn token_and_throttle(
    store: &Store,
    workspace: WorkspaceId,
    line: Option<&Line>,
) -> Result<(Option<Secret>, LineThrottle), StoreError> {
    let Some(Line { channel, .. }) = line else { return Ok((None, LineThrottle::default())) };
    let throttle = async { Ok(store.line_throttle(workspace, channel).await) };
    tokio::try_join!(store.line_token(workspace, channel), throttle)
}

fn outgoing(
    opening: &LeadOpening,
    line: &Line,
    template: &Template,
    choices: &[Choices],
    now: Timestamp,
) -> Result<Outgoing, NotPrepared> {
    let known = MessageKnown {
        conversation: Some(&opening.conversation),
        contact: Some(&opening.contact),
        line: Some(line),
        template: Some(template),
        choices,
        now,
        // A lead's message is a template.
        window_closed: false,
    };
    let failed = |not_ready| {
        NotPrepared::Never(NotSent::Failed(match not_ready {
            NotReady::Never(error) => error,
            NotReady::TemplateWaits(status) => PartError::not_approved(status),
        }))
    };
    let letter = opening.message.letter(0, &known).map_err(failed)?;
    match letter.words {
        Words::Template(template, filling) => {
            let text = |(slot, value)| match value {
                Filled::Text(text) => Some((slot, text)),
                // Nobody gives the values of a lead's message, so none is a file of the workspace.
                Filled::File(_) => None,
            };
            Ok(Outgoing::template(template, filling.values.into_iter().filter_map(text).collect()))
        }
        Words::Text(_) | Words::Media(..) => {
            Err(NotPrepared::NotNow("a lead's message is a template".into()))
        }
    }
}
