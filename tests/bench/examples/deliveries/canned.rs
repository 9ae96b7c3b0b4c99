//! A store that answers what the engine asks from memory and forgets what it is told: each delivery can be made over and
//! over, and nothing but the engine is slow.

use std::collections::HashMap;
use std::sync::Arc;

use bench::Database;
use harness::World;
use serde_json::{Value, json};
use store::Table;

type Rows = HashMap<(String, String), Value>;

/// The rows that are there now.
pub(crate) fn database(world: &World) -> Database {
    let mut rows = Rows::new();
    for table in [Table::Deliveries, Table::Workspaces, Table::Secrets] {
        for row in world.db.rows(table) {
            let name = |key: &str| row[key]["S"].as_str().unwrap_or_default().to_owned();
            rows.insert((name("pk"), name("sk")), row);
        }
    }
    Database::Canned(Arc::new(move |operation, body| answer(&rows, operation, body)))
}

fn answer(rows: &Rows, operation: &str, body: &Value) -> Value {
    match operation {
        "BatchExecuteStatement" => {
            let statements = body["Statements"].as_array().into_iter().flatten();
            json!({ "Responses": statements.map(|one| executed(rows, one)).collect::<Vec<_>>() })
        }
        "BatchGetItem" => {
            let mut found = serde_json::Map::new();
            for (table, asked) in body["RequestItems"].as_object().into_iter().flatten() {
                let keys = asked["Keys"].as_array().into_iter().flatten();
                found.insert(table.clone(), keys.filter_map(|key| row(rows, key)).collect());
            }
            json!({ "Responses": found, "UnprocessedKeys": {} })
        }
        "GetItem" => row(rows, &body["Key"]).map_or_else(|| json!({}), |row| json!({ "Item": row })),
        "BatchWriteItem" => json!({ "UnprocessedItems": {} }),
        // The gate: whoever comes is let in.
        "UpdateItem" => json!({ "Attributes": body["Key"] }),
        other => panic!("the engine asks for {other}: {body}"),
    }
}

fn row(rows: &Rows, key: &Value) -> Option<Value> {
    let name = |key: &Value| key["S"].as_str().unwrap_or_default().to_owned();
    rows.get(&(name(&key["pk"]), name(&key["sk"]))).cloned()
}

/// The row as it is behind an `UPDATE` whose condition holds; behind an `INSERT` nothing.
fn executed(rows: &Rows, statement: &Value) -> Value {
    let text = statement["Statement"].as_str().unwrap_or_default();
    let Some((changes, _)) = text.split_once(" WHERE ") else { return json!({}) };
    let mut parameters = statement["Parameters"].as_array().into_iter().flatten();
    let mut changed = vec![];
    for change in changes.split(" SET ").skip(1) {
        let (assignment, removed) = change.split_once(" REMOVE ").unwrap_or((change, ""));
        let name = assignment.split('"').nth(1).unwrap_or_default();
        changed
            .push((name, Some((assignment.contains(" + "), parameters.next().cloned().unwrap_or_default()))));
        changed.extend(
            removed
                .split('"')
                .filter(|name| !name.contains(' ') && !name.is_empty())
                .map(|name| (name, None)),
        );
    }
    let mut key = || parameters.next().and_then(|key| key["S"].as_str()).unwrap_or_default().to_owned();
    let Some(mut row) = rows.get(&(key(), key())).cloned() else { panic!("no row for {statement}") };
    for (name, change) in changed {
        match change {
            Some((true, by)) => {
                let number =
                    |value: &Value| value["N"].as_str().and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
                row[name] = json!({ "N": (number(&row[name]) + number(&by)).to_string() });
            }
            Some((false, value)) => row[name] = value,
            None => drop(row.as_object_mut().and_then(|row| row.remove(name))),
        }
    }
    json!({ "TableName": "test-deliveries", "Item": row })
}
