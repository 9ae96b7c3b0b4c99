//! Why a message or a lead was not sent.

use domain::sending::{self, PartError};

use crate::view::View;

/// The code of a failure, and the same in words if the code is known.
pub(crate) fn json_of(error: Option<&PartError>) -> View {
    View::new()
        .json("error", error.map(PartError::as_str))
        .json("errorInWords", error.and_then(sending::in_words))
}

/// The text for a table: `131047: the person last wrote ...`.
pub(crate) fn in_words(error: Option<&PartError>) -> Option<String> {
    let words = error.and_then(sending::in_words).map(|words| format!(": {words}")).unwrap_or_default();
    error.map(|error| format!("{}{words}", error.as_str()))
}
