//! GET /deliveries.

use domain::webhook::DisabledReason;
use domain::webhook::delivery::Next;
use domain::{EndpointId, EventType, WebhookEndpoint};
use harness::{Answer, trips};
use serde_json::json;

use crate::{Log, answered, code, delivery_of, each};

fn ids(answer: &Answer) -> Vec<&str> {
    each(answer, "deliveries", "id")
}

impl Log {
    /// All pages of a list, and their sizes.
    async fn pages(&self, file: &str, list: &str, query: &[(&str, &str)]) -> (Vec<String>, Vec<usize>) {
        let (mut all, mut sizes, mut cursor) = (vec![], vec![], String::new());
        loop {
            let mut query = query.to_vec();
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let page = self.list(file, &query).await;
            assert_eq!(page.status, 200, "{}", page.text);
            let found = each(&page, list, "id");
            sizes.push(found.len());
            all.extend(found.into_iter().map(str::to_owned));
            match page.json["cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => return (all, sizes),
            }
            // The limiter.
            self.pass(1);
        }
    }
}

#[tokio::test]
async fn deliveries_are_listed_newest_first_with_every_documented_field() {
    let f = Log::start().await;
    assert_eq!(f.list("list", &[]).await.text, r#"{"deliveries":[],"cursor":null}"#);
    let (one, other) = (f.endpoint().await, f.endpoint().await);
    let first = delivery_of(f.record(EventType::LeadSent, &[&one]).await, &one);
    f.pass(1);
    let event = f.record(EventType::ContactCreated, &[&one, &other]).await;
    let (second, third) = (delivery_of(event, &one), delivery_of(event, &other));
    f.attempted(first, answered(503), Next::Exhausted).await;
    f.attempted(second, answered(200), Next::Delivered).await;
    let listed = f.list("list", &[]).await.json;
    let item = |id: domain::DeliveryId, kind: &str, rest: serde_json::Value, at: &str| {
        let mut item = json!({
            "id": id.to_string(), "eventId": id.event.to_string(), "eventType": kind,
            "endpointId": id.endpoint.to_string(), "createdAt": at,
        });
        item.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        item
    };
    let (early, late) = ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:06.678Z");
    let waits = json!({"state": "PENDING", "because": null, "attempts": 0, "lastStatus": null, "lastError": null, "dueAt": late});
    let done = json!({"state": "DELIVERED", "because": null, "attempts": 1, "lastStatus": 200, "lastError": null, "dueAt": null});
    let lost = json!({"state": "EXHAUSTED", "because": "HTTP_STATUS", "attempts": 1, "lastStatus": 503, "lastError": "HTTP_STATUS", "dueAt": null});
    let mut newest =
        [item(third, "contact.created", waits, late), item(second, "contact.created", done, late)];
    if one.id > other.id {
        newest.reverse();
    }
    let [a, b] = newest;
    let expected = json!({"deliveries": [a, b, item(first, "lead.sent", lost, early)], "cursor": null});
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn each_filter_keeps_what_it_names_and_all_of_them_hold_together() {
    let f = Log::start().await;
    let (one, other) = (f.endpoint().await, f.endpoint().await);
    let start = f.now();
    let first = delivery_of(f.record(EventType::LeadSent, &[&one]).await, &one);
    f.pass(10);
    let second = delivery_of(f.record(EventType::LeadSent, &[&other]).await, &other);
    f.pass(10);
    let third = delivery_of(f.record(EventType::ContactCreated, &[&one]).await, &one);
    f.attempted(first, answered(200), Next::Delivered).await;
    let [first, second, third] = [first, second, third].map(|id| id.to_string());
    let at = |seconds: u64| start.plus(std::time::Duration::from_secs(seconds)).to_string();
    let (one, at10, at20) = (one.id.to_string(), at(10), at(20));
    for (query, expected) in [
        (vec![("endpointId", one.as_str())], vec![&third, &first]),
        (vec![("state", "DELIVERED")], vec![&first]),
        (vec![("state", "PENDING")], vec![&third, &second]),
        (vec![("state", "EXHAUSTED")], vec![]),
        (vec![("eventType", "lead.sent")], vec![&second, &first]),
        (vec![("since", at10.as_str())], vec![&third, &second]),
        (vec![("until", at20.as_str())], vec![&second, &first]),
        (vec![("since", at20.as_str()), ("until", at10.as_str())], vec![]),
        (
            vec![
                ("endpointId", &one),
                ("state", "PENDING"),
                ("eventType", "contact.created"),
                ("since", &at10),
            ],
            vec![&third],
        ),
        (vec![("state", "DELIVERED"), ("eventType", "contact.created")], vec![]),
    ] {
        assert_eq!(ids(&f.list("list", &query).await), expected, "{query:?}");
        f.pass(1);
    }
}

#[tokio::test]
async fn pages_of_any_size_have_each_delivery_once_over_all_slots() {
    let f = Log::start().await;
    let slots = |count| move |endpoint: &mut WebhookEndpoint| endpoint.slots = count;
    let one = f.world.endpoint_of(f.world.workspace, slots(3)).await;
    let other = f.world.endpoint_of(f.world.workspace, slots(1)).await;
    let mut expected = vec![];
    for n in 0..12 {
        let to: &[&WebhookEndpoint] = if n % 3 == 0 { &[&one] } else { &[&one, &other] };
        let event = f.record(if n % 2 == 0 { EventType::LeadSent } else { EventType::LeadFailed }, to).await;
        expected.extend(to.iter().map(|endpoint| (f.now(), event, endpoint.id, n % 2 == 0)));
        // Some events have the same time.
        f.pass(u64::from(n % 4 == 0));
    }
    expected.sort_by(|one, other| other.cmp(one));
    let text = |kept: &dyn Fn(bool) -> bool| -> Vec<String> {
        let kept = expected.iter().filter(|(_, _, _, is_sent)| kept(*is_sent));
        kept.map(|(_, event, endpoint, _)| format!("{event}.{endpoint}")).collect()
    };
    for size in ["1", "2", "3", "7", "19", "20", "100"] {
        let (all, sizes) = f.pages("list", "deliveries", &[("pageSize", size)]).await;
        assert_eq!(all, text(&|_| true), "{size}");
        let most: usize = size.parse().unwrap();
        assert!(sizes.iter().rev().skip(1).all(|found| *found == most), "{sizes:?}");
        let (sent, _) =
            f.pages("list", "deliveries", &[("pageSize", size), ("eventType", "lead.sent")]).await;
        assert_eq!(sent, text(&|is_sent| is_sent), "{size}");
    }
}

#[tokio::test]
async fn a_page_with_a_filter_reads_at_most_4000_rows_of_a_slot_and_can_be_short() {
    let f = Log::start().await;
    let (busy, quiet) = (f.endpoint().await, f.endpoint().await);
    let rare = delivery_of(f.record(EventType::LeadSent, &[&busy]).await, &busy).to_string();
    let of_quiet = delivery_of(f.record(EventType::LeadSent, &[&quiet]).await, &quiet).to_string();
    f.pass(1);
    let (store, slot) = (f.world.db.store().clone(), busy.all_slots().next().unwrap());
    let events: Vec<store::NewEvent> = (0..4_001)
        .map(|_| {
            let subject = store.ids().next();
            let event =
                domain::Event::of_change(EventType::ContactCreated, f.world.workspace, &subject, 1, f.now());
            store::NewEvent {
                event,
                about: None,
                request: None,
                body: b"{}".to_vec(),
                slots: vec![slot].into(),
            }
        })
        .collect();
    for result in store.record_events(&events).await {
        result.unwrap();
    }
    let (all, sizes) = f.pages("list", "deliveries", &[("eventType", "lead.sent")]).await;
    let mut expected = [rare, of_quiet];
    expected.sort();
    expected.reverse();
    assert_eq!(
        (all, sizes),
        (expected.to_vec(), vec![0, 2]),
        "what is behind the rows that were read comes later"
    );
    // Without a filter, a page reads what it shows.
    f.world.db.forget_calls();
    assert_eq!(ids(&f.list("list", &[]).await).len(), 20);
}

#[tokio::test]
async fn a_deleted_endpoints_deliveries_are_listed_if_it_is_named() {
    let f = Log::start().await;
    let (kept, deleted) = (f.endpoint().await, f.endpoint().await);
    let event = f.record(EventType::LeadSent, &[&kept, &deleted]).await;
    assert!(f.world.db.store().delete_endpoint(&deleted, harness::operator()).await.unwrap());
    assert_eq!(ids(&f.list("list", &[]).await), [delivery_of(event, &kept).to_string()]);
    let id = deleted.id.to_string();
    let named = f.list("list", &[("endpointId", &id)]).await;
    assert_eq!(ids(&named), [delivery_of(event, &deleted).to_string()]);
    let shown = ["state", "because", "dueAt"].map(|field| named.json["deliveries"][0][field].clone());
    assert_eq!(shown, [json!("CANCELLED"), json!("ENDPOINT_DELETED"), json!(null)]);
    assert_eq!(ids(&f.list("list", &[("endpointId", &id), ("state", "CANCELLED")]).await).len(), 1);
}

#[tokio::test]
async fn a_disabled_endpoints_deliveries_are_parked() {
    let f = Log::start().await;
    let now = f.now();
    let disable = |endpoint: &mut WebhookEndpoint| {
        *endpoint = endpoint.disabled(DisabledReason::Gone, now).unwrap();
    };
    let endpoint = f.world.endpoint_of(f.world.workspace, disable).await;
    f.record(EventType::LeadSent, &[&endpoint]).await;
    let parked = f.list("list", &[("state", "PARKED")]).await;
    let shown = ["state", "because", "dueAt"].map(|field| parked.json["deliveries"][0][field].clone());
    assert_eq!(shown, [json!("PARKED"), json!("GONE"), json!(null)]);
    assert_eq!(ids(&f.list("list", &[("state", "PENDING")]).await), [""; 0]);
}

#[tokio::test]
async fn unfit_parameters_are_refused_together() {
    let f = Log::start().await;
    let query = [
        ("endpointId", "mine"),
        ("state", "LOST"),
        ("eventType", "lead.lost"),
        ("since", "yesterday"),
        ("until", "2026-01-02"),
        ("pageSize", "101"),
        ("status", "200"),
    ];
    let failed = [
        ("status", "extra_forbidden"),
        ("pageSize", "less_than_equal"),
        ("endpointId", "uuid_parsing"),
        ("state", "enum"),
        ("eventType", "enum"),
        ("since", "value_error"),
        ("until", "value_error"),
    ];
    let failed = failed.map(|(name, kind)| (format!("query.{name}"), kind.to_owned()));
    assert_eq!(f.list("list", &query).await.failures(), failed);
    let unknown = EndpointId::generate(f.world.db.store().ids()).to_string();
    assert_eq!(ids(&f.list("list", &[("endpointId", &unknown)]).await), [""; 0], "as a foreign one");
}

#[tokio::test]
async fn a_cursor_belongs_to_its_list_its_filters_and_its_workspace() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    for _ in 0..3 {
        f.record(EventType::LeadSent, &[&endpoint]).await;
    }
    let page = f.list("list", &[("pageSize", "1")]).await.json;
    let cursor = page["cursor"].as_str().unwrap();
    assert_eq!(ids(&f.list("list", &[("pageSize", "2"), ("cursor", cursor)]).await).len(), 2);
    for (file, query) in [
        ("list", vec![("cursor", cursor), ("state", "PENDING")]),
        ("list", vec![("cursor", cursor), ("since", "2026-01-01T00:00:00Z")]),
        ("events", vec![("cursor", cursor)]),
        ("list", vec![("cursor", "AAAA")]),
    ] {
        let refused = f.list(file, &query).await;
        assert_eq!(refused.failures(), [("query.cursor".to_owned(), "value_error".to_owned())], "{query:?}");
    }
    let (other, token) = f.world.second_workspace().await;
    let event = f.event("list").query(&[("cursor", cursor)]).path("workspaceId", other);
    assert_eq!(code(&f.send(event.header("x-api-key", &token)).await), (422, "SERVICE_CORE_0422"));
}

#[tokio::test]
async fn a_page_takes_two_round_trips_for_ten_endpoints() {
    let f = Log::start().await;
    for _ in 0..10 {
        let endpoint = f.endpoint().await;
        f.record(EventType::LeadSent, &[&endpoint]).await;
    }
    f.list("list", &[]).await;
    let unknown = EndpointId::generate(f.world.db.store().ids()).to_string();
    let rows = [(vec![], 12), (vec![("state", "PENDING")], 12), (vec![("endpointId", unknown.as_str())], 3)];
    for (query, calls) in rows {
        f.world.db.forget_calls();
        f.list("list", &query).await;
        let made = f.world.db.calls();
        assert_eq!(made.len(), calls, "with the limiter: {query:?}");
        assert!(trips(&made) <= 2, "{query:?}");
    }
}
