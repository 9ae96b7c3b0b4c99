//! A template with its values in a request: an entry of `onboardingTemplates`, or `template` of a message.

use domain::settings::template::{ParameterValue, Parameters, Requested, Template};
use domain::{TemplateId, Unfit};

use crate::form::{Form, Node, Rejection};

/// Whether a text is a JSON object.
pub fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}

/// Reads `templateId` and `parameters`. Whether a value fits its place is known with the template.
pub fn read(form: &mut Form, at: Node<'_>) -> Option<Requested> {
    let at = at.object(form)?;
    let template = at.field("templateId").required(form).and_then(|at| at.text(form, TemplateId::parse));
    let parameters = at.field("parameters").given();
    let parameters = parameters.map(|at| read_parameters(form, &at)).unwrap_or_default();
    Some(Requested { template: template?, parameters })
}

/// Reads an object of texts, up to [`ParameterValue::MAX`] characters together.
pub fn read_parameters(form: &mut Form, at: &Node<'_>) -> Parameters {
    let (mut parameters, mut length) = (Parameters::new(), 0);
    for (name, value) in at.entries(form, Template::MAX_PARAMETERS) {
        if let Some(value) = value.text(form, ParameterValue::parse) {
            length += value.as_str().chars().count();
            parameters.insert(name.to_owned(), value);
        }
    }
    if length > ParameterValue::MAX {
        form.fail(at, Rejection::Unfit(Unfit::TooLong { max: ParameterValue::MAX }));
    }
    parameters
}
