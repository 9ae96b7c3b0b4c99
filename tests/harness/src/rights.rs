//! What the roles of `template.yaml` allow, so that a call which AWS would refuse fails its test here.

use serde_json::Value;

use crate::template;

/// The actions of one role on tables and the bucket, each with what it is allowed on.
#[derive(Debug)]
pub(crate) struct Rights {
    function: String,
    allowed: Vec<Right>,
}

/// An action on a table, an index or the bucket; of a table, perhaps only on partitions with such keys.
#[derive(Debug)]
struct Right {
    action: String,
    resource: String,
    leading_keys: Option<Vec<String>>,
}

impl Right {
    /// Whether it covers this: `ForAllValues` asks that every key fits.
    fn covers(&self, action: &str, resource: &str, keys: &[String]) -> bool {
        let fits = |patterns: &Vec<String>| {
            let fits = |key: &String| patterns.iter().any(|pattern| like(pattern, key));
            !keys.is_empty() && keys.iter().all(fits)
        };
        self.action == action && self.resource == resource && self.leading_keys.as_ref().is_none_or(fits)
    }
}

impl Rights {
    /// The rights of a function, by its package's name.
    pub(crate) fn of(function: &str) -> Self {
        let statements = template::statements(function);
        assert!(!statements.is_empty(), "template.yaml has no role for {function}");
        let mut allowed = vec![];
        for statement in &statements {
            let condition = &statement["Condition"];
            let keys = ["ForAllValues:StringEquals", "ForAllValues:StringLike"]
                .map(|operator| &condition[operator]["dynamodb:LeadingKeys"])
                .into_iter()
                .find(|keys| !keys.is_null());
            for action in texts(&statement["Action"]) {
                for resource in texts(&statement["Resource"]) {
                    allowed.push(Right { action: action.clone(), resource, leading_keys: keys.map(texts) });
                }
            }
        }
        Self { function: function.to_owned(), allowed }
    }

    /// Panics when the role does not allow a call of DynamoDB.
    pub(crate) fn check(&self, operation: &str, body: &Value) {
        for (action, resource, keys) in needed(operation, body) {
            self.demand(&format!("dynamodb:{action}"), &resource, &keys);
        }
    }

    /// Panics when the role does not allow a call of the bucket.
    pub(crate) fn check_bucket(&self, operation: &str) {
        let (all, objects) = ("${MediaBucket.Arn}", "${MediaBucket.Arn}/*");
        match operation {
            "HeadObject" => {
                self.demand("s3:GetObject", objects, &[]);
                // Without it an object that is not there is answered like one that is forbidden.
                self.demand("s3:ListBucket", all, &[]);
            }
            _ => self.demand(&format!("s3:{operation}"), objects, &[]),
        }
    }

    fn demand(&self, action: &str, resource: &str, keys: &[String]) {
        assert!(
            self.allowed.iter().any(|right| right.covers(action, resource, keys)),
            "the role of {} in template.yaml does not allow {action} on {resource} {keys:?}",
            self.function,
        );
    }
}

/// The actions a call is authorised by, each with its table and partition keys: a transaction by those it is made of, a
/// batch by itself on each of its tables, with the keys of all that it reads or writes there.
fn needed(operation: &str, body: &Value) -> Vec<(String, String, Vec<String>)> {
    let on = |action: &str, table: &str, keys| (action.to_owned(), table.to_owned(), keys);
    match (&body["TransactItems"], &body["RequestItems"]) {
        (Value::Array(items), _) => items
            .iter()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(kind, item)| {
                let table = item["TableName"].as_str().unwrap_or_default();
                on(&format!("{kind}Item"), table, leading_keys(item))
            })
            .collect(),
        (_, Value::Object(tables)) => tables
            .iter()
            .map(|(table, request)| {
                let read = request["Keys"].as_array().into_iter().flatten();
                let written = request.as_array().into_iter().flatten().map(|one| {
                    let put = &one["PutRequest"]["Item"];
                    if put.is_null() { &one["DeleteRequest"]["Key"] } else { put }
                });
                on(operation, table, read.chain(written).filter_map(partition).collect())
            })
            .collect(),
        _ => {
            let table = body["TableName"].as_str().unwrap_or_default();
            let resource = match body["IndexName"].as_str() {
                Some(index) => format!("{table}/index/{index}"),
                None => table.to_owned(),
            };
            vec![on(operation, &resource, leading_keys(body))]
        }
    }
}

/// The partition keys of one read, write or query. A query's is what its first condition compares with.
fn leading_keys(call: &Value) -> Vec<String> {
    let queried = call["KeyConditionExpression"].as_str().and_then(|condition| {
        let (_, rest) = condition.split_once("= :")?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        call["ExpressionAttributeValues"][format!(":{name}")]["S"].as_str().map(str::to_owned)
    });
    [partition(&call["Key"]), partition(&call["Item"]), queried].into_iter().flatten().collect()
}

fn partition(item: &Value) -> Option<String> {
    item["pk"]["S"].as_str().map(str::to_owned)
}

/// Whether a text is like a pattern, in which `*` stands for any text.
fn like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| like(rest, &text[at..]))
        }),
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_role_allows_what_the_template_says() {
        let rights = Rights::of("contacts");
        rights.check("GetItem", &json!({"TableName": "test-contacts"}));
        rights.check("Query", &json!({"TableName": "test-contacts", "IndexName": "list"}));
        rights.check(
            "TransactWriteItems",
            &json!({"TransactItems": [{"Put": {"TableName": "test-contacts"}}]}),
        );
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:PutItem on test-workspaces")]
    fn and_nothing_besides() {
        let body = json!({"TransactItems": [{"Put": {"TableName": "test-workspaces"}}]});
        Rights::of("contacts").check("TransactWriteItems", &body);
    }

    #[test]
    fn a_role_reaches_partitions_of_the_keys_that_the_template_names() {
        let leads = Rights::of("leads");
        let of =
            |pk: &str| json!({"TableName": "test-workspaces", "Key": {"pk": {"S": pk}, "sk": {"S": "K"}}});
        leads.check("GetItem", &of("w#K"));
        let lines = json!({
            "TableName": "test-workspaces",
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
            "ExpressionAttributeValues": {":pk": {"S": "w#L"}, ":sk": {"S": "B#"}},
        });
        leads.check("Query", &lines);
        let all = [
            ("*#H", "w#H", true),
            ("*#H", "w#H#x", false),
            ("*#L#*", "w#L#1#2", true),
            ("*#L#*", "w#L", false),
        ];
        for (pattern, key, fits) in all.into_iter().chain([("x#X", "x#X", true), ("x#X", "w#x#X", false)]) {
            assert_eq!(like(pattern, key), fits, "{pattern} {key}");
        }
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:GetItem on test-secrets [\"w#H#endpoint\"]")]
    fn and_no_others() {
        let body =
            json!({"TableName": "test-secrets", "Key": {"pk": {"S": "w#H#endpoint"}, "sk": {"S": "S"}}});
        Rights::of("leads").check("GetItem", &body);
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:BatchGetItem on test-workspaces [\"w#M\", \"w#U\"]")]
    fn and_no_others_in_a_batch() {
        let key = |pk: &str| json!({"pk": {"S": pk}, "sk": {"S": "x"}});
        let body = json!({"RequestItems": {"test-workspaces": {"Keys": [key("w#M"), key("w#U")]}}});
        Rights::of("message-sender").check("BatchGetItem", &body);
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:UpdateItem on test-workspaces [\"w#W\"]")]
    fn and_no_others_in_a_transaction() {
        let write = json!({"TableName": "test-workspaces", "Key": {"pk": {"S": "w#W"}, "sk": {"S": "W"}}});
        let body = json!({"TransactItems": [{"Update": write}]});
        Rights::of("conversations").check("TransactWriteItems", &body);
    }

    #[test]
    fn a_batch_of_writes_is_on_the_partitions_of_its_items() {
        let put = json!({"PutRequest": {"Item": {"pk": {"S": "w#1"}, "sk": {"S": "A#1"}}}});
        let delete = json!({"DeleteRequest": {"Key": {"pk": {"S": "w#2"}, "sk": {"S": "A#1"}}}});
        let body = json!({"RequestItems": {"test-webhooks": [put, delete]}});
        let keys = vec!["w#1".to_owned(), "w#2".to_owned()];
        let one = ("BatchWriteItem".to_owned(), "test-webhooks".to_owned(), keys);
        assert_eq!(needed("BatchWriteItem", &body), [one]);
        Rights::of("event-relay").check("BatchWriteItem", &body);
        Rights::of("webhook-delivery").check("BatchWriteItem", &body);
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:BatchWriteItem on test-contacts [\"w#1\"]")]
    fn and_on_no_other_table() {
        let put = json!({"PutRequest": {"Item": {"pk": {"S": "w#1"}, "sk": {"S": "C"}}}});
        let body = json!({"RequestItems": {"test-contacts": [put]}});
        Rights::of("contacts").check("BatchWriteItem", &body);
    }

    #[test]
    fn of_a_batch_of_writes_every_partition_must_be_allowed() {
        let right = Right {
            action: "dynamodb:BatchWriteItem".to_owned(),
            resource: "test-webhooks".to_owned(),
            leading_keys: Some(vec!["*#E#*".to_owned()]),
        };
        let rights = Rights { function: "one".to_owned(), allowed: vec![right] };
        let put = |pk: &str| json!({"PutRequest": {"Item": {"pk": {"S": pk}, "sk": {"S": "D#1"}}}});
        let allows = |puts: Value| {
            let body = json!({"RequestItems": {"test-webhooks": puts}});
            std::panic::catch_unwind(|| rights.check("BatchWriteItem", &body)).is_ok()
        };
        assert!(allows(json!([put("w#E#1#0"), put("w#E#2#0")])));
        assert!(!allows(json!([put("w#E#1#0"), put("w#V#1")])));
    }

    #[test]
    fn of_the_bucket_a_role_allows_what_the_template_says() {
        Rights::of("messages").check_bucket("HeadObject");
        Rights::of("messages").check_bucket("DeleteObject");
    }

    #[test]
    #[should_panic(expected = "does not allow s3:DeleteObject on ${MediaBucket.Arn}/*")]
    fn and_nothing_besides_of_the_bucket() {
        Rights::of("files").check_bucket("DeleteObject");
    }
}
