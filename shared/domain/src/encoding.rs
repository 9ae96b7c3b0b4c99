//! Bytes and random numbers as text.

use sha2::{Digest, Sha256};

/// Bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of bytes in lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// So many base62 digits of a number, its last digit first.
pub(crate) fn base62(mut number: u64, digits: usize) -> String {
    let mut next = || {
        let digit = BASE62[(number % 62) as usize];
        number /= 62;
        char::from(digit)
    };
    (0..digits).map(|_| next()).collect()
}

/// Four base62 characters of each random number: 2^64 is so much more than 62^4 that the bias of the remainder is below
/// 2^-40.
pub(crate) fn random_base62(entropy: &[u64]) -> String {
    entropy.iter().map(|number| base62(*number, 4)).collect()
}

/// Whether a text is of base62 characters alone.
pub(crate) fn is_base62(text: &str) -> bool {
    text.bytes().all(|byte| BASE62.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_numbers_are_spelled_as_they_always_were() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(base62(62 * 61 + 1, 3), "1z0");
        assert_eq!(random_base62(&[0, 61]), "0000z000");
        assert!(is_base62("09AZaz") && !is_base62("a-b"));
    }
}
