//! Internal users: create and change them.

use domain::settings::user::UserChange;
use domain::{User, UserRef};
use store::{IdempotencyKey, UserCreated};

use crate::admin::{Admin, Check, Created, Gate};
use crate::refused::Refused;

impl<G: Gate> Admin<'_, G> {
    /// Creates a user, with the answer of an idempotency key. One round trip.
    pub async fn create_user(
        &self,
        user: &User,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<Created, G::Refusal> {
        self.gate.admit().await?;
        match self.store.create_user(user, &self.by, kept).await? {
            UserCreated::Done => Ok(Created::Done),
            UserCreated::Answered(answered) => Ok(Created::Answered(answered)),
            UserCreated::EmailTaken(by) => Err(Refused::EmailTaken(by).into()),
        }
    }
}

impl<G: Check<User>> Admin<'_, G> {
    /// Changes a user. Two round trips.
    pub async fn update_user(&self, named: &UserRef, change: &UserChange) -> Result<User, G::Refusal> {
        self.until_written(|| self.try_update_user(named, change)).await
    }

    async fn try_update_user(
        &self,
        named: &UserRef,
        change: &UserChange,
    ) -> Result<Option<User>, G::Refusal> {
        let store = self.store;
        let seen = store.user_by_ref(self.workspace, named).await?;
        let seen = seen.ok_or_else(|| Refused::UnknownUser(named.clone()))?;
        self.ready(&seen).await?;
        let Some(next) = seen.changed(change, store.now()) else { return Ok(Some(seen)) };
        let fields = seen.differences(&next);
        Ok(store.replace_user(&next, &fields, &self.by).await?.then_some(next))
    }
}
