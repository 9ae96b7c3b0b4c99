//! Cursors: opaque, versioned, encrypted, and bound to a workspace, an endpoint and its filters.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use domain::{Ids, WorkspaceId};
use sha2::{Digest, Sha256};
use store::{CursorKey, CursorKeys};

/// The first byte of every cursor in this format.
const FORM: u8 = 1;
const NONCE: usize = 24;

/// The digest of the list to which a cursor is bound. With other bounds the cursor does not open.
#[derive(Clone, Debug)]
pub(crate) struct Bounds(Vec<u8>);

impl Bounds {
    /// The bounds of one list: a workspace, an endpoint's name and its filters (not the page size, which may
    /// change between pages). The length precedes each part, so two different lists never have the same
    /// bounds.
    pub(crate) fn new(workspace: WorkspaceId, endpoint: &str, filters: &[(&str, Option<&str>)]) -> Self {
        let mut digest = Sha256::new();
        let mut part = |text: &str| {
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text.as_bytes());
        };
        part(&workspace.to_string());
        part(endpoint);
        for (name, value) in filters {
            part(name);
            part(&value.map_or(String::new(), |value| format!("={value}")));
        }
        Self(digest.finalize().to_vec())
    }
}

/// Encrypts a position.
pub(crate) fn seal(keys: &CursorKeys, ids: &dyn Ids, bounds: &Bounds, position: &str) -> Option<String> {
    let nonce: Vec<u8> =
        ids.next().into_bytes().into_iter().chain(ids.next().into_bytes()).take(NONCE).collect();
    let sealed = cipher(&keys.current)
        .encrypt(
            &XNonce::try_from(nonce.as_slice()).ok()?,
            Payload { msg: position.as_bytes(), aad: &bounds.0 },
        )
        .ok()?;
    Some(URL_SAFE_NO_PAD.encode([&[FORM], nonce.as_slice(), &sealed].concat()))
}

/// Decrypts a cursor with the current key or the previous one. `None` if the cursor was changed or belongs to
/// another list.
pub(crate) fn open(keys: &CursorKeys, bounds: &Bounds, cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (form, rest) = bytes.split_first()?;
    if *form != FORM || rest.len() < NONCE {
        return None;
    }
    let (nonce, sealed) = rest.split_at(NONCE);
    let nonce = XNonce::try_from(nonce).ok()?;
    let with = |key: &CursorKey| cipher(key).decrypt(&nonce, Payload { msg: sealed, aad: &bounds.0 }).ok();
    let position = with(&keys.current).or_else(|| keys.previous.as_ref().and_then(with))?;
    String::from_utf8(position).ok()
}

fn cipher(key: &CursorKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.bytes().into())
}
