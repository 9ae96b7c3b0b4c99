//! `console audit ...`

use clap::{Args, Subcommand};
use domain::{AuditAction, AuditEntry, AuditFilter};
use serde_json::json;
use store::audit_position;

use crate::arguments::{InWorkspace, one_of};
use crate::moment::Moment;
use crate::output::{Output, Report};
use crate::paging::Limit;
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List the changes to a workspace, newest first: who made them, and which fields. Values are not kept.
    ///
    /// An entry is written with its change and kept for 400 days. Changes to API keys, to webhook endpoints and their jobs, and to
    /// the name, the state, the self-service and the key rate of the workspace have entries.
    List(List),
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only this kind of change.
    #[arg(long, value_name = "ACTION", value_parser = one_of(AuditAction::NAMES, AuditAction::parse))]
    action: Option<AuditAction>,
    /// Only changes by this actor: the id of an API key, or of the AWS access key of an operator.
    #[arg(long, value_name = "ID")]
    actor: Option<String>,
    /// Only changes of what has this id.
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Only changes from this time on: a day (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time ago (2h).
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    since: Option<Moment>,
    /// Only changes before this time.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    until: Option<Moment>,
    #[command(flatten)]
    limit: Limit,
    /// Only entries that follow this position: the one that the previous list ended with.
    #[arg(long, value_name = "POSITION")]
    after: Option<String>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        let Self::List(wanted) = self;
        let workspace = console.workspace(&wanted.within).await?.id;
        let now = console.store.now();
        let only = AuditFilter {
            action: wanted.action,
            actor: wanted.actor,
            subject: wanted.subject,
            since: wanted.since.map(|since| since.ago(now)),
            until: wanted.until.map(|until| until.ago(now)),
        };
        let read = async |rows: usize, from: Option<String>| {
            Ok(console.store.audit_log(workspace, &only, rows, from.as_deref()).await?)
        };
        let listed = wanted.limit.fill(wanted.after, read).await?;
        Ok(listed.report(view, audit_position))
    }
}

fn view(entry: &AuditEntry) -> View {
    let (actor, subject) = (&entry.author.actor, entry.action.subject_type());
    View::new()
        .text("at", "at", entry.at)
        .text("action", "action", entry.action.as_str())
        .json("subject", json!({"type": subject, "id": entry.subject}))
        .cell("subject", &entry.subject)
        .json("fields", entry.fields.clone())
        .cell("fields", entry.fields.join(" "))
        .json("actor", json!({"type": actor.kind(), "id": actor.id()}))
        .cell("by", format!("{} {}", actor.kind(), actor.id()))
        .optional("requestId", "request", entry.author.request_id.as_ref())
        .json("auditEntryId", entry.id.to_string())
}
