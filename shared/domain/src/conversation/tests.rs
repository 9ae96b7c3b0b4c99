mod update;

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::contact::Contact;
use crate::ids::{BrandId, BusinessAccountId, ChannelId, ContactId, Ids, TeamId, TemplateId, UserId};
use crate::patch::Patch;
use crate::refused::Refused;
use crate::settings::line::{Brand, Line, Lines};
use crate::settings::template::{Parameters, Requested, TemplateContent};
use crate::settings::user::{User, UserRef, UserStatus};
use crate::settings::workspace::{Team, Workspace};
use crate::text::{Cellphone, Email};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

/// Ids from 1,000, for the contacts that a test creates.
struct Counting(AtomicU64);

impl Ids for Counting {
    fn next(&self) -> Uuid {
        Uuid::from_u128(1_000 + u128::from(self.0.fetch_add(1, Ordering::SeqCst)))
    }
}

fn workspace() -> Workspace {
    Workspace::new(WorkspaceId::from_uuid(Uuid::nil()), "Test", NOW).unwrap()
}

fn contact(n: u128) -> ContactId {
    ContactId::from_uuid(Uuid::from_u128(n))
}

fn user_id(n: u128) -> UserId {
    UserId::from_uuid(Uuid::from_u128(n))
}

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

fn by_email(text: &str) -> ContactRef {
    ContactRef::Email(email(text))
}

fn by_phone(text: &str) -> ContactRef {
    ContactRef::Cellphone(Cellphone::parse(text).unwrap())
}

fn user(n: u128, address: &str, status: UserStatus) -> User {
    User { status, ..User::new(user_id(n), workspace().id, email(address), NOW) }
}

/// Ann (1) has an address and a number, Ben (2) has an address, Cid (3) has neither. Users 1 and 2 are
/// active, 3 is not.
fn known() -> KnownPeople {
    KnownPeople {
        contacts: vec![
            (ContactRef::Id(contact(1)), contact(1)),
            (by_email("ann@x.io"), contact(1)),
            (by_phone("+34600000001"), contact(1)),
            (ContactRef::Id(contact(2)), contact(2)),
            (by_email("ben@x.io"), contact(2)),
            (ContactRef::Id(contact(3)), contact(3)),
        ],
        users: vec![
            user(1, "one@x.io", UserStatus::Active),
            user(2, "two@x.io", UserStatus::Active),
            user(3, "off@x.io", UserStatus::Disabled),
        ],
    }
}

fn channel(id: &str) -> ChannelId {
    ChannelId::parse(id).unwrap()
}

fn brand(id: &str) -> BrandId {
    BrandId::parse(id).unwrap()
}

/// Line 1 of brand alpha is the default; line 2 belongs to brand beta.
fn lines() -> Lines {
    let line = |id: &str, of: &str| {
        let account = BusinessAccountId::parse(&format!("20{id}")).unwrap();
        Line::new(workspace().id, channel(id), brand(of), account, NOW).unwrap()
    };
    let brand = |id: &str, line: &str| Brand {
        line: Some(channel(line)),
        ..Brand::new(brand(id), workspace().id, "A brand", NOW).unwrap()
    };
    Lines {
        lines: vec![line("1", "alpha"), line("2", "beta")],
        brands: vec![brand("alpha", "1"), brand("beta", "2")],
        default: Some(channel("1")),
    }
}

fn with_people<T>(known: &KnownPeople, now: Timestamp, judge: impl FnOnce(&People<'_>) -> T) -> T {
    let (lines, ids) = (lines(), Counting(AtomicU64::new(0)));
    judge(&People { workspace: workspace().id, known, lines: &lines, ids: &ids, now })
}

fn input(named: ContactRef) -> ExternalInput {
    ExternalInput { named, channel: None, brand: None }
}

fn request(externals: &[ContactRef]) -> ConversationCreate {
    ConversationCreate {
        externals: externals.iter().cloned().map(input).collect(),
        internals: vec![],
        name: None,
        status: None,
        team: None,
        templates: None,
    }
}

fn team(members: &[u128]) -> Team {
    let id = TeamId::from_uuid(Uuid::from_u128(5));
    let members = members.iter().copied().map(user_id).collect();
    Team { members, ..Team::new(id, workspace().id, "Team", NOW).unwrap() }
}

fn party(request: &ConversationCreate, team: Option<&Team>) -> Result<Party, Refused> {
    with_people(&known(), NOW, |people| request.party(people, team))
}

fn unknown_participant(identifier: impl ToString, identifier_type: &'static str) -> Refused {
    people::unknown(identifier.to_string(), identifier_type)
}

#[test]
fn a_participant_counts_once_under_any_identifier() {
    let request = ConversationCreate {
        internals: vec![
            UserRef::Email(email("ONE@x.io")),
            UserRef::Id(user_id(2)),
            UserRef::Id(user_id(1)),
            UserRef::Email(email("two@x.io")),
        ],
        ..request(&[
            by_email("Ann@X.io"),
            by_phone("+34600000001"),
            ContactRef::Id(contact(2)),
            ContactRef::Id(contact(1)),
            by_email("new@x.io"),
            by_email("NEW@x.io"),
            by_phone("+34600000009"),
            by_phone("+34600000009"),
        ])
    };
    let party = party(&request, None).unwrap();
    let shown: Vec<(ContactId, String)> =
        party.externals.iter().map(|one| (one.contact, one.shown.identifier())).collect();
    assert_eq!(
        shown,
        [
            (contact(1), "ann@x.io".to_owned()),
            (contact(2), contact(2).to_string()),
            (contact(1_000), "new@x.io".to_owned()),
            (contact(1_001), "+34600000009".to_owned()),
        ]
    );
    let shown: Vec<(UserId, String)> =
        party.internals.iter().map(|one| (one.user, one.shown.identifier())).collect();
    assert_eq!(shown, [(user_id(1), "one@x.io".to_owned()), (user_id(2), user_id(2).to_string())]);
}

#[test]
fn an_unknown_number_or_address_becomes_a_contact_without_other_data() {
    let request = request(&[by_email("New@x.io"), by_phone("+34600000009")]);
    let new_contacts = party(&request, None).unwrap().new_contacts;
    let blank = |n| Contact::blank(contact(n), workspace().id, NOW);
    let by_email = Contact { email: Some(email("New@x.io")), ..blank(1_000) };
    let by_phone = Contact { cellphone: Cellphone::parse("+34600000009").ok(), ..blank(1_001) };
    assert_eq!(new_contacts, [by_email, by_phone]);
}

#[test]
fn each_customer_has_their_own_line() {
    let on = |named, line: Option<&str>, of: Option<&str>| ExternalInput {
        named,
        channel: line.map(channel),
        brand: of.map(brand),
    };
    let externals = vec![
        on(ContactRef::Id(contact(1)), None, None),
        on(ContactRef::Id(contact(2)), Some("2"), None),
        on(ContactRef::Id(contact(3)), None, Some("beta")),
    ];
    let party = party(&ConversationCreate { externals, ..request(&[]) }, None).unwrap();
    let lines_of: Vec<(&str, &str)> =
        party.externals.iter().map(|one| (one.channel.as_str(), one.brand.as_str())).collect();
    assert_eq!(lines_of, [("1", "alpha"), ("2", "beta"), ("2", "beta")]);
    let accounts: Vec<String> = party
        .reached(&lines())
        .iter()
        .map(|line| format!("{} {}", line.channel.as_str(), line.business_account.as_str()))
        .collect();
    assert_eq!(accounts, ["1 201", "2 202", "2 202"]);
}

#[test]
fn each_reason_to_refuse_a_new_conversation() {
    let ann = || request(&[ContactRef::Id(contact(1))]);
    let nowhere = ExternalInput { channel: Some(channel("9")), ..input(ContactRef::Id(contact(1))) };
    let nobody = ContactRef::Id(contact(9));
    let five = TeamId::from_uuid(Uuid::from_u128(5));
    let off = |named| ConversationCreate { internals: vec![named], ..ann() };
    let rows = [
        (request(std::slice::from_ref(&nobody)), unknown_participant(contact(9), "ID")),
        (
            ConversationCreate { externals: vec![nowhere.clone()], ..ann() },
            Refused::UnknownLine { channel: Some(channel("9")), brand: None },
        ),
        (off(UserRef::Id(user_id(9))), unknown_participant(user_id(9), "ID")),
        (off(UserRef::Email(email("Nobody@x.io"))), unknown_participant("nobody@x.io", "EMAIL")),
        (off(UserRef::Id(user_id(3))), unknown_participant(user_id(3), "ID")),
        (off(UserRef::Email(email("off@x.io"))), unknown_participant("off@x.io", "EMAIL")),
        (ConversationCreate { team: Some(five), ..ann() }, Refused::UnknownTeam { team: five }),
        // The first of several errors.
        (
            ConversationCreate {
                team: Some(five),
                internals: vec![UserRef::Id(user_id(1))],
                ..request(std::slice::from_ref(&nobody))
            },
            Refused::TeamWithInternals { team: five },
        ),
        (
            ConversationCreate {
                externals: vec![nowhere.clone(), input(nobody.clone())],
                ..off(UserRef::Id(user_id(9)))
            },
            Refused::UnknownLine { channel: Some(channel("9")), brand: None },
        ),
        (
            ConversationCreate {
                externals: vec![input(nobody.clone()), nowhere],
                ..off(UserRef::Id(user_id(9)))
            },
            unknown_participant(contact(9), "ID"),
        ),
        (
            ConversationCreate { team: Some(five), ..request(&[nobody]) },
            unknown_participant(contact(9), "ID"),
        ),
    ];
    for (request, refused) in rows {
        assert_eq!(party(&request, None), Err(refused), "{request:?}");
    }
}

fn opened(request: &ConversationCreate, team: Option<&Team>, assignee: Option<&User>) -> Opening {
    let id = ConversationId::from_uuid(Uuid::from_u128(7));
    let party = party(request, team).unwrap();
    request.open(id, &workspace(), party, assignee, vec![], NOW)
}

#[test]
fn a_conversation_is_active_unless_its_team_is_empty_or_the_caller_gives_a_status() {
    use ConversationStatus::{Active, Ghost, NotAssignedToHuman};
    let (some, one) = (team(&[1]), user(1, "One@x.io", UserStatus::Active));
    let rows = [
        (None, None, None, Active),
        (None, None, Some(Ghost), Ghost),
        (Some(&some), Some(&one), None, Active),
        (Some(&some), Some(&one), Some(Ghost), Ghost),
        (Some(&some), None, None, NotAssignedToHuman),
        (Some(&some), None, Some(Active), Active),
    ];
    for (team, assignee, status, expected) in rows {
        let request = ConversationCreate {
            status,
            team: team.map(|team| team.id),
            ..request(&[ContactRef::Id(contact(1))])
        };
        let opening = opened(&request, team, assignee);
        assert_eq!(opening.conversation.status, expected, "{team:?} {status:?}");
    }
}

#[test]
fn a_new_conversation_has_its_name_and_is_in_one_of_the_shards_that_are_written() {
    let name = ConversationName::parse("Order 7").unwrap();
    let request = ConversationCreate { name: Some(name.clone()), ..request(&[ContactRef::Id(contact(1))]) };
    let workspace = Workspace { list_shards_read: 16, list_shards_write: 4, ..workspace() };
    let id = ConversationId::from_uuid(Uuid::from_u128(7));
    let new = request.open(id, &workspace, party(&request, None).unwrap(), None, vec![], NOW).conversation;
    assert_eq!((new.name, new.list_shard), (Some(name), 3));
}

#[test]
fn the_assigned_team_member_joins_and_is_shown_by_e_mail() {
    let (some, one) = (team(&[1]), user(1, "One@x.io", UserStatus::Active));
    let request = ConversationCreate { team: Some(some.id), ..request(&[ContactRef::Id(contact(1))]) };
    let internals = opened(&request, Some(&some), Some(&one)).conversation.internals;
    let assigned = Internal {
        user: user_id(1),
        shown: UserRef::Email(email("One@x.io")),
        joined_at: NOW,
        last_seen_at: None,
    };
    assert_eq!(internals, [assigned]);
}

#[test]
fn the_first_templates_go_to_the_initial_participants() {
    let request = request(&[ContactRef::Id(contact(2)), by_phone("+34600000009")]);
    let id = ConversationId::from_uuid(Uuid::from_u128(7));
    let step =
        Requested { template: TemplateId::from_uuid(Uuid::from_u128(8)), parameters: Parameters::new() };
    let steps = vec![TemplateContent::of(step); 2];
    let opening = request.open(id, &workspace(), party(&request, None).unwrap(), None, steps.clone(), NOW);
    let to = |n| Recipient { contact: contact(n), channel: channel("1") };
    let plan = OnboardingPlan {
        workspace_id: workspace().id,
        conversation: id,
        recipients: vec![to(2), to(1_000)],
        steps,
        done: 0,
        created_at: NOW,
    };
    assert_eq!(opening.plan, Some(plan));
    assert_eq!(opened(&request, None, None).plan, None);
}

fn external(n: u128, shown: ContactRef) -> External {
    External {
        contact: contact(n),
        shown,
        channel: channel("2"),
        brand: brand("beta"),
        joined_at: NOW,
        last_seen_at: None,
    }
}

/// A conversation between Ann, by her address, and user 1, by id.
fn conversation() -> Conversation {
    Conversation {
        id: ConversationId::from_uuid(Uuid::from_u128(7)),
        workspace_id: workspace().id,
        name: ConversationName::parse("Order 7").ok(),
        status: ConversationStatus::Active,
        externals: vec![external(1, by_email("ann@x.io"))],
        internals: vec![Internal {
            user: user_id(1),
            shown: UserRef::Id(user_id(1)),
            joined_at: NOW,
            last_seen_at: None,
        }],
        created_at: NOW,
        updated_at: NOW,
        list_shard: 0,
        version: 4,
        expires_at: None,
    }
}

#[test]
fn only_a_ghost_changes_at_an_interaction() {
    let now = Timestamp::from_millis(NOW.as_millis() + 7);
    for status in ConversationStatus::ALL {
        let before = Conversation { status, ..conversation() };
        let active = Conversation {
            status: ConversationStatus::Active,
            updated_at: now,
            version: 5,
            ..before.clone()
        };
        let expected = (status == ConversationStatus::Ghost).then_some(active);
        assert_eq!(before.at_interaction(now), expected, "{status:?}");
    }
}

#[test]
fn identifiers_are_compared_and_shown_in_canonical_form() {
    let id = ContactRef::Id(ContactId::parse("8C2D4E6F-1A3B-4C5D-8E7F-9A0B1C2D3E4F").unwrap());
    let rows = [
        (id, "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f", "ID"),
        (by_email("Ann@X.io"), "ann@x.io", "EMAIL"),
        (by_phone("+34600000001"), "+34600000001", "PHONE"),
    ];
    for (named, identifier, identifier_type) in &rows {
        assert_eq!((named.identifier().as_str(), named.identifier_type()), (*identifier, *identifier_type));
        assert_eq!(rows.iter().filter(|(other, ..)| other.same_as(named)).count(), 1);
    }
    assert!(by_email("ANN@x.io").same_as(&by_email("ann@X.IO")));
    let ann = Contact {
        email: Some(email("Ann@x.io")),
        cellphone: Cellphone::parse("+34600000001").ok(),
        ..Contact::blank(contact(1), workspace().id, NOW)
    };
    for (named, is_ann) in [
        (ContactRef::Id(contact(1)), true),
        (by_email("ann@x.io"), true),
        (by_phone("+34600000001"), true),
        (ContactRef::Id(contact(2)), false),
        (by_email("ben@x.io"), false),
        (by_phone("+34600000002"), false),
    ] {
        assert_eq!(named.is_identity_of(&ann), is_ann, "{named:?}");
    }
}

#[test]
fn a_name_is_1_to_256_characters_and_not_blank() {
    assert!(ConversationName::parse(&"é".repeat(256)).is_ok());
    assert_eq!(ConversationName::parse(" Order 7").unwrap().as_str(), " Order 7");
    assert_eq!(ConversationName::parse(&"é".repeat(257)), Err(Unfit::TooLong { max: 256 }));
    assert_eq!(ConversationName::parse(""), Err(Unfit::TooShort { min: 1 }));
    assert!(matches!(ConversationName::parse(" \n"), Err(Unfit::Value { .. })));
    assert_eq!(format!("{:?}", ConversationName::parse("Order 7").unwrap()), "[ConversationName]");
}
