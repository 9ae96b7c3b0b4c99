use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::{AttributeType, Cellphone, ContactId, Email, Language, PersonName, WorkspaceId};
use harness::{Fault, World, trips};
use serde_json::json;

use crate::Contacts;

#[tokio::test]
async fn a_contact_is_answered_with_every_documented_field() {
    let f = Contacts::start().await;
    let owner = f.world.user("agent@example.com", |_| ()).await;
    let tier = f.world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let plan = f.world.closed_attribute("plan", &["free", "paid"], |_| ()).await;
    let contact = f
        .world
        .contact(|contact| {
            contact.first_name = PersonName::parse("Zoë").ok();
            contact.last_name = PersonName::parse("O'Brien").ok();
            contact.email = Email::parse("Zoe@Example.com").ok();
            contact.cellphone = Cellphone::parse("+353861234567").ok();
            contact.user_ids = World::user_ids("IE.1");
            contact.language = Some(Language::En);
            contact.owner = Some(Owner { id: owner.id, email: owner.email.clone() });
            contact.attributes.insert(tier.id, AttributeContent::Open(OpenContent::parse("gold").unwrap()));
            let both = plan.closed_values.iter().rev().map(|value| value.id).collect();
            contact.attributes.insert(plan.id, AttributeContent::Closed(both));
        })
        .await;

    let answer =
        f.send(f.world.event("contacts-get.json").path("contactId", contact.id).request_id("r-1")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json,
        json!({
            "id": contact.id.to_string(),
            "workspaceId": f.world.workspace.to_string(),
            "type": "NORMAL",
            "createdAt": "2026-01-02T03:04:05.678Z",
            "updatedAt": "2026-01-02T03:04:05.678Z",
            "firstName": "Zoë",
            "lastName": "O'Brien",
            "email": "Zoe@Example.com",
            "cellphone": "+353861234567",
            "languageCode": "EN",
            "ownerId": owner.id.to_string(),
            "customAttributes": [
                {"key": "tier", "values": ["gold"]},
                {"key": "plan", "values": ["paid", "free"]},
            ],
            "externalId": null,
            "providerUserIds": [{"businessAccountId": World::ACCOUNT, "userId": "IE.1"}],
        })
    );
    assert_eq!(answer.headers["x-request-id"], "r-1");
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["cache-control"], "no-store");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert!(answer.headers["etag"].starts_with('"'));
}

#[tokio::test]
async fn an_absent_value_is_null_or_an_empty_list() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let answer = f.send(f.world.event("contacts-get.json").path("contactId", contact.id)).await;
    for field in ["firstName", "lastName", "email", "cellphone", "languageCode", "ownerId"] {
        assert_eq!(answer.json[field], json!(null), "{field}");
        assert!(answer.json.as_object().unwrap().contains_key(field), "{field}");
    }
    assert_eq!(answer.json["customAttributes"], json!([]));
    assert_eq!(answer.json["type"], "PARTIAL");
}

#[tokio::test]
async fn the_value_of_an_archived_attribute_is_not_shown() {
    let f = Contacts::start().await;
    let now = f.world.db.store().now();
    let gone = f
        .world
        .open_attribute("gone", AttributeType::Text, |definition| definition.deleted_at = Some(now))
        .await;
    let contact = f
        .world
        .contact(|contact| {
            contact.attributes.insert(gone.id, AttributeContent::Open(OpenContent::parse("x").unwrap()));
        })
        .await;
    let answer = f.send(f.world.event("contacts-get.json").path("contactId", contact.id)).await;
    assert_eq!(answer.json["customAttributes"], json!([]));
}

#[tokio::test]
async fn a_foreign_contact_and_an_unknown_one_get_the_same_answer_byte_for_byte() {
    let f = Contacts::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.contact_of(other, |_| ()).await;
    let get = |id: ContactId| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        f.send(f.world.event("contacts-get.json").path("contactId", id).request_id("r"))
    };
    let foreign = get(foreign.id).await;
    let unknown = get(ContactId::generate(f.world.db.store().ids())).await;
    assert_eq!(foreign, unknown);
    assert_eq!(foreign.text, r#"{"title":"Contact Not Found","status":404,"code":"SERVICE_CONTACT_0404"}"#);
}

#[tokio::test]
async fn an_id_may_be_spelled_in_upper_case_and_must_be_a_uuid() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let get = |id: String| f.send(f.world.event("contacts-get.json").path("contactId", id));
    assert_eq!(get(contact.id.to_string().to_uppercase()).await.status, 200);

    let answer = get("not-a-uuid".to_owned()).await;
    assert_eq!(answer.status, 422);
    assert_eq!(
        answer.json,
        json!({
            "title": "Unprocessable Entity",
            "status": 422,
            "code": "SERVICE_CORE_0422",
            "detail": [{
                "loc": ["path", "contactId"],
                "msg": "Input should be a UUID",
                "type": "uuid_parsing",
                "input": "not-a-uuid",
                "ctx": {},
            }],
        })
    );
}

#[tokio::test]
async fn query_parameters_are_refused() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let event =
        f.world.event("contacts-get.json").path("contactId", contact.id).query(&[("expand", "owner")]);
    let answer = f.send(event).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.json["detail"][0]["type"], "extra_forbidden");
    assert_eq!(answer.json["detail"][0]["ctx"], json!({"allowed": []}));
}

#[tokio::test]
async fn the_etag_changes_with_the_contact_and_with_the_definitions() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let event = f.world.event("contacts-get.json").path("contactId", contact.id);
    let tag = async || f.send(event.clone()).await.headers["etag"].clone();
    let first = tag().await;
    assert_eq!(first, tag().await);
    f.world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let second = tag().await;
    assert_ne!(first, second);
    let patch =
        f.world.event("contacts-update.json").path("contactId", contact.id).body(&json!({"firstName": "A"}));
    f.send(patch).await;
    assert_ne!(second, tag().await);
}

#[tokio::test]
async fn a_warm_get_makes_one_read_call_whether_there_are_no_definitions_or_a_hundred() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let event = f.world.event("contacts-get.json").path("contactId", contact.id);
    for definitions in [0, 100] {
        for n in 0..definitions {
            f.world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
        }
        f.settle(event.clone()).await;
        assert_eq!(f.send(event.clone()).await.status, 200);
        assert_eq!(f.world.db.sorted_operations(), ["BatchGetItem contacts+workspaces", "UpdateItem limits"]);
        let calls = f.world.db.calls();
        assert_eq!(trips(&calls), 1);
        let read: f64 = calls.iter().map(|call| call.read_units).sum();
        let written: f64 = calls.iter().map(|call| call.write_units).sum();
        assert_eq!((read, written), (2.0, 1.0), "contact 1, workspace 1, limiter 1");
    }

    f.world.db.forget_calls();
    let cold = f.cold();
    f.world.db.clock().advance(std::time::Duration::from_secs(10));
    let answer: harness::Answer =
        contacts::handle(&cold, &edge::ApiRequest::new(event.request())).await.into();
    assert_eq!(answer.status, 200);
    assert_eq!(trips(&f.world.db.calls()), 2, "the key's row is read first, and the limiter is idle again");
    let reads = f.world.db.calls().iter().filter(|call| call.read_units > 0.0).count();
    assert_eq!(reads, 3, "key and workspace, contact and workspace, definitions");
}

#[tokio::test]
async fn a_changed_definition_shows_in_the_next_answer() {
    let f = Contacts::start().await;
    let tier = f.world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let content = AttributeContent::Open(OpenContent::parse("gold").unwrap());
    let contact = f.world.contact(|contact| drop(contact.attributes.insert(tier.id, content))).await;
    let event = f.world.event("contacts-get.json").path("contactId", contact.id);
    let list = f.world.event("contacts-list.json").query(&[]);
    f.settle(event.clone()).await;
    let store = f.world.db.store();
    let workspace = store.workspace(f.world.workspace).await.unwrap().unwrap();
    let renamed = tier.renamed("level").unwrap().unwrap();
    assert!(store.change_definition(&workspace, &renamed, &["keyName"], harness::operator()).await.unwrap());
    let shown = json!([{"key": "level", "values": ["gold"]}]);
    assert_eq!(f.send(event).await.json["customAttributes"], shown);
    assert_eq!(f.send(list).await.json["contacts"][0]["customAttributes"], shown);
}

#[tokio::test]
async fn a_read_that_dynamodb_leaves_unprocessed_is_completed() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let event = f.world.event("contacts-get.json").path("contactId", contact.id);
    f.settle(event.clone()).await;
    for fault in [Fault::Unprocessed, Fault::HalfProcessed] {
        f.world.db.fail("BatchGetItem", fault, 1);
        let answer = f.send(event.clone()).await;
        assert_eq!((answer.status, &answer.json["id"]), (200, &json!(contact.id.to_string())), "{fault:?}");
    }
}

#[tokio::test]
async fn a_workspace_id_in_the_path_that_is_not_the_keys_is_forbidden() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let other = WorkspaceId::generate(f.world.db.store().ids());
    let event = f.world.event("contacts-get.json").path("contactId", contact.id).path("workspaceId", other);
    assert_eq!(f.send(event).await.status, 403);
}
