//! Processes one conversation: its lane, and the messages to send in it.

use domain::{MessageId, OnboardingPlan, Rest, Timestamp};
use provider::Provider;
use store::{ConversationLane, Entry, Leased, Open, Outbound, StoreError};
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
        // A new text of an agent does not wait.
        Stop::TemplateWaits(at) => VisitEnd::Rest(Rest::Waits(at)),
        Stop::TimeUp => VisitEnd::Rest(Rest::TimeUp),
        Stop::Lost => VisitEnd::Lost,
    })
}

/// Sends the open messages of a lane one after another. When the next step of the onboarding plan is due, the
/// function makes its message. A template that cannot be sent for now holds the templates after it, so a sequence keeps
/// its order. It does not hold what agents write: a customer who wrote gets an answer.
async fn send_open<P: Provider>(
    invocation: &Invocation<'_, P>,
    lane: &mut ConversationLane,
) -> Result<Stop, StoreError> {
    let mut numbers = Numbers::default();
    let mut held = None;
    loop {
        let Open { mut plan, entries, more } = invocation.store.open_in(lane).await?;
        let order = in_order(plan.as_ref(), &entries);
        let mut is_shorter = false;
        for work in order {
            let is_held = held.is_some();
            let outbound = match work {
                Work::Step if is_held => continue,
                Work::Step => match make_step(invocation, lane, &mut plan, &mut numbers).await? {
                    Some(outbound) => outbound,
                    None => return Ok(Stop::Lost),
                },
                Work::Message(entry) => match invocation.store.outbound(lane, entry.message).await? {
                    Some(Outbound { message, .. }) if is_held && message.content.template().is_some() => {
                        continue;
                    }
                    Some(outbound) if outbound.message.part_at_hand().is_some() => outbound,
                    // The message is not to be sent, so no later write would remove the entry.
                    _ => {
                        tracing::error!(messageId = %entry.message, "removed an entry with nothing to send");
                        invocation.store.close_entry(lane, entry).await?;
                        continue;
                    }
                },
            };
            match part::send_all(invocation, lane, outbound, &numbers).await? {
                None => is_shorter = true,
                Some(Stop::TemplateWaits(at)) => held = Some(at),
                // The template is looked at again at its own time.
                Some(Stop::Waits(at)) => {
                    return Ok(Stop::Waits(held.map_or(at, |look: Timestamp| look.min(at))));
                }
                Some(stop) => return Ok(stop),
            }
        }
        // A page of nothing but held templates is read only once.
        if !more || (held.is_some() && !is_shorter) {
            return Ok(held.map_or(Stop::Empty, Stop::TemplateWaits));
        }
    }
}

/// Makes the next step of the plan a message. `None` if another visitor did.
async fn make_step<P>(
    invocation: &Invocation<'_, P>,
    lane: &mut ConversationLane,
    plan: &mut Option<OnboardingPlan>,
    numbers: &mut Numbers,
) -> Result<Option<Outbound>, StoreError> {
    let id = MessageId::generate(invocation.store.ids());
    let Some((message, next)) = plan.as_ref().and_then(|plan| plan.next_message(id, invocation.store.now()))
    else {
        return Ok(None);
    };
    let (made, ()) =
        tokio::join!(invocation.store.make_step(lane, &message, &next), numbers.read(invocation, &message));
    *plan = Some(next);
    made
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
fn in_order(plan: Option<&OnboardingPlan>, entries: &[Entry]) -> Vec<Work> {
    let steps = plan.into_iter().flat_map(OnboardingPlan::steps_left).map(|seq| (seq, Work::Step));
    let messages = entries.iter().map(|entry| (entry.seq, Work::Message(*entry)));
    let mut order: Vec<(u64, Work)> = steps.chain(messages).collect();
    order.sort_by_key(|(seq, _)| *seq);
    order.into_iter().map(|(_, work)| work).collect()
}
