//! The audit log: who changed what in a workspace.

use std::time::Duration;

use crate::access::actor::Author;
use crate::ids::{AuditEntryId, WorkspaceId};
use crate::time::{Timestamp, days};
use crate::words::words;

/// One change that was committed. It has names of fields and no values, so it holds no personal data and no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The entry's id.
    pub id: AuditEntryId,
    /// The workspace that was changed.
    pub workspace_id: WorkspaceId,
    /// When the change was made.
    pub at: Timestamp,
    /// Who made the change, and in which request.
    pub author: Author,
    /// What was done.
    pub action: AuditAction,
    /// The id of what was changed. [`AuditAction::subject_type`] is its type.
    pub subject: String,
    /// The names of the changed fields, as the API and the console name them. Empty for a creation and a deletion.
    pub fields: Vec<String>,
}

impl AuditEntry {
    /// How long entries are kept.
    pub const KEPT: Duration = days(400);
}

/// A kind of change: `<resource>.<verb>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditAction {
    /// An API key was created.
    ApiKeyCreate,
    /// The name or the expiry of an API key was changed.
    ApiKeyUpdate,
    /// An API key was revoked.
    ApiKeyRevoke,
    /// A link to the portal was made.
    PortalLinkCreate,
    /// A session of the portal was started, by a link or by a key.
    SessionCreate,
    /// A session of the portal was ended.
    SessionRevoke,
    /// The name, the state, the self-service or the key rate of a workspace was changed.
    WorkspaceUpdate,
    /// The templates that open conversations were changed. The subject is the workspace.
    OnboardingUpdate,
    /// A custom attribute was defined.
    AttributeCreate,
    /// The key name, the values, or whether it is required or archived, was changed of a custom attribute.
    AttributeUpdate,
    /// The keywords by which customers opt out and in were changed. The subject is the workspace.
    OptOutKeywordsUpdate,
    /// Lead capture was set up, or its settings or its captcha secret were changed. The subject is the workspace.
    CaptureUpdate,
    /// Lead capture got another key. The subject is the workspace.
    CaptureRotateKey,
    /// A number was opted out of templates by the business.
    OptOutCreate,
    /// A number or a user id was opted in again by the business.
    OptOutDelete,
    /// An internal user was created.
    UserCreate,
    /// The names, the phone number, the language or the status of an internal user was changed.
    UserUpdate,
    /// A team was created.
    TeamCreate,
    /// The name or the members of a team were changed.
    TeamUpdate,
    /// A team was deleted.
    TeamDelete,
    /// A webhook endpoint was created.
    WebhookEndpointCreate,
    /// The URL, the receiver's key, the events, the caps, the slots or the description of an endpoint was changed.
    WebhookEndpointUpdate,
    /// An endpoint was enabled, or all its waiting deliveries were asked for again.
    WebhookEndpointEnable,
    /// An endpoint was disabled.
    WebhookEndpointDisable,
    /// An endpoint was deleted.
    WebhookEndpointDelete,
    /// An endpoint got its next signing secret.
    WebhookEndpointRotateSecret,
    /// The next signing secret of an endpoint became the active one.
    WebhookEndpointActivateSecret,
    /// A test event was sent to an endpoint.
    WebhookEndpointTest,
    /// The deliveries of a time range were asked for again.
    WebhookEndpointReplay,
    /// The deliveries that an endpoint did not get were asked for again.
    WebhookEndpointRecover,
    /// A delivery was asked for again.
    DeliveryRetry,
    /// A job was cancelled.
    WebhookJobCancel,
    /// A lead was queued again.
    LeadRetry,
    /// Retries of a page of leads were requested, each of which is judged by itself. The subject is the workspace.
    LeadRetriesRequest,
}

words!(
    /// The names in rows and lists.
    AuditAction {
        ApiKeyCreate: "api_key.create",
        ApiKeyUpdate: "api_key.update",
        ApiKeyRevoke: "api_key.revoke",
        PortalLinkCreate: "portal_link.create",
        SessionCreate: "session.create",
        SessionRevoke: "session.revoke",
        WorkspaceUpdate: "workspace.update",
        OnboardingUpdate: "onboarding.update",
        AttributeCreate: "attribute.create",
        AttributeUpdate: "attribute.update",
        OptOutKeywordsUpdate: "opt_out_keywords.update",
        CaptureUpdate: "capture.update",
        CaptureRotateKey: "capture.rotate_key",
        OptOutCreate: "opt_out.create",
        OptOutDelete: "opt_out.delete",
        UserCreate: "user.create",
        UserUpdate: "user.update",
        TeamCreate: "team.create",
        TeamUpdate: "team.update",
        TeamDelete: "team.delete",
        WebhookEndpointCreate: "webhook_endpoint.create",
        WebhookEndpointUpdate: "webhook_endpoint.update",
        WebhookEndpointEnable: "webhook_endpoint.enable",
        WebhookEndpointDisable: "webhook_endpoint.disable",
        WebhookEndpointDelete: "webhook_endpoint.delete",
        WebhookEndpointRotateSecret: "webhook_endpoint.rotate_secret",
        WebhookEndpointActivateSecret: "webhook_endpoint.activate_secret",
        WebhookEndpointTest: "webhook_endpoint.test",
        WebhookEndpointReplay: "webhook_endpoint.replay",
        WebhookEndpointRecover: "webhook_endpoint.recover",
        DeliveryRetry: "delivery.retry",
        WebhookJobCancel: "webhook_job.cancel",
        LeadRetry: "lead.retry",
        LeadRetriesRequest: "lead_retries.request",
    }
);

impl AuditAction {
    /// The type of what is changed: the part of the name before the dot.
    pub fn subject_type(self) -> &'static str {
        self.as_str().split_once('.').map_or("", |(subject, _)| subject)
    }
}

/// Which entries of an audit log are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only this kind of change.
    pub action: Option<AuditAction>,
    /// Only changes by the actor with this id.
    pub actor: Option<String>,
    /// Only changes of the subject with this id.
    pub subject: Option<String>,
    /// Only changes at this time or later.
    pub since: Option<Timestamp>,
    /// Only changes before this time.
    pub until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_names_its_resource_and_its_verb() {
        for action in AuditAction::ALL {
            let name = action.as_str();
            assert_eq!(AuditAction::parse(name), Ok(action));
            let (resource, verb) = name.split_once('.').unwrap();
            assert_eq!(action.subject_type(), resource, "{name}");
            let verbs = "create update revoke enable disable delete rotate_secret rotate_key activate_secret replay recover retry cancel test request";
            assert!(verbs.split(' ').any(|known| known == verb), "{name}");
        }
    }
}
