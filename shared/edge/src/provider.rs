//! The HTTP interface of the provider's webhook.

use std::collections::BTreeMap;

use domain::ProviderAppId;
use serde::{Deserialize, Serialize};

use crate::gateway::GatewayRequest;

/// One request to the webhook's URL. Its debug output is redacted.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct WebhookRequest(GatewayRequest);

/// The question with which the provider verifies the URL of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The token that the provider sends.
    pub token: String,
    /// The text that the answer must repeat.
    pub challenge: String,
}

impl WebhookRequest {
    /// The greatest size of a body: the provider sends up to 3 MB.
    pub const MAX_BODY: usize = 3 * 1_048_576;
    /// The greatest size of a challenge. The provider sends a number.
    const MAX_CHALLENGE: usize = 256;

    /// The method, in upper case.
    pub fn method(&self) -> &str {
        self.0.method()
    }

    /// The app in the URL.
    pub fn app(&self) -> Option<ProviderAppId> {
        ProviderAppId::parse(self.0.path("appId")?).ok()
    }

    /// The signature of the body. A repeated header is no signature.
    pub fn signature(&self) -> Option<&str> {
        match self.0.header("x-hub-signature-256").as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The body as it was signed; `None` if it is too large.
    pub fn body(&self) -> Option<Vec<u8>> {
        self.0.body().filter(|body| body.len() <= Self::MAX_BODY)
    }

    /// The question in the query. The answer repeats the challenge, so it may only hold visible characters.
    pub fn verification(&self) -> Option<Verification> {
        let one = |name| match self.0.query(name) {
            [one] => Some(one.clone()),
            _ => None,
        };
        let challenge = one("hub.challenge").filter(|text| {
            (1..=Self::MAX_CHALLENGE).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_graphic())
        })?;
        (one("hub.mode")? == "subscribe")
            .then_some(Verification { token: one("hub.verify_token")?, challenge })
    }
}

/// A response in the gateway's format.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookAnswer {
    status_code: u16,
    headers: BTreeMap<&'static str, &'static str>,
    body: String,
    is_base64_encoded: bool,
}

impl WebhookAnswer {
    /// 200 with the challenge.
    pub fn verified(verification: Verification) -> Self {
        Self::text(200, verification.challenge)
    }

    /// 200: what the webhook holds is durable.
    pub fn received() -> Self {
        Self::text(200, String::new())
    }

    /// 403: the request is not proven to come from the provider. One answer for all reasons.
    pub fn refused() -> Self {
        Self::text(403, "Forbidden".to_owned())
    }

    /// 500: the provider repeats the webhook.
    pub fn failed() -> Self {
        Self::text(500, "Internal Server Error".to_owned())
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status_code
    }

    fn text(status_code: u16, body: String) -> Self {
        let headers = BTreeMap::from([
            ("cache-control", "no-store"),
            ("content-type", "text/plain; charset=utf-8"),
            ("x-content-type-options", "nosniff"),
        ]);
        Self { status_code, headers, body, is_base64_encoded: false }
    }
}
