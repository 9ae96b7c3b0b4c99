//! The identifiers of people in requests: an identifier and the type that determines how it is parsed.

use domain::{Cellphone, ContactId, ContactRef, Email, Unfit, UserId, UserRef};

use crate::form::{Form, Node, Rejection};

const USER_TYPES: &[&str] = &["ID", "EMAIL"];
const CONTACT_TYPES: &[&str] = &["ID", "EMAIL", "PHONE"];

/// An internal user, by id or e-mail address. Both fields are required.
pub fn user(form: &mut Form, identifier: &Node<'_>, identifier_type: &Node<'_>) -> Option<UserRef> {
    match read_type(form, identifier, identifier_type, USER_TYPES)? {
        "ID" => identifier.text(form, UserId::parse).map(UserRef::Id),
        _ => identifier.text(form, Email::parse).map(UserRef::Email),
    }
}

/// A customer, by id, e-mail address or phone number. Both fields are required.
pub fn contact(form: &mut Form, identifier: &Node<'_>, identifier_type: &Node<'_>) -> Option<ContactRef> {
    contact_by(form, identifier, identifier_type, Cellphone::parse)
}

/// The same in a query. The `+` of a phone number becomes a space there if it was not encoded.
pub fn contact_in_query(
    form: &mut Form,
    identifier: &Node<'_>,
    identifier_type: &Node<'_>,
) -> Option<ContactRef> {
    contact_by(form, identifier, identifier_type, |text| match text.strip_prefix(' ') {
        Some(digits) => Cellphone::parse(&format!("+{digits}")),
        None => Cellphone::parse(text),
    })
}

fn contact_by(
    form: &mut Form,
    identifier: &Node<'_>,
    identifier_type: &Node<'_>,
    cellphone: impl FnOnce(&str) -> Result<Cellphone, Unfit>,
) -> Option<ContactRef> {
    match read_type(form, identifier, identifier_type, CONTACT_TYPES)? {
        "ID" => identifier.text(form, ContactId::parse).map(ContactRef::Id),
        "EMAIL" => identifier.text(form, Email::parse).map(ContactRef::Email),
        _ => identifier.text(form, cellphone).map(ContactRef::Cellphone),
    }
}

/// The type of the identifier, if the identifier is present. Records a failure for each missing field.
fn read_type(
    form: &mut Form,
    identifier: &Node<'_>,
    identifier_type: &Node<'_>,
    types: &'static [&'static str],
) -> Option<&'static str> {
    let known = |text: &str| {
        types.iter().copied().find(|known| *known == text).ok_or(Unfit::NotOneOf { expected: types })
    };
    let read = identifier_type.clone().required(form).and_then(|at| at.text(form, known));
    if identifier.is_absent() {
        form.fail(identifier, Rejection::Missing);
        return None;
    }
    if read.is_none() {
        // The type is unknown, so only the JSON type of the identifier can be checked.
        identifier.text(form, |_| Ok(()));
    }
    read
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ApiError;

    const ID: &str = "00000000-0000-4000-8000-000000000001";

    type Noted = Vec<(String, &'static str)>;

    fn read<T>(fields: &Value, reader: fn(&mut Form, &Node<'_>, &Node<'_>) -> Option<T>) -> Result<T, Noted> {
        let at = Node::root("body", Some(fields));
        let mut form = Form::default();
        let read = reader(&mut form, &at.field("identifier"), &at.field("identifierType"));
        form.finish(read).map_err(|error| match error {
            ApiError::Invalid(failures) => {
                failures.into_iter().map(|failure| (failure.loc.join("."), failure.kind)).collect()
            }
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn people_have_an_identifier_and_its_type() {
        let email = Email::parse("Ana@example.com").unwrap();
        let user_id = UserId::parse(ID).unwrap();
        let rows = [
            (json!({"identifier": ID, "identifierType": "ID"}), UserRef::Id(user_id)),
            (
                json!({"identifier": "Ana@example.com", "identifierType": "EMAIL"}),
                UserRef::Email(email.clone()),
            ),
        ];
        for (fields, expected) in rows {
            assert_eq!(read(&fields, user), Ok(expected), "{fields}");
        }
        let rows = [
            (
                json!({"identifier": ID, "identifierType": "ID"}),
                ContactRef::Id(ContactId::parse(ID).unwrap()),
            ),
            (json!({"identifier": "Ana@example.com", "identifierType": "EMAIL"}), ContactRef::Email(email)),
            (
                json!({"identifier": "+4915112345678", "identifierType": "PHONE"}),
                ContactRef::Cellphone(Cellphone::parse("+4915112345678").unwrap()),
            ),
        ];
        for (fields, expected) in rows {
            assert_eq!(read(&fields, contact).as_ref(), Ok(&expected), "{fields}");
            assert_eq!(read(&fields, contact_in_query), Ok(expected), "{fields}");
        }
    }

    #[test]
    fn missing_and_invalid_fields_are_recorded_at_their_locations() {
        type Row<'a> = (Value, &'a [(&'a str, &'static str)]);
        let rows: &[Row<'_>] = &[
            (json!({}), &[("body.identifierType", "missing"), ("body.identifier", "missing")]),
            (json!({"identifier": ID}), &[("body.identifierType", "missing")]),
            (json!({"identifierType": "ID"}), &[("body.identifier", "missing")]),
            (
                json!({"identifier": 5, "identifierType": "NAME"}),
                &[("body.identifierType", "enum"), ("body.identifier", "string_type")],
            ),
            (json!({"identifier": ID, "identifierType": "id"}), &[("body.identifierType", "enum")]),
            (json!({"identifier": "x", "identifierType": "ID"}), &[("body.identifier", "uuid_parsing")]),
            (
                json!({"identifier": ID, "identifierType": "EMAIL"}),
                &[("body.identifier", "string_pattern_mismatch")],
            ),
        ];
        for (fields, expected) in rows {
            let expected: Noted = expected.iter().map(|(loc, kind)| ((*loc).to_owned(), *kind)).collect();
            assert_eq!(read(fields, user), Err(expected.clone()), "{fields}");
            assert_eq!(read(fields, contact), Err(expected), "{fields}");
        }
        let phone = json!({"identifier": "+4915112345678", "identifierType": "PHONE"});
        assert_eq!(read(&phone, user), Err(vec![("body.identifierType".to_owned(), "enum")]));
    }

    #[test]
    fn in_a_query_a_space_before_the_digits_of_a_phone_number_is_a_plus() {
        let number = ContactRef::Cellphone(Cellphone::parse("+4915112345678").unwrap());
        let refused = || Err(vec![("body.identifier".to_owned(), "string_pattern_mismatch")]);
        let sent = |text: &str| json!({"identifier": text, "identifierType": "PHONE"});
        assert_eq!(read(&sent(" 4915112345678"), contact_in_query), Ok(number));
        assert_eq!(read(&sent(" 4915112345678"), contact), refused());
        for text in ["4915112345678", "  4915112345678", " +4915112345678", "+ 4915112345678", " ", ""] {
            assert_eq!(read(&sent(text), contact_in_query), refused(), "{text:?}");
        }
    }
}
