//! What a tenant's program does with the demo's first contact, through the Integrations API.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::CONTENT_TYPE;
use hyper::body::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Problem;
use crate::http_client;
use crate::stack_file::{Work, Workspace, text};

/// The content of the file.
const CONTENT: &[u8] = b"Order 4711: delivered on Friday.";

/// A tenant's program.
pub(super) struct Tenant<'a> {
    /// The URL of the Integrations API.
    pub(super) api_url: &'a str,
    pub(super) workspace: &'a Workspace,
}

impl Tenant<'_> {
    /// Opens a conversation without onboarding, leaves a note in it, uploads a file, and asks what an erasure of the contact would
    /// take. Nothing goes to the provider.
    pub(super) async fn work(&self) -> Result<Work, Problem> {
        let contact =
            self.workspace.office.contacts.first().map(|contact| text(contact, "id")).unwrap_or_default();
        let customer = json!({"identifier": contact, "identifierType": "ID"});
        let opening = json!({"participants": {"externals": [customer]}, "name": "Order 4711", "onboardingTemplates": []});
        let conversation = self.post("conversations", &opening).await?;
        let note = "The customer asked for the invoice.";
        let note = json!({"conversationId": conversation["id"], "messageBody": note, "enableExternalBroadcast": false});
        let message = self.post("messages", &note).await?;
        let erasure = self.post(&format!("contacts/{contact}/erasure"), &json!({"dryRun": true})).await?;
        Ok(Work { conversation, message, file: self.file().await?, erasure })
    }

    async fn file(&self) -> Result<Value, Problem> {
        let checksum = STANDARD.encode(Sha256::digest(CONTENT));
        let file = json!({
            "name": "order-4711.txt", "fileType": "DOCUMENT", "contentType": "text/plain", "checksumBase64": checksum,
        });
        let mut files = self.post("files", &json!([file])).await?;
        let file = files[0].take();
        let presigned = &file["presignUrl"];
        let mut upload = Request::put(text(presigned, "url"));
        for (name, value) in presigned["headers"].as_object().into_iter().flatten() {
            upload = upload.header(name, value.as_str().unwrap_or_default());
        }
        answered("files", upload.body(Bytes::from_static(CONTENT))).await?;
        Ok(file)
    }

    async fn post(&self, resource: &str, body: &Value) -> Result<Value, Problem> {
        let Workspace { workspace_id, office, .. } = self.workspace;
        let url = format!("{}/service/api/v1/workspaces/{workspace_id}/{resource}", self.api_url);
        let request = Request::post(url)
            .header("x-api-key", &office.api_key)
            .header(CONTENT_TYPE, "application/json")
            .body(Bytes::from(body.to_string()));
        let answer = answered(resource, request).await?;
        serde_json::from_slice(&answer).map_err(|error| Problem::of(&refused(resource), error))
    }
}

/// The body of a good answer.
pub(super) async fn answered(
    resource: &str,
    request: http::Result<Request<Bytes>>,
) -> Result<Bytes, Problem> {
    let request = request.map_err(|error| Problem::of(&refused(resource), error))?;
    let answer = http_client::send(request).await.map_err(|error| Problem::of(&refused(resource), error))?;
    if answer.status().is_success() {
        return Ok(answer.into_body());
    }
    let reason = format!("{}: {}", answer.status(), String::from_utf8_lossy(answer.body()));
    Err(Problem::of(&refused(resource), reason))
}

fn refused(resource: &str) -> String {
    format!("The demo cannot be provisioned: POST {resource}")
}
