//! The audit logs of workspaces. An entry is written in the transaction of its change, and never changed.

use std::fmt::Display;

use domain::{
    Actor, AuditAction, AuditEntry, AuditEntryId, AuditFilter, Author, Timestamp, Unfit, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{SK, expiring, read, row, s, text};
use crate::dynamodb::paging::{Hit, Hits, Page};
use crate::dynamodb::read::Query;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// The maximum number of rows that a filtered page reads.
const MAX_ROWS: usize = 1_000;

impl Store {
    /// A page of the audit log, newest first. `after` is a position: [`Page::next`] of the previous page, or
    /// [`audit_position`]. A page with a filter other than times reads at most 1,000 entries, so it can be short and still
    /// have a next one. One round trip.
    pub async fn audit_log(
        &self,
        workspace: WorkspaceId,
        only: &AuditFilter,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Page<AuditEntry>, StoreError> {
        let Some((from, to)) = keys::newest_first_within(after, only.since, only.until) else {
            return Ok(Page { items: vec![], next: None });
        };
        let mut query = Query::of(Table::Audit, keys::audit_log(workspace)).between(from, to);
        let mut filter = vec![];
        for (attribute, wanted) in [
            ("action", only.action.map(AuditAction::as_str)),
            ("actorId", only.actor.as_deref()),
            ("subject", only.subject.as_deref()),
        ] {
            let Some(wanted) = wanted else { continue };
            query = query.name(&format!("#{attribute}"), attribute).bind(format!(":{attribute}"), s(wanted));
            filter.push(format!("#{attribute} = :{attribute}"));
        }
        let query = match filter.is_empty() {
            true => query.limit(page_size + 1),
            false => query.filter(filter.join(" AND ")).limit(MAX_ROWS),
        };
        let found = self.query(query).await?;
        let read_up_to = found.next.as_ref().map(|last| text(last, SK).to_owned());
        let hits = found.items.into_iter().map(|item| {
            let position = text(&item, SK).to_owned();
            Ok(Hit { row: read::<AuditEntry>(item)?, position })
        });
        let Hits { hits, next } = Hits::of(hits.collect::<Result<_, StoreError>>()?, page_size, read_up_to);
        Ok(Page { items: hits.into_iter().map(|hit| hit.row).collect(), next })
    }

    /// Part of the transaction of a change: its entry in the audit log. Two write units.
    pub(crate) fn audit(
        &self,
        by: &Author,
        workspace: WorkspaceId,
        action: AuditAction,
        subject: impl Display,
        fields: &[&str],
    ) -> Result<Write, StoreError> {
        let entry = AuditEntry {
            id: AuditEntryId::generate(self.ids()),
            workspace_id: workspace,
            at: self.now(),
            author: by.clone(),
            action,
            subject: subject.to_string(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        };
        let row = row(keys::audit_entry(workspace, entry.at, entry.id), "auditEntry", &entry)?;
        // The id is new, so there is no such row.
        Ok(Write::put(Table::Audit, expiring(row, entry.at, Some(AuditEntry::KEPT))))
    }
}

/// The position after this entry, from which a list continues.
pub fn audit_position(entry: &AuditEntry) -> String {
    keys::newest_first(entry.at, entry.id)
}

/// `W` / the complement of the time, then the entry's id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AuditEntry", rename_all = "camelCase")]
struct AuditRow {
    #[serde(with = "fields::text")]
    id: AuditEntryId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    at: Timestamp,
    #[serde(flatten, with = "fields::Shaped::<AuthorFields>")]
    author: Author,
    #[serde(with = "fields::text")]
    action: AuditAction,
    subject: String,
    fields: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorFields {
    actor_type: String,
    actor_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor_subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

impl From<&Author> for AuthorFields {
    fn from(Author { actor, request_id }: &Author) -> Self {
        Self {
            actor_type: actor.kind().to_owned(),
            actor_id: actor.id(),
            actor_subject: actor.subject().map(str::to_owned),
            request_id: request_id.clone(),
        }
    }
}

impl TryFrom<AuthorFields> for Author {
    type Error = Unfit;

    fn try_from(stored: AuthorFields) -> Result<Self, Unfit> {
        let actor = Actor::parse(&stored.actor_type, &stored.actor_id, stored.actor_subject)?;
        Ok(Self { actor, request_id: stored.request_id })
    }
}

stored! { AuditEntry = AuditRow }
