//! Which rows a change of a conversation writes: its home, under the version that was read, and with it every list's.

use domain::Conversation;

use crate::conversations_row::{home_item, listed_item, lists};
use crate::item::key;
use crate::rows::changing;
use crate::transact::Write;
use crate::{StoreError, Table, keys};

/// The writes of a conversation that is not there yet. Its home's is the first.
pub(crate) fn create_writes(new: &Conversation, request_id: &str) -> Result<Vec<Write>, StoreError> {
    let home = Write::put(Table::Conversations, home_item(new, request_id)?).when_absent();
    with_lists(home, &[], new)
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
