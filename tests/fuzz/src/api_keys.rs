//! API keys: a key prints as it was sent, and the check digits show every single wrong character.

use domain::ApiKeyToken;

/// The input is a key, or 64 random bytes with the place and the character of a mistake.
pub fn run(input: &[u8]) {
    if let Some(key) = std::str::from_utf8(input).ok().and_then(ApiKeyToken::parse) {
        assert_eq!(key.expose().as_bytes(), input);
        assert_eq!((input.len(), key.sha256_hex().len()), (42, 64));
        assert!(key.expose().starts_with("msk_") && input[4..].iter().all(u8::is_ascii_alphanumeric));
    }
    let Some((entropy, [place, wrong, ..])) = input.split_at_checked(64) else { return };
    let numbers: Vec<u64> =
        entropy.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let made = ApiKeyToken::from_entropy(numbers.try_into().unwrap());
    assert_eq!(ApiKeyToken::parse(made.expose()).unwrap().sha256_hex(), made.sha256_hex());

    let mut mistyped = made.expose().as_bytes().to_vec();
    let place = usize::from(*place) % mistyped.len();
    mistyped[place] = *wrong;
    if let Ok(text) = std::str::from_utf8(&mistyped) {
        let is_same = text == made.expose();
        assert_eq!(ApiKeyToken::parse(text).is_some(), is_same, "{} and {text}", made.expose());
    }
}
