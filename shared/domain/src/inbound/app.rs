//! The provider's apps. An app sends the webhooks of the business accounts that subscribe to it, and signs
//! them with its secret.

use std::fmt;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::encoding::{hex, unhex};
use crate::ids::WorkspaceId;
use crate::secret::Secret;
use crate::text::Unfit;
use crate::time::{Timestamp, days};

/// An app's id at the provider: 1 to 32 digits. It is a part of the URL of the app's webhook.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderAppId(String);

impl ProviderAppId {
    const PATTERN: &'static str = "^[0-9]{1,32}$";

    /// Parses an id.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(Unfit::Shape { pattern: Self::PATTERN, form: "1 to 32 digits" })
        }
    }

    /// The id in a piece that the service itself made. No app has it.
    pub fn of_the_service() -> Self {
        Self("0".to_owned())
    }

    /// The id as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderAppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An app whose webhooks the service accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderApp {
    /// The app's id at the provider.
    pub id: ProviderAppId,
    /// The only workspace whose lines the app speaks for. `None`: all workspaces of the deployment.
    pub workspace: Option<WorkspaceId>,
    /// The app secret, which signs the webhooks.
    pub secret: Secret,
    /// The replaced app secret, and the time until which its signatures are accepted.
    pub previous: Option<(Secret, Timestamp)>,
    /// The token with which the provider verifies the URL of the webhook.
    pub verify_token: Secret,
    /// When the app was created.
    pub created_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

impl ProviderApp {
    /// The greatest number of apps of a deployment.
    pub const MAX: usize = 100;
    /// How long signatures of a replaced secret are accepted: the provider repeats a webhook for 7 days.
    pub const OVERLAP: Duration = days(7);

    const SECRET: &'static str = "^[!-~]{16,256}$";
    const VERIFY_TOKEN: &'static str = "^[0-9A-Za-z_-]{16,128}$";

    /// Parses an app secret: 16 to 256 visible ASCII characters.
    pub fn secret(text: &str) -> Result<Secret, Unfit> {
        let fits = (16..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits {
            Ok(Secret::new(text))
        } else {
            Err(Unfit::Shape { pattern: Self::SECRET, form: "16 to 256 visible ASCII characters" })
        }
    }

    /// Parses a verify token: 16 to 128 letters, digits, `_` and `-`, because it is a part of a URL.
    pub fn verify_token(text: &str) -> Result<Secret, Unfit> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let fits = (16..=128).contains(&text.len()) && text.bytes().all(plain);
        if fits {
            Ok(Secret::new(text))
        } else {
            Err(Unfit::Shape { pattern: Self::VERIFY_TOKEN, form: "16 to 128 ASCII letters, digits, _ or -" })
        }
    }

    /// A new verify token, made of random bytes.
    pub fn new_verify_token(entropy: &[u8; 32]) -> Secret {
        Secret::new(hex(entropy))
    }

    /// The app with a new secret. Signatures of the present one are accepted during the overlap, so a
    /// webhook that the provider repeats is not lost. The secret before it is discarded.
    pub fn rotated(&self, secret: Secret, now: Timestamp) -> Self {
        let replaced = (self.secret.clone(), now.plus(Self::OVERLAP));
        // A repeated command must not end the overlap of the secret that was replaced first.
        let previous = if secret == self.secret { self.previous.clone() } else { Some(replaced) };
        Self { secret, previous, version: self.version + 1, ..self.clone() }
    }

    /// Whether the value of the header `X-Hub-Signature-256` proves that the provider sent these bytes:
    /// `sha256=` and the hexadecimal HMAC-SHA256 with a secret that is in force.
    pub fn has_signed(&self, body: &[u8], signature: &str, now: Timestamp) -> bool {
        let Some(given) = signature.strip_prefix("sha256=").and_then(unhex) else { return false };
        let previous = self.previous.as_ref().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
        std::iter::once(&self.secret).chain(previous).any(|secret| {
            let mut mac = hmac(secret);
            mac.update(body);
            // This comparison takes the same time for every value.
            mac.verify_slice(&given).is_ok()
        })
    }

    /// Whether this is the app's verify token. The comparison takes the same time for every value.
    pub fn is_verified_by(&self, token: &str) -> bool {
        self.verify_token.expose().as_bytes().ct_eq(token.as_bytes()).into()
    }
}

fn hmac(secret: &Secret) -> Hmac<Sha256> {
    // HMAC accepts keys of any length.
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else {
        unreachable!("HMAC takes every key")
    };
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const BODY: &[u8] = br#"{"object":"whatsapp_business_account","entry":[]}"#;
    // Python's hmac module computed these values, not this code.
    const FIRST: &str = "sha256=5a11e7b9db7d0ff1a1c4161168b75102a05ab22c5d8b0bc770f634e6059f6aa4";
    const SECOND: &str = "sha256=b8a719170e6109ae5d1803fb45c216caac12a801919c9611d1b9a7ac892886a3";

    fn app() -> ProviderApp {
        ProviderApp {
            id: ProviderAppId::parse("1042").unwrap(),
            workspace: None,
            secret: ProviderApp::secret("first-secret-0123456789abcdef").unwrap(),
            previous: None,
            verify_token: ProviderApp::verify_token("verify-token-0001").unwrap(),
            created_at: NOW,
            version: 1,
        }
    }

    fn second() -> Secret {
        ProviderApp::secret("second-secret-0123456789abcdef").unwrap()
    }

    #[test]
    fn only_the_exact_signature_of_these_bytes_is_accepted() {
        let app = app();
        assert!(app.has_signed(BODY, FIRST, NOW));
        assert!(app.has_signed(BODY, &FIRST.to_uppercase().replace("SHA256", "sha256"), NOW));
        let changed = [BODY, b" "].concat();
        let refused: [(&[u8], &str); 9] = [
            (&changed, FIRST),
            (b"", FIRST),
            (BODY, SECOND),
            (BODY, ""),
            (BODY, "sha256="),
            (BODY, &FIRST["sha256=".len()..]),
            (BODY, &FIRST.replace("sha256", "sha1")),
            (BODY, &FIRST[..FIRST.len() - 2]),
            (BODY, &format!("{FIRST}00")),
        ];
        for (body, signature) in refused {
            assert!(!app.has_signed(body, signature, NOW), "{signature}");
        }
    }

    #[test]
    fn after_a_rotation_both_secrets_are_accepted_until_the_provider_stops_repeating_webhooks() {
        let rotated = app().rotated(second(), NOW);
        let end = NOW.plus(ProviderApp::OVERLAP);
        for (moment, first) in [(NOW, true), (end.plus(Duration::ZERO), false)] {
            assert!(rotated.has_signed(BODY, SECOND, moment));
            assert_eq!(rotated.has_signed(BODY, FIRST, moment), first);
        }
        assert!(rotated.has_signed(BODY, FIRST, Timestamp::from_millis(end.as_millis() - 1)));
        assert_eq!(rotated.version, 2);
    }

    #[test]
    fn a_repeated_rotation_keeps_the_overlap_of_the_replaced_secret() {
        let rotated = app().rotated(second(), NOW);
        let repeated = rotated.rotated(second(), NOW.plus(Duration::from_secs(60)));
        assert_eq!(repeated.previous, rotated.previous);
    }

    #[test]
    fn only_the_verify_token_verifies() {
        let app = app();
        assert!(app.is_verified_by("verify-token-0001"));
        for token in ["", "verify-token-0002", "verify-token-000", "verify-token-00011"] {
            assert!(!app.is_verified_by(token), "{token}");
        }
    }

    #[test]
    fn an_id_has_digits_only_and_secrets_fit_into_a_header_and_a_url() {
        for (text, fits) in
            [("1", true), (&"9".repeat(32), true), ("", false), (&"9".repeat(33), false), ("1a", false)]
        {
            let id = ProviderAppId::parse(text).ok();
            assert_eq!(id.as_ref().map(ProviderAppId::as_str), fits.then_some(text), "{text}");
        }
        for (text, fits) in
            [("0123456789abcdef", true), ("0123456789abcde", false), ("0123456789abc ef", false)]
        {
            assert_eq!(ProviderApp::secret(text).is_ok(), fits, "{text}");
        }
        for (text, fits) in
            [("0123456789abc_e-", true), ("0123456789abcde", false), ("0123456789abc&ef", false)]
        {
            assert_eq!(ProviderApp::verify_token(text).is_ok(), fits, "{text}");
        }
    }
}
