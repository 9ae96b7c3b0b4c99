//! `console contacts ...`

mod chains;
mod columns;
mod export;
mod import;

use std::path::PathBuf;

use clap::Subcommand;

use crate::arguments::InWorkspace;
use crate::output::Output;
use crate::{Console, Refusal};
use export::Formulas;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create and update contacts from the rows of a CSV file. You can repeat an import: a row with an existing id,
    /// e-mail address or phone number updates that contact, and an empty cell changes nothing.
    #[command(
        after_help = "Columns: id, firstName, lastName, email, cellphone, languageCode, owner (a user's \
        id or e-mail address) and attr:<keyName> for each attribute. Separate the values of a CLOSED attribute with \
        `;`, and write `\\;` for a semicolon within a value. The header is row 1."
    )]
    Import {
        #[command(flatten)]
        within: InWorkspace,
        /// The CSV file.
        file: PathBuf,
    },
    /// Write all contacts as CSV, newest first, with the columns that import reads; with --json, as a JSON array.
    Export {
        #[command(flatten)]
        within: InWorkspace,
        /// The CSV file to write [default: standard output].
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Write every text as it is. Without this flag, a text that a spreadsheet would execute as a formula (one that
        /// begins with =, +, - or @) gets an apostrophe before it, which an import removes. Phone numbers never do.
        #[arg(long)]
        raw: bool,
    },
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Import { within, file } => {
                let workspace = console.workspace(within.workspace).await?;
                import::run(console, workspace.id, &file, output).await
            }
            Self::Export { within, output: file, raw } => {
                let workspace = console.workspace(within.workspace).await?;
                let formulas = if raw { Formulas::Kept } else { Formulas::Neutralised };
                export::run(console, workspace.id, file.as_deref(), formulas, output).await
            }
        }
    }
}
