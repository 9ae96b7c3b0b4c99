//! Templates with the values for one contact.

use crate::contact::Contact;
use crate::settings::template::{ContactField, ParameterValue, Parameters, Source, Template, Variable};
use crate::text::{Cellphone, Email, PersonName};

impl Template {
    /// The values of the variables for one contact, in the order of the body. White space becomes single
    /// spaces, because the provider requires it. The error is the name of the first variable without a value.
    pub fn filled_for(&self, contact: &Contact, given: &Parameters) -> Result<Vec<String>, String> {
        let value = |variable: &Variable| {
            let value = match &variable.source {
                Source::Caller => given.get(&variable.name).map(ParameterValue::as_str),
                Source::Contact { field, fallback } => {
                    field.of(contact).or(fallback.as_ref().map(ParameterValue::as_str))
                }
            };
            let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            value.map(in_one_line).ok_or_else(|| variable.name.clone())
        };
        self.variables.iter().map(value).collect()
    }
}

impl ContactField {
    fn of(self, contact: &Contact) -> Option<&str> {
        match self {
            Self::FirstName => contact.first_name.as_ref().map(PersonName::as_str),
            Self::LastName => contact.last_name.as_ref().map(PersonName::as_str),
            Self::Email => contact.email.as_ref().map(Email::as_str),
            Self::Cellphone => contact.cellphone.as_ref().map(Cellphone::as_str),
        }
    }
}
