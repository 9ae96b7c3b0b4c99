//! The merge of two contacts that are one person: a job of the service.
//!
//! ```text
//! ASKED -> JOINED -> MOVED -> (2 minutes) -> over
//! ```
//!
//! The join makes one contact of both. What was stored for the merged contact before is moved afterwards. Requests and
//! visits that read the merged contact before the join may store more for it, so everything is moved a second time when
//! all of them have ended.

use std::time::Duration;

use uuid::Uuid;

use crate::contact::Contact;
use crate::ids::{ContactId, PersonJobId, WorkspaceId};
use crate::refused::MergeRefusal;
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the ids of merges.
const MERGES: Uuid = Uuid::from_u128(0x2fd4_a8b1_60c7_4e95_b3d8_94e1_7c25_0a6f);

/// The state of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeState {
    /// Nothing has begun.
    Asked,
    /// The contacts are one. The conversations of the merged contact are being moved.
    Joined,
    /// The conversations are moved. Requests that began before the join may still store some.
    Moved,
}

words!(
    /// The names of the states.
    MergeState { Asked: "ASKED", Joined: "JOINED", Moved: "MOVED" }
);

/// The merge of one contact into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The id.
    pub id: PersonJobId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The contact that stays.
    pub survivor: ContactId,
    /// The contact that becomes part of it.
    pub merged: ContactId,
    /// The state.
    pub state: MergeState,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// When everything was moved for the first time.
    pub moved_at: Option<Timestamp>,
    /// Increases by one with each change.
    pub version: u64,
}

impl Merge {
    /// The time between the two moves. It outlasts every request and every visit that stores something for a contact that
    /// it read before: the longest of them run for 60 seconds.
    pub const SECOND_LOOK: Duration = Duration::from_mins(2);

    /// A new merge. A repeat has the same id.
    pub fn of(workspace_id: WorkspaceId, survivor: ContactId, merged: ContactId, now: Timestamp) -> Self {
        let name = format!("{workspace_id}|{survivor}|{merged}");
        Self {
            id: PersonJobId::from_uuid(Uuid::new_v5(&MERGES, name.as_bytes())),
            workspace_id,
            survivor,
            merged,
            state: MergeState::Asked,
            asked_at: now,
            moved_at: None,
            version: 1,
        }
    }

    /// Why these contacts are not merged; `None` if they can be. Both are as they are now; `None` for one that does not
    /// exist.
    pub fn refusal(
        &self,
        survivor: Option<&Contact>,
        merged: Option<&Contact>,
        now: Timestamp,
    ) -> Option<MergeRefusal> {
        if self.survivor == self.merged {
            return Some(MergeRefusal::Itself);
        }
        let (Some(survivor), Some(merged)) = (survivor, merged) else { return Some(MergeRefusal::Unknown) };
        if survivor.erasing.or(merged.erasing).is_some() {
            return Some(MergeRefusal::BeingErased);
        }
        if survivor.merging.or(merged.merging).is_some() {
            return Some(MergeRefusal::BeingMerged);
        }
        survivor.joined(merged, self.id, now).is_none().then_some(MergeRefusal::TooLarge)
    }

    /// The merge after the join.
    #[must_use]
    pub fn joined(&self) -> Self {
        Self { state: MergeState::Joined, version: self.version + 1, ..self.clone() }
    }

    /// The merge after everything was moved for the first time.
    #[must_use]
    pub fn moved(&self, now: Timestamp) -> Self {
        Self { state: MergeState::Moved, moved_at: Some(now), version: self.version + 1, ..self.clone() }
    }

    /// When everything is moved for the second time.
    pub fn second_look_at(&self) -> Timestamp {
        self.moved_at.unwrap_or(self.asked_at).plus(Self::SECOND_LOOK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const WORKSPACE: WorkspaceId = WorkspaceId::from_uuid(Uuid::from_u128(9));

    fn id(n: u8) -> ContactId {
        ContactId::from_uuid(Uuid::from_u128(u128::from(n)))
    }

    fn contact(n: u8) -> Contact {
        Contact::blank(id(n), WORKSPACE, NOW)
    }

    #[test]
    fn a_repeat_of_a_merge_has_the_same_id_and_its_reverse_has_another() {
        let of = |survivor, merged| Merge::of(WORKSPACE, id(survivor), id(merged), NOW).id;
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(2, 1));
        let elsewhere = WorkspaceId::from_uuid(Uuid::from_u128(8));
        assert_ne!(of(1, 2), Merge::of(elsewhere, id(1), id(2), NOW).id);
    }

    #[test]
    fn contacts_are_merged_unless_there_is_a_reason_against_it() {
        let merge = Merge::of(WORKSPACE, id(1), id(2), NOW);
        let job = Some(PersonJobId::from_uuid(Uuid::from_u128(7)));
        let (one, two) = (contact(1), contact(2));
        let being_merged = Contact { merging: job, ..one.clone() };
        let being_erased = Contact { erasing: job, ..two.clone() };
        let of_five = Contact { merged: (11..16).map(id).collect(), ..one.clone() };
        for (survivor, merged, expected) in [
            (Some(&one), Some(&two), None),
            (None, Some(&two), Some(MergeRefusal::Unknown)),
            (Some(&one), None, Some(MergeRefusal::Unknown)),
            (Some(&being_merged), Some(&two), Some(MergeRefusal::BeingMerged)),
            (Some(&two), Some(&being_merged), Some(MergeRefusal::BeingMerged)),
            (Some(&one), Some(&being_erased), Some(MergeRefusal::BeingErased)),
            (Some(&being_erased), Some(&one), Some(MergeRefusal::BeingErased)),
            (Some(&of_five), Some(&two), Some(MergeRefusal::TooLarge)),
            (Some(&two), Some(&of_five), Some(MergeRefusal::TooLarge)),
        ] {
            assert_eq!(merge.refusal(survivor, merged, NOW), expected, "{survivor:?} {merged:?}");
        }
        let itself = Merge::of(WORKSPACE, id(1), id(1), NOW);
        assert_eq!(itself.refusal(Some(&one), Some(&one), NOW), Some(MergeRefusal::Itself));
    }

    #[test]
    fn everything_is_moved_again_two_minutes_after_the_first_time() {
        let moved = Merge::of(WORKSPACE, id(1), id(2), NOW).joined().moved(NOW);
        assert_eq!((moved.state, moved.version), (MergeState::Moved, 3));
        assert_eq!(moved.second_look_at(), NOW.plus(Duration::from_secs(120)));
    }
}
