//! `Idempotency-Key`: the service executes a request once for each key and returns the same response to
//! repeats.

use domain::Unfit;
use domain::encoding::sha256_hex;
use serde_json::json;
use store::{IdempotencyKey, StoredAnswer};

use crate::error::ApiError;
use crate::form::{Form, Node};
use crate::reply::Reply;
use crate::request::ApiRequest;

const HEADER: &str = "idempotency-key";
const MAX: usize = 255;
const PATTERN: &str = "^[ -~]+$";
const FORM: &str = "printable ASCII characters";

/// The key of a request and the fingerprint of its body. An invalid key becomes a failure of the form.
pub(crate) fn read(request: &ApiRequest, form: &mut Form, route: &'static str) -> Option<IdempotencyKey> {
    let sent = request.raw_header(HEADER)?;
    let sent = json!({ "Idempotency-Key": String::from_utf8_lossy(sent) });
    let key = Node::root("header", Some(&sent)).field("Idempotency-Key").text(form, |text| {
        domain::text::within(text, 1, MAX)?;
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if printable { Ok(text.to_owned()) } else { Err(Unfit::Shape { pattern: PATTERN, form: FORM }) }
    })?;
    Some(IdempotencyKey {
        route,
        key_sha256_hex: sha256_hex(key.as_bytes()),
        fingerprint: sha256_hex(request.body()),
    })
}

/// The stored response for a repeated request with this key. [`ApiError::KeyReused`] if the key was used for another body.
pub fn replay(once: Option<&IdempotencyKey>, answered: StoredAnswer) -> Result<String, ApiError> {
    let once =
        once.ok_or_else(|| ApiError::unexpected("a response was stored without an idempotency key"))?;
    if answered.fingerprint == once.fingerprint { Ok(answered.answer) } else { Err(ApiError::KeyReused) }
}

/// The 201 for a repeat of a request that created something. `again` makes the reply from the stored body.
pub fn created_again(
    once: Option<&IdempotencyKey>,
    answered: StoredAnswer,
    again: impl FnOnce(String) -> Reply,
) -> Result<Reply, ApiError> {
    Ok(again(replay(once, answered)?).created().replayed())
}
