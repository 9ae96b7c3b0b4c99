//! What the provider lets a business account do with a template.

use crate::sending::PartError;
use crate::time::Timestamp;
use crate::words::words;

/// What a template is for. The provider decides it, and may change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateCategory {
    /// News about something that the customer ordered or asked for.
    Utility,
    /// Offers and everything else.
    Marketing,
    /// Codes for a sign-in.
    Authentication,
}

words!(
    /// The provider's names.
    TemplateCategory { Utility: "UTILITY", Marketing: "MARKETING", Authentication: "AUTHENTICATION" }
);

/// The state of a template for one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountState {
    /// The provider's status.
    pub status: TemplateStatus,
    /// When it was decided.
    pub at: Timestamp,
    /// Who said it.
    pub by: SaidBy,
    /// The provider's id of the template.
    pub meta_id: Option<String>,
    /// The provider's word for how people rate the template.
    pub quality: Option<String>,
    /// The category for this account.
    pub category: Option<TemplateCategory>,
    /// Why the template is in this status, in the provider's words.
    pub reason: Option<String>,
    /// The shape of the template for this account, if it was read: [`crate::settings::template::Form::shape`].
    pub shape: Option<String>,
}

impl AccountState {
    /// A status of which nothing else is known.
    pub fn of(status: TemplateStatus, at: Timestamp, by: SaidBy) -> Self {
        Self { status, at, by, meta_id: None, quality: None, category: None, reason: None, shape: None }
    }
}

/// Who said in which status a template is. Of two at the same time, the later one of this list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SaidBy {
    /// An operator.
    Operator,
    /// The list of the account's templates.
    Sync,
    /// A webhook of the provider.
    Provider,
}

words!(
    /// The values in the row of a template.
    SaidBy { Operator: "OPERATOR", Sync: "SYNC", Provider: "PROVIDER" }
);

/// The statuses of a template for an account: the provider's, and two of the service. Of two at the same time, the later one of
/// this list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateStatus {
    /// It may be sent.
    Approved,
    /// It may be sent again.
    Reinstated,
    /// It may be sent, and is about to be paused.
    Flagged,
    /// It may be sent, and cannot be edited.
    Locked,
    /// It may be sent again in some hours.
    Paused,
    /// It is being reviewed.
    Pending,
    /// Its rejection is being reviewed.
    InAppeal,
    /// It was rejected.
    Rejected,
    /// It was paused too often.
    Disabled,
    /// It is to be deleted.
    PendingDeletion,
    /// It was deleted.
    Deleted,
    /// It was archived.
    Archived,
    /// The account has too many templates.
    LimitExceeded,
    /// It takes other values for this account than the template that the service knows.
    Mismatch,
    /// A component is of a kind that the service does not send.
    Unsupported,
}

words!(
    /// The provider's words, and those of the service.
    TemplateStatus {
        Approved: "APPROVED",
        Reinstated: "REINSTATED",
        Flagged: "FLAGGED",
        Locked: "LOCKED",
        Paused: "PAUSED",
        Pending: "PENDING",
        InAppeal: "IN_APPEAL",
        Rejected: "REJECTED",
        Disabled: "DISABLED",
        PendingDeletion: "PENDING_DELETION",
        Deleted: "DELETED",
        Archived: "ARCHIVED",
        LimitExceeded: "LIMIT_EXCEEDED",
        Mismatch: "MISMATCH",
        Unsupported: "UNSUPPORTED",
    }
);

/// What a status means for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sendable {
    /// It is sent.
    Now,
    /// It can be sent later: a message that was accepted waits.
    Later,
    /// It cannot be sent.
    Never,
}

impl TemplateStatus {
    /// What the status means for a message.
    pub fn sendable(self) -> Sendable {
        match self {
            Self::Approved | Self::Reinstated | Self::Flagged | Self::Locked => Sendable::Now,
            Self::Paused | Self::Pending | Self::InAppeal => Sendable::Later,
            Self::Rejected
            | Self::Disabled
            | Self::PendingDeletion
            | Self::Deleted
            | Self::Archived
            | Self::LimitExceeded
            | Self::Mismatch
            | Self::Unsupported => Sendable::Never,
        }
    }

    /// The error of a part whose template has this status for good, or had it for too long.
    pub fn part_error(self) -> PartError {
        PartError::of(PartError::NOT_APPROVED).because(self.as_str())
    }

    /// The status that the provider reports by this word. `None` for a word that is not known.
    pub fn reported(word: &str) -> Option<Self> {
        Self::parse(word).ok().filter(|status| !matches!(status, Self::Mismatch | Self::Unsupported))
    }
}
