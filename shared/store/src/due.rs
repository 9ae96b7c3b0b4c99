//! What is due: the sparse index `due` of tables whose rows are worked on under leases, and claims on it.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{ConversationId, DeliveryId, LeadId, Timestamp, WorkspaceId};

use crate::item::{Item, PK, SK, key, n, s, text};
use crate::transact::{Write, Wrote, is_by};
use crate::{Store, StoreError, Table, keys};

/// A row of a due index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRow<Id> {
    workspace: WorkspaceId,
    id: Id,
    at: Timestamp,
}

/// A delivery that is due.
pub type Due = DueRow<DeliveryId>;
/// A conversation whose lane is due.
pub type DueLane = DueRow<ConversationId>;
/// A lead that is due.
pub type DueLead = DueRow<LeadId>;

/// Why a row was due that was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Its time had come.
    Planned,
    /// Its time came before, and nobody did the work: its queue message was lost, or its worker died.
    Rescued,
}

impl<Id: Copy> DueRow<Id> {
    /// Whose it is.
    pub fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    /// What is due.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Why it is due, if its work was planned for that moment: what is due later than that is so because nobody came.
    pub fn planned_for(&self, moment: Option<Timestamp>) -> Claim {
        if moment.is_some_and(|moment| moment >= self.at) { Claim::Planned } else { Claim::Rescued }
    }
}

impl Store {
    /// How many parts each due index has.
    pub const DUE_SHARDS: u8 = keys::DUE_SHARDS;

    /// Rows of one part of a table's due index that are due, the longest overdue first, at most `limit`; `read` says
    /// whose a partition is. The index lags a moment behind. What `read` does not know is logged and passed over. One
    /// trip.
    pub(crate) async fn due_rows<Id>(
        &self,
        table: Table,
        shard: u8,
        limit: u16,
        read: fn(&str) -> Option<(WorkspaceId, Id)>,
    ) -> Result<Vec<DueRow<Id>>, StoreError> {
        let answer = self
            .db
            .query()
            .table_name(self.tables.name(table))
            .index_name("due")
            .key_condition_expression("dueShard = :shard AND dueAt <= :now")
            .expression_attribute_values(":shard", s(keys::due(shard)))
            .expression_attribute_values(":now", n(self.now().as_millis()))
            .limit(i32::from(limit))
            .send()
            .await?;
        let due = |item: &Item| {
            let (workspace, id) = read(text(item, PK))?;
            Some(DueRow { workspace, id, at: Timestamp::from_millis(millis(item.get("dueAt")?)) })
        };
        let items = answer.items.unwrap_or_default();
        let read = |item: &Item| {
            let due = due(item);
            if due.is_none() {
                let (cause, table) = (unreadable(item, "its key is of another kind"), table.suffix());
                tracing::error!(%cause, table, "due index entry passed over");
            }
            due
        };
        Ok(items.iter().filter_map(read).collect())
    }

    /// Claims a due row for queueing: it is not due again before `until`. Of several who ask one gets it; nobody gets
    /// one that was worked on since it was listed. The row as it is now. One trip.
    pub(crate) async fn claim_row<Id>(
        &self,
        table: Table,
        (pk, sk): (String, &str),
        due: &DueRow<Id>,
        until: Timestamp,
    ) -> Result<Option<Item>, StoreError> {
        let request = self.ids.next().to_string();
        let write = Write::update(table, key(pk, sk), "SET dueAt = :until, lastRequest = :request")
            .when("dueAt = :seen")
            .bind(":request", s(&request))
            .bind(":until", n(until.as_millis()))
            .bind(":seen", n(due.at.as_millis()))
            .returning_new();
        Ok(match self.write(write).await? {
            Wrote::Done(item) => Some(item),
            Wrote::Refused(found) => found.filter(|found| is_by(found, &request)),
        })
    }
}

/// A number attribute; 0 if it is none.
pub(crate) fn millis(value: &AttributeValue) -> i64 {
    value.as_n().ok().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// A row of an index that says nothing.
pub(crate) fn unreadable(item: &Item, reason: &str) -> StoreError {
    let key = format!("{} / {}", text(item, PK), text(item, SK));
    StoreError::Unreadable { key, reason: reason.to_owned() }
}
