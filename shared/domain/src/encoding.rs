//! Text encodings of bytes and random numbers.

use sha2::{Digest, Sha256};

use crate::ids::WorkspaceId;

/// The bytes as lower-case hexadecimal digits. A request writes some 150 of them, so this makes one text and no others.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for half in [byte >> 4, byte & 0xf] {
            digits.push(char::from(DIGITS[usize::from(half)]));
        }
    }
    digits
}

/// The bytes of hexadecimal digits in either case; `None` if the text has other characters or an odd length.
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? * 16 + digit(*low)?),
            _ => None,
        })
        .collect()
}

/// The SHA-256 of the bytes as lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The last `digits` base62 digits of a number, least significant digit first.
pub(crate) fn base62(mut number: u64, digits: usize) -> String {
    let mut next = || {
        let digit = BASE62[(number % 62) as usize];
        number /= 62;
        char::from(digit)
    };
    (0..digits).map(|_| next()).collect()
}

/// Four base62 characters for each random number. The bias of the remainder is below 2^-40, because 2^64 is
/// much larger than 62^4.
pub(crate) fn random_base62(entropy: &[u64]) -> String {
    entropy.iter().map(|number| base62(*number, 4)).collect()
}

/// Whether the text contains only base62 characters.
pub(crate) fn is_base62(text: &str) -> bool {
    text.bytes().all(|byte| BASE62.contains(&byte))
}

/// The hash of a number or an address in a workspace.
pub fn digest(workspace: WorkspaceId, text: &str) -> String {
    sha256_hex(format!("{workspace}|{text}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_sha256_and_base62_keep_their_spelling() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        assert_eq!(unhex("000aFf"), Some(vec![0, 10, 255]));
        assert_eq!(["0", "0g", "é"].map(unhex), [None, None, None]);
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(base62(62 * 61 + 1, 3), "1z0");
        assert_eq!(random_base62(&[0, 61]), "0000z000");
        assert!(is_base62("09AZaz") && !is_base62("a-b"));
    }
}
