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
            // A number such as 1e-400 is another number once it is printed, but its second print is stable.
            let printed = value.to_string();
            assert_eq!(serde_json::from_str::<Value>(&printed).unwrap().to_string(), printed);
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
