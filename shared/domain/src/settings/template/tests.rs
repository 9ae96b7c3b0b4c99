use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::contact::Contact;
use crate::ids::ContactId;
use crate::text::{Email, PersonName};

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
        category: None,
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
fn a_new_template_has_the_requested_fields() {
    let variables = vec![caller("code"), of_contact("name", "firstName", Some("there"))];
    let template = made(NewTemplate { variables: variables.clone(), ..wanted() }).unwrap();
    let expected = Template {
        id: TemplateId::from_uuid(Uuid::from_u128(7)),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "welcome_2".to_owned(),
        language: "es".to_owned(),
        category: None,
        variables,
        approved_by: BTreeSet::new(),
        decisions: BTreeMap::new(),
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
fn a_templates_language_is_a_code_in_the_providers_form() {
    for good in ["es", "en_US", "fil", "zh_HK"] {
        assert!(made(NewTemplate { language: good, ..wanted() }).is_ok(), "{good}");
    }
    for bad in ["", "e", "ES", "es-ES", "en_us", "en_", "_US", "en_USA", "en_US_x", "spanish", "en_U1"] {
        let refused = made(NewTemplate { language: bad, ..wanted() });
        assert!(matches!(refused, Err(TemplateUnfit::Language(Unfit::Shape { .. }))), "{bad}");
    }
}

#[test]
fn a_template_has_at_most_20_variables_with_unique_names() {
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
fn a_repeated_approval_or_revocation_changes_nothing() {
    let template = made(wanted()).unwrap();
    let approved = template.approved_for(&account(1)).unwrap().unwrap();
    assert_eq!((approved.approved_by.clone(), approved.version), ([account(1)].into(), 2));
    assert_eq!(approved.approved_for(&account(1)), Ok(None));
    assert_eq!(approved.revoked_for(&account(2)), None);
    assert_eq!(approved.revoked_for(&account(1)), Some(Template { version: 3, ..template }));
}

#[test]
fn a_template_has_at_most_250_approvals() {
    let all: BTreeSet<BusinessAccountId> = (0..Template::MAX_APPROVALS).map(account).collect();
    let full = made(NewTemplate { approved_by: all.clone(), ..wanted() }).unwrap();
    assert_eq!(full.approved_for(&account(Template::MAX_APPROVALS)), Err(TemplateUnfit::TooManyApprovals));
    assert_eq!(full.approved_for(&account(Template::MAX_APPROVALS - 1)), Ok(None));
    let over = all.into_iter().chain([account(Template::MAX_APPROVALS)]).collect();
    let refused = made(NewTemplate { approved_by: over, ..wanted() });
    assert_eq!(refused, Err(TemplateUnfit::TooManyApprovals));
}

#[test]
fn only_variables_that_the_caller_fills_are_parameters() {
    let variables = vec![caller("b"), of_contact("name", "firstName", None), caller("a")];
    let template = made(NewTemplate { variables, ..wanted() }).unwrap();
    assert_eq!(template.caller_parameters().collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn variables_are_filled_in_order_from_caller_contact_and_fallback() {
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
fn white_space_becomes_single_spaces() {
    let variables = vec![caller("text"), of_contact("name", "lastName", Some(" dear\n friend "))];
    let template = made(NewTemplate { variables, ..wanted() }).unwrap();
    let filled = template.filled_for(&contact(), &given(&[("text", "\tone\n\ntwo     three ")]));
    assert_eq!(filled.unwrap(), ["one two three", "dear friend"]);
}

proptest! {
    #[test]
    fn no_valid_value_breaks_the_providers_rules(text in ".{1,40}") {
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
fn the_names_of_contact_fields_parse() {
    for name in ContactField::NAMES {
        assert_eq!(ContactField::parse(name).unwrap().as_str(), *name);
    }
    assert_eq!(ContactField::parse("ownerId"), Err(Unfit::NotOneOf { expected: ContactField::NAMES }));
}

#[test]
fn templates_of_a_scope_differ_in_name_or_language_and_a_repeated_rename_changes_nothing() {
    let other = |n, name: &str, language: &str| Template {
        id: TemplateId::from_uuid(Uuid::from_u128(n)),
        name: name.to_owned(),
        language: language.to_owned(),
        ..made(wanted()).unwrap()
    };
    let all = [other(1, "welcome", "es"), other(2, "welcome", "en"), other(3, "bye", "es")];
    assert_eq!(other(4, "welcome", "es").check_name(&all), Err(NameTaken::Template(all[0].id)));
    assert_eq!(other(2, "bye", "es").check_name(&all), Err(NameTaken::Template(all[2].id)));
    assert_eq!(other(4, "welcome", "es_MX").check_name(&all), Ok(()));
    assert_eq!(other(1, "welcome", "es").check_name(&all), Ok(()));

    let renamed = all[0].renamed("hello").unwrap().unwrap();
    assert_eq!(renamed, Template { name: "hello".to_owned(), version: 2, ..all[0].clone() });
    assert_eq!(renamed.renamed("hello"), Ok(None));
    assert!(matches!(renamed.renamed("Hello"), Err(TemplateUnfit::Name(_))));
}

#[test]
fn the_providers_newest_decision_for_an_account_holds_whatever_comes_last() {
    use Verdict::{Approved, Paused, Revoked};
    #[rustfmt::skip]
    let rows: &[(&[(Verdict, i64)], Verdict)] = &[
        (&[(Approved, 1)], Approved),
        (&[(Approved, 1), (Paused, 2)], Paused),
        (&[(Paused, 2), (Approved, 1)], Paused),
        (&[(Paused, 2), (Approved, 3)], Approved),
        (&[(Revoked, 4), (Approved, 3), (Paused, 2)], Revoked),
        (&[(Revoked, 2), (Approved, 2)], Revoked),
        (&[(Approved, 2), (Paused, 2)], Paused),
    ];
    for (decisions, holds) in rows {
        let mut template = made(wanted()).unwrap();
        for (verdict, at) in *decisions {
            let decision = Decision { verdict: *verdict, at: Timestamp::from_millis(*at) };
            if let Some(next) = template.decided(&account(1), decision).unwrap() {
                assert_eq!(next.version, template.version + 1);
                template = next;
            }
            assert_eq!(template.decided(&account(1), decision), Ok(None), "a repeat");
        }
        assert_eq!(template.approved_by.contains(&account(1)), *holds == Approved, "{decisions:?}");
        assert_eq!(template.paused_for().count(), usize::from(*holds == Paused), "{decisions:?}");
        assert_eq!(template.decisions.len(), 1);
    }
}

#[test]
fn a_decision_is_for_one_account_and_an_operators_approval_ends_a_pause() {
    let decision = |verdict, at| Decision { verdict, at: Timestamp::from_millis(at) };
    let both = made(NewTemplate { approved_by: [account(1), account(2)].into(), ..wanted() }).unwrap();
    let paused = both.decided(&account(1), decision(Verdict::Paused, 1)).unwrap().unwrap();
    assert_eq!(paused.approved_by, [account(2)].into());
    let again = paused.approved_for(&account(1)).unwrap().unwrap();
    assert_eq!(again.paused_for().count(), 0);

    // The decisions are bounded, and so are the approvals.
    let mut many = made(wanted()).unwrap();
    for number in 0..=Template::MAX_DECISIONS {
        let at = i64::try_from(number).unwrap();
        many = many.decided(&account(number), decision(Verdict::Revoked, at)).unwrap().unwrap();
    }
    assert_eq!(many.decisions.len(), Template::MAX_DECISIONS);
    assert!(!many.decisions.contains_key(&account(0)));
    let all = (1..=Template::MAX_APPROVALS).map(account).collect();
    let full = made(NewTemplate { approved_by: all, ..wanted() }).unwrap();
    assert_eq!(
        full.decided(&account(0), decision(Verdict::Approved, 1)),
        Err(TemplateUnfit::TooManyApprovals)
    );
}

#[test]
fn the_statuses_of_the_provider_have_verdicts() {
    for (status, verdict) in [
        ("APPROVED", Some(Verdict::Approved)),
        ("REINSTATED", Some(Verdict::Approved)),
        ("PAUSED", Some(Verdict::Paused)),
        ("REJECTED", Some(Verdict::Revoked)),
        ("DISABLED", Some(Verdict::Revoked)),
        ("PENDING_DELETION", Some(Verdict::Revoked)),
        ("DELETED", Some(Verdict::Revoked)),
        ("PENDING", None),
        ("FLAGGED", None),
        ("IN_APPEAL", None),
        ("approved", None),
    ] {
        assert_eq!(Verdict::of_status(status), verdict, "{status}");
    }
}

#[test]
fn the_provider_changes_the_category() {
    let template = made(wanted()).unwrap();
    let utility = template.in_category(TemplateCategory::Utility).unwrap();
    assert_eq!(utility, Template { category: Some(TemplateCategory::Utility), version: 2, ..template });
    assert_eq!(utility.in_category(TemplateCategory::Utility), None);
    assert_eq!(utility.in_category(TemplateCategory::Marketing).unwrap().version, 3);
}
