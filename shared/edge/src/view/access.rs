//! API keys and the audit log.

use domain::{Actor, ApiKey, AuditEntry, Timestamp};
use serde::Serialize;

/// An API key, without its secret value.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyView<'a> {
    id: String,
    name: &'a str,
    scopes: Vec<&'static str>,
    rate: u32,
    burst: u32,
    created_at: String,
    created_by: ActorView,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    last_used_at: Option<String>,
}

/// An API key and when it was last used.
pub fn api_key(key: &ApiKey, last_used_at: Option<Timestamp>) -> ApiKeyView<'_> {
    ApiKeyView {
        id: key.id.to_string(),
        name: &key.name,
        scopes: key.scopes.names(),
        rate: key.rate.per_second,
        burst: key.rate.burst,
        created_at: key.created_at.to_string(),
        created_by: actor(&key.created_by),
        expires_at: key.expires_at.map(|at| at.to_string()),
        revoked_at: key.revoked_at.map(|at| at.to_string()),
        last_used_at: last_used_at.map(|at| at.to_string()),
    }
}

/// A new API key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedKeyView<'a> {
    #[serde(flatten)]
    key: ApiKeyView<'a>,
    api_key: Option<&'a str>,
}

/// A new API key with its secret value, which only the first answer has.
pub fn created_key<'a>(key: &'a ApiKey, secret: Option<&'a str>) -> CreatedKeyView<'a> {
    CreatedKeyView { key: api_key(key, None), api_key: secret }
}

/// A page of API keys.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeysView<'a> {
    /// The keys.
    pub api_keys: Vec<ApiKeyView<'a>>,
    /// The next page.
    pub cursor: Option<String>,
}

/// Who made a change.
#[derive(Debug, Serialize)]
pub struct ActorView {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
}

fn actor(actor: &Actor) -> ActorView {
    ActorView { kind: actor.kind(), id: actor.id() }
}

/// What was changed.
#[derive(Debug, Serialize)]
pub struct SubjectView<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
}

/// An entry of the audit log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntryView<'a> {
    id: String,
    at: String,
    actor: ActorView,
    action: &'static str,
    subject: SubjectView<'a>,
    fields: &'a [String],
    request_id: Option<&'a str>,
}

/// An entry of the audit log.
pub fn audit_entry(entry: &AuditEntry) -> AuditEntryView<'_> {
    AuditEntryView {
        id: entry.id.to_string(),
        at: entry.at.to_string(),
        actor: actor(&entry.author.actor),
        action: entry.action.as_str(),
        subject: SubjectView { kind: entry.action.subject_type(), id: &entry.subject },
        fields: &entry.fields,
        request_id: entry.author.request_id.as_deref(),
    }
}

/// A page of the audit log.
#[derive(Debug, Serialize)]
pub struct AuditLogView<'a> {
    /// The entries.
    pub entries: Vec<AuditEntryView<'a>>,
    /// The next page.
    pub cursor: Option<String>,
}
