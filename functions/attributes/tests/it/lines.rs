//! The lists of brands and lines.

use std::time::Duration;

use domain::raw::Raw;
use domain::sending::End;
use domain::settings::reported::{
    AccountFact, AccountReport, LineFact, LineState, News, Restriction, Synced,
};
use domain::{ChannelId, LineThrottle, Timestamp};
use harness::{Answer, World, trips};
use serde_json::{Value, json};

use crate::Attributes;

const CREATED: &str = "2026-01-02T03:04:05.678Z";

impl Attributes {
    async fn shown(&self, file: &str) -> Answer {
        self.send(self.world.event(file)).await
    }
}

fn channel(id: &str) -> ChannelId {
    ChannelId::parse(id).unwrap()
}

fn news<Fact: Copy>(facts: &[(Fact, &str)]) -> News<Fact> {
    let facts = facts.iter().map(|(fact, value)| (*fact, (*value).to_owned())).collect();
    News { at: Timestamp::from_millis(10_000), facts, restrictions: None, notice: None }
}

/// What an answer shows of an account of which nothing is known.
fn unknown_account() -> Value {
    json!({
        "businessAccountId": World::ACCOUNT, "status": "ACTIVE", "restrictions": [], "reviewStatus": null,
        "messagingLimit": null, "notice": null, "syncedAt": null, "syncError": null,
    })
}

#[tokio::test]
async fn a_line_is_shown_with_what_the_provider_says_of_it_and_of_its_account() {
    let f = Attributes::start().await;
    let (store, workspace) = (f.world.db.store(), f.world.workspace);
    f.world.line("5", |line| line.name = Some("Madrid".to_owned())).await;
    f.world.line("6", |_| ()).await;
    f.world.change_workspace(|seen| seen.with_default_line(&channel("6"))).await;
    let unknown = json!({
        "providerChannelId": "5", "displayPhoneNumber": null, "businessAccountId": World::ACCOUNT,
        "verifiedName": null, "nameStatus": null, "quality": null, "messagingLimit": null, "status": null,
        "notice": null, "name": "Madrid", "brandId": World::BRAND, "isDefault": false,
        "throttledUntil": null, "account": unknown_account(), "createdAt": CREATED,
    });
    let answer = f.shown("attributes-lines.json").await;
    assert_eq!((answer.status, &answer.json["lines"][0]), (200, &unknown), "{}", answer.text);
    assert_eq!(
        (&answer.json["lines"][1]["isDefault"], &answer.json["lines"][1]["name"]),
        (&json!(true), &json!(null))
    );

    let line = LineState::unknown(workspace, channel("5"), World::account());
    let mut flagged =
        news(&[(LineFact::DisplayPhoneNumber, "+34 600 111 222"), (LineFact::Status, "FLAGGED")]);
    flagged.notice = Some(("FLAGGED".to_owned(), Raw::of(r#"{"event":"FLAGGED"}"#)));
    assert!(store.put_line_state(&line.told(&flagged, store.now()).unwrap()).await.unwrap());
    let mut restricted = news(&[(AccountFact::Status, "RESTRICTED")]);
    restricted.restrictions =
        Some(vec![Restriction { kind: "RESTRICTED_ADD_PHONE".to_owned(), until: None, remediation: None }]);
    let account = AccountReport::unknown(workspace, World::account()).told(&restricted, store.now()).unwrap();
    assert!(store.put_account_report(&account).await.unwrap());
    let refused = Synced { at: store.now(), error: Some("the token does not hold".to_owned()) };
    let account = account.after_sync(refused, store.now()).unwrap();
    assert!(store.put_account_report(&account).await.unwrap());
    let until = store.now().plus(Duration::from_secs(30));
    let throttled = LineThrottle { until: Some(until), times: 1 };
    store
        .remember_line(workspace, &channel("5"), &LineThrottle::default(), &End::LineThrottled(throttled))
        .await;

    let mut known = unknown;
    known["displayPhoneNumber"] = json!("+34 600 111 222");
    known["status"] = json!("FLAGGED");
    known["notice"] = json!({
        "event": "FLAGGED", "at": "1970-01-01T00:00:10.000Z", "raw": { "event": "FLAGGED" }, "rawTruncated": false,
    });
    known["throttledUntil"] = json!(until.to_string());
    known["account"]["status"] = json!("RESTRICTED");
    known["account"]["restrictions"] =
        json!([{ "type": "RESTRICTED_ADD_PHONE", "until": null, "remediation": null }]);
    known["account"]["syncedAt"] = json!(CREATED);
    known["account"]["syncError"] = json!("the token does not hold");
    let answer = f.shown("attributes-lines.json").await;
    assert_eq!(answer.json["lines"][0], known);
    assert_eq!(answer.json["lines"][1]["account"], known["account"], "both lines are the account's");
    f.world.db.clock().set(until);
    let answer = f.shown("attributes-lines.json").await;
    assert_eq!(answer.json["lines"][0]["throttledUntil"], json!(null), "it ended");
    assert!(!answer.text.contains(&World::token(&channel("5"))), "a token never leaves");
}

#[tokio::test]
async fn brands_are_shown_with_their_lines() {
    let f = Attributes::start().await;
    assert_eq!(f.shown("attributes-brands.json").await.json, json!({ "brands": [] }));
    f.world.line("5", |_| ()).await;
    let name = f.world.db.store().lines(f.world.workspace).await.unwrap().brands[0].name.clone();
    let brand = json!({ "id": World::BRAND, "name": name, "providerChannelId": "5", "createdAt": CREATED });
    assert_eq!(f.shown("attributes-brands.json").await.json, json!({ "brands": [brand] }));
}

#[tokio::test]
async fn brands_and_lines_are_the_workspaces_own_and_need_its_scope() {
    let f = Attributes::start().await;
    f.world.line("5", |_| ()).await;
    let (other, key) = f.world.second_workspace().await;
    for (file, list) in [("attributes-brands.json", "brands"), ("attributes-lines.json", "lines")] {
        let event = f.world.event(file).path("workspaceId", other).header("x-api-key", &key);
        assert_eq!(f.send(event).await.json, json!({ list: [] }));
        for (scope, status) in [("settings:read", 200), ("contacts:read", 403)] {
            let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
            let event = f.world.event(file).header("x-api-key", &key);
            assert_eq!(f.send(event).await.status, status, "{file} {scope}");
        }
        let answer = f.send(f.world.event(file).query(&[("pageSize", "5")])).await;
        let failures = [("query.pageSize".to_owned(), "extra_forbidden".to_owned())];
        assert_eq!((answer.status, answer.failures()), (422, failures.to_vec()));
        assert_eq!(f.send(f.world.event(file).method("POST")).await.status, 404);
    }
}

#[tokio::test]
async fn lines_are_two_round_trips_and_brands_one() {
    let f = Attributes::start().await;
    for number in 0..50 {
        f.world.line(&number.to_string(), |_| ()).await;
    }
    for (file, expected) in [("attributes-brands.json", 1), ("attributes-lines.json", 2)] {
        f.shown(file).await;
        f.world.db.forget_calls();
        assert_eq!(f.shown(file).await.status, 200);
        assert_eq!(trips(&f.world.db.calls()), expected, "{file}: {:?}", f.world.db.operations());
    }
}
