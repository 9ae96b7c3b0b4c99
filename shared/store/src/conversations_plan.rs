//! Which rows a conversation's beginning and its changes write: its home, every list's, and what comes with it.

use std::time::Duration;

use domain::conversation::{Change, Opening};
use domain::{Contact, Conversation};

use crate::contacts_plan::Plan;
use crate::conversations_row::{home_item, listed_item, lists};
use crate::item::key;
use crate::lanes_row::{first_lane, plan_item};
use crate::once::keep_answer;
use crate::rows::changing;
use crate::transact::{MOST_WRITES, Write};
use crate::{Once, StoreError, Table, keys};

/// The writes of a conversation that is not there yet. Its home's is the first.
pub(crate) struct OpeningPlan {
    pub(crate) writes: Vec<Write>,
    /// Which of them keeps the answer under an idempotency key.
    pub(crate) once: Option<usize>,
}

/// The most writes that make a contact of a phone number or an e-mail address: the contact, its identity, and for an
/// address four terms by which it is found.
const MOST_OF_STRANGER: usize = 6;

/// The writes of a conversation with all that comes with it; new contacts stand in lists spread over `shards`.
pub(crate) fn opening_writes(
    opening: &Opening,
    shards: u8,
    first_due: Duration,
    once: Option<(&Once, &str)>,
    request_id: &str,
) -> Result<OpeningPlan, StoreError> {
    let new = &opening.conversation;
    let home = Write::put(Table::Conversations, home_item(new, request_id)?).when_absent();
    let mut writes = with_lists(home, &[], new)?;

    // The numbers of the plan's steps are taken from the beginning: what is said later is sent after them.
    let steps = opening.plan.as_ref().map_or(0, |plan| plan.steps.len() as u64);
    let due_at = opening.plan.as_ref().map(|plan| plan.created_at.plus(first_due));
    let lane = first_lane(new.workspace_id, new.id, steps, due_at, request_id)?;
    writes.push(Write::put(Table::Messages, lane));
    if let Some(plan) = &opening.plan {
        writes.push(Write::put(Table::Messages, plan_item(plan, request_id)?));
    }

    let answer_at = once.map(|_| writes.len());
    if let Some((once, answer)) = once {
        let workspace = new.workspace_id;
        writes.push(keep_answer(Table::Conversations, workspace, once, answer, new.created_at)?);
    }
    writes.extend(strangers_writes(&opening.strangers, shards, request_id)?);
    Ok(OpeningPlan { writes, once: answer_at })
}

/// The writes of a change with the contacts that come with it, home first; or, when they are too many for one
/// transaction, how many contacts there would surely be room for.
pub(crate) fn change_writes(
    old: &Conversation,
    change: &Change,
    shards: u8,
    request_id: &str,
) -> Result<Result<Vec<Write>, usize>, StoreError> {
    let mut writes = conversation_writes(old, &change.conversation, request_id)?;
    let room = MOST_WRITES.saturating_sub(writes.len()) / MOST_OF_STRANGER;
    writes.extend(strangers_writes(&change.strangers, shards, request_id)?);
    Ok(if writes.len() > MOST_WRITES { Err(room) } else { Ok(writes) })
}

/// The writes of the conversation `old` becoming `new`, to stand in one transaction, whatever else does. Its home's is
/// the first, and the only one with a condition: refused, the conversation is not `old` any more, or `request_id` has
/// written it already ([`crate::transact::is_by`]).
pub(crate) fn conversation_writes(
    old: &Conversation,
    new: &Conversation,
    request_id: &str,
) -> Result<Vec<Write>, StoreError> {
    let (before, after) = (home_item(old, "")?, home_item(new, request_id)?);
    with_lists(changing(Table::Conversations, &before, &after, old.version), &lists(old), new)
}

/// The home's write, and after it those of the lists: of all in which it stands now, and of those that it left.
fn with_lists(home: Write, before: &[String], new: &Conversation) -> Result<Vec<Write>, StoreError> {
    let after = lists(new);
    let mut writes = vec![home];
    for list in &after {
        writes.push(Write::put(Table::Conversations, listed_item(new, list)?));
    }
    for left in before.iter().filter(|list| !after.contains(list)) {
        let sk = keys::newest_first(new.created_at, new.id);
        writes.push(Write::delete(Table::Conversations, key(left, sk)));
    }
    Ok(writes)
}

fn strangers_writes(strangers: &[Contact], shards: u8, request_id: &str) -> Result<Vec<Write>, StoreError> {
    let plans = strangers.iter().map(|stranger| Plan::create(stranger, shards, request_id));
    Ok(plans.collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(|plan| plan.writes).collect())
}
