//! `console onboarding ...`

use clap::{Args, Subcommand};
use domain::{Onboarding, Override, TemplateId};

use crate::arguments::{InWorkspace, one_of};
use crate::output::{Output, Report};
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Set the templates that open conversations, and which of them a caller's templates replace.
    ///
    /// Refused if a conversation without templates of its own would be refused: a template is unknown, needs values that
    /// only a caller has, or is not approved for the account of the workspace's default line.
    Set(Set),
    /// Show the templates that open conversations.
    Show(InWorkspace),
}

#[derive(Args)]
pub(crate) struct Set {
    #[command(flatten)]
    within: InWorkspace,
    /// Whether a caller's templates replace the whole sequence (ENTIRE) or only its first template (FIRST_ONLY).
    #[arg(long = "override", value_parser = one_of(Override::NAMES, Override::parse))]
    overriding: Override,
    /// The templates of the workspace or the platform, in order [default: none].
    #[arg(long, value_name = "ID,ID,...", value_delimiter = ',', value_parser = TemplateId::parse)]
    sequence: Vec<TemplateId>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Set(wanted) => set(console, wanted).await?,
            Self::Show(within) => {
                let workspace = console.workspace(&within).await?;
                view(&workspace.onboarding).into()
            }
        })
    }
}

async fn set(console: &Console, wanted: Set) -> Result<Report> {
    let onboarding = Onboarding::new(wanted.overriding, wanted.sequence)?;
    let workspace = console.workspace(&wanted.within).await?;
    let set = console.admin(workspace.id).await?.set_onboarding(&onboarding, edge::is_object).await?;
    let refused = set.on_other_lines.map(|refused| {
        format!("A conversation on another line than the default one can be refused: {refused}.")
    });
    Ok(Report::from(view(&set.onboarding)).remarks(refused))
}

fn view(onboarding: &Onboarding) -> View {
    let sequence: Vec<String> = onboarding.sequence.iter().map(TemplateId::to_string).collect();
    View::new()
        .text("override", "override", onboarding.overriding.as_str())
        .value("sequence", "sequence", sequence)
}
