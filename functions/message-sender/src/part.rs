//! One message: its parts, each by calls that are recorded before they are made.

use std::error::Error;
use std::time::Duration;

use domain::media::SentAs;
use domain::message::{Content, Letter, MessageKnown, Turn, Words};
use domain::retry::Jitter;
use domain::sending::{End, PartError};
use domain::{
    Cellphone, ChannelId, LineThrottle, Message, MessageStatus, Recipient, Secret, Timestamp, causes,
};
use provider::{Call, Outgoing, Provider};
use runtime::metrics::Sends;
use store::{ConversationLane, Outbound, StoreError};

use crate::run::Run;

/// Why nothing more is sent in a lane now.
pub(crate) enum Stop {
    /// Nothing is left.
    Empty,
    /// What comes next is not to be sent before then.
    Waits(Timestamp),
    /// Another call could outlast this invocation.
    TimeUp,
    /// Somebody else sends in it: this lease must be over.
    Lost,
}

/// Sends the parts of a message one after another; why the rest of them, if there is one, must wait.
pub(crate) async fn send_all<P: Provider>(
    run: &Run<'_, P>,
    lane: &ConversationLane,
    mut outbound: Outbound,
) -> Result<Option<Stop>, StoreError> {
    loop {
        let now = run.store.now();
        let worked_on = match outbound.message.turn(now) {
            Turn::Finished => return Ok(None),
            Turn::NotBefore(at) => return Ok(Some(Stop::Waits(at))),
            Turn::Interrupted => {
                let end = End::Unknown(PartError::of(PartError::INTERRUPTED));
                record(run, lane, &outbound, end).await?
            }
            Turn::Due(_) if !run.time.may_begin(now) => return Ok(Some(Stop::TimeUp)),
            Turn::Due(part) => send(run, lane, &outbound, part).await?,
        };
        match worked_on {
            Ok(recorded) => outbound = recorded,
            Err(stop) => return Ok(Some(stop)),
        }
    }
}

/// Sends one part, or says that it cannot be sent; the message as it is then, or why the lane must wait.
async fn send<P: Provider>(
    run: &Run<'_, P>,
    lane: &ConversationLane,
    outbound: &Outbound,
    part: usize,
) -> Result<Result<Outbound, Stop>, StoreError> {
    let (workspace, jitter) = (lane.workspace_id, Jitter::of(&lane.lease));
    let ready = match prepare(run, &outbound.message, part, jitter).await {
        Ok(ready) => ready,
        Err(Unready::Never(error)) => return record(run, lane, outbound, End::Failed(error)).await,
        Err(Unready::LineThrottled(until)) => return Ok(Err(waits_with_its_line(outbound, until))),
        Err(Unready::NotNow(cause)) => {
            let (message, cause) = (outbound.message.id, causes(&*cause));
            tracing::error!(workspace = %workspace, messageId = %message, part, cause, "part not ready to be sent");
            return record(run, lane, outbound, End::NotTaken).await;
        }
    };
    let now = run.store.now();
    let begun = match run.store.record(outbound, BEGIN, |message| message.begun(lane.lease, now)).await {
        Ok(Some(begun)) => begun,
        Ok(None) => return Ok(Err(Stop::Lost)),
        Err(error) => return not_begun(run, lane, outbound, error).await,
    };
    // To begin took so long that the call could outlast this invocation, and nobody would know how it ended.
    if !run.time.fits(run.store.now()) {
        return record(run, lane, &begun, End::NotCalled).await;
    }
    let sent = run.provider.send(ready.call()).await;
    let Ready { channel, line, .. } = &ready;
    let end = sent.end(line.slower(&run.rules.schedule, jitter, run.store.now()));
    let remembered = run.store.remember_line(workspace, channel, line, &end);
    let (recorded, ()) = tokio::join!(record(run, lane, &begun, end.clone()), remembered);
    recorded
}

/// The line is put off: nothing is called, and nothing of the message changes.
fn waits_with_its_line(outbound: &Outbound, until: Timestamp) -> Stop {
    let Message { workspace_id, conversation, id, .. } = &outbound.message;
    let next_at = until.to_string();
    tracing::info!(
        workspace = %workspace_id, conversation = %conversation, messageId = %id, nextAt = next_at,
        "line throttled, conversation waits",
    );
    Stop::Waits(until)
}

/// For how long it is tried to record that a call begins.
const BEGIN: Duration = Duration::from_secs(2);

/// Takes back, for as long as there is time, that a call begins, as nobody knows whether that was recorded and none was
/// made. It may then be begun anew, if the table was only busy. What cannot be taken back is UNKNOWN to whoever comes
/// next, should it have been recorded.
async fn not_begun<P>(
    run: &Run<'_, P>,
    lane: &ConversationLane,
    outbound: &Outbound,
    error: StoreError,
) -> Result<Result<Outbound, Stop>, StoreError> {
    let (message, cause) = (outbound.message.id, causes(&error));
    tracing::warn!(workspace = %lane.workspace_id, messageId = %message, cause, "start of a call undone");
    let undone = run.store.undo_begin(outbound, lane.lease, run.time.left(run.store.now())).await?;
    match error {
        StoreError::Busy(_) => Ok(undone.ok_or(Stop::Lost)),
        error => Err(error),
    }
}

/// Everything of a call.
struct Ready {
    channel: ChannelId,
    /// How the line stands.
    line: LineThrottle,
    token: Secret,
    to: Cellphone,
    what: Outgoing,
    answers: Option<String>,
}

impl Ready {
    fn call(&self) -> Call<'_> {
        let Self { channel, token, to, what, answers, .. } = self;
        Call { channel, token, to, what, answers: answers.as_deref() }
    }
}

/// Why a part is not sent.
enum Unready {
    /// It cannot be.
    Never(PartError),
    /// Its line is put off until then.
    LineThrottled(Timestamp),
    /// What is needed could not be had.
    NotNow(Box<dyn Error + Send + Sync>),
}

/// Reads what a part needs, all at the same time and strongly: what has changed since the message was made counts.
async fn prepare<P>(
    run: &Run<'_, P>,
    message: &Message,
    part: usize,
    jitter: Jitter,
) -> Result<Ready, Unready> {
    let (store, workspace) = (run.store, message.workspace_id);
    let Some(Recipient { contact, channel }) = message.recipient_of(part) else {
        return Err(Unready::Never(PartError::of(PartError::NO_ADDRESS)));
    };
    let template = match &message.content {
        Content::Template(requested) => Some(requested.template),
        Content::Written { .. } => None,
    };
    let answered = async || match message.answers(part) {
        Some(id) => store.message(workspace, message.conversation, id).await,
        None => Ok(None),
    };
    let (conversation, person, line, token, templates, answered, throttle) = tokio::try_join!(
        store.conversation(workspace, message.conversation),
        store.contact(workspace, *contact),
        store.line(workspace, channel),
        store.line_token(workspace, channel),
        store.templates(workspace, template.as_slice()),
        answered(),
        async { Ok(store.line_throttle(workspace, channel).await) },
    )?;
    let known = MessageKnown {
        conversation: conversation.as_ref(),
        contact: person.as_ref(),
        line: line.as_ref(),
        template: template.and_then(|id| templates.get(&id)),
    };
    let Letter { to, words } = message.letter(part, &known).map_err(Unready::Never)?;
    if let Some(until) = throttle.put_off(jitter, store.now()) {
        return Err(Unready::LineThrottled(until));
    }
    let token = token.ok_or_else(|| Unready::NotNow(format!("line {channel:?} has no token").into()))?;
    Ok(Ready {
        channel: channel.clone(),
        line: throttle,
        token,
        to: to.clone(),
        what: outgoing(run, message, words).await?,
        answers: answered.and_then(|answered| answered.provider_id_for(*contact).map(str::to_owned)),
    })
}

impl From<StoreError> for Unready {
    fn from(error: StoreError) -> Self {
        Self::NotNow(error.into())
    }
}

/// What a part says as the provider is told; a file's link is signed now, as it does not last.
async fn outgoing<P>(run: &Run<'_, P>, message: &Message, words: Words<'_>) -> Result<Outgoing, StoreError> {
    Ok(match words {
        Words::Text(body) => Outgoing::Text(body.as_str().to_owned()),
        Words::Media(file, caption) => {
            let sent_as = file.sent_as();
            Outgoing::Media {
                sent_as,
                link: run.bucket.presign_get(message.workspace_id, file.media).await?,
                caption: caption.map(|body| body.as_str().to_owned()),
                filename: (sent_as == SentAs::Document).then(|| file.name.as_str().to_owned()),
            }
        }
        Words::Template(template, values) => {
            Outgoing::Template { name: template.name.clone(), language: template.language.clone(), values }
        }
    })
}

/// Writes down what became of the part at hand, for as long as there is time: what is not recorded is UNKNOWN to
/// whoever comes next.
async fn record<P>(
    run: &Run<'_, P>,
    lane: &ConversationLane,
    outbound: &Outbound,
    end: End,
) -> Result<Result<Outbound, Stop>, StoreError> {
    let (now, jitter) = (run.store.now(), Jitter::of(&lane.lease));
    let step = |message: &Message| message.ended(end.clone(), &run.rules.schedule, jitter, now);
    let recorded = run.store.record(outbound, run.time.left(now), step).await?;
    told(run, outbound, &end, recorded.as_ref());
    Ok(recorded.ok_or(Stop::Lost))
}

/// One line for each end. What the provider took it knows by an id that holds the customer's number, which is in no log.
fn told<P>(run: &Run<'_, P>, before: &Outbound, end: &End, after: Option<&Outbound>) {
    let what = match end {
        End::Sent(_) => "Sent",
        End::Failed(_) => "Failed",
        End::Unknown(_) => "Unknown",
        End::NotTaken => "NotTaken",
        End::Throttled => "Throttled",
        End::LineThrottled(_) => "LineThrottled",
        End::NotCalled => "NotCalled",
    };
    let Some(at) = before.message.part_at_hand() else { return };
    let part = after.and_then(|after| after.message.parts.get(at));
    if let Some(part) = part {
        counted(&run.counted, part.status);
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

/// Counts a part by how it stands after its call: what was given up after the last of many tries has failed.
fn counted(sends: &Sends, status: MessageStatus) {
    match status {
        MessageStatus::Queued | MessageStatus::Sending => sends.sends_retried.add(1),
        MessageStatus::Unknown => sends.sends_unknown.add(1),
        MessageStatus::Failed => sends.sends_failed.add(1),
        MessageStatus::Sent | MessageStatus::Delivered | MessageStatus::Read => sends.sends_accepted.add(1),
    }
}
