//! The form of an HTTP request in a corpus: lines, an empty line, the body.
//!
//! ```text
//! PATCH contacts
//! /8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f
//! ?pageSize=10
//! if-match: "7"
//!
//! {"firstName": "Ana"}
//! ```

/// A request in parts. Bytes that are not UTF-8 are replaced, because the gateway passes text.
#[derive(Debug, Default)]
pub struct Parts {
    /// The first line.
    pub first: String,
    /// Values of path parameters, in order.
    pub path: Vec<String>,
    /// Parameters of the query.
    pub query: Vec<(String, String)>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Parts {
    /// Reads a request. Lines of no known kind are left out.
    pub fn of(input: &[u8]) -> Self {
        let text = String::from_utf8_lossy(input);
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end_matches('\n'), ""));
        let mut parts = Self { body: body.to_owned(), ..Self::default() };
        for (at, line) in head.split('\n').enumerate() {
            if at == 0 {
                parts.first = line.to_owned();
            } else if let Some(value) = line.strip_prefix('/') {
                parts.path.push(value.to_owned());
            } else if let Some(pair) = line.strip_prefix('?') {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                parts.query.push((name.to_owned(), value.to_owned()));
            } else if let Some((name, value)) = line.split_once(": ") {
                parts.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        parts
    }
}
