//! What the functions that manage workspaces commit: each change with one entry of the audit log and none without a change, and
//! each endpoint that gets deliveries again with a job for those that wait.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use harness::{RowReader, TestDb};
use serde_json::{Value, json};

use crate::rows::text;

/// The functions whose changes are in the audit log.
const MANAGERS: [&str; 7] =
    ["access#", "attributes#", "console#", "deliveries#", "endpoints#", "lead-records#", "users#"];
/// The kinds of rows of which every change has an entry.
const AUDITED: [&str; 10] = [
    "apiKey",
    "attribute",
    "captchaSecret",
    "capture",
    "endpoint",
    "endpointSecrets",
    "keywords",
    "lead",
    "team",
    "user",
];
/// The actions that leave no other trace in rows of these kinds.
const ALONE: [&str; 2] = ["lead_retries.request", "webhook_endpoint.test"];
/// One entry for a page of leads. The leads have none of their own.
const PAGE: &str = "lead_retries.request";

/// A call that may commit a change.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    who: Arc<str>,
    /// The rows that it names: table and key.
    rows: Vec<Value>,
}

impl Commit {
    /// The call of an invocation, if it is one of a managing function that writes.
    pub(crate) fn of(who: &Arc<str>, operation: &str, body: &Value) -> Option<Self> {
        if !MANAGERS.iter().any(|manager| who.starts_with(manager)) {
            return None;
        }
        let row = |write: &Value| {
            let of = if write["Key"].is_null() { &write["Item"] } else { &write["Key"] };
            json!({ "TableName": write["TableName"], "Key": { "pk": of["pk"], "sk": of["sk"] } })
        };
        let rows: Vec<Value> = match operation {
            "TransactWriteItems" => {
                let items = body["TransactItems"].as_array().into_iter().flatten();
                items.filter_map(Value::as_object).flatten().map(|(_, write)| row(write)).collect()
            }
            "PutItem" | "UpdateItem" | "DeleteItem" => vec![row(body)],
            _ => return None,
        };
        Some(Self { who: who.clone(), rows })
    }
}

/// A row before and after a call that changed it.
struct Change {
    table: String,
    pk: String,
    before: Value,
    after: Value,
}

impl Change {
    fn kind(&self) -> &str {
        let of = if self.after.is_null() { &self.before } else { &self.after };
        text(&of["kind"]).unwrap_or_default()
    }

    fn is_new(&self) -> bool {
        self.before.is_null()
    }

    /// Whether there must be an entry for it.
    fn is_audited(&self) -> bool {
        match self.kind() {
            // The version counts changes of other settings, too.
            "workspace" => {
                let without = |row: &Value| {
                    let mut row = row.clone();
                    for name in ["version", "changedAt"] {
                        row.as_object_mut().map(|row| row.remove(name));
                    }
                    row
                };
                without(&self.before) != without(&self.after)
            }
            // A request for a job is whole with the row of its first slot.
            "job" => {
                let is_of_one = text(&self.after["askedFor"]["M"]["what"]) == Some("RETRY");
                let is_asked = self.before["createdAt"] != self.after["createdAt"];
                is_asked && (is_of_one || self.pk.ends_with("#0"))
                    || text(&self.after["state"]) == Some("CANCELLED")
            }
            kind => AUDITED.contains(&kind),
        }
    }

    /// Whether it lets an endpoint get deliveries that waited, and how many slots have some.
    fn enabled_slots(&self) -> Option<u64> {
        let (before, after) = (&self.before, &self.after);
        let begins = text(&before["state"]) == Some("DISABLED") || before["url"] != after["url"];
        let is_enabled = self.kind() == "endpoint" && text(&after["state"]) == Some("ENABLED");
        if self.is_new() || !is_enabled || !begins {
            return None;
        }
        after["slots"]["N"].as_str()?.parse().ok()
    }
}

/// What managing functions committed.
pub(crate) struct Commits {
    rows: RowReader,
    /// The rows of the call that is executed now, before it.
    before: Vec<Value>,
    /// The invocations that retry a page of leads.
    pages: BTreeSet<Arc<str>>,
    wrong: Vec<String>,
}

impl Debug for Commits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commits").field("wrong", &self.wrong).finish_non_exhaustive()
    }
}

impl Commits {
    pub(crate) fn of(db: &TestDb) -> Self {
        Self { rows: db.row_reader(), before: vec![], pages: BTreeSet::new(), wrong: vec![] }
    }

    /// What was wrong.
    pub(crate) fn wrong(&self) -> &[String] {
        &self.wrong
    }

    /// Looks at the rows of a call right before it is executed.
    pub(crate) fn look(&mut self, commit: &Commit) {
        self.before = commit.rows.iter().map(|row| self.rows.row(row)).collect();
    }

    /// Judges what the call changed, right after it was executed.
    pub(crate) fn judge(&mut self, commit: &Commit) {
        let of_table = |row: &Value| row["TableName"].as_str().unwrap_or_default().to_owned();
        let changes: Vec<Change> = std::mem::take(&mut self.before)
            .into_iter()
            .zip(&commit.rows)
            .map(|(before, row)| {
                let pk = text(&row["Key"]["pk"]).unwrap_or_default().to_owned();
                Change { table: of_table(row), pk, before, after: self.rows.row(row) }
            })
            .filter(|change| change.before != change.after)
            .collect();
        self.judge_entries(&commit.who, &changes);
        self.judge_jobs(&commit.who, &changes);
    }

    fn judge_entries(&mut self, who: &Arc<str>, changes: &[Change]) {
        let (entries, others): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.table.ends_with("-audit"));
        let audited: Vec<&Change> = others.into_iter().filter(|change| change.is_audited()).collect();
        let actions: Vec<&str> = entries.iter().filter_map(|entry| text(&entry.after["action"])).collect();
        if actions == [PAGE] {
            self.pages.insert(who.clone());
        }
        let is_of_page = self.pages.contains(who) && audited.iter().all(|change| change.kind() == "lead");
        let is_right = match (&actions[..], audited.is_empty()) {
            ([], is_nothing) => is_nothing || is_of_page,
            ([action], true) => ALONE.contains(action),
            ([_], false) => !is_of_page,
            _ => false,
        };
        if !is_right || !entries.iter().all(|entry| entry.is_new()) {
            let kinds: Vec<&str> = audited.iter().map(|change| change.kind()).collect();
            self.wrong.push(format!("{who} changed {kinds:?} with the entries {actions:?}"));
        }
    }

    fn judge_jobs(&mut self, who: &Arc<str>, changes: &[Change]) {
        for change in changes {
            let Some(slots) = change.enabled_slots() else { continue };
            let [workspace, id] =
                ["workspaceId", "id"].map(|name| text(&change.after[name]).unwrap_or_default());
            let has_job = |slot: u64| {
                let pk = format!("{workspace}#E#{id}#{slot}");
                changes.iter().any(|job| job.kind() == "job" && job.is_new() && job.pk == pk)
            };
            if !(0..slots).all(has_job) {
                self.wrong.push(format!("{who} lets {id} get deliveries without a job for those that wait"));
            }
        }
    }
}
