//! A key that seals cursors.

/// One key. `Debug` prints only its id.
#[derive(Clone, PartialEq, Eq)]
pub struct CursorKey {
    pub(super) id: u32,
    pub(super) bytes: [u8; 32],
}

impl CursorKey {
    /// The number of the key in this deployment, starting at 1.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The 32 bytes of the key.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CursorKey({})", self.id)
    }
}

/// The keys in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorKeys {
    /// The key that encrypts and decrypts.
    pub current: CursorKey,
    /// A key that only decrypts: the key before a rotation, or, until all processes have read the new key,
    /// the new one.
    pub previous: Option<CursorKey>,
}
