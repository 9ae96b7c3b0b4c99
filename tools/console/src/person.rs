//! `console person ...`

mod erase;
mod export;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::person::erasure::{ContactPreview, Preview};
use domain::{Cellphone, ContactId, Email, Erasure, ErasureId, LeadId, Person, Tenure, WorkspaceId};
use edge::view::contact_preview;
use serde_json::{Value, json};

use crate::arguments::InWorkspace;
use crate::beside::Buckets;
use crate::contacts::{conflicts_of, conflicts_view};
use crate::output::{Output, Report};
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Erase a person: the contact, leads, messages, files, and the data of their events. This cannot be undone.
    ///
    /// The command only asks: the service erases everything that it finds, waits for 15 minutes until no request from before
    /// is running, and erases what these wrote. Then the erasure is DONE and is the receipt. A repeat of the command shows how
    /// far it is.
    Erase {
        #[command(flatten)]
        who: Who,
        /// Erase nothing, and show what an erasure would take, contact by contact, and what speaks against one person: other
        /// holders of the numbers, and conflicts. After USER_ID_CHANGED, somebody else may have had the number.
        #[arg(long)]
        dry_run: bool,
        /// Wait until the erasure is done, but at most this many seconds [default without a number: 1500].
        #[arg(
            long,
            value_name = "SECONDS",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "1500",
            value_parser = clap::value_parser!(u64).range(1..=86_400)
        )]
        wait: Option<u64>,
    },
    /// Say whether an erasure was that of a number or an address.
    Verify {
        #[command(flatten)]
        within: InWorkspace,
        /// The erasure's id.
        #[arg(long, value_name = "ID", value_parser = ErasureId::parse)]
        erasure: ErasureId,
        #[command(flatten)]
        of: Of,
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
pub(crate) struct Of {
    /// The phone number, in any written form.
    #[arg(long, value_name = "NUMBER", value_parser = Cellphone::parse)]
    cellphone: Option<Cellphone>,
    /// The e-mail address.
    #[arg(long, value_name = "ADDRESS", value_parser = Email::parse)]
    email: Option<Email>,
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
            Self::Erase { who, dry_run, wait } => {
                let workspace = console.workspace(&who.within).await?.id;
                let person = who.person(console, workspace).await?;
                let erasure = erase::ask(console, workspace, person, dry_run).await?;
                let erasure = match wait.or(dry_run.then_some(PREVIEW_SECONDS)) {
                    Some(seconds) => erase::watch(console, erasure, seconds).await?,
                    None => erasure,
                };
                let goes_on = (!erasure.is_over()).then_some("The service goes on by itself.".to_owned());
                let conflicts = match &erasure.preview {
                    Some(preview) => {
                        let contacts: Vec<ContactId> = preview.contacts.iter().map(|of| of.contact).collect();
                        let conflicts = conflicts_of(console, workspace, &contacts).await?;
                        conflicts_view(&conflicts, true)
                    }
                    None => View::new(),
                };
                Report::from(view(&erasure).and(conflicts)).remarks(goes_on)
            }
            Self::Verify { within, erasure, of } => {
                let workspace = console.workspace(&within).await?.id;
                let erasure = erase::read(console, workspace, erasure).await?;
                let unheld = of.cellphone.into_iter().collect();
                let person = Person { unheld, emails: of.email.into_iter().collect(), ..Person::default() };
                let macs = person.macs(workspace, &*console.store.person_key().await?);
                let matches = !erasure.macs.is_disjoint(&macs);
                View::new().value("matches", "matches", matches).into()
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
                console.store.erasures(workspace).await?.iter().map(listed).collect()
            }
        })
    }
}

/// How long the command waits for a preview.
const PREVIEW_SECONDS: u64 = 90;

/// An erasure or a preview. Once an erasure is done, this is its receipt.
fn view(erasure: &Erasure) -> View {
    let contacts: Vec<String> = erasure.contacts.iter().map(ContactId::to_string).collect();
    let counts = match &erasure.preview {
        Some(preview) => &preview.counts,
        None => &erasure.counts,
    };
    let counts = || counts.iter().map(|(kind, count)| (kind.as_str(), *count));
    let heading = if erasure.is_preview { "would be erased" } else { "erased" };
    View::new()
        .text("erasureId", "erasure", erasure.id)
        .text("state", "state", erasure.state.as_str())
        .json("dryRun", erasure.is_preview)
        .text("askedAt", "requested", erasure.asked_at)
        .text("askedBy", "by", &erasure.asked_by)
        .optional("doneAt", "done", erasure.done_at)
        .optional("waitsFor", "waits for", erasure.waits_for.as_ref())
        .value("contactIds", "contacts", contacts)
        // Those of the numbers and addresses.
        .json("macs", erasure.macs.iter().cloned().collect::<Vec<_>>())
        .json("erased", counts().collect::<Value>())
        .lines(heading, counts().map(|(kind, count)| format!("{count} {kind}")))
        .and(erasure.preview.as_ref().map(previewed).unwrap_or_default())
}

/// An erasure in the list, which has room for its id, its state and its time only.
fn listed(erasure: &Erasure) -> View {
    view(erasure)
        .without_cells()
        .cell("erasure", erasure.id.to_string())
        .cell("state", erasure.state.as_str())
        .cell("requested", erasure.asked_at.to_string())
}

/// What a preview found: each contact with its times, and what stays unless it is named.
fn previewed(preview: &Preview) -> View {
    let time = |tenure: &Tenure| {
        let until = tenure.to.map_or_else(|| "now".to_owned(), |to| to.to_string());
        format!("{} from {} until {until}", tenure.contact, tenure.from)
    };
    let leads: Vec<String> = preview.nobodys_leads.iter().map(LeadId::to_string).collect();
    let times = |of: fn(&ContactPreview) -> &Vec<Tenure>| preview.contacts.iter().flat_map(of).map(time);
    View::new()
        .json("contacts", json!(preview.contacts.iter().map(contact_preview).collect::<Vec<_>>()))
        .lines("had the numbers", times(|of| &of.numbers))
        .lines("others had them", times(|of| &of.others))
        .value("nobodysLeads", "leads of nobody", leads)
}
