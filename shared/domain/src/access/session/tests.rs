use uuid::Uuid;

use super::*;
use crate::access::api_key::{Grant, RateLimit};
use crate::access::scope::{Scope, Scopes};

fn id(number: u128) -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(number))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn scopes(names: &[&'static str]) -> Scopes {
    Scopes::parse(names.iter().copied()).unwrap()
}

/// A program's key with the id 1.
fn program(names: &[&'static str], expires_at: Option<Timestamp>) -> ApiKey {
    let grant = Grant { scopes: scopes(names), rate: RateLimit::new(7, 9).unwrap(), expires_at };
    let operator = Actor::Operator("AKIDOPERATOR".to_owned());
    ApiKey::new(id(1), WorkspaceId::from_uuid(Uuid::nil()), "crm", grant, operator, at(0)).unwrap()
}

fn link_to(role: Role) -> Link {
    let visitor = Visitor {
        role: Some(role),
        subject: Some("ana@example.com".to_owned()),
        return_url: Some("https://app.example.com/".to_owned()),
    };
    Link { visitor, session_seconds: 28_800, used_at: None }
}

fn link_of(key: &ApiKey) -> (ApiKey, Link) {
    let link = link_to(Role::Viewer);
    (key.link(id(2), link.clone(), Role::Viewer, 600, at(10)), link)
}

#[test]
fn each_kind_of_key_permits_its_own() {
    let key = program(&["users:read"], None);
    let session = key.session(id(3), 300, at(0));
    let (link, _) = link_of(&key);
    let wanted = [
        Permission::Scope(Scope::UsersRead),
        Permission::Scope(Scope::PortalWrite),
        Permission::SeeSession,
        Permission::StartSession,
        Permission::EndSession,
    ];
    assert_eq!(wanted.map(|wanted| key.may(wanted)), [true, false, true, true, false]);
    assert_eq!(wanted.map(|wanted| session.may(wanted)), [true, false, true, false, true]);
    assert_eq!(wanted.map(|wanted| link.may(wanted)), [false, false, false, true, false]);
}

#[test]
fn a_session_of_a_key_shares_its_limit_and_does_not_outlive_it() {
    let key = program(&["*"], Some(at(1_000)));
    let session = key.session(id(3), 300, at(600));
    assert_eq!(session.expires_at, Some(at(900)));
    assert_eq!((session.bucket, session.rate), (id(1), key.rate));
    assert_eq!(session.scopes, Scopes::all_by_name());
    assert_eq!(session.created_by, Actor::Key(id(1)));
    assert_eq!(session.actor(), Actor::Session { id: id(3), subject: None });
    assert_eq!(key.session(id(3), 300, at(800)).expires_at, Some(at(1_000)));
    assert_eq!(session.shown_until(), Some(at(900 + 86_400)));
    assert_eq!(session.revoked(at(700)).unwrap().shown_until(), Some(at(900 + 86_400)));
}

#[test]
fn a_link_starts_what_it_says_with_what_its_maker_still_holds() {
    let key = program(&["settings:read", "templates:read", "messages:write"], None);
    let (link, what) = link_of(&key);
    assert_eq!((link.expires_at, link.bucket), (Some(at(610)), id(1)));
    assert_eq!(link.scopes, Role::Viewer.scopes());
    let makers = Makers { maker: Some(key.clone()), root: Some(key.clone()) };
    let session = link.linked_session(&what, &makers, id(3), at(20)).unwrap();
    assert_eq!(session.scopes, scopes(&["settings:read", "templates:read"]));
    assert_eq!(session.kind, KeyKind::Session(what.visitor.clone()));
    assert_eq!((session.expires_at, session.bucket), (Some(at(20 + 28_800)), id(1)));
    assert_eq!(session.created_by, Actor::Key(id(1)), "the maker of the link, not the link");
    assert!(!link.kind.is_used() && link.used(at(20)).kind.is_used());
}

#[test]
fn a_link_dies_with_each_of_its_makers() {
    let key = program(&["*"], Some(at(20_000)));
    let maker = key.session(id(3), 300, at(0));
    let (link, what) = link_of(&maker);
    let makers =
        |maker: Option<&ApiKey>, root: Option<&ApiKey>| Makers { maker: maker.cloned(), root: root.cloned() };
    let starts = |makers: Makers, now| link.linked_session(&what, &makers, id(4), now);
    let session = starts(makers(Some(&maker), Some(&key)), at(299)).unwrap();
    assert_eq!(session.expires_at, Some(at(20_000)), "it ends with the key at the root");
    assert_eq!(starts(makers(Some(&maker), Some(&key)), at(300)), None, "the maker's session is over");
    assert_eq!(starts(makers(None, Some(&key)), at(20)), None);
    let revoked = |key: &ApiKey| key.revoked(at(15)).unwrap();
    assert_eq!(starts(makers(Some(&revoked(&maker)), Some(&key)), at(20)), None);
    assert_eq!(starts(makers(Some(&maker), Some(&revoked(&key))), at(20)), None);
}

#[test]
fn a_link_of_an_operator_needs_no_key() {
    let operator = || Actor::Operator("AKIDOPERATOR".to_owned());
    let visitor = link_to(Role::Admin).visitor;
    let workspace = WorkspaceId::from_uuid(Uuid::nil());
    let link = |until| {
        ApiKey::operators_link(id(2), workspace, visitor.clone(), (Role::Admin, until), operator(), at(0))
    };
    for (until, is_made) in [(59, false), (60, true), (86_400, true), (86_401, false)] {
        assert_eq!(link(at(until)).is_ok(), is_made, "{until}");
    }
    let link = link(at(600)).unwrap();
    let none = Makers { maker: None, root: None };
    let session = link.linked_session(&link_to(Role::Admin), &none, id(3), at(10)).unwrap();
    assert_eq!((session.bucket, session.scopes), (id(2), Scopes::all_by_name()));
}

#[test]
fn a_return_url_is_https_without_a_user() {
    for good in ["https://app.example.com", "https://app.example.com/a?b=c#/d"] {
        assert!(return_url(good).is_ok(), "{good}");
    }
    let long = format!("https://app.example.com/{}", "a".repeat(2_048));
    for bad in [
        "",
        "app.example.com",
        "http://app.example.com",
        "javascript:alert(1)",
        "https://user@app.example.com",
        "https://:secret@app.example.com",
        "https://app.example.com/a b",
        "https://app.example.com/\n",
        long.as_str(),
    ] {
        assert!(return_url(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_link_has_its_token_in_the_fragment() {
    let token = ApiKeyToken::from_entropy([1; 8]);
    let url = |confirms| {
        portal_url("https://api.example.com/v1", WorkspaceId::from_uuid(Uuid::nil()), &token, confirms)
    };
    let expected = format!(
        "https://api.example.com/v1/portal/index.html#/sign-in/00000000-0000-0000-0000-000000000000/{}",
        token.expose()
    );
    assert_eq!(url(false), expected);
    assert_eq!(url(true), format!("{expected}/confirm"));
}
