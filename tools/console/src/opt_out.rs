//! `console opt-out ...`

use clap::{Args, Subcommand};
use domain::{Cellphone, WorkspaceId};
use serde::Serialize;
use store::OptOut;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, yes_or_no};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Add a number: it gets no templates. Its leads are accepted but get no messages.
    ///
    /// The first message of a lead ends as SUPPRESSED, an onboarding template as FAILED with OPTED_OUT. What an agent
    /// writes in a conversation is sent.
    Add(OneNumber),
    /// Remove a number.
    Remove(OneNumber),
    /// List the numbers.
    List(InWorkspace),
}

#[derive(Args)]
pub(crate) struct OneNumber {
    #[command(flatten)]
    within: InWorkspace,
    /// The phone number in E.164 format, such as +34600111222.
    #[arg(long, value_name = "NUMBER", value_parser = Cellphone::parse)]
    cellphone: Cellphone,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Add(OneNumber { within, cellphone }) => {
                let workspace = console.workspace(within.workspace).await?.id;
                output.one(&OptOutView::from(&add(console, workspace, cellphone).await?))
            }
            Self::Remove(OneNumber { within, cellphone }) => {
                let workspace = console.workspace(within.workspace).await?.id;
                let removed = console.store.opt_in(workspace, &cellphone).await?;
                if !removed {
                    output.remark("The number was not listed.")?;
                }
                output.one(&RemovedView { cellphone: cellphone.as_str().to_owned(), removed })
            }
            Self::List(within) => {
                let workspace = console.workspace(within.workspace).await?.id;
                let opt_outs = console.store.opt_outs(workspace).await?;
                output.list_as::<OptOutView, _>(&opt_outs)
            }
        }
    }
}

/// Adds a number. A number that is already present keeps the time of its first addition.
async fn add(console: &Console, workspace: WorkspaceId, cellphone: Cellphone) -> Result<OptOut, Refusal> {
    let store = &console.store;
    for _ in 0..TRIES {
        let since = store.now();
        if store.opt_out(workspace, &cellphone, since).await? {
            return Ok(OptOut { cellphone: Some(cellphone), since });
        }
        if let Some(found) = store.opt_out_of(workspace, &cellphone).await? {
            return Ok(OptOut { cellphone: Some(cellphone), ..found });
        }
    }
    Err(Refusal::Contended)
}

#[derive(Serialize)]
struct OptOutView {
    /// `None` once the number's person was erased.
    cellphone: Option<String>,
    since: String,
}

impl From<&OptOut> for OptOutView {
    fn from(opt_out: &OptOut) -> Self {
        let cellphone = opt_out.cellphone.as_ref().map(|cellphone| cellphone.as_str().to_owned());
        Self { cellphone, since: opt_out.since.to_string() }
    }
}

impl Shown for OptOutView {
    const HEADINGS: &'static [&'static str] = &["number", "since"];

    fn cells(&self) -> Vec<String> {
        let cellphone = self.cellphone.clone().unwrap_or_else(|| "erased".to_owned());
        vec![cellphone, self.since.clone()]
    }
}

#[derive(Serialize)]
struct RemovedView {
    cellphone: String,
    removed: bool,
}

impl Shown for RemovedView {
    const HEADINGS: &'static [&'static str] = &["number", "removed"];

    fn cells(&self) -> Vec<String> {
        vec![self.cellphone.clone(), yes_or_no(self.removed)]
    }
}
