//! API keys and the audit log.

use domain::{Actor, ApiKey, AuditEntry, Role, Timestamp, Workspace};
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
    subject: Option<String>,
}

fn actor(actor: &Actor) -> ActorView {
    ActorView { kind: actor.kind(), id: actor.id(), subject: actor.subject().map(str::to_owned) }
}

/// A session of the portal, without its secret value.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView<'a> {
    id: String,
    role: Option<&'static str>,
    subject: Option<&'a str>,
    scopes: Vec<&'static str>,
    created_by: ActorView,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
}

/// A session of the portal.
pub fn session(session: &ApiKey) -> SessionView<'_> {
    SessionView {
        id: session.id.to_string(),
        role: session.kind.role().map(Role::as_str),
        subject: session.kind.subject(),
        scopes: session.scopes.names(),
        created_by: actor(&session.created_by),
        created_at: session.created_at.to_string(),
        expires_at: session.expires_at.map(|at| at.to_string()),
        revoked_at: session.revoked_at.map(|at| at.to_string()),
    }
}

/// A new session with its secret value, which only this answer has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedSessionView<'a> {
    session: SessionView<'a>,
    api_key: &'a str,
}

/// A new session with its secret value.
pub fn started_session<'a>(key: &'a ApiKey, secret: &'a str) -> StartedSessionView<'a> {
    StartedSessionView { session: session(key), api_key: secret }
}

/// A page of sessions.
#[derive(Debug, Serialize)]
pub struct SessionsView<'a> {
    /// The sessions.
    pub sessions: Vec<SessionView<'a>>,
    /// The next page.
    pub cursor: Option<String>,
}

/// The caller's own session or key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnSessionView<'a> {
    key_id: String,
    kind: &'static str,
    role: Option<&'static str>,
    subject: Option<&'a str>,
    scopes: Vec<&'static str>,
    expires_at: Option<String>,
    return_url: Option<&'a str>,
    workspace: OwnWorkspaceView<'a>,
}

/// The workspace of the caller.
#[derive(Debug, Serialize)]
pub struct OwnWorkspaceView<'a> {
    id: String,
    name: &'a str,
}

/// The caller's own session or key. Its scopes are named one by one: `*` says nothing to a page that offers what they allow.
pub fn own_session<'a>(key: &'a ApiKey, workspace: &'a Workspace) -> OwnSessionView<'a> {
    OwnSessionView {
        key_id: key.id.to_string(),
        kind: key.kind.as_str(),
        role: key.kind.role().map(Role::as_str),
        subject: key.kind.subject(),
        scopes: key.scopes.by_name().names(),
        expires_at: key.expires_at.map(|at| at.to_string()),
        return_url: key.kind.visitor().and_then(|visitor| visitor.return_url.as_deref()),
        workspace: OwnWorkspaceView { id: workspace.id.to_string(), name: &workspace.name },
    }
}

/// A new link to the portal, with its secret value in the URL.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PortalLinkView<'a> {
    id: String,
    url: &'a str,
    role: &'static str,
    scopes: Vec<&'static str>,
    expires_at: Option<String>,
}

/// A new link to the portal.
pub fn portal_link<'a>(link: &ApiKey, role: Role, url: &'a str) -> PortalLinkView<'a> {
    PortalLinkView {
        id: link.id.to_string(),
        url,
        role: role.as_str(),
        scopes: link.scopes.names(),
        expires_at: link.expires_at.map(|at| at.to_string()),
    }
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
