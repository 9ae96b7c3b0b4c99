//! Finds everything that belongs to a person.

use std::collections::BTreeSet;

use domain::choices::Chooser;
use domain::{Choices, Contact, ConversationId, Lead, Person, Reached, WaId, WorkspaceId};
use store::Store;

use crate::{Console, Result};

/// What belongs to a person.
pub(crate) struct Found {
    /// The person with all ids, numbers and addresses that are known now.
    pub(crate) person: Person,
    pub(crate) contacts: Vec<Contact>,
    pub(crate) leads: Vec<Lead>,
    pub(crate) conversations: BTreeSet<ConversationId>,
    /// The opt-outs that still show their numbers.
    pub(crate) opt_outs: Vec<Choices>,
    /// The number of rows that count leads of the person's numbers.
    pub(crate) counts: u64,
}

impl Found {
    /// Whether nothing belongs to the person.
    pub(crate) fn is_empty(&self) -> bool {
        self.contacts.is_empty()
            && self.leads.is_empty()
            && self.conversations.is_empty()
            && self.opt_outs.is_empty()
            && self.counts == 0
    }
}

/// Finds what belongs to a person of whom this is known. It reads all leads of the workspace, because they are not
/// listed by number.
pub(crate) async fn find(console: &Console, workspace: WorkspaceId, known: Person) -> Result<Found> {
    let store = &console.store;
    let mut person = known;
    // What is found names further numbers, addresses and ids, which lead to further rows. So the search repeats until a round
    // finds nothing new.
    let (contacts, leads) = loop {
        let contacts = contacts(store, workspace, &mut person).await?;
        let leads = leads_of(store, workspace, &person).await?;
        // A lead's contact may have another number now. It is still the same person.
        let before = person.clone();
        person.contacts.extend(leads.iter().filter(|lead| lead.opened).map(|lead| lead.contact));
        person.cellphones.extend(leads.iter().map(|lead| lead.cellphone.clone()));
        // A contact that moved opted out by an earlier number or user id.
        for opt_out in store.opt_outs(workspace).await? {
            match opt_out.chooser.filter(|_| opt_out.contact.is_some_and(|of| person.contacts.contains(&of)))
            {
                Some(Chooser::Number(number)) => drop(person.cellphones.insert(number)),
                Some(Chooser::User(user_id)) => drop(person.user_ids.insert(user_id)),
                None => {}
            }
        }
        if person == before {
            break (contacts, leads);
        }
    };
    let mut conversations = BTreeSet::new();
    for contact in &person.contacts {
        conversations.extend(store.conversations_with(workspace, *contact).await?);
    }
    // Also if the conversation has expired: its messages may be kept for longer.
    conversations.extend(leads.iter().filter(|lead| lead.opened).map(|lead| lead.conversation));
    let (mut opt_outs, mut counts) = (vec![], 0);
    for cellphone in person.phones() {
        opt_outs.extend(opt_out(store, workspace, cellphone).await?);
        counts += store.counts_of(workspace, cellphone).await?;
    }
    for user_id in &person.user_ids {
        opt_outs.extend(opt_out(store, workspace, user_id).await?);
    }
    Ok(Found { person, contacts, leads, conversations, opt_outs, counts })
}

async fn opt_out(
    store: &Store,
    workspace: WorkspaceId,
    chooser: impl Into<Chooser>,
) -> Result<Option<Choices>> {
    let kept = store.choices(workspace, chooser).await?;
    Ok(kept.filter(|kept| kept.chooser.is_some() && kept.outs().next().is_some()))
}

/// The person's contacts, with their ids, numbers and addresses added to the person.
async fn contacts(store: &Store, workspace: WorkspaceId, person: &mut Person) -> Result<Vec<Contact>> {
    loop {
        let before = person.clone();
        for cellphone in before.phones() {
            person.contacts.extend(store.contact_holding_cellphone(workspace, cellphone).await?);
        }
        for id in &before.user_ids {
            let reached = Reached::named(None, Some(id.as_str()));
            person.contacts.extend(store.contact_reached_at(workspace, &reached).await?);
        }
        for email in &before.emails {
            person.contacts.extend(store.contact_holding_email(workspace, email).await?);
        }
        let mut found = vec![];
        for id in person.contacts.clone() {
            let Some(contact) = store.contact(workspace, id).await? else { continue };
            person.cellphones.extend(contact.cellphone.clone());
            // The provider knows the person under this number.
            person.cellphones.extend(contact.wa_id.as_ref().and_then(WaId::cellphone));
            person.emails.extend(contact.email.clone());
            person.user_ids.extend(contact.user_id.clone());
            found.push(contact);
        }
        if *person == before {
            return Ok(found);
        }
    }
}

/// The person's leads, from a list of all leads.
async fn leads_of(store: &Store, workspace: WorkspaceId, person: &Person) -> Result<Vec<Lead>> {
    let (mut found, mut from) = (vec![], None);
    loop {
        let page = store.leads(workspace, None, from.as_deref(), Store::MOST_LEADS).await?;
        found.extend(page.leads.into_iter().filter(|lead| person.has_lead(lead)));
        from = page.next;
        if from.is_none() {
            return Ok(found);
        }
    }
}
