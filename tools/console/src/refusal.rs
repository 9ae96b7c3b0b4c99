//! Why a command was not carried out: one sentence for each reason.

use std::error::Error;

use domain::attribute::{DefinitionRefused, DefinitionUnfit};
use domain::lead::capture::{Lack, TooManyOrigins};
use domain::settings::line::LinesRefused;
use domain::settings::onboarding::SequenceTooLong;
use domain::settings::template::TemplateUnfit;
use domain::settings::workspace::TeamFull;
use domain::webhook::{RotationRefused, UrlRefused};
use domain::{
    AttributeId, BrandId, ChannelId, ConversationId, DeliveryId, EndpointId, JobId, KeyId, LeadId, LeadState,
    MessageId, TeamId, TemplateId, Unfit, UserRef, WebhookEndpoint, WorkspaceId,
};
use queue::NoQueue;
use store::StoreError;

/// A command that was understood and not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Neither the command line nor the environment says which stack.
    #[error("No stack is named: give --stack NAME or set the environment variable STACK.")]
    NoStack,
    /// A setting of the environment cannot be read.
    #[error("The {0}.")]
    Setting(#[from] runtime::SettingError),
    /// The stack's tables are not there.
    #[error("There is no such stack in this account and region: one of its tables does not exist.")]
    MissingTable,
    /// No answer, or "later", for longer than a person likes to wait.
    #[error("The stack cannot be reached ({0}); check AWS_ENDPOINT_URL, AWS_REGION and the credentials.")]
    Unreachable(String),
    /// The stack answered something else than what was asked for.
    #[error("The stack refused the call: {0}.")]
    Stack(String),
    /// No such workspace.
    #[error("There is no workspace {0}.")]
    UnknownWorkspace(WorkspaceId),
    /// The id given for a new workspace is another's.
    #[error("Workspace {0} already exists.")]
    WorkspaceExists(WorkspaceId),
    /// There is none, or cursors that still count would be lost with the one before.
    #[error(
        "The cursor key cannot be rotated: there is none yet, or it was rotated within the last 10 minutes."
    )]
    CursorKeyTooYoung,
    /// A value given breaks its rule.
    #[error("{what}: {reason}.")]
    Unfit {
        /// What does not fit.
        what: &'static str,
        /// The rule.
        reason: Unfit,
    },
    /// No such key.
    #[error("The workspace has no API key {0}.")]
    UnknownKey(KeyId),
    /// No such user.
    #[error("The workspace has no user {}.", named(.0))]
    UnknownUser(UserRef),
    /// The e-mail address is another user's.
    #[error("Another user of the workspace already has this e-mail address.")]
    UserEmailTaken,
    /// No such team.
    #[error("The workspace has no team {0}.")]
    UnknownTeam(TeamId),
    /// Too many members.
    #[error("The team is full: {0}.")]
    TeamFull(#[from] TeamFull),
    /// The definition breaks a rule.
    #[error("The attribute cannot be created: {0}.")]
    DefinitionUnfit(#[from] DefinitionUnfit),
    /// The workspace does not take the definition.
    #[error("The attribute cannot be created: {0}.")]
    DefinitionRefused(#[from] DefinitionRefused),
    /// No such attribute.
    #[error("The workspace has no attribute {0}.")]
    UnknownAttribute(AttributeId),
    /// The workspace does not take the line or the brand.
    #[error("This cannot be created: {0}.")]
    Lines(#[from] LinesRefused),
    /// No such line.
    #[error("The workspace has no line {0:?}.")]
    UnknownLine(ChannelId),
    /// No such brand.
    #[error("The workspace has no brand {0:?}.")]
    UnknownBrand(BrandId),
    /// The template breaks a rule.
    #[error("The template is refused: {0}.")]
    Template(#[from] TemplateUnfit),
    /// No such template.
    #[error("There is no template {0} in this scope.")]
    UnknownTemplate(TemplateId),
    /// More templates than open a conversation.
    #[error("The onboarding cannot be set up: {0}.")]
    Onboarding(#[from] SequenceTooLong),
    /// No such conversation.
    #[error("The workspace has no conversation {0}.")]
    UnknownConversation(ConversationId),
    /// No such message.
    #[error("The conversation has no message {0}.")]
    UnknownMessage(MessageId),
    /// Nobody has set capture up.
    #[error("Lead capture is not set up for the workspace: use `capture set` or `capture enable`.")]
    NoCapture,
    /// More origins than a set-up may have.
    #[error("The origin is refused: {0}.")]
    TooManyOrigins(#[from] TooManyOrigins),
    /// Leads could be taken and not be written to.
    #[error("Lead capture cannot be enabled: {}.", listed(.0))]
    CannotEnable(Vec<Lack>),
    /// The same of a set-up that is enabled and would be changed.
    #[error("Lead capture is enabled and would not work with this change: {}.", listed(.0))]
    CannotStayEnabled(Vec<Lack>),
    /// No such lead.
    #[error("The workspace has no lead {0}.")]
    UnknownLead(LeadId),
    /// It is on its way, has arrived or must not be sent.
    #[error("The lead is {}: only a FAILED or UNKNOWN lead can be retried.", .0.as_str())]
    NotRetried(LeadState),
    /// Only the operator can decide that.
    #[error(
        "The outcome of the lead's message is unknown, and a retry may send it twice: give --may-send-twice \
        to allow that."
    )]
    MaySendTwice,
    /// To try the lead once more would only end it for good.
    #[error("The lead is not retried: it would become SUPPRESSED for good, because {0}.")]
    WouldBeSuppressed(&'static str),
    /// The URL may not be an endpoint's.
    #[error("The URL is refused: {0}.")]
    Url(#[from] UrlRefused),
    /// As many endpoints as a workspace may have.
    #[error(
        "The workspace already has {} webhook endpoints, which is the maximum.",
        WebhookEndpoint::MAX_PER_WORKSPACE
    )]
    TooManyEndpoints,
    /// No such endpoint.
    #[error("The workspace has no webhook endpoint {0}.")]
    UnknownEndpoint(EndpointId),
    /// The rotation of its signing secret does not go on.
    #[error("The signing secret is unchanged: {0}.")]
    Rotation(#[from] RotationRefused),
    /// A delivery needs somebody who takes it.
    #[error("The webhook endpoint {0} is disabled: enable it first.")]
    EndpointDisabled(EndpointId),
    /// Further back than it may reach, or a range that ends before it begins.
    #[error("The range is invalid: {0}.")]
    Range(&'static str),
    /// Slots hold deliveries, so that none can be taken away.
    #[error("The endpoint has {has} slots: their number cannot be reduced to {wanted} (--slots).")]
    FewerSlots {
        /// How many it has.
        has: u8,
        /// How many are wanted.
        wanted: u8,
    },
    /// Each slot posts for itself, so that the cap would not be kept.
    #[error("The cap of {cap} is too low for {slots} slots ({argument}): each slot needs at least 1.")]
    CapTooLow {
        /// The argument that names the cap.
        argument: &'static str,
        /// The cap.
        cap: u16,
        /// How many slots share it.
        slots: u8,
    },
    /// No such job, or none any more.
    #[error("The endpoint has no job {0}; jobs are kept for 30 days, and `webhook show` lists them.")]
    UnknownJob(JobId),
    /// It is too late to cancel it.
    #[error("The job {0} is already done and cannot be cancelled.")]
    JobDone(JobId),
    /// Somebody cancelled what was waited for.
    #[error("The job {0} was cancelled before it was done.")]
    JobCancelled(String),
    /// It lasts longer than the command waits.
    #[error(
        "The job {job} is not done after {seconds} seconds and continues: `webhook show` shows its progress."
    )]
    NotDone {
        /// The job.
        job: JobId,
        /// For how long it was waited for.
        seconds: u64,
    },
    /// The bucket is not named as CloudFormation would name it.
    #[error(
        "The stack's bucket cannot be found by its name: give {argument} with the stack's output {output}."
    )]
    BucketNotFound {
        /// The output that names it.
        output: &'static str,
        /// The argument that does.
        argument: &'static str,
    },
    /// A queue of the stack is not there.
    #[error("The stack cannot be used: {0}.")]
    NoQueue(#[from] NoQueue),
    /// Objects of the failure bucket that stay there; each was named before.
    #[error("{failed} of {of} objects were not relayed and stay in the bucket.")]
    NotRelayed {
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
    },
    /// No such delivery, or none any more.
    #[error("The workspace has no delivery {0}; deliveries are kept for 30 days.")]
    UnknownDelivery(DeliveryId),
    /// The file cannot be read or written.
    #[error("{path}: {reason}.")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Rows of an import that were not taken; each was named before.
    #[error("{failed} of {of} rows were not imported.")]
    RowsFailed {
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
    },
    /// Others kept changing the same thing.
    #[error("Somebody else changed this at the same time; try again.")]
    Contended,
    /// What came of it could not be shown.
    #[error("The output could not be written: {0}.")]
    Output(#[source] std::io::Error),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match &error {
            _ if error.is_missing_table() => Self::MissingTable,
            StoreError::Busy(_) => Self::Unreachable(deepest(&error)),
            StoreError::Failed(_) | StoreError::Unreadable { .. } => Self::Stack(deepest(&error)),
        }
    }
}

/// The innermost cause, which is the telling one of an SDK's error: its first sentence, as some tell stories.
pub(crate) fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let story = cause.to_string();
    let sentence = story.split(['\n', '\r']).next().unwrap_or_default();
    sentence.split(". ").next().unwrap_or_default().trim_end_matches(['.', ':']).to_owned()
}

fn listed(lacks: &[Lack]) -> String {
    lacks.iter().map(Lack::to_string).collect::<Vec<_>>().join("; ")
}

fn named(user: &UserRef) -> String {
    match user {
        UserRef::Id(id) => id.to_string(),
        UserRef::Email(email) => email.as_str().to_owned(),
    }
}
