//! Which rows a conversation's beginning and its changes write: its home, every list's, and what comes with it.

use std::time::Duration;

use domain::conversation::{Change, Opening};
use domain::summary::Tally;
use domain::{Contact, Conversation, Timestamp};

use crate::access::idempotency::keep_answer;
use crate::contacts::plan::Plan;
use crate::conversations::row::{home_item, listed_item, lists};
use crate::dynamodb::item::key;
use crate::dynamodb::versions::changing;
use crate::dynamodb::write::{MOST_WRITES, Write};
use crate::lanes::row::{first_lane, plan_item};
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
    // The numbers of the plan's steps are taken from the beginning: what is said later is sent after them.
    let steps = opening.plan.as_ref().map_or(0, |plan| plan.steps.len() as u64);
    let due_at = opening.plan.as_ref().map(|plan| plan.created_at.plus(first_due));
    let mut writes = first_writes(new, steps, Tally::default(), due_at, request_id)?;
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

/// The writes of a conversation that is not there yet, home first, with its lane, in which `seq` numbers are taken, some
/// of them by messages that there are already, and which is looked after from `due_at` on.
pub(crate) fn first_writes(
    new: &Conversation,
    seq: u64,
    tally: Tally,
    due_at: Option<Timestamp>,
    request_id: &str,
) -> Result<Vec<Write>, StoreError> {
    let home = Write::put(Table::Conversations, home_item(new, request_id)?).when_absent();
    let mut writes = with_lists(home, &[], new)?;
    let lane = first_lane(new.workspace_id, new.id, seq, tally, due_at, request_id)?;
    writes.push(Write::put(Table::Messages, lane));
    Ok(writes)
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
/// written it already ([`crate::dynamodb::write::is_by`]).
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

#[cfg(test)]
mod tests {
    use domain::onboarding::Requested;
    use domain::template::Parameters;
    use domain::{
        BrandId, Cellphone, ChannelId, ContactId, ContactRef, ConversationId, ConversationStatus, Email,
        External, Internal, OnboardingPlan, TemplateId, UserId, UserRef, WorkspaceId,
    };
    use uuid::Uuid;

    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::nil())
    }

    /// Between customers and agents of these numbers.
    fn between(
        customers: impl IntoIterator<Item = u128>,
        agents: impl IntoIterator<Item = u128>,
    ) -> Conversation {
        let external = |n| {
            let contact = ContactId::from_uuid(Uuid::from_u128(n));
            External {
                contact,
                shown: ContactRef::Id(contact),
                channel: ChannelId::parse("1045551234567").unwrap(),
                brand: BrandId::parse("brand").unwrap(),
                joined_at: AT,
                last_seen_at: None,
            }
        };
        let internal = |n| {
            let user = UserId::from_uuid(Uuid::from_u128(n));
            Internal { user, shown: UserRef::Id(user), joined_at: AT, last_seen_at: None }
        };
        Conversation {
            id: ConversationId::from_uuid(Uuid::from_u128(7)),
            workspace_id: workspace(),
            name: None,
            status: ConversationStatus::Active,
            externals: customers.into_iter().map(external).collect(),
            internals: agents.into_iter().map(internal).collect(),
            created_at: AT,
            updated_at: AT,
            list_shard: 0,
            version: 1,
        }
    }

    /// Customers who were no contacts, each with as many rows as there can be of one.
    fn strangers(by_email: usize, by_phone: usize) -> Vec<Contact> {
        let blank = |n: usize| {
            let id = ContactId::from_uuid(Uuid::from_u128(1_000 + n as u128));
            Contact::blank(id, workspace(), AT)
        };
        let email = |n: usize| Contact {
            email: Email::parse(&format!("a{n}.b{n}.c{n}.d{n}.e{n}@f{n}.g{n}.io")).ok(),
            ..blank(n)
        };
        let phone = |n: usize| Contact {
            cellphone: Cellphone::parse(&format!("+49151123450{n:02}")).ok(),
            ..blank(50 + n)
        };
        (0..by_email).map(email).chain((0..by_phone).map(phone)).collect()
    }

    #[test]
    fn no_beginning_needs_more_writes_than_a_transaction_takes() {
        let rows = [
            // Customers, agents, of the customers new by e-mail and by phone, templates, a key; writes.
            (1, 0, (0, 0), 0, false, 4),
            (1, 1, (0, 1), 1, true, 4 + 1 + 5 + 2),
            (10, 20, (0, 0), 0, false, 33),
            (10, 20, (0, 10), 10, true, 33 + 50 + 2),
            (10, 20, (5, 5), 10, true, 33 + 55 + 2),
            (10, 20, (10, 0), 10, true, 33 + 60 + 2),
        ];
        for (customers, agents, (by_email, by_phone), templates, keyed, expected) in rows {
            let conversation = between(1..=customers, 101..=100 + agents);
            let step = Requested {
                template: TemplateId::from_uuid(Uuid::from_u128(9)),
                parameters: Parameters::new(),
            };
            let plan = (templates > 0).then(|| OnboardingPlan {
                workspace_id: workspace(),
                conversation: conversation.id,
                recipients: conversation.recipients(),
                steps: vec![step; templates],
                done: 0,
                created_at: AT,
            });
            let opening = Opening { conversation, strangers: strangers(by_email, by_phone), plan };
            let once =
                Once { route: "conversations", key_sha256_hex: "0".repeat(64), fingerprint: "0".repeat(64) };
            let once = keyed.then_some((&once, "the answer"));
            let writes = opening_writes(&opening, 1, Duration::ZERO, once, "r").unwrap().writes.len();
            assert_eq!(writes, expected, "{customers} {agents} {by_email} {by_phone}");
            assert!(writes <= MOST_WRITES);
        }
    }

    #[test]
    fn no_change_needs_more_writes_than_a_transaction_takes_or_it_is_said_what_would_fit() {
        let (few, many) = (1..=1, 1..=10);
        let rows = [
            // Customers and agents before and after, of the customers new by e-mail and by phone; writes or room.
            ((few.clone(), 0..0), (few.clone(), 0..0), (0, 0), Ok(3)),
            ((few.clone(), 101..102), (few.clone(), 101..102), (0, 0), Ok(4)),
            ((many.clone(), 101..121), (many.clone(), 101..121), (0, 0), Ok(32)),
            // Everybody leaves and others come.
            ((many.clone(), 101..121), (11..=20, 201..221), (0, 0), Ok(62)),
            ((many.clone(), 101..121), (11..=20, 201..221), (0, 7), Ok(62 + 35)),
            ((many.clone(), 101..121), (11..=20, 201..221), (6, 0), Ok(62 + 36)),
            ((many.clone(), 101..121), (11..=20, 201..221), (0, 8), Err(6)),
            ((many.clone(), 101..121), (11..=20, 201..221), (7, 0), Err(6)),
            ((many.clone(), 101..121), (11..=20, 201..221), (10, 0), Err(6)),
            // Those who are added to the others who stay.
            ((few, 101..121), (many, 101..121), (9, 0), Ok(32 + 54)),
        ];
        for ((customers, agents), (later_customers, later_agents), (by_email, by_phone), expected) in rows {
            let old = between(customers, agents);
            let conversation = Conversation { version: 2, ..between(later_customers, later_agents) };
            let change = Change { conversation, strangers: strangers(by_email, by_phone) };
            let writes = change_writes(&old, &change, 1, "r").unwrap();
            assert_eq!(writes.map(|writes| writes.len()), expected, "{old:?} {change:?}");
        }
    }

    #[test]
    fn what_there_is_said_to_be_room_for_fits() {
        for stranger in strangers(1, 1) {
            let writes = Plan::create(&stranger, 1, "r").unwrap().writes.len();
            assert_eq!(writes, if stranger.email.is_some() { MOST_OF_STRANGER } else { 5 });
        }
    }
}
