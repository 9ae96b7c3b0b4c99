//! The stream records of message templates.

use std::collections::BTreeSet;

use domain::settings::template::{AccountState, SaidBy, Template};
use domain::{BusinessAccountId, EndpointId, TemplateStatus, Timestamp, WorkspaceId};
use harness::{Fault, World};
use serde_json::{Value, json};
use store::Table;

use crate::{ENDPOINT, OTHER, Scene};

fn news(status: TemplateStatus, seconds: i64) -> AccountState {
    AccountState::of(status, Timestamp::from_millis(seconds * 1_000), SaidBy::Provider)
}

async fn decided(scene: &Scene, template: &Template, news: AccountState) -> Template {
    let next = template.decided(&World::account(), news).unwrap().unwrap();
    assert!(scene.world.db.store().replace_template(&next).await.unwrap());
    next
}

/// The events of an endpoint, in the order of the account's statuses, with each record relayed twice.
async fn told(scene: &Scene, endpoint: &str) -> Vec<Value> {
    let records = scene.world.db.stream(Table::Workspaces);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    let mut bodies = scene.bodies(endpoint).await;
    bodies.sort_by_key(|body| body["payload"]["statuses"][0]["status"].to_string());
    bodies
}

/// The name, the shown status, the account that changed and its status before.
fn shown(body: &Value) -> Value {
    let payload = &body["payload"];
    json!([
        payload["name"],
        payload["statuses"][0]["status"],
        payload["businessAccountId"],
        payload["previousStatus"]
    ])
}

#[tokio::test]
async fn a_template_is_told_when_it_is_made_and_when_it_differs() {
    let scene = Scene::with_endpoint().await;
    scene.endpoint(OTHER, &["line.updated"]).await;
    scene.world.line("5", |_| ()).await;
    let made = scene.world.template(|_| ()).await;
    let paused = decided(&scene, &made, news(TemplateStatus::Paused, 10)).await;
    // The provider repeats itself: nothing that the API shows of the template differs.
    decided(&scene, &paused, news(TemplateStatus::Paused, 20)).await;
    let events = told(&scene, ENDPOINT).await;
    let expected = [
        json!(["welcome", "APPROVED", World::ACCOUNT, null]),
        json!(["welcome", "PAUSED", World::ACCOUNT, "APPROVED"]),
    ];
    assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), expected);
    for event in &events {
        assert_eq!(
            (&event["eventType"], &event["entity"]),
            (&json!("template.updated"), &json!("template_updates"))
        );
        assert_eq!(event["payload"]["id"], made.id.to_string());
    }
    assert!(scene.deliveries(OTHER).await.is_empty(), "a filter takes its types only");
}

#[tokio::test]
async fn a_change_of_the_platforms_template_is_told_to_the_workspaces_that_it_concerns() {
    let scene = Scene::with_endpoint().await;
    scene.world.line("5", |_| ()).await;
    let (second, _) = scene.world.second_workspace().await;
    let (third, _) = scene.world.second_workspace().await;
    scene.world.line_of(second, "6", |_| ()).await;
    let foreign = BusinessAccountId::parse("777").unwrap();
    scene.world.line_of(third, "7", |line| line.business_account = foreign.clone()).await;
    for workspace in [second, third] {
        scene
            .world
            .endpoint_of(workspace, |endpoint| endpoint.id = EndpointId::parse(ENDPOINT).unwrap())
            .await;
    }
    let made = scene.world.platform_template(|_| ()).await;
    decided(&scene, &made, news(TemplateStatus::Paused, 10)).await;

    let records = scene.world.db.stream(Table::Workspaces);
    let of_all = async || {
        let mut of_all = vec![];
        for workspace in [scene.world.workspace, second, third] {
            of_all.push(recorded(&scene, workspace).await);
        }
        of_all
    };
    // If the workspaces cannot be read, Lambda repeats the records.
    scene.world.db.fail("Query", Fault::Throttled, 10_000);
    assert!(!scene.relayed(&records).await);
    assert_eq!(of_all().await, [0, 0, 0].map(|_| BTreeSet::new()));
    scene.world.db.heal();
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    let events = of_all().await;
    assert_eq!(events.iter().map(BTreeSet::len).collect::<Vec<_>>(), [2, 2, 0]);
    assert!(events[0].is_disjoint(&events[1]), "an event is one workspace's");
    let told = told(&scene, ENDPOINT).await;
    assert_eq!(shown(&told[1]), json!(["welcome", "PAUSED", World::ACCOUNT, "APPROVED"]));
}

/// The ids of the events of a workspace.
async fn recorded(scene: &Scene, workspace: WorkspaceId) -> BTreeSet<String> {
    let rows = scene.world.db.rows(Table::Webhooks);
    let prefix = format!("{workspace}#V#");
    let id = |row: &Value| row["pk"]["S"].as_str().unwrap().strip_prefix(&prefix).map(str::to_owned);
    rows.iter().filter_map(id).collect()
}
