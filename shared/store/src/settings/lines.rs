//! Lines and brands, and the tokens of lines in the table `secrets`.

use domain::{
    Brand, BrandId, BusinessAccountId, ChannelId, Line, Lines, Secret, Timestamp, Workspace, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, read, row, s, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::versions::{delete_write, replace_write};
use crate::dynamodb::write::{Transaction, TwoRoles, Write};
use crate::settings::inbound_lines::forget_inbound;
use crate::settings::remembered::WithSetting;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All lines and brands of the workspace, oldest first. The default line is in the workspace's own row
    /// ([`Workspace::default_line`]) and is not set here. One round trip.
    pub async fn lines(&self, workspace: WorkspaceId) -> Result<Lines, StoreError> {
        let mut lines = Lines::default();
        for item in self.query_all(Query::of(Table::Workspaces, keys::lines(workspace))).await? {
            match text(&item, "kind") {
                BRAND => lines.brands.push(read(item)?),
                _ => lines.lines.push(read(item)?),
            }
        }
        lines.brands.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        lines.lines.sort_by(|a, b| (a.created_at, &a.channel).cmp(&(b.created_at, &b.channel)));
        Ok(lines)
    }

    /// Rows, and the lines and brands of their workspace. The version of a line may be an older one, because a new token
    /// is no change of the workspace.
    pub(crate) async fn rows_with_lines(
        &self,
        workspace: WorkspaceId,
        places: &[&Place],
    ) -> Result<WithSetting<Lines>, StoreError> {
        let of = (workspace, Place::of(Table::Workspaces, keys::workspace(workspace)));
        self.rows_with(&self.memories.lines, of, places, self.lines(workspace)).await
    }

    /// The line with this id. One round trip.
    pub async fn line(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Option<Line>, StoreError> {
        self.get_row(Table::Workspaces, keys::line(workspace, channel)).await
    }

    /// Stores a brand that [`Lines::admit_brand`] accepted for the workspace as `seen`. Returns `false` if
    /// the workspace has changed since; then the lines must be read again. One round trip.
    pub async fn create_brand(&self, seen: &Workspace, brand: &Brand) -> Result<bool, StoreError> {
        let put = Write::put(Table::Workspaces, brand_row(brand)?).when_absent();
        self.all_or_none([self.bump_version(seen), put]).await
    }

    /// Replaces a brand by its next version, whose name [`Lines::check_brand_name`] accepted for the workspace as
    /// `seen`, or whose line exists in it. Returns `false` if the workspace or the brand has changed since. One
    /// round trip.
    pub async fn change_brand(&self, seen: &Workspace, next: &Brand) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, brand_row(next)?, next.version - 1);
        self.all_or_none([self.bump_version(seen), replace]).await
    }

    /// Deletes a brand that nothing uses in the workspace as `seen`. Returns `false` if the workspace or the brand
    /// has changed since. One round trip.
    pub async fn delete_brand(&self, seen: &Workspace, brand: &Brand) -> Result<bool, StoreError> {
        let key = keys::brand(brand.workspace_id, &brand.id);
        let delete = delete_write(Table::Workspaces, key, brand.version);
        self.all_or_none([self.bump_version(seen), delete]).await
    }

    /// Stores a line that [`Lines::admit_line`] accepted, with its claim and its token, together with the next
    /// version of the workspace ([`Workspace::with_line`]) and of the brand, if that has one. One round trip.
    pub async fn create_line(
        &self,
        next: &Workspace,
        line: &Line,
        brand: Option<&Brand>,
        token: &Secret,
    ) -> Result<LineCreated, StoreError> {
        let mut writes = vec![
            replace_write(Table::Workspaces, self.workspace_row(next)?, next.version - 1),
            Write::put(Table::Workspaces, line_row(line)?).when_absent(),
            Write::put(Table::Secrets, token_row(line.workspace_id, &line.channel, token)?),
            Write::put(Table::Workspaces, account_row(line)?),
            forget_inbound(line.workspace_id, &line.channel),
        ];
        if let Some(brand) = brand {
            writes.push(replace_write(Table::Workspaces, brand_row(brand)?, brand.version - 1));
        }
        let mut transaction = Transaction::new().with(TwoRoles::Main, claim(line)?);
        for write in writes {
            transaction.add(TwoRoles::Other, write);
        }
        let Err(refusals) = self.transact(transaction).await? else { return Ok(LineCreated::Done) };
        let of_claim = refusals.into_iter().find(|refusal| refusal.role == TwoRoles::Main);
        match of_claim.and_then(|refusal| refusal.found) {
            Some(found) => Ok(LineCreated::OfWorkspace(read::<ClaimRow>(found)?.workspace_id)),
            None => Ok(LineCreated::Changed),
        }
    }

    /// Replaces a line by its next version, whose name [`Lines::check_line_name`] accepted for the workspace as
    /// `seen`. Returns `false` if the workspace or the line has changed since. One round trip.
    pub async fn rename_line(&self, seen: &Workspace, next: &Line) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, line_row(next)?, next.version - 1);
        self.all_or_none([self.bump_version(seen), replace]).await
    }

    /// The workspace that claimed a line, remembered for half a minute. One round trip.
    pub async fn line_claim(&self, channel: &ChannelId) -> Result<Option<WorkspaceId>, StoreError> {
        let row: Option<ClaimRow> = self.get_row(Table::Workspaces, keys::line_claim(channel)).await?;
        let found = row.map(|row| row.workspace_id);
        match found {
            Some(workspace) => self.memories.line_claims.keep(channel.clone(), workspace, self.now()),
            None => self.forget_line_claim(channel),
        }
        Ok(found)
    }

    /// The workspace that this process remembers from [`Store::line_claim`]. It may be half a minute old.
    pub fn remembered_line_claim(&self, channel: &ChannelId) -> Option<WorkspaceId> {
        self.memories.line_claims.get(channel, self.now())
    }

    /// Forgets the workspace of a line that [`Store::line_claim`] remembers.
    pub fn forget_line_claim(&self, channel: &ChannelId) {
        self.memories.line_claims.forget(channel);
    }

    /// The workspaces that have a line of this account. One round trip.
    pub async fn workspaces_of_account(
        &self,
        account: &BusinessAccountId,
    ) -> Result<Vec<WorkspaceId>, StoreError> {
        let rows: Vec<ClaimRow> =
            self.partition(Table::Workspaces, keys::workspaces_of_account(account)).await?;
        Ok(rows.into_iter().map(|row| row.workspace_id).collect())
    }

    /// Deletes a line that nothing uses, with its claim, its token and its state at the provider, together with the next version of the workspace
    /// ([`Workspace::without_line`]) and of the brand, if that has one. `is_last` says that the workspace has no other
    /// line of the account.
    /// Returns `false` if one of them has changed since it was read. One round trip.
    pub async fn delete_line(
        &self,
        next: &Workspace,
        line: &Line,
        brand: Option<&Brand>,
        is_last: bool,
    ) -> Result<bool, StoreError> {
        let (workspace, channel) = (line.workspace_id, &line.channel);
        let mut writes = vec![
            replace_write(Table::Workspaces, self.workspace_row(next)?, next.version - 1),
            delete_write(Table::Workspaces, keys::line(workspace, channel), line.version),
            Write::delete(Table::Secrets, key(keys::line_secret(workspace, channel))),
            Write::delete(Table::Workspaces, key(keys::line_claim(channel))),
            Write::delete(Table::Workspaces, key(keys::line_state(workspace, channel))),
            forget_inbound(workspace, channel),
        ];
        if let Some(brand) = brand {
            writes.push(replace_write(Table::Workspaces, brand_row(brand)?, brand.version - 1));
        }
        if is_last {
            let entry = (keys::workspaces_of_account(&line.business_account), workspace.to_string());
            let report = keys::account_report(workspace, &line.business_account);
            writes.extend([entry, report].map(|of| Write::delete(Table::Workspaces, key(of))));
        }
        let done = self.all_or_none(writes).await?;
        self.memories.line_tokens.forget(&(workspace, channel.clone()));
        self.memories.inbound_since.forget(&(workspace, channel.clone()));
        self.forget_line_claim(channel);
        Ok(done)
    }

    /// The line's access token at the provider, remembered for 5 minutes. One round trip if it is not in
    /// memory.
    pub async fn line_token(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Option<Secret>, StoreError> {
        let (now, of) = (self.now(), (workspace, channel.clone()));
        if let Some(token) = self.memories.line_tokens.get(&of, now) {
            return Ok(Some(token));
        }
        let row: Option<TokenRow> =
            self.get_row(Table::Secrets, keys::line_secret(workspace, channel)).await?;
        let token = row.map(|row| row.token);
        if let Some(token) = &token {
            self.memories.line_tokens.keep(of, token.clone(), now);
        }
        Ok(token)
    }

    /// Replaces the token of a line. `next` is the line's next version ([`Line::with_new_token`]). Processes that
    /// remember the previous token use it for up to 5 minutes more. Returns `false` if the line has changed since it
    /// was read. One round trip.
    pub async fn set_line_token(&self, next: &Line, token: &Secret) -> Result<bool, StoreError> {
        let writes = vec![
            replace_write(Table::Workspaces, line_row(next)?, next.version - 1),
            Write::put(Table::Secrets, token_row(next.workspace_id, &next.channel, token)?),
        ];
        let done = self.all_or_none(writes).await?;
        self.memories.line_tokens.forget(&(next.workspace_id, next.channel.clone()));
        Ok(done)
    }
}

/// The result of creating a line. A line id belongs to one workspace of the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineCreated {
    /// The line is created, and its workspace has the claim.
    Done,
    /// The workspace or the brand has changed since it was read.
    Changed,
    /// Another workspace has the claim of this line id. Nothing is written.
    OfWorkspace(WorkspaceId),
}

/// The claim of a line, by a workspace that has it already or if nobody has it.
fn claim(line: &Line) -> Result<Write, StoreError> {
    let claim = ClaimRow { workspace_id: line.workspace_id };
    Ok(Write::put(Table::Workspaces, row(keys::line_claim(&line.channel), "lineClaim", &claim)?)
        .when("attribute_not_exists(pk) OR workspaceId = :own")
        .bind(":own", s(line.workspace_id.to_string())))
}

/// The entry that finds the workspace by the account of its line.
fn account_row(line: &Line) -> Result<Item, StoreError> {
    let key = (keys::workspaces_of_account(&line.business_account), line.workspace_id.to_string());
    row(key, "accountOfWorkspace", &ClaimRow { workspace_id: line.workspace_id })
}

/// The kinds of rows in the partition.
const LINE: &str = "line";
const BRAND: &str = "brand";

fn line_row(line: &Line) -> Result<Item, StoreError> {
    row(keys::line(line.workspace_id, &line.channel), LINE, line)
}

fn brand_row(brand: &Brand) -> Result<Item, StoreError> {
    row(keys::brand(brand.workspace_id, &brand.id), BRAND, brand)
}

fn token_row(workspace: WorkspaceId, channel: &ChannelId, token: &Secret) -> Result<Item, StoreError> {
    row(keys::line_secret(workspace, channel), "lineToken", &TokenRow { token: token.clone() })
}

/// `W#L` / `L#<channel>`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Line", rename_all = "camelCase")]
struct LineRow {
    #[serde(with = "fields::text")]
    channel: ChannelId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(rename = "brandId", with = "fields::text")]
    brand: BrandId,
    #[serde(with = "fields::text")]
    business_account: BusinessAccountId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

/// `W#L` / `B#<brand>`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Brand", rename_all = "camelCase")]
struct BrandRow {
    #[serde(with = "fields::text")]
    id: BrandId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    name: String,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    line: Option<ChannelId>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

/// Under the nil UUID: `LC#<channel>` / `C`, the claim of a line; `BA#<account>` / workspace, an account with lines in it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimRow {
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
}

/// `W#L#<channel>` / `S`, in the table `secrets`.
#[derive(Serialize, Deserialize)]
struct TokenRow {
    #[serde(with = "fields::text")]
    token: Secret,
}

stored! { Line = LineRow, Brand = BrandRow, ClaimRow = ClaimRow, TokenRow = TokenRow }
