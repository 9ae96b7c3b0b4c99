//! Why a part of a message, or a lead, is not sent.

/// Why a part is FAILED or UNKNOWN: the provider's code or a word of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError(String);

impl PartError {
    /// The contact has no phone number.
    pub const NO_ADDRESS: &'static str = "NO_ADDRESS";
    /// The contact has no value for a variable of the template.
    pub const MISSING_VALUE: &'static str = "MISSING_VALUE";
    /// The template is no more.
    pub const NO_TEMPLATE: &'static str = "NO_TEMPLATE";
    /// What it was made of is cut into other parts by this release.
    pub const NO_CONTENT: &'static str = "NO_CONTENT";
    /// The line is no more.
    pub const NO_LINE: &'static str = "NO_LINE";
    /// The conversation was blocked before it could be sent.
    pub const BLOCKED: &'static str = "BLOCKED";
    /// Tried for as long as sends are tried.
    pub const GIVEN_UP: &'static str = "GIVEN_UP";
    /// The provider was asked and did not answer.
    pub const NO_ANSWER: &'static str = "NO_ANSWER";
    /// The sender died between asking and recording the answer.
    pub const INTERRUPTED: &'static str = "INTERRUPTED";

    /// One of the words above, or the provider's code.
    pub fn of(code: impl Into<String>) -> Self {
        Self(code.into())
    }

    /// The word or code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
