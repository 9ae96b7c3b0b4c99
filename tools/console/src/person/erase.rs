//! Asks for the erasure of a person or for a preview, and watches it. The function `people` does the work.

use std::collections::BTreeSet;

use domain::{Erasure, ErasureId, Person, WorkspaceId};

use crate::poll::Poll;
use crate::refusal::Named;
use crate::{Console, Refusal, Result};

/// Who asks, in the receipt.
const OPERATOR: &str = "operator";

/// Asks for the erasure of a person, or for a preview of it. Returns what was asked for before, if it was.
pub(crate) async fn ask(
    console: &Console,
    workspace: WorkspaceId,
    person: Person,
    is_preview: bool,
) -> Result<Erasure> {
    let (store, now) = (&console.store, console.store.now());
    let is_contacts = person.unheld.is_empty() && person.leads.is_empty() && !person.contacts.is_empty();
    let mut new = Erasure::of_contacts(person.contacts.clone(), workspace, is_preview, OPERATOR, now);
    let mut seen = if is_contacts { store.erasure(workspace, new.id).await? } else { None };
    if let Some(before) = seen.take_if(|before| !before.is_preview) {
        return Ok(before);
    }
    let found = store.find_person(workspace, person.clone()).await?;
    // While an erasure runs, its contacts may be gone already, and the number alone leads to what is left.
    if person.contacts.is_empty()
        && let Some(running) = earlier(console, workspace, &found.person).await?.filter(|of| !of.is_over())
    {
        return Ok(running);
    }
    if found.is_empty() {
        return earlier(console, workspace, &found.person).await?.ok_or(Refusal::NobodyFound);
    }
    if !is_contacts {
        let leads: BTreeSet<_> = found.leads.iter().map(|lead| lead.id).collect();
        let leads = if person.contacts.is_empty() { leads } else { BTreeSet::new() };
        let key = store.person_key().await?;
        new = Erasure::of_person(&person, &leads, &key, workspace, is_preview, OPERATOR, now);
        seen = store.erasure(workspace, new.id).await?;
    }
    Ok(store.ask_erasure(&new, seen.as_ref(), (!is_contacts).then_some(&person)).await?)
}

/// The newest erasure of a person, by contacts, numbers and addresses.
async fn earlier(console: &Console, workspace: WorkspaceId, person: &Person) -> Result<Option<Erasure>> {
    let macs = person.macs(workspace, &*console.store.person_key().await?);
    let erasures = console.store.erasures(workspace).await?.into_iter().rev();
    let is_of = |erasure: &Erasure| {
        !erasure.is_preview
            && (!erasure.contacts.is_disjoint(&person.contacts) || !erasure.macs.is_disjoint(&macs))
    };
    Ok(erasures.into_iter().find(is_of))
}

/// The erasure when it is over, if that is within these seconds.
pub(crate) async fn watch(console: &Console, of: Erasure, seconds: u64) -> Result<Erasure> {
    let (mut poll, mut erasure) = (Poll::within(seconds), of);
    while !erasure.is_over() {
        if !poll.pause().await {
            return Err(Refusal::ErasureNotDone { erasure: erasure.id, seconds });
        }
        erasure = read(console, erasure.workspace_id, erasure.id).await?;
    }
    Ok(erasure)
}

/// An erasure that must exist.
pub(crate) async fn read(console: &Console, workspace: WorkspaceId, id: ErasureId) -> Result<Erasure> {
    Named::Erasure.found(console.store.erasure(workspace, id).await?, id)
}
