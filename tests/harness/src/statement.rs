//! What a PartiQL statement does, as far as rights and counts of calls ask.

use serde_json::Value;

/// One statement of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// What a role must allow for it, without `dynamodb:`.
    pub(crate) action: &'static str,
    pub(crate) table: String,
    /// The partition its `WHERE` names.
    pub(crate) partition: Option<String>,
}

impl Statement {
    /// Reads a member of a batch; panics at one that no code of ours would write.
    pub(crate) fn read(member: &Value) -> Self {
        let text = member["Statement"].as_str().unwrap_or_default();
        let action = match text.split_whitespace().next() {
            Some("UPDATE") => "PartiQLUpdate",
            Some("INSERT") => "PartiQLInsert",
            Some("DELETE") => "PartiQLDelete",
            Some("SELECT") => "PartiQLSelect",
            _ => panic!("no statement that the harness knows: {member}"),
        };
        let table = text.split('"').nth(1).unwrap_or_default().to_owned();
        Self { action, table, partition: partition(text, &member["Parameters"]) }
    }
}

/// The value of the parameter that `pk` is compared with.
fn partition(text: &str, parameters: &Value) -> Option<String> {
    let (before, condition) = text.split_once(" WHERE ")?;
    let at = condition.find("pk = ?").or_else(|| condition.find("pk\" = ?"))?;
    let earlier = before.matches('?').count() + condition[..at].matches('?').count();
    parameters[earlier]["S"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_statement_tells_its_action_its_table_and_its_partition() {
        for (text, action, partition) in [
            ("UPDATE \"t-x\" SET a = ?, b = ? WHERE pk = ? AND sk = ?", "PartiQLUpdate", Some("w#1")),
            ("UPDATE \"t-x\" SET \"a\" = ? WHERE \"a\" < ? AND \"pk\" = ?", "PartiQLUpdate", Some("w#1")),
            ("DELETE FROM \"t-x\" WHERE a = ? AND b = ? AND pk = ?", "PartiQLDelete", Some("w#1")),
            ("INSERT INTO \"t-x\" VALUE {'pk': ?}", "PartiQLInsert", None),
        ] {
            let parameters = json!([{"S": "x"}, {"N": "1"}, {"S": "w#1"}, {"S": "D"}]);
            let read = Statement::read(&json!({"Statement": text, "Parameters": parameters}));
            let partition = partition.map(str::to_owned);
            assert_eq!(read, Statement { action, table: "t-x".to_owned(), partition }, "{text}");
        }
    }

    #[test]
    #[should_panic(expected = "no statement that the harness knows")]
    fn and_none_goes_by_unread() {
        Statement::read(&json!({"Statement": "EXISTS(SELECT 1)"}));
    }
}
