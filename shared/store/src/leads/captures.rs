//! A workspace's lead capture settings, and its captcha secret in the table `secrets`.

use std::sync::Arc;

use domain::lead::captcha::Threshold;
use domain::lead::capture::LeadCaps;
use domain::{
    AuditAction, Author, BrandId, Capture, CaptureKey, Lines, Secret, TemplateId, Timestamp, WebOrigin,
    Workspace, WorkspaceId, WorkspaceState,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::row;
use crate::dynamodb::read::Place;
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::Write;
use crate::leads::traces::{LeadDuplicates, LeadTraits, TracePlaces};
use crate::settings::workspaces::state_of;
use crate::{Store, StoreError, Table, keys};

/// What decides about the leads of a workspace, as it was read.
#[derive(Debug)]
pub struct CaptureRead {
    /// The settings, if the workspace has any.
    pub capture: Option<Capture>,
    /// The lines and brands, without the default line, if they could be read.
    pub lines: Result<Arc<Lines>, StoreError>,
    /// Whether the service works for the workspace.
    pub state: WorkspaceState,
    /// The traces of the lead if it is of this brand: the one that it names, otherwise the one that was the settings'
    /// default when the process last read them. `None` without a lead, or if the process knows no default yet.
    pub traces: Option<(BrandId, LeadDuplicates)>,
}

impl Store {
    /// The workspace's lead capture settings (strongly consistent read). One round trip.
    pub async fn capture(&self, workspace: WorkspaceId) -> Result<Option<Capture>, StoreError> {
        self.get_row(Table::Workspaces, keys::capture(workspace)).await
    }

    /// The workspace's lead capture settings, its lines and brands, whether the service works for it, and the traces of
    /// the lead (strongly consistent reads). A workspace without a row counts as enabled. One round trip of one call; one
    /// more if the lines changed since the process remembered them.
    pub async fn capture_read(
        &self,
        workspace: WorkspaceId,
        lead: Option<LeadTraits<'_>>,
    ) -> Result<CaptureRead, StoreError> {
        let of_capture = Place::of(Table::Workspaces, keys::capture(workspace));
        let brand = match lead.and_then(|lead| lead.brand) {
            Some(named) => Some(named.clone()),
            None => self.memories.default_brands.get(&workspace, self.now()),
        };
        // The call names the same tables for a workspace that the process does not know.
        let traces =
            lead.map(|lead| TracePlaces::of(workspace, LeadTraits { brand: brand.as_ref(), ..lead }));
        let traced = traces.iter().flat_map(TracePlaces::all);
        let places: Vec<&Place> = [&of_capture].into_iter().chain(traced).collect();
        let read = self.rows_with_lines(workspace, &places).await?;
        let (mut rows, lines) = (read.rows, read.setting);
        let capture: Option<Capture> = rows.read(&of_capture)?;
        if let Some(brand) = capture.as_ref().and_then(|capture| capture.brand.clone()) {
            self.memories.default_brands.keep(workspace, brand, self.now());
        }
        let traces = traces.map(|traces| traces.take(&mut rows)).transpose()?;
        Ok(CaptureRead {
            capture,
            lines,
            state: read.workspace.map_or(Ok(WorkspaceState::Enabled), state_of)?,
            traces: brand.zip(traces),
        })
    }

    /// Stores new settings or their next version, whose brand and template exist in the workspace as `seen`, with a captcha
    /// secret if there is a new one. Returns `false` if the settings or the workspace have changed since. One round trip, 6 write
    /// units; 2 more with a secret.
    pub async fn save_capture(
        &self,
        seen: &Workspace,
        (next, secret): (&Capture, Option<&Secret>),
        fields: &[&str],
        by: &Author,
    ) -> Result<bool, StoreError> {
        let of = next.workspace_id;
        let mut writes = vec![
            self.bump_version(seen),
            capture_write(next)?,
            self.audit(by, of, AuditAction::CaptureUpdate, of, fields)?,
        ];
        if let Some(secret) = secret {
            let secret = SecretRow { secret: secret.clone() };
            let row = row(keys::capture_secret(of), "captchaSecret", &secret)?;
            writes.push(Write::put(Table::Secrets, row));
        }
        let is_done = self.all_or_none(writes).await?;
        if secret.is_some() {
            self.forget_captcha_secret(of);
        }
        Ok(is_done)
    }

    /// Replaces the settings by their next version, which has another key. Returns `false` if the previous version is not the
    /// current one. One round trip, 4 write units.
    pub async fn rekey_capture(&self, next: &Capture, by: &Author) -> Result<bool, StoreError> {
        let of = next.workspace_id;
        let entry = self.audit(by, of, AuditAction::CaptureRotateKey, of, &["captureKey"])?;
        self.all_or_none([capture_write(next)?, entry]).await
    }

    /// The secret of the workspace's site at the captcha's provider, remembered for 5 minutes. One round trip
    /// if it is not in memory.
    pub async fn captcha_secret(&self, workspace: WorkspaceId) -> Result<Option<Secret>, StoreError> {
        let now = self.now();
        if let Some(secret) = self.memories.captcha_secrets.get(&workspace, now) {
            return Ok(Some(secret));
        }
        let row: Option<SecretRow> = self.get_row(Table::Secrets, keys::capture_secret(workspace)).await?;
        let secret = row.map(|row| row.secret);
        if let Some(secret) = &secret {
            self.memories.captcha_secrets.keep(workspace, secret.clone(), now);
        }
        Ok(secret)
    }

    /// Removes a captcha secret from memory, if it was replaced or if the provider refused it: it may have been replaced.
    pub fn forget_captcha_secret(&self, workspace: WorkspaceId) {
        self.memories.captcha_secrets.forget(&workspace);
    }
}

/// The write of these settings in place of the previous version; of version 1, in place of none.
fn capture_write(next: &Capture) -> Result<Write, StoreError> {
    let row = row(keys::capture(next.workspace_id), "capture", next)?;
    Ok(match next.version {
        1 => Write::put(Table::Workspaces, row).when_absent(),
        version => replace_write(Table::Workspaces, row, version - 1),
    })
}

/// `W#K` / `K`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Capture", rename_all = "camelCase")]
struct CaptureRow {
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    enabled: bool,
    #[serde(with = "fields::text")]
    key: CaptureKey,
    #[serde(with = "fields::list")]
    origins: Vec<WebOrigin>,
    #[serde(rename = "brandId", with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    brand: Option<BrandId>,
    #[serde(
        rename = "templateId",
        with = "fields::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    template: Option<TemplateId>,
    #[serde(with = "fields::text")]
    threshold: Threshold,
    #[serde(flatten, with = "CapsFields")]
    caps: LeadCaps,
    rate: u32,
    has_secret: bool,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LeadCaps")]
struct CapsFields {
    #[serde(rename = "dailyCap", default, skip_serializing_if = "Option::is_none")]
    daily: Option<u32>,
    #[serde(rename = "phoneCap", default, skip_serializing_if = "Option::is_none")]
    per_phone: Option<u32>,
}

/// `W#K` / `S`, in the table `secrets`.
#[derive(Serialize, Deserialize)]
struct SecretRow {
    #[serde(with = "fields::text")]
    secret: Secret,
}

stored! { Capture = CaptureRow, SecretRow = SecretRow }
