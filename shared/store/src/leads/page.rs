//! Operators' operations on leads: the list, newest first, and the retry.

use domain::{LaneId, Lead, LeadState, Timestamp, WorkspaceId};

use crate::dynamodb::item::{PK, SK, n, s, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::versions::diff_write;
use crate::dynamodb::write::{Write, Wrote, is_written_by};
use crate::lanes::lead::{is_indexed, lead, lead_item};
use crate::{Store, StoreError, Table, keys};

/// A page of leads, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadPage {
    /// The leads of the page.
    pub leads: Vec<Lead>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<String>,
}

impl LeadPage {
    /// The start of a page whose first lead is the one after `lead`.
    pub fn behind(lead: &Lead) -> String {
        keys::newest_first(lead.created_at, lead.id)
    }
}

/// The index contains the state.
const INDEXED: &str = "#state = :state";
/// The index does not contain the state, so the rows themselves are filtered.
const NOT_INDEXED: &str = "attribute_not_exists(#state)";

impl Store {
    /// The maximum number of leads of a page.
    pub const MOST_LEADS: u16 = 100;

    /// At most `limit` (1 to [`Store::MOST_LEADS`]) leads of a workspace after `from`, newest first, of one
    /// state or of all. The index is eventually consistent, so a page may have fewer leads. A page of leads
    /// that are QUEUED, SENDING or SENT also leaves out those of the other two states. Two round trips; more
    /// if few leads have the state.
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
            let query = Query::by(Table::Leads, Some("byTime"), "timePk", keys::leads_by_time(workspace))
                .range("timeSk > :after")
                .bind(":after", s(after.as_deref().unwrap_or("0")))
                .limit(usize::from(Self::MOST_LEADS));
            let query = match state {
                None => query,
                Some(state) if is_indexed(state) => {
                    query.filter(INDEXED).name("#state", "state").bind(":state", s(state.as_str()))
                }
                Some(_) => query.filter(NOT_INDEXED).name("#state", "state"),
            };
            let page = self.query(query).await?;
            for item in page.items {
                let place = Place::of(Table::Leads, (text(&item, PK).to_owned(), text(&item, SK)));
                places.push((text(&item, "timeSk").to_owned(), place));
            }
            after = page.next.as_ref().map(|last| text(last, "timeSk").to_owned());
            if places.len() >= usize::from(limit) || after.is_none() {
                break;
            }
        }
        let cut = places.len() > usize::from(limit);
        places.truncate(usize::from(limit));
        let next = if cut { places.last().map(|(place, _)| place.clone()) } else { after };
        let rows = self.rows_at(places.iter().map(|(_, place)| place)).await?.into_items();
        let mut leads = rows.map(lead).collect::<Result<Vec<_>, _>>()?;
        leads.retain(|lead| state.is_none_or(|state| lead.state == state));
        leads.sort_by_key(|lead| keys::newest_first(lead.created_at, lead.id));
        Ok(LeadPage { leads, next })
    }

    /// Stores a lead for which an operator requested a retry ([`Lead::retried`]); it is due at once. Returns
    /// `false` if the lead was changed since it was read. One round trip.
    pub async fn retry_lead(&self, seen: &Lead, next: &Lead) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        match self.write(queue_again(seen, next, self.now(), &request)?).await? {
            Wrote::Done(_) => Ok(true),
            Wrote::Refused(found) => Ok(found.is_some_and(|found| is_written_by(&found, &request))),
        }
    }
}

/// The write of a lead that is queued again, and due at once, in place of the one that was read.
pub(crate) fn queue_again(
    seen: &Lead,
    next: &Lead,
    now: Timestamp,
    request_id: &str,
) -> Result<Write, StoreError> {
    let before = lead_item(seen, "")?;
    let mut after = lead_item(next, request_id)?;
    after.insert("dueShard".to_owned(), s(keys::due_shard(&LaneId::Lead(next.workspace_id, next.id))));
    after.insert("dueAt".to_owned(), n(now.as_millis()));
    Ok(diff_write(Table::Leads, &before, &after, seen.version))
}
