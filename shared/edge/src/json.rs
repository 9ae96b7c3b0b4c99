//! Strict JSON: a repeated key is an error.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a body is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1; 0 at the very start of a line.
    pub column: usize,
    /// The error at this position.
    pub reason: String,
}

/// Parses a whole body. Duplicate keys, bytes that are not UTF-8, text after the value and nesting deeper
/// than 128 levels are errors.
pub(crate) fn parse(body: &[u8]) -> Result<Value, NotJson> {
    serde_json::from_slice::<Strict>(body).map(|strict| strict.0).map_err(|error| {
        let printed = error.to_string();
        let reason = printed.split(" at line ").next().unwrap_or_default().to_owned();
        NotJson { line: error.line(), column: error.column(), reason }
    })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = vec![];
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom("an object contains the same key twice"));
            }
            let Strict(value) = entries.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_with_all_json_types_parses() {
        let body = br#" {"a": [1, -2, 3.5, true, null, "x\u00e9"], "b": {"c": 18446744073709551615}} "#;
        assert_eq!(
            parse(body).unwrap(),
            json!({"a": [1, -2, 3.5, true, null, "xé"], "b": {"c": 18446744073709551615_u64}})
        );
    }

    #[test]
    fn an_error_has_a_line_a_column_and_a_reason() {
        let rows: &[(&[u8], usize, usize, &str)] = &[
            (b"", 1, 0, "EOF while parsing a value"),
            (b"{\n \"a\": }", 2, 7, "expected value"),
            (b"{} x", 1, 4, "trailing characters"),
            (b"{\"a\":1,\"a\":2}", 1, 10, "an object contains the same key twice"),
            (b"\"\xff\"", 1, 2, "invalid unicode code point"),
        ];
        for (body, line, column, reason) in rows {
            let found = parse(body).unwrap_err();
            assert_eq!((found.line, found.column, found.reason.as_str()), (*line, *column, *reason));
        }
    }

    #[test]
    fn too_deep_nesting_is_refused() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(deep(100).as_bytes()).is_ok());
        assert_eq!(parse(deep(200).as_bytes()).unwrap_err().reason, "recursion limit exceeded");
    }
}
