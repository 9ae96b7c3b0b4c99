//! GET and POST /opt-outs, and DELETE of one.

use std::time::Duration;

use domain::choices::{Choice, ChoiceSource, Chooser, Chosen};
use domain::{Cellphone, ChannelId, ChoiceScope};
use futures::future::join;
use harness::{Answer, Death};
use serde_json::{Value, json};

use crate::Contacts;

const ONE: &str = "+34600111222";

impl Contacts {
    async fn opt_out(&self, body: &Value) -> Answer {
        self.send(self.world.event("contacts-opt-out.json").request_id("r").body(body)).await
    }

    async fn opt_in(&self, id: &str) -> Answer {
        self.send(self.world.event("contacts-opt-in.json").request_id("r").path("optOutId", id)).await
    }

    async fn listed(&self, query: &[(&str, &str)]) -> Value {
        let answer = self.send(self.world.event("contacts-opt-outs.json").request_id("r").query(query)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json
    }

    async fn audit(&self) -> Vec<(String, String)> {
        let mut entries = self.world.audited().await;
        entries.reverse();
        entries.into_iter().map(|(action, subject, _)| (action, subject)).collect()
    }

    /// A choice that a customer made in WhatsApp.
    async fn chosen(&self, number: &str, scope: ChoiceScope) {
        let store = self.world.db.store();
        let chosen = Chosen {
            choice: Choice::Out,
            scopes: [scope].into(),
            source: ChoiceSource::Provider,
            at: store.now(),
        };
        let number = Cellphone::parse(number).unwrap();
        store.choose(self.world.workspace, &[Chooser::from(&number)], &chosen).await.unwrap();
    }
}

fn id(answer: &Answer) -> String {
    answer.json["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_number_opts_out_is_listed_and_opts_in_with_an_entry_each() {
    let f = Contacts::start().await;
    let body = json!({"cellphone": ONE});
    let made = f.opt_out(&body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let choice = json!({"scope": "ALL", "providerChannelId": null, "source": "OPERATOR", "since": "2026-01-02T03:04:05.678Z"});
    let shown =
        json!({"id": id(&made), "cellphone": ONE, "userId": null, "contactId": null, "choices": [choice]});
    assert_eq!(made.json, shown);
    assert!(!id(&made).contains("34600111222"));
    assert_eq!(f.listed(&[]).await, json!({"optOuts": [shown], "cursor": null}));
    f.world.db.clock().advance(Duration::from_secs(1));
    let again = f.opt_out(&body).await;
    assert_eq!((again.status, &again.json), (200, &shown), "it keeps the time of the first");
    let more = f.opt_out(&json!({"cellphone": ONE, "scope": "MARKETING"})).await;
    assert_eq!((more.status, more.json["choices"].as_array().map(Vec::len)), (201, Some(2)));
    f.world.db.clock().advance(Duration::from_secs(1));
    let gone = f.opt_in(&id(&made)).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(f.listed(&[]).await, json!({"optOuts": [], "cursor": null}));
    let again = f.opt_in(&id(&made)).await;
    assert_eq!(again.text, r#"{"title":"Setting Not Found","status":404,"code":"SERVICE_SETTING_0404"}"#);
    let created = ("opt_out.create".to_owned(), id(&made));
    let deleted = ("opt_out.delete".to_owned(), id(&made));
    assert_eq!(f.audit().await, [created.clone(), created.clone(), created, deleted]);
}

#[tokio::test]
async fn all_numbers_of_a_contact_opt_out_and_in_together() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|contact| contact.cellphone = Some(Cellphone::parse(ONE).unwrap())).await;
    let made = f.opt_out(&json!({"cellphone": ONE})).await;
    assert_eq!(made.json["contactId"], contact.id.to_string());
    let store = f.world.db.store();
    assert!(store.choices_of_contact(&contact).await.unwrap().unwrap().is_out_of(&ChoiceScope::All));
    assert_eq!(f.opt_in(&id(&made)).await.status, 204);
    assert!(!store.choices_of_contact(&contact).await.unwrap().unwrap().is_out_of(&ChoiceScope::All));
}

#[tokio::test]
async fn an_erased_person_has_no_number_and_can_opt_in() {
    let f = Contacts::start().await;
    let made = f.opt_out(&json!({"cellphone": ONE})).await;
    let number = Cellphone::parse(ONE).unwrap();
    f.world.db.store().hide_opt_out(f.world.workspace, &number).await.unwrap();
    let listed = f.listed(&[]).await["optOuts"][0].clone();
    assert_eq!(
        (&listed["cellphone"], &listed["userId"], &listed["id"]),
        (&Value::Null, &Value::Null, &made.json["id"])
    );
    f.world.db.clock().advance(Duration::from_secs(1));
    assert_eq!(f.opt_in(&id(&made)).await.status, 204);
    assert_eq!((f.listed(&[]).await["optOuts"].clone(), f.audit().await.len()), (json!([]), 2));
}

#[tokio::test]
async fn a_preference_for_a_line_is_shown_and_stays() {
    let f = Contacts::start().await;
    let line = ChannelId::parse("1055501").unwrap();
    f.chosen(ONE, ChoiceScope::Line(line)).await;
    let listed = f.listed(&[]).await["optOuts"][0].clone();
    assert_eq!(
        (&listed["choices"][0]["source"], &listed["choices"][0]["providerChannelId"]),
        (&"PROVIDER".into(), &"1055501".into())
    );
    let key = listed["id"].as_str().unwrap();
    assert_eq!(f.opt_in(key).await.status, 404);
    f.chosen(ONE, ChoiceScope::Marketing).await;
    assert_eq!(f.opt_in(key).await.status, 204);
    assert_eq!(f.listed(&[]).await["optOuts"][0]["choices"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn pages_are_in_the_order_of_the_ids_and_leave_out_who_opted_in() {
    let f = Contacts::start().await;
    let mut ids = vec![];
    for n in 0..5 {
        ids.push(id(&f.opt_out(&json!({"cellphone": format!("+3460011122{n}")})).await));
    }
    f.world.db.clock().advance(Duration::from_secs(1));
    f.opt_in(&ids.remove(2)).await;
    ids.sort();
    let (mut found, mut cursor) = (vec![], None::<String>);
    loop {
        let page = match &cursor {
            None => f.listed(&[("pageSize", "3")]).await,
            Some(cursor) => f.listed(&[("pageSize", "3"), ("cursor", cursor)]).await,
        };
        found.extend(
            page["optOuts"].as_array().unwrap().iter().map(|of| of["id"].as_str().unwrap().to_owned()),
        );
        cursor = page["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, ids);
}

#[tokio::test]
async fn unfit_fields_and_ids_are_refused() {
    let f = Contacts::start().await;
    for (body, failed) in [
        (json!({}), vec![("cellphone", "missing")]),
        (
            json!({"cellphone": "600", "scope": "SOME", "source": "KEYWORD"}),
            vec![("source", "extra_forbidden"), ("cellphone", "string_pattern_mismatch"), ("scope", "enum")],
        ),
    ] {
        let expected: Vec<_> =
            failed.into_iter().map(|(at, kind)| (format!("body.{at}"), kind.to_owned())).collect();
        assert_eq!(f.opt_out(&body).await.failures(), expected, "{body}");
    }
    for wrong in [ONE, "x", "a.b", &format!("A.{}", "0".repeat(64))] {
        let failed = [("path.optOutId".to_owned(), "string_pattern_mismatch".to_owned())];
        assert_eq!(f.opt_in(wrong).await.failures(), failed, "{wrong}");
    }
    assert_eq!(f.audit().await, []);
}

#[tokio::test]
async fn foreign_and_unknown_opt_outs_get_the_same_answers_byte_for_byte() {
    let f = Contacts::start().await;
    let made = f.opt_out(&json!({"cellphone": ONE})).await;
    let (other, token) = f.world.second_workspace().await;
    let from_there = async |id: &str| {
        f.world.db.clock().advance(Duration::from_secs(1));
        let event = f.world.event("contacts-opt-in.json").request_id("r").path("optOutId", id);
        f.send(event.path("workspaceId", other).header("x-api-key", &token)).await
    };
    let unknown = from_there(&format!("0.{}", "0".repeat(64))).await;
    assert_eq!((unknown.status, from_there(&id(&made)).await), (404, unknown));
    assert_eq!(f.listed(&[]).await["optOuts"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn two_requests_that_come_together_opt_out_once() {
    let f = Contacts::start().await;
    let body = json!({"cellphone": ONE});
    let (one, two) = join(f.opt_out(&body), f.opt_out(&body)).await;
    // Of two equal rows of one moment, nobody knows who wrote it.
    assert!(one.status == 201 || two.status == 201, "{} {}", one.status, two.status);
    assert_eq!(
        (f.audit().await.len(), one.json == two.json),
        (1, true),
        "the later one has nothing to write"
    );
    f.world.db.clock().advance(Duration::from_secs(1));
    let key = id(&one);
    let (one, two) = join(f.opt_in(&key), f.opt_in(&key)).await;
    assert!([one.status, two.status].contains(&204));
    assert_eq!(f.audit().await.len(), 2);
}

#[tokio::test]
async fn an_opt_out_and_its_entry_are_written_together() {
    for calls in 0..14 {
        for death in [Death::Before, Death::After] {
            let f = Contacts::start().await;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = async {
                    let made = f.opt_out(&json!({"cellphone": ONE})).await;
                    f.world.db.clock().advance(Duration::from_secs(1));
                    f.opt_in(&id(&made)).await;
                } => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let is_out = f.listed(&[]).await["optOuts"] != json!([]);
            assert_eq!(f.audit().await.len() % 2 == 1, is_out, "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn round_trips_and_write_units() {
    let f = Contacts::start().await;
    let made = f.opt_out(&json!({"cellphone": "+34600111000"})).await;
    f.world.db.clock().advance(Duration::from_secs(1));
    let measured = || f.world.db.spent();
    f.listed(&[]).await;
    measured();
    f.listed(&[]).await;
    assert_eq!(measured(), (1, 1.0));
    f.opt_out(&json!({"cellphone": ONE})).await;
    assert_eq!(measured(), (5, 7.0), "the limiter, then the row, the number that nobody has, and the entry");
    f.opt_in(&id(&made)).await;
    assert_eq!(measured(), (5, 7.0));
}
