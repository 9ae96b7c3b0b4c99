//! The secrets of webhook endpoints, in a table of their own that few functions may read.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{EndpointId, EndpointSecrets, Timestamp, WebhookEndpoint, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, row, s};
use crate::dynamodb::write::{Write, Wrote, is_written_by};
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

    /// Replaces an endpoint's signing secrets if they are still those of `seen`. Returns `false` if they have
    /// changed or the endpoint does not exist. One round trip.
    pub async fn replace_signing_secrets(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        seen: &SigningSecrets,
        secrets: &SigningSecrets,
    ) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        let (mut set, mut remove) = ("#active = :active, lastRequest = :request".to_owned(), vec![]);
        let mut values = vec![];
        match &secrets.next {
            Some(next) => {
                set += ", #next = :next";
                values.push((":next", s(next.expose())));
            }
            None => remove.push("#next"),
        }
        match &secrets.previous {
            Some((secret, until)) => {
                set += ", #previous = :previous";
                let field = [("secret", secret.expose().to_owned()), ("until", until.to_string())];
                let field = field.map(|(name, text)| (name.to_owned(), s(text)));
                values.push((":previous", AttributeValue::M(field.into())));
            }
            None => remove.push("#previous"),
        }
        // Each change adds a secret or makes another one active, so these two attributes distinguish
        // versions.
        let seen_next = match &seen.next {
            Some(next) => {
                values.push((":seenNext", s(next.expose())));
                "#next = :seenNext"
            }
            None => "attribute_not_exists(#next)",
        };
        let mut expression = format!("SET {set}");
        if !remove.is_empty() {
            expression = format!("{expression} REMOVE {}", remove.join(", "));
        }
        let write =
            Write::update(Table::Secrets, key(keys::endpoint_secrets(workspace, endpoint)), expression)
                .when(format!("#active = :seenActive AND {seen_next}"))
                .name("#active", "active")
                .name("#next", "next")
                .name("#previous", "previous")
                .bind(":active", s(secrets.active.expose()))
                .bind(":seenActive", s(seen.active.expose()))
                .bind(":request", s(&request));
        let write = values.into_iter().fold(write, |write, (name, value)| write.bind(name, value));
        Ok(match self.write(write).await? {
            Wrote::Done(_) => true,
            Wrote::Refused(found) => found.is_some_and(|found| is_written_by(&found, &request)),
        })
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
