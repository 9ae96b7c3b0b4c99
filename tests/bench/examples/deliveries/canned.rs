//! A store that answers the engine from memory and discards writes. So the same lanes can be visited repeatedly, and
//! only the engine takes time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bench::Database;
use harness::World;
use serde_json::{Value, json};
use store::Table;

type Rows = BTreeMap<(String, String), Value>;

/// Snapshots the current rows. Every lane has the given width each time it is leased.
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
        other => panic!("unexpected call of the engine: {other} {body}"),
    }
}

/// The rows between two sort keys, limited to one page.
fn range(rows: &Rows, body: &Value) -> Value {
    let value = |name: &str| text(&body["ExpressionAttributeValues"][name]);
    let (pk, limit) = (value(":pk"), usize::try_from(body["Limit"].as_u64().unwrap()).unwrap());
    let all = rows.range((pk.clone(), value(":from"))..=(pk, value(":to")));
    let page: Vec<&Value> = all.map(|(_, row)| row).take(limit).collect();
    let mut answer = json!({ "Items": page, "Count": page.len(), "ScannedCount": page.len() });
    // DynamoDB also returns a last key if nothing follows.
    if let Some(last) = page.last().filter(|_| page.len() == limit) {
        answer["LastEvaluatedKey"] = json!({ "pk": last["pk"], "sk": last["sk"] });
    }
    answer
}

/// Grants every lease and returns the lane's row with the attributes that its visitor reads. A release gets an empty
/// response.
fn updated(rows: &Rows, body: &Value) -> Value {
    if body["ReturnValues"] != "ALL_NEW" {
        return json!({});
    }
    let Some(mut lane) = row(rows, &body["Key"]) else { panic!("the snapshot has no row for {body}") };
    let values = &body["ExpressionAttributeValues"];
    assert!(values[":lease"]["S"].is_string(), "unexpected write of the engine: {body}");
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
