//! Phone numbers: the form, the country calling codes and the numbering plans agree.

use domain::phone::national;
use domain::{Cellphone, PhoneKey, WaId};

/// The input is a number. Bytes that are no digits become some, so that most inputs have the form of a number.
pub fn run(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        check(text);
    }
    let digits = input.iter().take(16).map(|byte| char::from(b'0' + byte % 10));
    check(&std::iter::once('+').chain(digits).collect::<String>());
}

fn check(text: &str) {
    let bytes = text.as_bytes();
    let has_form = (9..=16).contains(&bytes.len())
        && bytes[0] == b'+'
        && (b'1'..=b'9').contains(&bytes[1])
        && bytes[2..].iter().all(u8::is_ascii_digit);
    let phone = Cellphone::parse(text);
    assert_eq!(phone.is_ok(), has_form, "{text}");
    let Ok(phone) = phone else { return };
    assert_eq!(phone.as_str(), text);
    assert_eq!(phone.digits(), &text[1..]);
    let key = phone.key();
    assert_eq!(WaId::parse(phone.digits()).map(|id| id.key()), Ok(key.clone()), "{text}");
    assert!(key.forms().iter().any(|form| form == phone.digits()), "{text}");
    for form in key.forms() {
        assert_eq!(PhoneKey::of(&form), key, "{text}");
    }
    let rest = national(phone.digits());
    assert!(rest.is_none_or(|rest| !rest.is_empty() && text.ends_with(rest)), "{text}");
    if leads::numbering::is_valid(&phone) {
        assert!(rest.is_some(), "{text} is in a plan, but begins with no country calling code");
    }
}
