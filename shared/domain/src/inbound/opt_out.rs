//! Customers' choices about templates: out, or in again.
//!
//! The provider repeats its webhooks for days and in any order. So the choice that was made last holds, whatever comes
//! last, and of two choices of the same moment it is the opt-out.

use std::time::Duration;

use uuid::Uuid;

use crate::contact::address::ProviderUserId;
use crate::ids::{ContactId, WorkspaceId};
use crate::person::digest;
use crate::text::Cellphone;
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the ids of opt-outs without a contact.
const OPT_OUTS: Uuid = Uuid::from_u128(0x6be1_04c9_72fa_4d38_8f05_c3a9_1e67_b2d4);

/// A choice about templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// No templates.
    Out,
    /// Templates again.
    In,
}

words!(
    /// The values of the row's attribute.
    Choice { Out: "OUT", In: "IN" }
);

/// Who made a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChoiceSource {
    /// An operator, with the console.
    Operator,
    /// The customer, in the settings of the provider's app.
    Provider,
    /// The customer, with a keyword in a conversation.
    Keyword,
    /// The customer, with a tap on a button or a row of a list that is a keyword.
    Button,
}

words!(
    /// The values of the row's attribute and of the payload.
    ChoiceSource { Operator: "OPERATOR", Provider: "PROVIDER", Keyword: "KEYWORD", Button: "BUTTON" }
);

/// The number or the user id of the person who chose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chooser {
    /// A phone number.
    Number(Cellphone),
    /// The provider's user id of a person.
    User(ProviderUserId),
}

impl Chooser {
    /// The hash under which the choice is kept, so that it stays in force after the number itself was erased.
    pub fn digest(&self, workspace: WorkspaceId) -> String {
        match self {
            Self::Number(number) => digest(workspace, number.key().as_str()),
            // No number has a space.
            Self::User(user) => digest(workspace, &format!("user {}", user.as_str())),
        }
    }
}

impl From<&Cellphone> for Chooser {
    fn from(number: &Cellphone) -> Self {
        Self::Number(number.clone())
    }
}

impl From<&ProviderUserId> for Chooser {
    fn from(user: &ProviderUserId) -> Self {
        Self::User(user.clone())
    }
}

/// A choice as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What was chosen.
    pub choice: Choice,
    /// Who made the choice.
    pub source: ChoiceSource,
    /// When it was made.
    pub at: Timestamp,
    /// The contact, if the workspace has one with this number or user id.
    pub contact: Option<ContactId>,
}

/// The choice that holds for a number or a user id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOut {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// [`Chooser::digest`].
    pub digest: String,
    /// Whose choice it is; `None` once the person was erased.
    pub chooser: Option<Chooser>,
    /// The person's contact, if there was one.
    pub contact: Option<ContactId>,
    /// What was chosen.
    pub choice: Choice,
    /// Who made the choice.
    pub source: ChoiceSource,
    /// When it was made, for the first time.
    pub since: Timestamp,
    /// When it was made, for the last time.
    pub latest: Timestamp,
    /// When the service recorded it.
    pub updated_at: Timestamp,
    /// Whether another row of the person makes the event of this choice.
    pub is_beside: bool,
    /// Increases by one with each other choice.
    pub version: u64,
}

impl OptOut {
    /// The ids under which the choices of a person with a number, a user id or both are kept.
    pub fn choosers(number: Option<&Cellphone>, user: Option<&ProviderUserId>) -> Vec<Chooser> {
        number.map(Chooser::from).into_iter().chain(user.map(Chooser::from)).collect()
    }

    /// The choice that holds for a person: of what is kept for each of the ids, the one that was made last.
    pub fn latest<'a>(kept: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        kept.into_iter().max_by_key(|kept| (kept.latest, kept.is_out()))
    }

    /// What is to be kept for each of a person's ids after a choice, given what was kept for each of them. It is the
    /// same choice for all: the one that was made last, which may be an earlier one.
    ///
    /// If it is another one than that of any of the ids, exactly one of the rows makes the event: the first that
    /// changes its choice, or the first of all if there was none. An id that is kept for the first time beside others
    /// makes none, because the choice of the others was told.
    pub fn of_person(
        before: &[Option<Self>],
        workspace: WorkspaceId,
        choosers: &[Chooser],
        chosen: Chosen,
        now: Timestamp,
    ) -> Vec<Self> {
        let Some(first) = choosers.first() else { return vec![] };
        let held = Self::latest(before.iter().flatten());
        let next = Self::after(held, workspace, first, false, chosen, now);
        let Some(holds) = next.as_ref().or(held) else { return vec![] };
        let differs = |kept: &Option<Self>| kept.as_ref().is_some_and(|kept| kept.choice != holds.choice);
        let teller = if held.is_none() { Some(0) } else { before.iter().position(differs) };
        let kept = |(n, (chooser, before)): (usize, (&Chooser, &Option<Self>))| match before {
            Some(before) if before.choice == holds.choice => {
                Self { latest: before.latest.max(holds.latest), ..before.clone() }
            }
            before => Self {
                digest: chooser.digest(workspace),
                chooser: Some(chooser.clone()),
                contact: chosen.contact.or(holds.contact),
                updated_at: now,
                is_beside: teller != Some(n),
                version: before.as_ref().map_or(0, |before| before.version) + 1,
                ..holds.clone()
            },
        };
        choosers.iter().zip(before).enumerate().map(kept).collect()
    }

    /// Whether a row that is now this one, and was `before`, makes an event: if the choice is another one, unless another
    /// row of the person makes the event. A choice to get templates that no opt-out preceded changes nothing.
    pub fn is_event_after(&self, before: Option<&Self>) -> bool {
        !self.is_beside && self.is_out() != before.is_some_and(Self::is_out)
    }

    /// What holds after a choice, given what held `before`. `None` if that stays as it is. A choice from the future
    /// counts as made now, and an operator's as made after what held.
    pub fn after(
        before: Option<&Self>,
        workspace: WorkspaceId,
        chooser: &Chooser,
        is_beside: bool,
        chosen: Chosen,
        now: Timestamp,
    ) -> Option<Self> {
        let is_same = before.is_some_and(|before| before.choice == chosen.choice);
        let at = match before {
            // An operator changes what holds, so this is the later choice.
            Some(before) if chosen.source == ChoiceSource::Operator && !is_same => {
                now.max(before.latest.plus(Duration::from_millis(1)))
            }
            _ => chosen.at.min(now),
        };
        let counts = before.is_none_or(|before| {
            at > before.latest || (at == before.latest && !is_same && chosen.choice == Choice::Out)
        });
        match before {
            _ if !counts => None,
            Some(before) if is_same => Some(Self { latest: at, ..before.clone() }),
            _ => Some(Self {
                workspace_id: workspace,
                digest: chooser.digest(workspace),
                chooser: Some(chooser.clone()),
                contact: chosen.contact,
                choice: chosen.choice,
                source: chosen.source,
                since: at,
                latest: at,
                updated_at: now,
                is_beside,
                version: before.map_or(0, |before| before.version) + 1,
            }),
        }
    }

    /// Whether the person opted out.
    pub fn is_out(&self) -> bool {
        self.choice == Choice::Out
    }

    /// What the choice's events are about.
    pub fn subject(&self) -> Uuid {
        match self.contact {
            Some(contact) => *contact.as_uuid(),
            None => self.entity(),
        }
    }

    /// The id from which the ids of the choice's events are derived. It is the same for all choices of a number or a
    /// user id.
    pub fn entity(&self) -> Uuid {
        Uuid::new_v5(&OPT_OUTS, format!("{}|{}", self.workspace_id, self.digest).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn number() -> Chooser {
        Chooser::Number(Cellphone::parse("+34600111222").unwrap())
    }

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::from_u128(1))
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(NOW.as_millis() - 1_000_000).plus(Duration::from_secs(seconds))
    }

    /// What holds after these choices came in this order.
    fn after(choices: &[(Choice, u64)]) -> Option<OptOut> {
        choices.iter().fold(None, |before, (choice, seconds)| {
            let (choice, source) = (*choice, ChoiceSource::Keyword);
            let chosen = Chosen { choice, source, at: at(*seconds), contact: None };
            OptOut::after(before.as_ref(), workspace(), &number(), false, chosen, NOW).or(before)
        })
    }

    #[test]
    fn the_choice_that_was_made_last_holds() {
        use Choice::{In, Out};
        type Held = (Choice, u64, u64);
        #[rustfmt::skip]
        let rows: &[(&[(Choice, u64)], Held)] = &[
            (&[(Out, 1)], (Out, 1, 1)),
            (&[(In, 1)], (In, 1, 1)),
            (&[(Out, 1), (In, 2)], (In, 2, 2)),
            (&[(In, 2), (Out, 1)], (In, 2, 1)),
            (&[(Out, 1), (Out, 5), (In, 3)], (Out, 1, 1)),
            (&[(Out, 5), (Out, 1), (In, 3)], (Out, 5, 1)),
            (&[(In, 2), (Out, 2)], (Out, 2, 2)),
            (&[(Out, 2), (In, 2)], (Out, 2, 1)),
        ];
        for (choices, (choice, since, version)) in rows {
            let held = after(choices).unwrap();
            assert_eq!(
                (held.choice, held.since, held.version),
                (*choice, at(*since), *version),
                "{choices:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_order_of_the_same_choices_ends_in_the_same_choice(
            choices in prop::collection::vec((prop::bool::ANY, 0_u64..6), 1..8).prop_shuffle(),
        ) {
            let choices: Vec<(Choice, u64)> = choices
                .into_iter()
                .map(|(is_out, seconds)| (if is_out { Choice::Out } else { Choice::In }, seconds))
                .collect();
            let mut sorted = choices.clone();
            sorted.sort_by_key(|(choice, seconds)| (*seconds, *choice == Choice::Out));
            let (shuffled, in_order) = (after(&choices).unwrap(), after(&sorted).unwrap());
            prop_assert_eq!((shuffled.choice, shuffled.latest), (in_order.choice, in_order.latest));
            let repeated: Vec<_> = sorted.iter().chain(&choices).copied().collect();
            prop_assert_eq!(after(&repeated), Some(in_order));
        }
    }

    /// What is kept for the number and the user id, and the choices that were told.
    #[derive(Clone, Debug, Default)]
    struct Kept {
        rows: [Option<OptOut>; 2],
        told: Vec<Choice>,
    }

    impl Kept {
        /// A choice under the number (1), the user id (2) or both (3).
        fn choose(&mut self, under: usize, choice: Choice, seconds: u64) {
            let all = [number(), Chooser::User(ProviderUserId::parse("US.1").unwrap())];
            let (mut at_all, mut choosers, mut before) = (vec![], vec![], vec![]);
            for (n, chooser) in all.into_iter().enumerate().filter(|(n, _)| under & (n + 1) > 0) {
                at_all.push(n);
                choosers.push(chooser);
                before.push(self.rows[n].clone());
            }
            let chosen = Chosen { choice, source: ChoiceSource::Keyword, at: at(seconds), contact: None };
            let next = OptOut::of_person(&before, workspace(), &choosers, chosen, NOW);
            for ((n, before), next) in at_all.into_iter().zip(before).zip(next) {
                if next.is_event_after(before.as_ref()) {
                    self.told.push(next.choice);
                }
                self.rows[n] = Some(next);
            }
        }

        fn choice(&self) -> Choice {
            OptOut::latest(self.rows.iter().flatten()).map_or(Choice::In, |held| held.choice)
        }
    }

    fn choices() -> impl Strategy<Value = Vec<(usize, bool, u64, usize)>> {
        prop::collection::vec((1_usize..=3, prop::bool::ANY, 0_u64..12, 1_usize..=3), 1..10)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn each_change_of_a_persons_choice_is_told_once(choices in choices()) {
            let mut kept = Kept::default();
            for (under, is_out, seconds, times) in choices {
                let choice = if is_out { Choice::Out } else { Choice::In };
                let before = kept.clone();
                kept.choose(under, choice, seconds);
                let once = kept.clone();
                for _ in 1..times {
                    kept.choose(under, choice, seconds);
                }
                prop_assert_eq!(&kept.rows, &once.rows, "a repeat changes nothing");
                prop_assert_eq!(&kept.told, &once.told, "a repeat tells nothing");
                prop_assert!(kept.told.len() <= before.told.len() + 1, "one event at most");
                if under == 3 {
                    let [Some(number), Some(user)] = &kept.rows else { panic!("both are kept") };
                    prop_assert_eq!(number.choice, user.choice);
                }
                // Where the rows agree, receivers know the choice.
                if kept.rows.iter().flatten().all(|row| row.choice == kept.choice()) {
                    let told = kept.told.last().copied().unwrap_or(Choice::In);
                    prop_assert_eq!(told, kept.choice(), "receivers know");
                }
            }
        }

        #[test]
        fn a_person_whose_ids_are_known_is_told_of_exactly_when_the_choice_changes(choices in choices()) {
            let mut kept = Kept::default();
            let mut expected = vec![];
            // The first choice may be kept under one of the ids only.
            for (n, (under, is_out, seconds, times)) in choices.into_iter().enumerate() {
                let before = kept.choice();
                for _ in 0..times {
                    let choice = if is_out { Choice::Out } else { Choice::In };
                    kept.choose(if n == 0 { under } else { 3 }, choice, seconds);
                }
                expected.extend((kept.choice() != before).then_some(kept.choice()));
            }
            prop_assert_eq!(kept.told, expected);
        }
    }

    #[test]
    fn each_id_of_a_person_keeps_the_choice_that_holds() {
        let user = Chooser::User(ProviderUserId::parse("US.1").unwrap());
        let (both, contact) = ([number(), user.clone()], Some(ContactId::from_uuid(Uuid::from_u128(7))));
        let chosen = |choice, seconds, contact| Chosen {
            choice,
            source: ChoiceSource::Keyword,
            at: at(seconds),
            contact,
        };
        let kept = |before: &[Option<OptOut>], chosen, now| {
            OptOut::of_person(before, workspace(), &both, chosen, now)
        };
        let first = |chooser: &Chooser, is_beside| OptOut {
            workspace_id: workspace(),
            digest: chooser.digest(workspace()),
            chooser: Some(chooser.clone()),
            contact,
            choice: Choice::Out,
            source: ChoiceSource::Keyword,
            since: at(5),
            latest: at(5),
            updated_at: NOW,
            is_beside,
            version: 1,
        };
        let out = chosen(Choice::Out, 5, contact);
        assert_eq!(kept(&[None, None], out, NOW), [first(&number(), false), first(&user, true)]);
        // What holds was kept for the number; the user id is new beside it.
        let earlier = OptOut { contact: None, ..first(&number(), false) };
        let later = NOW.plus(Duration::from_secs(60));
        let outdated = chosen(Choice::In, 3, contact);
        let beside = OptOut { updated_at: later, ..first(&user, true) };
        assert_eq!(kept(&[Some(earlier.clone()), None], outdated, later), [earlier.clone(), beside.clone()]);
        // Without a contact of the new choice, that of what holds stays.
        let known = OptOut { contact, ..earlier };
        assert_eq!(kept(&[Some(known), None], chosen(Choice::In, 3, None), later)[1], beside);
        // A row whose choice holds takes the time of the latest choice.
        let older = OptOut { since: at(1), latest: at(1), ..first(&number(), false) };
        let rows = kept(&[Some(older.clone()), Some(first(&user, true))], outdated, later);
        assert_eq!(rows, [OptOut { latest: at(5), ..older.clone() }, first(&user, true)]);
        // A repeated choice makes no event, so it is the same version.
        assert_eq!(
            OptOut::after(Some(&older), workspace(), &number(), false, out, NOW),
            Some(OptOut { latest: at(5), ..older })
        );
    }

    #[test]
    fn the_ids_of_a_person_are_the_number_and_the_user_id() {
        let (number, user) =
            (Cellphone::parse("+34600111222").unwrap(), ProviderUserId::parse("US.1").unwrap());
        let [by_number, by_user] = [Chooser::Number(number.clone()), Chooser::User(user.clone())];
        for (number, user, expected) in [
            (None, None, vec![]),
            (Some(&number), None, vec![by_number.clone()]),
            (None, Some(&user), vec![by_user.clone()]),
            (Some(&number), Some(&user), vec![by_number, by_user]),
        ] {
            assert_eq!(OptOut::choosers(number, user), expected);
        }
    }

    #[test]
    fn the_events_of_all_choices_of_an_id_are_about_its_contact_or_the_id() {
        let of = |workspace: u128, chooser: &Chooser, choice, contact| {
            let workspace = WorkspaceId::from_uuid(Uuid::from_u128(workspace));
            let chosen = Chosen { choice, source: ChoiceSource::Keyword, at: NOW, contact };
            OptOut::after(None, workspace, chooser, false, chosen, NOW).unwrap()
        };
        let contact = Some(ContactId::from_uuid(Uuid::from_u128(7)));
        let user = Chooser::User(ProviderUserId::parse("US.1").unwrap());
        let out = of(1, &number(), Choice::Out, None);
        let back = of(1, &number(), Choice::In, contact);
        assert_eq!(back.entity(), out.entity());
        assert_eq!((out.subject(), back.subject()), (out.entity(), Uuid::from_u128(7)));
        for other in [of(2, &number(), Choice::Out, None), of(1, &user, Choice::Out, None)] {
            assert_ne!(other.entity(), out.entity());
        }
    }

    #[test]
    fn a_choice_from_the_future_does_not_shut_out_later_ones() {
        let chosen = |choice, at| Chosen { choice, source: ChoiceSource::Provider, at, contact: None };
        let future = chosen(Choice::Out, NOW.plus(Duration::from_secs(3_600)));
        let out = OptOut::after(None, workspace(), &number(), false, future, NOW).unwrap();
        assert_eq!(out.latest, NOW);
        let later = NOW.plus(Duration::from_secs(1));
        let back = OptOut::after(Some(&out), workspace(), &number(), false, chosen(Choice::In, later), later);
        assert!(!back.unwrap().is_out());
    }

    #[test]
    fn an_operator_changes_what_holds_also_at_the_same_moment() {
        let chosen = |choice| Chosen { choice, source: ChoiceSource::Operator, at: NOW, contact: None };
        let after =
            |before, choice| OptOut::after(before, workspace(), &number(), false, chosen(choice), NOW);
        let out = after(None, Choice::Out).unwrap();
        let back = after(Some(&out), Choice::In).unwrap();
        assert!(!back.is_out() && back.latest > out.latest);
        assert!(after(Some(&back), Choice::Out).unwrap().is_out());
        assert_eq!(after(Some(&back), Choice::In), None);
    }

    #[test]
    fn a_number_and_a_user_id_have_keys_of_their_own() {
        let user = |text| Chooser::User(ProviderUserId::parse(text).unwrap());
        let all = [number(), user("+34600111222"), user("US.1")];
        for (n, one) in all.iter().enumerate() {
            for other in &all[n + 1..] {
                assert_ne!(one.digest(workspace()), other.digest(workspace()));
            }
        }
        // The hash of a number is that of its key alone.
        assert_eq!(number().digest(workspace()), digest(workspace(), "34600111222"));
    }
}
