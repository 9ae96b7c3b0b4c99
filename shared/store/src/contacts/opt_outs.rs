//! Customers' choices about templates, by the hash of a phone number or of a user id.

use domain::contact::address::ProviderUserId;
use domain::inbound::opt_out::{Choice, ChoiceSource, Chooser, Chosen, OptOut};
use domain::{Cellphone, ContactId, Timestamp, WorkspaceId};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{EXPIRES_AT, Item, PK, SK, key, n, read, row, s, text, unreadable};
use crate::dynamodb::read::Query;
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// How long a choice to get templates again is kept. It is longer than the provider repeats a webhook and the queue
/// keeps a dead letter, so no opt-out from before it comes in later.
const IN_KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

impl Store {
    /// Whether the number or the user id opted out (strongly consistent read). One round trip.
    pub async fn opted_out(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<bool, StoreError> {
        Ok(self.opt_out_of(workspace, chooser).await?.is_some())
    }

    /// Whether a person with a number, a user id or both opted out: the latest choice of the two holds (strongly
    /// consistent reads). A choice covers only the ids that were known when it was made. One round trip; none without
    /// ids.
    pub async fn person_opted_out(
        &self,
        workspace: WorkspaceId,
        choosers: &[Chooser],
    ) -> Result<bool, StoreError> {
        let choices = self.choices_of(workspace, choosers).await?;
        Ok(OptOut::latest(choices.iter().flatten()).is_some_and(OptOut::is_out))
    }

    /// The opt-out of a number or a user id (strongly consistent read). One round trip.
    pub async fn opt_out_of(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<Option<OptOut>, StoreError> {
        Ok(self.choice_of(workspace, &chooser.into()).await?.filter(OptOut::is_out))
    }

    /// Records a choice of a person. `choosers` are the person's number and user id ([`OptOut::choosers`]). All of them
    /// keep the choice that was made last, and one of them makes the event ([`OptOut::of_person`]). They are written
    /// together, so a repeat finds all or none. Returns whether the person's choice is another one than before. Two round
    /// trips, or one if nothing changes; more if others choose at the same time.
    pub async fn choose(
        &self,
        workspace: WorkspaceId,
        choosers: &[Chooser],
        chosen: Chosen,
    ) -> Result<bool, StoreError> {
        let (mut retries, mut tried) = (RetryTime::new(self), None);
        loop {
            let before = self.choices_of(workspace, choosers).await?;
            // The answer of the write was lost, and its repeat was refused.
            if let Some((changed, _)) = tried.take().filter(|(_, next)| *next == before) {
                return Ok(changed);
            }
            let next = OptOut::of_person(&before, workspace, choosers, chosen, self.now());
            let is_new = |(before, next): (&Option<OptOut>, &OptOut)| before.as_ref() != Some(next);
            if !before.iter().zip(&next).any(is_new) {
                return Ok(false);
            }
            let held = OptOut::latest(before.iter().flatten()).map(|held| held.choice);
            let changed = held != next.first().map(|next| next.choice);
            // Also those that stay as they are, under the condition that they do.
            let writes = before.iter().zip(&next).map(|(before, next)| choice_write(before.as_ref(), next));
            if self.all_or_none(writes.collect::<Result<Vec<_>, _>>()?).await? {
                return Ok(changed);
            }
            tried = Some((changed, next.into_iter().map(Some).collect::<Vec<_>>()));
            retries.wait().await?;
        }
    }

    /// Records that an operator opted a number out. Returns `false` if it had opted out already. Three round trips.
    pub async fn opt_out(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        self.operator_chooses(workspace, cellphone, Choice::Out, since).await
    }

    /// Records that an operator opted a number in. `false` if it had not opted out; then nothing is written. One round
    /// trip, or four.
    pub async fn opt_in(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<bool, StoreError> {
        match self.opted_out(workspace, cellphone).await? {
            true => self.operator_chooses(workspace, cellphone, Choice::In, self.now()).await,
            false => Ok(false),
        }
    }

    async fn operator_chooses(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        choice: Choice,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let contact = self.contact_holding_cellphone(workspace, cellphone).await?;
        let chosen = Chosen { choice, source: ChoiceSource::Operator, at, contact };
        self.choose(workspace, &[Chooser::from(cellphone)], chosen).await
    }

    /// Removes the number or the user id from its opt-out, which stays in force. One round trip.
    pub async fn hide_opt_out(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<(), StoreError> {
        let (pk, sk) = place(workspace, &chooser.into());
        let hide = Write::update(Table::Leads, key(pk, sk), "REMOVE cellphone, userId, contactId");
        self.write(hide.when("attribute_exists(pk)")).await?;
        Ok(())
    }

    /// All opt-outs, sorted by number and user id, those of erased persons first. One round trip for each megabyte.
    pub async fn opt_outs(&self, workspace: WorkspaceId) -> Result<Vec<OptOut>, StoreError> {
        let rows = self.query_all(Query::of(Table::Leads, keys::opt_outs(workspace))).await?;
        let all = rows.into_iter().map(opt_out).collect::<Result<Vec<_>, _>>()?;
        let mut opt_outs: Vec<OptOut> = all.into_iter().filter(OptOut::is_out).collect();
        opt_outs.sort_by(|a, b| (&a.chooser, a.since).cmp(&(&b.chooser, b.since)));
        Ok(opt_outs)
    }

    /// The choices that are kept for these numbers and user ids, in the same order (strongly consistent reads). One
    /// round trip.
    pub(crate) async fn choices_of(
        &self,
        workspace: WorkspaceId,
        choosers: &[Chooser],
    ) -> Result<Vec<Option<OptOut>>, StoreError> {
        try_join_all(choosers.iter().map(|chooser| self.choice_of(workspace, chooser))).await
    }

    /// The choice that is kept for a number or a user id (strongly consistent read). One round trip.
    async fn choice_of(
        &self,
        workspace: WorkspaceId,
        chooser: &Chooser,
    ) -> Result<Option<OptOut>, StoreError> {
        self.get_item(Table::Leads, place(workspace, chooser)).await?.map(opt_out).transpose()
    }
}

fn place(workspace: WorkspaceId, chooser: &Chooser) -> (String, String) {
    (keys::opt_outs(workspace), chooser.digest(workspace))
}

/// The write of a choice in place of the one that was read.
pub(crate) fn choice_write(before: Option<&OptOut>, next: &OptOut) -> Result<Write, StoreError> {
    let put = Write::put(Table::Leads, opt_out_row(next)?);
    Ok(match before {
        // A choice to get templates again may have expired and still be there.
        None => put
            .when(format!("attribute_not_exists(pk) OR {EXPIRES_AT} < :now"))
            .bind(":now", n(next.updated_at.as_seconds())),
        Some(before) => put
            .when("version = :version AND latest = :latest")
            .bind(":version", n(before.version))
            .bind(":latest", s(before.latest.to_string())),
    })
}

fn opt_out_row(opt_out: &OptOut) -> Result<Item, StoreError> {
    let mut item = row((keys::opt_outs(opt_out.workspace_id), &opt_out.digest), KIND, opt_out)?;
    if !opt_out.is_out() {
        item.insert(
            EXPIRES_AT.to_owned(),
            n(opt_out.updated_at.max(opt_out.latest).plus(IN_KEPT).as_seconds()),
        );
    }
    Ok(item)
}

/// The choice in an item of [`Table::Leads`].
pub(crate) fn opt_out(item: Item) -> Result<OptOut, StoreError> {
    let workspace = keys::read_opt_outs(text(&item, PK));
    let workspace_id = workspace.ok_or_else(|| unreadable(&item, "its key is not one of ours"))?;
    let digest = text(&item, SK).to_owned();
    Ok(OptOut { workspace_id, digest, ..read(item)? })
}

/// The kind of the row.
pub(crate) const KIND: &str = "optOut";

/// `W#O` / the hash of the number or user id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "OptOut", rename_all = "camelCase")]
struct OptOutRow {
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
    #[serde(skip)]
    digest: String,
    #[serde(flatten, with = "fields::Shaped::<ChooserFields>")]
    chooser: Option<Chooser>,
    #[serde(
        rename = "contactId",
        with = "fields::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    contact: Option<ContactId>,
    #[serde(with = "fields::text")]
    choice: Choice,
    #[serde(with = "fields::text")]
    source: ChoiceSource,
    #[serde(with = "fields::text")]
    since: Timestamp,
    #[serde(with = "fields::text")]
    latest: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_beside: bool,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChooserFields {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    cellphone: Option<Cellphone>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    user_id: Option<ProviderUserId>,
}

stored! { OptOut = OptOutRow }

impl From<&Option<Chooser>> for ChooserFields {
    fn from(chooser: &Option<Chooser>) -> Self {
        match chooser.clone() {
            Some(Chooser::Number(number)) => Self { cellphone: Some(number), user_id: None },
            Some(Chooser::User(user)) => Self { cellphone: None, user_id: Some(user) },
            None => Self { cellphone: None, user_id: None },
        }
    }
}

impl From<ChooserFields> for Option<Chooser> {
    fn from(fields: ChooserFields) -> Self {
        fields.cellphone.map(Chooser::Number).or(fields.user_id.map(Chooser::User))
    }
}
