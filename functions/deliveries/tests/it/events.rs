//! GET /events and GET /events/{eventId}.

use domain::webhook::delivery::Next;
use domain::{Event, EventId, EventType};
use harness::trips;
use serde_json::json;

use crate::{Log, answered, delivery_of, each, null};

#[tokio::test]
async fn events_are_listed_newest_first_with_their_deliveries_and_bodies_if_asked_for() {
    let f = Log::start().await;
    assert_eq!(f.list("events", &[]).await.text, r#"{"events":[],"cursor":null}"#);
    let (one, other) = (f.endpoint().await, f.endpoint().await);
    let first = f.record(EventType::LeadSent, &[&one, &other]).await;
    f.pass(1);
    let second = f.record(EventType::ContactCreated, &[&other]).await;
    f.attempted(delivery_of(first, &one), answered(200), Next::Delivered).await;
    let bare = f.list("events", &[]).await;
    assert_eq!(each(&bare, "events", "id"), [second, first].map(|id| id.to_string()));
    assert_eq!(each(&bare, "events", "type"), ["contact.created", "lead.sent"]);
    assert_eq!(each(&bare, "events", "at"), ["2026-01-02T03:04:06.678Z", "2026-01-02T03:04:05.678Z"]);
    let listed = bare.json["events"].as_array().unwrap();
    assert!(listed.iter().all(|event| event["body"] == null()));
    let ids = |n: usize| -> Vec<&str> {
        listed[n]["deliveries"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
    };
    let mut expected = [&one, &other].map(|endpoint| delivery_of(first, endpoint).to_string());
    expected.sort();
    expected.reverse();
    assert_eq!(
        (ids(0), ids(1)),
        (
            vec![delivery_of(second, &other).to_string().as_str()],
            expected.iter().map(String::as_str).collect()
        )
    );
    assert_eq!(
        listed[0]["deliveries"][0],
        f.list("list", &[]).await.json["deliveries"][0],
        "as in the other list"
    );
    let full = f.list("events", &[("include", "body")]).await;
    let stored =
        async |id| f.world.db.store().recorded_event(f.world.workspace, id).await.unwrap().unwrap().body;
    let bodies = [stored(second).await, stored(first).await].map(|body| String::from_utf8(body).unwrap());
    assert_eq!(each(&full, "events", "body"), bodies);
    let of_type = f.list("events", &[("eventType", "lead.sent")]).await;
    assert_eq!(each(&of_type, "events", "id"), [first.to_string()]);
    let since = f.list("events", &[("since", "2026-01-02T03:04:06Z")]).await;
    assert_eq!(each(&since, "events", "id"), [second.to_string()]);
}

#[tokio::test]
async fn pages_of_events_have_each_event_once_with_all_its_deliveries() {
    let f = Log::start().await;
    let (one, other) = (f.endpoint().await, f.endpoint().await);
    let mut expected = vec![];
    for n in 0..11 {
        let both = [&one, &other];
        let event = f.record(EventType::LeadSent, if n % 2 == 0 { &both } else { &both[..1] }).await;
        expected.push((f.now(), event, if n % 2 == 0 { 2 } else { 1 }));
        f.pass(u64::from(n % 3 == 0));
    }
    expected.sort();
    expected.reverse();
    for size in ["1", "2", "5", "11", "100"] {
        let (mut found, mut cursor) = (vec![], None::<String>);
        loop {
            let mut query = vec![("pageSize", size)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = f.list("events", &query).await.json;
            for event in page["events"].as_array().unwrap() {
                let id = event["id"].as_str().unwrap().to_owned();
                found.push((id, event["deliveries"].as_array().unwrap().len()));
            }
            f.pass(1);
            cursor = page["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        let expected: Vec<_> = expected.iter().map(|(_, id, count)| (id.to_string(), *count)).collect();
        assert_eq!(found, expected, "{size}");
    }
}

#[tokio::test]
async fn a_page_with_bodies_ends_at_4_mib_and_goes_on() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let mut made = vec![];
    for _ in 0..21 {
        // Each quotation mark takes two bytes in an answer.
        let body = format!("[{}]", vec![r#""""#; Event::MAX_BODY / 3 - 1].join(",")).into_bytes();
        assert!(body.len() <= Event::MAX_BODY);
        made.push(f.record_with(EventType::LeadSent, &[&endpoint], body).await.to_string());
        f.pass(1);
    }
    made.reverse();
    let first = f.list("events", &[("include", "body"), ("pageSize", "100")]).await;
    let shown = each(&first, "events", "id").len();
    assert!(shown < 21 && first.text.len() < 5 * 1024 * 1024, "{shown} {}", first.text.len());
    assert!(first.text.len() > 3 * 1024 * 1024, "{}", first.text.len());
    let cursor = first.json["cursor"].as_str().unwrap();
    let rest = f.list("events", &[("include", "body"), ("cursor", cursor), ("pageSize", "100")]).await;
    let bare = f.list("events", &[("cursor", cursor), ("pageSize", "100")]).await;
    assert_eq!(each(&bare, "events", "id"), made[shown..], "the cursor fits the list without bodies");
    let all: Vec<&str> =
        each(&first, "events", "id").into_iter().chain(each(&rest, "events", "id")).collect();
    assert_eq!(all[..], made[..all.len()]);
}

#[tokio::test]
async fn one_event_has_its_body_as_it_is_signed_its_request_and_its_deliveries() {
    let f = Log::start().await;
    let (one, other) = (f.endpoint().await, f.endpoint().await);
    let body = "{\"name\":\"José \\u00e9 😀\"}";
    let id = f.record_with(EventType::LeadSent, &[&one, &other], body.as_bytes().to_vec()).await;
    assert!(f.world.db.store().delete_endpoint(&other, harness::operator()).await.unwrap());
    let shown = f.send(f.event("event").path("eventId", id)).await.json;
    assert_eq!(shown["deliveries"].as_array().unwrap().len(), 2);
    let states: Vec<_> =
        shown["deliveries"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, [json!("PENDING"), json!("CANCELLED")]);
    let fields = ["id", "type", "at", "requestId", "body"].map(|field| shown[field].clone());
    let expected = [
        json!(id.to_string()),
        json!("lead.sent"),
        json!("2026-01-02T03:04:05.678Z"),
        json!("made-by"),
        json!(body),
    ];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn unfit_parameters_of_events_are_refused_together() {
    let f = Log::start().await;
    let query =
        [("include", "answers"), ("eventType", "x"), ("state", "PENDING"), ("since", "x"), ("pageSize", "0")];
    let failed: Vec<_> = f.list("events", &query).await.failures().into_iter().map(|(at, _)| at).collect();
    assert_eq!(
        failed,
        ["state", "pageSize", "include", "eventType", "since"].map(|name| format!("query.{name}"))
    );
}

#[tokio::test]
async fn events_take_two_round_trips_and_three_with_bodies() {
    let f = Log::start().await;
    let mut last = EventId::from_uuid(f.world.db.store().ids().next());
    for _ in 0..3 {
        let endpoint = f.endpoint().await;
        last = f.record(EventType::LeadSent, &[&endpoint]).await;
    }
    f.list("events", &[]).await;
    let rows = [
        (f.event("events").query(&[]), 2),
        (f.event("events").query(&[("include", "body")]), 3),
        (f.event("event").path("eventId", last), 2),
    ];
    for (event, expected) in rows {
        f.world.db.forget_calls();
        assert_eq!(f.send(event).await.status, 200);
        assert_eq!(trips(&f.world.db.calls()), expected);
    }
}
