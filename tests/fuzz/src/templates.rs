//! Message templates: their names and variables, and the values that a contact and a caller give.

use domain::settings::template::{
    ContactField, FaultKind, Filled, Filler, NewTemplate, ParameterValue, Parameters, Source, Template,
    TemplateScope, Variable, short_form,
};
use domain::{Cellphone, Contact, ContactId, Email, Ids, PersonName, Provider, Timestamp, WorkspaceId};
use uuid::Uuid;

/// The input is lines: name, language, first name, e-mail address, and then a variable with its value on each.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let (name, language, first_name, email) = (line(), line(), line(), line());
    let (contact, workspace) = (ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
    let contact = Contact {
        first_name: PersonName::parse(first_name).ok(),
        email: Email::parse(email).ok(),
        cellphone: Cellphone::parse("+34600111222").ok(),
        ..Contact::blank(contact, workspace, Timestamp::from_millis(0))
    };
    let (mut variables, mut given) = (vec![], Parameters::new());
    for (at, (name, value)) in lines.filter_map(|line| line.split_once('=')).enumerate() {
        let value = ParameterValue::parse(value);
        let source = match at % 4 {
            0 => Source::Caller,
            1 => Source::Contact { field: ContactField::FirstName, fallback: value.clone().ok() },
            2 => Source::Contact { field: ContactField::Email, fallback: value.clone().ok() },
            _ => Source::Contact { field: ContactField::Cellphone, fallback: None },
        };
        let Ok(variable) = Variable::new(name, source) else { continue };
        assert!(variable.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        variables.push(variable);
        given.extend(value.ok().map(|value| (name.to_owned(), value)));
    }
    let scope = TemplateScope::Workspace(workspace);
    let (provider, approved_by, (form, sources)) = (Provider::WhatsApp, [].into(), short_form(variables));
    let wanted = NewTemplate { scope, provider, name, language, category: None, form, sources, approved_by };
    let Ok(template) = Template::new(wanted, &Nil, Timestamp::from_millis(0)) else { return };
    assert!(
        template.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    );
    assert!((2..=6).contains(&template.language.len()) && template.language.is_ascii());
    let slots = template.form.slots();
    assert!(slots.len() <= Template::MAX_VARIABLES);
    let filling = template.filled(&Filler {
        given: &given,
        files: &[].into(),
        contact: Some(contact.values()),
        now: Timestamp::from_millis(0),
        is_object: |_| true,
    });
    for value in filling.values.values() {
        let Filled::Text(value) = value else { panic!("nobody gave a file") };
        assert!(!value.is_empty() && value.split_whitespace().collect::<Vec<_>>().join(" ") == *value);
    }
    // A slot that takes its value elsewhere is filled, even if the caller wrongly gives it one too.
    let faulty = |slot: &str| {
        let mut faults = filling.faults.iter();
        faults.any(|fault| fault.parameter == slot && fault.kind != FaultKind::Foreign)
    };
    for slot in slots {
        assert_ne!(filling.values.contains_key(&slot.name), faulty(&slot.name), "{}", slot.name);
    }
    for fault in &filling.faults {
        let is_given = given.contains_key(&fault.parameter);
        assert_eq!(is_given, is_given && fault.kind != FaultKind::Missing, "{}", fault.parameter);
    }
}

/// The id of the only template.
struct Nil;

impl Ids for Nil {
    fn next(&self) -> Uuid {
        Uuid::nil()
    }
}
