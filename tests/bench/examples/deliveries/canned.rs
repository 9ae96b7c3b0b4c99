//! A store that answers what the engine asks from memory and forgets what it is told: the same lanes can be visited over
//! and over, and nothing but the engine is slow.

use std::collections::BTreeMap;
use std::sync::Arc;

use bench::Database;
use harness::World;
use serde_json::{Value, json};
use store::Table;

type Rows = BTreeMap<(String, String), Value>;

/// The rows that are there now. Every lane bears so many posts at the same time whenever it is leased.
pub(crate) fn database(world: &World, width: u16) -> Database {
    let mut rows = Rows::new();
    for table in [Table::Webhooks, Table::Workspaces, Table::Secrets] {
        for mut row in world.db.rows(table) {
            if row["kind"]["S"] == "lane" {
                row["width"] = number(i64::from(width));
            }
            rows.insert((text(&row["pk"]), text(&row["sk"])), row);
        }
    }
    Database::Canned(Arc::new(move |operation, body| answer(&rows, operation, body)))
}

fn answer(rows: &Rows, operation: &str, body: &Value) -> Value {
    match operation {
        "Query" => range(rows, body),
        "BatchGetItem" => {
            let mut found = serde_json::Map::new();
            for (table, asked) in body["RequestItems"].as_object().into_iter().flatten() {
                let keys = asked["Keys"].as_array().into_iter().flatten();
                found.insert(table.clone(), keys.filter_map(|key| row(rows, key)).collect());
            }
            json!({ "Responses": found, "UnprocessedKeys": {} })
        }
        "BatchWriteItem" => json!({ "UnprocessedItems": {} }),
        "UpdateItem" => updated(rows, body),
        other => panic!("the engine asks for {other}: {body}"),
    }
}

/// The rows between two sort keys, a page of them.
fn range(rows: &Rows, body: &Value) -> Value {
    let value = |name: &str| text(&body["ExpressionAttributeValues"][name]);
    let (pk, limit) = (value(":pk"), usize::try_from(body["Limit"].as_u64().unwrap()).unwrap());
    let all = rows.range((pk.clone(), value(":from"))..=(pk, value(":to")));
    let page: Vec<&Value> = all.map(|(_, row)| row).take(limit).collect();
    let mut answer = json!({ "Items": page, "Count": page.len(), "ScannedCount": page.len() });
    // As DynamoDB does, also where nothing more follows.
    if let Some(last) = page.last().filter(|_| page.len() == limit) {
        answer["LastEvaluatedKey"] = json!({ "pk": last["pk"], "sk": last["sk"] });
    }
    answer
}

/// A lease is always given: the lane as it stands, with what its visitor looks for. A release has no answer.
fn updated(rows: &Rows, body: &Value) -> Value {
    if body["ReturnValues"] != "ALL_NEW" {
        return json!({});
    }
    let Some(mut lane) = row(rows, &body["Key"]) else { panic!("no row for {body}") };
    let values = &body["ExpressionAttributeValues"];
    assert!(values[":lease"]["S"].is_string(), "the engine writes {body}");
    lane["lease"] = values[":lease"].clone();
    lane["leaseUntil"] = values[":leaseUntil"].clone();
    lane["begun"] = number(1);
    lane.as_object_mut().map(|lane| lane.remove("low"));
    json!({ "Attributes": lane })
}

fn row(rows: &Rows, key: &Value) -> Option<Value> {
    rows.get(&(text(&key["pk"]), text(&key["sk"]))).cloned()
}

fn text(value: &Value) -> String {
    value["S"].as_str().unwrap_or_default().to_owned()
}

fn number(value: i64) -> Value {
    json!({ "N": value.to_string() })
}
