//! The provider's apps: rows of the platform in the table `secrets`, because each holds two secrets.

use domain::{ProviderApp, ProviderAppId, Secret, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, key, row};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All apps of the deployment, by id. One round trip.
    pub async fn provider_apps(&self) -> Result<Vec<ProviderApp>, StoreError> {
        let rows = self.partition::<AppRow>(Table::Secrets, keys::provider_apps()).await?;
        let mut apps: Vec<ProviderApp> = rows.into_iter().map(ProviderApp::from).collect();
        apps.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(apps)
    }

    /// Stores a new app. Returns `false` if an app has this id already. One round trip.
    pub async fn create_provider_app(&self, app: &ProviderApp) -> Result<bool, StoreError> {
        self.put_first(Table::Secrets, app_item(app)?).await
    }

    /// Stores the next version of an app. Returns `false` if the version before is not the present one. One
    /// round trip.
    pub async fn replace_provider_app(&self, next: &ProviderApp) -> Result<bool, StoreError> {
        self.put_next(Table::Secrets, app_item(next)?, next.version - 1).await
    }

    /// Removes an app. Returns `false` if there is none. One round trip.
    pub async fn delete_provider_app(&self, app: &ProviderAppId) -> Result<bool, StoreError> {
        let (pk, sk) = keys::provider_app(app);
        let delete = Write::delete(Table::Secrets, key(pk, sk));
        let deleted = self.write(delete.when("attribute_exists(pk)")).await?;
        Ok(matches!(deleted, Wrote::Done(_)))
    }
}

fn app_item(app: &ProviderApp) -> Result<Item, StoreError> {
    let (pk, sk) = keys::provider_app(&app.id);
    row(pk, sk, "providerApp", &AppRow::from(app))
}

/// `<nil>#P` / `<app>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AppRow {
    #[serde(with = "fields::text")]
    id: ProviderAppId,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    workspace_id: Option<WorkspaceId>,
    secret: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<PreviousField>,
    verify_token: String,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct PreviousField {
    secret: String,
    #[serde(with = "fields::text")]
    until: Timestamp,
}

impl From<AppRow> for ProviderApp {
    fn from(row: AppRow) -> Self {
        Self {
            id: row.id,
            workspace: row.workspace_id,
            secret: Secret::new(row.secret),
            previous: row.previous.map(|previous| (Secret::new(previous.secret), previous.until)),
            verify_token: Secret::new(row.verify_token),
            created_at: row.created_at,
            version: row.version,
        }
    }
}

impl From<&ProviderApp> for AppRow {
    fn from(app: &ProviderApp) -> Self {
        let previous = app.previous.as_ref();
        Self {
            id: app.id.clone(),
            workspace_id: app.workspace,
            secret: app.secret.expose().to_owned(),
            previous: previous
                .map(|(secret, until)| PreviousField { secret: secret.expose().to_owned(), until: *until }),
            verify_token: app.verify_token.expose().to_owned(),
            created_at: app.created_at,
            version: app.version,
        }
    }
}
