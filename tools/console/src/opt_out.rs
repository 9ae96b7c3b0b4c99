//! `console opt-out ...`

use clap::Subcommand;
use domain::inbound::opt_out::Chooser;
use domain::{Cellphone, Keywords, OptOut, WorkspaceId};

use crate::arguments::{InWorkspace, one};
use crate::output::{Output, Report};
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

one!(OneNumber {
    /// The phone number in E.164 format, such as +34600111222.
    cellphone: Cellphone = "NUMBER", Cellphone::parse
});

impl Verb {
    fn within(&self) -> &InWorkspace {
        match self {
            Self::Add(OneNumber { within, .. }) | Self::Remove(OneNumber { within, .. }) => within,
            Self::List(within) | Self::Keywords(within) | Self::ResetKeywords(within) => within,
            Self::SetKeywords { within, .. } => within,
        }
    }

    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let (store, workspace) = (&console.store, console.workspace(self.within()).await?.id);
        Ok(match self {
            Self::Add(one) => view(&add(console, workspace, one.cellphone).await?).into(),
            Self::Remove(OneNumber { cellphone, .. }) => {
                let removed = store.opt_in(workspace, &cellphone).await?;
                let view = View::new().text("cellphone", "number", cellphone.as_str());
                let report = Report::from(view.value("removed", "removed", removed));
                report.remarks((!removed).then_some("The number was not listed."))
            }
            Self::List(_) => store.opt_outs(workspace).await?.iter().map(view).collect(),
            Self::Keywords(_) => keywords_view(store.own_keywords(workspace).await?).into(),
            Self::SetKeywords { stop, start, .. } => {
                let own = Keywords::new(&stop, &start)?;
                store.set_keywords(workspace, Some(&own)).await?;
                keywords_view(Some(own)).into()
            }
            Self::ResetKeywords(_) => {
                store.set_keywords(workspace, None).await?;
                keywords_view(None).into()
            }
        })
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

fn keywords_view(own: Option<Keywords>) -> View {
    let is_default = own.is_none();
    let keywords = own.unwrap_or_default();
    View::new()
        .json("stop", keywords.stop())
        .cell("stop", keywords.stop().join(", "))
        .json("start", keywords.start())
        .cell("start", keywords.start().join(", "))
        .value("isDefault", "default", is_default)
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
