//! The content of a message that is a template.

use std::collections::BTreeMap;

use domain::TemplateCategory;
use domain::settings::template::TemplateContent;
use serde::Serialize;

/// The object `content` of a template. The name, the language, the category and the text are those of the moment when the message
/// was accepted. The text has the values that do not depend on the contact.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateContentView<'a> {
    template_id: String,
    name: &'a str,
    language: &'a str,
    category: Option<&'static str>,
    text: Option<&'a str>,
    parameters: BTreeMap<&'a str, &'a str>,
}

/// The object for this content.
pub(super) fn template_content(content: &TemplateContent) -> TemplateContentView<'_> {
    let (shown, given) = (&content.shown, content.parameters.iter());
    TemplateContentView {
        template_id: content.template.to_string(),
        name: &shown.name,
        language: &shown.language,
        category: shown.category.map(TemplateCategory::as_str),
        text: shown.text.as_deref(),
        parameters: given.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
    }
}
