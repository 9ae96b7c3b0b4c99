use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::contact::address::UserIds;
use crate::ids::BusinessAccountId;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn number() -> Chooser {
    Chooser::Number(Cellphone::parse("+34600111222").unwrap())
}

fn user() -> Chooser {
    Chooser::User(ProviderUserId::parse("US.1").unwrap())
}

fn key() -> PersonKey {
    PersonKey::new([7; 32])
}

/// A person with these ids.
fn person(ids: &[Chooser], contact: Option<ContactId>) -> Choosers {
    Choosers::new(&key(), workspace(), ids.iter().cloned(), contact)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

fn contact() -> ContactId {
    ContactId::from_uuid(Uuid::from_u128(7))
}

fn line(id: &str) -> ChoiceScope {
    ChoiceScope::Line(ChannelId::parse(id).unwrap())
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - 1_000_000).plus(Duration::from_secs(seconds))
}

fn chosen(choice: Choice, seconds: u64, scopes: &[ChoiceScope]) -> Chosen {
    let scopes = scopes.iter().cloned().collect();
    Chosen { choice, scopes, source: ChoiceSource::Keyword, at: at(seconds) }
}

/// The choices of somebody who opted out.
pub(crate) fn opted_out_of(scope: ChoiceScope) -> Choices {
    next(None, &chosen(Choice::Out, 1, &[scope]), NOW)
}

/// What is kept for the number after a choice.
fn next(before: Option<&Choices>, chosen: &Chosen, now: Timestamp) -> Choices {
    Choices::of_person(&[before.cloned()], &person(&[number()], None), chosen, now).remove(0)
}

/// What holds for all templates after these choices came in this order.
fn after(choices: &[(Choice, u64)]) -> Held {
    let kept = choices.iter().fold(None, |before: Option<Choices>, (choice, seconds)| {
        Some(next(before.as_ref(), &chosen(*choice, *seconds, &[ChoiceScope::All]), NOW))
    });
    kept.unwrap().scopes[&ChoiceScope::All]
}

#[test]
fn the_choice_that_was_made_last_holds() {
    use Choice::{In, Out};
    type Row<'a> = (&'a [(Choice, u64)], (Choice, u64, u64));
    let rows: &[Row<'_>] = &[
        (&[(Out, 1)], (Out, 1, 1)),
        (&[(In, 1)], (In, 1, 1)),
        (&[(Out, 1), (In, 2)], (In, 2, 2)),
        (&[(In, 2), (Out, 1)], (In, 2, 2)),
        (&[(Out, 1), (Out, 5), (In, 3)], (Out, 1, 5)),
        (&[(Out, 5), (Out, 1), (In, 3)], (Out, 5, 5)),
        (&[(In, 2), (Out, 2)], (Out, 2, 2)),
        (&[(Out, 2), (In, 2)], (Out, 2, 2)),
    ];
    for (choices, (choice, since, latest)) in rows {
        let held = after(choices);
        assert_eq!((held.choice, held.since, held.latest), (*choice, at(*since), at(*latest)), "{choices:?}");
    }
}

/// What is kept for the number and the user id, and the choices that were told, by scope.
#[derive(Clone, Debug, Default)]
struct Kept {
    rows: [Option<Choices>; 2],
    told: Vec<(ChoiceScope, Choice)>,
}

impl Kept {
    /// A choice under the number (1), the user id (2) or both (3).
    fn choose(&mut self, under: usize, chosen: &Chosen) {
        let (mut at_all, mut choosers, mut before) = (vec![], vec![], vec![]);
        for (n, chooser) in [number(), user()].into_iter().enumerate().filter(|(n, _)| under & (n + 1) > 0) {
            at_all.push(n);
            choosers.push(chooser);
            before.push(self.rows[n].clone());
        }
        let next = Choices::of_person(&before, &person(&choosers, None), chosen, NOW);
        for ((n, before), next) in at_all.into_iter().zip(before).zip(next) {
            let told = next.events_after(before.as_ref());
            self.told.extend(told.map(|(scope, held)| (scope.clone(), held.choice)));
            self.rows[n] = Some(next);
        }
    }

    fn choice(&self, scope: &ChoiceScope) -> Choice {
        Choices::latest(self.rows.iter().flatten(), scope).map_or(Choice::In, |held| held.choice)
    }

    fn told(&self, scope: &ChoiceScope) -> Vec<Choice> {
        self.told.iter().filter(|(of, _)| of == scope).map(|(_, choice)| *choice).collect()
    }
}

fn scopes() -> [ChoiceScope; 4] {
    [ChoiceScope::All, ChoiceScope::Marketing, line("a"), line("b")]
}

#[derive(Clone, Debug)]
struct Step {
    /// 1: the number, 2: the user id, 3: both.
    under: usize,
    chosen: Chosen,
    times: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scopes = prop::collection::btree_set(prop::sample::select(scopes().to_vec()), 1..3);
    let step = (1_usize..=3, prop::bool::ANY, 0_u64..12, 1_usize..=3, scopes).prop_map(
        |(under, is_out, seconds, times, scopes)| {
            let choice = if is_out { Choice::Out } else { Choice::In };
            Step { under, chosen: Chosen { scopes, ..chosen(choice, seconds, &[]) }, times }
        },
    );
    prop::collection::vec(step, 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_order_of_the_same_choices_ends_in_the_same_choices(steps in steps().prop_shuffle()) {
        let end = |steps: &[Step]| {
            let mut kept = Kept::default();
            for step in steps {
                kept.choose(3, &step.chosen);
            }
            scopes().map(|scope| Choices::latest(kept.rows.iter().flatten(), &scope).map(|held| (held.choice, held.latest)))
        };
        let mut sorted = steps.clone();
        sorted.sort_by_key(|step| (step.chosen.at, step.chosen.choice == Choice::Out));
        prop_assert_eq!(end(&steps), end(&sorted));
        let repeated: Vec<Step> = sorted.iter().chain(&steps).cloned().collect();
        prop_assert_eq!(end(&repeated), end(&sorted));
    }

    #[test]
    fn each_change_of_a_persons_choices_is_told_once(steps in steps()) {
        let mut kept = Kept::default();
        for Step { under, chosen, times } in steps {
            let before = kept.clone();
            kept.choose(under, &chosen);
            let once = kept.clone();
            for _ in 1..times {
                kept.choose(under, &chosen);
            }
            prop_assert_eq!(&kept.rows, &once.rows, "a repeat changes nothing");
            prop_assert_eq!(&kept.told, &once.told, "a repeat tells nothing");
            for scope in scopes() {
                let told = kept.told(&scope);
                prop_assert!(told.len() <= before.told(&scope).len() + 1, "one event at most");
                let of_rows: Vec<Option<Choice>> = kept.rows.iter().map(|row| {
                    Some(row.as_ref()?.scopes.get(&scope)?.choice)
                }).collect();
                if under == 3 {
                    prop_assert_eq!(of_rows[0], of_rows[1], "both ids have the same choice");
                }
                // Where the rows agree, receivers know the choice.
                if of_rows.iter().flatten().all(|choice| *choice == kept.choice(&scope)) {
                    let told = told.last().copied().unwrap_or(Choice::In);
                    prop_assert_eq!(told, kept.choice(&scope), "receivers know");
                }
            }
        }
    }

    #[test]
    fn a_person_whose_ids_are_known_is_told_of_exactly_when_a_choice_changes(steps in steps()) {
        let mut kept = Kept::default();
        let mut expected: Vec<Vec<Choice>> = vec![vec![]; 4];
        // The first choice may be kept under one of the ids only.
        for (n, Step { under, chosen, times }) in steps.into_iter().enumerate() {
            let before = scopes().map(|scope| kept.choice(&scope));
            for _ in 0..times {
                kept.choose(if n == 0 { under } else { 3 }, &chosen);
            }
            for (n, scope) in scopes().iter().enumerate() {
                expected[n].extend((kept.choice(scope) != before[n]).then_some(kept.choice(scope)));
            }
        }
        for (scope, expected) in scopes().iter().zip(expected) {
            prop_assert_eq!(kept.told(scope), expected, "{:?}", scope);
        }
    }
}

/// A step in the life of three ids, of which some are those of one person.
#[derive(Clone, Debug)]
enum Event {
    /// The person who has this id chooses.
    Chooses(usize, Chosen),
    /// Both ids turn out to be those of one person.
    Joins(usize, usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let scopes = prop::collection::btree_set(prop::sample::select(scopes().to_vec()), 1..3);
    let chooses =
        (0_usize..3, prop::bool::ANY, 0_u64..12, scopes).prop_map(|(id, is_out, seconds, scopes)| {
            let choice = if is_out { Choice::Out } else { Choice::In };
            Event::Chooses(id, Chosen { scopes, ..chosen(choice, seconds, &[]) })
        });
    let joins = (0_usize..3, 0_usize..3).prop_map(|(one, other)| Event::Joins(one, other));
    prop::collection::vec(prop_oneof![2 => chooses, 1 => joins], 1..14)
}

/// Three ids with their rows, and the person to whom each belongs.
struct People {
    rows: [Option<Choices>; 3],
    of: [usize; 3],
}

impl People {
    fn at(&self, id: usize) -> (Vec<usize>, Vec<Option<Choices>>, Choosers) {
        let all = [number(), user(), Chooser::User(ProviderUserId::parse("US.2").unwrap())];
        let own: Vec<usize> = (0..3).filter(|n| self.of[*n] == self.of[id]).collect();
        let ids: Vec<Chooser> = own.iter().map(|n| all[*n].clone()).collect();
        let before = own.iter().map(|n| self.rows[*n].clone()).collect();
        (own, before, person(&ids, None))
    }

    fn take(&mut self, own: &[usize], next: Vec<Choices>) {
        for (n, next) in own.iter().zip(next) {
            self.rows[*n] = Some(next);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_order_of_choices_and_learnt_ids_ends_in_one_consent(events in events(), order in 0_usize..1_000) {
        let end = |events: &[Event]| {
            let mut people = People { rows: [None, None, None], of: [0, 1, 2] };
            for event in events.iter().chain(&[Event::Joins(0, 1), Event::Joins(1, 2)]) {
                match event {
                    Event::Chooses(id, chosen) => {
                        let (own, before, person) = people.at(*id);
                        people.take(&own, Choices::of_person(&before, &person, chosen, NOW));
                    }
                    Event::Joins(one, other) => {
                        let (from, to) = (people.of[*one], people.of[*other]);
                        people.of.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
                        let (own, before, person) = people.at(*one);
                        people.take(&own, Choices::joined(&before, &person, NOW));
                    }
                }
                // All ids of a person have the same choices after each step.
                for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                    if people.of[one] == people.of[other] {
                        let of = |n: usize| scopes().map(|scope| {
                            Some(people.rows[n].as_ref()?.scopes.get(&scope)?.choice)
                        });
                        assert_eq!(of(one), of(other), "{events:?}");
                    }
                }
            }
            scopes().map(|scope| Choices::latest(people.rows.iter().flatten(), &scope).map(|held| (held.choice, held.latest)))
        };
        let mut rotated = events.clone();
        rotated.rotate_left(order % events.len());
        let mut backward = events.clone();
        backward.reverse();
        prop_assert_eq!(end(&events), end(&rotated));
        prop_assert_eq!(end(&events), end(&backward));
    }
}

#[test]
fn choices_refuse_exactly_the_templates_that_they_cover() {
    use TemplateCategory::{Authentication, Marketing, Utility};
    let categories = [Some(Utility), Some(Authentication), Some(Marketing), None];
    let (all, marketing) = (PartError::OPTED_OUT, PartError::OPTED_OUT_MARKETING);
    type Row<'a> = (&'a [ChoiceScope], [Option<&'static str>; 4], [Option<&'static str>; 4]);
    let rows: &[Row<'_>] = &[
        (&[], [None; 4], [None; 4]),
        (&[ChoiceScope::All], [Some(all); 4], [Some(all); 4]),
        (
            &[ChoiceScope::Marketing],
            [None, None, Some(marketing), Some(marketing)],
            [None, None, Some(marketing), Some(marketing)],
        ),
        (&[line("a")], [None, None, Some(marketing), Some(marketing)], [None; 4]),
        (
            &[line("a"), line("b")],
            [None, None, Some(marketing), Some(marketing)],
            [None, None, Some(marketing), Some(marketing)],
        ),
        (&[ChoiceScope::All, line("a")], [Some(all); 4], [Some(all); 4]),
    ];
    let [a, b] = ["a", "b"].map(|id| ChannelId::parse(id).unwrap());
    for (outs, of_a, of_b) in rows {
        let kept = match outs.is_empty() {
            true => vec![],
            false => vec![next(None, &chosen(Choice::Out, 1, outs), NOW)],
        };
        let refused = |line| categories.map(|category| Choices::refusal(&kept, category, line));
        assert_eq!((refused(Some(&a)), refused(Some(&b))), (*of_a, *of_b), "{outs:?}");
        // A person comes back: the provider's own preferences stay, because the provider refuses too.
        let back = chosen(Choice::In, 2, &[ChoiceScope::All, ChoiceScope::Marketing]);
        let kept = [next(kept.first(), &back, NOW)];
        let of_line = if outs.contains(&line("a")) { Some(marketing) } else { None };
        assert_eq!(Choices::refusal(&kept, Some(Marketing), Some(&a)), of_line, "{outs:?}");
        assert_eq!(Choices::refusal(&kept, Some(Utility), Some(&a)), None, "{outs:?}");
    }
    let out = [next(None, &chosen(Choice::Out, 1, &[line("a")]), NOW)];
    assert_eq!(Choices::refusal(&out, Some(Marketing), None), None, "no line is known");
}

#[test]
fn a_further_line_than_are_kept_counts_as_all_lines() {
    let mut kept = None;
    for n in 0..Choices::MAX_LINES {
        kept = Some(next(kept.as_ref(), &chosen(Choice::Out, 1, &[line(&format!("l{n}"))]), NOW));
    }
    let full = kept.unwrap();
    assert_eq!((full.scopes.len(), full.is_out_of(&ChoiceScope::Marketing)), (Choices::MAX_LINES, false));
    let known = next(Some(&full), &chosen(Choice::In, 2, &[line("l7")]), NOW);
    assert_eq!((known.scopes.len(), known.is_out_of(&line("l7"))), (Choices::MAX_LINES, false));
    let further = next(Some(&full), &chosen(Choice::Out, 2, &[line("further")]), NOW);
    assert!(further.is_out_of(&ChoiceScope::Marketing) && !further.scopes.contains_key(&line("further")));
}

#[test]
fn each_id_of_a_person_keeps_the_choice_that_holds() {
    let both = [number(), user()];
    let of = |contact, before: &[Option<Choices>], chosen, now| {
        Choices::of_person(before, &person(&both, contact), chosen, now)
    };
    let kept = |before: &[Option<Choices>], chosen, now| of(None, before, chosen, now);
    let held = |seconds, is_beside| Held {
        choice: Choice::Out,
        source: ChoiceSource::Keyword,
        since: at(seconds),
        latest: at(seconds),
        is_beside,
    };
    let row = |chooser: &Chooser, held| Choices {
        workspace_id: workspace(),
        digest: chooser.digest(&key(), workspace()),
        chooser: Some(chooser.clone()),
        contact: Some(contact()),
        scopes: [(ChoiceScope::All, held)].into(),
        updated_at: NOW,
        version: 1,
    };
    let out = chosen(Choice::Out, 5, &[ChoiceScope::All]);
    let first = [row(&number(), held(5, false)), row(&user(), held(5, true))];
    assert_eq!(of(Some(contact()), &[None, None], &out, NOW), first);
    // What holds was kept for the number; the user id is new beside it, and takes what the number knows.
    let later = NOW.plus(Duration::from_secs(60));
    let outdated = chosen(Choice::In, 3, &[ChoiceScope::All]);
    let beside = Choices { updated_at: later, ..first[1].clone() };
    assert_eq!(kept(&[Some(first[0].clone()), None], &outdated, later), [first[0].clone(), beside]);
    // A choice about one scope brings the other scopes to a new id.
    let marketing = chosen(Choice::Out, 9, &[ChoiceScope::Marketing]);
    let [of_number, of_user] = kept(&[Some(first[0].clone()), None], &marketing, later).try_into().unwrap();
    assert_eq!(of_number.scopes.keys().collect::<Vec<_>>(), of_user.scopes.keys().collect::<Vec<_>>());
    assert!(of_user.is_out_of(&ChoiceScope::All) && of_user.is_out_of(&ChoiceScope::Marketing));
    // A row whose choice holds takes the time of the latest choice.
    let older = row(&number(), held(1, false));
    let rows = kept(&[Some(older.clone()), Some(first[1].clone())], &outdated, later);
    assert_eq!(rows[0].scopes[&ChoiceScope::All], Held { latest: at(5), ..held(1, false) });
    assert_eq!((rows[0].version, &rows[1]), (2, &first[1]));
    assert_eq!(kept(&[None, None], &Chosen { scopes: BTreeSet::new(), ..out }, NOW), []);
}

#[test]
fn the_ids_of_a_person_are_all_numbers_and_the_user_id_each_once() {
    let blank = Contact::blank(contact(), workspace(), NOW);
    let full = Contact {
        cellphone: Cellphone::parse("+34600111222").ok(),
        wa_id: WaId::parse("34600111333").ok(),
        user_ids: UserIds::one(
            BusinessAccountId::parse("1").unwrap(),
            ProviderUserId::parse("US.1").unwrap(),
        ),
        ..blank.clone()
    };
    let known_as = Chooser::Number(Cellphone::parse("+34600111333").unwrap());
    assert_eq!(Chooser::all_of(&full), [number(), known_as, user()]);
    assert_eq!(Chooser::all_of(&blank), []);
    assert_eq!(Chooser::named(&Reached::named(Some("34600111222"), Some("US.1"))), [number(), user()]);
    // Two forms of a number are one id.
    let forms =
        ["+5511987654321", "+551187654321"].map(|form| Chooser::Number(Cellphone::parse(form).unwrap()));
    assert!(forms[0].is_same(&forms[1]) && !forms[0].is_same(&user()));
    assert_eq!(person(&forms, None).digests().count(), 1);
}

#[test]
fn the_events_of_all_choices_of_an_id_and_a_scope_are_about_its_contact_or_the_id() {
    let of = |workspace: u128, chooser: &Chooser, choice, contact| {
        let workspace = WorkspaceId::from_uuid(Uuid::from_u128(workspace));
        let person = Choosers::new(&key(), workspace, [chooser.clone()], contact);
        Choices::of_person(&[None], &person, &chosen(choice, 1, &[ChoiceScope::All]), NOW).remove(0)
    };
    let (all, marketing) = (ChoiceScope::All, ChoiceScope::Marketing);
    let out = of(1, &number(), Choice::Out, None);
    let back = of(1, &number(), Choice::In, Some(contact()));
    assert_eq!(back.entity(&all), out.entity(&all));
    assert_eq!((out.subject(), back.subject()), (out.entity(&all), Uuid::from_u128(7)));
    let others = [of(2, &number(), Choice::Out, None), of(1, &user(), Choice::Out, None)];
    let mut entities: Vec<Uuid> = others.iter().map(|other| other.entity(&all)).collect();
    entities.extend([&all, &marketing, &line("ALL"), &line("a")].map(|scope| out.entity(scope)));
    assert_eq!(entities.iter().collect::<BTreeSet<_>>().len(), entities.len());
}

#[test]
fn a_choice_from_the_future_does_not_shut_out_later_ones() {
    let future =
        Chosen { at: NOW.plus(Duration::from_secs(3_600)), ..chosen(Choice::Out, 0, &[ChoiceScope::All]) };
    let out = next(None, &future, NOW);
    assert_eq!(out.scopes[&ChoiceScope::All].latest, NOW);
    let later = NOW.plus(Duration::from_secs(1));
    let back = next(Some(&out), &Chosen { at: later, ..chosen(Choice::In, 0, &[ChoiceScope::All]) }, later);
    assert!(!back.is_out_of(&ChoiceScope::All));
}

#[test]
fn an_operator_changes_what_holds_also_at_the_same_moment() {
    let by_operator =
        |choice| Chosen { source: ChoiceSource::Operator, at: NOW, ..chosen(choice, 0, &[ChoiceScope::All]) };
    let out = next(None, &by_operator(Choice::Out), NOW);
    let back = next(Some(&out), &by_operator(Choice::In), NOW);
    let latest = |kept: &Choices| kept.scopes[&ChoiceScope::All].latest;
    assert!(!back.is_out_of(&ChoiceScope::All) && latest(&back) > latest(&out));
    assert!(next(Some(&back), &by_operator(Choice::Out), NOW).is_out_of(&ChoiceScope::All));
    assert_eq!(next(Some(&back), &by_operator(Choice::In), NOW), back);
}

#[test]
fn a_number_and_a_user_id_have_keys_of_their_own() {
    let user = |text| Chooser::User(ProviderUserId::parse(text).unwrap());
    let all = [number(), user("+34600111222"), user("34600111222"), user("US.1")];
    for (n, one) in all.iter().enumerate() {
        for other in &all[n + 1..] {
            assert_ne!(one.digest(&key(), workspace()), other.digest(&key(), workspace()));
        }
    }
    // The key names the person key, and holds the MAC of the number's key alone.
    let mac = key().mac(MacKind::Consent, workspace(), "34600111222");
    assert_eq!(number().digest(&key(), workspace()), format!("{}.{mac}", key().id()));
}
