//! What customers do: from a short request to the provider's webhook.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::ChannelId;
use domain::media::SentAs;
use serde_json::{Map, Value, json};

use super::files::{File, MediaFault};
use super::line::{self, ACCOUNT, WebhookChange, display_number};
use super::person::CustomerIds;
use crate::simulator::whatsapp::{digits, is_user_id};

/// The most items of one request.
const MOST_ITEMS: usize = 100;

/// What a request makes.
pub(super) struct Inbound {
    pub(super) changes: Vec<WebhookChange>,
    /// The ids of the messages.
    pub(super) ids: Vec<String>,
    pub(super) files: Vec<File>,
}

/// The moment and the counter for what a request leaves open.
pub(super) struct Given<'a> {
    /// Seconds since the epoch.
    pub(super) now: u64,
    /// A new number at each call.
    pub(super) number: &'a (dyn Fn() -> u64 + Sync),
}

/// Reads a request: an object, or a list of objects for one webhook.
pub(super) fn read(body: &[u8], given: &Given<'_>) -> Result<Inbound, String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let mut inbound = Inbound { changes: vec![], ids: vec![], files: vec![] };
    match &body {
        Value::Object(item) => add(&mut inbound, item, given)?,
        Value::Array(items) if (1..=MOST_ITEMS).contains(&items.len()) => {
            for (at, item) in items.iter().enumerate() {
                let item = item.as_object().ok_or_else(|| format!("item {}: must be an object", at + 1))?;
                add(&mut inbound, item, given).map_err(|why| format!("item {}: {why}", at + 1))?;
            }
        }
        _ => return Err(format!("the body must be an object, or a list of 1 to {MOST_ITEMS} objects")),
    }
    Ok(inbound)
}

/// A kind of item, with the fields that it has beside [`COMMON`].
struct Kind {
    name: &'static str,
    fields: &'static [&'static str],
    make: Make,
}

#[derive(Clone, Copy)]
enum Make {
    /// A message: its content goes below the name of its type.
    Message(fn(&Item<'_>) -> Result<Value, String>),
    File(SentAs),
    /// A customer has a new number or user id.
    System,
    Preference,
    TemplateStatus,
    /// Any other change, as it is.
    Change,
}

/// The fields of all kinds.
const COMMON: [&str; 8] =
    ["type", "phoneNumberId", "businessAccountId", "from", "fromUserId", "name", "timestamp", "id"];

const fn message(
    name: &'static str,
    fields: &'static [&'static str],
    make: fn(&Item<'_>) -> Result<Value, String>,
) -> Kind {
    Kind { name, fields, make: Make::Message(make) }
}

const fn file(name: &'static str, sent_as: SentAs, fields: &'static [&'static str]) -> Kind {
    Kind { name, fields, make: Make::File(sent_as) }
}

static KINDS: [Kind; 18] = [
    message("text", &["text", "contextId"], |item| Ok(json!({ "body": item.needed("text")? }))),
    file("image", SentAs::Image, &["data", "mimeType", "mediaFault", "caption", "contextId"]),
    file("video", SentAs::Video, &["data", "mimeType", "mediaFault", "caption", "contextId"]),
    file("audio", SentAs::Audio, &["data", "mimeType", "mediaFault", "contextId"]),
    file(
        "document",
        SentAs::Document,
        &["data", "mimeType", "mediaFault", "caption", "fileName", "contextId"],
    ),
    file("sticker", SentAs::Sticker, &["data", "mimeType", "mediaFault", "contextId"]),
    message("location", &["latitude", "longitude", "placeName", "address", "contextId"], location),
    message("contacts", &["contacts", "contextId"], cards),
    message("button", &["text", "payload", "contextId"], |item| {
        let text = item.needed("text")?;
        Ok(json!({ "text": text, "payload": item.text("payload")?.unwrap_or(text) }))
    }),
    message("interactive", &["choiceId", "text", "description", "contextId"], choice),
    message("reaction", &["text", "contextId"], |item| {
        let mut reaction = json!({ "message_id": item.needed("contextId")? });
        item.copy("text", &mut reaction, "emoji")?;
        Ok(reaction)
    }),
    message("edit", &["text", "caption", "contextId"], |item| {
        let message = match (item.text("text")?, item.text("caption")?) {
            (Some(text), None) => json!({ "type": "text", "text": { "body": text } }),
            (None, Some(caption)) => json!({ "type": "image", "image": { "caption": caption } }),
            _ => return Err("an edit has either text or caption".to_owned()),
        };
        Ok(json!({ "original_message_id": item.needed("contextId")?, "message": message }))
    }),
    message("revoke", &["contextId"], |item| Ok(json!({ "original_message_id": item.needed("contextId")? }))),
    message("unsupported", &["text", "contextId"], |item| {
        Ok(json!({ "type": item.text("text")?.unwrap_or("unknown") }))
    }),
    Kind { name: "system", fields: &["newFrom", "newUserId"], make: Make::System },
    Kind { name: "preferences", fields: &["preference"], make: Make::Preference },
    Kind {
        name: "template",
        fields: &["templateName", "language", "event", "reason"],
        make: Make::TemplateStatus,
    },
    Kind { name: "change", fields: &["field", "value"], make: Make::Change },
];

/// The kinds whose content names the message that `contextId` is.
const NAMES_ITS_MESSAGE: [&str; 3] = ["reaction", "edit", "revoke"];

/// An item of a request.
struct Item<'a> {
    fields: &'a Map<String, Value>,
    kind: &'static Kind,
    given: &'a Given<'a>,
}

fn add(inbound: &mut Inbound, fields: &Map<String, Value>, given: &Given<'_>) -> Result<(), String> {
    let item = Item::new(fields, given)?;
    let (field, value) = match item.kind.make {
        Make::Message(content) => {
            let content = content(&item)?;
            ("messages", item.message(content, &mut inbound.ids)?)
        }
        Make::File(sent_as) => {
            let (file, content) = item.file(sent_as)?;
            inbound.files.push(file);
            ("messages", item.message(content, &mut inbound.ids)?)
        }
        Make::System => ("messages", item.moved(&mut inbound.ids)?),
        Make::Preference => ("user_preferences", item.preference()?),
        Make::TemplateStatus => ("message_template_status_update", item.template_status()?),
        Make::Change => (item.needed("field")?, fields.get("value").cloned().unwrap_or_default()),
    };
    let account = match (item.kind.make, item.text("businessAccountId")?) {
        (Make::TemplateStatus, None) => return Err("businessAccountId is required".to_owned()),
        (_, account) => account.unwrap_or(ACCOUNT).to_owned(),
    };
    inbound.changes.push(WebhookChange { account, field: field.to_owned(), value });
    Ok(())
}

impl<'a> Item<'a> {
    fn new(fields: &'a Map<String, Value>, given: &'a Given<'a>) -> Result<Self, String> {
        let name = match fields.get("type") {
            None => "text",
            Some(name) => name.as_str().ok_or("type must be a text")?,
        };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            format!("type must be one of {}", names.join(", "))
        })?;
        let is_known =
            |field: &&String| COMMON.contains(&field.as_str()) || kind.fields.contains(&field.as_str());
        match fields.keys().find(|field| !is_known(field)) {
            Some(field) => Err(format!(
                "{field} is no field of the type {name}; beside {} it has {}",
                COMMON.join(", "),
                kind.fields.join(", ")
            )),
            None => Ok(Self { fields, kind, given }),
        }
    }

    /// A text that is not empty.
    fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.fields.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => Err(format!("{name} must be a text that is not empty")),
        }
    }

    fn needed(&self, name: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| format!("{name} is required"))
    }

    fn copy(&self, name: &str, into: &mut Value, under: &str) -> Result<(), String> {
        if let Some(text) = self.text(name)? {
            into[under] = json!(text);
        }
        Ok(())
    }

    fn line(&self) -> Result<&'a str, String> {
        let line = self.needed("phoneNumberId")?;
        ChannelId::parse(line).map_err(|_| "phoneNumberId must be the id of a line".to_owned())?;
        Ok(line)
    }

    /// The number and the user id in these two fields.
    fn person(&self, number: &str, user_id: &str) -> Result<CustomerIds, String> {
        let id = self.text(user_id)?;
        if id.is_some_and(|id| !is_user_id(id)) {
            return Err(format!("{user_id} must be a user id, such as ES.1000"));
        }
        let id = id.map(str::to_owned);
        match self.text(number)? {
            None if id.is_none() => Err(format!("{number} or {user_id} is required")),
            None => Ok(CustomerIds { wa_id: None, user_id: id }),
            Some(given) => {
                let digits = digits(given).ok_or_else(|| {
                    format!("{number} must be a phone number with country code, such as +34600111222")
                })?;
                let person = CustomerIds::of_number(&digits);
                Ok(CustomerIds { user_id: id.or(person.user_id), ..person })
            }
        }
    }

    fn seconds(&self) -> Result<u64, String> {
        match self.fields.get("timestamp") {
            None => Ok(self.given.now),
            Some(seconds) => {
                seconds.as_u64().ok_or_else(|| "timestamp must be a number of seconds since 1970".to_owned())
            }
        }
    }

    fn id(&self, ids: &mut Vec<String>) -> Result<String, String> {
        let id = match self.text("id")? {
            Some(id) if !id.starts_with("wamid.") => return Err("id must begin with wamid.".to_owned()),
            Some(id) => id.to_owned(),
            None => format!("wamid.{}", STANDARD.encode(format!("inbound-{}", (self.given.number)()))),
        };
        ids.push(id.clone());
        Ok(id)
    }

    /// A change of the line with a message.
    fn message(&self, content: Value, ids: &mut Vec<String>) -> Result<Value, String> {
        let (line, from) = (self.line()?, self.person("from", "fromUserId")?);
        let name = self.kind.name;
        let mut message = json!({
            "id": self.id(ids)?,
            "timestamp": self.seconds()?.to_string(),
            "type": name,
            name: content,
        });
        if name == "unsupported" {
            message["errors"] = json!([{
                "code": 131_051,
                "title": "Message type unknown",
                "message": "Message type unknown",
                "error_data": { "details": "Message type is currently not supported." },
            }]);
        }
        if let Some(id) = self.text("contextId")?.filter(|_| !NAMES_ITS_MESSAGE.contains(&name)) {
            message["context"] = json!({ "from": display_number(line), "id": id });
        }
        let mut value = line::value(line);
        value["contacts"] = json!([from.contact(self.text("name")?)]);
        if let Some(wa_id) = from.wa_id {
            message["from"] = json!(wa_id);
        }
        if let Some(user_id) = from.user_id {
            message["from_user_id"] = json!(user_id);
        }
        value["messages"] = json!([message]);
        Ok(value)
    }

    /// A file, and the content of the message with it.
    fn file(&self, sent_as: SentAs) -> Result<(File, Value), String> {
        let (default_type, flag) = match sent_as {
            SentAs::Image => ("image/jpeg", None),
            SentAs::Video => ("video/mp4", None),
            SentAs::Audio => ("audio/ogg", Some("voice")),
            SentAs::Document => ("application/pdf", None),
            SentAs::Sticker => ("image/webp", Some("animated")),
        };
        let fault = match self.text("mediaFault")? {
            None => None,
            Some(name) => Some(fault(name)?),
        };
        let data = STANDARD.decode(self.needed("data")?).map_err(|_| "data must be Base64".to_owned())?;
        let mime_type = self.text("mimeType")?.unwrap_or(default_type).to_owned();
        let id = format!("{}", 1_000_000_000_000_000 + (self.given.number)());
        let file = File::new(id, sent_as, mime_type, data, fault);
        let mut content =
            json!({ "id": file.id, "mime_type": file.mime_type, "sha256": file.digest_in_webhooks() });
        if let Some(flag) = flag {
            content[flag] = json!(false);
        }
        self.copy("caption", &mut content, "caption")?;
        self.copy("fileName", &mut content, "filename")?;
        Ok((file, content))
    }

    /// The change of a number, or of a user id if there is no number. No contact stands beside it.
    fn moved(&self, ids: &mut Vec<String>) -> Result<Value, String> {
        let from = self.person("from", "fromUserId")?;
        let to = self.person("newFrom", "newUserId")?;
        let mut system = match (&from.wa_id, &to.wa_id) {
            (Some(from), Some(to)) => json!({
                "type": "user_changed_number",
                "body": format!("User changed from {from} to {to}"),
                "wa_id": to,
            }),
            (None, None) => json!({ "type": "user_changed_user_id", "body": "User changed the user id" }),
            _ => return Err("from and newFrom must both be given, or neither".to_owned()),
        };
        if let (Some(previous), Some(id)) = (&from.user_id, &to.user_id) {
            system["previous_user_id"] = json!(previous);
            system["user_id"] = json!(id);
        }
        let mut message = json!({
            "id": self.id(ids)?,
            "timestamp": self.seconds()?.to_string(),
            "type": "system",
            "system": system,
        });
        if let Some(wa_id) = from.wa_id {
            message["from"] = json!(wa_id);
        }
        let mut value = line::value(self.line()?);
        value["messages"] = json!([message]);
        Ok(value)
    }

    fn preference(&self) -> Result<Value, String> {
        let from = self.person("from", "fromUserId")?;
        let word = self.needed("preference")?;
        if !matches!(word, "stop" | "resume") {
            return Err("preference must be stop or resume".to_owned());
        }
        let mut preference = json!({
            "detail": format!("User requested to {word} marketing messages"),
            "category": "marketing_messages",
            "value": word,
            "timestamp": self.seconds()?,
        });
        let mut value = line::value(self.line()?);
        value["contacts"] = json!([from.contact(self.text("name")?)]);
        if let Some(wa_id) = from.wa_id {
            preference["wa_id"] = json!(wa_id);
        }
        if let Some(user_id) = from.user_id {
            preference["user_id"] = json!(user_id);
        }
        value["user_preferences"] = json!([preference]);
        Ok(value)
    }

    fn template_status(&self) -> Result<Value, String> {
        Ok(json!({
            "event": self.needed("event")?,
            "message_template_id": 1_000_000_000_000_000 + (self.given.number)(),
            "message_template_name": self.needed("templateName")?,
            "message_template_language": self.needed("language")?,
            "reason": self.text("reason")?.unwrap_or("NONE"),
        }))
    }
}

fn fault(name: &str) -> Result<MediaFault, String> {
    let known = MediaFault::NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, fault)| *fault).ok_or_else(|| {
        let names: Vec<&str> = MediaFault::NAMES.iter().map(|(name, _)| *name).collect();
        format!("mediaFault must be one of {}", names.join(", "))
    })
}

fn location(item: &Item<'_>) -> Result<Value, String> {
    let degrees = |name: &str, most: f64| {
        let degrees = item.fields.get(name).and_then(Value::as_f64);
        degrees
            .filter(|degrees| degrees.abs() <= most)
            .ok_or_else(|| format!("{name} must be a number from -{most} to {most}"))
    };
    let mut place =
        json!({ "latitude": degrees("latitude", 90.0)?, "longitude": degrees("longitude", 180.0)? });
    item.copy("placeName", &mut place, "name")?;
    item.copy("address", &mut place, "address")?;
    Ok(place)
}

/// Cards of people: `[{name, phones, emails}]`.
fn cards(item: &Item<'_>) -> Result<Value, String> {
    const FORM: &str = "contacts must be a list of {name, phones, emails} with lists of texts";
    let card = |card: &Value| {
        let known = ["name", "phones", "emails"];
        let is_known = card.as_object()?.keys().all(|field| known.contains(&field.as_str()));
        let name = card["name"].as_str().filter(|_| is_known)?;
        let list = |list: &str, field: &str, kind: &str| {
            let texts = card.get(list).map_or(Some(&[][..]), |list| list.as_array().map(Vec::as_slice))?;
            texts
                .iter()
                .map(|text| Some(json!({ field: text.as_str()?, "type": kind })))
                .collect::<Option<Vec<_>>>()
        };
        Some(json!({
            "name": { "formatted_name": name, "first_name": name },
            "phones": list("phones", "phone", "CELL")?,
            "emails": list("emails", "email", "HOME")?,
        }))
    };
    let all = item.fields.get("contacts").and_then(Value::as_array).filter(|all| !all.is_empty());
    all.and_then(|all| all.iter().map(card).collect::<Option<Value>>()).ok_or_else(|| FORM.to_owned())
}

/// The choice of a list, if it has a description, otherwise of a reply button.
fn choice(item: &Item<'_>) -> Result<Value, String> {
    let mut choice = json!({ "id": item.needed("choiceId")?, "title": item.needed("text")? });
    let kind = if item.text("description")?.is_some() { "list_reply" } else { "button_reply" };
    item.copy("description", &mut choice, "description")?;
    Ok(json!({ "type": kind, kind: choice }))
}
