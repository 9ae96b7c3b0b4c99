//! `console contacts merge`: two contacts of one person become one. The function `people` does the work.

use std::time::Duration;

use domain::{Cellphone, Contact, ContactId, Email, Merge, PersonJobId};
use harness::World;
use serde_json::{Value, json};
use store::Table;
use uuid::Uuid;

use crate::Desk;
use crate::persons::visit;

/// The contact that stays, and the one that becomes part of it.
struct Pair {
    desk: Desk,
    ana: ContactId,
    anita: ContactId,
}

impl Pair {
    async fn new() -> Self {
        let world = World::start().await;
        world.db.store().ensure_person_key([9; 32]).await.unwrap();
        let ana = world.contact(|of| of.email = Email::parse("ana@example.com").ok()).await.id;
        let anita = world.contact(|of| of.cellphone = Cellphone::parse("+34600111222").ok()).await.id;
        Self { desk: Desk::over(world.db), ana, anita }
    }

    async fn contact(&self, fill: impl FnOnce(&mut Contact)) -> ContactId {
        let store = self.desk.db.store();
        let id = ContactId::generate(store.ids());
        let mut contact = Contact::blank(id, workspace(), store.now());
        fill(&mut contact);
        store.create_contact(&contact, "r").await.unwrap();
        id
    }

    /// The command line with these contacts.
    fn line<'a>(stays: &'a str, goes: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let merge =
            ["contacts", "merge", "--workspace", World::WORKSPACE, "--contact", stays, "--merged", goes];
        [&merge[..], more].concat()
    }

    async fn merge(&self, more: &[&str]) -> Value {
        let [ana, anita] = [self.ana, self.anita].map(|id| id.to_string());
        self.desk.json(&Self::line(&ana, &anita, more)).await
    }

    /// One visit of the merge.
    async fn visit(&self) {
        let job = Merge::of(workspace(), self.ana, self.anita, self.desk.db.store().now()).id;
        visit(&self.desk, World::WORKSPACE, &job.to_string()).await;
    }
}

fn workspace() -> domain::WorkspaceId {
    domain::WorkspaceId::parse(World::WORKSPACE).unwrap()
}

#[tokio::test]
async fn the_contact_named_first_stays_and_a_repeat_shows_how_far_the_merge_is() {
    let pair = Pair::new().await;
    let [ana, anita] = [pair.ana, pair.anita].map(|id| id.to_string());
    let by_name = pair.desk.json(&Pair::line("ana@example.com", "+34600111222", &["--yes"])).await;
    let at = by_name["askedAt"].clone();
    let shown = |state: &str, at: &Value| json!({ "contactId": ana, "mergedContactId": anita, "state": state, "askedAt": at });
    assert_eq!(by_name, shown("ASKED", &at));
    pair.desk.db.clock().advance(Duration::from_secs(1));
    assert_eq!(pair.merge(&[]).await, shown("ASKED", &at));
    pair.visit().await;
    assert_eq!(pair.merge(&[]).await, shown("MOVED", &at));
    pair.desk.db.clock().advance(Duration::from_secs(120));
    pair.visit().await;
    // Also if the command waits: there is nothing to wait for.
    for more in [&[][..], &["--wait=1"]] {
        assert_eq!(pair.merge(more).await, shown("DONE", &Value::Null));
    }
    let show = async |contact: &str| {
        pair.desk.run(&["contacts", "show", "--workspace", World::WORKSPACE, "--contact", contact]).await
    };
    let stays = show("+34600111222").await.out;
    assert!(stays.contains(&ana) && stays.contains("ana@example.com"), "{stays}");
    assert_eq!(show(&anita).await.err, format!("Contact {anita} is part of contact {ana} now.\n"));
    // Now the number is that of the contact that stays.
    let again = pair.desk.refused(&Pair::line("ana@example.com", "+34600111222", &[])).await;
    assert_eq!(again, "The contacts are not merged: both are the same contact.");
}

#[tokio::test]
async fn a_merge_is_waited_for_until_everything_is_moved() {
    let pair = Pair::new().await;
    let [ana, anita] = [pair.ana, pair.anita].map(|id| id.to_string());
    let late = pair.desk.refused(&Pair::line(&ana, &anita, &["--wait=1"])).await;
    let expected = "The contacts are not merged after 1 seconds, and the service goes on: repeat the command to see its state.";
    assert_eq!(late, expected);
    let (merged, ()) = futures::future::join(pair.merge(&["--wait"]), pair.visit()).await;
    assert_eq!(merged["state"], "MOVED");
}

#[tokio::test]
async fn a_merge_that_ends_without_effect_is_refused() {
    let pair = Pair::new().await;
    let [ana, anita] = [pair.ana, pair.anita].map(|id| id.to_string());
    pair.merge(&[]).await;
    // An erasure begins before the visit.
    let store = pair.desk.db.store();
    let job = PersonJobId::from_uuid(Uuid::from_u128(9));
    store.take_for_erasure(workspace(), job, [pair.anita].into()).await.unwrap();
    let wait = Pair::line(&ana, &anita, &["--wait"]);
    let (refused, ()) = futures::future::join(pair.desk.refused(&wait), pair.visit()).await;
    let expected =
        "The contacts were not merged: one of them was erased meanwhile, or together they became too large.";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn contacts_that_cannot_be_merged_are_refused_with_the_reason() {
    let pair = Pair::new().await;
    let [ana, anita] = [pair.ana, pair.anita].map(|id| id.to_string());
    let job = Some(PersonJobId::from_uuid(Uuid::from_u128(9)));
    let merging = pair.contact(|of| of.merging = job).await.to_string();
    let erasing = pair.contact(|of| of.erasing = job).await.to_string();
    let ids = (1..6).map(|n| ContactId::from_uuid(Uuid::from_u128(n)));
    let full = pair.contact(|of| of.merged = ids.collect()).await.to_string();
    let nobody = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    let rows = [
        (ana.as_str(), "ana@example.com", "ITSELF", "both are the same contact"),
        (&ana, &merging, "BEING_MERGED", "another merge of one of them runs; try again in some seconds"),
        (&erasing, &ana, "BEING_ERASED", "one of them is being erased"),
        (
            &full,
            &ana,
            "TOO_LARGE",
            "together they have more than 128 KB, or would stand for more than five others",
        ),
    ];
    for (stays, goes, reason, sentence) in rows {
        let line = Pair::line(stays, goes, &[]);
        assert_eq!(pair.desk.refused(&line).await, format!("The contacts are not merged: {sentence}."));
        let ran = pair.desk.run(&[&["--json"], &line[..]].concat()).await;
        let failure: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!((&failure["code"], &failure["hint"]), (&json!("NOT_MERGED"), &json!(reason)));
    }
    for unknown in [nobody, "nobody@example.com", "+34600999999"] {
        for (stays, goes) in [(ana.as_str(), unknown), (unknown, ana.as_str())] {
            let refused = pair.desk.refused(&Pair::line(stays, goes, &[])).await;
            assert_eq!(refused, format!("The workspace has no contact {unknown}."));
        }
    }
    assert_eq!(pair.desk.db.rows_of(Table::Contacts, "merge"), [Value::Null; 0]);
    // What became part of one contact cannot become part of another one.
    pair.merge(&[]).await;
    pair.visit().await;
    let bob = pair.contact(|_| ()).await.to_string();
    for (stays, goes) in [(bob.as_str(), anita.as_str()), (&anita, &bob)] {
        let refused = pair.desk.refused(&Pair::line(stays, goes, &[])).await;
        assert_eq!(refused, format!("Contact {anita} is part of contact {ana} now."));
    }
}
