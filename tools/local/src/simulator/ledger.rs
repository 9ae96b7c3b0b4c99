//! The requests that a simulator got, oldest first.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use http::{HeaderMap, Method, Uri};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// One request, as received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The time when the request was read completely (UTC, milliseconds).
    pub at: String,
    /// The method, in upper case.
    pub method: String,
    /// The path, with its query if it has one.
    pub path: String,
    /// The headers, with names in lower case. The values of a repeated header are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The exact bytes of the body, in Base64.
    pub body: String,
}

impl Entry {
    pub(super) fn now(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        Self {
            at: now(),
            method: method.to_string(),
            path: path(uri),
            headers: joined(headers),
            body: STANDARD.encode(body),
        }
    }

    /// The body's bytes.
    ///
    /// # Errors
    /// If the text is not Base64, which no simulator writes.
    pub fn body_bytes(&self) -> Result<Vec<u8>, base64::DecodeError> {
        STANDARD.decode(&self.body)
    }
}

/// The entries of one simulator. Clones share them.
#[derive(Clone, Debug)]
pub struct Ledger<E = Entry>(watch::Sender<Vec<E>>);

impl<E: Clone> Ledger<E> {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }

    pub(super) fn record(&self, entry: E) {
        self.0.send_modify(|entries| entries.push(entry));
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> Vec<E> {
        self.0.borrow().clone()
    }

    /// The newest entry of which this is true.
    pub(super) fn newest(&self, is_wanted: impl Fn(&E) -> bool) -> Option<E> {
        self.0.borrow().iter().rev().find(|entry| is_wanted(entry)).cloned()
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.0.send_modify(Vec::clear);
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Vec<E>)) {
        self.0.send_modify(change);
    }

    /// Waits until there are at least `count` entries. It has no timeout: add one if you need it.
    pub async fn reaches(&self, count: usize) -> Vec<E> {
        self.until(|entries| entries.len() >= count).await
    }

    /// Waits until the entries meet the condition. It has no timeout: add one if you need it.
    pub async fn until(&self, is_met: impl Fn(&[E]) -> bool) -> Vec<E> {
        let mut seen = self.0.subscribe();
        // `self` holds the sender, so the channel stays open and the wait cannot fail.
        seen.wait_for(|entries| is_met(entries)).await.map(|entries| entries.clone()).unwrap_or_default()
    }
}

pub(super) fn now() -> String {
    Timestamp::from_millis(i64::try_from(since_epoch().as_millis()).unwrap_or(i64::MAX)).to_string()
}

pub(super) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The path, with its query if it has one.
pub(super) fn path(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string)
}

pub(super) fn joined(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        all.entry(name.to_string())
            .and_modify(|values| {
                values.push_str(", ");
                values.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    all
}
