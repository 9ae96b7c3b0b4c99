//! Leads as operators look at them: the newest first, and tried once more.

use domain::{LaneId, Lead, LeadState, WorkspaceId};

use crate::dynamodb::item::{PK, SK, key, n, s, text};
use crate::dynamodb::versions::changing;
use crate::dynamodb::write::{Wrote, is_by};
use crate::leads::row::{is_indexed, lead, lead_item};
use crate::{Store, StoreError, Table, keys};

/// Some leads, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadPage {
    /// The leads.
    pub leads: Vec<Lead>,
    /// Where the next page begins; `None` behind the last.
    pub next: Option<String>,
}

impl LeadPage {
    /// Where the page begins whose first lead is the one after this one.
    pub fn behind(lead: &Lead) -> String {
        keys::newest_first(lead.created_at, lead.id)
    }
}

/// The index shows the state.
const INDEXED: &str = "#state = :state";
/// The index shows the state only for rows of releases before `stage`. The rows themselves tell the others apart.
const NOT_INDEXED: &str = "attribute_not_exists(#state) OR #state = :state";

impl Store {
    /// The greatest number of leads of a page.
    pub const MOST_LEADS: u16 = 100;

    /// At most `limit` (1 to [`Store::MOST_LEADS`]) of a workspace's leads, of one state or of all, the newest first,
    /// behind `from`. The list lags a moment behind, so that a page may hold fewer; a page of leads that are QUEUED,
    /// SENDING or SENT also leaves out those of the other two states. Two trips; more where few are of that state.
    pub async fn leads(
        &self,
        workspace: WorkspaceId,
        state: Option<LeadState>,
        from: Option<&str>,
        limit: u16,
    ) -> Result<LeadPage, StoreError> {
        let limit = limit.clamp(1, Self::MOST_LEADS);
        let (mut places, mut after) = (vec![], from.map(str::to_owned));
        loop {
            let query = self
                .db
                .query()
                .table_name(self.tables.name(Table::Leads))
                .index_name("byTime")
                .key_condition_expression("timePk = :workspace AND timeSk > :after")
                .expression_attribute_values(":workspace", s(keys::leads_by_time(workspace)))
                .expression_attribute_values(":after", s(after.clone().unwrap_or_else(|| "0".to_owned())))
                .limit(i32::from(Self::MOST_LEADS));
            let query = match state {
                None => query,
                Some(state) => query
                    .filter_expression(if is_indexed(state) { INDEXED } else { NOT_INDEXED })
                    .expression_attribute_names("#state", "state")
                    .expression_attribute_values(":state", s(state.as_str())),
            };
            let answer = query.send().await?;
            let more = answer.last_evaluated_key;
            for item in answer.items.unwrap_or_default() {
                places.push((text(&item, "timeSk").to_owned(), key(text(&item, PK), text(&item, SK))));
            }
            after = more.as_ref().map(|last| text(last, "timeSk").to_owned());
            if places.len() >= usize::from(limit) || after.is_none() {
                break;
            }
        }
        let cut = places.len() > usize::from(limit);
        places.truncate(usize::from(limit));
        let next = if cut { places.last().map(|(place, _)| place.clone()) } else { after };
        let rows = self.batch_items(Table::Leads, places.into_iter().map(|(_, key)| key).collect()).await?;
        let mut leads = rows.into_iter().map(lead).collect::<Result<Vec<_>, _>>()?;
        leads.retain(|lead| state.is_none_or(|state| lead.state == state));
        leads.sort_by_key(|lead| keys::newest_first(lead.created_at, lead.id));
        Ok(LeadPage { leads, next })
    }

    /// Stores a lead that an operator wants tried once more ([`Lead::retried`]), due at once; `false` when it is no
    /// longer as it was read. One trip.
    pub async fn retry_lead(&self, seen: &Lead, next: &Lead) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        let before = lead_item(seen, "")?;
        let mut after = lead_item(next, &request)?;
        after.insert("dueShard".to_owned(), s(keys::due_shard(&LaneId::Lead(next.workspace_id, next.id))));
        after.insert("dueAt".to_owned(), n(self.now().as_millis()));
        match self.write(changing(Table::Leads, &before, &after, seen.version)).await? {
            Wrote::Done(_) => Ok(true),
            Wrote::Refused(found) => Ok(found.is_some_and(|found| is_by(&found, &request))),
        }
    }
}
