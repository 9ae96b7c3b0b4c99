use std::time::Duration;

use super::*;

fn apply(before: &Conversation, update: &ConversationUpdate) -> Result<Option<ConversationChange>, Refused> {
    with_people(&known(), NOW, |people| before.apply(update, people))
}

fn after(update: &ConversationUpdate) -> Conversation {
    apply(&conversation(), update).unwrap().expect("something changes").conversation
}

#[test]
fn the_retention_of_a_conversation_counts_from_its_release_and_ends_when_it_is_reopened() {
    use ConversationStatus::{Active, Blocked, Released};
    let day = Duration::from_secs(86_400);
    let earlier = Some(Timestamp::from_millis(NOW.as_millis() + 5));
    let from_now = |days: u32| Some(after(&name_of("Order 8")).updated_at.plus(days * day));
    let rows = [
        // Status before and after, expiry before; how long released conversations are kept; expiry after.
        (Active, Blocked, None, Some(day), None),
        (Active, Released, None, Some(day), from_now(1)),
        (Active, Released, None, Some(2 * day), from_now(2)),
        (Active, Released, None, None, None),
        (Released, Released, earlier, Some(2 * day), earlier),
        (Released, Released, None, Some(day), None),
        (Released, Active, earlier, Some(day), None),
        (Released, Active, earlier, None, None),
    ];
    for (old, new, expires_at, kept, expected) in rows {
        let before = Conversation { status: old, expires_at, ..conversation() };
        let update = ConversationUpdate { status: Some(new), ..name_of("Order 8") };
        let change = apply(&before, &update).unwrap().expect("the name changes").retained(&before, kept);
        assert_eq!(change.conversation.expires_at, expected, "{old:?} {new:?} {kept:?}");
    }
}

fn name_of(name: &str) -> ConversationUpdate {
    ConversationUpdate { name: Patch::Set(ConversationName::parse(name).unwrap()), ..Default::default() }
}

#[test]
fn an_update_changes_only_the_fields_it_contains() {
    let later = Timestamp::from_millis(NOW.as_millis() + 1);
    let next = |change: fn(&mut Conversation)| {
        let mut next = Conversation { version: 5, updated_at: later, ..conversation() };
        change(&mut next);
        next
    };
    let none = ConversationUpdate::default;
    let name = |name| Patch::Set(ConversationName::parse(name).unwrap());
    let rows = [
        (
            ConversationUpdate { name: name("Order 8"), ..none() },
            next(|next| next.name = ConversationName::parse("Order 8").ok()),
        ),
        (ConversationUpdate { name: Patch::Clear, ..none() }, next(|next| next.name = None)),
        (
            ConversationUpdate { status: Some(ConversationStatus::Blocked), ..none() },
            next(|next| next.status = ConversationStatus::Blocked),
        ),
        (
            ConversationUpdate { add_externals: vec![input(by_email("BEN@x.io"))], ..none() },
            next(|next| {
                next.externals.push(External {
                    channel: channel("1"),
                    brand: brand("alpha"),
                    ..external(2, by_email("BEN@x.io"))
                });
            }),
        ),
        (
            ConversationUpdate { remove_internals: vec![UserRef::Email(email("One@x.io"))], ..none() },
            next(|next| next.internals.clear()),
        ),
    ];
    for (update, expected) in rows {
        assert_eq!(after(&update), expected, "{update:?}");
    }
}

#[test]
fn an_update_without_effect_returns_no_change() {
    let none = ConversationUpdate::default;
    let nowhere = ExternalInput { channel: Some(channel("9")), ..input(by_phone("+34600000001")) };
    let mut with_disabled = conversation();
    with_disabled.internals.push(Internal {
        user: user_id(3),
        shown: UserRef::Id(user_id(3)),
        joined_at: NOW,
        last_seen_at: None,
    });
    let rows = [
        none(),
        ConversationUpdate { name: Patch::Set(ConversationName::parse("Order 7").unwrap()), ..none() },
        ConversationUpdate { status: Some(ConversationStatus::Active), ..none() },
        ConversationUpdate { add_externals: vec![input(ContactRef::Id(contact(1)))], ..none() },
        // A repeat after the line was removed.
        ConversationUpdate { add_externals: vec![nowhere], ..none() },
        ConversationUpdate {
            remove_externals: vec![
                ContactRef::Id(contact(2)),
                ContactRef::Id(contact(9)),
                by_email("nobody@x.io"),
                by_phone("+34600000009"),
            ],
            ..none()
        },
        ConversationUpdate { add_internals: vec![UserRef::Email(email("one@x.io"))], ..none() },
        // A repeat after the user was disabled.
        ConversationUpdate { add_internals: vec![UserRef::Email(email("off@x.io"))], ..none() },
        ConversationUpdate {
            remove_internals: vec![UserRef::Id(user_id(2)), UserRef::Email(email("nobody@x.io"))],
            ..none()
        },
        // The same person in both lists.
        ConversationUpdate {
            add_externals: vec![input(by_phone("+34600000001"))],
            remove_externals: vec![by_email("ann@x.io")],
            add_internals: vec![UserRef::Id(user_id(1))],
            remove_internals: vec![UserRef::Email(email("one@x.io"))],
            ..none()
        },
    ];
    for update in rows {
        assert_eq!(apply(&with_disabled, &update), Ok(None), "{update:?}");
    }
}

#[test]
fn a_participant_shown_by_an_address_without_a_contact_is_removed_by_it() {
    let mut before = conversation();
    before.externals.push(external(3, by_email("cid@x.io")));
    let remove = |named| ConversationUpdate { remove_externals: vec![named], ..Default::default() };
    let change = apply(&before, &remove(by_email("CID@x.io"))).unwrap().unwrap();
    assert_eq!(change.conversation.externals, conversation().externals);
    // If the address belongs to another contact now, it identifies that contact.
    before.externals[1].shown = by_email("ben@x.io");
    assert_eq!(apply(&before, &remove(by_email("ben@x.io"))), Ok(None));
}

#[test]
fn each_reason_to_refuse_an_update() {
    let none = ConversationUpdate::default;
    let numbers = |count: u32| (0..count).map(|n| input(by_phone(&format!("+3460001{n:04}")))).collect();
    let addresses: Vec<UserRef> = (0..20).map(|n| UserRef::Email(email(&format!("u{n}@x.io")))).collect();
    let mut known = known();
    known.users.extend((0..20).map(|n| user(100 + n, &format!("u{n}@x.io"), UserStatus::Active)));
    let rows = [
        (
            ConversationUpdate { remove_externals: vec![ContactRef::Id(contact(1))], ..none() },
            Some(Refused::NoExternalLeft),
        ),
        (
            ConversationUpdate {
                remove_externals: vec![by_phone("+34600000001")],
                add_externals: vec![input(ContactRef::Id(contact(2)))],
                ..none()
            },
            None,
        ),
        (
            ConversationUpdate { add_externals: vec![input(ContactRef::Id(contact(9)))], ..none() },
            Some(unknown_participant(contact(9), "ID")),
        ),
        (
            ConversationUpdate { add_internals: vec![UserRef::Id(user_id(3))], ..none() },
            Some(unknown_participant(user_id(3), "ID")),
        ),
        (ConversationUpdate { add_externals: numbers(9), ..none() }, None),
        (
            ConversationUpdate { add_externals: numbers(10), ..none() },
            Some(Refused::TooManyParticipants { side: "externals", max: 10 }),
        ),
        (ConversationUpdate { add_internals: addresses[..19].to_vec(), ..none() }, None),
        (
            ConversationUpdate { add_internals: addresses.clone(), ..none() },
            Some(Refused::TooManyParticipants { side: "internals", max: 20 }),
        ),
        (
            ConversationUpdate {
                add_internals: addresses,
                remove_internals: vec![UserRef::Id(user_id(1))],
                ..none()
            },
            None,
        ),
    ];
    for (update, refused) in rows {
        let applied = with_people(&known, NOW, |people| conversation().apply(&update, people));
        assert_eq!(applied.err(), refused, "{update:?}");
    }
}

#[test]
fn updated_at_always_increases_even_if_the_clock_does_not() {
    let update = ConversationUpdate { name: Patch::Clear, ..Default::default() };
    let moment = |now: i64| {
        let now = Timestamp::from_millis(NOW.as_millis() + now);
        let change = with_people(&known(), now, |people| conversation().apply(&update, people));
        change.unwrap().unwrap().conversation.updated_at.as_millis() - NOW.as_millis()
    };
    assert_eq!([-5, 0, 1, 7].map(moment), [1, 1, 1, 7]);
}

fn any_contact_ref() -> impl Strategy<Value = ContactRef> {
    prop_oneof![
        (1..4_u128).prop_map(|n| ContactRef::Id(contact(n))),
        prop::sample::select(&["ann@x.io", "ANN@x.io", "ben@x.io", "new@x.io"][..]).prop_map(by_email),
        prop::sample::select(&["+34600000001", "+34600000009"][..]).prop_map(by_phone),
    ]
}

fn any_user_ref() -> impl Strategy<Value = UserRef> {
    prop_oneof![
        (1..3_u128).prop_map(|n| UserRef::Id(user_id(n))),
        prop::sample::select(&["one@x.io", "Two@x.io"][..]).prop_map(|text| UserRef::Email(email(text))),
    ]
}

fn any_update() -> impl Strategy<Value = ConversationUpdate> {
    let contacts = || prop::collection::vec(any_contact_ref(), 0..4);
    let users = || prop::collection::vec(any_user_ref(), 0..3);
    let name = prop_oneof![
        Just(Patch::Keep),
        Just(Patch::Clear),
        Just(Patch::Set(ConversationName::parse("Order 8").unwrap())),
    ];
    let status = prop::option::of(prop::sample::select(&ConversationStatus::ALL[..]));
    (name, status, contacts(), contacts(), users(), users()).prop_map(
        |(name, status, add_externals, remove_externals, add_internals, remove_internals)| {
            let add_externals = add_externals.into_iter().map(input).collect();
            ConversationUpdate {
                name,
                status,
                add_externals,
                remove_externals,
                add_internals,
                remove_internals,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_repeated_update_changes_nothing(update in any_update()) {
        let mut known = known();
        let Ok(Some(change)) = with_people(&known, NOW, |people| conversation().apply(&update, people))
        else {
            return Ok(());
        };
        for stranger in &change.new_contacts {
            let names = stranger.email.clone().map(ContactRef::Email);
            let names = names.into_iter().chain(stranger.cellphone.clone().map(ContactRef::Cellphone));
            known.contacts.extend(names.map(|name| (name, stranger.id)));
        }
        let again = with_people(&known, NOW, |people| change.conversation.apply(&update, people));
        prop_assert_eq!(again, Ok(None));
    }

    #[test]
    fn an_update_adds_people_once_and_removes_those_it_only_removes(update in any_update()) {
        let Ok(change) = apply(&conversation(), &update) else { return Ok(()) };
        let (after, new_contacts) =
            change.map_or((conversation(), vec![]), |change| (change.conversation, change.new_contacts));
        let who = |named: &ContactRef| {
            let stranger = new_contacts.iter().find(|stranger| named.is_identity_of(stranger));
            known().contact(named).or(stranger.map(|stranger| stranger.id))
        };
        let there = |contact| after.externals.iter().filter(|one| Some(one.contact) == contact).count();
        let added: Vec<_> = update.add_externals.iter().map(|added| who(&added.named)).collect();
        for contact in &added {
            prop_assert_eq!(there(*contact), 1);
        }
        for named in &update.remove_externals {
            prop_assert_eq!(there(who(named)), usize::from(added.contains(&who(named))));
        }
        let user = |named: &UserRef| known().user(named).map(|user| user.id);
        let there = |user| after.internals.iter().filter(|one| Some(one.user) == user).count();
        let added: Vec<_> = update.add_internals.iter().map(user).collect();
        for user in &added {
            prop_assert_eq!(there(*user), 1);
        }
        for named in &update.remove_internals {
            prop_assert_eq!(there(user(named)), usize::from(added.contains(&user(named))));
        }
    }
}
