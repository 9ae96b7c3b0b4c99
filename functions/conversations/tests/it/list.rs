use std::collections::BTreeSet;
use std::time::Duration;

use domain::{
    Cellphone, Contact, ContactRef, Conversation, ConversationId, ConversationStatus, Email, Internal,
    LaneId, Scope, User, UserRef,
};
use edge::{ApiRequest, Call, Reply};
use harness::{Answer, GatewayEvent, TestClock, World, trips};
use serde_json::{Value, json};
use store::{AskedMerge, Joined, Lease, LeasedJob};

use crate::Conversations;

const NOBODY: &str = "00000000-0000-4000-8000-0000000fffff";

impl Conversations {
    fn list_event(&self, query: &[(&str, &str)]) -> GatewayEvent {
        self.world.event("conversations-list.json").query(query)
    }

    async fn list(&self, query: &[(&str, &str)]) -> Answer {
        self.send(self.list_event(query)).await
    }

    /// Creates `n` conversations, one each second, and returns them oldest first.
    async fn some(&self, n: usize) -> Vec<Conversation> {
        let mut made = vec![];
        for _ in 0..n {
            self.world.db.clock().advance(Duration::from_secs(1));
            made.push(self.world.conversation(|_| ()).await);
        }
        made
    }

    /// A contact with an address and a number, and a user.
    async fn people(&self) -> (Contact, User) {
        let contact = self.world.contact(|contact| {
            contact.email = Email::parse("Ada@example.com").ok();
            contact.cellphone = Cellphone::parse("+4915112345678").ok();
        });
        (contact.await, self.world.user("Agent@example.com", |_| ()).await)
    }

    /// A conversation of only that contact and that user.
    async fn with(
        &self,
        contact: Option<&Contact>,
        user: Option<&User>,
        status: ConversationStatus,
    ) -> Conversation {
        self.world.db.clock().advance(Duration::from_secs(1));
        let made = self.world.conversation(|conversation| {
            conversation.status = status;
            if let Some(contact) = contact {
                conversation.externals = vec![World::external(contact.id, "line")];
            }
            conversation.internals = user.map(internal).into_iter().collect();
        });
        made.await
    }
}

fn internal(user: &User) -> Internal {
    let shown = UserRef::Email(user.email.clone());
    Internal { user: user.id, shown, joined_at: user.created_at, last_seen_at: None }
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let shown = answer.json["conversations"].as_array().unwrap();
    shown.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

fn newest_first(conversations: &[Conversation]) -> Vec<String> {
    conversations.iter().rev().map(|conversation| conversation.id.to_string()).collect()
}

fn nothing() -> Value {
    json!({"conversations": [], "cursor": null})
}

/// The name and type of each refused parameter.
fn refused(answer: &Answer) -> BTreeSet<(String, String)> {
    assert_eq!((answer.status, &answer.json["code"]), (422, &json!("SERVICE_CORE_0422")), "{}", answer.text);
    let of_query = |(at, kind): (String, String)| (at.strip_prefix("query.").unwrap().to_owned(), kind);
    answer.failures().into_iter().map(of_query).collect()
}

fn as_noted(expected: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    expected.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
}

#[tokio::test]
async fn conversations_are_listed_newest_first_in_pages_of_twenty() {
    let f = Conversations::start().await;
    let made = f.some(25).await;
    let first = f.list(&[]).await;
    assert_eq!(ids(&first), newest_first(&made)[..20]);
    let cursor = first.json["cursor"].as_str().unwrap();
    let second = f.list(&[("cursor", cursor)]).await;
    assert_eq!(ids(&second), newest_first(&made)[20..]);
    assert_eq!(second.json["cursor"], Value::Null, "the last page");
    assert_eq!(second.json.as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds() {
    let f = Conversations::start().await;
    assert_eq!(f.send(f.world.event("conversations-list.json")).await.json, nothing());
    let (contact, _) = f.people().await;
    let made = f.with(Some(&contact), None, ConversationStatus::Active).await;
    assert_eq!(ids(&f.send(f.world.event("conversations-list.json")).await), newest_first(&[made]));
}

#[tokio::test]
async fn a_listed_conversation_has_every_field() {
    let f = Conversations::start().await;
    let (contact, user) = f.people().await;
    f.world.db.clock().advance(Duration::from_secs(1));
    let made = f.world.conversation(|conversation| {
        let mut external = World::external(contact.id, "line");
        external.shown = ContactRef::Cellphone(contact.cellphone.clone().unwrap());
        conversation.externals = vec![external];
        conversation.internals = vec![internal(&user)];
    });
    let made = made.await;
    let expected = json!({
        "conversations": [{
            "id": made.id.to_string(),
            "workspaceId": World::WORKSPACE,
            "participants": {
                "externals": [{
                    "identifier": "+4915112345678",
                    "identifierType": "PHONE",
                    "role": "EXTERNAL",
                    "joinedAt": "2026-01-02T03:04:05.678Z",
                    "lastSeenAt": null,
                }],
                "internals": [{
                    "identifier": "agent@example.com",
                    "identifierType": "EMAIL",
                    "role": "INTERNAL",
                    "joinedAt": "2026-01-02T03:04:05.678Z",
                    "lastSeenAt": null,
                }],
            },
            "createdAt": "2026-01-02T03:04:06.678Z",
            "updatedAt": "2026-01-02T03:04:06.678Z",
            "name": null,
            "status": "ACTIVE",
        }],
        "cursor": null,
    });
    let answer = f.list(&[]).await;
    assert_eq!(answer.json, expected);
    assert!(!answer.headers.contains_key("etag"), "only single resources have an ETag");
}

#[tokio::test]
async fn every_filter_works_alone_and_combined() {
    use ConversationStatus::{Active, Blocked};
    let f = Conversations::start().await;
    let (contact, user) = f.people().await;
    let mut made = vec![];
    for status in [Active, Blocked] {
        for external in [None, Some(&contact)] {
            for internal in [None, Some(&user)] {
                let one = f.with(external, internal, status).await;
                made.push((status, external.is_some(), internal.is_some(), one));
            }
        }
    }
    let (contact_id, user_id) = (contact.id.to_string(), user.id.to_string());
    let externals = [
        ("ID", contact_id.as_str()),
        ("EMAIL", "aDA@example.com"),
        ("PHONE", "+4915112345678"),
        ("PHONE", " 4915112345678"),
    ];
    let internals = [("ID", user_id.as_str()), ("EMAIL", "aGENT@example.com")];
    let some = |all: &[(&'static str, &str)]| -> Vec<Option<(String, String)>> {
        let named = all.iter().map(|(kind, name)| Some(((*kind).to_owned(), (*name).to_owned())));
        std::iter::once(None).chain(named).collect()
    };
    for status in [None, Some(Active), Some(Blocked)] {
        for external in some(&externals) {
            for internal in some(&internals) {
                let mut query = vec![];
                query.extend(status.map(|status| ("status", status.as_str())));
                if let Some((kind, name)) = &external {
                    query.extend([
                        ("externalUserIdentifier", name.as_str()),
                        ("externalIdentifierType", kind),
                    ]);
                }
                if let Some((kind, name)) = &internal {
                    query.extend([
                        ("internalUserIdentifier", name.as_str()),
                        ("internalIdentifierType", kind),
                    ]);
                }
                let expected = made.iter().filter(|(stands, with_contact, with_user, _)| {
                    status.is_none_or(|status| status == *stands)
                        && (external.is_none() || *with_contact)
                        && (internal.is_none() || *with_user)
                });
                let expected: Vec<Conversation> = expected.map(|(.., one)| one.clone()).collect();
                assert_eq!(ids(&f.list(&query).await), newest_first(&expected), "{query:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_disabled_users_conversations_are_still_listed() {
    let f = Conversations::start().await;
    let (_, user) = f.people().await;
    let made = f.with(None, Some(&user), ConversationStatus::Active).await;
    let disabled = user.disabled(f.world.db.store().now()).unwrap();
    assert!(f.world.db.store().replace_user(&disabled, &["status"], harness::operator()).await.unwrap());
    for (kind, name) in [("ID", user.id.to_string()), ("EMAIL", "agent@example.com".to_owned())] {
        let query = [("internalUserIdentifier", name.as_str()), ("internalIdentifierType", kind)];
        assert_eq!(ids(&f.list(&query).await), [made.id.to_string()], "{kind}");
    }
}

#[tokio::test]
async fn an_unknown_person_has_an_empty_page() {
    let f = Conversations::start().await;
    f.some(2).await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.contact_of(other, |contact| {
        contact.email = Email::parse("foreign@example.com").ok();
        contact.cellphone = Cellphone::parse("+4915187654321").ok();
    });
    let foreign = foreign.await;
    let foreign_user = f.world.user_of(other, "foreign@example.com", |_| ()).await;
    f.world
        .conversation_of(other, |conversation| {
            conversation.externals = vec![World::external(foreign.id, "line")];
            conversation.internals = vec![internal(&foreign_user)];
        })
        .await;
    let externals = [
        ("ID", foreign.id.to_string()),
        ("EMAIL", "foreign@example.com".to_owned()),
        ("PHONE", "+4915187654321".to_owned()),
        ("ID", NOBODY.to_owned()),
        ("EMAIL", "nobody@example.com".to_owned()),
        ("PHONE", "+4915100000000".to_owned()),
    ];
    for (kind, name) in &externals {
        let query = [("externalUserIdentifier", name.as_str()), ("externalIdentifierType", kind)];
        assert_eq!(f.list(&query).await.json, nothing(), "{query:?}");
    }
    let internals = [
        ("ID", foreign_user.id.to_string()),
        ("EMAIL", "foreign@example.com".to_owned()),
        ("ID", NOBODY.to_owned()),
        ("EMAIL", "nobody@example.com".to_owned()),
    ];
    for (kind, name) in &internals {
        let query = [("internalUserIdentifier", name.as_str()), ("internalIdentifierType", kind)];
        assert_eq!(f.list(&query).await.json, nothing(), "{query:?}");
    }
}

#[tokio::test]
async fn an_identifier_without_its_type_and_a_type_without_its_identifier_are_refused() {
    let f = Conversations::start().await;
    let pairs = [
        ("internalUserIdentifier", "internalIdentifierType", "agent@example.com"),
        ("externalUserIdentifier", "externalIdentifierType", "ada@example.com"),
    ];
    for (identifier, its_type, name) in pairs {
        for (sent, value, absent) in [(identifier, name, its_type), (its_type, "EMAIL", identifier)] {
            let answer = f.list(&[(sent, value)]).await;
            let expected = json!([{
                "loc": ["query", absent],
                "msg": "Field required",
                "type": "missing",
                "input": null,
                "ctx": {},
            }]);
            assert_eq!((answer.status, &answer.json["detail"]), (422, &expected), "{sent}");
        }
    }
}

#[tokio::test]
async fn all_invalid_parameters_are_reported_together() {
    let f = Conversations::start().await;
    let answer = f
        .list(&[
            ("pageSize", "101"),
            ("status", "active"),
            ("internalUserIdentifier", "+4915112345678"),
            ("internalIdentifierType", "PHONE"),
            ("externalUserIdentifier", "ada"),
            ("externalIdentifierType", "EMAIL"),
            ("cursor", "nonsense"),
            ("page", "2"),
        ])
        .await;
    let expected = [
        ("cursor", "value_error"),
        ("externalUserIdentifier", "string_pattern_mismatch"),
        ("internalIdentifierType", "enum"),
        ("page", "extra_forbidden"),
        ("pageSize", "less_than_equal"),
        ("status", "enum"),
    ];
    assert_eq!(refused(&answer), as_noted(&expected));
    let page = answer.json["detail"].as_array().unwrap().iter().find(|entry| entry["loc"][1] == "page");
    let allowed = [
        "pageSize",
        "cursor",
        "status",
        "internalUserIdentifier",
        "internalIdentifierType",
        "externalUserIdentifier",
        "externalIdentifierType",
    ];
    assert_eq!(page.unwrap()["ctx"]["allowed"], json!(allowed));
}

#[tokio::test]
async fn each_parameter_has_its_limits() {
    let f = Conversations::start().await;
    let external = |kind, name| [("externalUserIdentifier", name), ("externalIdentifierType", kind)];
    let internal = |kind, name| [("internalUserIdentifier", name), ("internalIdentifierType", kind)];
    let upper = NOBODY.to_uppercase();
    type Row<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);
    let rows: &[Row<'_>] = &[
        (&[("pageSize", "1")], 200, ""),
        (&[("pageSize", "100")], 200, ""),
        (&[("pageSize", "0")], 422, "greater_than_equal"),
        (&[("pageSize", "101")], 422, "less_than_equal"),
        (&[("pageSize", "ten")], 422, "int_parsing"),
        (&[("pageSize", "")], 422, "int_parsing"),
        (&[("pageSize", "5"), ("pageSize", "6")], 422, "value_error"),
        (&[("status", "ACTIVE"), ("status", "ACTIVE")], 422, "value_error"),
        (&[("status", "GHOST")], 200, ""),
        (&[("status", "")], 422, "enum"),
        (&[("cursor", "")], 422, "value_error"),
        (&external("ID", &upper), 200, ""),
        (&external("ID", "7"), 422, "uuid_parsing"),
        (&external("EMAIL", ""), 422, "string_too_short"),
        (&external("PHONE", "4915112345678"), 422, "string_pattern_mismatch"),
        (&external("PHONE", "  4915112345678"), 422, "string_pattern_mismatch"),
        (&external("phone", "+4915112345678"), 422, "enum"),
        (&internal("ID", &upper), 200, ""),
        (&internal("ID", ""), 422, "uuid_parsing"),
        (&internal("EMAIL", "agent\u{0}@example.com"), 422, "value_error"),
        (&internal("", NOBODY), 422, "enum"),
    ];
    for (query, status, kind) in rows {
        let answer = f.list(query).await;
        assert_eq!(answer.status, *status, "{query:?} {}", answer.text);
        assert_eq!(answer.json["detail"][0]["type"].as_str().unwrap_or_default(), *kind, "{query:?}");
    }
}

#[tokio::test]
async fn paging_shows_each_conversation_once_while_others_are_created() {
    let f = Conversations::start().await;
    let made = f.some(12).await;
    let (mut seen, mut cursor) = (vec![], None::<String>);
    loop {
        let mut query = vec![("pageSize", "5")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = f.list(&query).await;
        seen.extend(ids(&page));
        cursor = page.json["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
        f.some(1).await;
    }
    assert_eq!(seen, newest_first(&made));
}

#[tokio::test]
async fn a_cursor_is_valid_for_every_spelling_of_its_list() {
    let f = Conversations::start().await;
    let (contact, user) = f.people().await;
    let mut made = vec![];
    for _ in 0..4 {
        made.push(f.with(Some(&contact), Some(&user), ConversationStatus::Active).await);
    }
    let query = |external, internal| {
        vec![
            ("status", "ACTIVE"),
            ("externalUserIdentifier", external),
            ("externalIdentifierType", "PHONE"),
            ("internalUserIdentifier", internal),
            ("internalIdentifierType", "EMAIL"),
        ]
    };
    let mut first = query("+4915112345678", "agent@example.com");
    first.push(("pageSize", "1"));
    let first = f.list(&first).await;
    let cursor = first.json["cursor"].as_str().unwrap();
    let mut second = query(" 4915112345678", "AGENT@example.com");
    second.extend([("pageSize", "100"), ("cursor", cursor)]);
    assert_eq!(ids(&f.list(&second).await), newest_first(&made)[1..]);
}

#[tokio::test]
async fn a_cursor_is_valid_only_for_its_own_list() {
    let f = Conversations::start().await;
    let (contact, user) = f.people().await;
    for _ in 0..3 {
        f.with(Some(&contact), Some(&user), ConversationStatus::Active).await;
    }
    let (contact_id, user_id) = (contact.id.to_string(), user.id.to_string());
    let lists: Vec<Vec<(&str, &str)>> = vec![
        vec![],
        vec![("status", "ACTIVE")],
        vec![("status", "GHOST")],
        vec![("externalUserIdentifier", &contact_id), ("externalIdentifierType", "ID")],
        vec![("externalUserIdentifier", "ada@example.com"), ("externalIdentifierType", "EMAIL")],
        vec![("externalUserIdentifier", "+4915112345678"), ("externalIdentifierType", "PHONE")],
        // The same filters as those of the contact, with another person.
        vec![("internalUserIdentifier", &user_id), ("internalIdentifierType", "ID")],
        vec![("internalUserIdentifier", "ada@example.com"), ("internalIdentifierType", "EMAIL")],
        vec![("internalUserIdentifier", "agent@example.com"), ("internalIdentifierType", "EMAIL")],
    ];
    for from in &lists {
        let mut first = from.clone();
        first.push(("pageSize", "1"));
        let Some(cursor) = f.list(&first).await.json["cursor"].as_str().map(str::to_owned) else { continue };
        for to in &lists {
            let mut next = to.clone();
            next.push(("cursor", &cursor));
            let answer = f.list(&next).await;
            if to == from {
                assert_eq!(ids(&answer).len(), 2, "{to:?}");
            } else {
                assert_eq!(refused(&answer), as_noted(&[("cursor", "value_error")]), "{from:?} {to:?}");
            }
            f.world.db.clock().advance(Duration::from_millis(100));
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_endpoint_or_workspace_is_refused() {
    let f = Conversations::start().await;
    f.some(3).await;
    let as_foreign = as_noted(&[("cursor", "value_error")]);
    let cursor_of = |page: Answer| page.json["cursor"].as_str().unwrap().to_owned();
    let own = cursor_of(f.list(&[("pageSize", "1")]).await);

    // A cursor that another function of this deployment would seal for a list of the same form.
    let sealed = async |endpoint: &str, filters: &[(&str, Option<&str>)]| {
        let seal = async |call: &Call<'_>| {
            let cursor = call.cursors(endpoint, filters).seal("L9").await?;
            Reply::list(&json!({ "cursor": cursor }))
        };
        let request = ApiRequest::new(f.list_event(&[]).request());
        cursor_of(f.api.answer(&request, Scope::ConversationsRead, seal).await.into())
    };
    let filters = [
        ("status", None),
        ("internalUserIdentifier", None),
        ("internalIdentifierType", None),
        ("externalUserIdentifier", None),
        ("externalIdentifierType", None),
    ];
    let conversations = sealed("conversations", &filters).await;
    assert_eq!(
        ids(&f.list(&[("cursor", &conversations)]).await),
        Vec::<String>::new(),
        "the test seals like the function"
    );
    for foreign in
        [sealed("contacts", &filters).await, sealed("contacts", &[("owner", None), ("search", None)]).await]
    {
        assert_eq!(refused(&f.list(&[("cursor", &foreign)]).await), as_foreign, "the contacts' list");
    }

    let (other, other_key) = f.world.second_workspace().await;
    let elsewhere =
        f.list_event(&[("cursor", &own)]).path("workspaceId", other).header("x-api-key", &other_key);
    assert_eq!(refused(&f.send(elsewhere).await), as_foreign, "another workspace");
    for at in 0..own.len() {
        let changed = if own.as_bytes()[at] == b'A' { "B" } else { "A" };
        let changed = format!("{}{changed}{}", &own[..at], &own[at + 1..]);
        f.world.db.clock().advance(Duration::from_millis(100));
        assert_eq!(refused(&f.list(&[("cursor", &changed)]).await), as_foreign, "{changed}");
    }
}

#[tokio::test]
async fn a_key_without_the_scope_is_refused() {
    let f = Conversations::start().await;
    f.some(1).await;
    for (scope, status) in [("conversations:read", 200), ("conversations:write", 403), ("contacts:read", 403)]
    {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let answer = f.send(f.list_event(&[]).header("x-api-key", &key)).await;
        assert_eq!(answer.status, status, "{scope}");
    }
}

#[tokio::test]
async fn a_warm_page_takes_two_round_trips_or_three_by_e_mail_or_phone() {
    let f = Conversations::start().await;
    let (contact, user) = f.people().await;
    for _ in 0..3 {
        f.with(Some(&contact), Some(&user), ConversationStatus::Active).await;
    }
    let (contact_id, user_id) = (contact.id.to_string(), user.id.to_string());
    let active = ("status", "ACTIVE");
    let external = |kind, name| [("externalUserIdentifier", name), ("externalIdentifierType", kind)];
    let internal = |kind, name| [("internalUserIdentifier", name), ("internalIdentifierType", kind)];
    type Row<'a> = (Vec<(&'a str, &'a str)>, usize, usize);
    let rows: Vec<Row<'_>> = vec![
        (vec![], 2, 3),
        (vec![active], 2, 3),
        (external("ID", &contact_id).to_vec(), 2, 3),
        (internal("ID", &user_id).to_vec(), 2, 3),
        ([external("ID", &contact_id), internal("ID", &user_id)].concat(), 2, 3),
        (external("EMAIL", "ada@example.com").to_vec(), 3, 4),
        (external("PHONE", "+4915112345678").to_vec(), 3, 4),
        (internal("EMAIL", "agent@example.com").to_vec(), 3, 4),
        ([external("PHONE", "+4915112345678"), internal("EMAIL", "agent@example.com")].concat(), 3, 5),
    ];
    assert_eq!(f.list(&[]).await.status, 200, "fills the caches");
    for (mut query, expected, calls) in rows {
        query.push(("pageSize", "2"));
        f.world.db.forget_calls();
        let answer = f.list(&query).await;
        assert_eq!(ids(&answer).len(), 2);
        assert!(answer.json["cursor"].is_string());
        let made = f.world.db.calls();
        assert_eq!(
            (trips(&made), made.len()),
            (expected, calls),
            "{query:?}: with the limiter's concurrent write, and when the customers were last seen"
        );
    }
}

#[tokio::test]
async fn the_id_of_a_merged_contact_lists_the_conversations_of_the_one_that_stays() {
    let f = Conversations::start().await;
    let (stays, user) = f.people().await;
    let goes = f.world.contact(|_| ()).await;
    let mut all = vec![];
    for (contact, status) in [
        (&stays, ConversationStatus::Active),
        (&goes, ConversationStatus::Ghost),
        (&goes, ConversationStatus::Active),
    ] {
        all.push(f.with(Some(contact), Some(&user), status).await.id);
    }
    f.merged(&stays, &goes, &all).await;
    all.reverse();
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    let id = goes.id.to_string();
    let of = [("externalUserIdentifier", id.as_str()), ("externalIdentifierType", "ID")];
    assert_eq!(f.list(&of).await.status, 200, "fills the caches");
    f.world.db.forget_calls();
    assert_eq!(ids(&f.list(&of).await), all);
    // An empty list, where the contact went, the list of that one, and when the customers were last seen.
    assert_eq!(trips(&f.world.db.calls()), 4);
    let user = user.id.to_string();
    let with_user = [("internalUserIdentifier", user.as_str()), ("internalIdentifierType", "ID")];
    let ghost = [("status", "GHOST")];
    assert_eq!(ids(&f.list(&[&of[..], &with_user].concat()).await), all);
    assert_eq!(ids(&f.list(&[&of[..], &ghost].concat()).await), [all[1].clone()]);
    // Page by page.
    let (mut cursor, mut listed) = (String::new(), vec![]);
    loop {
        let mut query = [&of[..], &[("pageSize", "1")]].concat();
        query.extend((!cursor.is_empty()).then_some(("cursor", cursor.as_str())));
        let page = f.list(&query).await;
        listed.extend(ids(&page));
        cursor = page.json["cursor"].as_str().unwrap_or_default().to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(listed, all);
}

impl Conversations {
    /// Makes one contact of two, as the function `people` does.
    async fn merged(&self, stays: &Contact, goes: &Contact, conversations: &[ConversationId]) {
        let (store, workspace) = (self.world.db.store(), self.world.workspace);
        store.ensure_person_key([9; 32]).await.unwrap();
        let asked = store.ask_merge(workspace, stays.id, goes.id).await.unwrap();
        let AskedMerge::Running(job) = asked else { panic!("{asked:?}") };
        let lane = LaneId::Person(workspace, job.id);
        let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(330)).await.unwrap() else {
            panic!("the merge is asked for")
        };
        let (mine, _) = LeasedJob::of(&leased).unwrap();
        assert!(matches!(store.join_contacts(&mine, &job).await.unwrap(), Joined::Done(_)));
        for conversation in conversations {
            store.move_conversation(workspace, *conversation, (stays.id, goes.id)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn each_conversation_shows_when_its_own_customers_were_last_seen() {
    let f = Conversations::start().await;
    let contact = f.world.contact(|_| ()).await;
    let (mut all, at) = (vec![], TestClock::START.plus(Duration::from_secs(60)));
    for seen in [false, true] {
        let external = World::external(contact.id, "line");
        let conversation = f.world.conversation(|conversation| conversation.externals = vec![external]).await;
        if seen {
            let store = f.world.db.store();
            store.saw(f.world.workspace, conversation.id, contact.id, at).await.unwrap();
        }
        all.push((conversation.id, seen));
    }
    f.world.db.forget_calls();
    let answer = f.list(&[]).await;
    let calls = f.world.db.calls();
    let of_seen =
        calls.iter().filter(|call| call.operation == "BatchGetItem" && call.table.ends_with("conversations"));
    assert_eq!(
        of_seen.map(|call| call.read_units).collect::<Vec<_>>(),
        [1.0],
        "half a unit for each customer"
    );
    for (id, seen) in all {
        let shown = answer.json["conversations"].as_array().unwrap();
        let shown = shown.iter().find(|shown| shown["id"] == id.to_string()).unwrap();
        let expected = seen.then_some("2026-01-02T03:05:05.678Z");
        assert_eq!(shown["participants"]["externals"][0]["lastSeenAt"], json!(expected));
    }
}
