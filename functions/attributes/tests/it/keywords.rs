//! GET, PUT and DELETE /settings/opt-out-keywords.

use futures::future::join_all;
use harness::{Answer, Death, GatewayEvent};
use serde_json::{Value, json};

use crate::{Attributes, code};

impl Attributes {
    async fn keywords(&self) -> Answer {
        self.send(self.world.event("attributes-keywords.json")).await
    }

    fn set_keywords(&self, body: &Value) -> GatewayEvent {
        self.world.event("attributes-set-keywords.json").request_id("r").body(body)
    }

    fn reset_keywords(&self) -> GatewayEvent {
        self.world.event("attributes-reset-keywords.json").request_id("r")
    }
}

fn own(stop: &[&str], start: &[&str]) -> Value {
    json!({"stop": stop, "stopMarketing": [], "start": start})
}

#[tokio::test]
async fn keywords_are_set_shown_and_reset_with_an_entry_each() {
    let f = Attributes::start().await;
    let defaults = f.keywords().await;
    assert_eq!((&defaults.json["isDefault"], &defaults.json["stop"][0]), (&true.into(), &"STOP".into()));
    let body = json!({"stop": [" aus ", "AUS"], "stopMarketing": ["keine Werbung"], "start": ["an"]});
    let set = f.send(f.set_keywords(&body)).await;
    let shown =
        json!({"stop": ["aus"], "stopMarketing": ["keine Werbung"], "start": ["an"], "isDefault": false});
    assert_eq!((set.status, &set.json), (200, &shown), "{}", set.text);
    let read = f.keywords().await;
    assert_eq!((&read.json, &read.headers["etag"]), (&shown, &set.headers["etag"]));
    assert_eq!(f.send(f.set_keywords(&body)).await.json, shown);
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let other = f.send(f.set_keywords(&json!({"stop": ["aus"], "stopMarketing": [], "start": ["an"]}))).await;
    assert_eq!(other.status, 200);
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    for _ in 0..2 {
        let reset = f.send(f.reset_keywords()).await;
        assert_eq!((reset.status, reset.text.as_str()), (204, ""));
    }
    assert_eq!(f.keywords().await.json, defaults.json);
    let entry = |fields: &[&str]| {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>();
        ("opt_out_keywords.update".to_owned(), f.world.workspace.to_string(), fields)
    };
    let all = ["stop", "stopMarketing", "start", "isDefault"];
    assert_eq!(f.audit().await, [entry(&all), entry(&["stopMarketing"]), entry(&all)]);
}

#[tokio::test]
async fn unfit_keywords_are_refused_together() {
    let f = Attributes::start().await;
    let long = "x".repeat(41);
    let many: Vec<String> = (0..21).map(|n| n.to_string()).collect();
    let rows: [(Value, &[(&str, &str)]); 4] = [
        (json!({}), &[("stop", "missing"), ("stopMarketing", "missing"), ("start", "missing")]),
        (
            json!({"stop": ["", "...", 7], "stopMarketing": "x", "start": [long], "isDefault": true}),
            &[
                ("isDefault", "extra_forbidden"),
                ("stop.0", "string_too_short"),
                ("stop.1", "value_error"),
                ("stop.2", "string_type"),
                ("stopMarketing", "list_type"),
                ("start.0", "string_too_long"),
            ],
        ),
        (json!({"stop": many, "stopMarketing": [], "start": []}), &[("stop", "too_long")]),
        (own(&["alta"], &["ÁLTA"]), &[("", "value_error")]),
    ];
    for (body, failed) in rows {
        let expected: Vec<_> = failed
            .iter()
            .map(|(place, kind)| {
                (format!("body.{place}").trim_end_matches('.').to_owned(), (*kind).to_owned())
            })
            .collect();
        assert_eq!(f.send(f.set_keywords(&body)).await.failures(), expected, "{body}");
    }
    assert_eq!((f.keywords().await.json["isDefault"].clone(), f.audit().await.len()), (true.into(), 0));
}

#[tokio::test]
async fn if_match_must_name_the_keywords_that_were_read() {
    let f = Attributes::start().await;
    for round in ["a", "b"] {
        let tag = f.keywords().await.headers["etag"].clone();
        // Of two changes of one state, one is refused: of the default keywords, and of own ones.
        let answers = join_all([1, 2].map(|n| {
            let body = own(&[&format!("{round}{n}")], &[]);
            f.send(f.set_keywords(&body).header("If-Match", &tag))
        }))
        .await;
        assert_eq!(Answer::statuses(&answers), [200, 412], "{round}");
        let stale = f.send(f.reset_keywords().header("If-Match", &tag)).await;
        assert_eq!(code(&stale), (412, "SERVICE_CORE_0412"));
    }
    let tag = f.keywords().await.headers["etag"].clone();
    assert_eq!(f.send(f.reset_keywords().header("If-Match", &tag)).await.status, 204);
    assert_eq!(f.audit().await.len(), 3);
}

#[tokio::test]
async fn changes_that_come_together_have_an_entry_each() {
    let f = Attributes::start().await;
    let bodies: Vec<Value> = (0..4).map(|n| own(&[&format!("w{n}")], &[])).collect();
    let answers = join_all(bodies.iter().map(|body| f.send(f.set_keywords(body)))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(f.audit().await.len(), 4);
}

#[tokio::test]
async fn keywords_and_their_entry_are_written_together() {
    for calls in 0..8 {
        for death in [Death::Before, Death::After] {
            let f = Attributes::start().await;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = async { (f.send(f.set_keywords(&own(&["w"], &[]))).await, f.send(f.reset_keywords()).await) } => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let is_own = f.world.db.store().own_keywords(f.world.workspace).await.unwrap().is_some();
            assert_eq!(f.audit().await.len() % 2 == 1, is_own, "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn reading_takes_one_round_trip_and_a_change_two() {
    let f = Attributes::start().await;
    f.keywords().await;
    let measured = || f.world.db.spent();
    measured();
    f.keywords().await;
    assert_eq!(measured(), (1, 1.0));
    f.send(f.set_keywords(&own(&["w"], &[]))).await;
    assert_eq!(measured(), (2, 5.0), "the limiter beside the keywords, then these and the entry");
    f.send(f.reset_keywords()).await;
    assert_eq!(measured(), (2, 5.0));
}
