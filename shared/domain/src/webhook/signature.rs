//! The headers that prove the origin of a delivery.
//!
//! There are two kinds of signatures. The specification's header signs only the body. The Standard Webhooks
//! headers sign id, timestamp and body, because without the timestamp in the signature an attacker could send
//! a recorded request again with a new timestamp.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::encoding::hex;
use crate::ids::EventId;
use crate::secret::Secret;
use crate::time::Timestamp;
use crate::webhook::secrets::EndpointSecrets;

/// The tenant's own API key.
pub const API_KEY: &str = "x-service-api-key";
/// `sha256=` and the hex HMAC-SHA256 of the body. The key is the UTF-8 bytes of the displayed secret.
pub const SIGNATURE: &str = "x-service-signature";
/// The Unix time of the attempt in seconds.
pub const TIMESTAMP: &str = "x-service-timestamp";
/// Standard Webhooks: the event's id.
pub const STANDARD_ID: &str = "webhook-id";
/// Standard Webhooks: the same Unix time in seconds.
pub const STANDARD_TIMESTAMP: &str = "webhook-timestamp";
/// Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, one for each secret in force,
/// separated by spaces. The key is the 32 bytes after the secret's prefix.
pub const STANDARD_SIGNATURE: &str = "webhook-signature";

/// The headers of one attempt, with names in lower case. Each attempt needs new headers: receivers reject a
/// timestamp older than five minutes, and a rotation may have changed the secrets since the last attempt.
pub fn headers(
    event: EventId,
    body: &[u8],
    secrets: &EndpointSecrets,
    now: Timestamp,
) -> [(&'static str, Secret); 6] {
    let id = event.to_string();
    let seconds = now.as_seconds().to_string();
    let standard: Vec<String> = secrets
        .signing
        .in_force(now)
        .map(|secret| {
            let parts: [&[u8]; 5] = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
            format!("v1,{}", STANDARD.encode(hmac_sha256(&secret.key_bytes(), &parts)))
        })
        .collect();
    let legacy = hmac_sha256(secrets.signing.active.expose().as_bytes(), &[body]);
    [
        (API_KEY, Secret::new(secrets.api_key.expose())),
        (SIGNATURE, Secret::new(format!("sha256={}", hex(&legacy)))),
        (TIMESTAMP, Secret::new(seconds.clone())),
        (STANDARD_ID, Secret::new(id)),
        (STANDARD_TIMESTAMP, Secret::new(seconds)),
        (STANDARD_SIGNATURE, Secret::new(standard.join(" "))),
    ]
}

/// The same headers as far as people may see them: without secrets, and without the values that each attempt makes anew.
pub fn shown(event: EventId) -> [(&'static str, Option<String>); 6] {
    let id = Some(event.to_string());
    [
        (API_KEY, None),
        (SIGNATURE, None),
        (TIMESTAMP, None),
        (STANDARD_ID, id),
        (STANDARD_TIMESTAMP, None),
        (STANDARD_SIGNATURE, None),
    ]
}

fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC accepts keys of any length. It hashes a longer key first.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { unreachable!("HMAC takes every key") };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::webhook::secrets::{ReceiverKey, SigningSecret, SigningSecrets};

    const BODY: &[u8] = br#"{"eventId":"e","payload":{"firstName":"Jos\u00e9"}}"#;
    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::from_entropy([byte; 32])
    }

    fn secrets() -> EndpointSecrets {
        EndpointSecrets {
            api_key: ReceiverKey::parse("customer-key").unwrap(),
            signing: SigningSecrets::only(secret(7)),
        }
    }

    fn signed(secrets: &EndpointSecrets, now: Timestamp) -> Vec<(&'static str, String)> {
        let event = EventId::from_uuid(Uuid::from_u128(5));
        headers(event, BODY, secrets, now).map(|(name, value)| (name, value.expose().to_owned())).to_vec()
    }

    #[test]
    fn the_signatures_match_those_of_another_implementation() {
        // Python's hmac and base64 modules computed these values, not this code.
        let expected = [
            ("x-service-api-key", "customer-key"),
            (
                "x-service-signature",
                "sha256=ac5221e28152b8a43e6ed60cceecf7d828e8867fc4fdd01d3325b24f5e2804d9",
            ),
            ("x-service-timestamp", "1767323045"),
            ("webhook-id", "00000000-0000-0000-0000-000000000005"),
            ("webhook-timestamp", "1767323045"),
            ("webhook-signature", "v1,DM/57riJGO+XG1wDpcSnIpgSXKN8Z1rg+kHeMfqsbWI="),
        ];
        assert_eq!(signed(&secrets(), NOW), expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn the_specifications_headers_contain_the_platforms_name() {
        let prefix = format!("x-{}-", crate::PLATFORM.to_lowercase());
        assert!([API_KEY, SIGNATURE, TIMESTAMP].iter().all(|name| name.starts_with(&prefix)));
    }

    #[test]
    fn people_see_the_names_of_all_headers_and_only_the_value_that_stays() {
        let event = EventId::from_uuid(Uuid::from_u128(5));
        let sent =
            headers(event, BODY, &secrets(), NOW).map(|(name, value)| (name, value.expose().to_owned()));
        let seen = shown(event);
        assert_eq!(seen.clone().map(|(name, _)| name), sent.clone().map(|(name, _)| name));
        let values: Vec<_> = seen.into_iter().filter(|(_, value)| value.is_some()).collect();
        assert_eq!(values, [(STANDARD_ID, Some(sent[3].1.clone()))]);
    }

    #[test]
    fn during_a_rotation_every_secret_in_force_signs_and_only_the_active_one_signs_the_legacy_header() {
        let mut rotating = secrets();
        rotating.signing.next = Some(secret(8));
        let (before, during) = (signed(&secrets(), NOW), signed(&rotating, NOW));
        assert_eq!(before[1], during[1]);
        assert_eq!(
            during[5].1,
            "v1,DM/57riJGO+XG1wDpcSnIpgSXKN8Z1rg+kHeMfqsbWI= v1,krWV9g6mSnFHXuVZ+PsUIeM8WJC900Tr/r9PEifm9uk="
        );
    }

    #[test]
    fn each_attempt_has_a_new_timestamp_and_new_signatures() {
        let (first, second) =
            (signed(&secrets(), NOW), signed(&secrets(), NOW.plus(std::time::Duration::from_secs(5))));
        assert_eq!(second[2].1, "1767323050");
        assert_eq!(first[1], second[1], "the legacy signature covers the body alone");
        assert_ne!(first[5], second[5]);
    }
}
