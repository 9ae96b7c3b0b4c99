use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::{AttributeType, Cellphone, ContactId, Email, Language, PersonName, WorkspaceId};
use harness::trips;
use serde_json::json;

use crate::{Contacts, operations};

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
    let get =
        |id: ContactId| f.send(f.world.event("contacts-get.json").path("contactId", id).request_id("r"));
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
async fn a_warm_get_takes_one_round_trip() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let event = f.world.event("contacts-get.json").path("contactId", contact.id);
    f.warm(event.clone()).await;
    assert_eq!(f.send(event.clone()).await.status, 200);
    assert_eq!(operations(&f.world), ["GetItem contacts", "Query workspaces", "UpdateItem limits"]);
    let calls = f.world.db.calls();
    assert_eq!(trips(&calls), 1);
    let read: f64 = calls.iter().map(|call| call.read_units).sum();
    let written: f64 = calls.iter().map(|call| call.write_units).sum();
    assert_eq!((read, written), (2.0, 1.0), "contact 1, definitions 1, limiter 1");

    f.world.db.forget_calls();
    let cold = f.cold();
    f.world.db.clock().advance(std::time::Duration::from_secs(10));
    let answer: harness::Answer =
        contacts::handle(&cold, &edge::ApiRequest::new(event.request())).await.into();
    assert_eq!(answer.status, 200);
    assert_eq!(trips(&f.world.db.calls()), 2, "the key's row is read first, and the limiter is idle again");
}

#[tokio::test]
async fn a_workspace_id_in_the_path_that_is_not_the_keys_is_forbidden() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let other = WorkspaceId::generate(f.world.db.store().ids());
    let event = f.world.event("contacts-get.json").path("contactId", contact.id).path("workspaceId", other);
    assert_eq!(f.send(event).await.status, 403);
}
