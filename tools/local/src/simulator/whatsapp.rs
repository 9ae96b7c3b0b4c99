//! The Cloud API's rules for a message.

mod fault;
mod members;
mod template;

use serde_json::{Map, Value};

use members::{length, only};

pub use fault::Fault;
pub(super) use template::{judged, positional};

/// The recipient of a message, as the call names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recipient {
    /// The digits of the dialled number.
    Number(String),
    /// The id of the person for this business.
    UserId(String),
}

impl Recipient {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Number(id) | Self::UserId(id) => id,
        }
    }
}

/// Returns the recipient if the message is valid. `to` has precedence over `recipient`.
pub(super) fn recipient(message: &Value) -> Result<Recipient, Fault> {
    let Value::Object(members) = message else {
        return Err(Fault::INVALID.because("The body is not a JSON object."));
    };
    if message["messaging_product"] != "whatsapp" {
        return Err(
            Fault::INVALID.because("The parameter messaging_product is required and must be whatsapp.")
        );
    }
    if members.contains_key("recipient_type") && message["recipient_type"] != "individual" {
        return Err(Fault::INVALID.because("Param recipient_type must be individual."));
    }
    let recipient = match (message["to"].as_str(), message["recipient"].as_str()) {
        (Some(to), _) => Recipient::Number(
            digits(to).ok_or_else(|| Fault::UNFIT.because("Parameter 'to' is not a phone number."))?,
        ),
        (None, Some(id)) if is_user_id(id) => Recipient::UserId(id.to_owned()),
        (None, Some(_)) => return Err(Fault::UNFIT.because("Parameter 'recipient' is not a user id.")),
        (None, None) => return Err(Fault::MISSING.because("Parameter 'to' is required.")),
    };
    let kind = message["type"].as_str().unwrap_or("text");
    let Some((_, check)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        return Err(Fault::INVALID.because(format!("Param type must be one of {}.", words(KINDS))));
    };
    only(members, "", &[&MEMBERS[..], &[kind]].concat())?;
    let Value::Object(content) = &message[kind] else {
        return Err(Fault::MISSING.because(format!("Parameter '{kind}' is mandatory for type '{kind}'.")));
    };
    check(kind, content)?;
    if let Some(context) = members.get("context")
        && !context["message_id"].as_str().is_some_and(|id| id.starts_with("wamid."))
    {
        return Err(Fault::UNFIT.because("Parameter context['message_id'] is not the id of a message."));
    }
    if let Some(data) = members.get("biz_opaque_callback_data")
        && !data.as_str().is_some_and(|data| (1..=512).contains(&data.chars().count()))
    {
        return Err(
            Fault::UNFIT.because("Param biz_opaque_callback_data must be a text of 1 to 512 characters.")
        );
    }
    Ok(recipient)
}

/// The members of a message of any type.
const MEMBERS: [&str; 7] =
    ["messaging_product", "recipient_type", "to", "recipient", "type", "context", "biz_opaque_callback_data"];

/// The digits of a phone number, which may begin with a plus.
pub(super) fn digits(number: &str) -> Option<String> {
    let digits = number.strip_prefix('+').unwrap_or(number);
    let fits = (8..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| digits.to_owned())
}

/// Whether this is a user id: the code of a country, a point, and letters, digits or points.
pub(super) fn is_user_id(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    id.split_once('.').is_some_and(|(country, rest)| {
        country.len() == 2
            && country.bytes().all(|byte| byte.is_ascii_uppercase())
            && (1..=125).contains(&rest.len())
            && rest.bytes().all(is_part)
    })
}

type Check = fn(&str, &Map<String, Value>) -> Result<(), Fault>;

const KINDS: &[(&str, Check)] = &[
    ("audio", media),
    ("document", media),
    ("image", media),
    ("sticker", media),
    ("template", template::check),
    ("text", text),
    ("video", media),
];

fn text(kind: &str, content: &Map<String, Value>) -> Result<(), Fault> {
    only(content, kind, &["body", "preview_url"])?;
    length(kind, content, "body", 4_096)?;
    match content.get("preview_url") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(_) => Err(Fault::UNFIT.because("Param text['preview_url'] must be a boolean.")),
    }
}

fn media(kind: &str, content: &Map<String, Value>) -> Result<(), Fault> {
    let known: &[&str] = match kind {
        "audio" | "sticker" => &["link"],
        "document" => &["link", "caption", "filename"],
        _ => &["link", "caption"],
    };
    only(content, kind, known)?;
    let link = content.get("link").and_then(Value::as_str);
    let link =
        link.ok_or_else(|| Fault::MISSING.because(format!("Parameter {kind}['link'] is required.")))?;
    if !link.parse().is_ok_and(|url: url::Url| matches!(url.scheme(), "http" | "https")) {
        return Err(Fault::UNFIT.because(format!("Param {kind}['link'] is not a valid URI.")));
    }
    for (name, most) in [("caption", 1_024), ("filename", 255)] {
        if content.contains_key(name) {
            length(kind, content, name, most)?;
        }
    }
    Ok(())
}

fn words(kinds: &[(&str, Check)]) -> String {
    kinds.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A template is one that no registry knows.
    fn code_of(message: &Value) -> Result<Recipient, u32> {
        let checked = recipient(message).and_then(|to| positional(message).map(|()| to));
        checked.map_err(|fault| fault.code)
    }

    fn number() -> Recipient {
        Recipient::Number("12025550101".to_owned())
    }

    fn message(kind: &str, content: Value) -> Value {
        json!({ "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+12025550101", "type": kind, kind: content })
    }

    #[test]
    fn documented_messages_are_accepted() {
        let link = "https://files.example/x?signed";
        let parameter = json!({ "type": "text", "text": "Ana" });
        let rows = [
            message("text", json!({ "body": "x".repeat(4_096), "preview_url": false })),
            message("image", json!({ "link": link, "caption": "x".repeat(1_024) })),
            message("video", json!({ "link": link })),
            message("audio", json!({ "link": link })),
            message("sticker", json!({ "link": link })),
            message("document", json!({ "link": link, "caption": "c", "filename": "a.pdf" })),
            message("template", json!({ "name": "n", "language": { "code": "es" } })),
            message(
                "template",
                json!({ "name": "n", "language": { "code": "en_US" }, "components": [{ "type": "body", "parameters": [parameter] }] }),
            ),
        ];
        for row in rows {
            assert_eq!(code_of(&row), Ok(number()), "{row}");
        }
        let mut plain = message("text", json!({ "body": "x" }));
        plain["to"] = json!("12025550101");
        plain["context"] = json!({ "message_id": "wamid.1" });
        plain["biz_opaque_callback_data"] = json!("x".repeat(512));
        assert_eq!(code_of(&plain), Ok(number()), "`to` may omit the plus");
        plain["recipient"] = json!("US.7");
        assert_eq!(code_of(&plain), Ok(number()), "`to` has precedence");
        plain.as_object_mut().unwrap().remove("to");
        assert_eq!(code_of(&plain), Ok(Recipient::UserId("US.7".to_owned())));
    }

    #[test]
    fn messages_that_the_cloud_api_refuses_are_refused() {
        let with = |name: &str, value: Value| {
            let mut message = message("text", json!({ "body": "x" }));
            message[name] = value;
            message
        };
        let by_user_id = |id: &str| {
            let mut message = with("recipient", json!(id));
            message["to"] = json!(null);
            message
        };
        let body_component = |parameters: Value| {
            let components = json!([{ "type": "body", "parameters": parameters }]);
            message(
                "template",
                json!({ "name": "n", "language": { "code": "es" }, "components": components }),
            )
        };
        let rows = [
            (json!(null), 100),
            (json!({}), 100),
            (with("messaging_product", json!("sms")), 100),
            (with("recipient_type", json!("group")), 100),
            (with("to", json!(null)), 131_008),
            (with("to", json!("ana")), 131_009),
            (with("to", json!("+1202")), 131_009),
            (by_user_id("US"), 131_009),
            (by_user_id("US."), 131_009),
            (by_user_id("us.7"), 131_009),
            (by_user_id("US.7 "), 131_009),
            (by_user_id(&format!("US.{}", "7".repeat(126))), 131_009),
            (with("biz_opaque_callback_data", json!("x".repeat(513))), 131_009),
            (with("biz_opaque_callback_data", json!("")), 131_009),
            (with("biz_opaque_callback_data", json!(7)), 131_009),
            (with("type", json!("poem")), 100),
            (with("surprise", json!(1)), 100),
            (with("context", json!({ "message_id": "1" })), 131_009),
            (message("text", json!("x")), 131_008),
            (message("text", json!({})), 131_008),
            (message("text", json!({ "body": "" })), 131_008),
            (message("text", json!({ "body": "x".repeat(4_097) })), 100),
            (message("text", json!({ "body": "x", "preview_url": "no" })), 131_009),
            (message("image", json!({ "caption": "x" })), 131_008),
            (message("image", json!({ "link": "files/x" })), 131_009),
            (message("image", json!({ "link": "https://h/x", "caption": "x".repeat(1_025) })), 100),
            (message("image", json!({ "link": "https://h/x", "filename": "x" })), 100),
            (message("audio", json!({ "link": "https://h/x", "caption": "x" })), 100),
            (message("sticker", json!({ "link": "https://h/x", "caption": "x" })), 100),
            (message("template", json!({ "language": { "code": "es" } })), 131_008),
            (message("template", json!({ "name": "n" })), 131_008),
            (message("template", json!({ "name": "n", "language": {} })), 131_008),
            (
                message("template", json!({ "name": "n", "language": { "code": "es" }, "components": {} })),
                131_009,
            ),
            (body_component(json!([])), 131_009),
            (body_component(json!([{ "type": "currency", "text": "x" }])), 131_009),
            (body_component(json!([{ "type": "text" }])), 131_008),
            (body_component(json!([{ "type": "text", "text": "a\nb" }])), 131_009),
            (body_component(json!([{ "type": "text", "text": "a     b" }])), 131_009),
        ];
        for (row, code) in rows {
            assert_eq!(code_of(&row), Err(code), "{row}");
        }
    }
}
