//! The format of the Graph API's errors.

use std::borrow::Cow;

use serde_json::{Value, json};

/// An error of the Graph API.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The status of the answer.
    pub status: u16,
    /// The Graph API's code.
    pub code: u32,
    title: &'static str,
    details: Cow<'static, str>,
}

impl Fault {
    pub(in crate::simulator) const TOKEN: Self = Self::new(401, 190, "Access token has expired", "");
    pub(in crate::simulator) const INVALID: Self = Self::new(400, 100, "Invalid parameter", "");
    pub(super) const MISSING: Self = Self::new(400, 131_008, "Required parameter is missing", "");
    pub(super) const UNFIT: Self = Self::new(400, 131_009, "Parameter value is not valid", "");
    pub(in crate::simulator) const UNDELIVERABLE: Self =
        Self::new(400, 131_026, "Message undeliverable", "Message Undeliverable.");
    pub(in crate::simulator) const RATE_LIMIT: Self = Self::new(
        429,
        130_429,
        "Rate limit hit",
        "Message failed to send because there were too many messages sent from this phone number in a short period of time.",
    );
    pub(in crate::simulator) const UNKNOWN_ERROR: Self =
        Self::new(500, 1, "API Unknown", "Invalid request or possible server error.");
    pub(in crate::simulator) const NO_TEMPLATE: Self = Self::new(
        404,
        132_001,
        "Template name does not exist in the translation",
        "The template does not exist in the specified language or has not been approved.",
    );

    pub(super) const fn new(status: u16, code: u32, title: &'static str, details: &'static str) -> Self {
        Self { status, code, title, details: Cow::Borrowed(details) }
    }

    /// A refusal with this code, such as 190 for a token that no longer holds.
    pub(in crate::simulator) const fn of_code(code: u32) -> Self {
        Self::new(if code == 190 { 401 } else { 400 }, code, "The call is refused", "As the registry says.")
    }

    pub(in crate::simulator) fn because(mut self, details: impl Into<Cow<'static, str>>) -> Self {
        self.details = details.into();
        self
    }

    /// The body of the answer.
    pub fn body(&self) -> Value {
        json!({
            "error": {
                "message": format!("(#{}) {}", self.code, self.title),
                "type": "OAuthException",
                "code": self.code,
                "error_data": { "messaging_product": "whatsapp", "details": self.details },
                "fbtrace_id": "local",
            }
        })
    }
}
