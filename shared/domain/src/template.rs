//! Message templates: what the provider has approved to be written to somebody who has not written first.

use std::collections::{BTreeMap, BTreeSet};

use crate::contact::Contact;
use crate::ids::{Ids, TemplateId, WorkspaceId};
use crate::line::{BusinessAccountId, Provider};
use crate::text::{Cellphone, Email, PersonName, Unfit, within};
use crate::time::Timestamp;

/// A template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its id.
    pub id: TemplateId,
    /// Whose it is.
    pub scope: TemplateScope,
    /// The provider who knows it.
    pub provider: Provider,
    /// Its name at the provider: lower-case letters, digits and underscores, 1 to 512.
    pub name: String,
    /// Its language at the provider, such as `es` or `en_US`.
    pub language: String,
    /// The variables of its body, in their order; at most [`Template::MAX_VARIABLES`], each name once.
    pub variables: Vec<Variable>,
    /// The accounts for which the provider approved it.
    /// At most [`Template::MAX_APPROVALS`].
    pub approved_by: BTreeSet<BusinessAccountId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

/// Whose a template is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateScope {
    /// A workspace's own.
    Workspace(WorkspaceId),
    /// Every workspace's.
    Platform,
}

/// A variable of a template's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name by which callers give its value, 1 to 64 letters, digits and underscores.
    pub name: String,
    /// Where its value comes from.
    pub source: Source,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only the caller can give it.
    Caller,
    /// From the contact who is written to.
    Contact {
        /// The field.
        field: ContactField,
        /// What stands there for a contact who has none. Without it such a contact cannot be written to.
        fallback: Option<ParameterValue>,
    },
}

/// The fields of a contact that a variable may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactField {
    /// `firstName`
    FirstName,
    /// `lastName`
    LastName,
    /// `email`
    Email,
    /// `cellphone`
    Cellphone,
}

/// A value for a variable: 1 to 1,024 characters, not blank. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ParameterValue(String);

impl ParameterValue {
    /// The greatest number of characters.
    pub const MAX: usize = 1_024;

    /// Reads a value.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.trim().is_empty() {
            return Err(Unfit::Value { reason: "a template's parameter cannot be blank" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The value as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[ParameterValue]")
    }
}

/// What a caller gave for a template, by the names of its variables.
pub type Parameters = BTreeMap<String, ParameterValue>;

impl Template {
    /// The greatest number of variables, and of parameters in a request.
    pub const MAX_VARIABLES: usize = 20;
    /// The greatest number of accounts for which one is approved, so that its row stays far below 400 KB.
    pub const MAX_APPROVALS: usize = 250;
    /// The greatest number of characters of a name.
    pub const MAX_NAME: usize = 512;

    /// A new template, or what is wrong with it.
    pub fn new(wanted: NewTemplate<'_>, ids: &dyn Ids, now: Timestamp) -> Result<Self, TemplateUnfit> {
        wanted.check()?;
        Ok(Self {
            id: TemplateId::generate(ids),
            scope: wanted.scope,
            provider: wanted.provider,
            name: wanted.name.to_owned(),
            language: wanted.language.to_owned(),
            variables: wanted.variables,
            approved_by: wanted.approved_by,
            created_at: now,
            version: 1,
        })
    }

    /// The template once it is approved for the account; `None` when it is already.
    pub fn approved_for(&self, account: &BusinessAccountId) -> Result<Option<Self>, TemplateUnfit> {
        let mut approved_by = self.approved_by.clone();
        let changed = approved_by.insert(account.clone());
        check_approvals(&approved_by)?;
        Ok(changed.then(|| self.with_approvals(approved_by)))
    }

    /// The template once it is no longer approved for the account; `None` when it is not.
    pub fn revoked_for(&self, account: &BusinessAccountId) -> Option<Self> {
        let mut approved_by = self.approved_by.clone();
        approved_by.remove(account).then(|| self.with_approvals(approved_by))
    }

    fn with_approvals(&self, approved_by: BTreeSet<BusinessAccountId>) -> Self {
        Self { approved_by, version: self.version + 1, ..self.clone() }
    }

    /// The names of the variables that only the caller can fill, in the order of the body.
    pub fn caller_parameters(&self) -> impl Iterator<Item = &str> {
        let of_caller = self.variables.iter().filter(|variable| variable.source == Source::Caller);
        of_caller.map(|variable| variable.name.as_str())
    }

    /// The values of the body's variables for one contact, in their order, white space made single spaces as the
    /// provider demands; the name of the first one that has none.
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

/// What an operator asks a new template to be.
#[derive(Clone, Debug)]
pub struct NewTemplate<'a> {
    /// Whose it is to be.
    pub scope: TemplateScope,
    /// The provider who knows it.
    pub provider: Provider,
    /// Its name at the provider.
    pub name: &'a str,
    /// Its language at the provider.
    pub language: &'a str,
    /// The variables of its body, in their order.
    pub variables: Vec<Variable>,
    /// The accounts for which the provider approved it.
    pub approved_by: BTreeSet<BusinessAccountId>,
}

impl NewTemplate<'_> {
    fn check(&self) -> Result<(), TemplateUnfit> {
        check_name(self.name).map_err(TemplateUnfit::Name)?;
        check_language(self.language).map_err(TemplateUnfit::Language)?;
        if self.variables.len() > Template::MAX_VARIABLES {
            return Err(TemplateUnfit::TooManyVariables);
        }
        for (at, variable) in self.variables.iter().enumerate() {
            if self.variables[..at].iter().any(|before| before.name == variable.name) {
                return Err(TemplateUnfit::VariableTwice { name: variable.name.clone() });
            }
        }
        check_approvals(&self.approved_by)
    }
}

impl Variable {
    /// The greatest number of characters of a name.
    pub const MAX_NAME: usize = 64;
    const PATTERN: &'static str = "^[0-9A-Za-z_]{1,64}$";

    /// A variable of that name.
    pub fn new(name: &str, source: Source) -> Result<Self, Unfit> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if (1..=Self::MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
            Ok(Self { name: name.to_owned(), source })
        } else {
            Err(Unfit::Shape { pattern: Self::PATTERN })
        }
    }
}

fn check_name(name: &str) -> Result<(), Unfit> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=Template::MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        Err(Unfit::Shape { pattern: "^[a-z0-9_]{1,512}$" })
    }
}

/// A language and, behind an underscore, maybe a region, as the provider spells its codes.
fn check_language(code: &str) -> Result<(), Unfit> {
    let (language, region) = code.split_once('_').map_or((code, None), |(code, region)| (code, Some(region)));
    let is_language =
        matches!(language.len(), 2 | 3) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_region = |region: &str| region.len() == 2 && region.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_language && region.is_none_or(is_region) {
        Ok(())
    } else {
        Err(Unfit::Shape { pattern: "^[a-z]{2,3}(_[A-Z]{2})?$" })
    }
}

fn check_approvals(approved_by: &BTreeSet<BusinessAccountId>) -> Result<(), TemplateUnfit> {
    if approved_by.len() > Template::MAX_APPROVALS {
        return Err(TemplateUnfit::TooManyApprovals);
    }
    Ok(())
}

/// What is wrong with a template that is to be made or approved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateUnfit {
    /// Its name.
    #[error("the name {0}")]
    Name(Unfit),
    /// Its language.
    #[error("the language {0}")]
    Language(Unfit),
    /// The number of its variables.
    #[error("a template has at most {} variables", Template::MAX_VARIABLES)]
    TooManyVariables,
    /// Two of its variables have one name.
    #[error("the variable {name} is repeated")]
    VariableTwice {
        /// The name.
        name: String,
    },
    /// The number of its approvals.
    #[error("a template is approved for at most {} accounts", Template::MAX_APPROVALS)]
    TooManyApprovals,
}

impl ContactField {
    /// The fields' names in the API.
    pub const NAMES: &'static [&'static str] = &["firstName", "lastName", "email", "cellphone"];

    /// Reads a field's name.
    pub fn parse(name: &str) -> Result<Self, Unfit> {
        match name {
            "firstName" => Ok(Self::FirstName),
            "lastName" => Ok(Self::LastName),
            "email" => Ok(Self::Email),
            "cellphone" => Ok(Self::Cellphone),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The field's name in the API.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(self, contact: &Contact) -> Option<&str> {
        match self {
            Self::FirstName => contact.first_name.as_ref().map(PersonName::as_str),
            Self::LastName => contact.last_name.as_ref().map(PersonName::as_str),
            Self::Email => contact.email.as_ref().map(Email::as_str),
            Self::Cellphone => contact.cellphone.as_ref().map(Cellphone::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ContactId;
    use proptest::prelude::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    struct Same;

    impl Ids for Same {
        fn next(&self) -> Uuid {
            Uuid::from_u128(7)
        }
    }

    fn wanted() -> NewTemplate<'static> {
        NewTemplate {
            scope: TemplateScope::Platform,
            provider: Provider::WhatsApp,
            name: "welcome_2",
            language: "es",
            variables: vec![],
            approved_by: BTreeSet::new(),
        }
    }

    fn made(wanted: NewTemplate<'_>) -> Result<Template, TemplateUnfit> {
        Template::new(wanted, &Same, NOW)
    }

    fn account(n: usize) -> BusinessAccountId {
        BusinessAccountId::parse(&n.to_string()).unwrap()
    }

    fn caller(name: &str) -> Variable {
        Variable::new(name, Source::Caller).unwrap()
    }

    fn of_contact(name: &str, field: &str, fallback: Option<&str>) -> Variable {
        let fallback = fallback.map(|text| ParameterValue::parse(text).unwrap());
        Variable::new(name, Source::Contact { field: ContactField::parse(field).unwrap(), fallback }).unwrap()
    }

    fn contact() -> Contact {
        let id = Uuid::nil();
        Contact {
            first_name: PersonName::parse("Ana María").ok(),
            email: Email::parse("ana@example.com").ok(),
            ..Contact::blank(ContactId::from_uuid(id), WorkspaceId::from_uuid(id), NOW)
        }
    }

    fn given(parameters: &[(&str, &str)]) -> Parameters {
        let value = |text| ParameterValue::parse(text).unwrap();
        parameters.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
    }

    #[test]
    fn a_template_is_made_as_it_was_asked_for() {
        let variables = vec![caller("code"), of_contact("name", "firstName", Some("there"))];
        let template = made(NewTemplate { variables: variables.clone(), ..wanted() }).unwrap();
        let expected = Template {
            id: TemplateId::from_uuid(Uuid::from_u128(7)),
            scope: TemplateScope::Platform,
            provider: Provider::WhatsApp,
            name: "welcome_2".to_owned(),
            language: "es".to_owned(),
            variables,
            approved_by: BTreeSet::new(),
            created_at: NOW,
            version: 1,
        };
        assert_eq!(template, expected);
    }

    #[test]
    fn a_templates_name_is_lower_case_letters_digits_and_underscores() {
        for good in ["a", "order_update_2", "9", &"x".repeat(512)] {
            assert!(made(NewTemplate { name: good, ..wanted() }).is_ok(), "{good}");
        }
        for bad in ["", "Welcome", "a b", "a-b", "á", &"x".repeat(513)] {
            let refused = made(NewTemplate { name: bad, ..wanted() });
            assert!(matches!(refused, Err(TemplateUnfit::Name(Unfit::Shape { .. }))), "{bad}");
        }
    }

    #[test]
    fn a_templates_language_is_a_code_of_the_provider() {
        for good in ["es", "en_US", "fil", "zh_HK"] {
            assert!(made(NewTemplate { language: good, ..wanted() }).is_ok(), "{good}");
        }
        for bad in ["", "e", "ES", "es-ES", "en_us", "en_", "_US", "en_USA", "en_US_x", "spanish", "en_U1"] {
            let refused = made(NewTemplate { language: bad, ..wanted() });
            assert!(matches!(refused, Err(TemplateUnfit::Language(Unfit::Shape { .. }))), "{bad}");
        }
    }

    #[test]
    fn a_template_takes_20_variables_each_name_once() {
        let all: Vec<Variable> = (0..=Template::MAX_VARIABLES).map(|n| caller(&format!("v{n}"))).collect();
        assert!(made(NewTemplate { variables: all[..20].to_vec(), ..wanted() }).is_ok());
        let refused = made(NewTemplate { variables: all, ..wanted() });
        assert_eq!(refused, Err(TemplateUnfit::TooManyVariables));

        let twice = vec![caller("a"), caller("b"), of_contact("a", "email", None)];
        let refused = made(NewTemplate { variables: twice, ..wanted() });
        assert_eq!(refused, Err(TemplateUnfit::VariableTwice { name: "a".to_owned() }));
    }

    #[test]
    fn a_variables_name_is_1_to_64_letters_digits_and_underscores() {
        for good in ["1", "first_Name", &"x".repeat(64)] {
            assert_eq!(Variable::new(good, Source::Caller).unwrap().name, good);
        }
        for bad in ["", "a b", "a-b", "é", "a.b", &"x".repeat(65)] {
            assert!(matches!(Variable::new(bad, Source::Caller), Err(Unfit::Shape { .. })), "{bad}");
        }
    }

    #[test]
    fn a_value_is_1_to_1024_characters_not_blank_and_prints_redacted() {
        for good in ["x", &"é".repeat(1_024)] {
            assert_eq!(ParameterValue::parse(good).unwrap().as_str(), good);
        }
        assert_eq!(ParameterValue::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(ParameterValue::parse(&"é".repeat(1_025)), Err(Unfit::TooLong { max: 1_024 }));
        assert!(matches!(ParameterValue::parse(" \n"), Err(Unfit::Value { .. })));
        assert_eq!(format!("{:?}", ParameterValue::parse("Ana").unwrap()), "[ParameterValue]");
    }

    #[test]
    fn an_approval_given_or_taken_twice_changes_nothing() {
        let template = made(wanted()).unwrap();
        let approved = template.approved_for(&account(1)).unwrap().unwrap();
        assert_eq!((approved.approved_by.clone(), approved.version), ([account(1)].into(), 2));
        assert_eq!(approved.approved_for(&account(1)), Ok(None));
        assert_eq!(approved.revoked_for(&account(2)), None);
        assert_eq!(approved.revoked_for(&account(1)), Some(Template { version: 3, ..template }));
    }

    #[test]
    fn a_template_is_approved_for_250_accounts_at_most() {
        let all: BTreeSet<BusinessAccountId> = (0..Template::MAX_APPROVALS).map(account).collect();
        let full = made(NewTemplate { approved_by: all.clone(), ..wanted() }).unwrap();
        assert_eq!(
            full.approved_for(&account(Template::MAX_APPROVALS)),
            Err(TemplateUnfit::TooManyApprovals)
        );
        assert_eq!(full.approved_for(&account(Template::MAX_APPROVALS - 1)), Ok(None));
        let over = all.into_iter().chain([account(Template::MAX_APPROVALS)]).collect();
        let refused = made(NewTemplate { approved_by: over, ..wanted() });
        assert_eq!(refused, Err(TemplateUnfit::TooManyApprovals));
    }

    #[test]
    fn only_what_the_caller_fills_is_a_parameter() {
        let variables = vec![caller("b"), of_contact("name", "firstName", None), caller("a")];
        let template = made(NewTemplate { variables, ..wanted() }).unwrap();
        assert_eq!(template.caller_parameters().collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn a_body_is_filled_in_its_order_from_caller_contact_and_fall_back() {
        let code = given(&[("code", "A 1"), ("name", "not for this")]);
        type Row = (Vec<Variable>, Result<&'static [&'static str], &'static str>);
        let rows: [Row; 8] = [
            (vec![], Ok(&[])),
            (vec![caller("code")], Ok(&["A 1"])),
            (vec![of_contact("name", "firstName", None), caller("code")], Ok(&["Ana María", "A 1"])),
            (vec![of_contact("name", "firstName", Some("there"))], Ok(&["Ana María"])),
            (vec![of_contact("name", "lastName", Some("there"))], Ok(&["there"])),
            (vec![of_contact("name", "lastName", None), caller("other")], Err("name")),
            (vec![of_contact("mail", "email", None), of_contact("to", "cellphone", None)], Err("to")),
            (vec![caller("other"), of_contact("name", "lastName", None)], Err("other")),
        ];
        for (variables, expected) in rows {
            let template = made(NewTemplate { variables: variables.clone(), ..wanted() }).unwrap();
            let expected = expected
                .map(|values| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
                .map_err(str::to_owned);
            assert_eq!(template.filled_for(&contact(), &code), expected, "{variables:?}");
        }
    }

    #[test]
    fn white_space_is_made_single_spaces_as_the_provider_demands() {
        let variables = vec![caller("text"), of_contact("name", "lastName", Some(" dear\n friend "))];
        let template = made(NewTemplate { variables, ..wanted() }).unwrap();
        let filled = template.filled_for(&contact(), &given(&[("text", "\tone\n\ntwo     three ")]));
        assert_eq!(filled.unwrap(), ["one two three", "dear friend"]);
    }

    proptest! {
        #[test]
        fn no_value_that_can_be_given_breaks_the_providers_rules(text in ".{1,40}") {
            prop_assume!(ParameterValue::parse(&text).is_ok());
            let template = made(NewTemplate { variables: vec![caller("text")], ..wanted() }).unwrap();
            let filled = template.filled_for(&contact(), &given(&[("text", &text)])).unwrap();
            prop_assert_eq!(filled.len(), 1);
            prop_assert!(!filled[0].is_empty() && !filled[0].contains(['\n', '\t', '\r']) && !filled[0].contains("  "));
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(visible(&filled[0]), visible(&text));
        }
    }

    #[test]
    fn the_words_for_contact_fields_are_read_back() {
        for name in ContactField::NAMES {
            assert_eq!(ContactField::parse(name).unwrap().as_str(), *name);
        }
        assert_eq!(ContactField::parse("ownerId"), Err(Unfit::NotOneOf { expected: ContactField::NAMES }));
    }
}
