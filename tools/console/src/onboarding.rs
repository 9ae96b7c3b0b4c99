//! `console onboarding ...`

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::{Onboarding, Override, TemplateId};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, stacked};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Set the templates that open conversations, and which of them a caller's templates replace.
    Set(Set),
    /// Show the templates that open conversations.
    Show(InWorkspace),
}

#[derive(Args)]
pub(crate) struct Set {
    #[command(flatten)]
    within: InWorkspace,
    /// Whether a caller's templates replace the whole sequence (ENTIRE) or only its first template (FIRST_ONLY).
    #[arg(long = "override", value_parser = PossibleValuesParser::new(Override::NAMES))]
    overriding: String,
    /// The templates of the workspace or the platform, in order [default: none].
    #[arg(long, value_name = "ID,ID,...", value_delimiter = ',', value_parser = TemplateId::parse)]
    sequence: Vec<TemplateId>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Set(wanted) => set(console, wanted, output).await,
            Self::Show(within) => {
                let workspace = console.workspace(within.workspace).await?;
                output.one(&OnboardingView::from(&workspace.onboarding))
            }
        }
    }
}

/// A change without effect succeeds, so you can repeat the command.
async fn set(console: &Console, wanted: Set, output: &mut Output<'_>) -> Result<(), Refusal> {
    let overriding = Override::parse(&wanted.overriding)
        .map_err(|reason| Refusal::Unfit { what: "The onboarding cannot be set up", reason })?;
    let onboarding = Onboarding::new(overriding, wanted.sequence)?;
    let workspace_id = console.workspace(wanted.within.workspace).await?.id;
    let templates = console.store.templates(workspace_id, &onboarding.sequence).await?;
    if let Some(unknown) = onboarding.sequence.iter().find(|id| !templates.contains_key(id)) {
        return Err(Refusal::UnknownTemplate(*unknown));
    }
    for _ in 0..TRIES {
        let workspace = console.workspace(workspace_id).await?;
        let next = workspace.with_onboarding(onboarding.clone());
        let set_up = match next {
            Some(next) => console.store.replace_workspace(&next).await?,
            None => true,
        };
        if set_up {
            output.one(&OnboardingView::from(&onboarding))?;
            let asks = |id: &&TemplateId| templates[id].caller_parameters().next().is_some();
            return match onboarding.sequence.iter().find(asks) {
                Some(id) => output.remark(&format!(
                    "Template {id} needs values that only a caller has: a conversation is refused if this sequence \
                     would send the template in it."
                )),
                None => Ok(()),
            };
        }
    }
    Err(Refusal::Contended)
}

#[derive(Serialize)]
struct OnboardingView {
    r#override: &'static str,
    sequence: Vec<String>,
}

impl From<&Onboarding> for OnboardingView {
    fn from(onboarding: &Onboarding) -> Self {
        Self {
            r#override: onboarding.overriding.as_str(),
            sequence: onboarding.sequence.iter().map(TemplateId::to_string).collect(),
        }
    }
}

impl Shown for OnboardingView {
    const HEADINGS: &'static [&'static str] = &["override", "sequence"];

    fn cells(&self) -> Vec<String> {
        vec![self.r#override.to_owned(), stacked(self.sequence.clone())]
    }
}
