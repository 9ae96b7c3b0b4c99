//! What operators and tenants do with leads: the list, newest first, and the retry.

use domain::{AuditAction, Author, LaneId, Lead, LeadState, Timestamp, WorkspaceId};

use crate::dynamodb::item::{Item, PK, SK, n, s, text};
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

/// Which leads are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeadFilter<'a> {
    /// Only leads in one of these states; in any of them if there are none.
    pub states: &'a [LeadState],
    /// Only leads with one of these errors; also those without an error if there are none.
    pub errors: &'a [String],
    /// Only leads that were accepted at this time or later.
    pub since: Option<Timestamp>,
    /// Only leads that were accepted before this time.
    pub until: Option<Timestamp>,
    /// The maximum number of reads of the list if it filters by state or error, of up to [`Store::MOST_SEARCHED`] rows each;
    /// without a maximum if absent. A page can then be short and still have a next one.
    pub reads: Option<usize>,
}

impl LeadFilter<'_> {
    /// What the index of all leads tells of the states: it shows some of them and no others.
    fn on_index(&self) -> OnIndex {
        match self.states {
            [] => OnIndex::Any,
            states if states.iter().all(|state| is_indexed(*state)) => OnIndex::Shown,
            states if !states.iter().any(|state| is_indexed(*state)) => OnIndex::NotShown,
            _ => OnIndex::Any,
        }
    }

    fn keeps(&self, lead: &Lead) -> bool {
        let has_error = |error: &String| lead.error.as_ref().is_some_and(|of| of.as_str() == error);
        (self.states.is_empty() || self.states.contains(&lead.state))
            && (self.errors.is_empty() || self.errors.iter().any(has_error))
    }
}

/// How the index of all leads helps with a filter by state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnIndex {
    /// It contains the wanted states.
    Shown,
    /// It contains none of the wanted states. So the leads themselves are filtered.
    NotShown,
    /// It does not help.
    Any,
}

impl Store {
    /// The maximum number of leads of a page.
    pub const MOST_LEADS: u16 = 100;
    /// The maximum number of rows in one read of the list.
    pub const MOST_SEARCHED: usize = 1_000;

    /// At most `limit` (1 to [`Store::MOST_LEADS`]) leads of a workspace after `from`, newest first. The index is eventually
    /// consistent, so a lead that was accepted a moment ago may be missing, and a page may have fewer leads. Two round trips;
    /// two more for each further read, if few leads fit the filter.
    pub async fn leads(
        &self,
        workspace: WorkspaceId,
        filter: LeadFilter<'_>,
        from: Option<&str>,
        limit: u16,
    ) -> Result<LeadPage, StoreError> {
        let limit = usize::from(limit.clamp(1, Self::MOST_LEADS));
        let searches = !filter.states.is_empty() || !filter.errors.is_empty();
        let mut reads = filter.reads.filter(|_| searches).unwrap_or(usize::MAX);
        let (mut leads, mut after, mut wanted) = (vec![], from.map(str::to_owned), 0);
        loop {
            // One more lead than the page has shows whether others follow. If few leads fit, more of them are read at once.
            wanted = (limit + 1 - leads.len()).max(wanted);
            let (places, next) = self.lead_places(workspace, &filter, after.as_deref(), wanted).await?;
            let rows = self.rows_at(&places).await?.into_items();
            let mut found = rows.map(lead).collect::<Result<Vec<_>, _>>()?;
            found.retain(|lead| filter.keeps(lead));
            found.sort_by_key(LeadPage::behind);
            leads.append(&mut found);
            after = next;
            reads = reads.saturating_sub(1);
            if leads.len() > limit || after.is_none() || reads == 0 {
                break;
            }
            wanted = Self::MOST_LEADS.into();
        }
        if leads.len() > limit {
            leads.truncate(limit);
            after = leads.last().map(LeadPage::behind);
        }
        Ok(LeadPage { leads, next: after })
    }

    /// The places of at most `most` leads after `from`, newest first, which can fit the filter, and where the next read begins.
    /// One round trip.
    async fn lead_places(
        &self,
        workspace: WorkspaceId,
        filter: &LeadFilter<'_>,
        from: Option<&str>,
        most: usize,
    ) -> Result<(Vec<Place>, Option<String>), StoreError> {
        let Some((from, to)) = keys::newest_first_within(from, filter.since, filter.until) else {
            return Ok((vec![], None));
        };
        let mut query = Query::by(Table::Leads, Some("byTime"), "timePk", keys::leads_by_time(workspace))
            .range("timeSk BETWEEN :from AND :to")
            .bind(":from", s(from))
            .bind(":to", s(to));
        query = match filter.on_index() {
            OnIndex::Any => query.limit(most),
            OnIndex::NotShown => query
                .filter("attribute_not_exists(#state)")
                .name("#state", "state")
                .limit(most.max(Self::MOST_LEADS.into())),
            OnIndex::Shown => {
                let names: Vec<String> = (0..filter.states.len()).map(|n| format!(":state{n}")).collect();
                let query = query.filter(format!("#state IN ({})", names.join(", "))).name("#state", "state");
                let bound = names.into_iter().zip(filter.states);
                bound
                    .fold(query, |query, (name, state)| query.bind(name, s(state.as_str())))
                    .limit(Self::MOST_SEARCHED)
            }
        };
        let mut page = self.query(query).await?;
        let cut = page.items.len() > most;
        page.items.truncate(most);
        let last = if cut { page.items.last() } else { page.next.as_ref() };
        let next = last.map(|last| text(last, "timeSk").to_owned());
        let place = |item: &Item| Place::of(Table::Leads, (text(item, PK).to_owned(), text(item, SK)));
        Ok((page.items.iter().map(place).collect(), next))
    }

    /// Stores a lead for which somebody requested a retry ([`Lead::retried`]); it is due at once. `by` is who requested it, for
    /// the entry of the audit log; without it, none is written. Returns `false` if the lead was changed since it was read. One
    /// round trip.
    pub async fn retry_lead(
        &self,
        seen: &Lead,
        next: &Lead,
        by: Option<&Author>,
    ) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        let write = queue_again(seen, next, self.now(), &request)?;
        if let Some(by) = by {
            let entry = self.audit(by, next.workspace_id, AuditAction::LeadRetry, next.id, &[])?;
            return self.all_or_none([write, entry]).await;
        }
        match self.write(write).await? {
            Wrote::Done(_) => Ok(true),
            Wrote::Refused(found) => Ok(found.is_some_and(|found| is_written_by(&found, &request))),
        }
    }

    /// Records in the audit log that retries of several leads were requested, before the first of them. One round trip.
    pub async fn record_lead_retries(&self, workspace: WorkspaceId, by: &Author) -> Result<(), StoreError> {
        let entry = self.audit(by, workspace, AuditAction::LeadRetriesRequest, workspace, &[])?;
        self.all_or_none([entry]).await.map(drop)
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
