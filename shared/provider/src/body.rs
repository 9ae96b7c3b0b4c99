//! The bodies of requests: the Cloud API's form of a message.

use std::fmt;

use domain::media::SentAs;
use domain::settings::template::Form;
use domain::{Address, PartId, Template};
use serde_json::{Value, json};

use crate::components::{Values, components};

/// The content of a call. `Debug` prints it redacted.
#[derive(Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A plain text message.
    Text(String),
    /// A file. The provider downloads it.
    Media {
        /// How the recipient sees the file.
        sent_as: SentAs,
        /// The URL from which the provider downloads the file.
        link: String,
        /// The text below the file. Audio files and stickers have none.
        caption: Option<String>,
        /// The file name of a document. Other files have none.
        filename: Option<String>,
    },
    /// A template that the provider has approved.
    Template {
        /// The template's name.
        name: String,
        /// The template's language.
        language: String,
        /// The template's components.
        form: Box<Form>,
        /// The values.
        values: Values,
    },
}

impl Outgoing {
    /// A template with these values.
    pub fn template(template: &Template, values: Values) -> Self {
        Self::Template {
            name: template.name.clone(),
            language: template.language.clone(),
            form: Box::new(template.form.clone()),
            values,
        }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", content(self).0)
    }
}

/// The JSON body of the request.
pub fn body(to: &Address, what: &Outgoing, answers: Option<&str>, part: PartId) -> Value {
    let (kind, content) = content(what);
    let recipient = match to {
        Address::Number(_) => "to",
        Address::User(_) => "recipient",
    };
    let mut body = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        recipient: to.as_str(),
        "type": kind,
        kind: content,
        "biz_opaque_callback_data": part.to_string(),
    });
    if let Some(id) = answers {
        body["context"] = json!({ "message_id": id });
    }
    body
}

fn content(what: &Outgoing) -> (&'static str, Value) {
    match what {
        Outgoing::Text(text) => ("text", json!({ "body": text, "preview_url": false })),
        Outgoing::Media { sent_as, link, caption, filename } => {
            let mut media = json!({ "link": link });
            if let Some(caption) = caption {
                media["caption"] = json!(caption);
            }
            if let Some(filename) = filename {
                media["filename"] = json!(filename);
            }
            (type_word(*sent_as), media)
        }
        Outgoing::Template { name, language, form, values } => {
            // The provider knows no other policy than `deterministic`, so none is named.
            let mut template = json!({ "name": name, "language": { "code": language } });
            let components = components(form, values);
            if !components.is_empty() {
                template["components"] = json!(components);
            }
            ("template", template)
        }
    }
}

fn type_word(sent_as: SentAs) -> &'static str {
    match sent_as {
        SentAs::Image => "image",
        SentAs::Video => "video",
        SentAs::Audio => "audio",
        SentAs::Document => "document",
        SentAs::Sticker => "sticker",
    }
}

#[cfg(test)]
mod tests {
    use domain::{Cellphone, ConversationId, MessageId, ProviderUserId};

    use super::*;

    const CONVERSATION: &str = "00000000-0000-0000-0000-000000000001";
    const MESSAGE: &str = "00000000-0000-0000-0000-000000000002";

    fn body_of(what: &Outgoing, answers: Option<&str>) -> Value {
        let to = Address::Number(Cellphone::parse("+12025550101").unwrap());
        body_to(&to, what, answers)
    }

    fn body_to(to: &Address, what: &Outgoing, answers: Option<&str>) -> Value {
        let part = PartId {
            conversation: ConversationId::parse(CONVERSATION).unwrap(),
            message: MessageId::parse(MESSAGE).unwrap(),
            part: 3,
        };
        body(to, what, answers, part)
    }

    fn media(sent_as: SentAs, caption: Option<&str>, filename: Option<&str>) -> Outgoing {
        Outgoing::Media {
            sent_as,
            link: "https://files.example/x".to_owned(),
            caption: caption.map(str::to_owned),
            filename: filename.map(str::to_owned),
        }
    }

    #[test]
    fn a_customer_without_a_number_is_named_by_the_user_id() {
        let user = Address::User(ProviderUserId::parse("US.1").unwrap());
        let expected = json!({
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "recipient": "US.1",
            "type": "text",
            "text": { "body": "Yes", "preview_url": false },
            "biz_opaque_callback_data": format!("{CONVERSATION}.{MESSAGE}.3"),
        });
        assert_eq!(body_to(&user, &Outgoing::Text("Yes".to_owned()), None), expected);
    }

    fn template(values: &[&str]) -> Outgoing {
        let names: Vec<String> = (1..=values.len()).map(|number| number.to_string()).collect();
        Outgoing::Template {
            name: "welcome".to_owned(),
            language: "es".to_owned(),
            form: Box::new(Form::of_names(names.clone())),
            values: names.into_iter().zip(values.iter().map(|value| (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn each_kind_of_message_has_the_body_of_the_cloud_api() {
        let text = Outgoing::Text("¡Hola!".to_owned());
        let link = "https://files.example/x";
        let rows = [
            (text, "text", json!({ "body": "¡Hola!", "preview_url": false })),
            (media(SentAs::Image, Some("Look"), None), "image", json!({ "link": link, "caption": "Look" })),
            (media(SentAs::Video, None, None), "video", json!({ "link": link })),
            (media(SentAs::Audio, None, None), "audio", json!({ "link": link })),
            (media(SentAs::Sticker, None, None), "sticker", json!({ "link": link })),
            (
                media(SentAs::Document, Some("Read"), Some("offer.pdf")),
                "document",
                json!({ "link": link, "caption": "Read", "filename": "offer.pdf" }),
            ),
            (template(&[]), "template", json!({ "name": "welcome", "language": { "code": "es" } })),
            (
                template(&["Ana", "10 %"]),
                "template",
                json!({
                    "name": "welcome",
                    "language": { "code": "es" },
                    "components": [{
                        "type": "body",
                        "parameters": [{ "type": "text", "text": "Ana" }, { "type": "text", "text": "10 %" }],
                    }],
                }),
            ),
        ];
        for (what, kind, content) in rows {
            let expected = json!({
                "messaging_product": "whatsapp",
                "recipient_type": "individual",
                "to": "+12025550101",
                "type": kind,
                kind: content,
                "biz_opaque_callback_data": format!("{CONVERSATION}.{MESSAGE}.3"),
            });
            assert_eq!(body_of(&what, None), expected);
        }
    }

    #[test]
    fn an_answer_names_the_message_that_it_answers() {
        let body = body_of(&Outgoing::Text("Yes".to_owned()), Some("wamid.1"));
        assert_eq!(body["context"], json!({ "message_id": "wamid.1" }));
    }
}
