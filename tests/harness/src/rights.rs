//! The rights of the roles in `template.yaml`. A call that AWS would refuse fails its test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::template;

/// The actions that one role allows, each with its table, index or bucket.
#[derive(Debug)]
pub(crate) struct Rights {
    function: String,
    allowed: Vec<Right>,
}

/// One allowed action on a table, an index or the bucket. For a table, `leading_keys` may limit the partition keys, and
/// `enclosing` the operation of which the action is a part.
#[derive(Debug)]
struct Right {
    action: String,
    resource: String,
    leading_keys: Option<Vec<String>>,
    enclosing: Option<Vec<String>>,
}

impl Right {
    /// Whether this right allows the call. As with `ForAllValues`, every key must match a pattern.
    fn covers(&self, (operation, action): (&str, &str), resource: &str, keys: &[String]) -> bool {
        let fits = |patterns: &Vec<String>| {
            let fits = |key: &String| patterns.iter().any(|pattern| matches(pattern, key));
            !keys.is_empty() && keys.iter().all(fits)
        };
        let is_part = self.enclosing.as_ref().is_none_or(|any| any.iter().any(|one| one == operation));
        let is_this = self.action == action && self.resource == resource;
        is_this && is_part && self.leading_keys.as_ref().is_none_or(fits)
    }
}

impl Rights {
    /// The rights of a function, given the name of its package. They are read once in a process.
    pub(crate) fn of(function: &str) -> Arc<Self> {
        static KNOWN: Mutex<BTreeMap<String, Arc<Rights>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(function.to_owned()).or_insert_with(|| Arc::new(Self::read(function))).clone()
    }

    fn read(function: &str) -> Self {
        let statements = template::statements(function);
        assert!(!statements.is_empty(), "template.yaml has no role for {function}");
        let mut allowed = vec![];
        for statement in &statements {
            let condition = &statement["Condition"];
            let keys = ["ForAllValues:StringEquals", "ForAllValues:StringLike"]
                .map(|operator| &condition[operator]["dynamodb:LeadingKeys"])
                .into_iter()
                .find(|keys| !keys.is_null());
            let enclosing = &condition["ForAnyValue:StringEquals"]["dynamodb:EnclosingOperation"];
            let enclosing = (!enclosing.is_null()).then(|| texts(enclosing));
            for action in texts(&statement["Action"]) {
                for resource in texts(&statement["Resource"]) {
                    let (action, leading_keys) = (action.clone(), keys.map(texts));
                    allowed.push(Right { action, resource, leading_keys, enclosing: enclosing.clone() });
                }
            }
        }
        Self { function: function.to_owned(), allowed }
    }

    /// Panics if the role does not allow a call of DynamoDB. For a call on several tables, AWS does not document whether the
    /// keys that a statement about one table sees are those of this table or those of the whole call. A role must allow the
    /// call in both readings.
    pub(crate) fn check(&self, operation: &str, body: &Value) {
        let needed = needed(operation, body);
        let of_the_call: Vec<String> = needed.iter().flat_map(|(_, _, keys)| keys.clone()).collect();
        for (action, resource, keys) in &needed {
            self.require((operation, &format!("dynamodb:{action}")), resource, keys);
            self.require((operation, &format!("dynamodb:{action}")), resource, &of_the_call);
        }
    }

    /// Panics if the role does not allow a call of S3.
    pub(crate) fn check_bucket(&self, operation: &str) {
        let (all, objects) = ("${MediaBucket.Arn}", "${MediaBucket.Arn}/*");
        match operation {
            "HeadObject" => {
                self.require((operation, "s3:GetObject"), objects, &[]);
                // Without this right, S3 answers 403 instead of 404 for an absent object.
                self.require((operation, "s3:ListBucket"), all, &[]);
            }
            "ListObjectVersions" => self.require((operation, "s3:ListBucketVersions"), all, &[]),
            _ => self.require((operation, &format!("s3:{operation}")), objects, &[]),
        }
    }

    fn require(&self, (operation, action): (&str, &str), resource: &str, keys: &[String]) {
        assert!(
            self.allowed.iter().any(|right| right.covers((operation, action), resource, keys)),
            "the role of {} in template.yaml does not allow {action} on {resource} {keys:?}",
            self.function,
        );
    }
}

/// The actions that a call needs, each with its table and partition keys. A transaction needs the action of each of its
/// items. A batch needs the batch action once for each of its tables, with all keys that it reads or writes there.
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

/// The partition keys of one read, write or query. The key of a query is the value in its first condition.
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

/// Whether a text matches a pattern, in which `*` stands for any text and `?` for any character.
fn matches(pattern: &str, text: &str) -> bool {
    let (mut patterns, mut texts) = (pattern.chars(), text.chars());
    match (patterns.next(), texts.next()) {
        (None, None) => true,
        (Some('*'), None) => matches(patterns.as_str(), text),
        (Some('*'), Some(_)) => matches(patterns.as_str(), text) || matches(pattern, texts.as_str()),
        (Some('?'), Some(_)) => matches(patterns.as_str(), texts.as_str()),
        (Some(one), Some(other)) => one == other && matches(patterns.as_str(), texts.as_str()),
        (None, Some(_)) | (Some(_), None) => false,
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
    fn a_role_does_not_allow_an_action_that_the_template_does_not_name() {
        let body = json!({"TransactItems": [{"Put": {"TableName": "test-workspaces"}}]});
        Rights::of("contacts").check("TransactWriteItems", &body);
    }

    #[test]
    fn a_role_allows_the_partition_keys_that_the_template_names() {
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
        let whole = [("x#X", "x#X", true), ("x#X", "w#x#X", false), ("??", "ab", true), ("??", "abc", false)];
        for (pattern, key, fits) in all.into_iter().chain(whole) {
            assert_eq!(matches(pattern, key), fits, "{pattern} {key}");
        }
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:GetItem on test-secrets [\"w#H#endpoint\"]")]
    fn a_role_does_not_allow_other_partition_keys() {
        let body =
            json!({"TableName": "test-secrets", "Key": {"pk": {"S": "w#H#endpoint"}, "sk": {"S": "S"}}});
        Rights::of("leads").check("GetItem", &body);
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:BatchGetItem on test-workspaces [\"w#M\", \"w#U\"]")]
    fn a_role_does_not_allow_other_partition_keys_in_a_batch() {
        let key = |pk: &str| json!({"pk": {"S": pk}, "sk": {"S": "x"}});
        let body = json!({"RequestItems": {"test-workspaces": {"Keys": [key("w#M"), key("w#U")]}}});
        Rights::of("message-sender").check("BatchGetItem", &body);
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:UpdateItem on test-workspaces [\"w#W\"]")]
    fn a_role_does_not_allow_other_partition_keys_in_a_transaction() {
        let write = json!({"TableName": "test-workspaces", "Key": {"pk": {"S": "w#W"}, "sk": {"S": "W"}}});
        let body = json!({"TransactItems": [{"Update": write}]});
        Rights::of("conversations").check("TransactWriteItems", &body);
    }

    #[test]
    fn a_call_on_two_tables_is_allowed_in_both_readings_of_aws() {
        let right = |table: &str, keys: &[&str]| Right {
            action: "dynamodb:BatchGetItem".to_owned(),
            resource: table.to_owned(),
            leading_keys: Some(keys.iter().map(|key| (*key).to_owned()).collect()),
            enclosing: None,
        };
        let key = |pk: &str| json!({"Keys": [{"pk": {"S": pk}, "sk": {"S": "x"}}]});
        let body = json!({"RequestItems": {"a": key("w#A"), "b": key("w#B")}});
        for (of_a, of_b, is_allowed) in [
            (&["*#A", "*#B"][..], &["*#A", "*#B"][..], true),
            (&["*#A"], &["*#A", "*#B"], false),
            (&["*#B"], &["*#A", "*#B"], false),
        ] {
            let rights =
                Rights { function: "one".to_owned(), allowed: vec![right("a", of_a), right("b", of_b)] };
            let checked = std::panic::catch_unwind(|| rights.check("BatchGetItem", &body));
            assert_eq!(checked.is_ok(), is_allowed, "{of_a:?} {of_b:?}");
        }
    }

    #[test]
    fn a_batch_write_needs_the_partition_keys_of_all_its_items() {
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
    fn a_role_does_not_allow_a_batch_write_on_other_tables() {
        let put = json!({"PutRequest": {"Item": {"pk": {"S": "w#1"}, "sk": {"S": "C"}}}});
        let body = json!({"RequestItems": {"test-contacts": [put]}});
        Rights::of("contacts").check("BatchWriteItem", &body);
    }

    #[test]
    fn every_partition_key_of_a_batch_write_must_be_allowed() {
        let right = Right {
            action: "dynamodb:BatchWriteItem".to_owned(),
            resource: "test-webhooks".to_owned(),
            leading_keys: Some(vec!["*#E#*".to_owned()]),
            enclosing: None,
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
    fn a_role_may_put_an_entry_of_the_audit_log_in_a_transaction() {
        let put = json!({"TableName": "test-audit", "Item": {"pk": {"S": "w"}, "sk": {"S": "1#2"}}});
        Rights::of("access").check("TransactWriteItems", &json!({"TransactItems": [{"Put": put}]}));
    }

    #[test]
    #[should_panic(expected = "does not allow dynamodb:PutItem on test-audit [\"w\"]")]
    fn a_role_may_not_put_an_entry_of_the_audit_log_alone() {
        let put = json!({"TableName": "test-audit", "Item": {"pk": {"S": "w"}, "sk": {"S": "1#2"}}});
        Rights::of("access").check("PutItem", &put);
    }

    #[test]
    fn a_role_allows_the_bucket_actions_that_the_template_names() {
        Rights::of("messages").check_bucket("HeadObject");
        Rights::of("messages").check_bucket("DeleteObject");
    }

    #[test]
    #[should_panic(expected = "does not allow s3:DeleteObject on ${MediaBucket.Arn}/*")]
    fn a_role_does_not_allow_other_bucket_actions() {
        Rights::of("files").check_bucket("DeleteObject");
    }
}
