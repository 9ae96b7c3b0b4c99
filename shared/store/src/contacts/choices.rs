//! Customers' choices about templates, by the MAC of a phone number or of a user id.
//!
//! All ids of a contact keep the same choices. So whoever calls the provider checks only the row of the id that is
//! dialled. Each transaction that gives a contact a further id joins the choices of all of them, and each choice checks
//! that the ids are still those that were read.

use std::collections::{BTreeMap, BTreeSet};

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Choices, Chooser, Choosers, Chosen, Held};
use domain::contact::address::ProviderUserId;
use domain::{AuditAction, Author, Cellphone, ChannelId, Contact, ContactId, Timestamp, WorkspaceId};
use futures::future::{try_join, try_join_all};
use serde::{Deserialize, Serialize};

use crate::contacts::holder_of;
use crate::contacts::plan::ids_check;
use crate::contacts::row::{contact_in, contact_place};
use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{EXPIRES_AT, Item, PK, SK, key, n, read, row, s, text, unreadable};
use crate::dynamodb::paging::{List, Page, PageRequest};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::{Transaction, Write};
use crate::{Store, StoreError, Table, keys};

/// How long a choice to get templates again is kept. It is longer than the provider repeats a webhook and the queue
/// keeps a dead letter, so no opt-out from before it comes in later.
const IN_KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// The choices of one id as they were read. The transaction that begins the call of a template checks that they hold.
#[derive(Clone, Debug)]
pub struct ChoicesSeen {
    workspace: WorkspaceId,
    digest: String,
    /// The choices, if any are kept.
    pub kept: Option<Choices>,
}

impl ChoicesSeen {
    /// The check that the choices are still those that were read.
    pub(crate) fn check(&self, now: Timestamp) -> Write {
        let key = key((keys::opt_outs(self.workspace), &self.digest));
        when_as_read(Write::check(Table::Leads, key, ""), self.kept.as_ref(), now)
    }
}

/// A person who chooses: the ids, and what must be true of them when the choice is stored.
struct ChoosingPerson {
    ids: Choosers,
    checks: Vec<Write>,
}

impl Store {
    /// The choices that are kept for a number or a user id (strongly consistent read). One round trip.
    pub async fn choices(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<Option<Choices>, StoreError> {
        Ok(self.choices_seen(workspace, chooser).await?.kept)
    }

    /// The same, for the check of [`Store::begin`] and of the start of a lead's call.
    pub async fn choices_seen(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<ChoicesSeen, StoreError> {
        let digest = self.choice_key(workspace, chooser).await?;
        let kept = self.choices_at(workspace, &digest).await?;
        Ok(ChoicesSeen { workspace, digest, kept })
    }

    /// The choices that are kept under this key (strongly consistent read). One round trip.
    pub async fn choices_at(
        &self,
        workspace: WorkspaceId,
        digest: &str,
    ) -> Result<Option<Choices>, StoreError> {
        let place = (keys::opt_outs(workspace), digest);
        self.get_item(Table::Leads, place).await?.map(choices).transpose()
    }

    /// The choices that are kept for these ids, in their order. One round trip; none without ids.
    async fn choices_of(&self, ids: &Choosers) -> Result<Vec<Option<Choices>>, StoreError> {
        try_join_all(ids.digests().map(|digest| self.choices_at(ids.workspace(), digest))).await
    }

    /// The choices that are kept for a contact's person: each of the contact's ids has the same (strongly consistent
    /// read). One round trip; none for a contact without ids.
    pub async fn choices_of_contact(&self, contact: &Contact) -> Result<Option<Choices>, StoreError> {
        match Chooser::all_of(contact).into_iter().next() {
            Some(id) => self.choices(contact.workspace_id, id).await,
            None => Ok(None),
        }
    }

    /// Records a choice of the person whom these numbers and user ids name. All ids of the person's contact, and those that
    /// nobody has, keep the choice that was made last, and one of them makes the event ([`Choices::of_person`]). They
    /// are written together, under the condition that they are still the ids of this person, so a repeat finds all or
    /// none. If the ids are those of several contacts, each of them chose. Returns whether one of the choices is
    /// another one than before. Four round trips, or three if nothing changes; more if others choose at the same time.
    pub async fn choose(
        &self,
        workspace: WorkspaceId,
        named: &[Chooser],
        chosen: &Chosen,
    ) -> Result<bool, StoreError> {
        self.choose_with(workspace, named, chosen, None).await
    }

    /// The same, with an entry of the audit log in the transaction.
    async fn choose_with(
        &self,
        workspace: WorkspaceId,
        named: &[Chooser],
        chosen: &Chosen,
        entry: Option<&Write>,
    ) -> Result<bool, StoreError> {
        let (mut retries, mut changed, mut tried) = (RetryTime::new(self), false, None);
        'again: loop {
            if let Some(persons) = self.persons_named(workspace, named).await? {
                for person in persons {
                    match self.choose_once(&person, chosen, &mut tried, entry).await? {
                        Some(is_new) => changed |= is_new,
                        None => {
                            retries.wait().await?;
                            continue 'again;
                        }
                    }
                }
                return Ok(changed);
            }
            retries.wait().await?;
        }
    }

    /// One attempt for one person. `None` if something changed since it was read.
    async fn choose_once(
        &self,
        person: &ChoosingPerson,
        chosen: &Chosen,
        tried: &mut Option<(bool, Vec<Option<Choices>>)>,
        entry: Option<&Write>,
    ) -> Result<Option<bool>, StoreError> {
        let ChoosingPerson { ids, checks } = person;
        let before = self.choices_of(ids).await?;
        // The answer of the write was lost, and its repeat was refused.
        if let Some((changed, _)) = tried.take().filter(|(_, next)| *next == before) {
            return Ok(Some(changed));
        }
        let next = Choices::of_person(&before, ids, chosen, self.now());
        let is_new = |(before, next): (&Option<Choices>, &Choices)| before.as_ref() != Some(next);
        if !before.iter().zip(&next).any(is_new) {
            return Ok(Some(false));
        }
        // All rows hold the same choices now.
        let held = |scope| Choices::latest(before.iter().flatten(), scope).map(|held| held.choice);
        let changed = next
            .first()
            .is_some_and(|next| next.scopes.iter().any(|(scope, next)| Some(next.choice) != held(scope)));
        // Also those that stay as they are, under the condition that they do.
        let writes = before.iter().zip(&next).map(|(before, next)| choices_write(before.as_ref(), next));
        let mut writes = writes.collect::<Result<Vec<_>, _>>()?;
        writes.extend(checks.iter().chain(entry).cloned());
        if self.all_or_none(writes).await? {
            return Ok(Some(changed));
        }
        *tried = Some((changed, next.into_iter().map(Some).collect()));
        Ok(None)
    }

    /// The persons whom these ids name: each contact that has one of them, with all its ids. Ids that nobody has belong to
    /// the first of these contacts, otherwise to each other. `None` if a contact changed between the reads. Two round
    /// trips, or one if nobody has the ids.
    async fn persons_named(
        &self,
        workspace: WorkspaceId,
        named: &[Chooser],
    ) -> Result<Option<Vec<ChoosingPerson>>, StoreError> {
        let places: Vec<Place> = named.iter().map(|id| holder_place(workspace, id)).collect();
        let (key, holders) = try_join(self.person_key(), self.rows_at(&places)).await?;
        let (mut contacts, mut free) = (vec![], vec![]);
        for (id, place) in named.iter().zip(&places) {
            match holders.get(place).map(holder_of).transpose()? {
                Some(contact) if contacts.contains(&contact) => {}
                Some(contact) => contacts.push(contact),
                None => free.push((id.clone(), place)),
            }
        }
        let of_contacts: Vec<Place> = contacts.iter().map(|id| contact_place(workspace, *id)).collect();
        let mut rows = self.rows_at(&of_contacts).await?;
        let mut persons = vec![];
        for place in &of_contacts {
            let Some(contact) = contact_in(rows.take(place))? else { return Ok(None) };
            persons.push((Chooser::all_of(&contact), Some(contact.id), vec![ids_check(&contact)?]));
        }
        if !named.iter().zip(&places).all(|(id, place)| {
            holders.get(place).is_none()
                || persons.iter().any(|(ids, ..)| ids.iter().any(|of| of.is_same(id)))
        }) {
            return Ok(None);
        }
        if persons.is_empty() {
            persons.push((vec![], None, vec![]));
        }
        if let Some((ids, _, checks)) = persons.first_mut() {
            for (id, place) in free {
                let (table, key) = place.key();
                ids.push(id);
                checks.push(Write::check(table, key, "attribute_not_exists(pk)"));
            }
        }
        let person = |(ids, contact, checks)| {
            let ids = Choosers::new(&key, workspace, ids, contact);
            ChoosingPerson { ids, checks }
        };
        Ok(Some(persons.into_iter().map(person).collect()))
    }

    /// The writes that bring the same choices to all ids of a contact, for the transaction that gives it an id that it did
    /// not `have`. The choices of the ids that it gives up follow. One round trip; none if the contact gets no further
    /// id, or has only one.
    pub(crate) async fn joined_choices(
        &self,
        next: &Contact,
        had: &[Chooser],
        given_up: &[Chooser],
    ) -> Result<Transaction<()>, StoreError> {
        let (mut ids, mut writes) = (Chooser::all_of(next), Transaction::new());
        let is_among = |id: &Chooser, ids: &[Chooser]| ids.iter().any(|of| of.is_same(id));
        let is_further = ids.iter().any(|id| !is_among(id, had));
        let own = ids.len();
        ids.extend(given_up.iter().filter(|id| !is_among(id, &ids)).cloned().collect::<Vec<_>>());
        if !is_further || ids.len() < 2 {
            return Ok(writes);
        }
        let (key, now) = (self.person_key().await?, self.now());
        let ids = Choosers::new(&key, next.workspace_id, ids, Some(next.id));
        let before = self.choices_of(&ids).await?;
        let joined = Choices::joined(&before, &ids, now);
        for (n, (digest, before)) in ids.digests().zip(&before).enumerate() {
            let write = match joined.get(n).filter(|next| n < own && before.as_ref() != Some(next)) {
                Some(next) => choices_write(before.as_ref(), next)?,
                None => {
                    let seen = ChoicesSeen {
                        workspace: next.workspace_id,
                        digest: digest.to_owned(),
                        kept: before.clone(),
                    };
                    seen.check(now)
                }
            };
            writes.add((), write);
        }
        Ok(writes)
    }

    /// Records that the business opted a number out of this scope. Returns `false` if it had opted out already; then the row
    /// says that this was said again. With an entry of the audit log if anything is written. Three round trips.
    pub async fn opt_out(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        scope: ChoiceScope,
        since: Timestamp,
        by: &Author,
    ) -> Result<bool, StoreError> {
        let digest = self.choice_key(workspace, cellphone).await?;
        let entry = self.audit(by, workspace, AuditAction::OptOutCreate, digest, &[])?;
        let chosen = of_business(Choice::Out, [scope].into(), since);
        self.choose_with(workspace, &[Chooser::from(cellphone)], &chosen, Some(&entry)).await
    }

    /// Records that the business opted in again whoever made these choices, of all templates and of those that advertise, with an entry
    /// of the audit log. `false` if others changed the choices; then they must be read again. One round trip, or three.
    pub async fn opt_in(&self, seen: &Choices, by: &Author) -> Result<bool, StoreError> {
        let of = seen.workspace_id;
        let chosen = of_business(Choice::In, [ChoiceScope::All, ChoiceScope::Marketing].into(), self.now());
        let entry = self.audit(by, of, AuditAction::OptOutDelete, &seen.digest, &[])?;
        match &seen.chooser {
            Some(id) => {
                self.choose_with(of, std::slice::from_ref(id), &chosen, Some(&entry)).await?;
                Ok(true)
            }
            // Nobody knows what other ids the person had.
            None => {
                let ids = Choosers::erased(of, seen.digest.clone());
                let person = ChoosingPerson { ids, checks: vec![] };
                Ok(self.choose_once(&person, &chosen, &mut None, Some(&entry)).await?.is_some())
            }
        }
    }

    /// The key under which the choices of a number or a user id are kept. No round trip, or one in a new process.
    pub async fn choice_key(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<String, StoreError> {
        Ok(chooser.into().digest(&*self.person_key().await?, workspace))
    }

    /// Removes the number or the user id from its opt-out, which stays in force. One round trip.
    pub async fn hide_opt_out(
        &self,
        workspace: WorkspaceId,
        chooser: impl Into<Chooser>,
    ) -> Result<(), StoreError> {
        let place = key((keys::opt_outs(workspace), self.choice_key(workspace, chooser).await?));
        let hide = Write::update(Table::Leads, place, "REMOVE cellphone, userId, contactId");
        self.write(hide.when("attribute_exists(pk)")).await?;
        Ok(())
    }

    /// A page of the choices of everybody who opted out of anything, in the order of their keys. Up to four round trips.
    pub async fn opt_outs_page(
        &self,
        workspace: WorkspaceId,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Page<Choices>, StoreError> {
        let list = List {
            table: Table::Leads,
            index: None,
            keys: (PK, SK),
            // A choice to get templates again expires.
            filter: Some((format!("kind = :only AND attribute_not_exists({EXPIRES_AT})"), s(KIND))),
            attributes: None,
            read: choices,
        };
        let wanted = PageRequest { page_size, after };
        let found = self.hits(&list, keys::opt_outs(workspace), wanted).await?;
        Ok(Page { items: found.hits.into_iter().map(|hit| hit.row).collect(), next: found.next })
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

/// A choice that the business makes for a person.
fn of_business(choice: Choice, scopes: BTreeSet<ChoiceScope>, at: Timestamp) -> Chosen {
    Chosen { choice, scopes, source: ChoiceSource::Operator, at }
}

/// The row that shows who has the number or user id.
fn holder_place(workspace: WorkspaceId, id: &Chooser) -> Place {
    let key = match id {
        Chooser::Number(number) => keys::contact_phone(workspace, &number.key()),
        Chooser::User(user) => keys::contact_user_id(workspace, user),
    };
    Place::of(Table::Contacts, key)
}

/// The write of choices in place of those that were read.
fn choices_write(before: Option<&Choices>, next: &Choices) -> Result<Write, StoreError> {
    Ok(when_as_read(Write::put(Table::Leads, choices_row(next)?), before, next.updated_at))
}

/// The write under the condition that the row of choices is as it was read.
fn when_as_read(write: Write, before: Option<&Choices>, now: Timestamp) -> Write {
    match before {
        // A choice to get templates again may have expired and still be there.
        None => write
            .when(format!("attribute_not_exists(pk) OR {EXPIRES_AT} < :now"))
            .bind(":now", n(now.as_seconds())),
        Some(before) => write.when("version = :version").bind(":version", n(before.version)),
    }
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

/// `W#O` / `<key id>.<MAC of the number or user id>`.
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
