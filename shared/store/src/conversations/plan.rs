//! The writes for a new or changed conversation: its home row, its copies in lists, and the rows that belong
//! to it.

use std::time::Duration;

use domain::conversation::{ConversationChange, Opening};
use domain::message::summary::Tally;
use domain::{Contact, Conversation, External, Timestamp};
use serde::{Deserialize, Serialize};

use crate::contacts::plan::create_writes;
use crate::conversations::row::{ANSWER_PK, home_item, listed_item, lists};
use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{EXPIRES_AT, expiring, key, n, row, s};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::versions::diff_write;
use crate::dynamodb::write::{MAX_TRANSACTION_WRITES, Transaction, Write};
use crate::idempotency::keep_answer;
use crate::lanes::row::{first_lane, plan_item};
use crate::{IdempotencyKey, StoreError, Table, keys};

/// The role of a write in the change of a conversation. The write of the home row is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Writes the home row.
    Home,
    /// Stores the answer of an idempotency key.
    Answer,
    /// Writes a row of a new contact.
    Contact,
    /// Writes a row that belongs to the conversation. It has no condition.
    Beside,
}

/// The maximum number of writes for a new contact with only a phone number or an e-mail address: the contact,
/// its identity, and four search terms of an address.
const MAX_WRITES_OF_NEW_CONTACT: usize = 6;

/// The writes of a new conversation with everything that belongs to it. `shards` is the number of shards of
/// the list of all contacts, and `messages_kept` is how long the plan is kept at most.
pub(crate) fn opening_writes(
    opening: &Opening,
    shards: u8,
    first_due: Duration,
    messages_kept: Option<Duration>,
    once: Option<(&IdempotencyKey, &str)>,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let new = &opening.conversation;
    // The plan's steps take their numbers now, so later messages are sent after them.
    let steps = opening.plan.as_ref().map_or(0, |plan| plan.steps.len() as u64);
    let due_at = opening.plan.as_ref().map(|plan| plan.created_at.plus(first_due));
    let mut writes =
        first_writes(new, steps, Tally::default(), due_at, once.map(|(once, _)| once), request_id)?;
    if let Some(plan) = &opening.plan {
        let plan = expiring(plan_item(plan, request_id)?, plan.created_at, messages_kept);
        writes.add(Role::Beside, Write::put(Table::Messages, plan));
    }

    if let Some((once, answer)) = once {
        let workspace = new.workspace_id;
        writes.add(Role::Answer, keep_answer(Table::Conversations, workspace, once, answer, new.created_at)?);
    }
    add_new_contacts(&mut writes, &opening.new_contacts, shards, request_id)?;
    Ok(writes)
}

/// The writes of a new conversation and its lane, the home row first. In the lane, `seq` numbers are taken,
/// `tally` counts the messages that exist, and the sweeper queues the lane from `due_at` on. The home row names
/// the row of the idempotency key, whose answer shows the participants: an erasure finds it by that.
pub(crate) fn first_writes(
    new: &Conversation,
    seq: u64,
    tally: Tally,
    due_at: Option<Timestamp>,
    once: Option<&IdempotencyKey>,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let mut home = home_item(new, request_id)?;
    if let Some(IdempotencyKey { route, key_sha256_hex, .. }) = once {
        let (answer, _) = keys::idempotency_key(new.workspace_id, route, key_sha256_hex);
        home.insert(ANSWER_PK.to_owned(), s(answer));
    }
    let home = Write::put(Table::Conversations, home).when_absent();
    let mut writes = with_lists(home, &[], new)?;
    let lane = first_lane(new.workspace_id, new.id, seq, tally, due_at, request_id)?;
    writes.add(Role::Beside, Write::put(Table::Messages, lane));
    Ok(writes)
}

/// The writes of a change with its new contacts, the home row first. If they do not fit into one transaction,
/// returns the number of new contacts that certainly fits.
pub(crate) fn change_writes(
    old: &Conversation,
    change: &ConversationChange,
    shards: u8,
    request_id: &str,
) -> Result<Result<Transaction<Role>, usize>, StoreError> {
    let new = &change.conversation;
    let mut writes = conversation_writes(old, new, request_id)?;
    if old.expires_at != new.expires_at {
        writes.add(Role::Beside, lane_expiry(new));
    }
    add_leaving(&mut writes, old, new)?;
    let room = MAX_TRANSACTION_WRITES.saturating_sub(writes.len()) / MAX_WRITES_OF_NEW_CONTACT;
    add_new_contacts(&mut writes, &change.new_contacts, shards, request_id)?;
    Ok(if writes.len() > MAX_TRANSACTION_WRITES { Err(room) } else { Ok(writes) })
}

/// The lane expires with its conversation.
fn lane_expiry(new: &Conversation) -> Write {
    let expires_at = new.expires_at.map(|at| n(at.as_seconds()));
    RowUpdate::default()
        .set_or_remove(EXPIRES_AT, expires_at)
        .of(Table::Messages, key(keys::conversation_lane(new.workspace_id, new.id)))
}

/// The writes of the change from `old` to `new`, for one transaction. The write of the home row is the first
/// and the only one with a condition. It is refused if the conversation was changed since `old`, or if
/// `request_id` wrote it before ([`crate::dynamodb::write::is_written_by`]).
pub(crate) fn conversation_writes(
    old: &Conversation,
    new: &Conversation,
    request_id: &str,
) -> Result<Transaction<Role>, StoreError> {
    let (before, after) = (home_item(old, "")?, home_item(new, request_id)?);
    with_lists(diff_write(Table::Conversations, &before, &after, old.version), &lists(old), new)
}

/// A row for each customer who leaves, so that the conversation is found if the customer is erased. If the
/// conversation is to expire, one for each customer: its lists go with it, but its messages may stay.
fn add_leaving(
    writes: &mut Transaction<Role>,
    old: &Conversation,
    new: &Conversation,
) -> Result<(), StoreError> {
    let stays = |left: &External| new.externals.iter().any(|external| external.contact == left.contact);
    let expires = old.expires_at.is_none() && new.expires_at.is_some();
    let left = old.externals.iter().filter(|external| !stays(external));
    let left = left.chain(new.externals.iter().filter(|_| expires));
    for left in left {
        let pk = keys::conversations_left_by(old.workspace_id, left.contact);
        let row = row((pk, old.id.to_string()), "leftConversation", &LeftRow { left_at: new.updated_at })?;
        writes.add(Role::Beside, Write::put(Table::Conversations, row));
    }
    Ok(())
}

/// `W#F#<contact>` / conversation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeftRow {
    #[serde(with = "fields::text")]
    left_at: Timestamp,
}

stored! { LeftRow }

/// The home row's write, then a put for each list that contains the conversation, and a delete for each list
/// that it left.
fn with_lists(home: Write, before: &[String], new: &Conversation) -> Result<Transaction<Role>, StoreError> {
    let after = lists(new);
    let mut writes = Transaction::new().with(Role::Home, home);
    for list in &after {
        writes.add(Role::Beside, Write::put(Table::Conversations, listed_item(new, list)?));
    }
    for left in before.iter().filter(|list| !after.contains(list)) {
        let sk = keys::newest_first(new.created_at, new.id);
        writes.add(Role::Beside, Write::delete(Table::Conversations, key((left, sk))));
    }
    Ok(writes)
}

fn add_new_contacts(
    writes: &mut Transaction<Role>,
    new_contacts: &[Contact],
    shards: u8,
    request_id: &str,
) -> Result<(), StoreError> {
    for stranger in new_contacts {
        writes.add_all(|_| Role::Contact, create_writes(stranger, shards, request_id)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::settings::template::{Shown, TemplateContent};
    use domain::{
        BrandId, Cellphone, ChannelId, ContactId, ContactRef, ConversationId, Email, External, Internal,
        OnboardingPlan, TemplateId, UserId, UserRef, WorkspaceId,
    };
    use uuid::Uuid;

    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::nil())
    }

    /// A conversation between customers and agents with these numbers.
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
            externals: customers.into_iter().map(external).collect(),
            internals: agents.into_iter().map(internal).collect(),
            ..Conversation::blank(ConversationId::from_uuid(Uuid::from_u128(7)), workspace(), AT)
        }
    }

    /// New contacts, each with the maximum number of rows.
    fn new_contacts(by_email: usize, by_phone: usize) -> Vec<Contact> {
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
    fn every_new_conversation_fits_into_a_transaction() {
        let rows = [
            // Customers, agents, new customers by e-mail and by phone, templates, whether there is a key;
            // expected writes.
            (1, 0, (0, 0), 0, false, 4),
            (1, 1, (0, 1), 1, true, 4 + 1 + 5 + 2),
            (10, 20, (0, 0), 0, false, 33),
            (10, 20, (0, 10), 10, true, 33 + 50 + 2),
            (10, 20, (5, 5), 10, true, 33 + 55 + 2),
            (10, 20, (10, 0), 10, true, 33 + 60 + 2),
        ];
        for (customers, agents, (by_email, by_phone), templates, keyed, expected) in rows {
            let conversation = between(1..=customers, 101..=100 + agents);
            let step = TemplateContent {
                template: TemplateId::from_uuid(Uuid::from_u128(9)),
                parameters: [].into(),
                files: [].into(),
                shown: Shown { name: "hi".to_owned(), language: "es".to_owned(), category: None, text: None },
            };
            let plan = (templates > 0).then(|| OnboardingPlan {
                workspace_id: workspace(),
                conversation: conversation.id,
                recipients: conversation.recipients(),
                steps: vec![step; templates],
                done: 0,
                created_at: AT,
            });
            let opening = Opening { conversation, new_contacts: new_contacts(by_email, by_phone), plan };
            let once = IdempotencyKey {
                route: "conversations",
                key_sha256_hex: "0".repeat(64),
                fingerprint: "0".repeat(64),
            };
            let once = keyed.then_some((&once, "the answer"));
            let writes = opening_writes(&opening, 1, Duration::ZERO, None, once, "r").unwrap().len();
            assert_eq!(writes, expected, "{customers} {agents} {by_email} {by_phone}");
            assert!(writes <= MAX_TRANSACTION_WRITES);
        }
    }

    #[test]
    fn every_change_fits_into_a_transaction_or_reports_how_many_new_contacts_fit() {
        let (few, many) = (1..=1, 1..=10);
        let rows = [
            // Customers and agents before and after, new customers by e-mail and by phone; expected writes,
            // or the number of new contacts that fits.
            ((few.clone(), 0..0), (few.clone(), 0..0), (0, 0), Ok(3)),
            ((few.clone(), 101..102), (few.clone(), 101..102), (0, 0), Ok(4)),
            ((many.clone(), 101..121), (many.clone(), 101..121), (0, 0), Ok(32)),
            // All participants leave and others join. A row names each customer who left.
            ((many.clone(), 101..121), (11..=20, 201..221), (0, 0), Ok(72)),
            ((many.clone(), 101..121), (11..=20, 201..221), (0, 5), Ok(72 + 25)),
            ((many.clone(), 101..121), (11..=20, 201..221), (4, 0), Ok(72 + 24)),
            ((many.clone(), 101..121), (11..=20, 201..221), (0, 6), Err(4)),
            ((many.clone(), 101..121), (11..=20, 201..221), (5, 0), Err(4)),
            ((many.clone(), 101..121), (11..=20, 201..221), (10, 0), Err(4)),
            // New participants join, all others stay.
            ((few, 101..121), (many, 101..121), (9, 0), Ok(32 + 54)),
        ];
        for ((customers, agents), (later_customers, later_agents), (by_email, by_phone), expected) in rows {
            let old = between(customers, agents);
            let conversation = Conversation { version: 2, ..between(later_customers, later_agents) };
            let change = ConversationChange { conversation, new_contacts: new_contacts(by_email, by_phone) };
            let writes = change_writes(&old, &change, 1, "r").unwrap();
            assert_eq!(writes.map(|writes| writes.len()), expected, "{old:?} {change:?}");
        }
    }

    #[test]
    fn the_reported_number_of_new_contacts_fits() {
        for stranger in new_contacts(1, 1) {
            let writes = create_writes(&stranger, 1, "r").unwrap().len();
            assert_eq!(writes, if stranger.email.is_some() { MAX_WRITES_OF_NEW_CONTACT } else { 5 });
        }
    }
}
