//! The components of a template: as the provider takes them with values, and as it shows them.

use std::collections::BTreeMap;

use domain::Timestamp;
use domain::settings::template::{
    Button, ButtonKind, Card, FileKind, Form, Header, Offer, ParameterFormat, Text,
};
use serde_json::{Map, Value, json};

/// The values of a template by the names of their slots. A file is the address from which the provider downloads it.
pub type Values = BTreeMap<String, String>;

/// The array `components` of a message. Components without values are left out.
pub(crate) fn components(form: &Form, values: &Values) -> Vec<Value> {
    let of = Component { format: form.format, values, prefix: String::new() };
    let mut components = vec![];
    match &form.header {
        Some(Header::Text(text)) => components.extend(of.text("header", "header.", text)),
        Some(Header::File(kind)) => components.extend(of.file(*kind)),
        Some(Header::Location) => components.extend(of.location()),
        None => {}
    }
    components.extend(of.text("body", "", &form.body));
    if form.offer.is_some() {
        components.extend(of.offer());
    }
    components.extend(of.buttons(&form.buttons, &form.body));
    let card = |(number, card): (usize, &Card)| {
        let of = Component { prefix: format!("card.{number}."), ..of.clone() };
        let parts = of.file(card.header).into_iter().chain(of.text("body", "", &card.body));
        let parts: Vec<Value> = parts.chain(of.buttons(&card.buttons, &card.body)).collect();
        json!({ "card_index": number, "components": parts })
    };
    let cards: Vec<Value> = form.cards.iter().enumerate().map(card).collect();
    if !cards.is_empty() {
        components.push(json!({ "type": "carousel", "cards": cards }));
    }
    components
}

/// What the components of a message or of a card have in common.
#[derive(Clone)]
struct Component<'a> {
    format: ParameterFormat,
    values: &'a Values,
    prefix: String,
}

impl Component<'_> {
    fn value(&self, slot: &str) -> Option<&str> {
        self.values.get(&format!("{}{slot}", self.prefix)).map(String::as_str)
    }

    fn text(&self, component: &str, prefix: &str, text: &Text) -> Option<Value> {
        let parameter = |name: &String| {
            let mut parameter = json!({ "type": "text", "text": self.value(&format!("{prefix}{name}"))? });
            if self.format == ParameterFormat::Named {
                parameter["parameter_name"] = json!(name);
            }
            Some(parameter)
        };
        let parameters: Vec<Value> = text.names.iter().filter_map(parameter).collect();
        (!parameters.is_empty()).then(|| json!({ "type": component, "parameters": parameters }))
    }

    fn file(&self, kind: FileKind) -> Option<Value> {
        let word = kind.as_str();
        let mut file = json!({ "link": self.value(&format!("header.{word}"))? });
        if let Some(name) = self.value("header.filename") {
            file["filename"] = json!(name);
        }
        Some(json!({ "type": "header", "parameters": [{ "type": word, word: file }] }))
    }

    fn location(&self) -> Option<Value> {
        let place = json!({
            "latitude": self.value("header.latitude")?,
            "longitude": self.value("header.longitude")?,
            "name": self.value("header.name")?,
            "address": self.value("header.address")?,
        });
        Some(json!({ "type": "header", "parameters": [{ "type": "location", "location": place }] }))
    }

    fn offer(&self) -> Option<Value> {
        let ends = Timestamp::parse(self.value("offer.expiresAt")?)?.as_millis();
        let parameter =
            json!({ "type": "limited_time_offer", "limited_time_offer": { "expiration_time_ms": ends } });
        Some(json!({ "type": "limited_time_offer", "parameters": [parameter] }))
    }

    fn buttons(&self, buttons: &[Button], body: &Text) -> Vec<Value> {
        let button = |(number, button): (usize, &Button)| {
            let of_button = |slot: &str| self.value(&format!("button.{number}.{slot}"));
            let (kind, parameter) = match &button.kind {
                ButtonKind::QuickReply => {
                    ("quick_reply", json!({ "type": "payload", "payload": of_button("payload")? }))
                }
                ButtonKind::Url(_) => ("url", json!({ "type": "text", "text": of_button("url")? })),
                ButtonKind::Otp => {
                    let code = self.value(body.names.first()?)?;
                    ("url", json!({ "type": "text", "text": code }))
                }
                ButtonKind::CopyCode => {
                    ("copy_code", json!({ "type": "coupon_code", "coupon_code": of_button("code")? }))
                }
                ButtonKind::Flow => ("flow", flow(of_button("flowToken"), of_button("flowData"))?),
                ButtonKind::PhoneNumber(_) | ButtonKind::VoiceCall => return None,
            };
            Some(json!({
                "type": "button", "sub_type": kind, "index": number.to_string(), "parameters": [parameter],
            }))
        };
        buttons.iter().enumerate().filter_map(button).collect()
    }
}

fn flow(token: Option<&str>, data: Option<&str>) -> Option<Value> {
    let mut action = Map::new();
    if let Some(token) = token {
        action.insert("flow_token".to_owned(), json!(token));
    }
    if let Some(data) = data.and_then(|data| serde_json::from_str::<Value>(data).ok()) {
        action.insert("flow_action_data".to_owned(), data);
    }
    (!action.is_empty()).then(|| json!({ "type": "action", "action": action }))
}

/// Reads a template's components as the provider shows them: the object of a template, or its array `components`. The error says
/// what is wrong with them. A component of a kind that the service does not send makes the whole form unsupported.
pub fn read_form(template: &Value) -> Result<Form, String> {
    let components = template.as_array().or_else(|| template["components"].as_array());
    let components = components.ok_or("a template should be an object with the array components")?;
    let format = match template["parameter_format"].as_str() {
        Some("NAMED") => ParameterFormat::Named,
        Some("POSITIONAL") | None => ParameterFormat::Positional,
        Some(other) => return Err(format!("the format of parameters {other} is not known")),
    };
    let mut form = Form { format, ..Form::of_names(vec![]) };
    form.ttl_seconds =
        template["message_send_ttl_seconds"].as_u64().and_then(|seconds| seconds.try_into().ok());
    for component in components {
        if read_component(&mut form, component).is_none() {
            let mut raw = json!(components).to_string();
            let cut = raw.floor_char_boundary(Form::MAX_RAW);
            raw.truncate(cut);
            form.unsupported = Some(raw);
        }
    }
    if form.body.text.is_none() && form.unsupported.is_none() {
        return Err("a template should have a BODY with its text".to_owned());
    }
    Ok(form)
}

fn read_component(form: &mut Form, component: &Value) -> Option<()> {
    let word = component["type"].as_str()?.to_ascii_uppercase();
    match word.as_str() {
        "HEADER" => form.header = Some(read_header(component, form.format)?),
        "BODY" => form.body = read_text(component, form.format, Form::MAX_LONG_BODY)?,
        "FOOTER" => form.footer = Some(component["text"].as_str()?.chars().take(Form::MAX_HEADER).collect()),
        "BUTTONS" => form.buttons = read_buttons(component)?,
        "LIMITED_TIME_OFFER" => {
            let offer = &component["limited_time_offer"];
            let text = offer["text"].as_str().unwrap_or_default().to_owned();
            form.offer = Some(Offer { text, expires: offer["has_expiration"].as_bool().unwrap_or(false) });
        }
        "CAROUSEL" => form.cards = read_cards(component, form.format)?,
        _ => return None,
    }
    Some(())
}

fn read_text(component: &Value, format: ParameterFormat, max: usize) -> Option<Text> {
    let text = component["text"].as_str().filter(|text| text.chars().count() <= max)?;
    Some(Text::parse(text, format)).filter(|text| text.names.len() <= domain::Template::MAX_VARIABLES)
}

fn read_header(component: &Value, format: ParameterFormat) -> Option<Header> {
    Some(match component["format"].as_str()?.to_ascii_uppercase().as_str() {
        "TEXT" => {
            Header::Text(read_text(component, format, Form::MAX_HEADER).filter(|text| text.names.len() <= 1)?)
        }
        "LOCATION" => Header::Location,
        _ => Header::File(read_file_kind(component)?),
    })
}

fn read_file_kind(component: &Value) -> Option<FileKind> {
    FileKind::parse(&component["format"].as_str()?.to_ascii_lowercase()).ok()
}

fn read_buttons(component: &Value) -> Option<Vec<Button>> {
    let buttons = component["buttons"].as_array().filter(|all| all.len() <= Form::MAX_BUTTONS)?;
    buttons.iter().map(read_button).collect()
}

/// The provider shows a button that copies a code as one that opens this address.
const OTP_ADDRESS: &str = "/otp/code/";

fn read_button(button: &Value) -> Option<Button> {
    let word = button["type"].as_str()?.to_ascii_uppercase();
    let kind = match word.as_str() {
        "QUICK_REPLY" => ButtonKind::QuickReply,
        "URL" => match button["url"].as_str()? {
            url if url.contains(OTP_ADDRESS) && url.contains("{{") => ButtonKind::Otp,
            url => ButtonKind::Url(url.to_owned()),
        },
        "PHONE_NUMBER" => ButtonKind::PhoneNumber(button["phone_number"].as_str()?.to_owned()),
        "VOICE_CALL" => ButtonKind::VoiceCall,
        "COPY_CODE" => ButtonKind::CopyCode,
        "FLOW" => ButtonKind::Flow,
        "OTP" => ButtonKind::Otp,
        _ => return None,
    };
    Some(Button { text: button["text"].as_str().unwrap_or_default().to_owned(), kind })
}

fn read_cards(component: &Value, format: ParameterFormat) -> Option<Vec<Card>> {
    let cards = component["cards"].as_array().filter(|all| all.len() <= Form::MAX_CARDS)?;
    let card = |card: &Value| {
        let parts = card["components"].as_array()?;
        let part = |word: &str| {
            parts.iter().find(|part| part["type"].as_str().is_some_and(|of| of.eq_ignore_ascii_case(word)))
        };
        let known = ["HEADER", "BODY", "BUTTONS"].map(part);
        let [header, body, buttons] = known;
        if known.iter().flatten().count() != parts.len() {
            return None;
        }
        Some(Card {
            header: read_file_kind(header?)?,
            body: body
                .map_or(Some(Text::parse("", format)), |body| read_text(body, format, Form::MAX_BODY))?,
            buttons: buttons.map_or(Some(vec![]), read_buttons)?,
        })
    };
    cards.iter().map(card).collect()
}

#[cfg(test)]
mod tests;
