//! Internal users: the human agents of a workspace.

use crate::ids::{UserId, WorkspaceId};
use crate::text::{Cellphone, Email, Language, PersonName, Unfit};
use crate::time::Timestamp;

/// A human agent. The e-mail never changes, so that rows may carry it beside the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// The workspace the user works in.
    pub workspace_id: WorkspaceId,
    /// Whether the user is live.
    pub status: UserStatus,
    /// When the user was made.
    pub created_at: Timestamp,
    /// When the user last changed.
    pub updated_at: Timestamp,
    /// Given name.
    pub first_name: Option<PersonName>,
    /// Family name.
    pub last_name: Option<PersonName>,
    /// Address by which the user is found; unique within the workspace without case.
    pub email: Email,
    /// Phone number.
    pub cellphone: Option<Cellphone>,
    /// Language of the user.
    pub language: Option<Language>,
    /// Grows by one with each change.
    pub version: u64,
}

impl User {
    /// A new active user who has an address and nothing else yet.
    pub fn new(id: UserId, workspace_id: WorkspaceId, email: Email, now: Timestamp) -> Self {
        Self {
            id,
            workspace_id,
            status: UserStatus::Active,
            created_at: now,
            updated_at: now,
            first_name: None,
            last_name: None,
            email,
            cellphone: None,
            language: None,
            version: 1,
        }
    }

    /// The user after removal; `None` when removed already.
    pub fn disabled(&self, now: Timestamp) -> Option<Self> {
        (self.status == UserStatus::Active).then(|| Self {
            status: UserStatus::Disabled,
            updated_at: now,
            version: self.version + 1,
            ..self.clone()
        })
    }
}

/// The states of an internal user, in the specification's lower-case words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserStatus {
    /// The user is live.
    Active,
    /// The user has been removed.
    Disabled,
}

impl UserStatus {
    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "active" => Ok(Self::Active),
            "disabled" => Ok(Self::Disabled),
            _ => Err(Unfit::NotOneOf { expected: &["active", "disabled"] }),
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

/// How a caller names an internal user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRef {
    /// By id.
    Id(UserId),
    /// By e-mail address.
    Email(Email),
}

impl UserRef {
    /// The id or address in its canonical spelling.
    pub fn identifier(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Email(email) => email.canonical(),
        }
    }

    /// The API's word for what the identifier is.
    pub fn identifier_type(&self) -> &'static str {
        match self {
            Self::Id(_) => "ID",
            Self::Email(_) => "EMAIL",
        }
    }

    /// Whether this is a name of that user.
    pub fn names(&self, user: &User) -> bool {
        match self {
            Self::Id(id) => user.id == *id,
            Self::Email(email) => user.email.same_as(email),
        }
    }
}
