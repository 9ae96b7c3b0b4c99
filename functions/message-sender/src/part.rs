//! Processes one message and its parts. The function records each call before it makes it.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use domain::choices::Chooser;
use domain::media::SentAs;
use domain::message::{LeadPermit, Letter, MessageKnown, NotReady, ServiceWindow, Turn, Words};
use domain::retry::Jitter;
use domain::sending::{End, PartError};
use domain::settings::template::{FileKind, Filled, Filling};
use domain::{
    Address, BusinessAccountId, Cellphone, ChannelId, Choices, Contact, ContactId, Line, LineThrottle,
    Message, MessageStatus, PartId, Recipient, Secret, Template, TemplateStatus, Timestamp, Workspace,
    error_chain,
};
use futures::future::{OptionFuture, join_all};
use provider::webhook::TEMPLATE_REFUSED;
use provider::{Call, Outgoing, Provider, Values};
use queue::Inbound;
use runtime::metrics::Sends;
use serde_json::json;
use store::{Begun, ChoicesSeen, ConversationLane, Outbound, Store, StoreError};
use tokio::time::timeout;

use crate::invocation::Invocation;

/// Why nothing more is sent in a lane now.
pub(crate) enum Stop {
    /// No work is left.
    Empty,
    /// The next part must not be sent before then.
    Waits(Timestamp),
    /// The provider does not let the template be sent before then. It holds later templates, and nothing else.
    TemplateWaits(Timestamp),
    /// Another call could outlast this invocation.
    TimeUp,
    /// Another visit works in the lane, so this lease must have expired.
    Lost,
}

/// The numbers of recipients as they were read before their parts were due. With a number, whether it opted out is read
/// beside everything else that a part needs. A number that has changed since then is read again.
#[derive(Default)]
pub(crate) struct Numbers(HashMap<ContactId, Cellphone>);

impl Numbers {
    /// Reads the numbers of a message's recipients, unless they are known. If a read fails, the number is unknown.
    pub(crate) async fn read<P>(&mut self, invocation: &Invocation<'_, P>, message: &Message) {
        let unknown = message.recipients.iter().map(|recipient| recipient.contact);
        let unknown = unknown.filter(|contact| !self.0.contains_key(contact));
        let reads = unknown.map(|contact| invocation.store.contact(message.workspace_id, contact));
        let found = join_all(reads).await.into_iter().filter_map(|read| read.ok().flatten());
        self.0.extend(found.filter_map(|contact| Some((contact.id, contact.cellphone?))));
    }
}

/// Sends the parts of a message one after another. Returns why the remaining parts must wait, if any remain.
pub(crate) async fn send_all<P: Provider>(
    invocation: &Invocation<'_, P>,
    lane: &ConversationLane,
    mut outbound: Outbound,
    numbers: &Numbers,
) -> Result<Option<Stop>, StoreError> {
    loop {
        let now = invocation.store.now();
        let worked_on = match outbound.message.turn(now) {
            Turn::Finished => return Ok(None),
            Turn::NotBefore(at) => return Ok(Some(Stop::Waits(at))),
            Turn::PausedUntil(at) => return Ok(Some(Stop::TemplateWaits(at))),
            // An earlier visit recorded that a call begins, and died before it recorded the end. Whether the person
            // received the message is unknown, so the part is never sent again.
            Turn::Interrupted => {
                let end = End::Unknown(PartError::of(PartError::INTERRUPTED));
                record(invocation, lane, &outbound, end).await?
            }
            // A call that begins now could outlast this invocation, and its outcome would be unknown.
            Turn::Due(_) if !invocation.budget.may_begin(now) => return Ok(Some(Stop::TimeUp)),
            Turn::Due(part) => send(invocation, lane, &outbound, part, numbers).await?,
        };
        match worked_on {
            Ok(recorded) => outbound = recorded,
            Err(stop) => return Ok(Some(stop)),
        }
    }
}

/// Sends one part, or records that it cannot be sent. Returns the updated message, or why the lane must wait.
async fn send<P: Provider>(
    invocation: &Invocation<'_, P>,
    lane: &ConversationLane,
    outbound: &Outbound,
    part: usize,
    numbers: &Numbers,
) -> Result<Result<Outbound, Stop>, StoreError> {
    let (workspace, jitter) = (lane.workspace_id, Jitter::of(&lane.lease));
    let ready = match prepare(invocation, &outbound.message, part, jitter, numbers).await {
        Ok(ready) => ready,
        Err(NotPrepared::Never(error)) => {
            return record(invocation, lane, outbound, End::Failed(error)).await;
        }
        Err(NotPrepared::TemplateWaits(status)) => {
            return match outbound.message.looked_at_again(&invocation.rules.schedule, invocation.store.now())
            {
                Some(at) => Ok(Err(waits_with_its_template(outbound, status, at))),
                None => record(invocation, lane, outbound, End::Failed(status.part_error())).await,
            };
        }
        // The whole conversation waits: a later message must not overtake this one.
        Err(NotPrepared::LineThrottled(until)) => return Ok(Err(waits_with_its_line(outbound, until))),
        Err(NotPrepared::WorkspaceDisabled) => {
            // The message does not change, so this uses neither a retry nor a number of the conversation.
            return Ok(Err(Stop::Waits(invocation.store.now().plus(Workspace::LOOKS_AGAIN_AFTER))));
        }
        // No call was made, so a retry is safe. It uses the schedule, so a part whose data is never readable ends.
        Err(NotPrepared::NotNow(cause)) => {
            let (message, cause) = (outbound.message.id, error_chain(&*cause));
            tracing::error!(workspace = %workspace, messageId = %message, part, cause, "part not ready to be sent");
            return record(invocation, lane, outbound, End::NotTaken).await;
        }
    };
    let now = invocation.store.now();
    let step = |message: &Message| message.with_text(ready.text.as_deref()).begun(lane.lease, now);
    let begun = match invocation.store.begin(outbound, ready.choices.as_ref(), BEGIN, step).await {
        Ok(Begun::Done(begun)) => *begun,
        // The person chose since the choices were read. They are read again, and the part is judged again.
        Ok(Begun::ChoicesChanged) => return Ok(Ok(outbound.clone())),
        // The row is no longer as it was read, so another visitor works on it. Its call may be in progress.
        Ok(Begun::Lost) => return Ok(Err(Stop::Lost)),
        Err(error) => return not_begun(invocation, lane, outbound, error).await,
    };
    // The begin took so long that the call could outlast this invocation. Then its outcome would be unknown.
    if !invocation.budget.fits(invocation.store.now()) {
        return record(invocation, lane, &begun, End::NotCalled).await;
    }
    let id = PartId { conversation: lane.conversation, message: outbound.message.id, part };
    let sent = invocation.provider.send(ready.call(id)).await;
    let Prepared { channel, line, account, contact, .. } = &ready;
    let reached = sent.reached.clone();
    let end = sent.end(line.slower(&invocation.rules.schedule, jitter, invocation.store.now()));
    ask_to_read(invocation, &ready, &end).await;
    let remembered = invocation.store.remember_line(workspace, channel, line, &end);
    let known = invocation.store.remember_answer(contact, &reached, account);
    let named = invocation.store.keep_provider_id(&outbound.message, part, &end);
    // The outcome decides, and the three other writes only save later work. They happen at the same time, so that the
    // outcome is recorded as soon as possible: a visitor that dies before makes the part UNKNOWN.
    let recorded = record(invocation, lane, &begun, end.clone());
    let (recorded, (), (), ()) = tokio::join!(recorded, remembered, known, named);
    // An erasure may have deleted the message during the call. It could not see the row that was written meanwhile.
    if matches!(recorded, Ok(Err(Stop::Lost))) {
        invocation.store.drop_provider_id_if_erased(&outbound.message, &end).await?;
    }
    recorded
}

/// Asks `inbox` to read a template again that the provider says is another one. This comes before the record, so the template of each part
/// with such an error was asked for, wherever this process dies. If the queue does not take it, the next failed send asks.
async fn ask_to_read<P>(invocation: &Invocation<'_, P>, ready: &Prepared, end: &End) {
    let (End::Failed(error), Outgoing::Template { name, language, .. }) = (end, &ready.what) else { return };
    if !error.is_about_template() {
        return;
    }
    let value = json!({ "message_template_name": name, "message_template_language": language });
    let piece = Inbound::of_the_service(invocation.store.now(), &ready.account, TEMPLATE_REFUSED, value);
    if !matches!(timeout(ASK, invocation.inbox.send(&[piece])).await, Ok(Ok(_))) {
        let account = ready.account.as_str();
        tracing::warn!(
            account,
            template = name,
            language,
            "a template that the provider refuses was not asked for"
        );
    }
}

/// The time limit to ask for a template.
const ASK: Duration = Duration::from_secs(2);

/// The line is throttled: the provider is not called, and the message does not change.
fn waits_with_its_line(outbound: &Outbound, until: Timestamp) -> Stop {
    let Message { workspace_id, conversation, id, .. } = &outbound.message;
    let next_at = until.to_string();
    tracing::info!(
        workspace = %workspace_id, conversation = %conversation, messageId = %id, nextAt = next_at,
        "line throttled, conversation waits",
    );
    Stop::Waits(until)
}

/// The template cannot be sent for now: the provider is not called, and the message does not change.
fn waits_with_its_template(outbound: &Outbound, status: TemplateStatus, until: Timestamp) -> Stop {
    let Message { workspace_id, conversation, id, .. } = &outbound.message;
    let next_at = until.to_string();
    tracing::info!(
        workspace = %workspace_id, conversation = %conversation, messageId = %id, templateStatus = status.as_str(),
        nextAt = next_at, "template cannot be sent for now, message waits",
    );
    Stop::TemplateWaits(until)
}

/// The time limit to record that a call begins.
const BEGIN: Duration = Duration::from_secs(2);

/// Reverts the begin of a call within the remaining time. It is unknown whether the begin was recorded, but no call
/// was made. If the table was only busy, the call may begin again. If the revert fails and the begin was recorded,
/// the next visit makes the part UNKNOWN.
async fn not_begun<P>(
    invocation: &Invocation<'_, P>,
    lane: &ConversationLane,
    outbound: &Outbound,
    error: StoreError,
) -> Result<Result<Outbound, Stop>, StoreError> {
    let (message, cause) = (outbound.message.id, error_chain(&error));
    tracing::warn!(workspace = %lane.workspace_id, messageId = %message, cause, "start of a call undone");
    let undone = invocation
        .store
        .take_back_begin(outbound, lane.lease, invocation.budget.left(invocation.store.now()))
        .await?;
    // A busy table recovers within this visit. After any other failure the visit ends, and its lane waits.
    match error {
        StoreError::Busy(_) => Ok(undone.ok_or(Stop::Lost)),
        error => Err(error),
    }
}

/// The data for a call.
struct Prepared {
    channel: ChannelId,
    /// The throttling state of the line.
    line: LineThrottle,
    /// The account of the line.
    account: BusinessAccountId,
    token: Secret,
    contact: Contact,
    to: Address,
    what: Outgoing,
    /// The text of a template, as this recipient gets it.
    text: Option<String>,
    answers: Option<String>,
    /// The choices about templates of the id that is dialled, as they were read. Only for a template.
    choices: Option<ChoicesSeen>,
}

impl Prepared {
    fn call(&self, part: PartId) -> Call<'_> {
        let Self { channel, token, to, what, answers, .. } = self;
        Call { channel, token, to, what, answers: answers.as_deref(), part }
    }
}

/// Why a part is not sent now.
enum NotPrepared {
    /// It cannot be sent.
    Never(PartError),
    /// Its template, which is in this status, cannot be sent for now.
    TemplateWaits(TemplateStatus),
    /// Its line is throttled until then.
    LineThrottled(Timestamp),
    /// Its workspace is disabled.
    WorkspaceDisabled,
    /// The required data could not be read.
    NotNow(Box<dyn Error + Send + Sync>),
}

/// Reads what a part needs, with concurrent and strongly consistent reads: changes since the message was made count.
async fn prepare<P>(
    invocation: &Invocation<'_, P>,
    message: &Message,
    part: usize,
    jitter: Jitter,
    numbers: &Numbers,
) -> Result<Prepared, NotPrepared> {
    let (store, workspace) = (invocation.store, message.workspace_id);
    let no_address = || NotPrepared::Never(PartError::of(PartError::NO_ADDRESS));
    let Some(Recipient { contact, channel }) = message.recipient_of(part) else { return Err(no_address()) };
    let template = message.content.template();
    // Only a template needs this. It is read beside the contact if the number is known.
    let expected = numbers.0.get(contact).filter(|_| template.is_some());
    let choices = expected.map(|number| store.choices_seen(workspace, number));
    let choices = async { OptionFuture::from(choices).await.transpose() };
    let (state, conversation, person, line, token, templates, answered, throttle, choices, window, lead) = tokio::try_join!(
        store.workspace_state(workspace),
        store.conversation(workspace, message.conversation),
        store.contact_or_survivor(workspace, *contact),
        store.line(workspace, channel),
        store.line_token(workspace, channel),
        store.templates(workspace, template.as_slice()),
        answered_by(store, message, part),
        async { Ok(store.line_throttle(workspace, channel).await) },
        choices,
        service_window(store, message, *contact, channel),
        permit_of(store, message),
    )?;
    if state.is_disabled() {
        return Err(NotPrepared::WorkspaceDisabled);
    }
    let window = window_now(store, message, (*contact, channel), person.as_ref(), window).await?;
    let recipient = person.as_ref().filter(|_| template.is_some());
    let choices = choices_of(store, recipient.zip(line.as_ref()), expected.zip(choices)).await?;
    let kept: &[Choices] = choices.as_ref().map_or(&[], |choices| choices.kept.as_slice());
    let known = MessageKnown {
        conversation: conversation.as_ref(),
        contact: person.as_ref(),
        line: line.as_ref(),
        template: template.and_then(|id| templates.get(&id)),
        lead: lead.as_ref(),
        choices: kept,
        now: store.now(),
        window_closed: person.as_ref().is_some_and(|person| window.is_surely_closed(person, store.now())),
    };
    let Letter { to, words } = message.letter(part, &known)?;
    // This comes after the letter: a part that can never be sent fails now, and does not wait for its line.
    if let Some(until) = throttle.put_off(jitter, store.now()) {
        return Err(NotPrepared::LineThrottled(until));
    }
    let token = token.ok_or_else(|| NotPrepared::NotNow(format!("line {channel:?} has no token").into()))?;
    let text = words.kept_text();
    let what = outgoing(invocation, message, words).await?;
    Ok(Prepared {
        channel: channel.clone(),
        line: throttle,
        token,
        account: line.ok_or_else(no_address)?.business_account,
        contact: person.ok_or_else(no_address)?,
        to,
        what,
        text,
        answers: answered.and_then(|answered| answered.provider_id_for(*contact).map(str::to_owned)),
        choices,
    })
}

/// The message that a part answers, if it answers one.
async fn answered_by(store: &Store, message: &Message, part: usize) -> Result<Option<Message>, StoreError> {
    match message.answers(part) {
        Some(id) => store.message(message.workspace_id, message.conversation, id).await,
        None => Ok(None),
    }
}

/// The window of the contact that the recipient is now: it may have become part of another one. If another part of the message goes to
/// that one, this part has no address.
async fn window_now(
    store: &Store,
    message: &Message,
    (recipient, channel): (ContactId, &ChannelId),
    person: Option<&Contact>,
    read: ServiceWindow,
) -> Result<ServiceWindow, NotPrepared> {
    let Some(survivor) = person.map(|person| person.id).filter(|person| *person != recipient) else {
        return Ok(read);
    };
    if message.recipients.iter().any(|recipient| recipient.contact == survivor) {
        return Err(NotPrepared::Never(PartError::of(PartError::NO_ADDRESS)));
    }
    Ok(service_window(store, message, survivor, channel).await?)
}

/// What permits the message, if it is a lead's.
async fn permit_of(store: &Store, message: &Message) -> Result<Option<LeadPermit>, StoreError> {
    let Some(lead) = message.lead else { return Ok(None) };
    let workspace = message.workspace_id;
    let (lead, capture) = tokio::try_join!(store.lead(workspace, lead), store.capture(workspace))?;
    let number = lead.map(|lead| lead.cellphone.key());
    Ok(Some(LeadPermit { number, is_capturing: capture.is_some_and(|capture| capture.enabled) }))
}

/// Since when the line delivers customers' messages, and the last one of this customer. A template does not need it.
async fn service_window(
    store: &Store,
    message: &Message,
    contact: ContactId,
    channel: &ChannelId,
) -> Result<ServiceWindow, StoreError> {
    if message.content.template().is_some() {
        return Ok(ServiceWindow::default());
    }
    let workspace = message.workspace_id;
    let (line_since, last_inbound) = tokio::try_join!(
        store.line_delivers_inbound_since(workspace, channel),
        store.last_inbound(workspace, contact, channel),
    )?;
    Ok(ServiceWindow { line_since, last_inbound })
}

/// A person's choices about templates: those of the id that is dialled, because all ids of a contact have the same. `read`
/// is the number whose choices were read beside the person.
async fn choices_of(
    store: &Store,
    recipient: Option<(&Contact, &Line)>,
    read: Option<(&Cellphone, ChoicesSeen)>,
) -> Result<Option<ChoicesSeen>, StoreError> {
    let Some((person, line)) = recipient else { return Ok(None) };
    let Some(address) = person.address(&line.business_account) else { return Ok(None) };
    let dialled = Chooser::from(&address);
    match read {
        Some((number, seen)) if dialled.is_same(&Chooser::from(number)) => Ok(Some(seen)),
        _ => store.choices_seen(person.workspace_id, dialled).await.map(Some),
    }
}

impl From<NotReady> for NotPrepared {
    fn from(not_ready: NotReady) -> Self {
        match not_ready {
            NotReady::Never(error) => Self::Never(error),
            NotReady::TemplateWaits(status) => Self::TemplateWaits(status),
        }
    }
}

impl From<StoreError> for NotPrepared {
    fn from(error: StoreError) -> Self {
        Self::NotNow(error.into())
    }
}

/// The content of a part for the provider. The function signs a file's link now, because the signature expires.
async fn outgoing<P>(
    invocation: &Invocation<'_, P>,
    message: &Message,
    words: Words<'_>,
) -> Result<Outgoing, StoreError> {
    Ok(match words {
        Words::Text(body) => Outgoing::Text(body.as_str().to_owned()),
        Words::Media(file, caption) => {
            let sent_as = file.sent_as();
            Outgoing::Media {
                sent_as,
                link: invocation.bucket.presign_get(message.workspace_id, file.media).await?,
                caption: caption.map(|body| body.as_str().to_owned()),
                filename: (sent_as == SentAs::Document).then(|| file.name.displayable()),
            }
        }
        Words::Template(template, filling) => of_template(invocation, message, template, filling).await?,
    })
}

/// A template with its values. A document that has no name of its own is shown under the name of the file.
async fn of_template<P>(
    invocation: &Invocation<'_, P>,
    message: &Message,
    template: &Template,
    filling: Filling,
) -> Result<Outgoing, StoreError> {
    let mut values = Values::new();
    for (slot, value) in filling.values {
        let value = match value {
            Filled::Text(text) => text,
            Filled::File(file) => {
                if let Some(header) = slot.strip_suffix(FileKind::Document.as_str()) {
                    values.insert(format!("{header}filename"), file.name.displayable());
                }
                invocation.bucket.presign_get(message.workspace_id, file.media).await?
            }
        };
        // The slots are in the order of their names, so a name that was given replaces that of the file.
        values.insert(slot, value);
    }
    Ok(Outgoing::template(template, values))
}

/// Records the outcome of the current part within the remaining time. If that fails, the next visit makes the part
/// UNKNOWN.
async fn record<P>(
    invocation: &Invocation<'_, P>,
    lane: &ConversationLane,
    outbound: &Outbound,
    end: End,
) -> Result<Result<Outbound, Stop>, StoreError> {
    debug_assert!(outbound.message.part_at_hand().is_some(), "an outcome belongs to an unfinished part");
    let (now, jitter) = (invocation.store.now(), Jitter::of(&lane.lease));
    let step = |message: &Message| message.ended(end.clone(), &invocation.rules.schedule, jitter, now);
    let recorded = invocation.store.record(outbound, invocation.budget.left(now), step).await?;
    log_end(invocation, outbound, &end, recorded.as_ref());
    Ok(recorded.ok_or(Stop::Lost))
}

/// Logs one line for each outcome, and counts it. The log omits the provider's message id, because it contains the customer's
/// number.
fn log_end<P>(invocation: &Invocation<'_, P>, before: &Outbound, end: &End, after: Option<&Outbound>) {
    let what = match end {
        End::Sent(_) => "Sent",
        End::Held(_) => "Held",
        End::Failed(_) => "Failed",
        End::Unknown(_) => "Unknown",
        End::NotTaken => "NotTaken",
        End::TemplatePaused => "TemplatePaused",
        End::Throttled => "Throttled",
        End::LineThrottled(_) => "LineThrottled",
        End::NotCalled => "NotCalled",
    };
    let Some(at) = before.message.part_at_hand() else { return };
    let part = after.and_then(|after| after.message.parts.get(at));
    if let Some(part) = part {
        counted(&invocation.counted, part.status);
    }
    tracing::info!(
        workspace = %before.message.workspace_id,
        conversation = %before.message.conversation,
        messageId = %before.message.id,
        part = at,
        end = what,
        status = part.map(|part| part.status.as_str()),
        error = part.and_then(|part| part.error.as_ref()).map(PartError::as_str),
        nextAt = after.and_then(|after| after.message.progress.next_at).map(|at| at.to_string()),
        lost = after.is_none(),
        "part worked on",
    );
}

/// Counts a part by its state after the call. A part whose last retry failed counts as failed.
fn counted(sends: &Sends, status: MessageStatus) {
    match status {
        MessageStatus::Queued | MessageStatus::Sending => sends.sends_retried.add(1),
        MessageStatus::Unknown => sends.sends_unknown.add(1),
        MessageStatus::Failed => sends.sends_failed.add(1),
        MessageStatus::Sent | MessageStatus::Delivered | MessageStatus::Read => sends.sends_accepted.add(1),
    }
}
