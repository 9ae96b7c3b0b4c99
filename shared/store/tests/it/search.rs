//! Search: everything that matches and nothing else, each contact once, for any page sizes. The oracle
//! examines every contact. It shares only the parsing of texts with the code under test.

use std::collections::BTreeSet;

use crate::support::{Dice, OTHER, WORKSPACE, blank, contact, create, everything, ids, next, pages};
use domain::contact::Owner;
use domain::contact::search::{SearchQuery, normalise};
use domain::{Cellphone, Contact, ContactId, Email, PersonName, UserId};
use futures::future::join_all;
use harness::{TestDb, trips};
use store::{ContactQuery, Replaced};
use uuid::Uuid;

fn searching(text: &str) -> ContactQuery {
    ContactQuery { search: Some(SearchQuery::parse(text).unwrap()), ..everything(20) }
}

async fn found(db: &TestDb, text: &str) -> Vec<ContactId> {
    ids(&pages(db, WORKSPACE, &searching(text), || 20).await)
}

/// The numbers of contacts and queries for the oracle. An unoptimised embedded database creates about a
/// hundred contacts a second.
const CONTACTS: usize = 400;
const QUERIES: usize = 100;

const FIRST: [&str; 14] = [
    "",
    "Ana",
    "Ana María",
    "Anabel",
    "José",
    "JOSE",
    "O'Neil",
    "Łukasz",
    "Søren",
    "Zoë",
    "Jean-Luc",
    "Ann",
    "Straße",
    "Maria del Carmen Ana Lucia Extra",
];
const LAST: [&str; 10] =
    ["", "Ruiz", "Müller", "Muller", "García López", "Anaya", "Ng", "O’Hara", "de la Cruz", "Anan"];
const LOCALS: [&str; 8] = ["ana", "ana.ruiz", "a_b", "jose+news", "info", "x-y.z", "maria", "ruiz-ana"];
const DOMAINS: [&str; 4] = ["example.com", "ana.io", "mail.example.org", "x.io"];
const CODES: [&str; 6] = ["1", "34", "49", "7", "999", "351"];

/// A contact with few different words and digits, so that many contacts match, many of them twice.
fn any_contact(db: &TestDb, dice: &mut Dice, n: usize) -> Contact {
    let email = format!(
        "{}{}@{}",
        dice.pick(&LOCALS),
        if dice.one_in(2) { n.to_string() } else { format!(".{n}") },
        dice.pick(&DOMAINS)
    );
    // Few different digits at the start and at the end, so that fragments match the starts and ends of many
    // numbers.
    let code = dice.pick(&CODES);
    let phone = format!(
        "+{code}{}{n:04}{}",
        dice.pick(&["1234", "3412", "491", "1111"]),
        dice.pick(&["", "123", "34", "111"])
    );
    Contact {
        id: ContactId::from_uuid(Uuid::from_u64_pair(dice.below(usize::MAX) as u64, n as u64)),
        first_name: PersonName::parse(dice.pick(&FIRST)).ok(),
        last_name: PersonName::parse(dice.pick(&LAST)).ok(),
        email: Email::parse(&email).ok().filter(|_| dice.one_in(2)),
        cellphone: Cellphone::parse(&phone).ok().filter(|_| !dice.one_in(3)),
        owner: (!dice.one_in(3)).then(|| owner(dice.below(2))),
        ..blank(db)
    }
}

fn owner(n: usize) -> Owner {
    Owner {
        id: UserId::from_uuid(Uuid::from_u128(n as u128)),
        email: Email::parse(&format!("o{n}@x.io")).unwrap(),
    }
}

/// Whether a contact matches, by the rules of the decisions.
fn matches(contact: &Contact, query: &ContactQuery) -> bool {
    let owned = query
        .owner
        .as_ref()
        .is_none_or(|owner| contact.owner.as_ref().is_some_and(|held| held.email.same_as(owner)));
    owned
        && match query.search.as_ref().unwrap() {
            SearchQuery::Phone(fragment) => contact.cellphone.as_ref().is_some_and(|phone| {
                let digits = phone.digits();
                let national =
                    CODES.iter().filter(|code| **code != "999").find_map(|code| digits.strip_prefix(code));
                digits.starts_with(fragment)
                    || digits.ends_with(fragment)
                    || national.is_some_and(|rest| rest.starts_with(fragment))
            }),
            SearchQuery::Words { lead, others } => {
                let beginnings = beginnings(contact);
                let begins = |word: &String| beginnings.iter().any(|term| term.starts_with(word));
                begins(lead) && others.iter().all(begins)
            }
        }
}

/// The words of the names, the address, and three of its parts.
fn beginnings(contact: &Contact) -> Vec<String> {
    let mut all = vec![];
    for name in [&contact.first_name, &contact.last_name].into_iter().flatten() {
        let name = normalise(name.as_str());
        let words =
            name.split(|c: char| c.is_whitespace() || "-/,·".contains(c)).filter(|word| !word.is_empty());
        all.extend(words.take(5).map(str::to_owned));
    }
    if let Some(email) = &contact.email {
        let email = normalise(email.as_str());
        let parts =
            email.char_indices().filter(|(_, c)| "@._+-".contains(*c)).map(|(at, _)| &email[at + 1..]);
        let parts = parts.filter(|part| !part.starts_with(['@', '.', '_', '+', '-']));
        all.extend(parts.take(3).map(str::to_owned));
        all.push(email);
    }
    all
}

/// A query cut out of a contact's fields, or a random one.
fn any_query(dice: &mut Dice, contacts: &[Contact]) -> String {
    let contact = &contacts[dice.below(contacts.len())];
    if dice.one_in(3)
        && let Some(phone) = &contact.cellphone
    {
        let digits = phone.digits();
        let length = 3 + dice.below(4);
        let start = match dice.below(4) {
            0 => 0,
            1 => digits.len() - length,
            _ => dice.below(digits.len() - length + 1),
        };
        return digits[start..start + length].to_owned();
    }
    let terms = beginnings(contact);
    let mut words: Vec<String> = (0..1 + dice.below(3))
        .filter(|_| !terms.is_empty())
        .map(|_| {
            let term = &terms[dice.below(terms.len())];
            let length = 1 + dice.below(term.chars().count().min(6));
            term.chars().take(length).collect()
        })
        .collect();
    words.retain(|word| !word.is_empty());
    let query = words.join(" ");
    if query.chars().count() < 2 || dice.one_in(12) {
        dice.pick(&["an", "qq", "com", "MARÍA an", "n r"]).to_owned()
    } else {
        query
    }
}

#[tokio::test]
async fn searches_find_every_match_once_and_nothing_else() {
    let db = TestDb::start().await;
    let mut dice = Dice::new(11);
    let mut contacts = vec![];
    for n in 0..CONTACTS {
        contacts.push(any_contact(&db, &mut dice, n));
    }
    for some in contacts.chunks(50) {
        join_all(some.iter().map(|contact| create(&db, contact))).await;
    }
    // The same people in another workspace, which no search here may find.
    for n in 0..20 {
        let stranger = any_contact(&db, &mut dice, 5_000 + n);
        create(&db, &Contact { workspace_id: OTHER, ..stranger }).await;
    }
    let (mut phones, mut several, mut shorts, mut total) = (0, 0, 0, 0);
    // First queries that match several rows of one contact, then random ones.
    let certain = ["111", "123", "341", "491", "com", "ana an", "ru ruiz"];
    for turn in 0..QUERIES {
        let text = match certain.get(turn) {
            Some(text) => (*text).to_owned(),
            None => any_query(&mut dice, &contacts),
        };
        let owner = dice.one_in(4).then(|| owner(0).email);
        let query = ContactQuery { owner, ..searching(&text) };
        match query.search.as_ref().unwrap() {
            SearchQuery::Phone(_) => phones += 1,
            SearchQuery::Words { others, .. } => several += usize::from(!others.is_empty()),
        }
        let expected: BTreeSet<ContactId> =
            contacts.iter().filter(|contact| matches(contact, &query)).map(|contact| contact.id).collect();
        // Small pages for few contacts, so that most queries take several pages.
        let largest = if turn % 2 == 0 { 7 } else { 100 };
        let least = expected.len().div_ceil(30);
        let pages = pages(&db, WORKSPACE, &query, || least.max(1 + dice.below(largest)).min(100)).await;
        let ids = ids(&pages);
        let once: BTreeSet<ContactId> = ids.iter().copied().collect();
        assert_eq!(once, expected, "{text}");
        assert_eq!(ids.len(), once.len(), "{text}: twice");
        shorts += pages.len() - 1;
        total += ids.len();
    }
    assert!(phones > 15 && several > 20 && shorts > 50 && total > 500, "{phones} {several} {shorts} {total}");
}

#[tokio::test]
async fn a_contact_is_found_by_the_decided_fields() {
    let db = TestDb::start().await;
    let ana = contact(&db, "Ana María", "O'Neil-Ruiz", "ana.work+news@sub.example.com", "+4915112345678");
    create(&db, &ana).await;
    for text in [
        "an",
        "ANA",
        "mar",
        "María",
        "mari\u{301}a",
        "oneil",
        "O'N",
        "o’neil-r",
        "ruiz",
        "oneil, ruiz",
        "ana.work",
        "work+",
        "news@",
        "sub.ex",
        "maria ana oneil sub ana.w",
        "+49 151",
        "4915112345678",
        "0151".trim_start_matches('0'),
        "151 123",
        "5678",
        "(678)",
    ] {
        assert_eq!(found(&db, text).await, [ana.id], "{text}");
    }
    for text in ["na", "uiz", "aria", "example", "ana bob", "511", "49 678", "+1 151", "1234567890123456789"]
    {
        assert_eq!(found(&db, text).await, [], "{text}");
    }
}

#[tokio::test]
async fn a_changed_contact_is_found_at_once() {
    let db = TestDb::start().await;
    let ana = contact(&db, "Ana", "Ruiz", "ana@x.io", "+4915112345678");
    create(&db, &ana).await;
    let eva = next(&ana, db.store().now(), |next| {
        next.first_name = PersonName::parse("Eva").ok();
        next.cellphone = Cellphone::parse("+34600111222").ok();
    });
    assert_eq!(db.store().replace_contact(&ana, &eva, "r").await.unwrap(), Replaced::Done);
    for text in ["eva ruiz", "600111", "222", "ana@"] {
        assert_eq!(found(&db, text).await, [ana.id], "{text}");
    }
    for text in ["ana ruiz eva bob", "151", "678"] {
        assert_eq!(found(&db, text).await, [], "{text}");
    }
}

#[tokio::test]
async fn the_first_page_of_a_search_takes_two_round_trips() {
    let db = TestDb::start().await;
    for n in 0..40 {
        create(&db, &contact(&db, "Ana", &format!("Ruiz{n}"), "", &format!("+49151123456{n:02}"))).await;
    }
    for text in ["ana", "ruiz1", "4915", "5607", "607", "ana ruiz2"] {
        db.forget_calls();
        db.store().contacts_page(WORKSPACE, searching(text)).await.unwrap();
        let calls = db.calls();
        assert_eq!(trips(&calls), 2, "{text}");
        let units: f64 = calls.iter().map(|call| call.read_units).sum();
        assert!(units <= 3.0 + 20.0, "{text}: {units}");
    }
}

#[tokio::test]
async fn a_search_that_would_read_too_much_returns_a_short_page_and_continues() {
    let db = TestDb::start().await;
    // Their ids are counted up, so the contact that matches comes after all others.
    for some in (0..900).collect::<Vec<_>>().chunks(50) {
        let crowd: Vec<Contact> = some.iter().map(|_| contact(&db, "Ana", "Ruiz", "", "")).collect();
        join_all(crowd.iter().map(|contact| create(&db, contact))).await;
    }
    let last = contact(&db, "Ana", "Gil", "", "");
    create(&db, &last).await;
    db.forget_calls();
    let all = pages(&db, WORKSPACE, &searching("ana gil"), || 1).await;
    assert_eq!(ids(&all), [last.id]);
    // A page of size one examines 10 + 40 + 160 + 640 rows; the second page finds the contact.
    assert_eq!(all.iter().map(|page| page.items.len()).collect::<Vec<_>>(), [0, 1]);
    let first: Vec<_> = db.calls().into_iter().take(4).collect();
    assert!(first.iter().all(|call| call.operation == "Query"), "{first:?}");
}
