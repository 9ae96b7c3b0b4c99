//! GET /leads and GET /leads/{requestId}.

use domain::lead::ConsentText;
use domain::sending::PartError;
use domain::{LeadState, Timestamp};
use harness::trips;
use serde_json::json;

use crate::{Records, code, ids};

impl Records {
    /// All pages of a list, and their sizes.
    async fn pages(&self, query: &[(&str, &str)]) -> (Vec<String>, Vec<usize>) {
        let (mut all, mut sizes, mut cursor) = (vec![], vec![], String::new());
        loop {
            let mut query = query.to_vec();
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let page = self.list(&query).await;
            let found = ids(&page);
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
async fn a_lead_has_every_documented_field_in_the_list_and_alone() {
    let f = Records::start().await;
    assert_eq!(f.list(&[]).await.text, r#"{"leads":[],"cursor":null}"#);
    let lead = f
        .world
        .lead("+34600111222", |lead| {
            lead.state = LeadState::Failed;
            lead.error = Some(PartError::of("131026").because("the account is too young"));
            (lead.opened, lead.message_version) = (true, Some(3));
            lead.consent.captured_at = Some(Timestamp::from_millis(1_767_323_000_000));
            lead.consent.text = ConsentText::parse("I agree.").ok();
        })
        .await;
    let expected = json!({
        "id": lead.id.to_string(), "state": "FAILED", "error": "131026",
        "errorInWords":
            "WhatsApp cannot deliver to this number: it may have no WhatsApp, an old version or terms not accepted",
        "errorDetail": "the account is too young",
        "cellphone": "+34600111222", "name": "Ana Pérez", "brandId": "brand",
        "landingUri": "https://www.example.com/spring?utm_source=search", "utm": {"utm_source": "search"},
        "consent": {
            "status": "GRANTED", "text": "I agree.", "capturedAt": "2026-01-02T03:03:20.000Z",
            "receivedAt": "2026-01-02T03:04:05.678Z",
        },
        "contactId": lead.contact.to_string(), "conversationId": lead.conversation.to_string(),
        "messageId": lead.message.to_string(),
        "createdAt": "2026-01-02T03:04:05.678Z", "updatedAt": "2026-01-02T03:04:05.678Z",
    });
    let one = f.send(f.event("get").path("requestId", lead.id)).await;
    assert_eq!((one.status, &one.json), (200, &expected));
    assert!(one.headers.contains_key("etag"));
    assert_eq!(f.list(&[]).await.json, json!({"leads": [one.json], "cursor": null}));
}

#[tokio::test]
async fn a_queued_lead_shows_none_of_its_future_ids() {
    let f = Records::start().await;
    let lead = f.lead(LeadState::Queued, None).await;
    let shown = f.send(f.event("get").path("requestId", lead.id)).await.json;
    for field in ["error", "errorInWords", "errorDetail", "contactId", "conversationId", "messageId"] {
        assert_eq!(shown[field], json!(null), "{field}");
    }
}

#[tokio::test]
async fn each_filter_keeps_what_it_names_and_all_of_them_hold_together() {
    let f = Records::start().await;
    let start = f.world.db.store().now();
    let mut made = vec![];
    for state in [LeadState::Failed, LeadState::Sent, LeadState::Unknown, LeadState::Failed] {
        made.push(f.lead(state, None).await.id.to_string());
        f.pass(10);
    }
    let at = |seconds: u64| start.plus(std::time::Duration::from_secs(seconds)).to_string();
    let (at10, at30) = (at(10), at(30));
    for (query, expected) in [
        (vec![], vec![3, 2, 1, 0]),
        (vec![("state", "FAILED")], vec![3, 0]),
        (vec![("state", "SENT")], vec![1]),
        (vec![("state", "QUEUED")], vec![]),
        (vec![("since", at10.as_str())], vec![3, 2, 1]),
        (vec![("until", at30.as_str())], vec![2, 1, 0]),
        (vec![("since", &at10), ("until", &at30)], vec![2, 1]),
        (vec![("since", &at30), ("until", &at10)], vec![]),
        (vec![("state", "FAILED"), ("since", &at10)], vec![3]),
    ] {
        let expected: Vec<&String> = expected.into_iter().map(|n: usize| &made[n]).collect();
        assert_eq!(ids(&f.list(&query).await), expected, "{query:?}");
        f.pass(1);
    }
}

#[tokio::test]
async fn pages_of_any_size_have_each_lead_once() {
    let f = Records::start().await;
    let mut expected = vec![];
    for n in 0..12_u64 {
        let state = if n % 3 == 0 { LeadState::Failed } else { LeadState::Sent };
        expected.push((f.lead(state, None).await.id.to_string(), state));
        f.pass(1);
    }
    expected.reverse();
    let of = |wanted: Option<LeadState>| -> Vec<String> {
        let kept = expected.iter().filter(|(_, state)| wanted.is_none_or(|wanted| wanted == *state));
        kept.map(|(id, _)| id.clone()).collect()
    };
    for size in ["1", "2", "5", "11", "12", "100"] {
        assert_eq!(f.pages(&[("pageSize", size)]).await.0, of(None), "{size}");
        for state in [LeadState::Failed, LeadState::Sent] {
            let query = [("pageSize", size), ("state", state.as_str())];
            assert_eq!(f.pages(&query).await.0, of(Some(state)), "{query:?}");
        }
    }
}

#[tokio::test]
async fn a_page_with_a_filter_reads_a_bounded_part_and_can_be_short() {
    let f = Records::start().await;
    let rare = f.lead(LeadState::Queued, None).await.id.to_string();
    f.pass(1);
    // More than the four reads of a page with this filter: 2, 100, 100 and 100 leads.
    for _ in 0..303 {
        f.lead(LeadState::Sent, None).await;
    }
    // The first request fills the memories.
    f.list(&[]).await;
    f.world.db.forget_calls();
    let first = f.list(&[("state", "QUEUED"), ("pageSize", "1")]).await;
    assert!(ids(&first).is_empty() && first.json["cursor"].is_string(), "{}", first.text);
    assert!(trips(&f.world.db.calls()) <= 8);
    f.pass(1);
    assert_eq!(f.pages(&[("state", "QUEUED"), ("pageSize", "1")]).await, (vec![rare], vec![0, 1]));
}

#[tokio::test]
async fn unfit_parameters_are_refused_together() {
    let f = Records::start().await;
    let query = [
        ("state", "LOST"),
        ("since", "yesterday"),
        ("until", "2026-01-02"),
        ("pageSize", "101"),
        ("brand", "x"),
    ];
    let failed = [
        ("brand", "extra_forbidden"),
        ("pageSize", "less_than_equal"),
        ("state", "enum"),
        ("since", "value_error"),
        ("until", "value_error"),
    ];
    let failed = failed.map(|(name, kind)| (format!("query.{name}"), kind.to_owned()));
    assert_eq!(f.list(&query).await.failures(), failed);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_list_its_filters_and_its_workspace() {
    let f = Records::start().await;
    for _ in 0..3 {
        f.failed().await;
        f.pass(1);
    }
    let page = f.list(&[("pageSize", "1")]).await.json;
    let cursor = page["cursor"].as_str().unwrap();
    assert_eq!(ids(&f.list(&[("pageSize", "2"), ("cursor", cursor)]).await).len(), 2);
    for query in [
        vec![("cursor", cursor), ("state", "FAILED")],
        vec![("cursor", cursor), ("since", "2026-01-01T00:00:00Z")],
        vec![("cursor", "AAAA")],
    ] {
        let refused = f.list(&query).await;
        assert_eq!(refused.failures(), [("query.cursor".to_owned(), "value_error".to_owned())], "{query:?}");
    }
    let (other, token) = f.world.second_workspace().await;
    let event = f.event("list").query(&[("cursor", cursor)]).path("workspaceId", other);
    assert_eq!(code(&f.send(event.header("x-api-key", &token)).await), (422, "SERVICE_CORE_0422"));
}

#[tokio::test]
async fn a_page_takes_two_round_trips_and_a_lead_one() {
    let f = Records::start().await;
    let mut lead = f.failed().await;
    for _ in 0..25 {
        f.pass(1);
        lead = f.failed().await;
    }
    // The first request fills the memories.
    f.list(&[]).await;
    for (query, read_units) in [(vec![], 22.5), (vec![("state", "FAILED")], 24.0)] {
        f.pass(1);
        f.world.db.forget_calls();
        assert_eq!(ids(&f.list(&query).await).len(), 20);
        let calls = f.world.db.calls();
        assert_eq!((calls.len(), trips(&calls)), (3, 2), "with the limiter: {query:?}");
        let read: f64 = calls.iter().map(|call| call.read_units).sum();
        assert!(read <= read_units, "{query:?}: {read}");
    }
    f.world.db.forget_calls();
    f.send(f.event("get").path("requestId", lead.id)).await;
    assert_eq!((f.world.db.calls().len(), trips(&f.world.db.calls())), (2, 1), "with the limiter");
}
