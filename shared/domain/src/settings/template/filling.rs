//! Templates with values: one function fills and checks a template for a request, a preview and a send.

use std::collections::BTreeMap;

use crate::ids::{MediaId, TemplateId};
use crate::invisible::is_blank;
use crate::media::Attached;
use crate::refused::{Origin, Refused};
use crate::sending::PartError;
use crate::settings::line::Reached;
use crate::settings::template::{
    Button, ButtonKind, Card, ContactValues, Form, Header, ParameterFormat, ParameterValue, Parameters,
    Requested, Sendable, Slot, SlotKind, Source, Template, TemplateCategory, TemplateStatus, Text,
};
use crate::time::Timestamp;

/// A message that is a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateContent {
    /// The template.
    pub template: TemplateId,
    /// The values that the caller gave.
    pub parameters: Parameters,
    /// The files among the values, by their slots.
    pub files: BTreeMap<String, Attached>,
    /// What the message shows.
    pub shown: Shown,
}

/// What a message shows of its template, as it was when the message was accepted. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct Shown {
    /// The name of the template at the provider.
    pub name: String,
    /// The language code.
    pub language: String,
    /// The category, if it is known.
    pub category: Option<TemplateCategory>,
    /// The texts with the values that do not depend on the contact; `None` if the template's text is not known.
    pub text: Option<String>,
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[Shown]")
    }
}

/// What fills a template.
#[derive(Clone, Copy)]
pub struct Filler<'a> {
    /// The caller's values.
    pub given: &'a Parameters,
    /// The files among the values, by their slots.
    pub files: &'a BTreeMap<String, Attached>,
    /// The contact who receives the message. `None` before it is known: values of the contact are left out.
    pub contact: Option<ContactValues<'a>>,
    /// The present time.
    pub now: Timestamp,
    /// Whether a text is a JSON object.
    pub is_object: fn(&str) -> bool,
}

/// What decides whether a template is accepted, besides its values.
#[derive(Clone, Copy)]
pub struct Accepting<'a> {
    /// The lines of the recipients.
    pub lines: &'a [Reached],
    /// The files that the values name. `None` for a file that does not exist: the caller refuses it after these checks.
    pub media: &'a BTreeMap<MediaId, Option<Attached>>,
    /// The present time.
    pub now: Timestamp,
    /// Whether a text is a JSON object.
    pub is_object: fn(&str) -> bool,
}

/// The value of a slot. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub enum Filled {
    /// A text, or the address of a file.
    Text(String),
    /// A file of the workspace.
    File(Attached),
}

impl std::fmt::Debug for Filled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[Filled]")
    }
}

/// The values of a template, and what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filling {
    /// The values by slot.
    pub values: BTreeMap<String, Filled>,
    /// All faults, in the order of the slots; parameters that no slot takes come first.
    pub faults: Vec<Fault>,
}

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// The name of the slot or the parameter.
    pub parameter: String,
    /// The reason: a sentence without a subject that follows "the value".
    pub reason: String,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The caller gives no value.
    Missing,
    /// The contact has no value.
    OfContact,
    /// The template takes no such value from a caller.
    Foreign,
    /// The value does not fit.
    Unfit,
}

impl FaultKind {
    /// The error of a part whose template has this fault.
    pub fn part_error(self) -> &'static str {
        match self {
            Self::Missing | Self::OfContact => PartError::MISSING_VALUE,
            Self::Unfit | Self::Foreign => PartError::UNFIT_VALUE,
        }
    }
}

impl Filling {
    /// The names of the parameters with a fault of this kind.
    pub fn faulty(&self, kind: FaultKind) -> Vec<String> {
        let of_kind = self.faults.iter().filter(|fault| fault.kind == kind);
        of_kind.map(|fault| fault.parameter.clone()).collect()
    }

    fn fault(&mut self, kind: FaultKind, parameter: &str, reason: impl Into<String>) {
        self.faults.push(Fault { kind, parameter: parameter.to_owned(), reason: reason.into() });
    }

    fn text(&self, slot: &str) -> Option<&str> {
        match self.values.get(slot)? {
            Filled::Text(text) => Some(text),
            Filled::File(_) => None,
        }
    }
}

impl Template {
    /// The template as the content of a message, before its recipients are known.
    ///
    /// Errors, in this order: it is not sendable for a line's account (0602); values are missing (0603), or a configured
    /// template needs a caller's values (0608); it does not take a value (0604); values do not fit (0610). Each error names all
    /// values with this fault.
    pub fn accept(
        &self,
        requested: &Requested,
        with: &Accepting<'_>,
        origin: Origin,
    ) -> Result<TemplateContent, Refused> {
        let template = self.id;
        let refuses = |line: &&Reached| self.sendable(&line.business_account) != Sendable::Now;
        if let Some(Reached { channel, business_account }) = with.lines.iter().find(refuses) {
            let status = self.status(business_account).map(TemplateStatus::as_str);
            let channel = channel.clone();
            return Err(Refused::TemplateNotApproved { template, channel, status, origin });
        }
        let files = self.files_of(&requested.parameters, with.media);
        let mut filling = self.filled(&Filler {
            given: &requested.parameters,
            files: &files,
            contact: None,
            now: with.now,
            is_object: with.is_object,
        });
        let is_no_file = |slot: &str| named_file(&requested.parameters, slot, with.media) == Some(None);
        filling.faults.retain(|fault| fault.kind != FaultKind::Unfit || !is_no_file(&fault.parameter));
        let (missing, foreign) = (filling.faulty(FaultKind::Missing), filling.faulty(FaultKind::Foreign));
        match (missing.is_empty(), origin) {
            (true, _) => {}
            (false, Origin::Request) => {
                return Err(Refused::MissingParameters { template, parameters: missing });
            }
            (false, Origin::WorkspaceConfiguration) => {
                return Err(Refused::ConfiguredTemplateNeedsCaller { template });
            }
        }
        if !foreign.is_empty() {
            return Err(Refused::ForeignParameters { template, parameters: foreign });
        }
        if !filling.faults.is_empty() {
            let parameters =
                filling.faults.into_iter().map(|fault| (fault.parameter, fault.reason)).collect();
            return Err(Refused::UnfitParameters { template, parameters, origin });
        }
        Ok(self.content(requested, files, &filling))
    }

    /// The files that the values name, by their slots. A value that is no id of a file is an address.
    pub fn files_of(
        &self,
        given: &Parameters,
        media: &BTreeMap<MediaId, Option<Attached>>,
    ) -> BTreeMap<String, Attached> {
        let of_slot = |slot: Slot| {
            slot.kind.file()?;
            let file = named_file(given, &slot.name, media)??.clone();
            Some((slot.name, file))
        };
        self.form.slots().into_iter().filter_map(of_slot).collect()
    }

    /// Fills the template, and finds all faults of the values.
    pub fn filled(&self, with: &Filler<'_>) -> Filling {
        let (mut filling, slots) = (Filling::default(), self.form.slots());
        for name in with.given.keys() {
            let takes = slots.iter().any(|slot| slot.name == *name) && self.source(name).is_callers();
            if !takes {
                filling.fault(FaultKind::Foreign, name, "is not taken from a caller");
            }
        }
        for slot in &slots {
            self.fill(slot, with, &mut filling);
        }
        self.check_lengths(&mut filling);
        filling
    }

    fn fill(&self, slot: &Slot, with: &Filler<'_>, filling: &mut Filling) {
        let source = self.source(&slot.name);
        let given = with.given.get(&slot.name);
        let value = match source {
            Source::Caller => given,
            Source::CallerOr(default) => given.or(Some(default)),
            Source::Fixed(value) => Some(value),
            Source::Contact { field, fallback } => {
                let Some(contact) = with.contact else { return };
                let of_contact = contact.value(*field).or(fallback.as_ref().map(ParameterValue::as_str));
                match of_contact {
                    Some(value) => self.put(slot, value, with, filling),
                    None => {
                        let reason = format!("is the contact's {}, which is empty", field.as_str());
                        filling.fault(FaultKind::OfContact, &slot.name, reason);
                    }
                }
                return;
            }
        };
        match value {
            Some(value) => self.put(slot, value.as_str(), with, filling),
            None if slot.kind.is_optional() => {}
            None => filling.fault(FaultKind::Missing, &slot.name, "is missing"),
        }
    }

    fn put(&self, slot: &Slot, value: &str, with: &Filler<'_>, filling: &mut Filling) {
        if let (Some(kind), Some(file)) = (slot.kind.file(), with.files.get(&slot.name)) {
            match kind.refuses(file) {
                Some(reason) => filling.fault(FaultKind::Unfit, &slot.name, reason),
                None => drop(filling.values.insert(slot.name.clone(), Filled::File(file.clone()))),
            }
            return;
        }
        match fitting(slot.kind, value, with) {
            Ok(value) => drop(filling.values.insert(slot.name.clone(), Filled::Text(value))),
            Err(reason) => filling.fault(FaultKind::Unfit, &slot.name, reason),
        }
    }

    /// Checks that no component becomes longer than the provider takes.
    fn check_lengths(&self, filling: &mut Filling) {
        let mut texts = vec![("".to_owned(), &self.form.body, Form::MAX_BODY)];
        if let Some(Header::Text(text)) = &self.form.header {
            texts.push(("header.".to_owned(), text, Form::MAX_HEADER));
        }
        for (number, card) in self.form.cards.iter().enumerate() {
            texts.push((format!("card.{number}."), &card.body, Form::MAX_BODY));
        }
        for (prefix, text, max) in texts {
            let of_template = text.text.as_ref().map_or(0, |text| text.chars().count());
            let max = if of_template > max { Form::MAX_LONG_BODY } else { max };
            let value =
                |name: &str| Some(filling.text(&format!("{prefix}{name}")).unwrap_or_default().to_owned());
            let length = text.filled(value).map_or(0, |text| text.chars().count());
            if let Some(longest) = text
                .names
                .iter()
                .map(|name| format!("{prefix}{name}"))
                .max_by_key(|name| filling.text(name).map_or(0, |value| value.chars().count()))
                && length > max
            {
                let reason = format!("makes the text {length} characters long, and {max} are allowed");
                filling.fault(FaultKind::Unfit, &longest, reason);
            }
        }
    }

    /// The texts of the message: header, body and footer, with blank lines between. `None` if the body's text is not known.
    fn text(&self, filling: &Filling) -> Option<String> {
        let header = match &self.form.header {
            Some(Header::Text(text)) => self.put_into(text, "header.", filling),
            _ => None,
        };
        let body = self.put_into(&self.form.body, "", filling)?;
        let texts = [header, Some(body), self.form.footer.clone()];
        Some(texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
    }

    /// The form with these values in its texts and in the addresses of its buttons. What has no value stays in its braces.
    pub fn form_with(&self, filling: &Filling) -> Form {
        let text = |text: &Text, prefix: &str| Text {
            text: self.put_into(text, prefix, filling),
            names: text.names.clone(),
        };
        let buttons = |buttons: &[Button], prefix: &str| {
            let button = |(number, button): (usize, &Button)| match &button.kind {
                ButtonKind::Url(url) => {
                    let suffix = filling.text(&format!("{prefix}button.{number}.url")).map(str::to_owned);
                    let address = Text::parse(url, ParameterFormat::Positional).filled(|_| suffix.clone());
                    let kind = ButtonKind::Url(address.unwrap_or_default());
                    Button { kind, ..button.clone() }
                }
                _ => button.clone(),
            };
            buttons.iter().enumerate().map(button).collect()
        };
        let card = |(number, card): (usize, &Card)| {
            let prefix = format!("card.{number}.");
            Card {
                header: card.header,
                body: text(&card.body, &prefix),
                buttons: buttons(&card.buttons, &prefix),
            }
        };
        let form = &self.form;
        Form {
            header: form.header.as_ref().map(|header| match header {
                Header::Text(of_header) => Header::Text(text(of_header, "header.")),
                Header::File(_) | Header::Location => header.clone(),
            }),
            body: text(&form.body, ""),
            buttons: buttons(&form.buttons, ""),
            cards: form.cards.iter().enumerate().map(card).collect(),
            ..form.clone()
        }
    }

    /// A text of the form with its values. A value of a contact who is not known is shown as the field.
    fn put_into(&self, text: &Text, prefix: &str, filling: &Filling) -> Option<String> {
        text.filled(|name| {
            let slot = format!("{prefix}{name}");
            match (filling.text(&slot), self.source(&slot)) {
                (Some(value), _) => Some(value.to_owned()),
                (None, Source::Contact { field, .. }) => Some(format!("{{{{{}}}}}", field.as_str())),
                (None, _) => None,
            }
        })
    }

    /// The template as a message that nobody gives values for.
    pub fn bare_content(&self, now: Timestamp) -> TemplateContent {
        let (given, files) = (Parameters::new(), BTreeMap::new());
        let is_object = |_: &str| true;
        let filling = self.filled(&Filler { given: &given, files: &files, contact: None, now, is_object });
        let requested = Requested { template: self.id, parameters: Parameters::new() };
        self.content(&requested, BTreeMap::new(), &filling)
    }

    /// The text of a message to one recipient, as it is kept with the part.
    pub fn kept_text(&self, filling: &Filling) -> Option<String> {
        Some(self.text(filling)?.chars().take(TemplateContent::MAX_TEXT).collect())
    }

    /// The template as a message with these values.
    pub fn content(
        &self,
        requested: &Requested,
        files: BTreeMap<String, Attached>,
        filling: &Filling,
    ) -> TemplateContent {
        let text = self.kept_text(filling);
        TemplateContent {
            template: self.id,
            parameters: requested.parameters.clone(),
            files,
            shown: Shown {
                name: self.name.clone(),
                language: self.language.clone(),
                category: self.category,
                text,
            },
        }
    }
}

impl TemplateContent {
    /// The greatest number of characters of a message's text that are kept. Only a body that is longer at the provider than its
    /// documented limit exceeds it.
    pub const MAX_TEXT: usize = 2_048;

    /// The content of a message of this request, whose template has no text.
    #[cfg(test)]
    pub(crate) fn of(Requested { template, parameters }: Requested) -> Self {
        let (name, language) = ("welcome".to_owned(), "es".to_owned());
        let shown = Shown { name, language, category: None, text: None };
        Self { template, parameters, files: BTreeMap::new(), shown }
    }
}

/// The file that a value names, if the value is the id of one that was looked for.
fn named_file<'a>(
    given: &Parameters,
    slot: &str,
    media: &'a BTreeMap<MediaId, Option<Attached>>,
) -> Option<Option<&'a Attached>> {
    let id = MediaId::parse(given.get(slot)?.as_str()).ok()?;
    media.get(&id).map(Option::as_ref)
}

/// The value in the form in which it is sent, or why it does not fit.
fn fitting(kind: SlotKind, value: &str, with: &Filler<'_>) -> Result<String, String> {
    let value = match kind {
        // The provider refuses line breaks, tabs and more than four spaces.
        SlotKind::Text => value.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => value.to_owned(),
    };
    let (max, length) = (kind.max_length(), value.chars().count());
    if is_blank(&value) {
        return Err("is blank".to_owned());
    }
    if length > max {
        return Err(format!("should have at most {max} characters"));
    }
    let fits = match kind {
        SlotKind::Text | SlotKind::FileName | SlotKind::Payload | SlotKind::Code | SlotKind::FlowToken => {
            Ok(())
        }
        SlotKind::Image | SlotKind::Video | SlotKind::Document => {
            is_link(&value).then_some(()).ok_or("should be an https URL")
        }
        SlotKind::UrlSuffix => {
            let is_whole = !value.chars().any(|c| c.is_whitespace() || c.is_control());
            is_whole.then_some(()).ok_or("should have no white space")
        }
        SlotKind::Latitude => is_angle(&value, 90.0).ok_or("should be a number from -90 to 90"),
        SlotKind::Longitude => is_angle(&value, 180.0).ok_or("should be a number from -180 to 180"),
        SlotKind::FlowData => (with.is_object)(&value).then_some(()).ok_or("should be a JSON object"),
        SlotKind::Moment => match Timestamp::parse(&value) {
            Some(at) if at > with.now => Ok(()),
            Some(_) => Err("should be in the future"),
            None => Err("should be a moment in RFC 3339"),
        },
    };
    fits.map(|()| value).map_err(str::to_owned)
}

fn is_link(text: &str) -> bool {
    text.parse().is_ok_and(|url: url::Url| url.scheme() == "https" && url.has_host())
}

fn is_angle(text: &str, most: f64) -> Option<()> {
    text.parse().is_ok_and(|degrees: f64| degrees.abs() <= most).then_some(())
}

#[cfg(test)]
mod tests;
