//! Internal users: a row by id and a full copy by e-mail address, so both find the user in one round trip.

use domain::{
    AuditAction, Author, Cellphone, Email, Language, PersonName, Timestamp, User, UserId, UserRef,
    UserStatus, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, read, row};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::{Transaction, Write};
use crate::idempotency::{IdempotencyKey, StoredAnswer, keep_answer, stored_answer};
use crate::settings::created::ANSWERS_OF_SETTINGS;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The user with this id. One round trip.
    pub async fn user(&self, workspace: WorkspaceId, id: UserId) -> Result<Option<User>, StoreError> {
        self.get_row(Table::Workspaces, keys::user(workspace, id)).await
    }

    /// The user that this reference names. One round trip, also by e-mail address, because both rows contain
    /// the whole user.
    pub async fn user_by_ref(
        &self,
        workspace: WorkspaceId,
        named: &UserRef,
    ) -> Result<Option<User>, StoreError> {
        let place = user_place(workspace, named);
        self.rows_at([&place]).await?.read(&place)
    }

    /// The users that these references name, including disabled ones. A user that is named by id and by
    /// e-mail address is returned twice. References without a user are left out. One round trip; none without
    /// references.
    pub async fn users_named(
        &self,
        workspace: WorkspaceId,
        named: &[UserRef],
    ) -> Result<Vec<User>, StoreError> {
        let places: Vec<Place> = named.iter().map(|named| user_place(workspace, named)).collect();
        take_users(&mut self.rows_at(&places).await?, &places)
    }

    /// All users of the workspace, including disabled ones, oldest first. One round trip for each megabyte.
    pub async fn users(&self, workspace: WorkspaceId) -> Result<Vec<User>, StoreError> {
        let mut users: Vec<User> = self.partition(Table::Workspaces, keys::users(workspace)).await?;
        users.sort_by_key(|user| (user.created_at, user.id));
        Ok(users)
    }

    /// Stores a new user, unless another user has the e-mail address, with the answer of an idempotency key. One round trip,
    /// 6 write units, 8 with an answer.
    pub async fn create_user(
        &self,
        user: &User,
        by: &Author,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<UserCreated, StoreError> {
        let [row, copy] = user_rows(user)?.map(|row| Write::put(Table::Workspaces, row).when_absent());
        let entry = self.audit(by, user.workspace_id, AuditAction::UserCreate, user.id, &[])?;
        let mut writes = Transaction::new();
        // The first refusal decides, and an answer says more than a taken address.
        if let Some((once, answer)) = kept {
            let of = user.workspace_id;
            writes.add(Creates::Answer, keep_answer(ANSWERS_OF_SETTINGS, of, once, answer, self.now())?);
        }
        let writes = writes.with(Creates::Email, copy).with(Creates::User, row).with(Creates::User, entry);
        let Err(refusals) = self.transact(writes).await? else { return Ok(UserCreated::Done) };
        for refusal in refusals {
            match (refusal.role, refusal.found) {
                (Creates::Answer, Some(found)) => return Ok(UserCreated::Answered(stored_answer(found)?)),
                (Creates::Email, Some(found)) => return Ok(UserCreated::EmailTaken(read::<User>(found)?.id)),
                _ => {}
            }
        }
        Err(StoreError::Failed("another user has the same id".into()))
    }

    /// Replaces a user by its next version. Returns `false` if the previous version is not the current one.
    /// The e-mail address never changes. One round trip, 6 write units.
    pub async fn replace_user(&self, next: &User, fields: &[&str], by: &Author) -> Result<bool, StoreError> {
        let [row, copy] = user_rows(next)?;
        // Both rows have one version, because they are always written together.
        let writes = [
            replace_write(Table::Workspaces, row, next.version - 1),
            Write::put(Table::Workspaces, copy),
            self.audit(by, next.workspace_id, AuditAction::UserUpdate, next.id, fields)?,
        ];
        self.all_or_none(writes).await
    }
}

/// Where the user is whom a reference names.
pub(crate) fn user_place(workspace: WorkspaceId, named: &UserRef) -> Place {
    match named {
        UserRef::Id(id) => Place::of(Table::Workspaces, keys::user(workspace, *id)),
        UserRef::Email(email) => Place::of(Table::Workspaces, keys::user_by_email(workspace, email)),
    }
}

/// The users at these places, each row once.
pub(crate) fn take_users(rows: &mut Rows, places: &[Place]) -> Result<Vec<User>, StoreError> {
    places.iter().filter_map(|place| rows.read(place).transpose()).collect()
}

/// The result of creating a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCreated {
    /// The user is stored.
    Done,
    /// This user of the workspace, possibly a disabled one, has the e-mail address.
    EmailTaken(UserId),
    /// The idempotency key has this answer. Nothing was stored.
    Answered(StoredAnswer),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creates {
    /// Stores the answer of the idempotency key.
    Answer,
    /// Writes the copy by e-mail address.
    Email,
    /// Writes the user or the entry of the audit log.
    User,
}

/// The user's row and its copy by e-mail address.
fn user_rows(user: &User) -> Result<[Item; 2], StoreError> {
    let (of_id, of_email) =
        (keys::user(user.workspace_id, user.id), keys::user_by_email(user.workspace_id, &user.email));
    Ok([row(of_id, "user", user)?, row(of_email, "userByEmail", user)?])
}

/// `W#U` / user id, and its copy `W#UE#<e-mail>` / `U`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "User", rename_all = "camelCase")]
struct UserRow {
    #[serde(with = "fields::text")]
    id: UserId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    status: UserStatus,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    first_name: Option<PersonName>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    last_name: Option<PersonName>,
    #[serde(with = "fields::text")]
    email: Email,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    cellphone: Option<Cellphone>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    version: u64,
}

stored! { User = UserRow }
