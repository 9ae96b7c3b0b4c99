//! Every partition and sort key of every table, in one place.
//!
//! A partition key begins with the workspace id. The exceptions, all of them:
//! - `api-keys` by the key's SHA-256: the look-up that proves the workspace;
//! - `limits` by workspace and key id, kept for a day;
//! - the `due` index by shard, which the sweeper reads across workspaces;
//! - rows of the platform (the cursor key), under the nil UUID ([`PLATFORM`]).

use domain::{AttributeId, ContactId, Email, EndpointId, TeamId, Timestamp, UserId, WorkspaceId};

/// The "workspace" of rows that belong to the platform.
pub const PLATFORM: WorkspaceId = WorkspaceId::from_uuid(uuid::Uuid::nil());

/// A sort key that puts the newest first: the complement of the time, then the id.
pub(crate) fn newest_first(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{:013}#{id}", 9_999_999_999_999 - at.as_millis())
}

/// The contact itself.
pub(crate) fn contact(workspace: WorkspaceId, contact: ContactId) -> (String, &'static str) {
    (format!("{workspace}#C#{contact}"), "C")
}

/// The workspace itself.
pub(crate) fn workspace(workspace: WorkspaceId) -> (String, &'static str) {
    (format!("{workspace}#W"), "W")
}

/// The partition of the workspace's users.
pub(crate) fn users(workspace: WorkspaceId) -> String {
    format!("{workspace}#U")
}

/// A user.
pub(crate) fn user(workspace: WorkspaceId, user: UserId) -> (String, String) {
    (users(workspace), user.to_string())
}

/// The copy of a user by which the e-mail address finds it and is unique.
pub(crate) fn user_by_email(workspace: WorkspaceId, email: &Email) -> (String, &'static str) {
    (format!("{workspace}#UE#{}", email.canonical()), "U")
}

/// The partition of the workspace's teams.
pub(crate) fn teams(workspace: WorkspaceId) -> String {
    format!("{workspace}#T")
}

/// A team.
pub(crate) fn team(workspace: WorkspaceId, team: TeamId) -> (String, String) {
    (teams(workspace), team.to_string())
}

/// The partition of the workspace's attribute definitions.
pub(crate) fn definitions(workspace: WorkspaceId) -> String {
    format!("{workspace}#A")
}

/// An attribute definition.
pub(crate) fn definition(workspace: WorkspaceId, attribute: AttributeId) -> (String, String) {
    (definitions(workspace), attribute.to_string())
}

/// The partition of the workspace's webhook endpoints.
pub(crate) fn endpoints(workspace: WorkspaceId) -> String {
    format!("{workspace}#H")
}

/// A webhook endpoint.
pub(crate) fn endpoint(workspace: WorkspaceId, endpoint: EndpointId) -> (String, String) {
    (endpoints(workspace), endpoint.to_string())
}

/// What is secret of a webhook endpoint (table `secrets`).
pub(crate) fn endpoint_secrets(workspace: WorkspaceId, endpoint: EndpointId) -> (String, &'static str) {
    (format!("{workspace}#H#{endpoint}"), "S")
}

/// An API key (table `api-keys`).
pub(crate) fn api_key(sha256_hex: &str) -> (String, &'static str) {
    (sha256_hex.to_owned(), "K")
}
