//! What the provider says about two contacts, or about one, and the service does not decide: the tenant is told once.

use uuid::Uuid;

use crate::contact::Contact;
use crate::ids::{ContactId, WorkspaceId};
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the ids of conflicts.
const CONFLICTS: Uuid = Uuid::from_u128(0x2c5a_7b1e_90d4_4f3a_8e16_d7b2_6f0c_95a1);

/// What the service does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictReason {
    /// The number came with another user id than the contact had, which replaced it: somebody else may have the number.
    UserIdChanged,
    /// The customer of the contact has the number of another contact, which has another user id.
    NumberOfAnother,
    /// The customer of the contact moved to the number that another contact had before.
    MoveToNumberOfAnother,
    /// The contact and the other one are one person, and too large for one contact.
    TooLarge,
}

words!(
    /// The values of the payload and of the row.
    ConflictReason {
        UserIdChanged: "USER_ID_CHANGED",
        NumberOfAnother: "NUMBER_OF_ANOTHER",
        MoveToNumberOfAnother: "MOVE_TO_NUMBER_OF_ANOTHER",
        TooLarge: "TOO_LARGE",
    }
);

/// A conflict of a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The contact.
    pub contact: ContactId,
    /// What it is about.
    pub reason: ConflictReason,
    /// The other contact, if it is about two.
    pub other: Option<ContactId>,
    /// When it began: the provider's time of a new user id, otherwise when the service found it.
    pub at: Timestamp,
}

impl Conflict {
    /// Another user id replaced that of this contact, which is dated as a move is.
    pub fn of_user_id(contact: &Contact) -> Self {
        let Contact { id, workspace_id, created_at, moved_at, .. } = *contact;
        let (reason, at) = (ConflictReason::UserIdChanged, moved_at.unwrap_or(created_at));
        Self { workspace_id, contact: id, reason, other: None, at }
    }

    /// Two contacts are concerned, and nothing proves that they are one person.
    pub fn between(contact: &Contact, reason: ConflictReason, other: ContactId, at: Timestamp) -> Self {
        let Contact { id, workspace_id, .. } = *contact;
        Self { workspace_id, contact: id, reason, other: Some(other), at }
    }

    /// What tells it from the contact's other conflicts of the same reason: the other contact, otherwise the moment. So a
    /// pair has one conflict of a reason.
    pub fn key(&self) -> String {
        self.other.map_or_else(|| self.at.as_millis().to_string(), |other| other.to_string())
    }

    /// The id from which that of the event is derived.
    pub fn entity(&self) -> Uuid {
        let name = format!("{}|{}|{}", self.contact, self.reason.as_str(), self.key());
        Uuid::new_v5(&CONFLICTS, name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_conflict_of_a_reason_and_each_new_user_id_one_of_its_own() {
        let [one, other] = [1, 2].map(|n| ContactId::from_uuid(Uuid::from_u128(n)));
        let contact = Contact::blank(one, WorkspaceId::from_uuid(Uuid::nil()), Timestamp::from_millis(0));
        let at = Timestamp::from_millis;
        let pair = |reason, moment| Conflict::between(&contact, reason, other, at(moment)).entity();
        let first = pair(ConflictReason::NumberOfAnother, 1);
        assert_eq!(first, pair(ConflictReason::NumberOfAnother, 2));
        assert_ne!(first, pair(ConflictReason::MoveToNumberOfAnother, 1));
        let changed = |moment| {
            Conflict::of_user_id(&Contact { moved_at: Some(at(moment)), ..contact.clone() }).entity()
        };
        assert_ne!(changed(1), changed(2));
        assert_eq!(changed(1), changed(1));
    }
}
