//! What the roles of `template.yaml` allow, so that a call which AWS would refuse fails its test here.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::template;

/// The actions of one role on tables and the bucket, each with what it is allowed on.
#[derive(Debug)]
pub(crate) struct Rights {
    function: String,
    allowed: BTreeSet<(String, String)>,
}

impl Rights {
    /// The rights of a function, by its package's name.
    pub(crate) fn of(function: &str) -> Self {
        let statements = template::statements(function);
        assert!(!statements.is_empty(), "template.yaml has no role for {function}");
        let allowed = statements
            .iter()
            .flat_map(|statement| {
                let resources = texts(&statement["Resource"]);
                texts(&statement["Action"]).into_iter().flat_map(move |action| {
                    resources.clone().into_iter().map(move |resource| (action.clone(), resource))
                })
            })
            .collect();
        Self { function: function.to_owned(), allowed }
    }

    /// Panics when the role does not allow a call of DynamoDB.
    pub(crate) fn check(&self, operation: &str, body: &Value) {
        for (action, resource) in needed(operation, body) {
            self.demand(&format!("dynamodb:{action}"), &resource);
        }
    }

    /// Panics when the role does not allow a call of the bucket.
    pub(crate) fn check_bucket(&self, operation: &str) {
        let (all, objects) = ("${MediaBucket.Arn}", "${MediaBucket.Arn}/*");
        match operation {
            "HeadObject" => {
                self.demand("s3:GetObject", objects);
                // Without it an object that is not there is answered like one that is forbidden.
                self.demand("s3:ListBucket", all);
            }
            _ => self.demand(&format!("s3:{operation}"), objects),
        }
    }

    fn demand(&self, action: &str, resource: &str) {
        assert!(
            self.allowed.contains(&(action.to_owned(), resource.to_owned())),
            "the role of {} in template.yaml does not allow {action} on {resource}",
            self.function,
        );
    }
}

/// The actions a call is authorised by: a transaction by those it is made of.
fn needed(operation: &str, body: &Value) -> Vec<(String, String)> {
    let on = |action: &str, table: &str| (action.to_owned(), table.to_owned());
    match (&body["TransactItems"], &body["RequestItems"]) {
        (Value::Array(items), _) => items
            .iter()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(kind, item)| on(&format!("{kind}Item"), item["TableName"].as_str().unwrap_or_default()))
            .collect(),
        (_, Value::Object(tables)) => tables.keys().map(|table| on(operation, table)).collect(),
        _ => {
            let table = body["TableName"].as_str().unwrap_or_default();
            match body["IndexName"].as_str() {
                Some(index) => vec![on(operation, &format!("{table}/index/{index}"))],
                None => vec![on(operation, table)],
            }
        }
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
