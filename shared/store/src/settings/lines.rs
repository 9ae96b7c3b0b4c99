//! Lines and brands, and the tokens of lines in the table `secrets`.

use domain::{
    Brand, BrandId, BusinessAccountId, ChannelId, Line, Lines, Secret, Timestamp, Workspace, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, read, row, text};
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::{Transacted, Write};
use crate::settings::workspaces::{bump_version, workspace_row};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All lines and brands of the workspace, oldest first. The default line is in the workspace's own row
    /// ([`Workspace::default_line`]) and is not set here. One round trip.
    pub async fn lines(&self, workspace: WorkspaceId) -> Result<Lines, StoreError> {
        let mut lines = Lines::default();
        for item in self.partition_items(Table::Workspaces, keys::lines(workspace)).await? {
            match text(&item, "kind") {
                BRAND => lines.brands.push(read::<BrandRow>(item)?.into()),
                _ => lines.lines.push(read::<LineRow>(item)?.into()),
            }
        }
        lines.brands.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        lines.lines.sort_by(|a, b| (a.created_at, &a.channel).cmp(&(b.created_at, &b.channel)));
        Ok(lines)
    }

    /// The line with this id. One round trip.
    pub async fn line(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Option<Line>, StoreError> {
        let row: Option<LineRow> = self.get_row(Table::Workspaces, keys::line(workspace, channel)).await?;
        Ok(row.map(Line::from))
    }

    /// Stores a brand that [`Lines::admit_brand`] accepted for the workspace as `seen`. Returns `false` if
    /// the workspace has changed since; then the lines must be read again. One round trip.
    pub async fn create_brand(&self, seen: &Workspace, brand: &Brand) -> Result<bool, StoreError> {
        let put = Write::put(Table::Workspaces, brand_row(brand)?).when_absent();
        Ok(self.transact(vec![bump_version(seen), put]).await? == Transacted::Done)
    }

    /// Stores a line that [`Lines::admit_line`] accepted, with its token, together with the next version of
    /// the workspace ([`Workspace::with_line`]) and of the brand, if that has one. Returns `false` if the
    /// previous version of one of them is not the current one; then the lines must be read again. One round
    /// trip.
    pub async fn create_line(
        &self,
        next: &Workspace,
        line: &Line,
        brand: Option<&Brand>,
        token: &Secret,
    ) -> Result<bool, StoreError> {
        let mut writes = vec![
            replace_write(Table::Workspaces, workspace_row(next)?, next.version - 1),
            Write::put(Table::Workspaces, line_row(line)?).when_absent(),
            Write::put(Table::Secrets, token_row(line.workspace_id, &line.channel, token)?),
        ];
        if let Some(brand) = brand {
            writes.push(replace_write(Table::Workspaces, brand_row(brand)?, brand.version - 1));
        }
        Ok(self.transact(writes).await? == Transacted::Done)
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
        let token = row.map(|row| Secret::new(row.token));
        if let Some(token) = &token {
            self.memories.line_tokens.keep(of, token.clone(), now);
        }
        Ok(token)
    }

    /// Replaces the token of a line. Processes that remember the previous one use it for up to 5 minutes
    /// more. One round trip.
    pub async fn set_line_token(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
        token: &Secret,
    ) -> Result<(), StoreError> {
        self.write(Write::put(Table::Secrets, token_row(workspace, channel, token)?)).await?;
        self.memories.line_tokens.forget(&(workspace, channel.clone()));
        Ok(())
    }
}

/// The kinds of rows in the partition.
const LINE: &str = "line";
const BRAND: &str = "brand";

fn line_row(line: &Line) -> Result<Item, StoreError> {
    let (pk, sk) = keys::line(line.workspace_id, &line.channel);
    row(pk, sk, LINE, &LineRow::from(line))
}

fn brand_row(brand: &Brand) -> Result<Item, StoreError> {
    let (pk, sk) = keys::brand(brand.workspace_id, &brand.id);
    row(pk, sk, BRAND, &BrandRow::from(brand))
}

fn token_row(workspace: WorkspaceId, channel: &ChannelId, token: &Secret) -> Result<Item, StoreError> {
    let (pk, sk) = keys::line_secret(workspace, channel);
    row(pk, sk, "lineToken", &TokenRow { token: token.expose().to_owned() })
}

/// `W#L` / `L#<channel>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineRow {
    #[serde(with = "fields::text")]
    channel: ChannelId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    brand_id: BrandId,
    #[serde(with = "fields::text")]
    business_account: BusinessAccountId,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

/// `W#L` / `B#<brand>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// `W#L#<channel>` / `S`, in the table `secrets`.
#[derive(Serialize, Deserialize)]
struct TokenRow {
    token: String,
}

impl From<LineRow> for Line {
    fn from(row: LineRow) -> Self {
        Self {
            channel: row.channel,
            workspace_id: row.workspace_id,
            brand: row.brand_id,
            business_account: row.business_account,
            created_at: row.created_at,
            version: row.version,
        }
    }
}

impl From<&Line> for LineRow {
    fn from(line: &Line) -> Self {
        Self {
            channel: line.channel.clone(),
            workspace_id: line.workspace_id,
            brand_id: line.brand.clone(),
            business_account: line.business_account.clone(),
            created_at: line.created_at,
            version: line.version,
        }
    }
}

impl From<BrandRow> for Brand {
    fn from(row: BrandRow) -> Self {
        Self {
            id: row.id,
            workspace_id: row.workspace_id,
            name: row.name,
            line: row.line,
            created_at: row.created_at,
            version: row.version,
        }
    }
}

impl From<&Brand> for BrandRow {
    fn from(brand: &Brand) -> Self {
        Self {
            id: brand.id.clone(),
            workspace_id: brand.workspace_id,
            name: brand.name.clone(),
            line: brand.line.clone(),
            created_at: brand.created_at,
            version: brand.version,
        }
    }
}
