//! One conversation: its lane, and what is to be sent in it.

use std::time::Duration;

use domain::{MessageId, OnboardingPlan, Timestamp, causes};
use provider::Provider;
use queue::{LONGEST_DELAY, Outcome, SendTask};
use store::{Entry, Lane, LaneLease, Open, StoreError};

use crate::{Run, part};

/// Sends what is due in a conversation.
pub(crate) async fn wake<P: Provider>(run: &Run<'_, P>, task: SendTask) -> Outcome {
    let lease = run.store.lease_lane(task.workspace_id, task.conversation_id, run.rules.lease);
    let sent = match lease.await {
        Ok(LaneLease::Taken(lane)) => through(run, lane).await,
        // Whoever holds it looks once more before giving it back.
        Ok(LaneLease::Held) => Ok(()),
        Ok(LaneLease::Unknown) => return Outcome::Dropped("no such conversation"),
        Err(error) => Err(error),
    };
    match sent {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Retry(error.into()),
    }
}

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

/// Works through a lane until nothing is left or something waits, and gives it back.
async fn through<P: Provider>(run: &Run<'_, P>, mut lane: Lane) -> Result<(), StoreError> {
    loop {
        let due_at = match send_open(run, &lane).await? {
            Stop::Empty => match run.store.release_lane(&lane).await? {
                None => return Ok(()),
                Some(moved) if run.time.may_begin(run.store.now()) => {
                    lane = moved;
                    continue;
                }
                Some(_) => run.store.now(),
            },
            Stop::Waits(at) => at,
            Stop::TimeUp => run.store.now(),
            Stop::Lost => {
                tracing::warn!(conversation = %lane.conversation, "lane lost, left to whoever has it");
                return Ok(());
            }
        };
        run.store.release_lane_until(&lane, due_at).await?;
        wake_again(run, &lane, due_at.since(run.store.now())).await;
        return Ok(());
    }
}

/// Queues a conversation for when it is due, if that is soon; later, and if it cannot be queued, the sweeper does.
async fn wake_again<P>(run: &Run<'_, P>, lane: &Lane, after: Duration) {
    if after > LONGEST_DELAY {
        return;
    }
    let task = SendTask { workspace_id: lane.workspace_id, conversation_id: lane.conversation };
    if let Err(error) = run.queue.enqueue(&[task.wake(after)]).await {
        let cause = causes(&error);
        tracing::warn!(conversation = %lane.conversation, cause, "wake not queued, left to the sweeper");
    }
}

/// Sends what stands open in a lane, message by message, and makes the messages of its onboarding plan as their turn
/// comes.
async fn send_open<P: Provider>(run: &Run<'_, P>, lane: &Lane) -> Result<Stop, StoreError> {
    loop {
        let open = run.store.open_in(lane).await?;
        let (order, more, mut plan) = (in_order(&open), open.more, open.plan);
        for work in order {
            let outbound = match work {
                Work::Step => {
                    let Some((message, next)) = plan.as_ref().and_then(|plan| next_step(run, plan)) else {
                        continue;
                    };
                    let made = run.store.make_step(&message, &next).await?;
                    plan = Some(next);
                    match made {
                        Some(outbound) => outbound,
                        None => return Ok(Stop::Lost),
                    }
                }
                Work::Message(entry) => match run.store.outbound(lane, entry.message).await? {
                    Some(outbound) if outbound.message.part_at_hand().is_some() => outbound,
                    // Nothing of it is to be sent, so nothing would ever remove the entry.
                    _ => {
                        tracing::error!(messageId = %entry.message, "entry without anything to send removed");
                        run.store.close_entry(lane, entry).await?;
                        continue;
                    }
                },
            };
            if let Some(stop) = part::send_all(run, lane, outbound).await? {
                return Ok(stop);
            }
        }
        if !more {
            return Ok(Stop::Empty);
        }
    }
}

/// What is to be done in a lane next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Make the next step of the plan a message, and send it.
    Step,
    /// Send a message.
    Message(Entry),
}

/// What stands open in the order of its numbers: a step that has become a message before those that have not, and all
/// of them before what callers had to say, whose numbers come after the plan's.
fn in_order(open: &Open) -> Vec<Work> {
    let steps = open.plan.iter().flat_map(OnboardingPlan::steps_left).map(|seq| (seq, Work::Step));
    let messages = open.entries.iter().map(|entry| (entry.seq, Work::Message(*entry)));
    let mut order: Vec<(u64, Work)> = steps.chain(messages).collect();
    order.sort_by_key(|(seq, _)| *seq);
    order.into_iter().map(|(_, work)| work).collect()
}

fn next_step<P>(run: &Run<'_, P>, plan: &OnboardingPlan) -> Option<(domain::Message, OnboardingPlan)> {
    plan.next_message(MessageId::generate(run.store.ids()), run.store.now())
}
