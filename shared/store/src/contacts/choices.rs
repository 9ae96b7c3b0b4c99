//! Customers' choices about templates, by the hash of a phone number or of a user id.

use std::collections::{BTreeMap, BTreeSet};

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Choices, Chooser, Chosen, Held};
use domain::contact::address::ProviderUserId;
use domain::{Cellphone, ChannelId, ContactId, Timestamp, WorkspaceId};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{EXPIRES_AT, Item, PK, SK, key, n, read, row, text, unreadable};
use crate::dynamodb::read::Query;
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// How long a choice to get templates again is kept. It is longer than the provider repeats a webhook and the queue
/// keeps a dead letter, so no opt-out from before it comes in later.
const IN_KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

impl Store {
    /// The choices that are kept for a number or a user id (strongly consistent read). One round trip.
    pub async fn choices(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<Option<Choices>, StoreError> {
        let place = place(workspace, &chooser.into());
        self.get_item(Table::Leads, place).await?.map(choices).transpose()
    }

    /// The choices that are kept for these numbers and user ids, in the same order (strongly consistent reads). One
    /// round trip; none without ids.
    pub async fn choices_of(
        &self,
        workspace: WorkspaceId,
        choosers: &[Chooser],
    ) -> Result<Vec<Option<Choices>>, StoreError> {
        try_join_all(choosers.iter().map(|chooser| self.choices(workspace, chooser.clone()))).await
    }

    /// Records a choice of a person. `choosers` are the person's number and user id ([`Choices::choosers`]). All of them
    /// keep the choice that was made last, and one of them makes the event ([`Choices::of_person`]). They are written
    /// together, so a repeat finds all or none. Returns whether one of the person's choices is another one than before.
    /// Two round trips, or one if nothing changes; more if others choose at the same time.
    pub async fn choose(
        &self,
        workspace: WorkspaceId,
        choosers: &[Chooser],
        chosen: &Chosen,
    ) -> Result<bool, StoreError> {
        let (mut retries, mut tried) = (RetryTime::new(self), None);
        loop {
            let before = self.choices_of(workspace, choosers).await?;
            // The answer of the write was lost, and its repeat was refused.
            if let Some((changed, _)) = tried.take().filter(|(_, next)| *next == before) {
                return Ok(changed);
            }
            let next = Choices::of_person(&before, workspace, choosers, chosen, self.now());
            let is_new = |(before, next): (&Option<Choices>, &Choices)| before.as_ref() != Some(next);
            if !before.iter().zip(&next).any(is_new) {
                return Ok(false);
            }
            // All rows hold the same choices now.
            let held = |scope| Choices::latest(before.iter().flatten(), scope).map(|held| held.choice);
            let changed = next
                .first()
                .is_some_and(|next| next.scopes.iter().any(|(scope, next)| Some(next.choice) != held(scope)));
            // Also those that stay as they are, under the condition that they do.
            let writes = before.iter().zip(&next).map(|(before, next)| choices_write(before.as_ref(), next));
            if self.all_or_none(writes.collect::<Result<Vec<_>, _>>()?).await? {
                return Ok(changed);
            }
            tried = Some((changed, next.into_iter().map(Some).collect::<Vec<_>>()));
            retries.wait().await?;
        }
    }

    /// Records that an operator opted a number out of this scope. Returns `false` if it had opted out already. Three
    /// round trips.
    pub async fn opt_out(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        scope: ChoiceScope,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        self.operator_chooses(workspace, cellphone, (Choice::Out, [scope].into()), since).await
    }

    /// Records that an operator opted a number in, to all templates and to those that advertise. `false` if it had opted
    /// out of neither; then nothing is written. One round trip, or four.
    pub async fn opt_in(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<bool, StoreError> {
        let scopes = [ChoiceScope::All, ChoiceScope::Marketing];
        match self.choices(workspace, cellphone).await? {
            Some(kept) if scopes.iter().any(|scope| kept.is_out_of(scope)) => {
                self.operator_chooses(workspace, cellphone, (Choice::In, scopes.into()), self.now()).await
            }
            _ => Ok(false),
        }
    }

    async fn operator_chooses(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        (choice, scopes): (Choice, BTreeSet<ChoiceScope>),
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let contact = self.contact_holding_cellphone(workspace, cellphone).await?;
        let chosen = Chosen { choice, scopes, source: ChoiceSource::Operator, at, contact };
        self.choose(workspace, &[Chooser::from(cellphone)], &chosen).await
    }

    /// Removes the number or the user id from its opt-out, which stays in force. One round trip.
    pub async fn hide_opt_out(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<(), StoreError> {
        let (pk, sk) = place(workspace, &chooser.into());
        let hide = Write::update(Table::Leads, key((pk, sk)), "REMOVE cellphone, userId, contactId");
        self.write(hide.when("attribute_exists(pk)")).await?;
        Ok(())
    }

    /// The choices of everybody who opted out of anything, sorted by number and user id, those of erased persons first.
    /// One round trip for each megabyte.
    pub async fn opt_outs(&self, workspace: WorkspaceId) -> Result<Vec<Choices>, StoreError> {
        let rows = self.query_all(Query::of(Table::Leads, keys::opt_outs(workspace))).await?;
        let all = rows.into_iter().map(choices).collect::<Result<Vec<_>, _>>()?;
        let mut outs: Vec<Choices> = all.into_iter().filter(|kept| kept.outs().next().is_some()).collect();
        let since = |kept: &Choices| kept.outs().map(|(_, held)| held.since).min();
        outs.sort_by(|a, b| (&a.chooser, since(a)).cmp(&(&b.chooser, since(b))));
        Ok(outs)
    }
}

fn place(workspace: WorkspaceId, chooser: &Chooser) -> (String, String) {
    (keys::opt_outs(workspace), chooser.digest(workspace))
}

/// The write of choices in place of those that were read.
pub(crate) fn choices_write(before: Option<&Choices>, next: &Choices) -> Result<Write, StoreError> {
    let put = Write::put(Table::Leads, choices_row(next)?);
    Ok(match before {
        // A choice to get templates again may have expired and still be there.
        None => put
            .when(format!("attribute_not_exists(pk) OR {EXPIRES_AT} < :now"))
            .bind(":now", n(next.updated_at.as_seconds())),
        Some(before) => put.when("version = :version").bind(":version", n(before.version)),
    })
}

fn choices_row(kept: &Choices) -> Result<Item, StoreError> {
    let mut item = row((keys::opt_outs(kept.workspace_id), &kept.digest), KIND, kept)?;
    if kept.outs().next().is_none() {
        let latest = kept.scopes.values().map(|held| held.latest).max().unwrap_or(kept.updated_at);
        let expires = kept.updated_at.max(latest).plus(IN_KEPT);
        item.insert(EXPIRES_AT.to_owned(), n(expires.as_seconds()));
    }
    Ok(item)
}

/// The choices in an item of [`Table::Leads`].
pub(crate) fn choices(item: Item) -> Result<Choices, StoreError> {
    let workspace = keys::read_opt_outs(text(&item, PK));
    let workspace_id = workspace.ok_or_else(|| unreadable(&item, "its key is not one of ours"))?;
    let digest = text(&item, SK).to_owned();
    Ok(Choices { workspace_id, digest, ..read(item)? })
}

/// The kind of the row.
pub(crate) const KIND: &str = "optOut";

/// `W#O` / the hash of the number or user id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Choices", rename_all = "camelCase")]
struct ChoicesRow {
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
    #[serde(with = "scopes")]
    scopes: BTreeMap<ChoiceScope, Held>,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeldField {
    scope: String,
    /// The line of a preference that names one.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    line: Option<ChannelId>,
    #[serde(with = "fields::text")]
    choice: Choice,
    #[serde(with = "fields::text")]
    source: ChoiceSource,
    #[serde(with = "fields::text")]
    since: Timestamp,
    #[serde(with = "fields::text")]
    latest: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_beside: bool,
}

mod scopes {
    use std::collections::BTreeMap;

    use domain::choices::{ChoiceScope, Held};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::HeldField;

    type Scopes = BTreeMap<ChoiceScope, Held>;

    pub(super) fn serialize<S: Serializer>(scopes: &Scopes, to: S) -> Result<S::Ok, S::Error> {
        let field = |(scope, held): (&ChoiceScope, &Held)| HeldField {
            scope: scope.as_str().to_owned(),
            line: scope.line().cloned(),
            choice: held.choice,
            source: held.source,
            since: held.since,
            latest: held.latest,
            is_beside: held.is_beside,
        };
        to.collect_seq(scopes.iter().map(field))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scopes, D::Error> {
        let held = |HeldField { scope, line, choice, source, since, latest, is_beside }| {
            let scope = match (scope.as_str(), line) {
                (_, Some(line)) => ChoiceScope::Line(line),
                ("ALL", None) => ChoiceScope::All,
                ("MARKETING", None) => ChoiceScope::Marketing,
                _ => return Err(D::Error::custom("no such scope")),
            };
            Ok((scope, Held { choice, source, since, latest, is_beside }))
        };
        Vec::<HeldField>::deserialize(from)?.into_iter().map(held).collect()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChooserFields {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    cellphone: Option<Cellphone>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    user_id: Option<ProviderUserId>,
}

stored! { Choices = ChoicesRow }

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
