//! The stream records of what the provider says about lines and accounts.

use domain::raw::Raw;
use domain::settings::reported::{
    AccountFact, AccountReport, LineFact, LineState, News, Restriction, Restrictions,
};
use domain::{BusinessAccountId, ChannelId, Timestamp};
use harness::World;
use serde_json::{Value, json};
use store::Table;

use crate::{ENDPOINT, OTHER, Scene};

fn account() -> BusinessAccountId {
    BusinessAccountId::parse(World::ACCOUNT).unwrap()
}

fn news<Fact>(seconds: i64, facts: &[(Fact, &str)]) -> News<Fact>
where
    Fact: Copy,
{
    let facts = facts.iter().map(|(fact, value)| (*fact, (*value).to_owned())).collect();
    News { at: Timestamp::from_millis(seconds * 1_000), facts, restrictions: None, notice: None }
}

/// The types and payloads of the events that an endpoint gets, oldest first, with each record relayed twice.
async fn told(scene: &Scene, endpoint: &str) -> Vec<(Value, Value)> {
    let records = scene.world.db.stream(Table::Workspaces);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    let mut bodies = scene.bodies(endpoint).await;
    bodies.reverse();
    bodies.into_iter().map(|body| (body["entity"].clone(), body["payload"].clone())).collect()
}

#[tokio::test]
async fn the_state_of_a_line_is_told_when_it_differs() {
    let scene = Scene::with_endpoint().await;
    scene.endpoint(OTHER, &["account.updated"]).await;
    let store = scene.world.db.store();
    let unknown = LineState::unknown(scene.world.workspace, ChannelId::parse("5").unwrap(), account());
    let first = unknown.told(&news(10, &[(LineFact::Status, "CONNECTED")]), store.now()).unwrap();
    assert!(store.put_line_state(&first).await.unwrap());
    // What is only confirmed is no event.
    let confirmed = first.told(&news(20, &[(LineFact::Status, "CONNECTED")]), store.now()).unwrap();
    assert!(store.put_line_state(&confirmed).await.unwrap());
    let mut flagged = news(30, &[(LineFact::Status, "FLAGGED"), (LineFact::MessagingLimit, "TIER_1K")]);
    flagged.notice = Some(("FLAGGED".to_owned(), Raw::of(r#"{"event":"FLAGGED"}"#)));
    assert!(store.put_line_state(&confirmed.told(&flagged, store.now()).unwrap()).await.unwrap());
    let payload = |status: &str, limit: Value, notice: Value| {
        json!({
            "providerChannelId": "5",
            "displayPhoneNumber": null,
            "businessAccountId": World::ACCOUNT,
            "verifiedName": null,
            "nameStatus": null,
            "quality": null,
            "messagingLimit": limit,
            "status": status,
            "notice": notice,
        })
    };
    let notice = json!({
        "event": "FLAGGED",
        "at": "1970-01-01T00:00:30.000Z",
        "raw": { "event": "FLAGGED" },
        "rawTruncated": false,
    });
    let events = told(&scene, ENDPOINT).await;
    assert!(events.iter().all(|(entity, _)| entity == "line_updates"));
    let mut payloads: Vec<Value> = events.into_iter().map(|(_, payload)| payload).collect();
    payloads.sort_by_key(|payload| payload["status"].to_string());
    assert_eq!(
        payloads,
        [payload("CONNECTED", json!(null), json!(null)), payload("FLAGGED", json!("TIER_1K"), notice)]
    );
    assert!(told(&scene, OTHER).await.is_empty(), "a filter takes its types only");
}

#[tokio::test]
async fn the_state_of_an_account_is_told_when_it_differs() {
    let scene = Scene::with_endpoint().await;
    let store = scene.world.db.store();
    let mut restricted = news(10, &[(AccountFact::Status, "RESTRICTED")]);
    let (kind, until) =
        ("RESTRICTED_BIZ_INITIATED_MESSAGING".to_owned(), Some(Timestamp::from_millis(60_000)));
    restricted.restrictions = Some(vec![Restriction { kind, until, remediation: Some("Wait.".to_owned()) }]);
    let unknown = AccountReport::unknown(scene.world.workspace, account());
    let first = unknown.told(&restricted, store.now()).unwrap();
    assert!(store.put_account_report(&first).await.unwrap());
    let read = store.account_report(scene.world.workspace, &account()).await.unwrap();
    assert_eq!(read.as_ref(), Some(&first), "the row keeps all");
    assert!(matches!(read.unwrap().restrictions, Some(Restrictions { list, .. }) if list.len() == 1));
    let expected = json!({
        "businessAccountId": World::ACCOUNT,
        "status": "RESTRICTED",
        "restrictions": [{
            "type": "RESTRICTED_BIZ_INITIATED_MESSAGING",
            "until": "1970-01-01T00:01:00.000Z",
            "remediation": "Wait.",
        }],
        "reviewStatus": null,
        "messagingLimit": null,
        "notice": null,
    });
    assert_eq!(told(&scene, ENDPOINT).await, [(json!("account_updates"), expected)]);
    let reviewed = first.told(&news(20, &[(AccountFact::ReviewStatus, "APPROVED")]), store.now()).unwrap();
    assert!(store.put_account_report(&reviewed).await.unwrap());
    assert_eq!(told(&scene, ENDPOINT).await.len(), 2);
}
