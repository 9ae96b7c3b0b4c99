//! The key of a deployment under which numbers, addresses and ids of persons are kept where nobody may read them.
//!
//! There are few phone numbers, so a plain hash of one is reversed in seconds. A message authentication code (MAC) is
//! not, without the key. The key is never rotated: what is kept of erased persons could not be made again.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::encoding::hex;
use crate::ids::WorkspaceId;
use crate::words::words;

/// What a MAC is for. The same identity has another MAC for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacKind {
    /// The key of a row of choices about templates.
    Consent,
    /// The receipt of an erasure.
    Receipt,
}

words!(
    /// The names that go into the MAC. They never change.
    MacKind { Consent: "consent", Receipt: "receipt" }
);

/// The key. Its debug output is its id.
#[derive(Clone, PartialEq, Eq)]
pub struct PersonKey {
    bytes: [u8; 32],
}

impl PersonKey {
    /// The key with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self { bytes }
    }

    /// The 32 bytes of the key.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// What tells this key from others and does not show it: 64 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        hex(&self.hmac(&["fingerprint"]))
    }

    /// The first 8 digits of the fingerprint. Rows name by it the key with which they were made.
    pub fn id(&self) -> String {
        self.fingerprint().chars().take(8).collect()
    }

    /// The MAC of an identity in a workspace: 64 hexadecimal digits. The identity is the text by which it is compared: a
    /// phone key, an e-mail key, or a user id of the provider after `user `.
    pub fn mac(&self, kind: MacKind, workspace: WorkspaceId, identity: &str) -> String {
        hex(&self.hmac(&[kind.as_str(), "|", &workspace.to_string(), "|", identity]))
    }

    /// The key that encrypts what a running job knows of a person.
    pub fn sealing_key(&self) -> [u8; 32] {
        self.hmac(&["seal"])
    }

    fn hmac(&self, parts: &[&str]) -> [u8; 32] {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.bytes) else {
            unreachable!("HMAC takes every key")
        };
        parts.iter().for_each(|part| mac.update(part.as_bytes()));
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for PersonKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PersonKey({})", self.id())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_mac_depends_on_key_kind_workspace_and_identity() {
        let workspace = |n| WorkspaceId::from_uuid(Uuid::from_u128(n));
        let key = PersonKey::new([7; 32]);
        let mac = key.mac(MacKind::Consent, workspace(1), "34600111222");
        // Python's hmac module computed these values, not this code.
        assert_eq!(mac, "1fe1d16f0a756f54c61585d4a1527b54d982e5c723cba37d5fb3aee6a82937cd");
        assert_eq!(format!("{key:?}"), "PersonKey(e6579d34)");
        assert_eq!(key.fingerprint().len(), 64);
        assert!(key.fingerprint().starts_with(&key.id()));
        for other in [
            key.mac(MacKind::Receipt, workspace(1), "34600111222"),
            key.mac(MacKind::Consent, workspace(2), "34600111222"),
            key.mac(MacKind::Consent, workspace(1), "34600111223"),
            PersonKey::new([8; 32]).mac(MacKind::Consent, workspace(1), "34600111222"),
        ] {
            assert_ne!(mac, other);
        }
        assert_ne!(key.sealing_key(), *key.bytes());
    }
}
