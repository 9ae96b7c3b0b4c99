//! Signed webhooks, their pieces on the queue, and everything else.

use std::time::Duration;

use domain::inbound::quarantine::QuarantineReason;
use domain::{ProviderApp, Secret, WorkspaceId};
use edge::provider::WebhookRequest;
use harness::{GatewayEvent, World, fixture};
use serde_json::json;

use crate::{APP, SECRET, Site, signature, webhook};

const FORBIDDEN: (u16, &str) = (403, "Forbidden");

#[tokio::test]
async fn a_signed_webhook_is_answered_when_its_pieces_are_on_the_queue() {
    let site = Site::start().await;
    let answer = site.send(GatewayEvent::of("provider-events-receive.json")).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
    assert_eq!(answer.headers["cache-control"], "no-store");

    let queued = site.queued();
    assert_eq!(queued.len(), 1);
    let body: serde_json::Value =
        serde_json::from_str(fixture("provider-events-receive.json")["body"].as_str().unwrap()).unwrap();
    let change = &body["entry"][0]["changes"][0];
    assert_eq!((queued[0].app.as_str(), queued[0].workspace), (APP, None));
    assert_eq!((queued[0].account.as_str(), queued[0].field.as_str()), ("2055500001", "messages"));
    assert_eq!(queued[0].value["statuses"], change["value"]["statuses"]);
    assert_eq!(queued[0].received_at, site.db.store().now());
    assert_eq!(site.counted.lines().len(), 1);
}

#[tokio::test]
async fn the_pieces_of_each_business_account_are_a_message_group() {
    let site = Site::start().await;
    let other = webhook(300).replace("2055500001", "2055500002");
    assert_eq!(site.post(&webhook(300), SECRET).await.status, 200);
    let first = site.queue.take();
    assert_eq!(site.post(&other, SECRET).await.status, 200);
    let second = site.queue.take();
    assert!(first.len() > 1 && !first[0].group.is_empty() && first[0].group != second[0].group);
    assert!(first.iter().all(|message| message.group == first[0].group));
}

#[tokio::test]
async fn a_thousand_items_are_queued_in_a_hundred_pieces() {
    let site = Site::start().await;
    assert_eq!(site.post(&webhook(1_000), SECRET).await.status, 200);
    let queued = site.queued();
    assert_eq!(queued.len(), 100);
    let items = queued.iter().map(|piece| piece.value["statuses"].as_array().unwrap().len());
    assert_eq!(items.sum::<usize>(), 1_000);
}

#[tokio::test]
async fn whatever_is_not_signed_by_the_app_gets_one_answer_and_queues_nothing() {
    let site = Site::start().await;
    let event = || GatewayEvent::of("provider-events-receive.json");
    let body = webhook(1);
    let right = signature(&body, SECRET);
    let long = "x".repeat(WebhookRequest::MAX_BODY + 1);
    let signed =
        |body: &str, signature: &str| event().raw_body(body).header("X-Hub-Signature-256", signature);
    let refused = [
        signed(&body, &signature(&body, "another secret of an app")),
        signed(&webhook(2), &right),
        signed(&body, "sha256="),
        event().raw_body(&body).without_header("X-Hub-Signature-256"),
        signed(&body, &right).header_again("X-Hub-Signature-256", &right),
        signed(&body, &right).path("appId", "1042000000002"),
        signed(&body, &right).path("appId", "../1042000000001"),
        signed(&long, &signature(&long, SECRET)),
        event().method("GET"),
    ];
    for (number, event) in refused.into_iter().enumerate() {
        let answer = site.send(event).await;
        assert_eq!((answer.status, answer.text.as_str()), FORBIDDEN, "{number}");
    }
    assert!(site.queue.take().is_empty());
}

#[tokio::test]
async fn bytes_in_base64_are_verified_as_they_were_sent() {
    use base64::Engine;
    let site = Site::start().await;
    let body = webhook(1);
    let mut event = GatewayEvent::of("provider-events-receive.json")
        .header("X-Hub-Signature-256", &signature(&body, SECRET))
        .json()
        .clone();
    event["body"] = json!(base64::engine::general_purpose::STANDARD.encode(&body));
    event["isBase64Encoded"] = json!(true);
    let request: WebhookRequest = serde_json::from_value(event).unwrap();
    assert_eq!(site.function.handle(&request).await.status(), 200);
    assert_eq!(site.queued().len(), 1);
}

#[tokio::test]
async fn a_webhook_that_is_not_wholly_on_the_queue_is_not_answered_with_200() {
    let site = Site::start().await;
    site.queue.refuse_next(1);
    assert_eq!(site.post(&webhook(1_000), SECRET).await.status, 500);
    site.queue.close(true);
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 500);
    site.queue.close(false);
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 200);
}

#[tokio::test]
async fn a_queue_that_does_not_answer_is_no_reason_to_answer_200() {
    let mut site = Site::start().await;
    site.function.longest = Duration::from_millis(50);
    site.queue.stall(true);
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 500);
}

#[tokio::test]
async fn signed_bytes_that_cannot_be_read_are_kept_and_not_repeated() {
    let site = Site::start().await;
    let bodies = ["", "{}", "not JSON"];
    for body in bodies {
        assert_eq!(site.post(body, SECRET).await.status, 200, "{body}");
        assert_eq!(site.post(body, SECRET).await.status, 200, "{body}");
    }
    assert!(site.queue.take().is_empty());
    let kept = site.failures.bucket().quarantined().await.unwrap();
    assert_eq!(kept.len(), bodies.len(), "a repeat makes no other object");
    for kept in &kept {
        let expected = (APP, site.db.store().now(), QuarantineReason::Unreadable);
        assert_eq!((kept.app.as_str(), kept.received_at, kept.reason), expected);
    }
    assert!(site.failures.keys().iter().all(|key| key.starts_with("inbound/1042000000001/2026-01-02/")));
}

#[tokio::test]
async fn a_webhook_of_another_product_is_neither_kept_nor_repeated() {
    let site = Site::start().await;
    assert_eq!(site.post(r#"{"object":"page","entry":[]}"#, SECRET).await.status, 200);
    assert!(site.queue.take().is_empty() && site.failures.keys().is_empty());
}

#[tokio::test]
async fn an_item_that_cannot_be_read_is_kept_and_its_neighbours_are_processed() {
    let site = Site::start().await;
    let body = webhook(3).replace(r#""id":"wamid.1","#, "");
    site.failures.close(true);
    assert_eq!(site.post(&body, SECRET).await.status, 500, "the provider repeats what is not kept");
    site.failures.close(false);
    site.queue.take();
    assert_eq!(site.post(&body, SECRET).await.status, 200);
    assert_eq!(site.queued()[0].value["statuses"].as_array().unwrap().len(), 2);
    assert_eq!(site.failures.keys().len(), 1);
    let kept = String::from_utf8(site.failures.contents().concat()).unwrap();
    assert!(!kept.contains("wamid"), "the neighbours are not kept beside it: {kept}");

    let nameless = webhook(30).replace(r#""id":"wamid."#, r#""no":"wamid."#);
    assert_eq!(site.post(&nameless, SECRET).await.status, 200);
    assert_eq!(site.failures.keys().len(), 2, "one with many such items is kept as a whole");
}

#[tokio::test]
async fn an_item_that_the_queue_refuses_is_kept_and_the_others_are_on_the_queue() {
    let site = Site::start().await;
    let poison = webhook(25).replace(r#""id":"wamid.13""#, r#""id":"refused""#);
    site.queue.forbid("refused");
    assert_eq!(site.post(&poison, SECRET).await.status, 200);
    let items: usize =
        site.queued().iter().map(|piece| piece.value["statuses"].as_array().unwrap().len()).sum();
    let [kept] = &site.failures.bucket().quarantined().await.unwrap()[..] else { panic!("one object") };
    assert_eq!((items, kept.reason), (24, QuarantineReason::NotQueued));

    let large = webhook(1).replace("34600111222", &"3".repeat(1_000_001));
    assert_eq!(site.post(&large, SECRET).await.status, 200);
    assert_eq!((site.queue.take().len(), site.failures.keys().len()), (0, 2));
}

#[tokio::test]
async fn an_app_of_one_workspace_says_so_on_the_queue() {
    let site = Site::start().await;
    let workspace = WorkspaceId::parse("3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90").unwrap();
    World::provider_app(&site.db, "77", Some(workspace)).await;
    let body = webhook(1);
    let event = GatewayEvent::of("provider-events-receive.json").raw_body(&body).path("appId", "77");
    let answer = site.send(event.header("X-Hub-Signature-256", &signature(&body, SECRET))).await;
    assert_eq!((answer.status, site.queued()[0].workspace), (200, Some(workspace)));
}

#[tokio::test]
async fn a_webhook_costs_no_read_while_the_apps_are_known() {
    let site = Site::start().await;
    site.calls();
    let mut reads = vec![];
    for seconds in [0, 1, 58, 1, 1, 600] {
        site.db.clock().advance(Duration::from_secs(seconds));
        assert_eq!(site.post(&webhook(1), SECRET).await.status, 200);
        reads.push(site.calls());
    }
    assert_eq!(reads, [1, 0, 0, 1, 0, 1]);
}

#[tokio::test]
async fn strangers_cause_one_read_in_five_seconds() {
    let site = Site::start().await;
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 200);
    site.calls();
    let mut reads = vec![];
    for seconds in [0, 4, 1, 0, 4, 1] {
        site.db.clock().advance(Duration::from_secs(seconds));
        assert_eq!(site.post(&webhook(1), "a secret that nobody has").await.status, 403);
        reads.push(site.calls());
    }
    assert_eq!(reads, [0, 0, 1, 0, 0, 1]);
}

#[tokio::test]
async fn a_new_secret_is_known_within_five_seconds_and_the_replaced_one_for_seven_days() {
    let site = Site::start().await;
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 200);
    let app = site.db.store().provider_apps().await.unwrap().remove(0);
    let fresh = "fedcba9876543210fedcba9876543210";
    let rotated = app.rotated(Secret::new(fresh), site.db.store().now());
    assert!(site.db.store().replace_provider_app(&rotated).await.unwrap());

    site.db.clock().advance(Duration::from_secs(5));
    assert_eq!(site.post(&webhook(1), fresh).await.status, 200);
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 200);
    site.db.clock().advance(ProviderApp::OVERLAP);
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 403);
    assert_eq!(site.post(&webhook(1), fresh).await.status, 200);
}

#[tokio::test]
async fn a_deleted_app_is_refused() {
    let site = Site::start().await;
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 200);
    let app = site.db.store().provider_apps().await.unwrap().remove(0);
    assert!(site.db.store().delete_provider_app(&app.id).await.unwrap());
    assert!(!site.db.store().delete_provider_app(&app.id).await.unwrap());
    site.db.clock().advance(Duration::from_secs(600));
    assert_eq!(site.post(&webhook(1), SECRET).await.status, 403);
}
