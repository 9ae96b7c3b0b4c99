//! One lead: what is to be done about it, and the call that is recorded before it is made and after.

use std::error::Error;
use std::time::Duration;

use domain::lead::LeadWord;
use domain::message::PartError;
use domain::retry::Jitter;
use domain::sending::{End, Standing};
use domain::{Lead, LeadState, Message, causes};
use provider::{Call, Provider};
use queue::{LONGEST_DELAY, LeadTask, Outcome};
use runtime::metrics::Sends;
use store::{LeadLease, LeadRecorded, LeadStep, LeasedLead, StoreError};

use crate::Run;
use crate::ready::{Ready, Unready, prepare};

/// For how long it is tried to record that a call begins. Afterwards the lead is left to its lease's end.
const BEGIN: Duration = Duration::from_secs(2);
/// How often the contact is looked at again that others change at the same time.
const TRIES: usize = 5;

/// Writes to a lead, if that is to be done now.
pub(crate) async fn wake<P: Provider>(run: &Run<'_, P>, task: LeadTask) -> Outcome {
    let lease = run.store.lease_lead(task.workspace_id, task.lead_id, run.rules.lease);
    let sent = match lease.await {
        Ok(LeadLease::Taken(leased)) => send(run, *leased).await,
        Ok(LeadLease::Held | LeadLease::Finished) => Ok(()),
        Ok(LeadLease::Unknown) => return Outcome::Dropped("no such lead"),
        Err(error) => Err(error),
    };
    match sent {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Retry(error.into()),
    }
}

async fn send<P: Provider>(run: &Run<'_, P>, leased: LeasedLead) -> Result<(), StoreError> {
    let LeasedLead { lead, .. } = &leased;
    let message = if lead.opened { message_of(run, lead).await? } else { None };
    let now = run.store.now();
    match lead.standing(now) {
        None => Ok(()),
        Some(Standing::Interrupted) => {
            let end = End::Unknown(PartError::of(PartError::INTERRUPTED));
            ended(run, &leased, message, end).await
        }
        Some(Standing::NotBefore(_)) => recorded(run, &leased, message, lead.clone(), LeadWord::Waits).await,
        Some(Standing::Due) if !run.time.may_begin(now) => {
            recorded(run, &leased, message, lead.clone(), LeadWord::Waits).await
        }
        Some(Standing::Due) => try_once(run, leased, message).await,
    }
}

/// Looks whether it may be sent, records that the call begins, with all that the lead opens, and calls.
async fn try_once<P: Provider>(
    run: &Run<'_, P>,
    mut leased: LeasedLead,
    message: Option<Message>,
) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let ready = match prepare(run, &leased.lead, message.as_ref()).await {
            Ok(ready) => ready,
            Err(Unready::Never(why)) => {
                let (next, word) = leased.lead.not_sent(why, run.store.now());
                return recorded(run, &leased, message, next, word).await;
            }
            Err(Unready::NotNow(cause)) => return not_now(run, &leased, message, &*cause).await,
        };
        let begun = leased.lead.begun(ready.opening.contact.id, leased.lease, run.store.now());
        match begin(run, &leased, &begun, &ready).await? {
            LeadRecorded::Done => {
                leased.lead = begun;
                return call(run, &leased, ready).await;
            }
            LeadRecorded::Stale => {}
            LeadRecorded::Lost => {
                lost(&leased.lead);
                return Ok(());
            }
        }
    }
    let busy = StoreError::Busy("others keep changing the lead's contact".into());
    not_now(run, &leased, message, &busy).await
}

/// What is needed cannot be had: as with a provider who is not there, it is tried again.
async fn not_now<P>(
    run: &Run<'_, P>,
    leased: &LeasedLead,
    message: Option<Message>,
    cause: &(dyn Error + Send + Sync + 'static),
) -> Result<(), StoreError> {
    let Lead { workspace_id, id, .. } = &leased.lead;
    tracing::error!(workspace = %workspace_id, lead = %id, cause = causes(cause), "lead not ready");
    ended(run, leased, message, End::NotTaken).await
}

/// Records that a call begins; the first time with contact, conversation and message.
async fn begin<P>(
    run: &Run<'_, P>,
    leased: &LeasedLead,
    begun: &Lead,
    ready: &Ready,
) -> Result<LeadRecorded, StoreError> {
    if leased.lead.opened {
        run.store.record_lead(leased, begun, None, LeadStep::Goes, BEGIN).await
    } else {
        run.store.open_lead(leased, begun, &ready.opening, ready.found.as_ref(), BEGIN).await
    }
}

async fn call<P: Provider>(run: &Run<'_, P>, leased: &LeasedLead, ready: Ready) -> Result<(), StoreError> {
    let Ready { channel, token, what, opening, .. } = ready;
    // To begin took so long that the call could outlast this invocation, and nobody would know how it ended.
    let end = if run.time.fits(run.store.now()) {
        let to = &leased.lead.cellphone;
        let call = Call { channel: &channel, token: &token, to, what: &what, answers: None };
        run.provider.send(call).await.end()
    } else {
        End::NotCalled
    };
    ended(run, leased, Some(opening.message), end).await
}

async fn ended<P>(
    run: &Run<'_, P>,
    leased: &LeasedLead,
    message: Option<Message>,
    end: End,
) -> Result<(), StoreError> {
    let jitter = Jitter::of(&leased.lease);
    let (next, word) = leased.lead.ended(end, &run.rules.schedule, jitter, run.store.now());
    recorded(run, leased, message, next, word).await
}

/// Writes down how the lead stands now, together with what that says of its message, and gives it back: for as long as
/// there is time. What is not recorded is UNKNOWN to whoever comes next.
async fn recorded<P>(
    run: &Run<'_, P>,
    leased: &LeasedLead,
    mut message: Option<Message>,
    next: Lead,
    word: LeadWord,
) -> Result<(), StoreError> {
    let step = match next.state.is_final() {
        true => LeadStep::Ends,
        false => LeadStep::Waits(next.progress.next_at.unwrap_or_else(|| run.store.now())),
    };
    loop {
        let now = run.store.now();
        let said = message.as_ref().and_then(|message| word.of(message, now));
        let both = message.as_ref().zip(said.as_ref());
        match run.store.record_lead(leased, &next, both, step, run.time.left(now)).await? {
            LeadRecorded::Done => break,
            LeadRecorded::Stale => message = message_of(run, &next).await?,
            LeadRecorded::Lost => {
                lost(&next);
                return Ok(());
            }
        }
    }
    told(&next);
    counted(&run.counted, &leased.lead, &next);
    if let LeadStep::Waits(at) = step {
        wake_again(run, &next, at.since(run.store.now())).await;
    }
    Ok(())
}

async fn message_of<P>(run: &Run<'_, P>, lead: &Lead) -> Result<Option<Message>, StoreError> {
    run.store.message(lead.workspace_id, lead.conversation, lead.message).await
}

/// Queues a lead for when it is due, if that is soon; later, and if it cannot be queued, the sweeper does.
async fn wake_again<P>(run: &Run<'_, P>, lead: &Lead, after: Duration) {
    if after > LONGEST_DELAY {
        return;
    }
    let task = LeadTask { workspace_id: lead.workspace_id, lead_id: lead.id };
    if let Err(error) = run.queue.enqueue(&[task.wake(after)]).await {
        tracing::warn!(lead = %lead.id, cause = causes(&error), "lead not queued, left to the sweeper");
    }
}

fn lost(lead: &Lead) {
    tracing::warn!(workspace = %lead.workspace_id, lead = %lead.id, "lead lost, left to whoever has it");
}

/// Counts a lead by how it stands now. One that waits as it did before was not tried.
fn counted(sends: &Sends, before: &Lead, now: &Lead) {
    match now.state {
        LeadState::Queued | LeadState::Sending if now.progress == before.progress => {}
        LeadState::Queued | LeadState::Sending => sends.sends_retried.add(1),
        LeadState::Sent => sends.sends_accepted.add(1),
        LeadState::Failed => sends.sends_failed.add(1),
        LeadState::Unknown => sends.sends_unknown.add(1),
        // Nobody tried: it is not to be sent any more.
        LeadState::Suppressed => {}
    }
}

/// One line for each lead that is looked at.
fn told(lead: &Lead) {
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
