//! The Cloud API's rules for a message that is a template, with or without the template that it names.

use serde_json::{Map, Value};

use super::fault::Fault;
use super::members::{length, only};

/// The code for each fault of a message against its template. Meta's pages do not say for every fault which code it gets, so
/// the choice is made here and nowhere else.
impl Fault {
    /// Another number of values than the component has places; a component that the template does not have.
    const COUNT: Self = Self::new(
        400,
        132_000,
        "Number of parameters does not match the expected number of params",
        "The number of values is wrong.",
    );
    /// The filled text is longer than its component may be.
    const LONG: Self = Self::new(400, 132_005, "Translated text too long", "The filled text is too long.");
    /// A value of another kind than its place, a header of another kind, a name where the template has places or the reverse.
    const KIND: Self = Self::new(
        400,
        132_012,
        "Parameter format does not match format in the created template",
        "A value has the wrong kind.",
    );
    /// The template is paused.
    const PAUSED: Self = Self::new(400, 132_015, "Template is Paused", "The template is paused.");
    /// The template was paused too often.
    const DISABLED: Self = Self::new(400, 132_016, "Template is Disabled", "The template is disabled.");
    /// A newline, a tab or more than four spaces in a text; a missing or wrong button; a code that is too long.
    const VALUES: Self =
        Self::new(400, 132_018, "There's an issue with the parameters in your template", "A value is wrong.");
}

/// The greatest number of characters of a filled header.
const MOST_HEADER: usize = 60;
/// The greatest number of characters of a filled body, unless the template's own text is longer.
const MOST_BODY: usize = 1_024;
/// The greatest number of characters of a code to copy.
const MOST_CODE: usize = 15;
/// The greatest number of characters of one value.
const MOST_VALUE: usize = 32_768;

/// Checks what every message of a template has, whichever template it names.
pub(super) fn check(kind: &str, content: &Map<String, Value>) -> Result<(), Fault> {
    only(content, kind, &["name", "language", "components"])?;
    length(kind, content, "name", 512)?;
    let Some(Value::Object(language)) = content.get("language") else {
        return Err(Fault::MISSING.because("Parameter template['language'] is required."));
    };
    only(language, "language", &["code"])?;
    length("language", language, "code", 16)?;
    let components = match content.get("components") {
        None => return Ok(()),
        Some(Value::Array(components)) => components,
        Some(_) => return Err(Fault::UNFIT.because("Param template['components'] must be an array.")),
    };
    components.iter().try_for_each(component)
}

const KINDS: [&str; 5] = ["header", "body", "button", "carousel", "limited_time_offer"];

fn component(component: &Value) -> Result<(), Fault> {
    let members = component.as_object().ok_or(Fault::UNFIT.because("A component must be an object."))?;
    let kind = component["type"].as_str().unwrap_or_default();
    let known: &[&str] = match kind {
        "carousel" => &["type", "cards"],
        "button" => &["type", "sub_type", "index", "parameters"],
        _ => &["type", "parameters"],
    };
    if !KINDS.contains(&kind) {
        return Err(Fault::INVALID.because(format!("A component must be one of {}.", KINDS.join(", "))));
    }
    only(members, "component", known)?;
    let list = if kind == "carousel" { "cards" } else { "parameters" };
    match component[list].as_array() {
        Some(given) if !given.is_empty() => Ok(()),
        _ => Err(Fault::UNFIT.because("A component without parameters must be left out.")),
    }
}

/// Checks a message whose template is not known: it may have values for the places of a body.
pub(in crate::simulator) fn positional(message: &Value) -> Result<(), Fault> {
    for component in sent_of(message) {
        if component["type"] != "body" {
            return Err(Fault::UNFIT.because("Only a body component is supported without a registry."));
        }
        for parameter in list(&component["parameters"]) {
            let members =
                parameter.as_object().ok_or(Fault::UNFIT.because("A parameter must be an object."))?;
            only(members, "parameter", &["type", "text"])?;
            if parameter["type"] != "text" {
                return Err(Fault::UNFIT.because("Only text parameters are supported without a registry."));
            }
            length("parameter", members, "text", MOST_VALUE)?;
            if !is_one_line(parameter["text"].as_str().unwrap_or_default()) {
                return Err(Fault::UNFIT.because(ONE_LINE));
            }
        }
    }
    Ok(())
}

/// Checks a message against the template that it names. `shown` is the template as the list of its account shows it.
pub(in crate::simulator) fn judged(shown: Option<&Value>, message: &Value) -> Result<(), Fault> {
    let Some(shown) = shown else { return Err(Fault::NO_TEMPLATE) };
    match shown["status"].as_str().unwrap_or_default() {
        "APPROVED" => {}
        "PAUSED" => return Err(Fault::PAUSED),
        "DISABLED" => return Err(Fault::DISABLED),
        _ => return Err(Fault::NO_TEMPLATE),
    }
    let is_named = shown["parameter_format"] == "NAMED";
    let whole = Part { shown: list(&shown["components"]), sent: sent_of(message), is_named };
    whole.judged()
}

/// The components of a template or of a card: those that its list shows, and those that a message has.
struct Part<'a> {
    shown: &'a [Value],
    sent: &'a [Value],
    is_named: bool,
}

impl<'a> Part<'a> {
    fn judged(&self) -> Result<(), Fault> {
        for kind in ["header", "body", "carousel", "limited_time_offer"] {
            let times = self.sent.iter().filter(|sent| sent["type"] == kind).count();
            if times > 1 {
                return Err(Fault::INVALID.because(format!("The component {kind} is repeated.")));
            }
        }
        self.header()?;
        let body = self.shown("BODY").and_then(|body| body["text"].as_str()).unwrap_or_default();
        self.text("body", body, MOST_BODY.max(body.chars().count()))?;
        self.offer()?;
        self.buttons()?;
        self.cards()
    }

    fn shown(&self, kind: &str) -> Option<&'a Value> {
        let is_kind = |shown: &&Value| shown["type"].as_str().is_some_and(|of| of.eq_ignore_ascii_case(kind));
        self.shown.iter().find(is_kind)
    }

    /// The values of a component.
    fn sent(&self, kind: &str) -> &'a [Value] {
        let sent = self.sent.iter().find(|sent| sent["type"] == kind);
        sent.map_or(&[], |sent| list(&sent["parameters"]))
    }

    fn header(&self) -> Result<(), Fault> {
        let format = self.shown("HEADER").and_then(|header| header["format"].as_str()).unwrap_or("TEXT");
        let kind = match format.to_ascii_uppercase().as_str() {
            "TEXT" => {
                let text = self.shown("HEADER").and_then(|header| header["text"].as_str());
                return self.text("header", text.unwrap_or_default(), MOST_HEADER);
            }
            format => format.to_ascii_lowercase(),
        };
        let mismatch = |received: &str| {
            let received = received.to_ascii_uppercase();
            Fault::KIND.because(format!("header: Format mismatch, expected {format}, received {received}"))
        };
        match self.sent("header") {
            [] => Err(mismatch("UNKNOWN")),
            [value] if value["type"] != kind.as_str() => {
                Err(mismatch(value["type"].as_str().unwrap_or("UNKNOWN")))
            }
            [value] if kind == "location" => place(&value["location"]),
            [value] => file(&kind, &value[&kind]),
            several => Err(count("header", several.len(), 1)),
        }
    }

    /// Checks the values of a text against its places.
    fn text(&self, kind: &str, text: &str, most: usize) -> Result<(), Fault> {
        let (names, sent) = (places(text), self.sent(kind));
        if names.len() != sent.len() {
            return Err(count(kind, sent.len(), names.len()));
        }
        let mut filled = text.to_owned();
        for (at, value) in sent.iter().enumerate() {
            let name = match (self.is_named, value["parameter_name"].as_str()) {
                (true, Some(name)) if names.iter().any(|known| known == name) => name.to_owned(),
                (false, None) => (at + 1).to_string(),
                (true, _) => {
                    return Err(
                        Fault::KIND.because(format!("{kind}: each value needs the name of its place."))
                    );
                }
                (false, Some(_)) => {
                    return Err(
                        Fault::KIND.because(format!("{kind}: the places of the template have no names."))
                    );
                }
            };
            filled = filled.replace(&format!("{{{{{name}}}}}"), line(kind, value)?);
        }
        if sent.is_empty() || filled.chars().count() <= most {
            return Ok(());
        }
        Err(Fault::LONG.because(format!("{kind}: the filled text has more than {most} characters.")))
    }

    fn offer(&self) -> Result<(), Fault> {
        let offer = self.shown("LIMITED_TIME_OFFER").map(|shown| &shown["limited_time_offer"]);
        let expires = offer.is_some_and(|offer| offer["has_expiration"] == true);
        match (expires, self.sent("limited_time_offer")) {
            (false, []) => Ok(()),
            (true, [value]) if value["limited_time_offer"]["expiration_time_ms"].is_u64() => Ok(()),
            (true, _) => Err(Fault::MISSING.because("Parameter expiration_time_ms is required.")),
            (false, sent) => Err(count("limited_time_offer", sent.len(), 0)),
        }
    }

    fn buttons(&self) -> Result<(), Fault> {
        let shown = self.shown("BUTTONS").map_or(&[][..], |buttons| list(&buttons["buttons"]));
        let sent: Vec<&Value> = self.sent.iter().filter(|sent| sent["type"] == "button").collect();
        let place = |sent: &Value| match &sent["index"] {
            Value::String(index) => index.parse::<usize>().ok(),
            index => index.as_u64().and_then(|index| index.try_into().ok()),
        };
        for button in &sent {
            if place(button).is_none_or(|at| at >= shown.len()) {
                return Err(Fault::VALUES.because("The template has no button at this index."));
            }
        }
        for (at, button) in shown.iter().enumerate() {
            let of_place: Vec<&&Value> = sent.iter().filter(|sent| place(sent) == Some(at)).collect();
            let takes = Takes::of(button);
            match (takes, &of_place[..]) {
                (Takes::Nothing | Takes::May(..), []) => {}
                (Takes::Must(..), []) => {
                    return Err(Fault::VALUES.because(format!("The button at index {at} needs a value.")));
                }
                (Takes::May(kind, value) | Takes::Must(kind, value), [given])
                    if given["sub_type"] == kind =>
                {
                    one_of_button(value, list(&given["parameters"]))?;
                }
                _ => {
                    return Err(
                        Fault::VALUES.because(format!("The button at index {at} takes another value."))
                    );
                }
            }
        }
        Ok(())
    }

    fn cards(&self) -> Result<(), Fault> {
        let shown = self.shown("CAROUSEL").map_or(&[][..], |carousel| list(&carousel["cards"]));
        let sent = self.sent.iter().find(|sent| sent["type"] == "carousel");
        let sent = sent.map_or(&[][..], |carousel| list(&carousel["cards"]));
        if shown.len() != sent.len() {
            return Err(count("carousel", sent.len(), shown.len()));
        }
        for (at, shown) in shown.iter().enumerate() {
            let sent = sent.iter().find(|sent| sent["card_index"].as_u64() == u64::try_from(at).ok());
            let sent = sent.ok_or_else(|| {
                Fault::MISSING.because(format!("The card with card_index {at} is missing."))
            })?;
            let (shown, sent) = (list(&shown["components"]), list(&sent["components"]));
            sent.iter().try_for_each(component)?;
            Part { shown, sent, is_named: self.is_named }.judged()?;
        }
        Ok(())
    }
}

/// What a button takes: the kind of its component, and the kind of its value.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    May(&'static str, &'static str),
    Must(&'static str, &'static str),
}

impl Takes {
    fn of(button: &Value) -> Self {
        match button["type"].as_str().unwrap_or_default().to_ascii_uppercase().as_str() {
            "QUICK_REPLY" => Self::May("quick_reply", "payload"),
            "FLOW" => Self::May("flow", "action"),
            "COPY_CODE" => Self::Must("copy_code", "coupon_code"),
            "OTP" => Self::Must("url", "text"),
            "URL" if button["url"].as_str().is_some_and(|url| url.contains("{{")) => {
                Self::Must("url", "text")
            }
            _ => Self::Nothing,
        }
    }
}

fn one_of_button(kind: &str, sent: &[Value]) -> Result<(), Fault> {
    let [value] = sent else { return Err(count("button", sent.len(), 1)) };
    if value["type"] != kind {
        return Err(Fault::KIND.because(format!("button: expected {kind}")));
    }
    match kind {
        "action" if value["action"].is_object() => Ok(()),
        "action" => Err(Fault::MISSING.because("Parameter action is required.")),
        kind => {
            let given = value[kind].as_str().filter(|given| !given.is_empty());
            let given =
                given.ok_or_else(|| Fault::MISSING.because(format!("Parameter {kind} is required.")))?;
            if kind == "coupon_code" && given.chars().count() > MOST_CODE {
                return Err(Fault::VALUES.because(format!("A code has at most {MOST_CODE} characters.")));
            }
            Ok(())
        }
    }
}

/// The text of a value.
fn line<'a>(kind: &str, value: &'a Value) -> Result<&'a str, Fault> {
    if value["type"] != "text" {
        return Err(Fault::KIND.because(format!("{kind}: expected a text")));
    }
    let text = value["text"].as_str().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| Fault::MISSING.because(format!("{kind}: Parameter text is required.")))?;
    if is_one_line(text) { Ok(text) } else { Err(Fault::VALUES.because(ONE_LINE)) }
}

const ONE_LINE: &str = "Param text cannot have new-line/tab characters or more than 4 consecutive spaces.";

fn is_one_line(text: &str) -> bool {
    !text.contains(['\n', '\t', '\r']) && !text.contains("     ")
}

fn file(kind: &str, file: &Value) -> Result<(), Fault> {
    let is_address =
        |link: &str| link.parse().is_ok_and(|url: url::Url| matches!(url.scheme(), "http" | "https"));
    match (file["link"].as_str(), file["id"].as_str()) {
        (Some(link), None) if is_address(link) => Ok(()),
        (None, Some(_)) => Ok(()),
        (None, None) => Err(Fault::MISSING.because(format!("Parameter {kind}['link'] is required."))),
        _ => Err(Fault::UNFIT.because(format!("Param {kind}['link'] is not a valid URI."))),
    }
}

fn place(place: &Value) -> Result<(), Fault> {
    let has =
        |name: &&str| place[*name].is_number() || place[*name].as_str().is_some_and(|text| !text.is_empty());
    match ["latitude", "longitude", "name", "address"].iter().find(|name| !has(name)) {
        None => Ok(()),
        Some(name) => Err(Fault::MISSING.because(format!("Parameter location['{name}'] is required."))),
    }
}

fn count(kind: &str, given: usize, expected: usize) -> Fault {
    Fault::COUNT.because(format!(
        "{kind}: number of localizable_params ({given}) does not match the expected number of params ({expected})"
    ))
}

/// The different places of a text, each once.
fn places(text: &str) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for after in text.split("{{").skip(1) {
        let name = after.split("}}").next().unwrap_or_default().trim();
        if !name.is_empty() && names.iter().all(|known| known != name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn sent_of(message: &Value) -> &[Value] {
    list(&message["template"]["components"])
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
