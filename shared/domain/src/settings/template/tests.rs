use uuid::Uuid;

use super::*;

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
        form: Form::of_names(vec![]),
        sources: [].into(),
        approved_by: BTreeSet::new(),
    }
}

/// A wish for a body that takes these values.
fn with(variables: Vec<Variable>) -> NewTemplate<'static> {
    let (form, sources) = short_form(variables);
    NewTemplate { form, sources, ..wanted() }
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

#[test]
fn a_new_template_has_the_requested_fields() {
    let variables = vec![caller("code"), of_contact("name", "firstName", Some("there"))];
    let template = made(with(variables.clone())).unwrap();
    let expected = Template {
        id: TemplateId::from_uuid(Uuid::from_u128(7)),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "welcome_2".to_owned(),
        language: "es".to_owned(),
        category: None,
        form: Form::of_names(vec!["code".to_owned(), "name".to_owned()]),
        sources: [("name".to_owned(), variables[1].source.clone())].into(),
        states: BTreeMap::new(),
        taken_from: None,
        created_at: NOW,
        updated_at: NOW,
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
    assert!(made(with(all[..20].to_vec())).is_ok());
    let refused = made(with(all));
    assert_eq!(refused, Err(TemplateUnfit::TooManyVariables));

    let twice = vec![caller("a"), caller("b"), of_contact("a", "email", None)];
    let refused = made(with(twice));
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
fn a_value_has_up_to_16384_characters_and_prints_redacted() {
    for good in ["", "x", " \n", &"é".repeat(16_384)] {
        assert_eq!(ParameterValue::parse(good).unwrap().as_str(), good);
    }
    assert_eq!(ParameterValue::parse(&"é".repeat(16_385)), Err(Unfit::TooLong { max: 16_384 }));
    assert_eq!(format!("{:?}", ParameterValue::parse("Ana").unwrap()), "[ParameterValue]");
}

fn state(status: TemplateStatus, at: i64, by: SaidBy) -> AccountState {
    AccountState::of(status, Timestamp::from_millis(at), by)
}

#[test]
fn an_operators_word_holds_until_newer_news_and_a_repeat_changes_nothing() {
    let template = made(wanted()).unwrap();
    let approved = template.said(&account(1), true, NOW).unwrap().unwrap();
    assert_eq!((approved.sendable(&account(1)), approved.version), (Sendable::Now, 2));
    assert_eq!(approved.said(&account(1), true, NOW), Ok(None));
    assert_eq!(approved.said(&account(2), false, NOW), Ok(None));
    let revoked = approved.said(&account(1), false, NOW).unwrap().unwrap();
    assert_eq!(revoked.sendable(&account(1)), Sendable::Never);
    let later = NOW.as_millis() + 1;
    let paused = approved
        .decided(&account(1), state(TemplateStatus::Paused, later, SaidBy::Provider))
        .unwrap()
        .unwrap();
    assert_eq!(paused.accounts(Sendable::Later).collect::<Vec<_>>(), [&account(1)]);
    // An operator can end a pause in both ways, also if the clock is behind that of the provider.
    assert_eq!(paused.said(&account(1), false, NOW).unwrap().unwrap().sendable(&account(1)), Sendable::Never);
    assert_eq!(paused.said(&account(1), true, NOW).unwrap().unwrap().sendable(&account(1)), Sendable::Now);
}

#[test]
fn a_template_is_known_for_at_most_250_accounts() {
    let all: BTreeSet<BusinessAccountId> = (0..Template::MAX_ACCOUNTS).map(account).collect();
    let full = made(NewTemplate { approved_by: all.clone(), ..wanted() }).unwrap();
    let one_more = account(Template::MAX_ACCOUNTS);
    assert_eq!(full.said(&one_more, true, NOW), Err(TemplateUnfit::TooManyAccounts));
    let news = state(TemplateStatus::Paused, 1, SaidBy::Provider);
    assert_eq!(full.decided(&one_more, news), Err(TemplateUnfit::TooManyAccounts));
    assert_eq!(full.said(&account(Template::MAX_ACCOUNTS - 1), true, NOW), Ok(None));
    let over = all.into_iter().chain([one_more]).collect();
    let refused = made(NewTemplate { approved_by: over, ..wanted() });
    assert_eq!(refused, Err(TemplateUnfit::TooManyAccounts));
}

#[test]
fn only_variables_that_the_caller_fills_are_parameters() {
    let variables = vec![caller("b"), of_contact("name", "firstName", None), caller("a")];
    let template = made(with(variables)).unwrap();
    assert_eq!(template.caller_parameters(), ["b", "a"]);
}

#[test]
fn the_names_of_contact_fields_parse() {
    for name in ContactField::NAMES {
        assert_eq!(ContactField::parse(name).unwrap().as_str(), *name);
    }
    assert_eq!(ContactField::parse("ownerId"), Err(Unfit::NotOneOf { expected: ContactField::NAMES }));
}

#[test]
fn the_newest_news_for_an_account_hold_whatever_comes_last() {
    use TemplateStatus::{Approved, Paused, Rejected};
    #[rustfmt::skip]
    let rows: &[(&[(TemplateStatus, i64)], TemplateStatus)] = &[
        (&[(Approved, 1)], Approved),
        (&[(Approved, 1), (Paused, 2)], Paused),
        (&[(Paused, 2), (Approved, 1)], Paused),
        (&[(Paused, 2), (Approved, 3)], Approved),
        (&[(Rejected, 4), (Approved, 3), (Paused, 2)], Rejected),
        (&[(Rejected, 2), (Approved, 2)], Rejected),
        (&[(Approved, 2), (Paused, 2)], Paused),
    ];
    for (news, holds) in rows {
        let mut template = made(wanted()).unwrap();
        for (status, at) in *news {
            let news = state(*status, *at, SaidBy::Provider);
            if let Some(next) = template.decided(&account(1), news.clone()).unwrap() {
                assert_eq!(next.version, template.version + 1);
                template = next;
            }
            assert_eq!(template.decided(&account(1), news), Ok(None), "a repeat");
        }
        assert_eq!(template.status(&account(1)), Some(*holds), "{news:?}");
        assert_eq!(template.status(&account(2)), None);
    }
    // At the same moment, the webhook holds and not the list.
    let listed =
        made(wanted()).unwrap().decided(&account(1), state(Rejected, 5, SaidBy::Sync)).unwrap().unwrap();
    let told = listed.decided(&account(1), state(Approved, 5, SaidBy::Provider)).unwrap().unwrap();
    assert_eq!(told.status(&account(1)), Some(Approved));
    assert_eq!(told.decided(&account(1), state(Rejected, 5, SaidBy::Sync)), Ok(None));
}

#[test]
fn another_shape_and_an_unsupported_component_decide_about_the_status() {
    let mut template = made(with(vec![caller("a")])).unwrap();
    let shaped = |shape: String| AccountState {
        shape: Some(shape),
        ..state(TemplateStatus::Approved, 1, SaidBy::Sync)
    };
    template.states =
        [(account(1), shaped(template.form.shape())), (account(2), shaped("other".to_owned()))].into();
    assert_eq!(template.status(&account(1)), Some(TemplateStatus::Approved));
    assert_eq!(template.status(&account(2)), Some(TemplateStatus::Mismatch));
    template.form.unsupported = Some("[]".to_owned());
    template.states.insert(account(1), shaped(template.form.shape()));
    assert_eq!(template.status(&account(1)), Some(TemplateStatus::Unsupported));
}

#[test]
fn each_status_means_what_the_provider_does() {
    use Sendable::{Later, Never, Now};
    let expected =
        [Now, Now, Now, Now, Later, Later, Later, Never, Never, Never, Never, Never, Never, Never, Never];
    for (status, means) in TemplateStatus::ALL.into_iter().zip(expected) {
        assert_eq!(status.sendable(), means, "{status:?}");
    }
    assert_eq!(TemplateStatus::reported("PAUSED"), Some(TemplateStatus::Paused));
    for word in ["MISMATCH", "UNSUPPORTED", "approved", "NEW"] {
        assert_eq!(TemplateStatus::reported(word), None, "{word}");
    }
}

#[test]
fn sources_belong_to_slots_by_name() {
    let template = made(with(vec![caller("a"), caller("b")])).unwrap();
    let (fixed, later) =
        (Source::Fixed(ParameterValue::parse("x").unwrap()), Timestamp::from_millis(NOW.as_millis() + 1));
    let next = template.with_sources(&[("b".to_owned(), fixed.clone())].into(), later).unwrap().unwrap();
    assert_eq!((next.caller_parameters(), next.source("b")), (vec!["a".to_owned()], &fixed));
    assert_eq!((template.updated_at, next.updated_at), (NOW, later));
    assert_eq!(next.with_sources(&[("b".to_owned(), fixed)].into(), later), Ok(None));
    let back = next.with_sources(&[("b".to_owned(), Source::Caller)].into(), later).unwrap().unwrap();
    assert_eq!(back.sources, template.sources);
    let unknown = next.with_sources(&[("c".to_owned(), Source::Caller)].into(), later);
    assert_eq!(unknown, Err(TemplateUnfit::NoSlot { slot: "c".to_owned() }));
    let long = Source::CallerOr(ParameterValue::parse(&"x".repeat(1_025)).unwrap());
    let refused = next.with_sources(&[("a".to_owned(), long)].into(), later);
    assert!(matches!(refused, Err(TemplateUnfit::Source { .. })));
}

#[test]
fn the_provider_changes_the_category() {
    let template = made(wanted()).unwrap();
    let utility = template.in_category(TemplateCategory::Utility, NOW).unwrap();
    assert_eq!(utility, Template { category: Some(TemplateCategory::Utility), version: 2, ..template });
    assert_eq!(utility.in_category(TemplateCategory::Utility, NOW), None);
    assert_eq!(utility.in_category(TemplateCategory::Marketing, NOW).unwrap().version, 3);
}
