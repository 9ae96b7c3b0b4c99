//! The content of a message that is a template.

use std::collections::BTreeMap;

use domain::settings::template::TemplateContent;
use serde::Serialize;

/// The object `content` of a template. The name, the language, the category and the text are those of the moment when the message
/// was accepted. The text has the values that do not depend on the contact.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateContentView<'a> {
    template_id: String,
    name: Option<&'a str>,
    language: Option<&'a str>,
    category: Option<&'static str>,
    text: Option<&'a str>,
    parameters: BTreeMap<&'a str, &'a str>,
}

/// The object for this content.
pub(super) fn template_content(content: &TemplateContent) -> TemplateContentView<'_> {
    let shown = content.shown.as_ref();
    let given = content.parameters.iter();
    TemplateContentView {
        template_id: content.template.to_string(),
        name: shown.map(|shown| shown.name.as_str()),
        language: shown.map(|shown| shown.language.as_str()),
        category: shown.and_then(|shown| shown.category).map(|category| category.as_str()),
        text: shown.and_then(|shown| shown.text.as_deref()),
        parameters: given.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
    }
}
