//! JSON bodies: what the strict parser accepts, the usual one reads as the same value, and no key is lost.

use edge::{ApiError, ApiRequest};
use lambda_http::{Body, Request};
use serde_json::Value;

/// The input is a body.
pub fn run(input: &[u8]) {
    let mut request = Request::new(Body::Binary(input.to_vec()));
    request.headers_mut().insert("content-type", "application/json".parse().unwrap());
    match ApiRequest::new(request).json() {
        Ok(value) => {
            assert_eq!(serde_json::from_slice::<Value>(input).unwrap(), value);
            // The parser reads a fraction to within one unit in its last place.
            let printed = value.to_string();
            if !has_fractions(&value) {
                assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
            }
        }
        Err(ApiError::Malformed(why)) => {
            assert!(!why.reason.is_empty() && why.line >= 1);
            let lines = input.split(|byte| *byte == b'\n').count();
            assert!(why.line <= lines + 1 && why.column <= input.len() + 1, "{why:?}");
            if serde_json::from_slice::<Value>(input).is_ok() {
                assert_eq!(why.reason, "an object contains the same key twice");
            }
        }
        Err(ApiError::TooLarge(most)) => assert!(input.len() > most),
        Err(other) => panic!("{other:?}"),
    }
}

/// Whether a number in the value is no whole number of 64 bits.
fn has_fractions(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fractions),
        Value::Object(fields) => fields.values().any(has_fractions),
        _ => false,
    }
}
