//! `console opt-out ...`

use clap::{Args, Subcommand};
use domain::inbound::opt_out::Chooser;
use domain::{Cellphone, Keywords, OptOut, WorkspaceId};

use crate::arguments::InWorkspace;
use crate::output::Output;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Add a number: it gets no templates. Its leads are accepted but get no messages.
    ///
    /// The first message of a lead ends as SUPPRESSED, an onboarding template as FAILED with OPTED_OUT. What an agent
    /// writes in a conversation is sent.
    Add(OneNumber),
    /// Remove a number.
    Remove(OneNumber),
    /// List the numbers, and the user ids of customers who hide their number.
    List(InWorkspace),
    /// Show the keywords by which customers opt out and in.
    ///
    /// A keyword counts if the whole message is this word, without case, accents, and the spaces and punctuation around it.
    Keywords(InWorkspace),
    /// Replace the keywords. Functions may use the previous ones for up to 5 more minutes.
    SetKeywords {
        #[command(flatten)]
        within: InWorkspace,
        /// A word that opts out; repeat for several, at most 20.
        #[arg(long = "stop", value_name = "WORD")]
        stop: Vec<String>,
        /// A word that opts in; repeat for several, at most 20.
        #[arg(long = "start", value_name = "WORD")]
        start: Vec<String>,
    },
    /// Use the default keywords again.
    ResetKeywords(InWorkspace),
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
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result {
        match self {
            Self::Add(OneNumber { within, cellphone }) => {
                let workspace = console.workspace(&within).await?.id;
                output.one(view(&add(console, workspace, cellphone).await?))
            }
            Self::Remove(OneNumber { within, cellphone }) => {
                let workspace = console.workspace(&within).await?.id;
                let removed = console.store.opt_in(workspace, &cellphone).await?;
                if !removed {
                    output.remark("The number was not listed.")?;
                }
                let view = View::new().text("cellphone", "number", cellphone.as_str());
                output.one(view.value("removed", "removed", removed))
            }
            Self::List(within) => {
                let workspace = console.workspace(&within).await?.id;
                let opt_outs = console.store.opt_outs(workspace).await?;
                output.list(opt_outs.iter().map(view))
            }
            Self::Keywords(within) => {
                let workspace = console.workspace(&within).await?.id;
                show_keywords(console.store.own_keywords(workspace).await?, output)
            }
            Self::SetKeywords { within, stop, start } => {
                let workspace = console.workspace(&within).await?.id;
                let own = Keywords::new(&stop, &start)?;
                console.store.set_keywords(workspace, Some(&own)).await?;
                show_keywords(Some(own), output)
            }
            Self::ResetKeywords(within) => {
                let workspace = console.workspace(&within).await?.id;
                console.store.set_keywords(workspace, None).await?;
                show_keywords(None, output)
            }
        }
    }
}

/// Adds a number. A number that is already present keeps the time of its first addition.
async fn add(console: &Console, workspace: WorkspaceId, cellphone: Cellphone) -> Result<OptOut> {
    let store = &console.store;
    store.opt_out(workspace, &cellphone, store.now()).await?;
    // Somebody opted it in again at the same time.
    let found = store.opt_out_of(workspace, &cellphone).await?.ok_or(Refusal::Contended)?;
    Ok(OptOut { chooser: Some(Chooser::Number(cellphone)), ..found })
}

fn show_keywords(own: Option<Keywords>, output: &mut Output<'_>) -> Result {
    let is_default = own.is_none();
    let keywords = own.unwrap_or_default();
    let view = View::new()
        .json("stop", keywords.stop())
        .cell("stop", keywords.stop().join(", "))
        .json("start", keywords.start())
        .cell("start", keywords.start().join(", "));
    output.one(view.value("isDefault", "default", is_default))
}

fn view(opt_out: &OptOut) -> View {
    // Neither is known once the person was erased.
    let (cellphone, user_id) = match &opt_out.chooser {
        Some(Chooser::Number(number)) => (Some(number.as_str()), None),
        Some(Chooser::User(user)) => (None, Some(user.as_str())),
        None => (None, None),
    };
    View::new()
        .json("cellphone", cellphone)
        .json("userId", user_id)
        .cell("number or user id", cellphone.or(user_id).unwrap_or("erased"))
        .text("source", "source", opt_out.source.as_str())
        .text("since", "since", opt_out.since)
}
