//! Internal users: the human agents of a workspace.

use crate::ids::{UserId, WorkspaceId};
use crate::patch::Patch;
use crate::text::{Cellphone, Email, Language, PersonName};
use crate::time::Timestamp;
use crate::words::words;

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
        self.changed_to(Self { status: UserStatus::Disabled, ..self.clone() }, now)
    }

    /// The active user. `None` if the user is active already.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        self.changed_to(Self { status: UserStatus::Active, ..self.clone() }, now)
    }

    /// The user with this change. `None` if the change has no effect.
    pub fn changed(&self, change: &UserChange, now: Timestamp) -> Option<Self> {
        let next = Self {
            first_name: change.first_name.applied_to(&self.first_name),
            last_name: change.last_name.applied_to(&self.last_name),
            cellphone: change.cellphone.applied_to(&self.cellphone),
            language: change.language.applied_to(&self.language),
            status: change.status.unwrap_or(self.status),
            ..self.clone()
        };
        self.changed_to(next, now)
    }

    /// The names of the fields in which the next version differs, as requests name them.
    pub fn differences(&self, next: &Self) -> Vec<&'static str> {
        let fields = [
            ("status", self.status != next.status),
            ("firstName", self.first_name != next.first_name),
            ("lastName", self.last_name != next.last_name),
            ("cellphone", self.cellphone != next.cellphone),
            ("languageCode", self.language != next.language),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    fn changed_to(&self, next: Self, now: Timestamp) -> Option<Self> {
        (next != *self).then(|| Self { updated_at: now, version: self.version + 1, ..next })
    }
}

/// A change to a user. The e-mail address never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// Given name.
    pub first_name: Patch<PersonName>,
    /// Family name.
    pub last_name: Patch<PersonName>,
    /// Phone number.
    pub cellphone: Patch<Cellphone>,
    /// The preferred language.
    pub language: Patch<Language>,
    /// The status; `None` leaves it as it is.
    pub status: Option<UserStatus>,
}

/// The state of an internal user. The names are in lower case, as in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserStatus {
    /// The user is active.
    Active,
    /// An operator has removed the user.
    Disabled,
}

words!(
    /// The values of the API field.
    UserStatus { Active: "active", Disabled: "disabled" }
);

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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn ada() -> User {
        let id = Uuid::nil();
        let email = Email::parse("ada@example.com").unwrap();
        User::new(UserId::from_uuid(id), WorkspaceId::from_uuid(id), email, Timestamp::from_millis(0))
    }

    #[test]
    fn a_user_is_disabled_and_enabled_and_a_repeated_command_changes_nothing() {
        let later = Timestamp::from_millis(9);
        let disabled = ada().disabled(later).unwrap();
        assert_eq!(disabled, User { status: UserStatus::Disabled, updated_at: later, version: 2, ..ada() });
        assert_eq!(disabled.disabled(later), None);
        assert_eq!(disabled.enabled(later), Some(User { updated_at: later, version: 3, ..ada() }));
        assert_eq!(ada().enabled(later), None);
    }

    #[test]
    fn a_change_sets_and_removes_fields_and_leaves_the_others() {
        let later = Timestamp::from_millis(9);
        let name = |text| PersonName::parse(text).unwrap();
        let before = User { last_name: Some(name("Okafor")), language: Some(Language::Es), ..ada() };
        let change = UserChange {
            first_name: Patch::Set(name("Ada")),
            language: Patch::Clear,
            ..UserChange::default()
        };
        let after = before.changed(&change, later).unwrap();
        let expected = User {
            first_name: Some(name("Ada")),
            language: None,
            updated_at: later,
            version: 2,
            ..before.clone()
        };
        assert_eq!(after, expected);
        let number = Cellphone::parse("+34600111222").unwrap();
        let others = UserChange {
            last_name: Patch::Clear,
            cellphone: Patch::Set(number.clone()),
            ..UserChange::default()
        };
        let expected = User { last_name: None, cellphone: Some(number), version: 3, ..expected };
        assert_eq!(after.changed(&others, later), Some(expected));
        assert_eq!(after.changed(&change, later), None);
        assert_eq!(after.changed(&UserChange::default(), later), None);
        assert_eq!(before.differences(&after), ["firstName", "languageCode"]);
        let status = UserChange { status: Some(UserStatus::Disabled), ..UserChange::default() };
        let disabled = after.changed(&status, later).unwrap();
        assert_eq!((disabled.status, after.differences(&disabled)), (UserStatus::Disabled, vec!["status"]));
        assert_eq!(disabled.changed(&status, later), None);
    }
}
