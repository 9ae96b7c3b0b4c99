//! Why a part of a message or a lead is not sent.

use crate::invisible::is_blank;
use crate::text::printable;

/// Why a part is FAILED or UNKNOWN: the provider's code or one of the codes below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError {
    code: String,
    detail: Option<String>,
}

impl PartError {
    /// The greatest number of characters of a detail.
    pub const MAX_DETAIL: usize = 512;
    /// The contact has neither a phone number nor an id at the provider.
    pub const NO_ADDRESS: &'static str = "NO_ADDRESS";
    /// The contact has no value for a variable of the template.
    pub const MISSING_VALUE: &'static str = "MISSING_VALUE";
    /// A value is too long with the contact's data, or no longer fits the template.
    pub const UNFIT_VALUE: &'static str = "UNFIT_VALUE";
    /// The template no longer exists.
    pub const NO_TEMPLATE: &'static str = "NO_TEMPLATE";
    /// The provider's codes that say that the template is another one there than here: the number or the form of its values, its name
    /// and language, or whether it can be sent.
    const OF_TEMPLATE: [&str; 5] = ["132000", "132001", "132012", "132016", "132018"];
    /// The provider does not let the line's account send the template, for good or for too long.
    pub const NOT_APPROVED: &'static str = "NOT_APPROVED";
    /// This release splits the content into other parts, so the part has no content.
    pub const NO_CONTENT: &'static str = "NO_CONTENT";
    /// The line no longer exists.
    pub const NO_LINE: &'static str = "NO_LINE";
    /// The person opted out, and so gets no template.
    pub const OPTED_OUT: &'static str = "OPTED_OUT";
    /// The person opted out of advertising, on all lines or on this one, and so gets no template of that category.
    pub const OPTED_OUT_MARKETING: &'static str = "OPTED_OUT_MARKETING";
    /// The customer last wrote more than 24 hours ago, so the provider takes only templates.
    pub const OUTSIDE_WINDOW: &'static str = "OUTSIDE_WINDOW";
    /// Lead capture was disabled after the lead was accepted.
    pub const CAPTURE_DISABLED: &'static str = "CAPTURE_DISABLED";
    /// The contact no longer has the number of the lead, so another person could get the message.
    pub const NUMBER_CHANGED: &'static str = "NUMBER_CHANGED";
    /// The conversation was blocked before the part was sent.
    pub const BLOCKED: &'static str = "BLOCKED";
    /// The retry period is over.
    pub const GIVEN_UP: &'static str = "GIVEN_UP";
    /// The provider did not answer a call.
    pub const NO_ANSWER: &'static str = "NO_ANSWER";
    /// The sender died between the call and the record of its outcome.
    pub const INTERRUPTED: &'static str = "INTERRUPTED";

    /// The provider reported a failure without a code.
    pub const NOT_DELIVERED: &'static str = "NOT_DELIVERED";

    /// Wraps one of the codes above or the provider's code.
    pub fn of(code: impl Into<String>) -> Self {
        Self { code: code.into(), detail: None }
    }

    /// The same error with what is known about it, up to [`PartError::MAX_DETAIL`] characters of printable text.
    pub fn because(self, detail: impl AsRef<str>) -> Self {
        let detail: String = printable(detail.as_ref()).chars().take(Self::MAX_DETAIL).collect();
        Self { detail: Some(detail).filter(|detail| !is_blank(detail)), ..self }
    }

    /// The same error with what is known about it, if anything is.
    pub fn because_of(self, detail: Option<impl AsRef<str>>) -> Self {
        match detail {
            Some(detail) => self.because(detail),
            None => self,
        }
    }

    /// What is known about the error besides its code, in one sentence or in the provider's words.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// The place among several errors of one send: by the code, then what says more.
    pub fn in_order(&self) -> impl Ord {
        (&self.code, self.detail.is_none(), &self.detail)
    }

    /// Whether the provider says that the template is another one there than here.
    pub fn is_about_template(&self) -> bool {
        Self::OF_TEMPLATE.contains(&self.as_str())
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        &self.code
    }
}
