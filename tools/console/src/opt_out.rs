//! `console opt-out ...`

use clap::{Args, Subcommand};
use domain::inbound::opt_out::Chooser;
use domain::{Cellphone, Keywords, OptOut, WorkspaceId};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, yes_or_no};
use crate::{Console, Refusal};

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
            Self::Keywords(within) => {
                let workspace = console.workspace(within.workspace).await?.id;
                show_keywords(console.store.own_keywords(workspace).await?, output)
            }
            Self::SetKeywords { within, stop, start } => {
                let workspace = console.workspace(within.workspace).await?.id;
                let own = Keywords::new(&stop, &start)?;
                console.store.set_keywords(workspace, Some(&own)).await?;
                show_keywords(Some(own), output)
            }
            Self::ResetKeywords(within) => {
                let workspace = console.workspace(within.workspace).await?.id;
                console.store.set_keywords(workspace, None).await?;
                show_keywords(None, output)
            }
        }
    }
}

/// Adds a number. A number that is already present keeps the time of its first addition.
async fn add(console: &Console, workspace: WorkspaceId, cellphone: Cellphone) -> Result<OptOut, Refusal> {
    let store = &console.store;
    store.opt_out(workspace, &cellphone, store.now()).await?;
    // Somebody opted it in again at the same time.
    let found = store.opt_out_of(workspace, &cellphone).await?.ok_or(Refusal::Contended)?;
    Ok(OptOut { chooser: Some(Chooser::Number(cellphone)), ..found })
}

fn show_keywords(own: Option<Keywords>, output: &mut Output<'_>) -> Result<(), Refusal> {
    let is_default = own.is_none();
    let keywords = own.unwrap_or_default();
    output.one(&KeywordsView { stop: keywords.stop().to_vec(), start: keywords.start().to_vec(), is_default })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OptOutView {
    /// `None` for a user id, and once the person was erased.
    cellphone: Option<String>,
    /// The provider's user id. `None` for a number, and once the person was erased.
    user_id: Option<String>,
    source: &'static str,
    since: String,
}

impl From<&OptOut> for OptOutView {
    fn from(opt_out: &OptOut) -> Self {
        let (cellphone, user_id) = match &opt_out.chooser {
            Some(Chooser::Number(number)) => (Some(number.as_str().to_owned()), None),
            Some(Chooser::User(user)) => (None, Some(user.as_str().to_owned())),
            None => (None, None),
        };
        Self { cellphone, user_id, source: opt_out.source.as_str(), since: opt_out.since.to_string() }
    }
}

impl Shown for OptOutView {
    const HEADINGS: &'static [&'static str] = &["number or user id", "source", "since"];

    fn cells(&self) -> Vec<String> {
        let chooser = self.cellphone.as_ref().or(self.user_id.as_ref());
        let chooser = chooser.cloned().unwrap_or_else(|| "erased".to_owned());
        vec![chooser, self.source.to_owned(), self.since.clone()]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeywordsView {
    stop: Vec<String>,
    start: Vec<String>,
    is_default: bool,
}

impl Shown for KeywordsView {
    const HEADINGS: &'static [&'static str] = &["stop", "start", "default"];

    fn cells(&self) -> Vec<String> {
        vec![self.stop.join(", "), self.start.join(", "), yes_or_no(self.is_default)]
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
