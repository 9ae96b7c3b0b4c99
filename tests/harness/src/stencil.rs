//! Thousands of conversations: more than a test can create one by one.

use domain::{Conversation, Timestamp};
use serde_json::Value;
use store::Table;

use crate::TestDb;

/// The rows that the store wrote for one conversation, as a pattern for the rows of similar conversations.
pub struct Stencil {
    original: Conversation,
    rows: String,
}

impl Stencil {
    /// Takes the rows of a new, unchanged conversation whose partition keys contain the text `kept`.
    pub fn of(db: &TestDb, original: &Conversation, kept: &str) -> Self {
        let mut rows = db.rows(Table::Conversations);
        let id = original.id.to_string();
        rows.retain(|row| {
            row.to_string().contains(&id) && row["pk"]["S"].as_str().is_some_and(|pk| pk.contains(kept))
        });
        Self { original: original.clone(), rows: Value::from(rows).to_string() }
    }

    /// The rows that the store would write for `other`. It may differ from the original only in its id, its timestamps,
    /// its status, its list shard and its participants.
    pub fn rows(&self, other: &Conversation) -> Vec<Value> {
        let of = &self.original;
        let mut differences = vec![
            (of.id.to_string(), other.id.to_string()),
            (sort_key_prefix(of.created_at), sort_key_prefix(other.created_at)),
            (of.created_at.to_string(), other.created_at.to_string()),
            // The status occurs at the end of a key and as a value.
            (format!("{}\"", of.status.as_str()), format!("{}\"", other.status.as_str())),
            (format!("#A#{}", of.list_shard), format!("#A#{}", other.list_shard)),
            (shard(of.list_shard), shard(other.list_shard)),
        ];
        let contacts = of.externals.iter().zip(&other.externals);
        differences.extend(contacts.map(|(of, other)| (of.contact.to_string(), other.contact.to_string())));
        let users = of.internals.iter().zip(&other.internals);
        differences.extend(users.map(|(of, other)| (of.user.to_string(), other.user.to_string())));

        let same = |rows: String, (from, to): &(String, String)| {
            if from == to { rows } else { rows.replace(from, to) }
        };
        let rows = differences.iter().fold(self.rows.clone(), same);
        serde_json::from_str(&rows).unwrap_or_else(|error| panic!("rows of {}: {error}", other.id))
    }
}

/// The start of a sort key in a list.
fn sort_key_prefix(at: Timestamp) -> String {
    format!("\"{:013}#", 9_999_999_999_999 - at.as_millis())
}

fn shard(shard: u8) -> String {
    format!("\"listShard\":{{\"N\":\"{shard}\"}}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::conversation::Opening;
    use domain::{ConversationId, ConversationStatus, Internal, UserRef};

    use super::*;
    use crate::World;

    #[tokio::test]
    async fn a_stencil_returns_the_rows_that_the_store_writes() {
        let world = World::start().await;
        let user = world.user("agent@example.com", |_| ()).await;
        let other_user = world.user("other@example.com", |_| ()).await;
        let internal = |user| Internal {
            user,
            shown: UserRef::Id(user),
            joined_at: world.db.store().now(),
            last_seen_at: None,
        };
        let original = world.conversation(|one| one.internals = vec![internal(user.id)]).await;
        let stencil = Stencil::of(&world.db, &original, "");
        let at = original.created_at.plus(Duration::from_secs(7));
        let mut other = Conversation {
            id: ConversationId::generate(world.db.store().ids()),
            created_at: at,
            updated_at: at,
            status: ConversationStatus::NotAssignedToHuman,
            list_shard: 3,
            ..original
        };
        let contact = world.contact(|_| ()).await;
        other.externals[0] = domain::External { joined_at: at, ..World::external(contact.id, "line") };
        other.internals[0] = Internal { joined_at: at, ..internal(other_user.id) };
        let stencilled = stencil.rows(&other);

        let before = world.db.rows(Table::Conversations);
        let opening = Opening { conversation: other, new_contacts: vec![], plan: None };
        world.db.store().open_conversation(&opening, Duration::ZERO, None, "seed").await.unwrap();
        let mut written = world.db.rows(Table::Conversations);
        written.retain(|row| !before.contains(row));
        let in_order = |mut rows: Vec<Value>| {
            rows.sort_by_key(Value::to_string);
            rows
        };
        assert_eq!(written.len(), 4);
        assert_eq!(in_order(stencilled), in_order(written));
    }
}
