//! What the provider says about lines and business accounts. The rows are apart from the settings, because a change of those makes
//! every process read them again.

use std::collections::BTreeMap;

use domain::raw::Raw;
use domain::settings::reported::{
    AccountFact, AccountReport, LineFact, LineState, Notice, Reported, Restriction, Restrictions, Synced,
};
use domain::{BusinessAccountId, ChannelId, Line, Timestamp, WorkspaceId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dynamodb::fields::{self, Stored, stored};
use crate::dynamodb::item::{Item, row};
use crate::dynamodb::read::Place;
use crate::{Store, StoreError, Table, keys};

/// The kinds of the rows.
pub(crate) const LINE_STATE: &str = "lineState";
pub(crate) const ACCOUNT_REPORT: &str = "accountReport";

impl Store {
    /// What the provider said about an account. One round trip.
    pub async fn account_report(
        &self,
        workspace: WorkspaceId,
        account: &BusinessAccountId,
    ) -> Result<Option<AccountReport>, StoreError> {
        self.get_row(Table::Workspaces, keys::account_report(workspace, account)).await
    }

    /// What the provider said about the accounts of the workspace's lines. One round trip.
    pub async fn account_reports(&self, workspace: WorkspaceId) -> Result<Vec<AccountReport>, StoreError> {
        self.partition(Table::Workspaces, keys::account_reports(workspace)).await
    }

    /// What the provider said about the workspace's lines. One round trip.
    pub async fn line_states(&self, workspace: WorkspaceId) -> Result<Vec<LineState>, StoreError> {
        self.partition(Table::Workspaces, keys::line_states(workspace)).await
    }

    /// The line with this id, and what the provider said about it. One round trip.
    pub async fn line_and_state(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Option<(Line, Option<LineState>)>, StoreError> {
        let line = Place::of(Table::Workspaces, keys::line(workspace, channel));
        let state = Place::of(Table::Workspaces, keys::line_state(workspace, channel));
        let mut rows = self.rows_at([&line, &state]).await?;
        let Some(line) = rows.read(&line)? else { return Ok(None) };
        Ok(Some((line, rows.read(&state)?)))
    }

    /// Stores the first or the next version of a line's state. Returns `false` if the previous version is not the current one. One
    /// round trip.
    pub async fn put_line_state(&self, next: &LineState) -> Result<bool, StoreError> {
        let key = keys::line_state(next.workspace_id, &next.channel);
        self.put_version(row(key, LINE_STATE, next)?, next.version).await
    }

    /// Stores the first or the next version of an account's state. Returns `false` if the previous version is not the current one.
    /// One round trip.
    pub async fn put_account_report(&self, next: &AccountReport) -> Result<bool, StoreError> {
        let key = keys::account_report(next.workspace_id, &next.id);
        self.put_version(row(key, ACCOUNT_REPORT, next)?, next.version).await
    }

    async fn put_version(&self, row: Item, version: u64) -> Result<bool, StoreError> {
        match version {
            1 => self.put_first(Table::Workspaces, row).await,
            version => self.put_next(Table::Workspaces, row, version - 1).await,
        }
    }
}

/// `W#LS` / channel.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LineState", rename_all = "camelCase")]
struct LineStateRow {
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    channel: ChannelId,
    #[serde(with = "fields::text")]
    business_account: BusinessAccountId,
    #[serde(with = "fields::map")]
    facts: BTreeMap<LineFact, Reported>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    notice: Option<Notice>,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

/// `W#BA` / account.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AccountReport", rename_all = "camelCase")]
struct AccountReportRow {
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    id: BusinessAccountId,
    #[serde(with = "fields::map")]
    facts: BTreeMap<AccountFact, Reported>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    restrictions: Option<Restrictions>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    notice: Option<Notice>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    synced: Option<Synced>,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Reported")]
struct ReportedField {
    #[serde(with = "fields::text")]
    at: Timestamp,
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Restriction")]
struct RestrictionField {
    kind: String,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remediation: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Restrictions")]
struct RestrictionsField {
    #[serde(with = "fields::text")]
    at: Timestamp,
    #[serde(with = "fields::list")]
    list: Vec<Restriction>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Synced")]
struct SyncedField {
    #[serde(with = "fields::text")]
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NoticeField {
    #[serde(with = "fields::text")]
    at: Timestamp,
    event: String,
    json: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

impl Stored for Notice {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (json, is_cut) = (self.raw.as_str().to_owned(), self.raw.is_cut());
        NoticeField { at: self.at, event: self.event.clone(), json, is_cut }.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let NoticeField { at, event, json, is_cut } = NoticeField::deserialize(from)?;
        Ok(Self { at, event, raw: Raw::restored(json, is_cut) })
    }
}

stored! {
    LineState = LineStateRow, AccountReport = AccountReportRow, Reported = ReportedField,
    Restriction = RestrictionField, Restrictions = RestrictionsField, Synced = SyncedField,
}
