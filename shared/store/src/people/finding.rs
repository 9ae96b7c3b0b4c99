//! Finds everything that belongs to a person: by keys only, and never by a number that somebody else has now.

use std::collections::{BTreeMap, BTreeSet};

use domain::choices::Chooser;
use domain::person::times::contact_of;
use domain::{
    Cellphone, Choices, Contact, ContactId, ConversationId, Email, HeldNumber, Lead, LeadId, Person,
    PersonJobId, PhoneKey, Reached, Tenure, Timestamp, WaId, WorkspaceId,
};

use crate::contacts::holder_of;
use crate::contacts::plan::{EarlierRow, IdentityRow};
use crate::contacts::row::{contact, survivor};
use crate::dynamodb::item::{PK, SK, key, read, s, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{Write, Wrote};
use crate::lanes::lead::lead;
use crate::{Store, StoreError, Table, keys};

/// What belongs to a person.
#[derive(Clone, Debug)]
pub struct Found {
    /// The person with all ids, numbers and addresses that are known now.
    pub person: Person,
    /// The contacts.
    pub contacts: Vec<Contact>,
    /// The leads.
    pub leads: Vec<Lead>,
    /// Leads of the person's numbers that were never opened, and came when nobody is known to have had the number.
    pub nobodys: BTreeSet<LeadId>,
    /// Each number of the person with the times in which others had it.
    pub others: BTreeMap<Cellphone, Vec<Tenure>>,
    /// The conversations.
    pub conversations: BTreeSet<ConversationId>,
    /// The choices that still show their numbers or user ids.
    pub choices: Vec<Choices>,
    /// The number of rows that count leads of the person's numbers.
    pub counts: u64,
}

impl Found {
    /// Whether nothing belongs to the person.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
            && self.leads.is_empty()
            && self.conversations.is_empty()
            && self.choices.iter().all(|kept| kept.outs().next().is_none())
            && self.counts == 0
    }
}

impl Store {
    /// The person that a number means: the contact that has it now, otherwise whoever else the number leads to. One round
    /// trip.
    pub async fn person_with_number(
        &self,
        workspace: WorkspaceId,
        number: &Cellphone,
    ) -> Result<Person, StoreError> {
        Ok(match self.contact_holding_cellphone(workspace, number).await? {
            Some(contact) => Person { contacts: BTreeSet::from([contact]), ..Person::default() },
            None => Person { unheld: BTreeSet::from([number.clone()]), ..Person::default() },
        })
    }

    /// The person that an address means: the contact that has it now. One round trip.
    pub async fn person_with_email(
        &self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Person, StoreError> {
        let contacts = self.contact_holding_email(workspace, email).await?.into_iter().collect();
        Ok(Person { contacts, emails: BTreeSet::from([email.clone()]), ..Person::default() })
    }

    /// Finds what belongs to a person of whom this is known. The index of a number's leads is eventually consistent.
    pub async fn find_person(&self, workspace: WorkspaceId, known: Person) -> Result<Found, StoreError> {
        let mut person = known;
        let contacts = self.contacts_of_person(workspace, &mut person).await?;
        let (mut leads, mut nobodys, mut others) = (vec![], BTreeSet::new(), BTreeMap::new());
        for (key, number) in Person::by_phone(person.clone().all_numbers()) {
            let tenures = self.tenures(workspace, &key).await?;
            let of_others = tenures.iter().filter(|tenure| !person.contacts.contains(&tenure.contact));
            let of_others: Vec<Tenure> = of_others.copied().collect();
            if !of_others.is_empty() {
                person.shared.insert(key.clone());
                others.insert(number.clone(), of_others);
            }
            for lead in self.leads_of_number(workspace, &key).await? {
                match person.has_lead(&lead, &tenures) {
                    true => leads.push(lead),
                    false if contact_of(&lead, &tenures).is_none() => drop(nobodys.insert(lead.id)),
                    false => {}
                }
            }
        }
        leads.sort_by_key(|lead| (lead.created_at, lead.id));
        let mut conversations = BTreeSet::new();
        for contact in &person.contacts {
            conversations.extend(self.conversations_with(workspace, *contact).await?);
        }
        // Also if the conversation has expired: its messages may be kept for longer.
        conversations.extend(leads.iter().filter(|lead| lead.opened).map(|lead| lead.conversation));
        let choices = self.choices_of_person(workspace, &mut person).await?;
        let mut counts = 0;
        for number in Person::by_phone(person.own_numbers()).into_values() {
            counts += self.counts_of(workspace, number).await?;
        }
        Ok(Found { person, contacts, leads, nobodys, others, conversations, choices, counts })
    }

    /// The contacts of a person, with those that became part of them, and those of which they became part. The person gets
    /// their ids, numbers and addresses. Two round trips for each.
    async fn contacts_of_person(
        &self,
        workspace: WorkspaceId,
        person: &mut Person,
    ) -> Result<Vec<Contact>, StoreError> {
        let (mut contacts, mut next) = (vec![], person.contacts.clone());
        while let Some(id) = next.pop_first() {
            person.numbers.extend(self.earlier_numbers(workspace, id).await?);
            let Some(row) = self.get_item(Table::Contacts, keys::contact(workspace, id)).await? else {
                continue;
            };
            let further = survivor(&row);
            let found = contact(row)?;
            let further = further.iter().chain(found.iter().flat_map(|contact| &contact.merged));
            next.extend(further.filter(|id| person.contacts.insert(**id)));
            let Some(contact) = found else { continue };
            let tenure = Tenure { from: contact.has_number_since(), to: None, contact: id };
            // The provider knows the person under the second number.
            let numbers = contact.cellphone.clone().into_iter();
            let numbers = numbers.chain(contact.wa_id.as_ref().and_then(WaId::cellphone));
            person.numbers.extend(numbers.map(|number| HeldNumber { number, tenure }));
            person.emails.extend(contact.email.clone());
            person.user_ids.extend(contact.user_ids.ids().cloned());
            person.external_ids.extend(contact.external_id.clone());
            contacts.push(contact);
        }
        contacts.sort_by_key(|contact| contact.id);
        Ok(contacts)
    }

    /// Marks contacts, and those that are one person with them, as those of an erasure, so that they are in no merge. Returns
    /// all of them; `None` if one of them is in a merge. Two round trips for each; more while they are merged.
    pub async fn take_for_erasure(
        &self,
        workspace: WorkspaceId,
        job: PersonJobId,
        contacts: BTreeSet<ContactId>,
    ) -> Result<Option<BTreeSet<ContactId>>, StoreError> {
        let mut taken = BTreeSet::new();
        loop {
            let mut person = Person { contacts: contacts.clone(), ..Person::default() };
            self.contacts_of_person(workspace, &mut person).await?;
            let new: Vec<ContactId> = person.contacts.difference(&taken).copied().collect();
            if new.is_empty() {
                return Ok(Some(person.contacts));
            }
            for id in new {
                let mark = RowUpdate::default()
                    .set("erasing", s(job.to_string()))
                    .when("attribute_exists(version)")
                    .when("attribute_not_exists(merging)");
                let mark = mark.of(Table::Contacts, key(keys::contact(workspace, id)));
                if let Wrote::Refused(Some(found)) = self.write(mark).await?
                    && found.contains_key("merging")
                {
                    return Ok(None);
                }
                taken.insert(id);
            }
        }
    }

    /// The choices of the numbers and the user ids that the person has, and those that name the person's contact: a
    /// contact that moved chose by an earlier number or user id. Only those that still show the number or the id.
    async fn choices_of_person(
        &self,
        workspace: WorkspaceId,
        person: &mut Person,
    ) -> Result<Vec<Choices>, StoreError> {
        let contacts = person.contacts.clone();
        let names = |kept: &Choices| kept.contact.is_some_and(|contact| contacts.contains(&contact));
        let mut choices = self.opt_outs(workspace).await?;
        choices.retain(names);
        for kept in &choices {
            if let Some(Chooser::User(user)) = &kept.chooser {
                person.user_ids.insert(user.clone());
            }
        }
        let own: BTreeSet<PhoneKey> = person.own_numbers().map(Cellphone::key).collect();
        for (key, number) in Person::by_phone(person.all_numbers()) {
            let kept = self.choices(workspace, number).await?;
            choices.extend(kept.filter(|kept| names(kept) || own.contains(&key)));
        }
        for user in &person.user_ids {
            choices.extend(self.choices(workspace, user).await?);
        }
        choices.retain(|kept| kept.chooser.is_some());
        choices.sort_by(|a, b| a.chooser.cmp(&b.chooser));
        choices.dedup_by(|a, b| a.digest == b.digest);
        Ok(choices)
    }

    /// The times in which contacts had a number, with the time of the one that has it now (strongly consistent read). One
    /// round trip.
    pub async fn tenures(&self, workspace: WorkspaceId, phone: &PhoneKey) -> Result<Vec<Tenure>, StoreError> {
        let (pk, _) = keys::contact_phone(workspace, phone);
        let mut tenures = vec![];
        for item in self.query_all(Query::of(Table::Contacts, pk)).await? {
            tenures.push(match keys::read_earlier_holder(text(&item, SK)) {
                Some(contact) => {
                    let row: EarlierRow = read(item)?;
                    Tenure { from: row.from, to: Some(row.to), contact }
                }
                None => {
                    let contact = holder_of(&item)?;
                    let since = read::<IdentityRow>(item)?.since;
                    Tenure { from: since.unwrap_or(Timestamp::from_millis(0)), to: None, contact }
                }
            });
        }
        Ok(tenures)
    }

    /// The numbers that a contact gave up (strongly consistent read). One round trip.
    async fn earlier_numbers(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<HeldNumber>, StoreError> {
        let mut numbers = vec![];
        for item in self.query_all(earlier(workspace, contact)).await? {
            let EarlierRow { from, to, digits } = read(item)?;
            let number = Cellphone::parse(&format!("+{}", digits.unwrap_or_default()));
            let tenure = Tenure { from, to: Some(to), contact };
            // What the provider names need not be a number that can be dialled.
            numbers.extend(number.ok().map(|number| HeldNumber { number, tenure }));
        }
        Ok(numbers)
    }

    /// Deletes the rows that say which numbers a contact gave up. One round trip, and two for each number.
    pub async fn erase_earlier_numbers(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<(), StoreError> {
        for item in self.query_all(earlier(workspace, contact)).await? {
            let (pk, sk) = (text(&item, PK).to_owned(), text(&item, SK).to_owned());
            let EarlierRow { from, .. } = read(item)?;
            if let Some(phone) = keys::read_earlier_number(&sk) {
                let holder = keys::earlier_holder(workspace, &phone, contact, from);
                self.write(Write::delete(Table::Contacts, key(holder))).await?;
            }
            // Last, because it leads to the other one.
            self.write(Write::delete(Table::Contacts, key((pk, sk)))).await?;
        }
        Ok(())
    }

    /// The leads of a number, whoever had it. The index is eventually consistent. Two round trips; more for each
    /// megabyte.
    pub async fn leads_of_number(
        &self,
        workspace: WorkspaceId,
        phone: &PhoneKey,
    ) -> Result<Vec<Lead>, StoreError> {
        let of_number = keys::leads_by_phone(workspace, phone);
        let found = self.query_all(Query::by(Table::Leads, Some("byPhone"), "phonePk", of_number)).await?;
        let place = |item| Place::of(Table::Leads, (text(item, PK).to_owned(), text(item, SK)));
        let places: Vec<Place> = found.iter().map(place).collect();
        self.rows_at(&places).await?.into_items().map(lead).collect()
    }

    /// The contacts that were made `since` then and have a number, an address or an id of the person. Not one that has a user
    /// id that the person had not: that may be somebody else. One round trip for each number, address and id, and for each
    /// contact that has it.
    pub async fn returned(
        &self,
        workspace: WorkspaceId,
        person: &Person,
        since: Timestamp,
    ) -> Result<BTreeSet<ContactId>, StoreError> {
        let mut holders = BTreeSet::new();
        for number in Person::by_phone(person.numbers_now()).into_values() {
            holders.extend(self.contact_holding_cellphone(workspace, number).await?);
        }
        for email in &person.emails {
            holders.extend(self.contact_holding_email(workspace, email).await?);
        }
        for id in &person.external_ids {
            holders.extend(self.contact_holding_external_id(workspace, id).await?);
        }
        for id in &person.user_ids {
            let reached = Reached::named(None, Some(id.as_str()));
            holders.extend(self.contact_reached_at(workspace, &reached).await?);
        }
        let mut returned = BTreeSet::new();
        for id in holders.difference(&person.contacts) {
            let Some(contact) = self.contact(workspace, *id).await? else { continue };
            let is_known = contact.user_ids.ids().all(|user| person.user_ids.contains(user));
            if contact.created_at >= since && is_known {
                returned.insert(*id);
            }
        }
        Ok(returned)
    }
}

fn earlier(workspace: WorkspaceId, contact: ContactId) -> Query {
    Query::of(Table::Contacts, keys::contact(workspace, contact).0).begins_with(keys::EARLIER)
}
