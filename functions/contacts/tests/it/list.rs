use std::collections::BTreeSet;
use std::time::Duration;

use domain::contact::Owner;
use domain::{Cellphone, Contact, Email, ExternalId, PersonName};
use harness::{Answer, trips};
use serde_json::{Value, json};

use crate::Contacts;

impl Contacts {
    async fn list(&self, query: &[(&str, &str)]) -> Answer {
        self.send(self.world.event("contacts-list.json").query(query)).await
    }

    /// Creates `n` contacts, one each second, and returns them oldest first.
    async fn some(&self, n: usize) -> Vec<Contact> {
        let mut made = vec![];
        for i in 0..n {
            self.world.db.clock().advance(Duration::from_secs(1));
            let contact = self.world.contact(|contact| {
                contact.first_name = PersonName::parse(&format!("Person{i}")).ok();
                contact.last_name = PersonName::parse("Sample").ok();
            });
            made.push(contact.await);
        }
        made
    }
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json["contacts"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap().to_owned()).collect()
}

fn newest_first(contacts: &[Contact]) -> Vec<String> {
    contacts.iter().rev().map(|contact| contact.id.to_string()).collect()
}

#[tokio::test]
async fn contacts_are_listed_newest_first_in_pages_of_twenty() {
    let f = Contacts::start().await;
    let made = f.some(25).await;
    let first = f.list(&[]).await;
    assert_eq!(ids(&first), newest_first(&made)[..20]);
    let cursor = first.json["cursor"].as_str().unwrap();
    let second = f.list(&[("cursor", cursor)]).await;
    assert_eq!(ids(&second), newest_first(&made)[20..]);
    assert_eq!(second.json["cursor"], "", "the last page");
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds() {
    let f = Contacts::start().await;
    assert_eq!(f.send(f.world.event("contacts-list.json")).await.status, 200);
}

#[tokio::test]
async fn paging_shows_each_contact_once_while_others_are_created() {
    let f = Contacts::start().await;
    let made = f.some(12).await;
    let mut seen = vec![];
    let mut cursor = String::new();
    loop {
        let page = match cursor.as_str() {
            "" => f.list(&[("pageSize", "5")]).await,
            cursor => f.list(&[("pageSize", "5"), ("cursor", cursor)]).await,
        };
        seen.extend(ids(&page));
        cursor = page.json["cursor"].as_str().unwrap().to_owned();
        if cursor.is_empty() {
            break;
        }
        f.some(1).await;
    }
    assert_eq!(seen, newest_first(&made));
}

#[tokio::test]
async fn a_workspace_without_contacts_answers_an_empty_page() {
    let f = Contacts::start().await;
    let (other, _) = f.world.second_workspace().await;
    f.world.contact_of(other, |_| ()).await;
    assert_eq!(f.list(&[]).await.json, json!({"contacts": [], "cursor": ""}));
}

#[tokio::test]
async fn all_invalid_parameters_are_reported_together() {
    let f = Contacts::start().await;
    let answer = f
        .list(&[
            ("pageSize", "101"),
            ("owner", "nobody"),
            ("externalId", ""),
            ("search", " "),
            ("cursor", "nonsense"),
            ("page", "2"),
        ])
        .await;
    assert_eq!(answer.status, 422);
    let found: BTreeSet<(String, String)> = answer.failures().into_iter().collect();
    let expected = [
        ("query.cursor", "value_error"),
        ("query.externalId", "string_too_short"),
        ("query.owner", "string_pattern_mismatch"),
        ("query.page", "extra_forbidden"),
        ("query.pageSize", "less_than_equal"),
        ("query.search", "string_too_short"),
    ];
    assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())).into());
}

#[tokio::test]
async fn each_parameter_has_its_limits() {
    let f = Contacts::start().await;
    let long = "a".repeat(101);
    type Row<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);
    let rows: [Row<'_>; 12] = [
        (&[("pageSize", "1")], 200, ""),
        (&[("pageSize", "100")], 200, ""),
        (&[("pageSize", "0")], 422, "greater_than_equal"),
        (&[("pageSize", "101")], 422, "less_than_equal"),
        (&[("pageSize", "ten")], 422, "int_parsing"),
        (&[("pageSize", "")], 422, "int_parsing"),
        (&[("pageSize", "5"), ("pageSize", "6")], 422, "value_error"),
        (&[("search", &long)], 422, "string_too_long"),
        (&[("search", "a b c d e f")], 422, "value_error"),
        (&[("search", "a b c d e")], 200, ""),
        (&[("owner", "")], 422, "string_too_short"),
        (&[("cursor", "")], 422, "value_error"),
    ];
    for (query, status, kind) in rows {
        let answer = f.list(query).await;
        assert_eq!(answer.status, status, "{query:?} {}", answer.text);
        assert_eq!(answer.json["detail"][0]["type"].as_str().unwrap_or_default(), kind, "{query:?}");
    }
}

#[tokio::test]
async fn the_owner_filter_ignores_case_and_an_unknown_owner_has_an_empty_page() {
    let f = Contacts::start().await;
    let owner = f.world.user("agent@example.com", |_| ()).await;
    f.some(2).await;
    let owned = f
        .world
        .contact(|contact| contact.owner = Some(Owner { id: owner.id, email: owner.email.clone() }))
        .await;
    assert_eq!(ids(&f.list(&[("owner", "AGENT@example.com")]).await), [owned.id.to_string()]);
    assert_eq!(f.list(&[("owner", "nobody@example.com")]).await.json, json!({"contacts": [], "cursor": ""}));
}

#[tokio::test]
async fn an_external_id_finds_its_contact_if_it_is_written_exactly_and_all_filters_match() {
    let f = Contacts::start().await;
    let owner = f.world.user("agent@example.com", |_| ()).await;
    f.some(2).await;
    let with = |id: &'static str, owner: Option<Owner>| {
        f.world.contact(move |contact| {
            contact.external_id = ExternalId::parse(id).ok();
            contact.first_name = PersonName::parse("Zoe").ok();
            contact.owner = owner;
        })
    };
    let upper = with("CRM+1", None).await;
    let lower = with("crm+1", Some(Owner { id: owner.id, email: owner.email.clone() })).await;
    let (other, _) = f.world.second_workspace().await;
    f.world.contact_of(other, |contact| contact.external_id = ExternalId::parse("theirs").ok()).await;
    let none: [&Contact; 0] = [];
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a Contact]);
    let rows: [Row<'_>; 10] = [
        (&[("externalId", "crm+1")], &[&lower]),
        (&[("externalId", " crm+1 ")], &[&lower]),
        (&[("externalId", "CRM+1"), ("pageSize", "1")], &[&upper]),
        (&[("externalId", "crm")], &none),
        (&[("externalId", "theirs")], &none),
        (&[("externalId", "crm+1"), ("owner", "AGENT@example.com")], &[&lower]),
        (&[("externalId", "CRM+1"), ("owner", "agent@example.com")], &none),
        (&[("externalId", "crm+1"), ("search", "zoe")], &[&lower]),
        (&[("externalId", "crm+1"), ("search", "sample")], &none),
        (&[("owner", "agent@example.com"), ("search", "zoe")], &[&lower]),
    ];
    for (query, found) in rows {
        let answer = f.list(query).await;
        let expected: Vec<String> = found.iter().map(|contact| contact.id.to_string()).collect();
        assert_eq!((ids(&answer), &answer.json["cursor"]), (expected, &json!("")), "{query:?}");
    }
}

#[tokio::test]
async fn search_finds_word_prefixes_and_parts_of_the_phone_number() {
    let f = Contacts::start().await;
    let zoe = f
        .world
        .contact(|contact| {
            contact.first_name = PersonName::parse("Zoë").ok();
            contact.last_name = PersonName::parse("van der Berg").ok();
            contact.email = Email::parse("zoe.berg@mail.example.com").ok();
            contact.cellphone = Cellphone::parse("+353861234567").ok();
        })
        .await;
    f.some(3).await;
    for text in [
        "zo",
        "ZOE",
        "zoë",
        "zoe berg",
        "berg zoe",
        "der",
        "zoe.berg@",
        "mail.ex",
        "example",
        "353861",
        "+353 86 123",
        "861234",
        "(86) 1234567",
        "4567",
        "234-567",
    ] {
        assert_eq!(ids(&f.list(&[("search", text)]).await), [zoe.id.to_string()], "{text:?}");
    }
    for text in ["oe", "zoex", "zoe sample", "erg", "8612 99", "5678"] {
        assert_eq!(ids(&f.list(&[("search", text)]).await), Vec::<String>::new(), "{text:?}");
    }
}

#[tokio::test]
async fn search_finds_a_name_by_its_only_character() {
    let f = Contacts::start().await;
    let named =
        |name: &'static str| f.world.contact(move |contact| contact.last_name = PersonName::parse(name).ok());
    let (li, _) = (named("李").await, named("王").await);
    assert_eq!(ids(&f.list(&[("search", "李")]).await), [li.id.to_string()]);
    assert_eq!(ids(&f.list(&[("search", "张")]).await), Vec::<String>::new());
}

#[tokio::test]
async fn search_pages_show_each_match_once_and_apply_the_owner_filter() {
    let f = Contacts::start().await;
    let made = f.some(7).await;
    let mut seen = BTreeSet::new();
    let first = f.list(&[("search", "person sample"), ("pageSize", "3")]).await;
    seen.extend(ids(&first));
    let mut cursor = first.json["cursor"].as_str().unwrap().to_owned();
    while !cursor.is_empty() {
        let page = f.list(&[("search", "person sample"), ("pageSize", "3"), ("cursor", &cursor)]).await;
        for id in ids(&page) {
            assert!(seen.insert(id), "a contact appears once");
        }
        cursor = page.json["cursor"].as_str().unwrap().to_owned();
    }
    assert_eq!(seen, newest_first(&made).into_iter().collect());
    assert_eq!(
        ids(&f.list(&[("search", "person"), ("owner", "nobody@example.com")]).await),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_cursor_is_valid_only_for_its_own_list() {
    let f = Contacts::start().await;
    f.some(4).await;
    let (other, other_key) = f.world.second_workspace().await;
    let first = f.list(&[("pageSize", "2")]).await;
    let cursor = first.json["cursor"].as_str().unwrap().to_owned();
    assert_eq!(
        f.list(&[("pageSize", "1"), ("cursor", &cursor)]).await.status,
        200,
        "the page size may change"
    );

    let refused = |answer: Answer, what: &str| {
        assert_eq!(answer.status, 422, "{what}");
        let entry = &answer.json["detail"][0];
        assert_eq!(
            (&entry["loc"], &entry["type"]),
            (&json!(["query", "cursor"]), &json!("value_error")),
            "{what}"
        );
        assert!(entry["input"].is_string());
    };
    refused(f.list(&[("search", "person"), ("cursor", &cursor)]).await, "another filter");
    refused(f.list(&[("owner", "a@example.com"), ("cursor", &cursor)]).await, "another owner");
    let elsewhere = f
        .world
        .event("contacts-list.json")
        .path("workspaceId", other)
        .header("x-api-key", &other_key)
        .query(&[("cursor", &cursor)]);
    refused(f.send(elsewhere).await, "another workspace");
    for at in 0..cursor.len() {
        let other = if cursor.as_bytes()[at] == b'A' { "B" } else { "A" };
        let changed = format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]);
        f.world.db.clock().advance(Duration::from_millis(100));
        refused(f.list(&[("cursor", &changed)]).await, &changed);
    }
    for nonsense in ["x", "AQ", "!!!!", &cursor[..cursor.len() - 4]] {
        refused(f.list(&[("cursor", nonsense)]).await, nonsense);
    }
}

#[tokio::test]
async fn a_cursor_sealed_with_the_previous_key_is_still_valid() {
    let f = Contacts::start().await;
    let made = f.some(4).await;
    let cursor = f.list(&[("pageSize", "2")]).await.json["cursor"].as_str().unwrap().to_owned();
    f.world.db.store().rotate_cursor_key([8; 32]).await.unwrap();
    // By then, the new key seals cursors and the old one is the previous key.
    f.world.db.clock().advance(Duration::from_secs(6 * 60));
    let event = f.world.event("contacts-list.json").query(&[("cursor", &cursor)]);
    let answer: Answer = contacts::handle(&f.cold(), &edge::ApiRequest::new(event.request())).await.into();
    assert_eq!(ids(&answer), newest_first(&made)[2..]);
}

#[tokio::test]
async fn a_cursor_reveals_nothing() {
    let f = Contacts::start().await;
    let made = f.some(2).await;
    let one = f.list(&[("pageSize", "1")]).await.json["cursor"].as_str().unwrap().to_owned();
    let two = f.list(&[("pageSize", "1")]).await.json["cursor"].as_str().unwrap().to_owned();
    assert_ne!(one, two, "each cursor has its own nonce");
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, &one).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(!text.contains(&made[1].id.to_string()));
}

#[tokio::test]
async fn a_warm_page_takes_two_round_trips_and_costs_by_its_length() {
    let f = Contacts::start().await;
    f.some(30).await;
    f.settle(f.world.event("contacts-list.json").query(&[])).await;
    assert_eq!(f.list(&[]).await.status, 200);
    assert_eq!(
        f.world.db.sorted_operations(),
        ["BatchGetItem contacts+workspaces", "Query contacts", "UpdateItem limits"]
    );
    let calls = f.world.db.calls();
    assert_eq!(trips(&calls), 2);
    let read: f64 = calls.iter().map(|call| call.read_units).sum();
    assert!(read <= 22.0, "a page of twenty read {read} units: one for the index and one for the workspace");

    f.world.db.forget_calls();
    assert_eq!(f.list(&[("search", "person1")]).await.status, 200);
    assert_eq!(trips(&f.world.db.calls()), 2, "a search by one word");

    f.world.db.forget_calls();
    assert_eq!(f.list(&[("search", "nobody")]).await.json["contacts"], json!([]));
    assert_eq!(
        f.world.db.sorted_operations(),
        ["Query contacts", "UpdateItem limits"],
        "an empty page needs no definitions"
    );
}

#[tokio::test]
async fn every_shown_contact_has_its_documented_fields() {
    let f = Contacts::start().await;
    f.some(1).await;
    let answer = f.list(&[]).await;
    let fields: Vec<&String> = answer.json["contacts"][0].as_object().unwrap().keys().collect();
    let expected = [
        "cellphone",
        "createdAt",
        "customAttributes",
        "email",
        "externalId",
        "firstName",
        "id",
        "languageCode",
        "lastName",
        "ownerId",
        "providerUserIds",
        "type",
        "updatedAt",
        "workspaceId",
    ];
    assert_eq!(fields, expected);
    assert_eq!(answer.json["contacts"][0]["type"], Value::from("PARTIAL"));
    assert!(!answer.headers.contains_key("etag"), "only single resources have an ETag");
}
