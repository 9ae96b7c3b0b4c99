//! `console template sync`

use clap::Args;
use domain::settings::reported::LineState;
use domain::settings::template::{Change, ChangeKind, TemplateName, Unkept};
use domain::{BusinessAccountId, TemplateScope, TemplateStatus};
use inbox::sync::{Account, Mode, Run};
use provider::TemplateClient;
use serde_json::{Value, json};

use crate::arguments::{WorkspaceRef, workspace_ref};
use crate::output::Report;
use crate::refusal::deepest;
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Args)]
pub(crate) struct Sync {
    /// The business account at the provider.
    #[arg(long, value_name = "ID", value_parser = BusinessAccountId::parse)]
    business_account: BusinessAccountId,
    #[command(flatten)]
    creates_in: CreatesIn,
    /// Say what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Where a template is created that stands nowhere yet.
#[derive(Args)]
#[group(id = "creates_in", multiple = false)]
struct CreatesIn {
    /// Create templates in this workspace only, by its id or name [default: in each workspace with a line of the account].
    #[arg(long, value_name = "ID|NAME", value_parser = workspace_ref)]
    workspace: Option<WorkspaceRef>,
    /// Create templates of the platform.
    #[arg(long)]
    platform: bool,
}

impl Sync {
    pub(crate) async fn run(&self, console: &Console) -> Result<Report> {
        let (store, id) = (&console.store, &self.business_account);
        let account = Account::find(store, id).await?.ok_or_else(|| Refusal::NoLineOfAccount(id.clone()))?;
        let creates_in = self.creates_in.scopes(console, &account).await?;
        let client = TemplateClient::new(&console.graph.url, &console.graph.version);
        let client = client.map_err(|error| Refusal::Http(deepest(&error)))?;
        let mode = if self.dry_run { Mode::DryRun } else { Mode::Record };
        let mut run = Run::new(store, &client, account, creates_in, mode);
        let mut done = Done::default();
        loop {
            match run.step().await {
                Ok(Some(step)) => {
                    done.listed += step.listed;
                    done.changes.extend(step.changes);
                    done.unkept.extend(step.unkept);
                    done.unknown.extend(step.unknown);
                    done.lines.extend(step.lines);
                }
                Ok(None) => break,
                Err(error) => {
                    let (account, reason) = (id.clone(), deepest(&error));
                    let stopped = Refusal::SyncStopped { account, reason };
                    return Ok(Report::from(self.view(&done)).failed(Some(stopped)));
                }
            }
        }
        let (failed, of) = (done.unkept.len(), done.listed);
        let unkept = (failed > 0).then_some(Refusal::NotSynced { failed, of });
        Ok(Report::from(self.view(&done)).failed(unkept))
    }

    fn view(&self, done: &Done) -> View {
        let account = &self.business_account;
        let count = |kind| done.changes.iter().filter(|change| change.kind(account) == kind).count();
        let status = |status| {
            let is = |change: &&Change| change.status(account) == Some(status);
            done.changes.iter().filter(is).count()
        };
        let changes = done.changes.iter();
        let unkept = done.unkept.iter();
        let unknown = done.unknown.iter();
        View::new()
            .text("businessAccountId", "account", account.as_str())
            .value("dryRun", "dry run", self.dry_run)
            .value("listed", "listed", done.listed)
            .value("created", "created", count(ChangeKind::Created))
            .value("changed", "changed", count(ChangeKind::Changed))
            .value("absent", "absent", count(ChangeKind::Absent))
            .value("mismatched", "mismatched", status(TemplateStatus::Mismatch))
            .value("unsupported", "unsupported", status(TemplateStatus::Unsupported))
            .json("templates", changes.clone().map(|change| shown(change, account)).collect::<Vec<_>>())
            .lines("templates", changes.map(|change| line(change, account)))
            .json("notKept", unkept.clone().map(unkept_shown).collect::<Vec<_>>())
            .lines("not kept", unkept.map(unkept_line))
            .json("unknownStatuses", unknown.clone().map(unknown_shown).collect::<Vec<_>>())
            .lines("unknown", unknown.map(unknown_line))
            .json("lines", done.lines.iter().map(of_line).collect::<Vec<_>>())
            .lines("lines", done.lines.iter().map(line_of_line))
    }
}

impl CreatesIn {
    async fn scopes(&self, console: &Console, account: &Account) -> Result<Vec<TemplateScope>> {
        let Some(named) = &self.workspace else {
            let workspaces = account.workspaces.iter().copied().map(TemplateScope::Workspace);
            return Ok(if self.platform { vec![TemplateScope::Platform] } else { workspaces.collect() });
        };
        let workspace = console.workspace_named(named).await?.id;
        if account.workspaces.contains(&workspace) {
            return Ok(vec![TemplateScope::Workspace(workspace)]);
        }
        Err(Refusal::NoLineOfAccountThere { workspace, account: account.id.clone() })
    }
}

/// What the steps of a run did.
#[derive(Default)]
struct Done {
    listed: usize,
    changes: Vec<Change>,
    unkept: Vec<Unkept>,
    unknown: Vec<(TemplateName, String)>,
    lines: Vec<LineState>,
}

fn shown(change: &Change, account: &BusinessAccountId) -> Value {
    let after = &change.after;
    let workspace = match after.scope {
        TemplateScope::Workspace(workspace) => Some(workspace.to_string()),
        TemplateScope::Platform => None,
    };
    json!({
        "change": change.kind(account).as_str(),
        "templateId": after.id.to_string(),
        "workspaceId": workspace,
        "name": after.name,
        "language": after.language,
        "status": change.status(account).map(TemplateStatus::as_str),
        "previousStatus": change.previous_status(account).map(TemplateStatus::as_str),
        "differences": change.differences(account),
    })
}

fn line(change: &Change, account: &BusinessAccountId) -> String {
    let after = &change.after;
    let scope = match after.scope {
        TemplateScope::Workspace(workspace) => format!("workspace {workspace}"),
        TemplateScope::Platform => "the platform".to_owned(),
    };
    let word = |status: Option<TemplateStatus>| status.map_or("-", TemplateStatus::as_str);
    let (now, before) = (change.status(account), change.previous_status(account));
    let status = match change.before {
        Some(_) if before != now => format!("{} -> {}", word(before), word(now)),
        _ => word(now).to_owned(),
    };
    let others: Vec<&str> =
        change.differences(account).into_iter().filter(|difference| *difference != "status").collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let kind = change.kind(account).as_str();
    format!("{kind} {} {} of {scope}: {status}{others}", after.name, after.language)
}

fn unkept_shown(unkept: &Unkept) -> Value {
    let (name, language) = &unkept.name;
    json!({ "name": name, "language": language, "reason": unkept.reason.to_string() })
}

fn unkept_line(unkept: &Unkept) -> String {
    let (name, language) = &unkept.name;
    format!("{name} {language}: {}", unkept.reason)
}

fn unknown_shown(((name, language), status): &(TemplateName, String)) -> Value {
    json!({ "name": name, "language": language, "status": status })
}

fn unknown_line(((name, language), status): &(TemplateName, String)) -> String {
    format!("{name} {language}: {status}")
}

/// A line of which something else is known now.
fn of_line(line: &LineState) -> Value {
    let facts = line.facts.iter().map(|(fact, said)| (fact.as_str().to_owned(), json!(said.value)));
    let ids = [
        ("workspaceId", line.workspace_id.to_string()),
        ("providerChannelId", line.channel.as_str().to_owned()),
    ];
    let ids = ids.into_iter().map(|(name, id)| (name.to_owned(), json!(id)));
    Value::Object(ids.chain(facts).collect())
}

fn line_of_line(line: &LineState) -> String {
    let facts: Vec<String> =
        line.facts.iter().map(|(fact, said)| format!("{} {}", fact.as_str(), said.value)).collect();
    format!("{} of workspace {}: {}", line.channel.as_str(), line.workspace_id, facts.join(", "))
}
