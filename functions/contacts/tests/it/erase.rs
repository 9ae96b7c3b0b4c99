//! Requests for an erasure. The function `people` does the work; here its lane is only asked for.

use std::time::Duration;

use domain::person::erasure::Preview;
use domain::{ContactId, Erasure, ErasureId, KeyId, LaneId, WorkspaceId};
use harness::{Answer, GatewayEvent, World, trips};
use serde_json::{Value, json};
use store::{Lease, LeasedJob};

use crate::Contacts;

/// A world with a key that may erase.
struct Erasing {
    contacts: Contacts,
    key: String,
    id: KeyId,
}

impl Erasing {
    async fn start() -> Self {
        let contacts = Contacts::start().await;
        let (mut id, world) = (None, &contacts.world);
        let scopes = ["contacts:erase"];
        let key = world.key_with(world.workspace, &scopes, |key| id = Some(key.id)).await;
        Self { key, id: id.unwrap(), contacts }
    }

    fn world(&self) -> &World {
        &self.contacts.world
    }

    async fn erase(&self, contact: ContactId, body: Option<Value>) -> Answer {
        let event = self.world().event("contacts-erase.json").path("contactId", contact);
        let event = match body {
            Some(body) => event.body(&body),
            None => event.raw_body("").without_header("content-type"),
        };
        self.send(event).await
    }

    async fn read(&self, id: &str) -> Answer {
        self.send(self.world().event("contacts-erasure-get.json").path("erasureId", id)).await
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        self.contacts.send(event.header("x-api-key", &self.key).request_id("r")).await
    }

    async fn someone(&self) -> ContactId {
        self.world().contact(|_| ()).await.id
    }

    /// Works as the function `people` does, to the end.
    async fn finish(&self, id: &str, end: impl Fn(&Erasure) -> Erasure) {
        let (store, workspace) = (self.world().db.store(), self.world().workspace);
        let lane = LaneId::Person(workspace, ErasureId::parse(id).unwrap().into());
        let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(330)).await.unwrap() else {
            panic!("the job is asked for")
        };
        let (mine, seen) = LeasedJob::of(&leased).unwrap();
        let seen = seen.erasure().unwrap();
        let done = store.keep_erasure(&mine, &seen, end(&seen), None).await.unwrap().unwrap();
        if !done.is_preview {
            store.finish_erasure(&mine, &done).await.unwrap();
        }
    }
}

fn id(answer: &Answer) -> String {
    answer.json["erasureId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_erasure_is_asked_for_once_and_ends_in_a_receipt() {
    let f = Erasing::start().await;
    let contact = f.someone().await;
    let asked = f.erase(contact, None).await;
    assert_eq!(asked.status, 202);
    let expected = json!({
        "erasureId": id(&asked),
        "workspaceId": f.world().workspace.to_string(),
        "state": "ASKED",
        "dryRun": false,
        "contactIds": [contact.to_string()],
        "askedAt": "2026-01-02T03:04:05.678Z",
        "askedBy": f.id.to_string(),
        "doneAt": null,
        "counts": {},
        "preview": null,
    });
    assert_eq!(asked.json, expected);
    // A repeat with another body that says the same, later: the same job.
    f.world().db.clock().advance(Duration::from_secs(60));
    for body in [json!({}), json!({ "dryRun": false }), json!({ "dryRun": null })] {
        let again = f.erase(contact, Some(body.clone())).await;
        assert_eq!((again.status, &again.json), (202, &expected), "{body}");
    }
    let read = f.read(&id(&asked)).await;
    assert_eq!((read.status, &read.json), (200, &expected));

    let store = f.world().db.store();
    let before = store.contact(f.world().workspace, contact).await.unwrap().unwrap();
    assert!(store.erase_contact(&before).await.unwrap());
    let counts = [("contacts".to_owned(), 1)];
    f.finish(&id(&asked), |job| {
        Erasure { pass: 2, ..job.clone() }.passed(counts.clone().into(), job.asked_at)
    })
    .await;
    // The contact is gone, and its receipt is not.
    let receipt = f.erase(contact, None).await;
    assert_eq!((receipt.status, &receipt.json["state"]), (200, &json!("DONE")));
    assert_eq!(receipt.json["counts"], json!({ "contacts": 1 }));
    assert_eq!(receipt.json["doneAt"], "2026-01-02T03:04:05.678Z");
    assert_eq!(f.read(&id(&asked)).await.json, receipt.json);
}

#[tokio::test]
async fn a_preview_is_another_job_and_is_made_anew() {
    let f = Erasing::start().await;
    let contact = f.someone().await;
    let asked = f.erase(contact, Some(json!({ "dryRun": true }))).await;
    assert_eq!((asked.status, &asked.json["dryRun"]), (202, &json!(true)));
    f.finish(&id(&asked), |job| job.found(Preview::default(), job.asked_at)).await;
    let found = f.read(&id(&asked)).await;
    assert_eq!((found.status, &found.json["state"]), (200, &json!("FOUND")));
    assert_eq!(found.json["preview"], json!({ "contacts": [], "unassignedLeadIds": [] }));
    let again = f.erase(contact, Some(json!({ "dryRun": true }))).await;
    assert_eq!((again.status, &again.json["state"]), (202, &json!("ASKED")));
    assert_eq!(id(&again), id(&asked));
    assert_ne!(id(&f.erase(contact, None).await), id(&asked));
}

#[tokio::test]
async fn a_key_must_name_the_scope() {
    let f = Erasing::start().await;
    let contact = f.someone().await;
    let world = f.world();
    for (scopes, status) in
        [(&["*"][..], 403), (&["contacts:read", "contacts:write"], 403), (&["*", "contacts:erase"], 202)]
    {
        let key = world.key_with(world.workspace, scopes, |_| ()).await;
        let event = world.event("contacts-erase.json").path("contactId", contact);
        let answer = f.contacts.send(event.header("x-api-key", &key)).await;
        assert_eq!(answer.status, status, "{scopes:?}");
        let event = world.event("contacts-erasure-get.json").header("x-api-key", &key);
        let status = if status == 403 { 403 } else { 404 };
        assert_eq!(f.contacts.send(event).await.status, status, "{scopes:?}");
    }
}

#[tokio::test]
async fn a_wrong_request_erases_nothing_and_says_why() {
    let f = Erasing::start().await;
    let contact = f.someone().await;
    for (body, loc, kind) in [
        (json!({ "dryrun": true }), json!(["body", "dryrun"]), "extra_forbidden"),
        (json!({ "dryRun": "yes" }), json!(["body", "dryRun"]), "bool_parsing"),
        (json!([]), json!(["body"]), "dict_type"),
    ] {
        let answer = f.erase(contact, Some(body.clone())).await;
        let failure = &answer.json["detail"][0];
        assert_eq!((answer.status, &failure["loc"], &failure["type"]), (422, &loc, &json!(kind)), "{body}");
    }
    let store = f.world().db.store();
    assert_eq!(store.erasures(f.world().workspace).await.unwrap(), []);
}

#[tokio::test]
async fn a_foreign_contact_or_erasure_and_an_unknown_one_get_the_same_answer() {
    let f = Erasing::start().await;
    let (other, key) = f.world().second_workspace().await;
    let foreign = f.world().contact_of(other, |_| ()).await.id;
    let unknown = ContactId::generate(f.world().db.store().ids());
    let store = f.world().db.store();
    let theirs = Erasure::of_contacts([foreign].into(), other, false, key, store.now());
    store.ask_erasure(&theirs, None, None).await.unwrap();
    let erase = async |contact| {
        f.world().db.clock().advance(Duration::from_secs(1));
        f.erase(contact, None).await
    };
    let answer = erase(foreign).await;
    assert_eq!(answer.text, r#"{"title":"Contact Not Found","status":404,"code":"SERVICE_CONTACT_0404"}"#);
    assert_eq!(erase(unknown).await, answer);
    let read = async |id: ErasureId| {
        f.world().db.clock().advance(Duration::from_secs(1));
        f.read(&id.to_string()).await
    };
    let answer = read(theirs.id).await;
    assert_eq!(answer.text, r#"{"title":"Erasure Not Found","status":404,"code":"SERVICE_ERASURE_0404"}"#);
    let nobodys =
        Erasure::of_contacts([unknown].into(), WorkspaceId::generate(store.ids()), true, "", store.now());
    assert_eq!(read(nobodys.id).await, answer);
}

#[tokio::test]
async fn asking_takes_two_round_trips_and_reading_one() {
    let f = Erasing::start().await;
    let (first, second) = (f.someone().await, f.someone().await);
    let asked = f.erase(first, None).await;
    let db = &f.world().db;
    db.forget_calls();
    assert_eq!(f.erase(second, None).await.status, 202);
    assert_eq!(trips(&db.calls()), 2, "{:?}", db.sorted_operations());
    db.forget_calls();
    assert_eq!(f.read(&id(&asked)).await.status, 200);
    assert_eq!(trips(&db.calls()), 1, "{:?}", db.sorted_operations());
}
