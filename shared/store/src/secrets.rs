//! What is secret of a webhook endpoint, in a table of its own that few functions may read.

use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{EndpointId, EndpointSecrets, Timestamp, WebhookEndpoint, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::item::{Item, row};
use crate::{Store, StoreError, Table, fields, keys};

impl Store {
    /// The secrets of an endpoint, read strongly. One trip.
    pub async fn endpoint_secrets(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<Option<EndpointSecrets>, StoreError> {
        let key = keys::endpoint_secrets(workspace, endpoint);
        let row: Option<EndpointSecretsRow> = self.get_row(Table::Secrets, key).await?;
        Ok(row.map(EndpointSecrets::from))
    }
}

/// The row of an endpoint's secrets.
pub(crate) fn secrets_row(endpoint: &WebhookEndpoint, secrets: &EndpointSecrets) -> Result<Item, StoreError> {
    let (pk, sk) = keys::endpoint_secrets(endpoint.workspace_id, endpoint.id);
    row(pk, sk, "endpointSecrets", &EndpointSecretsRow::from(secrets))
}

/// `W#H#<endpoint id>` / `S`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndpointSecretsRow {
    #[serde(with = "fields::text")]
    api_key: ReceiverKey,
    #[serde(with = "fields::text")]
    active: SigningSecret,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    next: Option<SigningSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<PreviousField>,
}

#[derive(Serialize, Deserialize)]
struct PreviousField {
    #[serde(with = "fields::text")]
    secret: SigningSecret,
    #[serde(with = "fields::text")]
    until: Timestamp,
}

impl From<EndpointSecretsRow> for EndpointSecrets {
    fn from(row: EndpointSecretsRow) -> Self {
        let previous = row.previous.map(|field| (field.secret, field.until));
        let signing = SigningSecrets { active: row.active, next: row.next, previous };
        Self { api_key: row.api_key, signing }
    }
}

impl From<&EndpointSecrets> for EndpointSecretsRow {
    fn from(secrets: &EndpointSecrets) -> Self {
        let signing = secrets.signing.clone();
        let previous = signing.previous.map(|(secret, until)| PreviousField { secret, until });
        Self { api_key: secrets.api_key.clone(), active: signing.active, next: signing.next, previous }
    }
}
