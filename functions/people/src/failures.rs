//! A person's records in the failure bucket: stream records as Lambda left them, and webhooks of the provider in quarantine.

use serde_json::Value;
use store::{FailureBucket, StoreError};

/// The texts by which a record is recognised as the person's: ids, numbers and addresses. A record is searched as a whole, because
/// it has the form that the row had when the relay failed, which later code may not be able to read.
pub struct Needles(Vec<String>);

impl Needles {
    /// These texts.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        Self(texts.into_iter().map(|text| text.to_lowercase()).collect())
    }

    /// Whether one of them is in a webhook. The provider writes numbers without `+`.
    fn are_in_webhook(&self, webhook: &str) -> bool {
        let webhook = webhook.to_lowercase();
        self.0.iter().any(|needle| webhook.contains(needle.trim_start_matches('+')))
    }

    fn are_in(&self, record: &Value) -> bool {
        let mut texts = vec![record];
        while let Some(value) = texts.pop() {
            match value {
                Value::String(text) => {
                    let text = text.to_lowercase();
                    if self.0.iter().any(|needle| text.contains(needle)) {
                        return true;
                    }
                }
                Value::Array(values) => texts.extend(values),
                Value::Object(fields) => texts.extend(fields.values()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        false
    }
}

/// Why an object of the bucket was not read.
#[derive(Debug)]
pub enum Unreadable {
    /// The bucket failed.
    Store(StoreError),
    /// The object is not as Lambda writes it.
    Object {
        /// The key of the object.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl From<StoreError> for Unreadable {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// An object of the bucket with records of the person.
pub struct Holding {
    /// The key of the object.
    pub key: String,
    /// The person's records.
    pub records: Vec<Value>,
    /// The object without them; `None` if nothing else is in it.
    rest: Option<Vec<u8>>,
}

impl Holding {
    /// The object with this key, if it has records of the person.
    pub async fn read(
        bucket: &FailureBucket,
        key: String,
        needles: &Needles,
    ) -> Result<Option<Self>, Unreadable> {
        let Some(bytes) = bucket.read(&key).await? else { return Ok(None) };
        if key.starts_with(FailureBucket::INBOUND) {
            return Ok(Self::webhook(key, &bytes, needles));
        }
        let unreadable = |reason: &str| Unreadable::Object { key: key.clone(), reason: reason.to_owned() };
        let mut object: Value =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(&error.to_string()))?;
        // The payload is the relay's event, as JSON or as a string of JSON.
        let written = match object.get("payload") {
            Some(Value::String(text)) => {
                Some(serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?)
            }
            _ => None,
        };
        let is_text = written.is_some();
        let mut payload = written.or_else(|| object.get("payload").cloned()).unwrap_or_default();
        let records = payload.get_mut("Records").and_then(Value::as_array_mut);
        let records = records.ok_or_else(|| unreadable("it has no records"))?;
        let (mine, others) = std::mem::take(records).into_iter().partition(|record| needles.are_in(record));
        *records = others;
        let mine: Vec<Value> = mine;
        if mine.is_empty() {
            return Ok(None);
        }
        let is_empty = records.is_empty();
        object["payload"] = if is_text { Value::String(payload.to_string()) } else { payload };
        let rest = (!is_empty).then(|| object.to_string().into_bytes());
        Ok(Some(Self { key, records: mine, rest }))
    }

    /// A webhook in quarantine, if it holds something of the person. It goes as a whole.
    fn webhook(key: String, bytes: &[u8], needles: &Needles) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let record = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.to_string()));
        needles.are_in_webhook(&text).then(|| Self { key, records: vec![record], rest: None })
    }

    /// Removes the person's records from the object.
    pub(crate) async fn erase(self, bucket: &FailureBucket) -> Result<(), StoreError> {
        match self.rest {
            Some(rest) => bucket.write(&self.key, rest).await?,
            None => bucket.delete(&self.key).await?,
        }
        Ok(())
    }
}
