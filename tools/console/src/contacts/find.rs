//! Lists, searches and shows contacts.

use clap::Args;
use domain::contact::search::SearchQuery;
use domain::{Contact, ContactId, ContactRef, Email, ExternalId, WorkspaceId};
use futures::future::try_join;
use store::ContactQuery;

use super::conflicts::{conflicts_of, conflicts_view};
use super::view::{details, row};
use crate::arguments::{InWorkspace, contact_ref, one};
use crate::output::Report;
use crate::paging::Limit;
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
pub(crate) struct Search {
    #[command(flatten)]
    which: Which,
    /// The beginnings of up to five words of names and e-mail address, or three digits or more of the phone number.
    #[arg(value_name = "TEXT", value_parser = SearchQuery::parse)]
    text: SearchQuery,
}

#[derive(Args)]
struct Which {
    #[command(flatten)]
    within: InWorkspace,
    /// Only contacts of the user with this e-mail address.
    #[arg(long, value_name = "E-MAIL", value_parser = Email::parse)]
    owner: Option<Email>,
    /// Only the contact with this id in the tenant's own system.
    #[arg(long, value_name = "ID", value_parser = ExternalId::parse)]
    external_id: Option<ExternalId>,
    #[command(flatten)]
    limit: Limit,
    /// Only contacts that follow this one in the list: the last one of the previous list.
    #[arg(long, value_name = "ID", value_parser = ContactId::parse)]
    after: Option<ContactId>,
}

one!(OneContact {
    /// The contact, by id, e-mail address or phone number.
    contact: ContactRef = "ID|E-MAIL|PHONE",
    contact_ref
});

impl List {
    pub(crate) async fn run(self, console: &Console) -> Result<Report> {
        self.which.report(console, None).await
    }
}

impl Search {
    pub(crate) async fn run(self, console: &Console) -> Result<Report> {
        self.which.report(console, Some(self.text)).await
    }
}

impl Which {
    async fn report(self, console: &Console, search: Option<SearchQuery>) -> Result<Report> {
        let (store, workspace) = (&console.store, console.workspace(&self.within).await?.id);
        let from = match self.after {
            None => None,
            Some(id) => {
                let last = known(console, workspace, &ContactRef::Id(id)).await?;
                Some(match &search {
                    None => ContactQuery::behind(&last),
                    Some(search) => ContactQuery::behind_found(search, &last).ok_or(Refusal::NotFound(id))?,
                })
            }
        };
        let read = async |page_size, after| {
            let (owner, external_id) = (self.owner.clone(), self.external_id.clone());
            let wanted = ContactQuery { owner, external_id, search: search.clone(), page_size, after };
            Ok(store.contacts_page(workspace, wanted).await?)
        };
        let definitions = async { Ok(store.definitions(workspace).await?) };
        let (listed, definitions) = try_join(self.limit.fill(from, read), definitions).await?;
        let now = store.now();
        Ok(listed.report(|contact| row(contact, &definitions, now), |contact| contact.id))
    }
}

impl OneContact {
    pub(crate) async fn show(self, console: &Console) -> Result<View> {
        let (store, workspace) = (&console.store, console.workspace(&self.within).await?.id);
        let contact = known(console, workspace, &self.contact).await?;
        let choices = store.choices_of_contact(&contact);
        let (definitions, choices) = try_join(store.definitions(workspace), choices).await?;
        let conflicts = conflicts_of(console, workspace, &[contact.id]).await?;
        let details = details(&contact, &definitions, choices.as_ref(), store.now());
        Ok(details.and(conflicts_view(&conflicts, false)))
    }
}

/// Reads a contact. Refuses an unknown one, and one that became part of another one.
pub(super) async fn known(
    console: &Console,
    workspace: WorkspaceId,
    contact: &ContactRef,
) -> Result<Contact> {
    let (store, id) = (&console.store, id_of(console, workspace, contact).await?);
    let found = store.contact(workspace, id).await?;
    if found.is_none()
        && let Some(into) = store.merged_into(workspace, id).await?
    {
        return Err(Refusal::Merged { contact: id, into });
    }
    Named::Contact.found(found, contact.identifier())
}

/// The id of a contact. Refuses an address and a number that no contact has.
pub(super) async fn id_of(
    console: &Console,
    workspace: WorkspaceId,
    contact: &ContactRef,
) -> Result<ContactId> {
    Named::Contact.found(holder(console, workspace, contact).await?, contact.identifier())
}

/// The contact that is named. An id need not be that of a contact.
pub(crate) async fn holder(
    console: &Console,
    workspace: WorkspaceId,
    contact: &ContactRef,
) -> Result<Option<ContactId>> {
    let store = &console.store;
    Ok(match contact {
        ContactRef::Id(id) => Some(*id),
        ContactRef::Email(email) => store.contact_holding_email(workspace, email).await?,
        ContactRef::Cellphone(cellphone) => store.contact_holding_cellphone(workspace, cellphone).await?,
    })
}
