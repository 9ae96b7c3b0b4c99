use std::collections::BTreeSet;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::ids::{BusinessAccountId, ChannelId};
use crate::settings::line::Provider;
use crate::settings::line::Reached;
use crate::settings::template::{
    AccountState, ContactField, ParameterValue, SaidBy, Sendable, Source, TemplateScope, TemplateStatus,
    Variable, short_form,
};
use crate::text::Unfit;
use crate::time::Timestamp;

fn id(n: u128) -> TemplateId {
    TemplateId::from_uuid(Uuid::from_u128(n))
}

fn account(n: u32) -> BusinessAccountId {
    BusinessAccountId::parse(&format!("20{n}")).unwrap()
}

fn line(n: u32, of: u32) -> Reached {
    Reached { channel: ChannelId::parse(&format!("10{n}")).unwrap(), business_account: account(of) }
}

fn parameters(names: &[&str]) -> Parameters {
    names.iter().map(|name| ((*name).to_owned(), ParameterValue::parse("value").unwrap())).collect()
}

fn request(n: u128, names: &[&str]) -> Requested {
    Requested { template: id(n), parameters: parameters(names) }
}

fn template(n: u128, callers: &[&str], approved: &[u32]) -> Template {
    let own = Source::Contact { field: ContactField::FirstName, fallback: None };
    let caller = |name: &&str| Variable::new(name, Source::Caller).unwrap();
    let variables = [Variable::new("name", own).unwrap()].into_iter().chain(callers.iter().map(caller));
    let (form, sources) = short_form(variables.collect());
    Template {
        id: id(n),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: format!("t{n}"),
        language: "es".to_owned(),
        category: None,
        form,
        sources,
        states: approved
            .iter()
            .map(|n| account(*n))
            .map(|account| {
                (
                    account,
                    AccountState::of(TemplateStatus::Approved, Timestamp::from_millis(0), SaidBy::Operator),
                )
            })
            .collect(),
        taken_from: None,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
        version: 1,
    }
}

/// Templates 1 and 2 need no values and are approved for both lines. 3 needs two values. 4 is approved for
/// one of the two accounts. 5 needs a value and is approved for none.
fn templates() -> BTreeMap<TemplateId, Template> {
    let all = [
        template(1, &[], &[1, 2]),
        template(2, &[], &[1, 2]),
        template(3, &["code", "at"], &[1, 2]),
        template(4, &[], &[1]),
        template(5, &["code"], &[]),
    ];
    all.into_iter().map(|template| (template.id, template)).collect()
}

fn set_up(overriding: Override, sequence: &[u128]) -> Onboarding {
    Onboarding::new(overriding, sequence.iter().map(|n| id(*n)).collect()).unwrap()
}

fn unknown(n: u128, origin: Origin) -> Refused {
    Refused::UnknownTemplate { template: id(n), origin }
}

fn not_approved(n: u128, on: u32, origin: Origin) -> Refused {
    let channel = line(on, 0).channel;
    Refused::TemplateNotApproved { template: id(n), channel, status: None, origin }
}

/// What decides on these lines, without files.
fn on(
    lines: &[Reached],
    check: impl FnOnce(&Accepting<'_>) -> Result<Vec<TemplateContent>, Refused>,
) -> Result<Vec<Requested>, Refused> {
    let (media, now) = (BTreeMap::new(), Timestamp::from_millis(0));
    let steps = check(&Accepting { lines, media: &media, now, is_object: |_| true })?;
    let request = |step: TemplateContent| Requested { template: step.template, parameters: step.parameters };
    Ok(steps.into_iter().map(request).collect())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn requested_templates_replace_the_sequence_or_its_first_one_and_absent_ones_nothing() {
    let one = [request(9, &[])];
    type Row<'a> = (Override, &'a [u128], Option<&'a [Requested]>, &'a [u128]);
    let rows: [Row<'_>; 9] = [
        (Override::Entire, &[1, 2, 3], None, &[1, 2, 3]),
        (Override::FirstOnly, &[1, 2, 3], None, &[1, 2, 3]),
        (Override::Entire, &[1, 2, 3], Some(&one), &[]),
        (Override::FirstOnly, &[1, 2, 3], Some(&one), &[2, 3]),
        (Override::FirstOnly, &[1], Some(&one), &[]),
        (Override::FirstOnly, &[], Some(&one), &[]),
        (Override::Entire, &[1, 2, 3], Some(&[]), &[]),
        (Override::FirstOnly, &[1, 2, 3], Some(&[]), &[2, 3]),
        (Override::Entire, &[], None, &[]),
    ];
    for (overriding, sequence, requested, expected) in rows {
        let following = set_up(overriding, sequence).following(requested).to_vec();
        let expected: Vec<TemplateId> = expected.iter().map(|n| id(*n)).collect();
        assert_eq!(following, expected, "{overriding:?} {sequence:?} {requested:?}");
    }
}

#[test]
fn requested_templates_come_first_with_their_values_and_the_configured_ones_follow() {
    let requested = [request(3, &["code", "at"]), request(1, &[]), request(1, &[])];
    let plan = on(&[line(1, 1)], |with| {
        set_up(Override::FirstOnly, &[4, 2, 1]).plan(Some(&requested), &templates(), with)
    });
    let [first, second, third] = requested;
    assert_eq!(plan, Ok(vec![first, second, third, request(2, &[]), request(1, &[])]));
}

#[test]
fn a_template_is_refused_for_its_first_fault() {
    let (both, none) = (vec![line(1, 1), line(2, 2)], vec![]);
    let (by_caller, configured) = (Origin::Request, Origin::WorkspaceConfiguration);
    let missing = |n, of: &[&str]| Refused::MissingParameters { template: id(n), parameters: names(of) };
    let foreign = |n, of: &[&str]| Refused::ForeignParameters { template: id(n), parameters: names(of) };
    let needs_caller = |n| Refused::ConfiguredTemplateNeedsCaller { template: id(n) };
    type Row<'a> = (Option<Requested>, &'a [u128], &'a [Reached], Refused);
    let rows: [Row<'_>; 17] = [
        (Some(request(9, &["x"])), &[], &both, unknown(9, by_caller)),
        (Some(request(5, &["zoo", "x"])), &[], &both, not_approved(5, 1, by_caller)),
        (Some(request(3, &["code", "zoo", "at", "x"])), &[], &both, foreign(3, &["x", "zoo"])),
        (Some(request(3, &["code", "zoo"])), &[], &both, missing(3, &["at"])),
        // A caller may not give the values that come from the contact.
        (Some(request(1, &["name"])), &[], &both, foreign(1, &["name"])),
        (Some(request(3, &[])), &[], &both, missing(3, &["code", "at"])),
        (Some(request(3, &["code"])), &[], &both, missing(3, &["at"])),
        (Some(request(5, &[])), &[], &none, missing(5, &["code"])),
        (Some(request(5, &["code"])), &[], &both, not_approved(5, 1, by_caller)),
        (Some(request(4, &[])), &[], &both, not_approved(4, 2, by_caller)),
        (None, &[9], &none, unknown(9, configured)),
        (None, &[3], &none, needs_caller(3)),
        (None, &[5], &both, not_approved(5, 1, configured)),
        (None, &[4], &both, not_approved(4, 2, configured)),
        // Requested templates are checked before configured ones, and each list from its beginning.
        (Some(request(4, &[])), &[1, 9], &both, not_approved(4, 2, by_caller)),
        (Some(request(1, &[])), &[9, 3, 9], &both, needs_caller(3)),
        (Some(request(1, &[])), &[9, 4, 3], &both, not_approved(4, 2, configured)),
    ];
    for (requested, sequence, lines, expected) in rows {
        let requested = requested.map(|request| vec![request]);
        let onboarding = set_up(Override::FirstOnly, sequence);
        let plan = on(lines, |with| onboarding.plan(requested.as_deref(), &templates(), with));
        assert_eq!(plan, Err(expected), "{requested:?} {sequence:?}");
    }
}

/// What an operator may set up is what a request without templates would send.
#[test]
fn a_sequence_is_checked_at_its_set_up_as_a_request_without_templates_would_be() {
    let (both, none) = (vec![line(1, 1), line(2, 2)], vec![]);
    let configured = Origin::WorkspaceConfiguration;
    let needs_caller = Refused::ConfiguredTemplateNeedsCaller { template: id(3) };
    type Row<'a> = (&'a [u128], &'a [Reached], Result<(), Refused>);
    let rows: [Row<'_>; 7] = [
        (&[], &both, Ok(())),
        (&[1, 2, 1], &both, Ok(())),
        (&[4], &both[..1], Ok(())),
        (&[4], &none, Ok(())),
        (&[1, 9], &none, Err(unknown(9, configured))),
        (&[1, 4], &both, Err(not_approved(4, 2, configured))),
        // Also in the first place of FIRST_ONLY: a request without templates sends it.
        (&[3, 1], &both, Err(needs_caller)),
    ];
    for (sequence, lines, expected) in rows {
        for overriding in [Override::Entire, Override::FirstOnly] {
            let onboarding = set_up(overriding, sequence);
            let checked = on(lines, |with| onboarding.check(&templates(), with).map(|()| vec![]));
            assert_eq!(checked.map(|_| ()), expected, "{overriding:?} {sequence:?}");
            let planned = on(lines, |with| onboarding.plan(None, &templates(), with));
            assert_eq!(planned.map(|_| ()), expected);
        }
    }
}

#[test]
fn replaced_templates_are_not_checked() {
    let requested = [request(1, &[])];
    let onboarding = set_up(Override::Entire, &[9, 3, 4]);
    let plan = on(&[line(2, 2)], |with| onboarding.plan(Some(&requested), &templates(), with));
    assert_eq!(plan, Ok(requested.to_vec()));
}

proptest! {
    /// For any request, a plan can be sent as it is, and a refusal names the first template at fault.
    #[test]
    fn a_plan_can_be_sent_and_a_refusal_names_the_first_template_at_fault(
        requested in prop::option::of(prop::collection::vec((1..7u128, prop::collection::btree_set(0..3usize, 0..3)), 0..4)),
        sequence in prop::collection::vec(1..7u128, 0..4),
        first_only in any::<bool>(),
        accounts in prop::collection::vec(1..3u32, 1..3),
    ) {
        const NAMES: [&str; 3] = ["code", "at", "name"];
        let named = |names: &BTreeSet<usize>| names.iter().map(|at| NAMES[*at]).collect::<Vec<_>>();
        let requested: Option<Vec<Requested>> = requested
            .map(|all| all.iter().map(|(n, names)| request(*n, &named(names))).collect());
        let overriding = if first_only { Override::FirstOnly } else { Override::Entire };
        let onboarding = set_up(overriding, &sequence);
        let lines: Vec<Reached> = (1..).zip(accounts).map(|(n, of)| line(n, of)).collect();
        let templates = templates();

        let can_be_sent = |step: &Requested| templates.get(&step.template).is_some_and(|template| {
            let takes: BTreeSet<String> = template.caller_parameters().into_iter().collect();
            let given: BTreeSet<String> = step.parameters.keys().cloned().collect();
            let sendable = |line: &Reached| template.sendable(&line.business_account) == Sendable::Now;
            takes == given && lines.iter().all(sendable)
        });
        let follows = |id: &TemplateId| Requested { template: *id, parameters: Parameters::new() };
        let following = onboarding.following(requested.as_deref()).iter().map(follows);
        let wanted: Vec<Requested> = requested.iter().flatten().cloned().chain(following).collect();
        let at_fault = wanted.iter().find(|step| !can_be_sent(step)).map(|step| step.template);

        match on(&lines, |with| onboarding.plan(requested.as_deref(), &templates, with)) {
            Ok(steps) => {
                prop_assert_eq!(at_fault, None);
                prop_assert_eq!(steps, wanted);
            }
            Err(refused) => {
                let named = match refused {
                    Refused::UnknownTemplate { template, .. }
                    | Refused::TemplateNotApproved { template, .. }
                    | Refused::MissingParameters { template, .. }
                    | Refused::ForeignParameters { template, .. }
                    | Refused::ConfiguredTemplateNeedsCaller { template } => template,
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                };
                prop_assert_eq!(at_fault, Some(named));
            }
        }
    }
}

#[test]
fn a_sequence_has_at_most_10_templates() {
    let all: Vec<TemplateId> = (1..=11).map(id).collect();
    assert_eq!(Onboarding::new(Override::Entire, all[..10].to_vec()).unwrap().sequence, all[..10]);
    assert_eq!(Onboarding::new(Override::Entire, all), Err(SequenceTooLong));
}

#[test]
fn the_names_for_overriding_parse() {
    for name in Override::NAMES {
        assert_eq!(Override::parse(name).unwrap().as_str(), *name);
    }
    assert_eq!(Override::parse("FIRST"), Err(Unfit::NotOneOf { expected: Override::NAMES }));
    assert_eq!(Onboarding::default().overriding, Override::Entire);
}
