//! Processes one lead. The function records the call before and after it makes it.

use std::error::Error;
use std::time::Duration;

use domain::lead::MessageUpdate;
use domain::retry::Jitter;
use domain::sending::{End, PartError, Standing};
use domain::{
    Address, Lead, LeadState, Message, MessageStatus, PartId, Rest, Timestamp, Workspace, error_chain,
};
use provider::{Call, Provider};
use runtime::metrics::Sends;
use store::{LeadRecorded, LeaseAfter, LeasedLead, StoreError};
use worker::VisitEnd;

use crate::invocation::Invocation;
use crate::prepare::{NotPrepared, Prepared, prepare};

/// The time limit to record that a call begins.
const BEGIN: Duration = Duration::from_secs(2);
/// How often the function repeats the read if the contact or the person's choices change concurrently.
const TRIES: usize = 5;

/// Sends the message of a lead, if it is due.
pub(crate) async fn send<P: Provider>(
    invocation: &Invocation<'_, P>,
    leased: LeasedLead,
) -> Result<VisitEnd, StoreError> {
    let LeasedLead { lead, .. } = &leased;
    let message = if lead.opened { message_of(invocation, lead).await? } else { None };
    let now = invocation.store.now();
    match lead.standing(now) {
        None => Ok(VisitEnd::Released(None)),
        Some(Standing::Interrupted) => {
            let end = End::Unknown(PartError::of(PartError::INTERRUPTED));
            ended(invocation, &leased, message, end).await
        }
        Some(Standing::NotBefore(at)) => Ok(VisitEnd::Rest(Rest::Closed(at))),
        Some(Standing::Due) if !invocation.budget.may_begin(now) => Ok(VisitEnd::Rest(Rest::TimeUp)),
        // An operator retries a lead whose outcome was unknown, and the provider has reported the outcome since.
        Some(Standing::Due) => match accepted_id(message.as_ref()) {
            Some(id) => ended(invocation, &leased, message, End::Sent(id)).await,
            None => try_once(invocation, leased, message).await,
        },
    }
}

/// The provider's id of the lead's message, if the provider accepted it.
fn accepted_id(message: Option<&Message>) -> Option<String> {
    let message = message?;
    let is_accepted = message.parts.first()?.status >= MessageStatus::Sent;
    provider_id(message).filter(|_| is_accepted).map(str::to_owned)
}

/// Checks whether the message may be sent, records that the call begins together with everything that the lead
/// creates, and calls the provider.
async fn try_once<P: Provider>(
    invocation: &Invocation<'_, P>,
    mut leased: LeasedLead,
    message: Option<Message>,
) -> Result<VisitEnd, StoreError> {
    for _ in 0..TRIES {
        let jitter = Jitter::of(&leased.lease);
        let ready = match prepare(invocation, &leased.lead, message.as_ref(), jitter).await {
            Ok(ready) => ready,
            Err(NotPrepared::Never(why)) => {
                let (next, word) = leased.lead.not_sent(why, invocation.store.now());
                return recorded(invocation, &leased, message, next, word).await;
            }
            Err(NotPrepared::LineThrottled(until)) => return Ok(waits_with_its_line(&leased, until)),
            Err(NotPrepared::WorkspaceDisabled) => {
                // The lead does not change, so this uses no retry.
                let later = invocation.store.now().plus(Workspace::LOOKS_AGAIN_AFTER);
                return Ok(VisitEnd::Rest(Rest::Closed(later)));
            }
            Err(NotPrepared::NotNow(cause)) => return not_now(invocation, &leased, message, &*cause).await,
        };
        let begun = leased.lead.begun(ready.opening.contact.id, leased.lease, invocation.store.now());
        let recorded = match begin(invocation, &leased, &begun, &ready).await {
            Ok(recorded) => recorded,
            Err(error) => return not_begun(invocation, &leased, error).await,
        };
        match recorded {
            LeadRecorded::Done => {
                leased.lead = begun;
                return call(invocation, &leased, ready).await;
            }
            LeadRecorded::Stale => {}
            LeadRecorded::Lost => {
                return Ok(VisitEnd::Lost);
            }
        }
    }
    let busy = StoreError::Busy("others keep changing the lead's contact or its choices".into());
    not_now(invocation, &leased, message, &busy).await
}

/// The line is throttled: the provider is not called, and only the time of the lead's next visit changes.
fn waits_with_its_line(leased: &LeasedLead, until: Timestamp) -> VisitEnd {
    let lead = &leased.lead;
    let next_at = until.to_string();
    tracing::info!(workspace = %lead.workspace_id, lead = %lead.id, nextAt = next_at, "line throttled, lead waits");
    VisitEnd::Rest(Rest::Closed(until))
}

/// The required data could not be read. The function retries, as if the provider were unavailable.
async fn not_now<P>(
    invocation: &Invocation<'_, P>,
    leased: &LeasedLead,
    message: Option<Message>,
    cause: &(dyn Error + Send + Sync + 'static),
) -> Result<VisitEnd, StoreError> {
    let Lead { workspace_id, id, .. } = &leased.lead;
    tracing::error!(workspace = %workspace_id, lead = %id, cause = error_chain(cause), "lead not ready");
    ended(invocation, leased, message, End::NotTaken).await
}

/// Records that a call begins, under the condition that the person's choices are those that were read. The first time, it
/// also records the contact, conversation and message.
async fn begin<P>(
    invocation: &Invocation<'_, P>,
    leased: &LeasedLead,
    begun: &Lead,
    ready: &Prepared,
) -> Result<LeadRecorded, StoreError> {
    let Prepared { opening, found, choices, .. } = ready;
    if leased.lead.opened {
        invocation.store.begin_lead(leased, begun, choices, BEGIN).await
    } else {
        invocation.store.open_lead(leased, begun, opening, found.as_ref(), choices, BEGIN).await
    }
}

/// Reverts the begin of a call within the remaining time. It is unknown whether the begin was recorded, but no call
/// was made. If the table was only busy, another visit continues at once. If the revert fails and the begin was
/// recorded, the next visit makes the lead UNKNOWN.
async fn not_begun<P>(
    invocation: &Invocation<'_, P>,
    leased: &LeasedLead,
    error: StoreError,
) -> Result<VisitEnd, StoreError> {
    let lead = &leased.lead;
    let cause = error_chain(&error);
    tracing::warn!(workspace = %lead.workspace_id, lead = %lead.id, cause, "start of a call undone");
    let now = invocation.store.now();
    let plan = Rest::TimeUp.plan(invocation.rules.rescue, now);
    if !invocation.store.take_back_lead_begin(leased, plan, invocation.budget.left(now)).await? {
        return Ok(VisitEnd::Lost);
    }
    match error {
        StoreError::Busy(_) => Ok(VisitEnd::Released(plan)),
        error => Err(error),
    }
}

async fn call<P: Provider>(
    invocation: &Invocation<'_, P>,
    leased: &LeasedLead,
    ready: Prepared,
) -> Result<VisitEnd, StoreError> {
    let Prepared { channel, line, account, token, what, opening, .. } = ready;
    // The begin took so long that the call could outlast this invocation. Then its outcome would be unknown.
    if !invocation.budget.fits(invocation.store.now()) {
        return ended(invocation, leased, Some(opening.message), End::NotCalled).await;
    }
    let lead = &leased.lead;
    let message = opening.message;
    let part = PartId { conversation: lead.conversation, message: lead.message, part: 0 };
    let to = Address::Number(lead.cellphone.clone());
    let call = Call { channel: &channel, token: &token, to: &to, what: &what, answers: None, part };
    let sent = invocation.provider.send(call).await;
    let reached = sent.reached.clone();
    let end =
        sent.end(line.slower(&invocation.rules.schedule, Jitter::of(&leased.lease), invocation.store.now()));
    let remembered = invocation.store.remember_line(lead.workspace_id, &channel, &line, &end);
    let known = invocation.store.remember_answer(&opening.contact, &reached, &account);
    let named = invocation.store.keep_provider_id(&message, 0, &end);
    let recorded = ended(invocation, leased, Some(message.clone()), end.clone());
    let (recorded, (), (), ()) = tokio::join!(recorded, remembered, known, named);
    if matches!(recorded, Ok(VisitEnd::Lost)) {
        invocation.store.drop_provider_id_if_erased(&message, &end).await?;
    }
    recorded
}

async fn ended<P>(
    invocation: &Invocation<'_, P>,
    leased: &LeasedLead,
    message: Option<Message>,
    end: End,
) -> Result<VisitEnd, StoreError> {
    let jitter = Jitter::of(&leased.lease);
    let (next, word) = leased.lead.ended(end, &invocation.rules.schedule, jitter, invocation.store.now());
    recorded(invocation, leased, message, next, word).await
}

/// Records the new state of the lead and of its message, and releases the lead, within the remaining time. If that
/// fails, the next visit makes the lead UNKNOWN.
async fn recorded<P>(
    invocation: &Invocation<'_, P>,
    leased: &LeasedLead,
    mut message: Option<Message>,
    next: Lead,
    word: MessageUpdate,
) -> Result<VisitEnd, StoreError> {
    debug_assert!(!leased.lead.state.is_final(), "an outcome belongs to an unfinished lead");
    let now = invocation.store.now();
    let plan = match next.state.is_final() {
        true => None,
        false => Rest::Closed(next.progress.next_at.unwrap_or(now)).plan(invocation.rules.rescue, now),
    };
    let step = LeaseAfter::Released(plan);
    loop {
        let now = invocation.store.now();
        let said = message.as_ref().and_then(|message| word.of(message, now));
        let both = message.as_ref().zip(said.as_ref());
        let replaced =
            both.and_then(|(seen, said)| provider_id(seen).filter(|id| provider_id(said) != Some(*id)));
        if let Some((seen, id)) = message.as_ref().zip(replaced) {
            // The row goes before the part forgets its id, because an erasure finds the row by it.
            invocation.store.forget_provider_id(seen, id).await;
        }
        match invocation.store.record_lead(leased, &next, both, step, invocation.budget.left(now)).await? {
            LeadRecorded::Done => {
                if let Some(message) = said.as_ref().or(message.as_ref()) {
                    one_row_of_the_id(invocation, message, &word, replaced.is_some()).await;
                }
                break;
            }
            LeadRecorded::Stale => message = message_of(invocation, &next).await?,
            LeadRecorded::Lost => {
                return Ok(VisitEnd::Lost);
            }
        }
    }
    log_end(&next);
    counted(&invocation.counted, &leased.lead, &next);
    Ok(VisitEnd::Released(plan))
}

/// The row of the id that the provider gave the accepted call. It is written beside the record already, unless the
/// message had the id of an earlier call; and it must go if a status gave the message the id of an earlier call
/// meanwhile.
async fn one_row_of_the_id<P>(
    invocation: &Invocation<'_, P>,
    message: &Message,
    word: &MessageUpdate,
    is_new: bool,
) {
    let MessageUpdate::Sent(id) = word else { return };
    match provider_id(message) {
        Some(of_message) if of_message != id => invocation.store.forget_provider_id(message, id).await,
        _ if is_new => invocation.store.keep_provider_id(message, 0, &End::Sent(id.clone())).await,
        _ => {}
    }
}

/// The provider's id of the lead's message.
fn provider_id(message: &Message) -> Option<&str> {
    message.parts.first()?.provider_message_id.as_deref()
}

async fn message_of<P>(invocation: &Invocation<'_, P>, lead: &Lead) -> Result<Option<Message>, StoreError> {
    invocation.store.message(lead.workspace_id, lead.conversation, lead.message).await
}

/// Counts a lead by its new state. A lead that waits in the same state as before was not tried.
fn counted(sends: &Sends, before: &Lead, now: &Lead) {
    match now.state {
        LeadState::Queued | LeadState::Sending if now.progress == before.progress => {}
        LeadState::Queued | LeadState::Sending => sends.sends_retried.add(1),
        LeadState::Sent => sends.sends_accepted.add(1),
        LeadState::Failed => sends.sends_failed.add(1),
        LeadState::Unknown => sends.sends_unknown.add(1),
        // The message is suppressed, and no call was made.
        LeadState::Suppressed => {}
    }
}

/// Logs one line for each processed lead.
fn log_end(lead: &Lead) {
    let Lead { workspace_id, id, state, error, progress, .. } = lead;
    let (state, error) = (state.as_str(), error.as_ref().map(PartError::as_str));
    let next_at = progress.next_at.map(|at| at.to_string());
    match lead.state {
        LeadState::Sent => tracing::info!(workspace = %workspace_id, lead = %id, state, "lead sent"),
        _ => {
            tracing::info!(workspace = %workspace_id, lead = %id, state, error, nextAt = next_at, "lead not sent")
        }
    }
}
