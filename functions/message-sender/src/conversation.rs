//! Processes one conversation: its lane, and the messages to send in it.

use domain::{MessageId, OnboardingPlan, Rest};
use provider::Provider;
use store::{ConversationLane, Entry, Leased, Open, StoreError};
use worker::VisitEnd;

use crate::invocation::Invocation;
use crate::part::{self, Numbers, Stop};

/// Works through a conversation's lane until no work is left or the next message waits.
pub(crate) async fn visit<P: Provider>(
    invocation: &Invocation<'_, P>,
    leased: &mut Leased,
) -> Result<VisitEnd, StoreError> {
    let Some(mut lane) = ConversationLane::of(leased) else { return Ok(VisitEnd::Lost) };
    let stop = send_open(invocation, &mut lane).await?;
    leased.state = lane.state();
    Ok(match stop {
        Stop::Empty => VisitEnd::Rest(Rest::Done),
        // New messages wait behind the current one.
        Stop::Waits(at) => VisitEnd::Rest(Rest::Closed(at)),
        Stop::TimeUp => VisitEnd::Rest(Rest::TimeUp),
        Stop::Lost => VisitEnd::Lost,
    })
}

/// Sends the open messages of a lane one after another. When the next step of the onboarding plan is due, the
/// function makes its message.
async fn send_open<P: Provider>(
    invocation: &Invocation<'_, P>,
    lane: &mut ConversationLane,
) -> Result<Stop, StoreError> {
    let mut numbers = Numbers::default();
    loop {
        let open = invocation.store.open_in(lane).await?;
        let (order, more, mut plan) = (in_order(&open), open.more, open.plan);
        for work in order {
            let outbound = match work {
                Work::Step => {
                    let Some((message, next)) = plan.as_ref().and_then(|plan| next_step(invocation, plan))
                    else {
                        continue;
                    };
                    let (made, ()) = tokio::join!(
                        invocation.store.make_step(lane, &message, &next),
                        numbers.read(invocation, &message)
                    );
                    plan = Some(next);
                    match made? {
                        Some(outbound) => outbound,
                        None => return Ok(Stop::Lost),
                    }
                }
                Work::Message(entry) => match invocation.store.outbound(lane, entry.message).await? {
                    Some(outbound) if outbound.message.part_at_hand().is_some() => outbound,
                    // The message is not to be sent, so no later write would remove the entry.
                    _ => {
                        tracing::error!(messageId = %entry.message, "removed an entry with nothing to send");
                        invocation.store.close_entry(lane, entry).await?;
                        continue;
                    }
                },
            };
            if let Some(stop) = part::send_all(invocation, lane, outbound, &numbers).await? {
                return Ok(stop);
            }
        }
        if !more {
            return Ok(Stop::Empty);
        }
    }
}

/// The next work in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Make a message of the plan's next step, and send it.
    Step,
    /// Send a message.
    Message(Entry),
}

/// The open work in the order of its numbers: first a step that is already a message, then the other steps, then the
/// callers' messages, whose numbers follow the plan's.
fn in_order(open: &Open) -> Vec<Work> {
    let steps = open.plan.iter().flat_map(OnboardingPlan::steps_left).map(|seq| (seq, Work::Step));
    let messages = open.entries.iter().map(|entry| (entry.seq, Work::Message(*entry)));
    let mut order: Vec<(u64, Work)> = steps.chain(messages).collect();
    order.sort_by_key(|(seq, _)| *seq);
    order.into_iter().map(|(_, work)| work).collect()
}

fn next_step<P>(
    invocation: &Invocation<'_, P>,
    plan: &OnboardingPlan,
) -> Option<(domain::Message, OnboardingPlan)> {
    plan.next_message(MessageId::generate(invocation.store.ids()), invocation.store.now())
}
