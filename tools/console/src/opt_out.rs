//! `console opt-out ...`

use clap::Subcommand;
use domain::choices::{Chooser, Held};
use domain::{Cellphone, ChannelId, ChoiceScope, Choices, Keywords};

use crate::arguments::{InWorkspace, one};
use crate::output::{Output, Report};
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Add a number: its person gets no templates. Its leads are accepted but get no messages.
    ///
    /// The first message of a lead ends as SUPPRESSED, an onboarding template as FAILED with OPTED_OUT. What an agent
    /// writes in a conversation is sent.
    Add {
        #[command(flatten)]
        one: OneNumber,
        /// Only templates of the category MARKETING are not sent.
        #[arg(long)]
        marketing: bool,
    },
    /// Remove a number. A preference that the customer set in WhatsApp for a line stays.
    Remove(OneNumber),
    /// List the numbers, and the user ids of customers who hide their number.
    List(InWorkspace),
    /// Show the keywords by which customers opt out and in.
    ///
    /// A keyword counts if the whole message, a caption, or what a customer taps is this text, without case, accents, and
    /// the spaces and punctuation around it.
    Keywords(InWorkspace),
    /// Replace the keywords. Functions may use the previous ones for up to 5 more minutes.
    SetKeywords {
        #[command(flatten)]
        within: InWorkspace,
        /// A word that opts out; repeat for several, at most 20.
        #[arg(long = "stop", value_name = "WORD")]
        stop: Vec<String>,
        /// A text that opts out of marketing; repeat for several, at most 20.
        #[arg(long = "stop-marketing", value_name = "TEXT")]
        stop_marketing: Vec<String>,
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
            Self::Add { one: OneNumber { within, .. }, .. } | Self::Remove(OneNumber { within, .. }) => {
                within
            }
            Self::List(within) | Self::Keywords(within) | Self::ResetKeywords(within) => within,
            Self::SetKeywords { within, .. } => within,
        }
    }

    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let (store, workspace) = (&console.store, console.workspace(self.within()).await?.id);
        Ok(match self {
            Self::Add { one: OneNumber { cellphone, .. }, marketing } => {
                let scope = if marketing { ChoiceScope::Marketing } else { ChoiceScope::All };
                let (kept, _) = console.admin(workspace).await?.opt_out(&cellphone, &scope).await?;
                let held = kept.scopes.get(&scope).copied().ok_or(Refusal::Contended)?;
                view(&Choices { chooser: Some(Chooser::Number(cellphone)), ..kept }, &scope, &held).into()
            }
            Self::Remove(OneNumber { cellphone, .. }) => {
                let key = store.choice_key(workspace, &cellphone).await?;
                let removed = match console.admin(workspace).await?.opt_in(&key).await {
                    Ok(()) => true,
                    Err(Refusal::Unknown { what: Named::OptOut, .. }) => false,
                    Err(refusal) => return Err(refusal),
                };
                let view = View::new().text("cellphone", "number", cellphone.as_str());
                let report = Report::from(view.value("removed", "removed", removed));
                report.remarks((!removed).then_some("The number was not listed."))
            }
            Self::List(_) => {
                let opt_outs = store.opt_outs(workspace).await?;
                let rows = opt_outs.iter().flat_map(|kept| kept.outs().map(move |out| (kept, out)));
                rows.map(|(kept, (scope, held))| view(kept, scope, held)).collect()
            }
            Self::Keywords(_) => keywords_view(store.own_keywords(workspace).await?).into(),
            Self::SetKeywords { stop, stop_marketing, start, .. } => {
                let own = Keywords::new(&stop, &stop_marketing, &start)?;
                console.admin(workspace).await?.set_keywords(Some(&own)).await?;
                keywords_view(Some(own)).into()
            }
            Self::ResetKeywords(_) => {
                console.admin(workspace).await?.set_keywords(None).await?;
                keywords_view(None).into()
            }
        })
    }
}

fn keywords_view(own: Option<Keywords>) -> View {
    let is_default = own.is_none();
    let keywords = own.unwrap_or_default();
    View::new()
        .json("stop", keywords.stop())
        .cell("stop", keywords.stop().join(", "))
        .json("stopMarketing", keywords.stop_marketing())
        .cell("stop marketing", keywords.stop_marketing().join(", "))
        .json("start", keywords.start())
        .cell("start", keywords.start().join(", "))
        .value("isDefault", "default", is_default)
}

fn view(kept: &Choices, scope: &ChoiceScope, held: &Held) -> View {
    // Neither is known once the person was erased.
    let (cellphone, user_id) = match &kept.chooser {
        Some(Chooser::Number(number)) => (Some(number.as_str()), None),
        Some(Chooser::User(user)) => (None, Some(user.as_str())),
        None => (None, None),
    };
    View::new()
        .json("cellphone", cellphone)
        .json("userId", user_id)
        .cell("number or user id", cellphone.or(user_id).unwrap_or("erased"))
        .json("scope", scope.as_str())
        .json("providerChannelId", scope.line().map(ChannelId::as_str))
        .cell("of", written(scope))
        .text("source", "source", held.source.as_str())
        .text("since", "since", held.since)
}

/// A scope in a table: the name, and the line if it is about one.
pub(crate) fn written(scope: &ChoiceScope) -> String {
    let line = scope.line().map(|line| format!(" ({})", line.as_str()));
    format!("{}{}", scope.as_str(), line.unwrap_or_default())
}
