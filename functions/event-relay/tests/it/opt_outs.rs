//! The stream records of choices about templates.

use std::time::Duration;

use domain::inbound::opt_out::{Choice, ChoiceSource, Chosen, OptOut};
use domain::{Cellphone, ProviderUserId};
use serde_json::json;
use store::Table;

use crate::{ENDPOINT, Scene};

#[tokio::test]
async fn each_change_of_a_choice_is_one_event_whoever_made_it() {
    let scene = Scene::with_endpoint().await;
    let (store, workspace) = (scene.world.db.store(), scene.world.workspace);
    let number = Cellphone::parse("+34600111222").unwrap();
    let user = ProviderUserId::parse("US.1").unwrap();
    let contact = scene.world.contact(|contact| contact.cellphone = Some(number.clone())).await.id;
    let choose = async |choice, source| {
        scene.world.db.clock().advance(Duration::from_secs(60));
        let chosen = Chosen { choice, source, at: store.now(), contact: Some(contact) };
        store.choose(workspace, &OptOut::choosers(Some(&number), Some(&user)), chosen).await.unwrap();
    };
    // A person who never opted out opts in: nothing changes.
    choose(Choice::In, ChoiceSource::Provider).await;
    choose(Choice::Out, ChoiceSource::Keyword).await;
    choose(Choice::Out, ChoiceSource::Provider).await;
    choose(Choice::In, ChoiceSource::Keyword).await;
    scene.world.db.clock().advance(Duration::from_secs(60));
    store.opt_out(workspace, &number, store.now()).await.unwrap();
    scene.world.db.clock().advance(Duration::from_secs(60));
    store.opt_in(workspace, &number).await.unwrap();
    store.hide_opt_out(workspace, &number).await.unwrap();

    let records = scene.world.db.stream(Table::Leads);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    // The newest is listed first.
    let mut bodies = scene.bodies(ENDPOINT).await;
    bodies.reverse();
    let told: Vec<_> = bodies.iter().map(|body| (&body["eventType"], &body["payload"]["source"])).collect();
    let (out, back) = (json!("contact.opted_out"), json!("contact.opted_in"));
    let (keyword, operator) = (json!("KEYWORD"), json!("OPERATOR"));
    assert_eq!(told, [(&out, &keyword), (&back, &keyword), (&out, &operator), (&back, &operator)]);
    assert_eq!(
        bodies[0]["payload"],
        json!({
            "contactId": contact.to_string(),
            "workspaceId": workspace.to_string(),
            "source": "KEYWORD",
            "optedOutAt": "2026-01-02T03:06:05.678Z",
        })
    );
    assert!(!bodies.iter().any(|body| body.to_string().contains("+34600111222")));
}
