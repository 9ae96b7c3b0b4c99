//! In which order choices about templates were recorded and calls begun: what the streams show after each write.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};

use harness::{StreamReader, TestDb};
use serde_json::Value;
use store::Table;

use crate::phones::canonical;
use crate::rows::text;

/// Who chose: the workspace, and the number or user id.
pub(crate) type Chooser = (String, String);

/// Something that was recorded.
#[derive(Clone, Debug)]
enum Recorded {
    /// What a person has opted out of from now on: `ALL`, `MARKETING`, or a line.
    Choices(Chooser, Vec<String>),
    /// The call for this part of the message with this id begins.
    Begin(String, usize),
}

/// What was recorded, in order.
pub(crate) struct Order {
    messages: StreamReader,
    choices: StreamReader,
    all: Vec<Recorded>,
    /// How many events the changes of choices make, by workspace.
    events: BTreeMap<String, usize>,
}

impl Debug for Order {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order").field("all", &self.all).finish_non_exhaustive()
    }
}

impl Order {
    pub(crate) fn of(db: &TestDb) -> Self {
        let (messages, choices) = (db.reader(Table::Messages), db.reader(Table::Leads));
        Self { messages, choices, all: vec![], events: BTreeMap::new() }
    }

    /// Reads what the last write recorded.
    pub(crate) fn read(&mut self) {
        // A transaction that begins a call writes no choice.
        for record in self.choices.changes() {
            let [new, old] = images(&record);
            if new["kind"]["S"] == "optOut" {
                self.chose(new, old);
            }
        }
        for record in self.messages.changes() {
            let [new, old] = images(&record);
            let call = |row: &Value| text(&row["progress"]["M"]["calling"]).map(str::to_owned);
            let parts = new["parts"]["L"].as_array().map(Vec::as_slice).unwrap_or_default();
            let part = parts.iter().position(|part| part["M"]["status"]["S"] == "SENDING");
            if let (Some(part), Some(id)) = (part, text(&new["id"]))
                && call(new).is_some()
                && call(new) != call(old)
            {
                self.all.push(Recorded::Begin(id.to_owned(), part));
            }
        }
    }

    fn chose(&mut self, new: &Value, old: &Value) {
        let workspace = text(&new["pk"]).and_then(|pk| pk.split('#').next()).unwrap_or_default();
        let (now, before) = (scopes(new), scopes(old));
        let is_out = |scopes: &BTreeMap<String, (bool, bool)>, scope: &String| {
            scopes.get(scope).is_some_and(|(is_out, _)| *is_out)
        };
        // One of the rows of a person makes the event.
        let told = now.iter().filter(|(scope, (out, beside))| !beside && *out != is_out(&before, scope));
        *self.events.entry(workspace.to_owned()).or_default() += told.count();
        let outs = now.keys().filter(|scope| is_out(&now, scope)).cloned().collect();
        let who = text(&new["cellphone"]).map(canonical).or(text(&new["userId"]).map(str::to_owned));
        let who = who.unwrap_or_default();
        self.all.push(Recorded::Choices((workspace.to_owned(), who), outs));
    }

    /// How much was recorded so far.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many events the changes of choices of a workspace make.
    pub(crate) fn events_of(&self, workspace: &str) -> usize {
        self.events.get(workspace).copied().unwrap_or_default()
    }

    /// What this person had opted out of when a call for the part began. The call was made after so much was recorded. `None`
    /// if no call for the part had begun.
    pub(crate) fn outs_at_begin(
        &self,
        (message, part): (&str, usize),
        by: usize,
        who: &Chooser,
    ) -> Option<Vec<String>> {
        let is_begin =
            |recorded: &Recorded| matches!(recorded, Recorded::Begin(of, n) if of == message && *n == part);
        let begun = self.all[..by].iter().rposition(is_begin)?;
        let last = self.all[..begun].iter().rev().find_map(|recorded| match recorded {
            Recorded::Choices(of, outs) if of == who => Some(outs.clone()),
            _ => None,
        });
        Some(last.unwrap_or_default())
    }
}

fn images(record: &Value) -> [&Value; 2] {
    ["NewImage", "OldImage"].map(|image| &record["dynamodb"][image])
}

/// The scopes of a row of choices: whether each is an opt-out, and whether another row makes its event.
fn scopes(row: &Value) -> BTreeMap<String, (bool, bool)> {
    let held = row["scopes"]["L"].as_array().into_iter().flatten().map(|held| &held["M"]);
    let of = |held: &Value| {
        let scope = text(&held["line"]).or(text(&held["scope"])).unwrap_or_default();
        (scope.to_owned(), (held["choice"]["S"] == "OUT", held["isBeside"]["BOOL"] == true))
    };
    held.map(of).collect()
}
