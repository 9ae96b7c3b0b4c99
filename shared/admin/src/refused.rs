//! Why changes are refused.

use domain::attribute::{DefinitionRefused, DefinitionUnfit};
use domain::lead::NotRetried;
use domain::lead::capture::{Lack, TooManyOrigins};
use domain::settings::names::NameTaken;
use domain::settings::workspace::TeamFull;
use domain::webhook::{ChangeRefused, RotationRefused};
use domain::{
    AttributeId, BrandId, DeliveryId, EndpointId, EventId, JobId, LeadId, LeadState, TeamId, TemplateId,
    UserId, UserRef, WorkspaceId,
};

/// Why a change of a workspace is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such workspace.
    #[error("there is no workspace {0}")]
    UnknownWorkspace(WorkspaceId),
    /// The workspace has no such endpoint.
    #[error("the workspace has no webhook endpoint {0}")]
    UnknownEndpoint(EndpointId),
    /// The endpoint has no such job.
    #[error("the endpoint has no job {0}")]
    UnknownJob(JobId),
    /// The workspace has no such delivery.
    #[error("the workspace has no delivery {0}")]
    UnknownDelivery(DeliveryId),
    /// The workspace has no such recorded event.
    #[error("the workspace has no recorded event {0}")]
    UnknownEvent(EventId),
    /// The workspace has no such lead.
    #[error("the workspace has no lead {0}")]
    UnknownLead(LeadId),
    /// The lead is not retried.
    #[error("the lead is {} and is not retried: {}", .state.as_str(), .reason.as_str())]
    LeadNotRetried {
        /// The state of the lead.
        state: LeadState,
        /// Why it is not retried.
        reason: NotRetried,
    },
    /// The workspace has the maximum number of endpoints.
    #[error("the workspace has {of} webhook endpoints, which is the maximum")]
    TooManyEndpoints {
        /// The maximum.
        of: usize,
    },
    /// The endpoint is disabled, so it gets no deliveries.
    #[error("the webhook endpoint {0} is disabled")]
    EndpointDisabled(EndpointId),
    /// The settings do not fit the endpoint.
    #[error("the settings do not fit the endpoint: {0:?}")]
    Unfit(ChangeRefused),
    /// The signing secret cannot be rotated or activated.
    #[error(transparent)]
    Rotation(#[from] RotationRefused),
    /// The range begins too early, or ends before it begins.
    #[error("the range is invalid: {0}")]
    Range(&'static str),
    /// The workspace has no such user.
    #[error("the workspace has no user {}", .0.identifier())]
    UnknownUser(UserRef),
    /// Another user has the e-mail address.
    #[error("the user {0} has this e-mail address")]
    EmailTaken(UserId),
    /// The workspace has no such team.
    #[error("the workspace has no team {0}")]
    UnknownTeam(TeamId),
    /// The workspace has no such user, who should become or be no longer a member of a team.
    #[error("the workspace has no user {}", .0.identifier())]
    UnknownMember(UserRef),
    /// The team would have too many members.
    #[error(transparent)]
    TeamFull(#[from] TeamFull),
    /// Another setting of the same kind has the name.
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    /// The team has members, so it is not deleted.
    #[error("the team has {members} members")]
    TeamInUse {
        /// Their number.
        members: usize,
    },
    /// The workspace has no such attribute.
    #[error("the workspace has no attribute {0}")]
    UnknownAttribute(AttributeId),
    /// The attribute has no such value.
    #[error("the attribute has no value {0}")]
    UnknownValue(String),
    /// The changed attribute breaks a rule.
    #[error(transparent)]
    AttributeUnfit(DefinitionUnfit),
    /// The workspace cannot have the attribute.
    #[error(transparent)]
    AttributeRefused(DefinitionRefused),
    /// Nobody whom the business could opt in again has these choices.
    #[error("the workspace has no opt-out {0}")]
    UnknownOptOut(String),
    /// Lead capture is not set up, so it has no key.
    #[error("lead capture is not set up")]
    NoCapture,
    /// Lead capture would have too many origins.
    #[error(transparent)]
    TooManyOrigins(TooManyOrigins),
    /// A change of lead capture names what does not exist.
    #[error("the workspace has no such template or brand")]
    CaptureNames {
        /// The template that exists neither in the workspace nor in the platform.
        template: Option<TemplateId>,
        /// The brand that the workspace does not have.
        brand: Option<BrandId>,
    },
    /// Lead capture would be enabled, but the service could not write to the leads.
    #[error("lead capture lacks {} things", .lacks.len())]
    CaptureLacks {
        /// What is missing.
        lacks: Vec<Lack>,
        /// Whether the change asks for enabled lead capture. Otherwise it was enabled before.
        was_asked: bool,
    },
    /// Conversations would be refused because of the onboarding.
    #[error(transparent)]
    Onboarding(domain::Refused),
    /// The job is done and can no longer be cancelled.
    #[error("the job {0} is done")]
    JobDone(JobId),
}
