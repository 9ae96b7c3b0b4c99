//! Two contacts become one: the join, and the moves of what was stored for the merged contact before.
//!
//! After the join the row of the merged contact only says where it went. Messages and leads keep naming it, and their
//! readers follow that row. Conversations and windows are found by the id of their contact, so they are moved one by one.
//! Each write may be repeated.

use std::time::Duration;

use domain::choices::Chooser;
use domain::contact::conflict::{Conflict, ConflictReason};
use domain::{
    Contact, ContactId, ConversationId, LaneId, Merge, MergeRefusal, PersonJobId, Timestamp, WorkspaceId,
};

use crate::contacts::plan::{Role, join_writes};
use crate::contacts::row::{contact_in, contact_place, survivor};
use crate::contacts::windows::{WindowRow, window_write};
use crate::conversations::plan::conversation_writes;
use crate::conversations::row::conversation;
use crate::dynamodb::item::{Item, PK, SK, key, s, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{Transaction, Write, Wrote};
use crate::lanes::person::{merge, merge_item};
use crate::people::jobs::{LeasedJob, due_job};
use crate::{Store, StoreError, Table, keys};

/// The result of asking for a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedMerge {
    /// The merge runs, since now or before.
    Running(Merge),
    /// The contacts cannot be merged.
    Refused(MergeRefusal),
}

/// The result of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The contacts are one. This is the merge from now on.
    Done(Merge),
    /// The contacts cannot be merged.
    Refused(MergeRefusal),
    /// One of them has changed since it was read: read them again.
    Stale,
    /// Another visitor holds the lane.
    Lost,
}

impl Store {
    /// Asks for the merge of one contact into another. A repeat finds the merge that runs. Two round trips; one if the merge
    /// runs or is refused.
    pub async fn ask_merge(
        &self,
        workspace: WorkspaceId,
        survivor: ContactId,
        merged: ContactId,
    ) -> Result<AskedMerge, StoreError> {
        if survivor == merged {
            return Ok(AskedMerge::Refused(MergeRefusal::Itself));
        }
        let new = Merge::of(workspace, survivor, merged, self.now());
        let of_job = Place::of(Table::Contacts, keys::person_job(workspace, new.id));
        let found = self.contacts_of(&new, Some(&of_job)).await?;
        if let Some(job) = found.job {
            return Ok(AskedMerge::Running(merge(job)?));
        }
        if let Some(refusal) = found.refusal(&new, new.asked_at) {
            return Ok(AskedMerge::Refused(refusal));
        }
        let item = merge_item(&new, &self.ids.next().to_string())?;
        let item = due_job(item, LaneId::Person(workspace, new.id), new.asked_at);
        Ok(AskedMerge::Running(match self.write(Write::put(Table::Contacts, item).when_absent()).await? {
            Wrote::Refused(Some(found)) => merge(found)?,
            Wrote::Refused(None) | Wrote::Done(_) => new,
        }))
    }

    /// A merge that runs; `None` once it is over (strongly consistent read). One round trip.
    pub async fn running_merge(
        &self,
        workspace: WorkspaceId,
        id: PersonJobId,
    ) -> Result<Option<Merge>, StoreError> {
        self.get_item(Table::Contacts, keys::person_job(workspace, id)).await?.map(merge).transpose()
    }

    /// Asks for the merge of two contacts, because the provider has proved that they are one person. Returns whether the merge
    /// runs. The tenant is told if they are too large. Two round trips; one if the merge runs or is refused.
    pub async fn are_one_person(&self, survivor: &Contact, merged: &Contact) -> Result<bool, StoreError> {
        Ok(match self.ask_merge(survivor.workspace_id, survivor.id, merged.id).await? {
            AskedMerge::Running(_)
            | AskedMerge::Refused(MergeRefusal::BeingMerged | MergeRefusal::AlreadyMerged) => true,
            AskedMerge::Refused(MergeRefusal::TooLarge) => {
                let (reason, other) = (ConflictReason::TooLarge, survivor.id);
                self.keep_conflict(&Conflict::between(merged, reason, other, self.now())).await?;
                false
            }
            // One of them is gone, or about to go.
            AskedMerge::Refused(_) => false,
        })
    }

    /// Makes one contact of both, in one transaction: the contact that stays takes what it has blank, the ids, and the
    /// choices of the other one, of which only where it went is left. Two round trips; one more if the other one has ids.
    pub async fn join_contacts(&self, leased: &LeasedJob, of: &Merge) -> Result<Joined, StoreError> {
        let (now, request) = (self.now(), self.ids.next().to_string());
        let found = self.contacts_of(of, None).await?;
        if let Some(refusal) = found.refusal(of, now) {
            return Ok(Joined::Refused(refusal));
        }
        let (Some(stays), Some(goes)) = (found.survivor, found.merged) else { return Ok(Joined::Stale) };
        let Some(next) = stays.joined(&goes, of.id, now) else { return Ok(Joined::Stale) };
        let job = of.joined();
        let of_job = leased.write(&merge_item(of, "")?, &merge_item(&job, &request)?, of.version);
        let mut writes = join_writes(&stays, &goes, &next, &request)?;
        // Its refusal decides: an earlier attempt may have joined them.
        let mut all = Transaction::new().with(JoinRole::Job, of_job);
        let choices = self.joined_choices(&next, &Chooser::all_of(&stays), &Chooser::all_of(&goes)).await?;
        writes.add_all(|()| Role::Other, choices);
        all.add_all(|_| JoinRole::Other, writes);
        let Err(refusals) = self.transact(all).await? else { return Ok(Joined::Done(job)) };
        let of_job = refusals.iter().find(|refusal| refusal.role == JoinRole::Job);
        Ok(match of_job {
            None => Joined::Stale,
            Some(refusal) if refusal.is_of(&request) => Joined::Done(job),
            Some(_) => Joined::Lost,
        })
    }

    /// Stores the next version of a merge. Returns it as it is stored; `None` if another visitor holds the lane. One round
    /// trip.
    pub async fn keep_merge(
        &self,
        leased: &LeasedJob,
        seen: &Merge,
        next: Merge,
    ) -> Result<Option<Merge>, StoreError> {
        let request = self.ids.next().to_string();
        let write = leased.write(&merge_item(seen, "")?, &merge_item(&next, &request)?, seen.version);
        Ok(self.keep_job(write, &request).await?.then_some(next))
    }

    /// Lets the contact that stays be merged and erased again. One round trip.
    pub async fn end_merging(&self, of: &Merge) -> Result<(), StoreError> {
        let row = key(keys::contact(of.workspace_id, of.survivor));
        let change = RowUpdate::default().remove("merging").when("#merging = :job").name("merging");
        self.write(change.bind(":job", s(of.id.to_string())).of(Table::Contacts, row)).await?;
        Ok(())
    }

    /// The conversations that are still listed for a contact (strongly consistent read). One round trip; more for each
    /// megabyte.
    pub async fn conversations_listed_for(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let list = keys::conversations_of_contact(workspace, contact);
        let rows = self.query_all(Query::of(Table::Conversations, list)).await?;
        rows.into_iter().map(|row| Ok(conversation(row)?.id)).collect()
    }

    /// Puts the contact that stays in the place of the merged one in a conversation. Three round trips; more while others
    /// change the conversation.
    pub async fn move_conversation(
        &self,
        workspace: WorkspaceId,
        id: ConversationId,
        (survivor, merged): (ContactId, ContactId),
    ) -> Result<(), StoreError> {
        let mut retries = RetryTime::new(self);
        loop {
            let Some((seen, last_seen)) = self.conversation_and_seen(workspace, id).await? else {
                return Ok(());
            };
            // First, because the list leads to it.
            if let Some(at) = last_seen.get(&merged) {
                self.saw_after(workspace, id, survivor, *at, Duration::ZERO).await?;
                self.forget_seen(workspace, id, merged).await?;
            }
            let Some(next) = seen.with_survivor(survivor, merged, self.now()) else { return Ok(()) };
            let request = self.ids.next().to_string();
            if self.transact(conversation_writes(&seen, &next, &request)?).await?.is_ok() {
                return Ok(());
            }
            retries.wait().await?;
        }
    }

    /// Lists the conversations that the merged contact left for the one that stays. One round trip, and one for each.
    pub async fn move_left(
        &self,
        workspace: WorkspaceId,
        (survivor, merged): (ContactId, ContactId),
    ) -> Result<(), StoreError> {
        let left = Query::of(Table::Conversations, keys::conversations_left_by(workspace, merged));
        for row in self.query_all(left.with_expired()).await? {
            let (pk, sk) = (text(&row, PK).to_owned(), text(&row, SK).to_owned());
            let mut next: Item = row;
            next.insert(PK.to_owned(), s(keys::conversations_left_by(workspace, survivor)));
            let moved = Write::put(Table::Conversations, next);
            self.all_or_none([moved, Write::delete(Table::Conversations, key((pk, sk)))]).await?;
        }
        Ok(())
    }

    /// Joins when the merged contact wrote to each line with when the one that stays did: the later time holds. One round
    /// trip, and two for each line; more while the customer writes.
    pub async fn move_windows(
        &self,
        workspace: WorkspaceId,
        (survivor, merged): (ContactId, ContactId),
    ) -> Result<(), StoreError> {
        for (line, _) in self.windows(workspace, merged).await? {
            let mut retries = RetryTime::new(self);
            loop {
                let of = |contact| Place::of(Table::Contacts, keys::window(workspace, contact, &line));
                let places = [of(survivor), of(merged)];
                let mut rows = self.rows_at(&places).await?;
                let (there, moved): (Option<WindowRow>, _) = (rows.read(&places[0])?, rows.read(&places[1])?);
                let Some(moved): Option<WindowRow> = moved else { break };
                let newest = there.as_ref().filter(|there| there.last_inbound_at >= moved.last_inbound_at);
                let conversation = newest.unwrap_or(&moved).conversation_id;
                let put = window_write(
                    (workspace, survivor, &line),
                    there.as_ref(),
                    conversation,
                    moved.last_inbound_at,
                )?;
                let goes = moved
                    .when_seen(Write::delete(Table::Contacts, key(keys::window(workspace, merged, &line))));
                if self.all_or_none([put, goes]).await? {
                    break;
                }
                retries.wait().await?;
            }
        }
        Ok(())
    }

    /// Both contacts of a merge, and the row of its job if it is asked for (strongly consistent reads). One round trip.
    async fn contacts_of(&self, of: &Merge, job: Option<&Place>) -> Result<Both, StoreError> {
        let [stays, goes] = [of.survivor, of.merged].map(|id| contact_place(of.workspace_id, id));
        let mut rows = self.rows_at([&stays, &goes].into_iter().chain(job)).await?;
        let is_merged = [&stays, &goes].iter().any(|place| rows.get(place).and_then(survivor).is_some());
        let job = job.and_then(|place| rows.take(place));
        let mut read = |place| contact_in(rows.take(place));
        Ok(Both { survivor: read(&stays)?, merged: read(&goes)?, is_merged, job })
    }
}

/// Both contacts of a merge, as they were read.
struct Both {
    survivor: Option<Contact>,
    merged: Option<Contact>,
    is_merged: bool,
    job: Option<Item>,
}

impl Both {
    fn refusal(&self, of: &Merge, now: Timestamp) -> Option<MergeRefusal> {
        let refusal = of.refusal(self.survivor.as_ref(), self.merged.as_ref(), now);
        match refusal {
            Some(MergeRefusal::Unknown) if self.is_merged => Some(MergeRefusal::AlreadyMerged),
            other => other,
        }
    }
}

/// The role of a write in a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinRole {
    /// Writes the job.
    Job,
    /// Writes a row of one of the contacts.
    Other,
}
