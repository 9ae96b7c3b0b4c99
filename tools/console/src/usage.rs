//! `console usage ...`

use clap::{Args, Subcommand};
use domain::usage::{Counted, Span, Step};
use serde_json::json;

use crate::arguments::{InWorkspace, one_of};
use crate::moment::Moment;
use crate::output::{Output, Report};
use crate::refusal::unfit;
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Show what happened in a workspace, counted by the hour or the day (of UTC), the oldest first.
    ///
    /// Changes count under the type of their event, messages with their direction; deliveries as delivery.delivered, attempts that
    /// failed as delivery.failed, deliveries whose last attempt failed as delivery.exhausted. The counts are for people, not for
    /// invoices: repeated work counts again. They are kept for 400 days.
    Show(Show),
}

#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    within: InWorkspace,
    /// From this time on: a day (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time ago (2h). At most 31 days. The usual is the
    /// last 24 hours, or the last 30 days with `--step DAY`.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    from: Option<Moment>,
    /// Until before this time.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    to: Option<Moment>,
    /// The length of each step.
    #[arg(long, default_value = "HOUR", value_parser = one_of(Step::NAMES, Step::parse))]
    step: Step,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let Self::Show(wanted) = self;
        let workspace = console.workspace(&wanted.within).await?.id;
        let now = console.store.now();
        let at = |moment: Option<Moment>| moment.map(|moment| moment.ago(now));
        let span = Span::of(at(wanted.from), at(wanted.to), wanted.step, now)
            .map_err(unfit("The beginning is invalid"))?;
        Ok(console.store.usage(workspace, span).await?.iter().map(view).collect())
    }
}

fn view(step: &Counted) -> View {
    let counts = step.counts.iter().map(|(name, number)| format!("{number} {name}"));
    View::new()
        .text("at", "from", step.at)
        .json("counts", json!(step.counts))
        .cell("counts", counts.collect::<Vec<_>>().join(", "))
}
