//! Why a message or a lead was not sent.

use domain::sending::PartError;
use serde::Serialize;

/// The code of a failure, and the same in words if the code is known.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorView {
    error: Option<String>,
    error_in_words: Option<&'static str>,
}

impl ErrorView {
    pub(crate) fn of(error: Option<&PartError>) -> Self {
        Self {
            error: error.map(|error| error.as_str().to_owned()),
            error_in_words: error.and_then(provider::in_words),
        }
    }

    /// The text for a table: `131047: the person last wrote ...`.
    pub(crate) fn cell(&self) -> Option<String> {
        let words = self.error_in_words.map(|words| format!(": {words}")).unwrap_or_default();
        self.error.as_ref().map(|code| format!("{code}{words}"))
    }
}
