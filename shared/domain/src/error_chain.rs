//! Error chains as one line of text.

use std::error::Error;

/// The message of an error and of all its sources, for one log line. The errors of this service contain table
/// names, codes and ids, but no personal data.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        told = format!("{told}: {cause}");
        next = cause.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn the_text_contains_the_error_and_its_sources() {
        assert_eq!(error_chain(&Outer(std::io::Error::other("inner"))), "outer: inner");
    }
}
