//! The conditions of writes, as safeguards that a test can remove one at a time.
//!
//! A safeguard is one clause of a `ConditionExpression`, with the kind of the write and the kind of its row, such as
//! `Put contacts E/U: attribute_not_exists(pk)`. A removed clause always holds. Tests must fail without it; otherwise
//! either no test needs the clause, or the service does not.
//!
//! Two variables of the environment do this for tests that know nothing of it: `REMOVED_SAFEGUARD` removes one
//! safeguard from every [`TestDb`](crate::TestDb), and `SAFEGUARDS_SEEN` names a file to which each database adds the
//! safeguards that its calls had, one on a line.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::Value;

use crate::template::STACK;

/// The safeguards of all calls so far, and those that are removed from the next calls.
#[derive(Debug, Default)]
pub(crate) struct Safeguards {
    seen: BTreeSet<String>,
    /// Those of the writes that were refused. A write is refused by one of its clauses at least.
    refused: BTreeSet<String>,
    removed: BTreeSet<String>,
}

impl Safeguards {
    /// Removes what `REMOVED_SAFEGUARD` names.
    pub(crate) fn of_environment() -> Self {
        let removed = std::env::var("REMOVED_SAFEGUARD").into_iter().collect();
        Self { removed, ..Self::default() }
    }

    /// Removes a safeguard from the calls that follow.
    pub(crate) fn remove(&mut self, safeguard: &str) {
        self.removed.insert(safeguard.to_owned());
    }

    /// The safeguards of all calls so far.
    pub(crate) fn seen(&self) -> &BTreeSet<String> {
        &self.seen
    }

    /// Adds the safeguards of all calls so far to the file that `SAFEGUARDS_SEEN` names.
    pub(crate) fn report(&self) {
        let Ok(path) = std::env::var("SAFEGUARDS_SEEN") else { return };
        let lines: String = self.seen.iter().map(|safeguard| format!("{safeguard}\n")).collect();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        // One write: tests in other processes add lines to the same file.
        if let Err(error) = file.and_then(|mut file| file.write_all(lines.as_bytes())) {
            panic!("SAFEGUARDS_SEEN={path}: {error}");
        }
    }

    /// Notes the safeguards of a call, and removes those that are to be removed. Returns whether one was removed.
    pub(crate) fn apply(&mut self, operation: &str, body: &mut Value) -> bool {
        match body["TransactItems"].as_array_mut() {
            Some(items) => {
                let writes = items.iter_mut().filter_map(Value::as_object_mut).flatten();
                writes.fold(false, |is_weaker, (kind, write)| self.apply_to(kind, write) | is_weaker)
            }
            None => operation.strip_suffix("Item").is_some_and(|kind| self.apply_to(kind, body)),
        }
    }

    /// The safeguards of the writes that were refused.
    pub(crate) fn refused(&self) -> &BTreeSet<String> {
        &self.refused
    }

    /// Notes the safeguards of the writes of a call that were refused, given its answer.
    pub(crate) fn note_refusals(&mut self, operation: &str, body: &Value, answer: &Value) {
        const REFUSED: &str = "ConditionalCheckFailed";
        let Some(items) = body["TransactItems"].as_array() else {
            let is_refused = answer["__type"].as_str().is_some_and(|kind| kind.contains(REFUSED));
            if let Some(kind) = operation.strip_suffix("Item").filter(|_| is_refused) {
                self.refused.extend(safeguards_of(kind, body));
            }
            return;
        };
        let reasons = answer["CancellationReasons"].as_array().into_iter().flatten();
        for (item, _) in items.iter().zip(reasons).filter(|(_, reason)| reason["Code"] == REFUSED) {
            for (kind, write) in item.as_object().into_iter().flatten() {
                self.refused.extend(safeguards_of(kind, write));
            }
        }
    }

    fn apply_to(&mut self, kind: &str, write: &mut Value) -> bool {
        let Some(condition) = write["ConditionExpression"].as_str().map(str::to_owned) else { return false };
        let (mut next, mut is_weaker) = (vec![], false);
        for (clause, safeguard) in clauses(&condition).into_iter().zip(safeguards_of(kind, write)) {
            next.push(match self.removed.contains(&safeguard) {
                // The clause stays in the text, because DynamoDB refuses names and values that nothing uses.
                true => format!("({clause} OR attribute_not_exists(neverThere))"),
                false => clause.to_owned(),
            });
            is_weaker |= self.removed.contains(&safeguard);
            self.seen.insert(safeguard);
        }
        if is_weaker {
            write["ConditionExpression"] = Value::from(next.join(" AND "));
        }
        is_weaker
    }
}

/// The safeguards of a write, in the order of the clauses.
fn safeguards_of(kind: &str, write: &Value) -> Vec<String> {
    let (place, names) = (place(write), &write["ExpressionAttributeNames"]);
    let clauses = write["ConditionExpression"].as_str().map(clauses).unwrap_or_default();
    clauses.into_iter().map(|clause| format!("{kind} {place}: {}", named(clause, names))).collect()
}

/// The table of a write, and the kind of its row: the capital letters in its keys, such as `contacts E/U`.
fn place(write: &Value) -> String {
    let table = write["TableName"].as_str().unwrap_or_default();
    let table = table.strip_prefix(STACK).and_then(|name| name.strip_prefix('-')).unwrap_or(table);
    let key = |name: &str| {
        let text = write["Key"][name]["S"].as_str().or(write["Item"][name]["S"].as_str()).unwrap_or_default();
        let is_kind =
            |part: &&str| part.len() <= 2 && part.chars().all(|c| c.is_ascii_uppercase()) && !part.is_empty();
        text.split('#').filter(is_kind).collect::<Vec<_>>().join("#")
    };
    format!("{table} {}/{}", key("pk"), key("sk"))
}

/// The parts of a condition that are joined by `AND`, also within parentheses. A part with an `OR` stays whole.
fn clauses(condition: &str) -> Vec<&str> {
    let Some(parts) = conjuncts(condition) else { return vec![condition] };
    let divide = |part| match within(part) {
        Some(inner) if conjuncts(inner).is_some() => clauses(inner),
        _ => vec![part],
    };
    parts.into_iter().flat_map(divide).collect()
}

/// The text within the parentheses around a part. `(a) = (b)` has none around it.
fn within(part: &str) -> Option<&str> {
    part.strip_prefix('(')?.strip_suffix(')').filter(|inner| is_balanced(inner))
}

/// Whether no parenthesis closes before it opens.
fn is_balanced(text: &str) -> bool {
    let depths = text.chars().scan(0_i32, |depth, c| {
        *depth += i32::from(c == '(') - i32::from(c == ')');
        Some(*depth)
    });
    depths.into_iter().all(|depth| depth >= 0)
}

/// The parts that are joined by `AND` outside of parentheses; `None` if an `OR` is among them.
fn conjuncts(condition: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut depth, mut between) = (vec![], 0, 0_usize, false);
    for (at, c) in condition.char_indices() {
        let rest = &condition[at..];
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && rest.starts_with(" OR ") => return None,
            ' ' if depth == 0 && rest.starts_with(" BETWEEN ") => between = true,
            // This one belongs to the `BETWEEN`.
            ' ' if depth == 0 && rest.starts_with(" AND ") && between => between = false,
            ' ' if depth == 0 && rest.starts_with(" AND ") => {
                parts.push(&condition[start..at]);
                start = at + " AND ".len();
            }
            _ => (),
        }
    }
    parts.push(&condition[start..]);
    Some(parts)
}

/// The clause with the names of attributes instead of their placeholders.
fn named(clause: &str, names: &Value) -> String {
    let mut names: Vec<(&String, &str)> = names
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, name)| Some((key, name.as_str()?)))
        .collect();
    // A placeholder may be the start of another one.
    names.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
    names.into_iter().fold(clause.to_owned(), |text, (key, name)| text.replace(key.as_str(), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_is_divided_at_each_and_that_no_or_contains() {
        for (condition, parts) in [
            ("a = :a", vec!["a = :a"]),
            ("a = :a AND (b = :b OR c AND d) AND e", vec!["a = :a", "(b = :b OR c AND d)", "e"]),
            ("a OR b AND c", vec!["a OR b AND c"]),
            ("a BETWEEN :b AND :c AND d", vec!["a BETWEEN :b AND :c", "d"]),
            ("((a(p)) AND b) AND (c OR d)", vec!["a(p)", "b", "(c OR d)"]),
            ("(a) = (b) AND c", vec!["(a) = (b)", "c"]),
        ] {
            assert_eq!(clauses(condition), parts);
        }
    }

    #[test]
    fn a_removed_clause_always_holds_and_the_others_stay() {
        let put = |condition: &str| {
            json!({ "TransactItems": [{ "Put": {
                "TableName": "test-contacts",
                "Item": { "pk": { "S": "3f1b8a52#E#a@b.c" }, "sk": { "S": "U" } },
                "ConditionExpression": condition,
                "ExpressionAttributeNames": { "#a": "version", "#ab": "state" },
            }}]})
        };
        let mut safeguards = Safeguards::default();
        safeguards.remove("Put contacts E/U: state = :s");
        let mut body = put("#a = :v AND #ab = :s");
        safeguards.apply("TransactWriteItems", &mut body);
        assert_eq!(body, put("#a = :v AND (#ab = :s OR attribute_not_exists(neverThere))"));
        let seen: Vec<&str> = safeguards.seen().iter().map(String::as_str).collect();
        assert_eq!(seen, ["Put contacts E/U: state = :s", "Put contacts E/U: version = :v"]);
    }

    #[test]
    fn the_safeguards_of_refused_writes_are_known() {
        let write = |name: &str| {
            json!({
                "TableName": "test-contacts", "Key": { "pk": { "S": "w#C#1" }, "sk": { "S": "C" } },
                "ConditionExpression": name,
            })
        };
        let mut safeguards = Safeguards::default();
        let refused = json!({ "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException" });
        safeguards.note_refusals("UpdateItem", &write("a"), &json!({}));
        safeguards.note_refusals("UpdateItem", &write("b AND c"), &refused);
        let body = json!({ "TransactItems": [{ "Put": write("d") }, { "Delete": write("e") }] });
        let reasons =
            json!({ "CancellationReasons": [{ "Code": "None" }, { "Code": "ConditionalCheckFailed" }] });
        safeguards.note_refusals("TransactWriteItems", &body, &reasons);
        let refused: Vec<&str> = safeguards.refused().iter().map(String::as_str).collect();
        assert_eq!(refused, ["Delete contacts C/C: e", "Update contacts C/C: b", "Update contacts C/C: c"]);
    }

    #[test]
    fn a_single_write_has_safeguards_too() {
        let mut body = json!({
            "TableName": "test-messages", "Key": { "pk": { "S": "w#C#1" }, "sk": { "S": "L" } },
            "ConditionExpression": "lease = :mine",
        });
        let mut safeguards = Safeguards::default();
        safeguards.apply("UpdateItem", &mut body);
        assert_eq!(body["ConditionExpression"], "lease = :mine");
        safeguards.remove("Update messages C/L: lease = :mine");
        safeguards.apply("UpdateItem", &mut body);
        assert_eq!(body["ConditionExpression"], "(lease = :mine OR attribute_not_exists(neverThere))");
    }
}
