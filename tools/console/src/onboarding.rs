//! `console onboarding ...`

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use domain::settings::line::Reached;
use domain::settings::template::Accepting;
use domain::{Line, Onboarding, Override, TemplateId};
use futures::try_join;

use crate::arguments::{InWorkspace, one_of};
use crate::changed::{Decision, changed};
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
    let store = &console.store;
    let onboarding = Onboarding::new(wanted.overriding, wanted.sequence)?;
    let (_, of_others) = changed(
        async || {
            // Read the workspace first: a deleted template or a new default line changes its version, and the write fails.
            let workspace = console.workspace(&wanted.within).await?;
            let (templates, lines) =
                try_join!(store.templates(workspace.id, &onboarding.sequence), store.lines(workspace.id))?;
            Ok((workspace, templates, lines))
        },
        |(workspace, templates, lines)| {
            let is_default = |line: &&Line| workspace.default_line.as_ref() == Some(&line.channel);
            let (default, others): (Vec<_>, Vec<_>) = lines.lines.iter().partition(is_default);
            let check = |lines: Vec<&Line>| {
                let lines: Vec<Reached> = lines.into_iter().map(Reached::from).collect();
                let (media, now) = (BTreeMap::new(), store.now());
                let with = Accepting { lines: &lines, media: &media, now, is_object: edge::is_object };
                onboarding.check(templates, &with)
            };
            check(default)?;
            let of_others = check(others).err();
            Ok(match workspace.with_onboarding(onboarding.clone()) {
                Some(next) => Decision::Changed((next, of_others)),
                None => Decision::Unchanged((workspace.clone(), of_others)),
            })
        },
        async |_, (next, _)| store.replace_workspace(next).await,
    )
    .await?;
    let refused = of_others.map(|refused| {
        format!("A conversation on another line than the default one can be refused: {refused}.")
    });
    Ok(Report::from(view(&onboarding)).remarks(refused))
}

fn view(onboarding: &Onboarding) -> View {
    let sequence: Vec<String> = onboarding.sequence.iter().map(TemplateId::to_string).collect();
    View::new()
        .text("override", "override", onboarding.overriding.as_str())
        .value("sequence", "sequence", sequence)
}
