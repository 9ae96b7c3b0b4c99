//! Errors in one line.

use std::error::Error;

/// An error with everything that led to it, for one log line. Errors of this service name tables, codes and ids,
/// no personal data.
pub fn causes(error: &(dyn Error + 'static)) -> String {
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
    fn an_error_is_told_with_its_causes() {
        assert_eq!(causes(&Outer(std::io::Error::other("inner"))), "outer: inner");
    }
}
