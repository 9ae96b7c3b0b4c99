//! The secrets of webhook endpoints, in a table of their own that few functions may read.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{AuditAction, Author, EndpointId, EndpointSecrets, Timestamp, WebhookEndpoint, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, row, s};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The secrets of an endpoint (strongly consistent read). One round trip.
    pub async fn endpoint_secrets(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<Option<EndpointSecrets>, StoreError> {
        self.get_row(Table::Secrets, keys::endpoint_secrets(workspace, endpoint)).await
    }

    /// Replaces an endpoint's signing secrets if they are still those of `seen`, with an entry of the audit log. Returns `false`
    /// if they have changed or the endpoint does not exist. One round trip, 4 write units.
    pub async fn replace_signing_secrets(
        &self,
        (workspace, endpoint): (WorkspaceId, EndpointId),
        seen: &SigningSecrets,
        secrets: &SigningSecrets,
        action: AuditAction,
        by: &Author,
    ) -> Result<bool, StoreError> {
        let previous = secrets.previous.as_ref().map(|(secret, until)| {
            let field = [("secret", secret.expose().to_owned()), ("until", until.to_string())];
            AttributeValue::M(field.map(|(name, text)| (name.to_owned(), s(text))).into())
        });
        let change = RowUpdate::default()
            .set("active", s(secrets.active.expose()))
            .set_or_remove("next", secrets.next.as_ref().map(|next| s(next.expose())))
            .set_or_remove("previous", previous)
            // Each change adds a secret or makes another one active, so these two attributes distinguish versions.
            .when("#active = :seenActive")
            .bind(":seenActive", s(seen.active.expose()));
        let change = match &seen.next {
            Some(next) => change.when("#next = :seenNext").bind(":seenNext", s(next.expose())),
            None => change.when("attribute_not_exists(#next)"),
        };
        let secrets = change.of(Table::Secrets, key(keys::endpoint_secrets(workspace, endpoint)));
        self.all_or_none([secrets, self.audit(by, workspace, action, endpoint, &[])?]).await
    }
}

/// The row of an endpoint's secrets.
pub(crate) fn secrets_row(endpoint: &WebhookEndpoint, secrets: &EndpointSecrets) -> Result<Item, StoreError> {
    row(keys::endpoint_secrets(endpoint.workspace_id, endpoint.id), "endpointSecrets", secrets)
}

/// Part of a transaction that replaces a version of the endpoint, so the row exists: replaces the customer's API key.
/// The signing secrets stay.
pub(crate) fn new_api_key(workspace: WorkspaceId, endpoint: EndpointId, api_key: &ReceiverKey) -> Write {
    Write::update(Table::Secrets, key(keys::endpoint_secrets(workspace, endpoint)), "SET apiKey = :apiKey")
        .bind(":apiKey", s(api_key.expose()))
}

/// `W#H#<endpoint id>` / `S`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "EndpointSecrets", rename_all = "camelCase")]
struct EndpointSecretsRow {
    #[serde(with = "fields::text")]
    api_key: ReceiverKey,
    #[serde(flatten, with = "SigningFields")]
    signing: SigningSecrets,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SigningSecrets")]
struct SigningFields {
    #[serde(with = "fields::text")]
    active: SigningSecret,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    next: Option<SigningSecret>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    previous: Option<(SigningSecret, Timestamp)>,
}

stored! { EndpointSecrets = EndpointSecretsRow }
