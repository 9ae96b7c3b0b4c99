//! `console person ...`

mod contact_erased;
mod erase;
mod events;
mod export;
mod failures;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::{Cellphone, ContactId, Email, Erasure, ErasureState, LeadId, Person, WorkspaceId};
use serde_json::Value;

use crate::arguments::InWorkspace;
use crate::beside::Buckets;
use crate::output::{Output, Report};
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Erase a person: the contact, leads, messages, files, and the data of their events. This cannot be undone.
    ///
    /// The command erases everything that it finds, and ends in the state SETTLING. Requests that were running at that
    /// time may still have written something. Repeat the command after 15 minutes: it erases that too, and ends in the
    /// state DONE with a receipt. An interrupted command continues when it is repeated.
    Erase {
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        buckets: Buckets,
    },
    /// Write what is kept of a person into a new folder: person.json, and the files beside it.
    ///
    /// The folder is for the person: it holds the person's own data, and nothing of others. Other participants, agents,
    /// internal notes, conversations' names with others, receivers' answers, and records that could not be processed are
    /// left out. Only the operator can read the folder.
    Export {
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        buckets: Buckets,
        /// The folder to create.
        #[arg(long, value_name = "FOLDER")]
        output: PathBuf,
        /// Everything that `person erase` would remove, for the operator alone: it also shows other persons.
        #[arg(long)]
        all: bool,
    },
    /// List the erasures of a workspace with their receipts, the oldest first.
    Erasures(InWorkspace),
}

#[derive(Args)]
pub(crate) struct Who {
    #[command(flatten)]
    within: InWorkspace,
    #[command(flatten)]
    by: By,
    /// Another contact of the same person, such as one that had the number before. Repeat the option for each.
    #[arg(long, value_name = "ID", value_parser = ContactId::parse)]
    also_contact: Vec<ContactId>,
    /// A lead of the person's number that belongs to no contact. Repeat the option for each.
    #[arg(long, value_name = "ID", value_parser = LeadId::parse)]
    also_lead: Vec<LeadId>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct By {
    /// The contact's id.
    #[arg(long, value_name = "ID", value_parser = ContactId::parse)]
    contact: Option<ContactId>,
    /// The phone number, with its country code: +34600111222. It means the contact that has it now.
    #[arg(long, value_name = "NUMBER", value_parser = Cellphone::parse)]
    cellphone: Option<Cellphone>,
    /// The e-mail address. It means the contact that has it now.
    #[arg(long, value_name = "ADDRESS", value_parser = Email::parse)]
    email: Option<Email>,
}

impl Who {
    /// The person that the command line names.
    async fn person(&self, console: &Console, workspace: WorkspaceId) -> Result<Person> {
        let By { contact, cellphone, email } = &self.by;
        let store = &console.store;
        let mut person = match (cellphone, email) {
            (Some(number), _) => store.person_with_number(workspace, number).await?,
            (_, Some(email)) => store.person_with_email(workspace, email).await?,
            (None, None) => Person::default(),
        };
        person.contacts.extend(contact.iter().chain(&self.also_contact));
        person.leads.extend(&self.also_lead);
        Ok(person)
    }
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Erase { who, buckets } => {
                let workspace = console.workspace(&who.within).await?.id;
                let beside = console.beside.known(buckets).await?;
                let person = who.person(console, workspace).await?;
                let erasure = erase::erase(console, &beside, workspace, person).await?;
                let again = erasure.second_pass_at().filter(|_| erasure.state != ErasureState::Done);
                let again = again.map(|at| format!("Repeat the command after {at} to finish the erasure."));
                Report::from(view(&erasure)).remarks(again)
            }
            Self::Export { who, buckets, output: folder, all } => {
                let workspace = console.workspace(&who.within).await?.id;
                let beside = console.beside.known(buckets).await?;
                let person = who.person(console, workspace).await?;
                export::export(console, &beside, workspace, person, &folder, export::Extent::of(all))
                    .await?
                    .into()
            }
            Self::Erasures(within) => {
                let workspace = console.workspace(&within).await?.id;
                console.store.erasures(workspace).await?.iter().map(view).collect()
            }
        })
    }
}

/// An erasure. Once it is done, this is its receipt.
fn view(erasure: &Erasure) -> View {
    let finish_from = erasure.second_pass_at().filter(|_| erasure.state != ErasureState::Done);
    let contacts: Vec<String> = erasure.person.contacts.iter().map(ContactId::to_string).collect();
    let erased = || erasure.counts.iter().map(|(kind, count)| (kind.as_str(), *count));
    View::new()
        .text("erasureId", "erasure", erasure.id)
        .text("state", "state", erasure.state.as_str())
        .text("askedAt", "requested", erasure.asked_at)
        .optional("finishFrom", "finish from", finish_from)
        .optional("doneAt", "done", erasure.done_at)
        .value("contactIds", "contacts", contacts)
        // Those of the numbers and addresses.
        .json("hashes", erasure.digests.iter().cloned().collect::<Vec<_>>())
        .json("erased", erased().collect::<Value>())
        .lines("erased", erased().map(|(kind, count)| format!("{count} {kind}")))
}
