//! `console contacts ...`

mod chains;
mod columns;
mod conflicts;
mod export;
mod file;
mod find;
mod import;
mod merge;
mod view;

use std::path::PathBuf;

use clap::Subcommand;

use crate::arguments::InWorkspace;
use crate::export::{Destination, Formulas};
use crate::output::{Output, Report};
use crate::{Console, Result};
use file::Source;
use find::{List, OneContact, Search};
use import::Effect;
use merge::MergeTwo;

pub(crate) use conflicts::{conflicts_of, conflicts_view};
pub(crate) use find::holder;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List contacts, newest first. A contact that was just created may be missing for a moment.
    List(List),
    /// Search contacts, as the API does: sorted by the matched text.
    Search(Search),
    /// Show a contact: its fields, its attributes, whether its number has opted out, and what the service did not decide
    /// about it.
    Show(OneContact),
    /// Make one contact of two that are one person. This cannot be undone.
    ///
    /// The command only asks. The contact that stays takes the conversations, numbers and ids of the other one, and what it has
    /// blank. A repeat of the command shows how far the merge is.
    Merge(MergeTwo),
    /// Create and update contacts from the rows of a CSV file. You can repeat an import: a row with an existing id,
    /// external id, e-mail address or phone number updates that contact, and an empty cell changes nothing.
    #[command(
        after_help = "Columns: id, firstName, lastName, email, cellphone, externalId, languageCode, owner (a user's \
        id or e-mail address) and attr:<keyName> for each attribute. Separate the values of a CLOSED attribute with \
        `;`, and write `\\;` for a semicolon within a value. The header is row 1."
    )]
    Import {
        #[command(flatten)]
        within: InWorkspace,
        /// The CSV file, with commas, semicolons or tabs between its cells; `-` is standard input.
        file: PathBuf,
        /// Validate every row against the workspace as it is, and write nothing. The report is that of the import.
        #[arg(long)]
        dry_run: bool,
        /// Write the rows that are refused to this CSV file, with the reason in a first column, which an import ignores:
        /// correct the rows and import that file.
        #[arg(long, value_name = "FILE")]
        rejects: Option<PathBuf>,
        /// Take every text as it is, from a file that `contacts export --raw` wrote. Without this flag, an apostrophe before
        /// a text that a spreadsheet would execute is removed.
        #[arg(long)]
        raw: bool,
    },
    /// Write all contacts as CSV, newest first, with the columns that import reads; with --json, as a JSON array.
    Export {
        #[command(flatten)]
        within: InWorkspace,
        #[command(flatten)]
        to: Destination,
    },
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        match self {
            Self::List(wanted) => wanted.run(console).await,
            Self::Search(wanted) => wanted.run(console).await,
            Self::Show(one) => Ok(one.show(console).await?.into()),
            Self::Merge(both) => both.run(console).await,
            Self::Import { within, file, dry_run, rejects, raw } => {
                let workspace = console.workspace(&within).await?;
                let source = Source { file: &file, formulas: Formulas::of(raw) };
                let effect = if dry_run { Effect::Validate } else { Effect::Write };
                import::run(console, workspace.id, source, effect, rejects.as_deref(), output).await
            }
            Self::Export { within, to } => {
                let workspace = console.workspace(&within).await?;
                export::run(console, workspace.id, &to, output).await
            }
        }
    }
}
