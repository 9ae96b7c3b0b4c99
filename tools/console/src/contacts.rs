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

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Make and change contacts by the rows of a CSV file. May be repeated: a row whose id, e-mail address or
    /// phone number exists changes that contact, an empty cell changes nothing.
    #[command(
        after_help = "Columns: id, firstName, lastName, email, cellphone, languageCode, owner (a user's \
        id or e-mail address) and attr:<keyName> for each attribute, values of a CLOSED one separated by `;` \
        (`\\;` for one within a value). The header is row 1."
    )]
    Import {
        #[command(flatten)]
        within: InWorkspace,
        /// The file.
        file: PathBuf,
    },
    /// Write all contacts as CSV, with the columns that import takes, newest first; with --json as an array.
    Export {
        #[command(flatten)]
        within: InWorkspace,
        /// The file to write the CSV to; without it, standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Import { within, file } => {
                let workspace = console.workspace(within.workspace).await?;
                import::run(console, workspace.id, &file, output).await
            }
            Self::Export { within, output: file } => {
                let workspace = console.workspace(within.workspace).await?;
                export::run(console, workspace.id, file.as_deref(), output).await
            }
        }
    }
}
