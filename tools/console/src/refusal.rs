//! The reasons why a command was not executed: one sentence for each.

use std::error::Error;
use std::fmt::Display;

use domain::attribute::{DefinitionRefused, DefinitionUnfit};
use domain::inbound::keywords::KeywordsUnfit;
use domain::lead::NotRetried;
use domain::lead::capture::{Lack, TooManyOrigins};
use domain::settings::line::LinesRefused;
use domain::settings::names::NameTaken;
use domain::settings::onboarding::SequenceTooLong;
use domain::settings::template::TemplateUnfit;
use domain::settings::workspace::TeamFull;
use domain::used_by::UsedBy;
use domain::webhook::pace::CapTooLow;
use domain::webhook::{ChangeRefused, RotationRefused, UrlRefused};
use domain::{
    BrandId, BusinessAccountId, ChannelId, ContactId, DeliveryId, EndpointId, ErasureId, JobId, LeadState,
    MergeRefusal, ProviderApp, ProviderAppId, Refused, Unfit, UserRef, WebhookEndpoint, WorkspaceId,
};
use queue::NoQueue;
use store::StoreError;

/// The result of a command, or of a part of one.
pub(crate) type Result<T = (), E = Refusal> = std::result::Result<T, E>;

/// A valid command that was not executed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Neither the command line nor the environment names a stack.
    #[error("No stack is named: give --stack NAME or set the environment variable STACK.")]
    NoStack,
    /// A setting of the environment cannot be read.
    #[error("The {0}.")]
    Setting(#[from] runtime::SettingError),
    /// One of the stack's tables does not exist.
    #[error("There is no such stack in this account and region: one of its tables does not exist.")]
    MissingTable,
    /// The stack did not answer, or stayed busy through all tries.
    #[error("The stack cannot be reached ({0}); check AWS_ENDPOINT_URL, AWS_REGION and the credentials.")]
    Unreachable(String),
    /// The stack refused the call, or an item cannot be read.
    #[error("The stack refused the call: {0}.")]
    Stack(String),
    /// What the command line names does not exist, or is no longer kept.
    #[error("{} {id}{}.", .what.row().0, .what.row().1)]
    Unknown {
        /// What the command line names.
        what: Named,
        /// How it is named.
        id: String,
    },
    /// Another workspace already has the given id.
    #[error("Workspace {0} already exists.")]
    WorkspaceExists(WorkspaceId),
    /// The command line names a workspace by a name that several have.
    #[error("{} workspaces have the name {name:?}: give one of their ids: {}.", .ids.len(), .ids.join(", "))]
    SeveralWorkspaces {
        /// The name.
        name: String,
        /// The ids of the workspaces.
        ids: Vec<String>,
    },
    /// There is no key yet, or a rotation would make valid cursors unreadable.
    #[error(
        "The cursor key cannot be rotated: there is none yet, or it was rotated within the last 10 minutes."
    )]
    CursorKeyTooYoung,
    /// A given value breaks its rule.
    #[error("{what}: {reason}.")]
    Unfit {
        /// The value that breaks the rule.
        what: &'static str,
        /// The rule.
        reason: Unfit,
    },
    /// Another user has the e-mail address.
    #[error("Another user of the workspace already has this e-mail address.")]
    UserEmailTaken,
    /// The team would have too many members.
    #[error("The team is full: {0}.")]
    TeamFull(#[from] TeamFull),
    /// The definition breaks a rule.
    #[error("The attribute cannot be created: {0}.")]
    DefinitionUnfit(#[from] DefinitionUnfit),
    /// The workspace refuses the definition.
    #[error("The attribute cannot be created: {0}.")]
    DefinitionRefused(#[from] DefinitionRefused),
    /// A changed definition breaks a rule.
    #[error("The attribute is unchanged: {0}.")]
    DefinitionChangeUnfit(#[source] DefinitionUnfit),
    /// The workspace refuses a changed definition.
    #[error("The attribute is unchanged: {0}.")]
    DefinitionChangeRefused(#[source] DefinitionRefused),
    /// The workspace refuses the line or the brand.
    #[error("This cannot be created: {0}.")]
    Lines(#[from] LinesRefused),
    /// Another setting of the same kind has the name.
    #[error("The name is refused: {0}.")]
    NameTaken(#[from] NameTaken),
    /// The setting is used, so it cannot be deleted.
    #[error("The {what} cannot be deleted: it is used by {}.", used_by(.by))]
    InUse {
        /// The kind of the setting.
        what: &'static str,
        /// What uses it.
        by: Vec<UsedBy>,
    },
    /// A line id belongs to one workspace.
    #[error("The line {line:?} belongs to workspace {workspace}: delete it there first.")]
    LineOfWorkspace {
        /// The line.
        line: ChannelId,
        /// The workspace that has it.
        workspace: WorkspaceId,
    },
    /// A provider app has this id already.
    #[error("There is an app {} already: `provider rotate` changes its secret.", .0.as_str())]
    AppExists(ProviderAppId),
    /// The deployment has the greatest number of provider apps.
    #[error("There are {} apps already, and a deployment has at most that many.", ProviderApp::MAX)]
    TooManyApps,
    /// The keywords break a rule.
    #[error("The keywords are refused: {0}.")]
    Keywords(#[from] KeywordsUnfit),
    /// The template breaks a rule.
    #[error("The template is refused: {0}.")]
    Template(#[from] TemplateUnfit),
    /// The file with the components of a template cannot be used.
    #[error("The components in {file} cannot be used: {reason}.")]
    Components {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// No line of the business account is here, so there is no token to read its templates.
    #[error("No line has the business account {}.", .0.as_str())]
    NoLineOfAccount(BusinessAccountId),
    /// A workspace has no line of the business account.
    #[error("Workspace {workspace} has no line of the business account {}.", .account.as_str())]
    NoLineOfAccountThere {
        /// The workspace.
        workspace: WorkspaceId,
        /// The account.
        account: BusinessAccountId,
    },
    /// The list of an account's templates was not read to its end. What was read is recorded, and the command has shown it.
    #[error("The sync of {} ended early: {reason}. Repeat it; nothing is done twice.", .account.as_str())]
    SyncStopped {
        /// The account.
        account: BusinessAccountId,
        /// The reason.
        reason: String,
    },
    /// Some templates of the provider's list cannot be kept here. The command has listed them.
    #[error("{failed} of {of} templates of the provider cannot be kept here.")]
    NotSynced {
        /// The number of failures.
        failed: usize,
        /// The total number.
        of: usize,
    },
    /// Some templates that no account has any more are in use. The command has listed them.
    #[error("{kept} of {of} templates are in use and stay.")]
    NotPruned {
        /// The number that stays.
        kept: usize,
        /// The total number.
        of: usize,
    },
    /// The sequence has too many templates.
    #[error("The onboarding cannot be set up: {0}.")]
    Onboarding(#[from] SequenceTooLong),
    /// Conversations would be refused because of the sequence.
    #[error("The onboarding cannot be set up: {0}.")]
    OnboardingRefused(#[from] Refused),
    /// Lead capture is not set up.
    #[error("Lead capture is not set up for the workspace: use `capture set` or `capture enable`.")]
    NoCapture,
    /// Lead capture would have too many origins.
    #[error("The origin is refused: {0}.")]
    TooManyOrigins(#[from] TooManyOrigins),
    /// The service could accept leads, but not write to them.
    #[error("Lead capture cannot be enabled: {}.", listed(.0))]
    CannotEnable(Vec<Lack>),
    /// The same for a change of lead capture that is already enabled.
    #[error("Lead capture is enabled and would not work with this change: {}.", listed(.0))]
    CannotStayEnabled(Vec<Lack>),
    /// The lead is in progress, was sent, or must not be sent.
    #[error("The lead is {}: only a FAILED or UNKNOWN lead can be retried.", .0.as_str())]
    NotRetried(LeadState),
    /// A retry may send the message twice, so the operator must allow it.
    #[error(
        "The outcome of the lead's message is unknown, and a retry may send it twice: give --may-send-twice \
        to allow that."
    )]
    MaySendTwice,
    /// A retry would end the lead for good.
    #[error("The lead is not retried: it would become SUPPRESSED for good, because {0}.")]
    WouldBeSuppressed(&'static str),
    /// The URL must not be an endpoint's.
    #[error("The URL is refused: {0}.")]
    Url(#[from] UrlRefused),
    /// The workspace has the maximum number of endpoints.
    #[error(
        "The workspace already has {} webhook endpoints, which is the maximum.",
        WebhookEndpoint::MAX_PER_WORKSPACE
    )]
    TooManyEndpoints,
    /// The signing secret cannot be rotated or activated.
    #[error("The signing secret is unchanged: {0}.")]
    Rotation(#[from] RotationRefused),
    /// The endpoint is disabled, so it gets no deliveries.
    #[error("The webhook endpoint {0} is disabled: enable it first.")]
    EndpointDisabled(EndpointId),
    /// The range begins too early, or ends before it begins.
    #[error("The range is invalid: {0}.")]
    Range(&'static str),
    /// The number of slots cannot be reduced, because slots hold deliveries.
    #[error("The endpoint has {has} slots: their number cannot be reduced to {wanted} (--slots).")]
    FewerSlots {
        /// The current number of slots.
        has: u8,
        /// The requested number of slots.
        wanted: u8,
    },
    /// The cap is lower than the number of slots, which send requests independently of each other.
    #[error("The cap of {cap} is too low for {slots} slots ({argument}): each slot needs at least 1.")]
    CapTooLow {
        /// The argument that sets the cap.
        argument: &'static str,
        /// The cap.
        cap: u16,
        /// The number of slots that share the cap.
        slots: u8,
    },
    /// The job is done and can no longer be cancelled.
    #[error("The job {0} is already done and cannot be cancelled.")]
    JobDone(JobId),
    /// Somebody cancelled the job while the command waited for it.
    #[error("The job {0} was cancelled before it was done.")]
    JobCancelled(String),
    /// The job is not done within the waiting time.
    #[error(
        "The job {job} is not done after {seconds} seconds and continues: `webhook show` shows its progress."
    )]
    NotDone {
        /// The job.
        job: JobId,
        /// The waiting time in seconds.
        seconds: u64,
    },
    /// The erasure is not done within the waiting time.
    #[error(
        "The erasure {erasure} is not done after {seconds} seconds and continues: `person erasures` shows its state."
    )]
    ErasureNotDone {
        /// The erasure.
        erasure: ErasureId,
        /// The waiting time in seconds.
        seconds: u64,
    },
    /// The receiver did not acknowledge the attempt that the command waited for.
    #[error("The delivery {delivery} was attempted and is not acknowledged ({last}).")]
    NotDelivered {
        /// The delivery.
        delivery: DeliveryId,
        /// The status of the last answer, or the error.
        last: String,
    },
    /// The bucket's name does not follow CloudFormation's pattern.
    #[error(
        "The stack's bucket cannot be found by its name: give {argument} with the stack's output {output}."
    )]
    BucketNotFound {
        /// The stack's output with the bucket's name.
        output: &'static str,
        /// The argument that sets the bucket's name.
        argument: &'static str,
    },
    /// A queue of the stack does not exist.
    #[error("The stack cannot be used: {0}.")]
    NoQueue(#[from] NoQueue),
    /// Some objects were not relayed and stay in the failure bucket. The command has listed them.
    #[error("{failed} of {of} objects were not relayed and stay in the bucket.")]
    NotRelayed {
        /// The number of failures.
        failed: usize,
        /// The total number.
        of: usize,
    },
    /// Some webhooks of the provider stay in quarantine. The command has listed them.
    #[error("{failed} of {of} webhooks stay in quarantine.")]
    NotRedriven {
        /// The number of failures.
        failed: usize,
        /// The total number.
        of: usize,
    },
    /// The contact is not a result of the search.
    #[error("The search does not find the contact {0}, so the list cannot continue after it.")]
    NotFound(ContactId),
    /// The contact became part of another one.
    #[error("Contact {contact} is part of contact {into} now.")]
    Merged {
        /// The contact that the command line names.
        contact: ContactId,
        /// The contact that it is part of.
        into: ContactId,
    },
    /// Two contacts cannot become one.
    #[error("The contacts are not merged: {}.", not_merged(*.0))]
    NotMerged(MergeRefusal),
    /// A merge ended, and the contacts are still two.
    #[error(
        "The contacts were not merged: one of them was erased meanwhile, or together they became too large."
    )]
    MergeWithoutEffect,
    /// The merge is not done within the waiting time.
    #[error(
        "The contacts are not merged after {seconds} seconds, and the service goes on: repeat the command to see its state."
    )]
    MergeNotDone {
        /// The waiting time in seconds.
        seconds: u64,
    },
    /// The file cannot be read or written.
    #[error("{path}: {reason}.")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Some rows were not imported. The command has listed them.
    #[error("{failed} of {of} rows were not imported.")]
    RowsFailed {
        /// The number of failures.
        failed: usize,
        /// The total number.
        of: usize,
    },
    /// The same for an import that only validates.
    #[error("{failed} of {of} rows would not be imported.")]
    RowsWouldFail {
        /// The number of failures.
        failed: usize,
        /// The total number.
        of: usize,
    },
    /// The person at the terminal did not confirm a command that cannot be undone.
    #[error("Nothing was changed: the command was not confirmed. --yes confirms it.")]
    NotConfirmed,
    /// The client that forwards events cannot be made.
    #[error("Events cannot be forwarded: {0}.")]
    Http(String),
    /// Nothing belongs to the person.
    #[error("The workspace holds nothing of this person.")]
    NobodyFound,
    /// An object of the failure bucket cannot be read.
    #[error(
        "The object {key} of the failure bucket cannot be read ({reason}); delete it if it is not needed."
    )]
    Object {
        /// The object's key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// Others changed the same item during all tries.
    #[error("Somebody else changed this at the same time; try again.")]
    Contended,
    /// The result could not be written.
    #[error("The output could not be written: {0}.")]
    Output(#[source] std::io::Error),
}

impl From<admin::Refused> for Refusal {
    fn from(refused: admin::Refused) -> Self {
        match refused {
            admin::Refused::UnknownWorkspace(id) => Named::Workspace.unknown(id),
            admin::Refused::UnknownEndpoint(id) => Named::Endpoint.unknown(id),
            admin::Refused::UnknownJob(id) => Named::Job.unknown(id),
            admin::Refused::UnknownDelivery(id) => Named::Delivery.unknown(id),
            admin::Refused::UnknownEvent(id) => Named::Event.unknown(id),
            admin::Refused::UnknownLead(id) => Named::Lead.unknown(id),
            admin::Refused::LeadNotRetried { state, reason } => match reason {
                NotRetried::State => Self::NotRetried(state),
                NotRetried::MaySendTwice => Self::MaySendTwice,
                NotRetried::CaptureDisabled => Self::WouldBeSuppressed("capture is disabled"),
                NotRetried::OptedOut => Self::WouldBeSuppressed("its number has opted out"),
            },
            admin::Refused::TooManyEndpoints { .. } => Self::TooManyEndpoints,
            admin::Refused::EndpointDisabled(id) => Self::EndpointDisabled(id),
            admin::Refused::Unfit(ChangeRefused::FewerSlots { has, wanted }) => {
                Self::FewerSlots { has, wanted }
            }
            admin::Refused::Unfit(ChangeRefused::CapTooLow(CapTooLow { field, cap, slots })) => {
                let argument =
                    if field == "maxConcurrency" { "--max-concurrency" } else { "--max-per-second" };
                Self::CapTooLow { argument, cap, slots }
            }
            admin::Refused::Rotation(refused) => Self::Rotation(refused),
            admin::Refused::Range(reason) => Self::Range(reason),
            admin::Refused::Onboarding(refused) => Self::OnboardingRefused(refused),
            admin::Refused::UnknownUser(named) | admin::Refused::UnknownMember(named) => match named {
                UserRef::Id(id) => Named::User.unknown(id),
                UserRef::Email(email) => Named::User.unknown(email.as_str()),
            },
            admin::Refused::EmailTaken(_) => Self::UserEmailTaken,
            admin::Refused::UnknownTeam(id) => Named::Team.unknown(id),
            admin::Refused::TeamFull(full) => Self::TeamFull(full),
            admin::Refused::NameTaken(taken) => Self::NameTaken(taken),
            admin::Refused::TeamInUse { members } => {
                Self::InUse { what: "team", by: vec![UsedBy::Members(members)] }
            }
            admin::Refused::UnknownAttribute(id) => Named::Attribute.unknown(id),
            admin::Refused::UnknownValue(named) => Named::ClosedValue.unknown(named),
            admin::Refused::AttributeUnfit(unfit) => Self::DefinitionChangeUnfit(unfit),
            admin::Refused::AttributeRefused(refused) => Self::DefinitionChangeRefused(refused),
            admin::Refused::UnknownOptOut(key) => Named::OptOut.unknown(key),
            admin::Refused::NoCapture => Self::NoCapture,
            admin::Refused::TooManyOrigins(many) => Self::TooManyOrigins(many),
            admin::Refused::CaptureNames { template: Some(id), .. } => Named::Template.unknown(id),
            admin::Refused::CaptureNames { template: None, brand } => {
                Named::Brand.unknown(brand.as_ref().map_or("", BrandId::as_str))
            }
            admin::Refused::CaptureLacks { lacks, was_asked: true } => Self::CannotEnable(lacks),
            admin::Refused::CaptureLacks { lacks, was_asked: false } => Self::CannotStayEnabled(lacks),
            admin::Refused::JobDone(id) => Self::JobDone(id),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match &error {
            _ if error.is_missing_table() => Self::MissingTable,
            StoreError::Busy(_) => Self::Unreachable(deepest(&error)),
            StoreError::Failed(_) | StoreError::NoPersonKey(_) | StoreError::Unreadable { .. } => {
                Self::Stack(deepest(&error))
            }
        }
    }
}

/// The innermost cause of an error, which is the most useful one of an SDK's error chain. Only its first sentence,
/// because some causes have several.
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

fn not_merged(reason: MergeRefusal) -> &'static str {
    match reason {
        MergeRefusal::Itself => "both are the same contact",
        MergeRefusal::Unknown => "one of them does not exist",
        MergeRefusal::AlreadyMerged => "one of them is part of another contact",
        MergeRefusal::BeingMerged => "another merge of one of them runs; try again in some seconds",
        MergeRefusal::BeingErased => "one of them is being erased",
        MergeRefusal::TooLarge => {
            "together they have more than 128 KB, or would stand for more than five others"
        }
    }
}

fn used_by(by: &[UsedBy]) -> String {
    by.iter().map(UsedBy::to_string).collect::<Vec<_>>().join("; ")
}

impl From<people::failures::Unreadable> for Refusal {
    fn from(unreadable: people::failures::Unreadable) -> Self {
        match unreadable {
            people::failures::Unreadable::Store(error) => error.into(),
            people::failures::Unreadable::Object { key, reason } => Self::Object { key, reason },
        }
    }
}

/// What a command line names, by an id or in another way. In JSON, the code of a refusal is `UNKNOWN_` and the variant.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the rows below describe them")]
pub enum Named {
    Workspace,
    Key,
    Session,
    User,
    Team,
    Attribute,
    ClosedValue,
    Line,
    App,
    Inbound,
    Brand,
    Template,
    Conversation,
    Message,
    Lead,
    Endpoint,
    Job,
    Delivery,
    Event,
    Contact,
    OptOut,
    Erasure,
}

impl Named {
    /// The beginning of the sentence that refuses an unknown one, what follows its id, and the argument at fault.
    fn row(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Workspace => ("There is no workspace", "", Some("--workspace")),
            Self::Key => ("The workspace has no API key", "", Some("--key")),
            Self::Session => ("The workspace has no session", "", Some("--session")),
            Self::User => ("The workspace has no user", "", Some("--user")),
            Self::Team => ("The workspace has no team", "", Some("--team")),
            Self::Attribute => ("The workspace has no attribute", "", Some("--attribute")),
            Self::ClosedValue => ("The attribute has no value", "", None),
            Self::Line => ("The workspace has no line", "", Some("--channel")),
            Self::App => ("There is no app", "", None),
            Self::Inbound => {
                ("The quarantine has no webhook", "; webhooks are kept for 90 days", Some("--id"))
            }
            Self::Brand => ("The workspace has no brand", "", None),
            Self::Template => ("There is no template", " in this scope", None),
            Self::Conversation => ("The workspace has no conversation", "", None),
            Self::Message => ("The conversation has no message", "", None),
            Self::Lead => ("The workspace has no lead", "", None),
            Self::Endpoint => ("The workspace has no webhook endpoint", "", Some("--endpoint")),
            Self::Job => (
                "The endpoint has no job",
                "; jobs are kept for 30 days, and `webhook show` lists them",
                Some("--job"),
            ),
            Self::Delivery => (
                "The workspace has no delivery",
                "; deliveries are kept for 30 days, unless the deployment sets EventRetentionDays",
                None,
            ),
            Self::Event => (
                "The workspace has no recorded event",
                "; events to which an endpoint subscribes are kept for 30 days, unless the deployment sets \
                EventRetentionDays",
                None,
            ),
            Self::Contact => ("The workspace has no contact", "", None),
            Self::OptOut => ("The workspace has no opt-out", "", None),
            Self::Erasure => ("The workspace has no erasure", "", Some("--erasure")),
        }
    }

    /// The argument at fault, if only one can be meant.
    pub(crate) fn argument(self) -> Option<&'static str> {
        self.row().2
    }

    /// The refusal of an unknown one.
    pub(crate) fn unknown(self, id: impl Display) -> Refusal {
        Refusal::Unknown { what: self, id: id.to_string() }
    }

    /// What was found under this id, which must exist.
    pub(crate) fn found<T>(self, found: Option<T>, id: impl Display) -> Result<T> {
        found.ok_or_else(|| self.unknown(id))
    }
}

/// The refusal of a value that breaks its rule. `what` is the beginning of the sentence.
pub(crate) fn unfit(what: &'static str) -> impl Fn(Unfit) -> Refusal + Copy {
    move |reason| Refusal::Unfit { what, reason }
}

/// Refuses to delete a setting that is used.
pub(crate) fn unused(what: &'static str, by: Vec<UsedBy>) -> Result {
    if by.is_empty() { Ok(()) } else { Err(Refusal::InUse { what, by }) }
}
