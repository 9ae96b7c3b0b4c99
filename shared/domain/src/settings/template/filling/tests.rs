use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::ids::{BusinessAccountId, ChannelId};
use crate::settings::line::Provider;
use crate::settings::template::{
    AccountState, Button, ButtonKind, Card, ContactField, FileKind, Offer, ParameterFormat, SaidBy, Sources,
    TemplateScope, Variable, short_form,
};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn template(form: Form, sources: Sources) -> Template {
    Template {
        id: TemplateId::from_uuid(Uuid::from_u128(7)),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "welcome".to_owned(),
        language: "es".to_owned(),
        category: Some(TemplateCategory::Utility),
        form,
        sources,
        states: BTreeMap::new(),
        taken_from: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

fn of_variables(variables: Vec<Variable>) -> Template {
    let (form, sources) = short_form(variables);
    template(form, sources)
}

fn value(text: &str) -> ParameterValue {
    ParameterValue::parse(text).unwrap()
}

fn given(parameters: &[(&str, &str)]) -> Parameters {
    parameters.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

fn ana() -> ContactValues<'static> {
    ContactValues { first_name: Some("Ana María"), last_name: None, email: Some("a@b.c"), cellphone: None }
}

fn filled(template: &Template, parameters: &[(&str, &str)], contact: Option<ContactValues<'_>>) -> Filling {
    let (given, files) = (given(parameters), BTreeMap::new());
    let is_object = |text: &str| text.starts_with('{');
    template.filled(&Filler { given: &given, files: &files, contact, now: NOW, is_object })
}

fn caller(name: &str) -> Variable {
    Variable::new(name, Source::Caller).unwrap()
}

fn of_contact(name: &str, field: ContactField, fallback: Option<&str>) -> Variable {
    Variable::new(name, Source::Contact { field, fallback: fallback.map(value) }).unwrap()
}

/// A form with a slot of each kind.
fn every_slot() -> Form {
    let text = |text: &str| Text::parse(text, ParameterFormat::Positional);
    let button = |kind| Button { text: "b".to_owned(), kind };
    let buttons = vec![
        button(ButtonKind::QuickReply),
        button(ButtonKind::Url("https://a.example/{{1}}".to_owned())),
        button(ButtonKind::CopyCode),
        button(ButtonKind::Flow),
        button(ButtonKind::Otp),
    ];
    Form {
        format: ParameterFormat::Positional,
        header: Some(Header::Text(text("Hello {{1}}"))),
        body: text("{{1}} {{2}}"),
        footer: Some("Bye".to_owned()),
        buttons: buttons.clone(),
        offer: Some(Offer { text: "o".to_owned(), expires: true }),
        cards: vec![
            Card { header: FileKind::Image, body: text("{{1}}"), buttons },
            Card { header: FileKind::Document, body: text(""), buttons: vec![] },
        ],
        ttl_seconds: None,
        unsupported: None,
    }
}

#[test]
fn values_come_from_caller_contact_fallback_and_the_settings() {
    type Row = (Vec<Variable>, Result<&'static [&'static str], (&'static str, FaultKind)>);
    let fixed = |name: &str, text: &str| Variable::new(name, Source::Fixed(value(text))).unwrap();
    let or = |name: &str, text: &str| Variable::new(name, Source::CallerOr(value(text))).unwrap();
    use ContactField::{Cellphone, Email, FirstName, LastName};
    let rows: [Row; 9] = [
        (vec![], Ok(&[])),
        (vec![caller("code")], Ok(&["A 1"])),
        (vec![of_contact("name", FirstName, None), caller("code")], Ok(&["A 1", "Ana María"])),
        (vec![of_contact("name", FirstName, Some("there"))], Ok(&["Ana María"])),
        (vec![of_contact("name", LastName, Some(" dear\n friend "))], Ok(&["dear friend"])),
        (vec![of_contact("name", LastName, None)], Err(("name", FaultKind::OfContact))),
        (
            vec![of_contact("a", Email, None), of_contact("to", Cellphone, None)],
            Err(("to", FaultKind::OfContact)),
        ),
        (vec![caller("other")], Err(("other", FaultKind::Missing))),
        (
            vec![or("a", "default"), or("code", "default"), fixed("c", "always")],
            Ok(&["default", "always", "A 1"]),
        ),
    ];
    for (variables, expected) in rows {
        let takes = variables.iter().any(|variable| variable.name == "code");
        let parameters: &[(&str, &str)] = if takes { &[("code", "A  1")] } else { &[] };
        let filling = filled(&of_variables(variables.clone()), parameters, Some(ana()));
        match expected {
            Ok(values) => {
                let texts: Vec<&str> = filling.values.keys().filter_map(|slot| filling.text(slot)).collect();
                assert_eq!((texts.as_slice(), filling.faults.len()), (values, 0), "{variables:?}");
            }
            Err((parameter, kind)) => {
                let found: Vec<_> =
                    filling.faults.iter().map(|fault| (fault.parameter.as_str(), fault.kind)).collect();
                assert_eq!(found, [(parameter, kind)], "{variables:?}");
            }
        }
    }
}

/// The kinds of values that each slot takes and refuses.
#[test]
fn each_slot_takes_what_fits_its_place() {
    let long = "x".repeat(1_025);
    let suffix = "x".repeat(2_049);
    let link = format!("https://a.example/{suffix}");
    let data = format!("{{{}}}", "x".repeat(4_096));
    #[rustfmt::skip]
    let rows: &[(&str, &[&str], &[&str])] = &[
        ("1", &["x", &long[..1_022], " a\n\tb "], &["", " \n", &long, &long[..1_024]]),
        ("header.1", &["x", &long[..54]], &["", &long[..55]]),
        ("offer.expiresAt", &["2026-01-02T03:04:06Z", "2027-01-01T00:00:00+02:00"], &["2026-01-02T03:04:05Z", "soon", "2027-01-01"]),
        ("button.0.payload", &["x", "a b\n"], &["", &long]),
        ("button.1.url", &["a/b?c=d#e", &suffix[..2_048]], &["", "a b", "a\nb", &suffix]),
        ("button.2.code", &["A", "123456789012345"], &["", "1234567890123456"]),
        ("button.3.flowToken", &["x"], &["", &long]),
        ("button.3.flowData", &["{}"], &["", "[]", "x", &data]),
        ("card.0.header.image", &["https://a.example/x.png"], &["", "http://a.example", "a.png", "https://", &link, "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"]),
        ("card.1.header.filename", &["offer.pdf"], &["", &long[..256]]),
    ];
    let all = template(every_slot(), Sources::new());
    for (slot, good, bad) in rows {
        for (values, fits) in [(good, true), (bad, false)] {
            for value in *values {
                let filling = filled(&all, &[(slot, value)], None);
                let unfit = filling.faulty(FaultKind::Unfit);
                assert_eq!(unfit.is_empty(), fits, "{slot} {} {:?}", value.len(), filling.faults);
            }
        }
    }
    let place = template(Form { header: Some(Header::Location), ..Form::of_names(vec![]) }, Sources::new());
    for (slot, value, fits) in [
        ("header.latitude", "-90", true),
        ("header.latitude", "90.5", false),
        ("header.longitude", "180", true),
        ("header.longitude", "NaN", false),
        ("header.longitude", "x", false),
        ("header.name", "Shop", true),
    ] {
        assert_eq!(
            filled(&place, &[(slot, value)], None).faulty(FaultKind::Unfit).is_empty(),
            fits,
            "{slot} {value}"
        );
    }
}

#[test]
fn all_faults_are_found_at_once() {
    let filling = filled(
        &template(every_slot(), Sources::new()),
        &[("zoo", "x"), ("1", ""), ("button.2.code", "too long a code.")],
        None,
    );
    let of = |kind| filling.faulty(kind);
    assert_eq!(of(FaultKind::Foreign), ["zoo"]);
    assert_eq!(of(FaultKind::Unfit), ["1", "button.2.code"]);
    let missing = [
        "header.1",
        "2",
        "offer.expiresAt",
        "button.1.url",
        "card.0.header.image",
        "card.0.1",
        "card.0.button.1.url",
        "card.0.button.2.code",
        "card.1.header.document",
    ];
    assert_eq!(of(FaultKind::Missing), missing);
}

#[test]
fn a_body_that_is_long_at_the_provider_may_be_long() {
    let body = Text::parse(&format!("{{{{1}}}}{}", "x".repeat(1_100)), ParameterFormat::Positional);
    let long = template(Form { body, ..Form::of_names(vec![]) }, Sources::new());
    let filling = filled(&long, &[("1", &"y".repeat(1_024))], None);
    assert_eq!(filling.faults, []);
    assert_eq!(long.kept_text(&filling).unwrap().chars().count(), 2_048);
}

#[test]
fn a_text_shows_the_contacts_fields_until_the_contact_is_known() {
    let (mut form, _) = short_form(vec![]);
    form.header = Some(Header::Text(Text::parse("Order {{1}}", ParameterFormat::Positional)));
    form.body = Text::parse("Hi {{1}}: {{2}}", ParameterFormat::Positional);
    form.footer = Some("Bye".to_owned());
    let sources =
        [("1".to_owned(), Source::Contact { field: ContactField::FirstName, fallback: None })].into();
    let template = template(form, sources);
    let parameters = [("2", "A 1"), ("header.1", "7")];
    let before = template.text(&filled(&template, &parameters, None)).unwrap();
    assert_eq!(before, "Order 7\n\nHi {{firstName}}: A 1\n\nBye");
    let after = template.text(&filled(&template, &parameters, Some(ana()))).unwrap();
    assert_eq!(after, "Order 7\n\nHi Ana María: A 1\n\nBye");
    assert_eq!(of_variables(vec![]).text(&Filling::default()), None);
}

#[test]
fn the_faults_of_a_template_have_an_order_and_nothing_is_accepted_with_one() {
    let account = BusinessAccountId::parse("1").unwrap();
    let channel = ChannelId::parse("line").unwrap();
    let lines = [Reached { channel: channel.clone(), business_account: account.clone() }];
    let mut one = of_variables(vec![caller("a"), caller("b")]);
    let accept = |template: &Template, parameters: &[(&str, &str)], origin| {
        let requested = Requested { template: template.id, parameters: given(parameters) };
        let media = BTreeMap::new();
        template.accept(
            &requested,
            &Accepting { lines: &lines, media: &media, now: NOW, is_object: |_| true },
            origin,
        )
    };
    let (template, origin) = (one.id, Origin::Request);
    let everything = [("zoo", "x"), ("b", "")];
    let refused =
        |status| Err(Refused::TemplateNotApproved { template, channel: channel.clone(), status, origin });
    assert_eq!(accept(&one, &everything, origin), refused(None));
    one.states.insert(account.clone(), AccountState::of(TemplateStatus::Paused, NOW, SaidBy::Provider));
    assert_eq!(accept(&one, &everything, origin), refused(Some("PAUSED")));
    one.states.insert(account, AccountState::of(TemplateStatus::Flagged, NOW, SaidBy::Provider));
    let names = |name: &str| vec![name.to_owned()];
    assert_eq!(
        accept(&one, &everything, origin),
        Err(Refused::MissingParameters { template, parameters: names("a") })
    );
    let foreign = accept(&one, &[("zoo", "x"), ("b", ""), ("a", "")], origin);
    assert_eq!(foreign, Err(Refused::ForeignParameters { template, parameters: names("zoo") }));
    let blank = |name: &str| (name.to_owned(), "is blank".to_owned());
    let unfit = Refused::UnfitParameters { template, parameters: vec![blank("a"), blank("b")], origin };
    assert_eq!(accept(&one, &[("b", ""), ("a", " ")], origin), Err(unfit));
    let configured = accept(&one, &[], Origin::WorkspaceConfiguration);
    assert_eq!(configured, Err(Refused::ConfiguredTemplateNeedsCaller { template }));
    let accepted = accept(&one, &[("a", "1"), ("b", "2")], origin).unwrap();
    assert_eq!((accepted.parameters, accepted.files.len()), (given(&[("a", "1"), ("b", "2")]), 0));
}

proptest! {
    #[test]
    fn no_valid_value_breaks_the_providers_rules(text in ".{1,40}") {
        prop_assume!(!is_blank(&text));
        let filling = filled(&of_variables(vec![caller("text")]), &[("text", &text)], None);
        let filled = filling.text("text").unwrap();
        prop_assert!(!filled.is_empty() && !filled.contains(['\n', '\t', '\r']) && !filled.contains("  "));
        let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(visible(filled), visible(&text));
    }
}
