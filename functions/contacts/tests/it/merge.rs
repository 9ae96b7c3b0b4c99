//! Requests for a merge. The function `people` does the work; here its lane is only asked for, or worked on by hand.

use std::time::Duration;

use domain::{Cellphone, Contact, ContactId, LaneId, Merge};
use harness::{Answer, trips};
use serde_json::{Value, json};
use store::{Joined, Lease, LeasedJob};

use crate::Contacts;

impl Contacts {
    async fn merge(&self, contact: ContactId, body: &Value) -> Answer {
        let event = self.world.event("contacts-merge.json").path("contactId", contact).body(body);
        self.send(event.request_id("r")).await
    }

    async fn person(&self, number: &str) -> Contact {
        self.world.contact(|of| of.cellphone = Cellphone::parse(number).ok()).await
    }

    /// Works as the function `people` does, until the contacts are one.
    async fn joined(&self, stays: ContactId, goes: ContactId) {
        let (store, workspace) = (self.world.db.store(), self.world.workspace);
        store.ensure_person_key([9; 32]).await.unwrap();
        let job = Merge::of(workspace, stays, goes, store.now());
        let lane = LaneId::Person(workspace, job.id);
        let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(330)).await.unwrap() else {
            panic!("the merge is asked for")
        };
        let (mine, _) = LeasedJob::of(&leased).unwrap();
        assert!(matches!(store.join_contacts(&mine, &job).await.unwrap(), Joined::Done(_)));
        store.end_merging(&job).await.unwrap();
        store.drop_job(&mine).await.unwrap();
    }
}

fn reason(answer: &Answer) -> Value {
    assert_eq!((answer.status, &answer.json["code"]), (422, &json!("SERVICE_CONTACT_0705")));
    answer.json["extra"]["reason"].clone()
}

#[tokio::test]
async fn the_contact_of_the_path_stays_and_a_repeat_answers_the_same_merge() {
    let f = Contacts::start().await;
    let (ana, anita) = (f.person("+34600111222").await.id, f.person("+34600111333").await.id);
    let body = json!({ "contactId": anita.to_string() });
    f.warm(f.world.event("contacts-get.json").path("contactId", ana)).await;
    let asked = f.merge(ana, &body).await;
    assert_eq!(asked.status, 202, "{}", asked.json);
    assert_eq!(trips(&f.world.db.calls()), 3);
    let workspace = f.world.workspace.to_string();
    let at = &asked.json["askedAt"];
    let ids = [ana, anita].map(|id| id.to_string());
    let expected =
        json!({ "contactId": ids[0], "mergedContactId": ids[1], "workspaceId": workspace, "askedAt": at });
    assert_eq!(asked.json, expected);
    f.world.db.clock().advance(Duration::from_secs(30));
    assert_eq!(f.merge(ana, &body).await.json, asked.json);

    f.joined(ana, anita).await;
    assert_eq!(reason(&f.merge(ana, &body).await), "ALREADY_MERGED");
    // Requests to the merged contact name the one that stays.
    let extra = json!({ "mergedInto": ana.to_string() });
    for event in ["contacts-get.json", "contacts-update.json", "contacts-merge.json"] {
        let answer = f.send(f.world.event(event).path("contactId", anita).request_id("r")).await;
        let found = (answer.status, &answer.json["code"], &answer.json["extra"]);
        assert_eq!(found, (404, &json!("SERVICE_CONTACT_0404"), &extra), "{event}");
    }
}

#[tokio::test]
async fn contacts_that_cannot_be_merged_are_refused_with_the_reason() {
    let f = Contacts::start().await;
    let (ana, bob) = (f.person("+34600111222").await, f.person("+34600111333").await);
    let unknown = ContactId::generate(f.world.db.store().ids());
    let named = |id: ContactId| json!({ "contactId": id.to_string() });
    assert_eq!(reason(&f.merge(ana.id, &named(ana.id)).await), "ITSELF");
    assert_eq!(reason(&f.merge(ana.id, &named(unknown)).await), "UNKNOWN");
    let missing = f.merge(unknown, &named(ana.id)).await;
    assert_eq!((missing.status, &missing.json["extra"]), (404, &Value::Null));
    for body in
        [json!({}), json!({ "contactId": "x" }), json!({ "contactId": bob.id.to_string(), "force": true })]
    {
        let answer = f.merge(ana.id, &body).await;
        assert_eq!((answer.status, &answer.json["code"]), (422, &json!("SERVICE_CORE_0422")), "{body}");
    }
    // An erasure of one of them has begun.
    let store = f.world.db.store();
    let job = Merge::of(f.world.workspace, bob.id, ana.id, store.now()).id;
    store.take_for_erasure(f.world.workspace, job, [bob.id].into()).await.unwrap();
    assert_eq!(reason(&f.merge(ana.id, &named(bob.id)).await), "BEING_ERASED");
    assert_eq!(reason(&f.merge(bob.id, &named(ana.id)).await), "BEING_ERASED");
    // No merge was asked for.
    assert_eq!(f.world.db.rows_of(store::Table::Contacts, "merge"), [Value::Null; 0]);
}
