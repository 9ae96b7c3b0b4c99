//! The form of a template: its components at the provider, and the slots that a send fills.

use sha2::{Digest, Sha256};

use crate::encoding::hex;
use crate::media::{Attached, FileType};
use crate::words::words;

/// What the provider shows of a template, and how its parameters are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// How the parameters of texts are named.
    pub format: ParameterFormat,
    /// The header.
    pub header: Option<Header>,
    /// The body.
    pub body: Text,
    /// The footer, which has no parameters.
    pub footer: Option<String>,
    /// The buttons, at most [`Form::MAX_BUTTONS`].
    pub buttons: Vec<Button>,
    /// The limited-time offer.
    pub offer: Option<Offer>,
    /// The cards of a carousel, at most [`Form::MAX_CARDS`].
    pub cards: Vec<Card>,
    /// For how many seconds the provider tries to deliver a message; `None` for its default.
    pub ttl_seconds: Option<u32>,
    /// The components as JSON, at most [`Form::MAX_RAW`] bytes, if one of them is of a kind that the service does not send.
    pub unsupported: Option<String>,
}

/// How the parameters of a template's texts are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterFormat {
    /// By their places: `1`, `2`.
    #[default]
    Positional,
    /// By names.
    Named,
}

words!(
    /// The provider's words.
    ParameterFormat { Positional: "POSITIONAL", Named: "NAMED" }
);

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// A text with at most one parameter.
    Text(Text),
    /// A file.
    File(FileKind),
    /// A place.
    Location,
}

/// The kinds of files in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A picture.
    Image,
    /// A film.
    Video,
    /// A document.
    Document,
}

words!(
    /// The names of the slots, and of the provider's parameters.
    FileKind { Image: "image", Video: "video", Document: "document" }
);

/// A text with `{{parameters}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text. `None` if an operator entered the parameters without it.
    pub text: Option<String>,
    /// The names of the parameters, in the order in which the provider takes them.
    pub names: Vec<String>,
}

/// A button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The text on the button.
    pub text: String,
    /// What the button does.
    pub kind: ButtonKind,
}

/// What a button does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ButtonKind {
    /// Sends its payload as a reply.
    QuickReply,
    /// Opens this address, which may end with a parameter.
    Url(String),
    /// Calls this number.
    PhoneNumber(String),
    /// Calls the business in WhatsApp.
    VoiceCall,
    /// Copies a code.
    CopyCode,
    /// Opens a flow.
    Flow,
    /// Copies or fills in the code of the body.
    Otp,
}

/// A limited-time offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The text.
    pub text: String,
    /// Whether the message shows when the offer ends.
    pub expires: bool,
}

/// A card of a carousel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The file of the card.
    pub header: FileKind,
    /// The text of the card.
    pub body: Text,
    /// The buttons of the card.
    pub buttons: Vec<Button>,
}

/// A place in a template that a send fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The name, such as `1`, `header.image` or `card.0.button.1.url`.
    pub name: String,
    /// What the place takes.
    pub kind: SlotKind,
}

/// What a slot takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// A text of one line.
    Text,
    /// A picture.
    Image,
    /// A film.
    Video,
    /// A document.
    Document,
    /// The name under which a document is shown.
    FileName,
    /// Degrees north.
    Latitude,
    /// Degrees east.
    Longitude,
    /// The end of a button's address.
    UrlSuffix,
    /// What a quick reply sends back.
    Payload,
    /// A code to copy.
    Code,
    /// The token of a flow.
    FlowToken,
    /// The data of a flow's first screen: a JSON object.
    FlowData,
    /// A moment in the future.
    Moment,
}

words!(
    /// The words of the API.
    SlotKind {
        Text: "TEXT",
        Image: "IMAGE",
        Video: "VIDEO",
        Document: "DOCUMENT",
        FileName: "FILE_NAME",
        Latitude: "LATITUDE",
        Longitude: "LONGITUDE",
        UrlSuffix: "URL_SUFFIX",
        Payload: "PAYLOAD",
        Code: "CODE",
        FlowToken: "FLOW_TOKEN",
        FlowData: "FLOW_DATA",
        Moment: "DATE_TIME",
    }
);

impl SlotKind {
    /// The greatest number of characters of a value.
    pub const fn max_length(self) -> usize {
        match self {
            Self::Text | Self::Payload | Self::FlowToken => 1_024,
            Self::Image | Self::Video | Self::Document | Self::UrlSuffix => 2_048,
            Self::FileName => 255,
            Self::Latitude | Self::Longitude => 32,
            Self::Code => 15,
            Self::FlowData => 4_096,
            Self::Moment => 40,
        }
    }

    /// Whether a message can be sent without a value.
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::FileName | Self::Payload | Self::FlowToken | Self::FlowData)
    }

    /// The file that the slot takes, if it takes one.
    pub const fn file(self) -> Option<FileKind> {
        match self {
            Self::Image => Some(FileKind::Image),
            Self::Video => Some(FileKind::Video),
            Self::Document => Some(FileKind::Document),
            _ => None,
        }
    }
}

impl FileKind {
    /// What the slot of such a header takes.
    pub const fn slot(self) -> SlotKind {
        match self {
            Self::Image => SlotKind::Image,
            Self::Video => SlotKind::Video,
            Self::Document => SlotKind::Document,
        }
    }

    /// The MIME types that the provider takes, and the greatest size in bytes. A document may have any type of a document.
    pub const fn takes(self) -> (&'static [&'static str], u64) {
        const MB: u64 = 1_048_576;
        match self {
            Self::Image => (&["image/jpeg", "image/png"], 5 * MB),
            Self::Video => (&["video/mp4", "video/3gpp"], 16 * MB),
            Self::Document => (&[], 100 * MB),
        }
    }

    /// Why a header of this kind does not take the file.
    pub fn refuses(self, file: &Attached) -> Option<String> {
        let (types, most) = self.takes();
        let fits = match self {
            Self::Document => file.file_type == FileType::Document,
            Self::Image | Self::Video => types.contains(&file.content_type.as_str()),
        };
        match (fits, self) {
            (false, Self::Document) => Some("the file should be a document".to_owned()),
            (false, _) => Some(format!("the file should be {}", types.join(" or "))),
            (true, _) if file.size > most => Some(format!("the file should have at most {most} bytes")),
            (true, _) => None,
        }
    }
}

impl Text {
    /// A text whose parameters stand in double braces.
    pub fn parse(text: &str, format: ParameterFormat) -> Self {
        let mut names: Vec<String> = vec![];
        for name in pieces(text).filter_map(|piece| piece.err()) {
            if names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
        if format == ParameterFormat::Positional {
            names.sort_by_key(|name| name.parse::<u32>().unwrap_or(u32::MAX));
        }
        Self { text: Some(text.to_owned()), names }
    }

    /// The text with these values. A parameter without a value stays in its braces. `None` if the text is not known.
    pub fn filled(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let put = |piece: Result<&str, &str>| match piece {
            Ok(plain) => plain.to_owned(),
            Err(name) => value(name).unwrap_or_else(|| format!("{{{{{name}}}}}")),
        };
        self.text.as_deref().map(|text| pieces(text).map(put).collect())
    }
}

/// The plain pieces of a text, and as errors the names of its parameters.
fn pieces(text: &str) -> impl Iterator<Item = Result<&str, &str>> {
    let mut rest = text;
    let mut parameter = None;
    std::iter::from_fn(move || {
        if let Some(name) = parameter.take() {
            return Some(Err(name));
        }
        if rest.is_empty() {
            return None;
        }
        let (mut from, whole) = (0, rest);
        while let Some((start, end)) = braces(whole, from) {
            let name = whole.get(start + 2..end).unwrap_or_default().trim();
            if is_parameter(name) {
                rest = whole.get(end + 2..).unwrap_or_default();
                if start == 0 {
                    return Some(Err(name));
                }
                parameter = Some(name);
                return whole.get(..start).map(Ok);
            }
            from = start + 1;
        }
        rest = "";
        Some(Ok(whole))
    })
}

/// Where the next double braces begin and end, from this byte on.
fn braces(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find("{{")?;
    let end = start + text.get(start..)?.find("}}")?;
    Some((start, end))
}

fn is_parameter(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl ButtonKind {
    /// The slot of the button, if it has one: the end of its name, and what it takes.
    pub fn slots(&self) -> &'static [(&'static str, SlotKind)] {
        match self {
            Self::QuickReply => &[("payload", SlotKind::Payload)],
            Self::Url(url) if url.contains("{{") => &[("url", SlotKind::UrlSuffix)],
            Self::CopyCode => &[("code", SlotKind::Code)],
            Self::Flow => &[("flowToken", SlotKind::FlowToken), ("flowData", SlotKind::FlowData)],
            Self::Url(_) | Self::PhoneNumber(_) | Self::VoiceCall | Self::Otp => &[],
        }
    }
}

impl Form {
    /// The greatest number of characters in the text of a header or a footer.
    pub const MAX_HEADER: usize = 60;
    /// The greatest number of characters in a body.
    pub const MAX_BODY: usize = 1_024;
    /// The greatest number of characters in a body that is already longer than [`Form::MAX_BODY`] at the provider.
    pub const MAX_LONG_BODY: usize = 32_768;
    /// The greatest number of buttons.
    pub const MAX_BUTTONS: usize = 10;
    /// The greatest number of cards.
    pub const MAX_CARDS: usize = 10;
    /// The greatest number of bytes of components that are kept as JSON.
    pub const MAX_RAW: usize = 4_096;

    /// A body with these parameters, whose text is not known.
    pub fn of_names(names: Vec<String>) -> Self {
        Self {
            format: ParameterFormat::Positional,
            header: None,
            body: Text { text: None, names },
            footer: None,
            buttons: vec![],
            offer: None,
            cards: vec![],
            ttl_seconds: None,
            unsupported: None,
        }
    }

    /// The slots, in the order of the components.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = vec![];
        match &self.header {
            Some(Header::Text(text)) => add(&mut slots, "header.", &text.names),
            Some(Header::File(kind)) => add_file(&mut slots, "header.", *kind),
            Some(Header::Location) => slots.extend(LOCATION.map(|(name, kind)| slot("header.", name, kind))),
            None => {}
        }
        add(&mut slots, "", &self.body.names);
        if self.offer.as_ref().is_some_and(|offer| offer.expires) {
            slots.push(slot("offer.", "expiresAt", SlotKind::Moment));
        }
        add_buttons(&mut slots, "", &self.buttons);
        for (number, card) in self.cards.iter().enumerate() {
            let prefix = format!("card.{number}.");
            add_file(&mut slots, &format!("{prefix}header."), card.header);
            add(&mut slots, &prefix, &card.body.names);
            add_buttons(&mut slots, &prefix, &card.buttons);
        }
        slots
    }

    /// A digest of the slots and the format. Components of the same shape take the same values.
    pub fn shape(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.format.as_str());
        for Slot { name, kind } in self.slots() {
            digest.update(format!("\n{name} {}", kind.as_str()));
        }
        if self.unsupported.is_some() {
            digest.update("\nunsupported");
        }
        hex(&digest.finalize()).chars().take(16).collect()
    }
}

const LOCATION: [(&str, SlotKind); 4] = [
    ("latitude", SlotKind::Latitude),
    ("longitude", SlotKind::Longitude),
    ("name", SlotKind::Text),
    ("address", SlotKind::Text),
];

fn slot(prefix: &str, name: &str, kind: SlotKind) -> Slot {
    Slot { name: format!("{prefix}{name}"), kind }
}

fn add(slots: &mut Vec<Slot>, prefix: &str, names: &[String]) {
    slots.extend(names.iter().map(|name| slot(prefix, name, SlotKind::Text)));
}

fn add_file(slots: &mut Vec<Slot>, prefix: &str, kind: FileKind) {
    slots.push(slot(prefix, kind.as_str(), kind.slot()));
    if kind == FileKind::Document {
        slots.push(slot(prefix, "filename", SlotKind::FileName));
    }
}

fn add_buttons(slots: &mut Vec<Slot>, prefix: &str, buttons: &[Button]) {
    for (number, button) in buttons.iter().enumerate() {
        let of_button = button.kind.slots().iter();
        slots.extend(of_button.map(|(name, kind)| slot(prefix, &format!("button.{number}.{name}"), *kind)));
    }
}

#[cfg(test)]
mod tests;
