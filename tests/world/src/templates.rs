//! The registry of the templates at WhatsApp: what the tenants' account has, and what the service reads of it.

use std::sync::Arc;

use domain::settings::template::{ContactField, ParameterValue, Source};
use domain::{Template, TemplateCategory};
use harness::World;
use local::simulator::Templates;
use provider::read_form;
use serde_json::{Value, json};

/// The name of the template that does not advertise.
pub(crate) const RECEIPT: &str = "receipt";
/// The name of the template that advertises.
pub(crate) const HELLO: &str = "hello";
pub(crate) const LANGUAGE: &str = "es";
/// The text of a template, before and after it is edited. The second has no place for a value.
pub(crate) const TEXTS: [&str; 2] = ["Hola {{name}}, gracias.", "Hola, gracias."];

/// The registry of the tenants' account, with its templates.
pub(crate) fn registry(lines: &[String]) -> Templates {
    let registry = Templates::default();
    let listed = [(HELLO, "MARKETING"), (RECEIPT, "UTILITY")].map(|(name, category)| {
        json!({
            "name": name, "language": LANGUAGE, "category": category, "parameter_format": "NAMED",
            "components": components(TEXTS[0]),
        })
    });
    let set = registry.set(World::ACCOUNT, &json!({ "phoneNumberIds": lines, "data": listed }));
    set.expect("a registry");
    registry
}

pub(crate) fn components(text: &str) -> Value {
    json!([{ "type": "BODY", "text": text }])
}

/// Makes the template as the registry has it, with the contact's name for its value.
pub(crate) fn as_listed(template: &mut Template, name: &str, category: Option<TemplateCategory>) {
    let shown = json!({ "parameter_format": "NAMED", "components": components(TEXTS[0]) });
    template.name = name.to_owned();
    template.language = LANGUAGE.to_owned();
    template.category = category;
    template.form = read_form(&shown).expect("a form");
    let fallback = Some(ParameterValue::parse("there").expect("a value"));
    let source = Source::Contact { field: ContactField::FirstName, fallback };
    template.sources = [("name".to_owned(), source)].into();
}

/// What the service reads of the registry.
pub(crate) fn graph(registry: &Arc<Templates>) -> Arc<provider::SimulatedGraph> {
    let registry = registry.clone();
    Arc::new(move |url| {
        let path = url.path().trim_start_matches('/');
        let account = path.strip_suffix("/message_templates").unwrap_or_default();
        match registry.page(account, url.query().unwrap_or_default(), "https://graph.example.com") {
            Ok(page) => (200, page),
            Err(fault) => (fault.status, fault.body()),
        }
    })
}
