//! Internal users: the human agents of a workspace.

use crate::ids::{UserId, WorkspaceId};
use crate::text::{Cellphone, Email, Language, PersonName, Unfit};
use crate::time::Timestamp;

/// A human agent. The e-mail address never changes, so rows may contain it together with the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// The workspace the user works in.
    pub workspace_id: WorkspaceId,
    /// Whether the user is active.
    pub status: UserStatus,
    /// When the user was created.
    pub created_at: Timestamp,
    /// When the user last changed.
    pub updated_at: Timestamp,
    /// Given name.
    pub first_name: Option<PersonName>,
    /// Family name.
    pub last_name: Option<PersonName>,
    /// The unique e-mail address that identifies the user within the workspace, regardless of case.
    pub email: Email,
    /// Phone number.
    pub cellphone: Option<Cellphone>,
    /// The user's preferred language.
    pub language: Option<Language>,
    /// Increases by one with each change.
    pub version: u64,
}

impl User {
    /// A new active user with only an e-mail address.
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

    /// The disabled user. `None` if the user is disabled already.
    pub fn disabled(&self, now: Timestamp) -> Option<Self> {
        (self.status == UserStatus::Active).then(|| Self {
            status: UserStatus::Disabled,
            updated_at: now,
            version: self.version + 1,
            ..self.clone()
        })
    }
}

/// The state of an internal user. The names are in lower case, as in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserStatus {
    /// The user is active.
    Active,
    /// An operator has removed the user.
    Disabled,
}

impl UserStatus {
    /// Parses the value of the API field.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "active" => Ok(Self::Active),
            "disabled" => Ok(Self::Disabled),
            _ => Err(Unfit::NotOneOf { expected: &["active", "disabled"] }),
        }
    }

    /// The value of the API field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

/// The identifier that a caller uses for an internal user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRef {
    /// The user's id.
    Id(UserId),
    /// The e-mail address.
    Email(Email),
}

impl UserRef {
    /// The id or address in its canonical form.
    pub fn identifier(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Email(email) => email.canonical(),
        }
    }

    /// The value of the API field for the type of the identifier.
    pub fn identifier_type(&self) -> &'static str {
        match self {
            Self::Id(_) => "ID",
            Self::Email(_) => "EMAIL",
        }
    }

    /// Whether this identifier refers to the user.
    pub fn names(&self, user: &User) -> bool {
        match self {
            Self::Id(id) => user.id == *id,
            Self::Email(email) => user.email.same_as(email),
        }
    }
}
