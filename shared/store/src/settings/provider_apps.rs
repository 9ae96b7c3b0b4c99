//! The provider's apps: rows of the platform in the table `secrets`, because each holds two secrets.

use domain::{ProviderApp, ProviderAppId, Secret, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, row};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All apps of the deployment, by id. One round trip.
    pub async fn provider_apps(&self) -> Result<Vec<ProviderApp>, StoreError> {
        let mut apps: Vec<ProviderApp> = self.partition(Table::Secrets, keys::provider_apps()).await?;
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
        let delete = Write::delete(Table::Secrets, key((pk, sk)));
        let deleted = self.write(delete.when("attribute_exists(pk)")).await?;
        Ok(matches!(deleted, Wrote::Done(_)))
    }
}

fn app_item(app: &ProviderApp) -> Result<Item, StoreError> {
    row(keys::provider_app(&app.id), "providerApp", app)
}

/// `<nil>#P` / `<app>`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ProviderApp", rename_all = "camelCase")]
struct AppRow {
    #[serde(with = "fields::text")]
    id: ProviderAppId,
    #[serde(
        rename = "workspaceId",
        with = "fields::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    workspace: Option<WorkspaceId>,
    #[serde(with = "fields::text")]
    secret: Secret,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    previous: Option<(Secret, Timestamp)>,
    #[serde(with = "fields::text")]
    verify_token: Secret,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

stored! { ProviderApp = AppRow }
