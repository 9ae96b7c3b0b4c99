use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::contact::address::{ProviderUserId, UserIds, WaId};
use crate::ids::{ContactId, WorkspaceId};
use crate::text::Cellphone;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const LATER: Timestamp = Timestamp::from_millis(1_767_323_046_000);

fn account(n: &str) -> BusinessAccountId {
    BusinessAccountId::parse(n).unwrap()
}

/// User ids as pairs of account and id.
fn ids(pairs: &[(&str, &str)]) -> UserIds {
    pairs.iter().map(|(of, id)| (account(of), ProviderUserId::parse(id).unwrap())).collect()
}

fn contact(n: u128, number: &str, wa_id: &str, user_ids: &[(&str, &str)]) -> Contact {
    let id = ContactId::from_uuid(Uuid::from_u128(n));
    Contact {
        cellphone: Cellphone::parse(number).ok(),
        wa_id: WaId::parse(wa_id).ok(),
        user_ids: ids(user_ids),
        ..Contact::blank(id, WorkspaceId::from_uuid(Uuid::nil()), NOW)
    }
}

fn named(wa_id: &str, user: &str) -> Reached {
    Reached::named(Some(wa_id), Some(user))
}

fn said<'a>(reached: &'a Reached, account: &'a BusinessAccountId) -> Word<'a> {
    Word { reached, account, at: LATER }
}

/// The outcome in a word, with the contacts.
fn in_words(identified: Identified<'_>) -> String {
    let n = |contact: &Contact| contact.id.as_uuid().as_u128();
    match identified {
        Identified::Nobody => "nobody".to_owned(),
        Identified::One(one) => n(one).to_string(),
        Identified::Before(one) => format!("{} before", n(one)),
        Identified::Same { survivor, merged } => format!("{} into {}", n(merged), n(survivor)),
        Identified::Apart { is, other } => format!("{} beside {}", n(is), n(other)),
    }
}

const NUMBER: &str = "+34600111222";
const WA: &str = "34600111222";

#[test]
fn each_pair_of_holders_has_one_outcome() {
    let (b, a) = (contact(1, NUMBER, "", &[]), contact(2, "", "", &[("1", "ES.1")]));
    let of_other_account = contact(1, NUMBER, "", &[("2", "ES.9")]);
    let of_other_user = contact(1, NUMBER, "", &[("1", "ES.9")]);
    let moved = |of: &Contact| Contact { moved_at: Some(LATER), ..of.clone() };
    let (moved_b, moved_a) = (moved(&b), moved(&a));
    let rows = [
        (None, None, "nobody"),
        (Some(&b), None, "1"),
        (None, Some(&a), "2"),
        (Some(&a), Some(&a), "2"),
        (Some(&b), Some(&a), "2 into 1"),
        (Some(&of_other_account), Some(&a), "2 into 1"),
        (Some(&of_other_user), Some(&a), "2 beside 1"),
        // From before a move: the user id is the customer's, and proves nothing about who has the number now.
        (Some(&moved_b), Some(&a), "2 before"),
        (Some(&b), Some(&moved_a), "2 before"),
    ];
    let (reached, account) = (named(WA, "ES.1"), account("1"));
    for (number, user, expected) in rows {
        assert_eq!(in_words(Identified::of(&said(&reached, &account), number, user)), expected);
    }
}

#[test]
fn an_answer_is_judged_with_the_contact_that_was_dialled() {
    let dialled = contact(1, "+34600999888", "", &[("1", "ES.1")]);
    let hidden = contact(1, "", "", &[("1", "ES.1")]);
    let fresh = contact(1, "+34600999888", "", &[]);
    let (number, user) = (contact(2, NUMBER, "", &[]), contact(3, "", "", &[("1", "ES.2")]));
    let both = contact(4, NUMBER, "", &[("1", "ES.2")]);
    let of_other_user = contact(5, NUMBER, "", &[("1", "ES.9")]);
    let rows = [
        (&dialled, None, None, "1"),
        (&dialled, Some(&dialled), Some(&dialled), "1"),
        // The number that is named decides who stays.
        (&dialled, Some(&number), None, "1 into 2"),
        (&hidden, Some(&number), Some(&hidden), "1 into 2"),
        (&fresh, Some(&both), Some(&both), "1 into 4"),
        (&fresh, Some(&of_other_user), None, "1 beside 5"),
        // The contact with both is another user than the one that was dialled.
        (&dialled, Some(&both), Some(&both), "1 beside 4"),
        // Without one, the number that was dialled.
        (&fresh, None, Some(&user), "3 into 1"),
        (&dialled, None, Some(&user), "3 beside 1"),
        (&dialled, Some(&number), Some(&user), "1 into 2"),
        // Nothing is known about the number of either.
        (&hidden, None, Some(&user), "1"),
    ];
    let (reached, account) = (named(WA, "ES.2"), account("1"));
    for (dialled, number, user, expected) in rows {
        let word = said(&reached, &account);
        assert_eq!(in_words(Identified::of_answer(&word, dialled, number, user)), expected);
    }
}

#[test]
fn a_move_to_a_number_of_another_contact_is_of_one_person_if_that_contact_came_with_the_move() {
    let moving = contact(1, "+34600999888", "", &[("1", "ES.1")]);
    let (account, at) = (account("1"), NOW.plus(Duration::from_secs(60)));
    let holder =
        |user: &[(&str, &str)], since| Contact { number_since: since, ..contact(2, NUMBER, "", user) };
    let rows = [
        (holder(&[], None), "1 beside 2"),
        (holder(&[("1", "ES.9")], None), "1 beside 2"),
        (holder(&[("1", "ES.2")], None), "1 into 2"),
        (holder(&[("2", "ES.2")], None), "1 into 2"),
        (holder(&[], Some(at)), "1 into 2"),
        (holder(&[], Some(NOW)), "1 beside 2"),
        (Contact { created_at: at, ..holder(&[], None) }, "1 into 2"),
    ];
    let to = named(WA, "ES.2");
    for (holder, expected) in rows {
        let moved = Move { from: &named("34600999888", ""), to: &to, account: &account, at };
        assert_eq!(in_words(Identified::of_move(&moving, &moved, &holder)), expected);
    }
}

#[test]
fn a_contact_learns_what_it_has_not() {
    type Row<'a> = (Contact, Reached, Option<(&'a str, &'a str, &'a [(&'a str, &'a str)])>);
    let brazilian = "+5511987654321";
    let rows: [Row<'_>; 15] = [
        // The provider dials what it was told, in any written form.
        (contact(1, brazilian, "", &[]), named("5511987654321", ""), None),
        (contact(1, brazilian, "", &[]), named("551187654321", ""), None),
        (contact(1, brazilian, "551150000000", &[]), named("551187654321", ""), None),
        (contact(1, brazilian, "", &[]), named("", ""), None),
        // Another number is the one under which the provider knows the contact, and the newest of these.
        (contact(1, brazilian, "", &[]), named("551150000000", ""), Some((brazilian, "551150000000", &[]))),
        (
            contact(1, brazilian, "551150000000", &[]),
            named("551150000001", ""),
            Some((brazilian, "551150000001", &[])),
        ),
        // A number for a contact without one is its number, as the provider writes it.
        (
            contact(1, "", "", &[("1", "BR.1")]),
            named("551187654321", "BR.1"),
            Some(("+551187654321", "", &[("1", "BR.1")])),
        ),
        (contact(1, "", "551187654321", &[]), named("551187654321", ""), Some(("+551187654321", "", &[]))),
        (
            contact(1, "", "551150000000", &[]),
            named("551187654321", ""),
            Some(("+551187654321", "551150000000", &[])),
        ),
        // Digits that can be no number.
        (contact(1, "", "", &[("1", "BR.1")]), named("12345", ""), Some(("", "12345", &[("1", "BR.1")]))),
        // User ids are kept for each account.
        (contact(1, brazilian, "", &[]), named("", "BR.1"), Some((brazilian, "", &[("1", "BR.1")]))),
        (
            contact(1, brazilian, "", &[("2", "BR.2")]),
            named("", "BR.1"),
            Some((brazilian, "", &[("2", "BR.2"), ("1", "BR.1")])),
        ),
        (
            contact(1, brazilian, "", &[("2", "BR.2"), ("3", "BR.3"), ("4", "BR.4")]),
            named("", "BR.1"),
            Some((brazilian, "", &[("3", "BR.3"), ("4", "BR.4"), ("1", "BR.1")])),
        ),
        // Two accounts of one portfolio have the same id, and get the same new one.
        (
            contact(1, brazilian, "", &[("2", "BR.1")]),
            named("", "BR.1"),
            Some((brazilian, "", &[("2", "BR.1"), ("1", "BR.1")])),
        ),
        (
            contact(1, brazilian, "", &[("2", "BR.0"), ("1", "BR.0"), ("3", "BR.3")]),
            named("", "BR.1"),
            Some((brazilian, "", &[("2", "BR.1"), ("1", "BR.1"), ("3", "BR.3")])),
        ),
    ];
    for (before, reached, expected) in rows {
        let account = account("1");
        let learnt = before.learns(&said(&reached, &account), LATER);
        let Some((number, wa_id, user_ids)) = expected else {
            assert_eq!(learnt, None, "{reached:?}");
            continue;
        };
        let Learnt { contact: after, is_another_user } = learnt.unwrap();
        assert_eq!(after.cellphone, Cellphone::parse(number).ok());
        assert_eq!((&after.wa_id, &after.user_ids), (&WaId::parse(wa_id).ok(), &ids(user_ids)));
        let is_filled = before.cellphone != after.cellphone;
        assert_eq!((after.version, after.updated_at > NOW), (1 + u64::from(is_filled), is_filled));
        let known = before.user_ids.of(&account);
        let is_other = |id: &ProviderUserId| known.is_some_and(|known| known != id);
        assert_eq!(is_another_user, reached.user_id.as_ref().is_some_and(is_other));
        assert_eq!(after.moved_at, is_another_user.then_some(LATER), "an earlier word does not undo it");
    }
}

#[test]
fn what_was_said_before_a_move_teaches_nothing() {
    let account = account("1");
    for (moved, learns) in [(NOW, true), (LATER, false)] {
        let before = Contact { moved_at: Some(moved), ..contact(1, NUMBER, "", &[("1", "ES.2")]) };
        for reached in [named("", "ES.1"), named("34600999888", "")] {
            assert_eq!(before.learns(&said(&reached, &account), LATER).is_some(), learns, "{reached:?}");
        }
    }
}

fn some_number() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "34600111222", "5511987654321", "551187654321", "551150000000", "12345"])
}

fn some_user() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "U.1", "U.2", "U.3"])
}

fn some_account() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["1", "2", "3", "4"])
}

prop_compose! {
    fn some_contact()(
        number in some_number(), wa_id in some_number(),
        pairs in prop::collection::vec((some_account(), some_user()), 0..4),
        moved in prop::option::of(0_i64..4),
    ) -> Contact {
        let pairs: Vec<_> = pairs.into_iter().filter(|(_, id)| !id.is_empty()).collect();
        let of = contact(1, &format!("+{number}"), wa_id, &pairs);
        let shown = of.cellphone.as_ref().map(Cellphone::key);
        let wa_id = of.wa_id.filter(|wa_id| Some(wa_id.key()) != shown);
        Contact { wa_id, moved_at: moved.map(Timestamp::from_millis), cellphone: of.cellphone, ..contact(1, "", "", &pairs) }
    }
}

proptest! {
    #[test]
    fn a_contact_that_learnt_is_found_by_what_was_named_and_learns_nothing_twice(
        before in some_contact(), number in some_number(), user in some_user(), of in some_account(), at in 0_i64..4,
    ) {
        let (reached, of) = (named(number, user), account(of));
        let word = Word { reached: &reached, account: &of, at: Timestamp::from_millis(at) };
        let Some(Learnt { contact: after, is_another_user }) = before.learns(&word, LATER) else {
            let has_all = reached.user_id.as_ref().is_none_or(|id| before.user_ids.of(&of) == Some(id))
                && reached.wa_id.as_ref().is_none_or(|wa_id| before.phone_keys().any(|key| key == wa_id.key()));
            prop_assert!(has_all || before.moved_at.is_some_and(|moved| moved >= word.at));
            return Ok(());
        };
        prop_assert!(reached.wa_id.as_ref().is_none_or(|wa_id| after.phone_keys().any(|key| key == wa_id.key())));
        prop_assert_eq!(reached.user_id.as_ref(), reached.user_id.as_ref().and(after.user_ids.of(&of)));
        prop_assert!(after.user_ids.iter().count() <= UserIds::MAX);
        // A number that was shown stays, and so does the rest.
        prop_assert!(before.cellphone.is_none() || after.cellphone == before.cellphone);
        prop_assert_eq!(after.version > before.version, after.cellphone != before.cellphone);
        prop_assert_eq!(is_another_user, after.moved_at != before.moved_at);
        prop_assert_eq!(after.learns(&word, LATER), None);
        let keys: std::collections::BTreeSet<_> = after.phone_keys().collect();
        prop_assert_eq!(keys.len(), after.phone_keys().count(), "each number once");
    }

    #[test]
    fn whoever_has_the_number_stays_and_different_users_are_never_one(
        b in some_contact(), a in some_contact(), user in some_user(), of in some_account(), at in 0_i64..4,
    ) {
        let a = Contact { id: ContactId::from_uuid(Uuid::from_u128(2)), ..a };
        let (reached, of) = (named(WA, user), account(of));
        let word = Word { reached: &reached, account: &of, at: Timestamp::from_millis(at) };
        match Identified::of(&word, Some(&b), Some(&a)) {
            Identified::Same { survivor, merged } => {
                prop_assert_eq!((survivor.id, merged.id), (b.id, a.id));
                prop_assert!(b.user_ids.of(&of).is_none_or(|id| Some(id) == reached.user_id.as_ref()));
            }
            Identified::Apart { is, other } => {
                prop_assert_eq!((is.id, other.id), (a.id, b.id));
                prop_assert!(b.user_ids.of(&of).is_some());
            }
            Identified::Before(one) => {
                prop_assert_eq!(one.id, a.id);
                prop_assert!([&a, &b].iter().any(|of| of.moved_at.is_some_and(|moved| moved >= word.at)));
            }
            Identified::Nobody | Identified::One(_) => prop_assert!(false),
        }
    }
}
