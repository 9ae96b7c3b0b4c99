//! `console inbound ...`

use domain::inbound::quarantine::QuarantineReason;
use domain::{ProviderAppId, Timestamp};
use insta::assert_snapshot;
use queue::Inbound;
use serde_json::{Value, json};

use crate::Desk;

/// When the webhooks came.
const AT: Timestamp = Timestamp::from_millis(1_767_323_045_000);

fn webhook(items: &[Value]) -> Vec<u8> {
    let value = json!({ "metadata": { "phone_number_id": "5" }, "messages": items });
    let entry = json!({ "id": "1022", "changes": [{ "field": "messages", "value": value }] });
    json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string().into_bytes()
}

fn text(id: &str) -> Value {
    json!({ "id": id, "from": "34600111222", "timestamp": "1767323045", "type": "text", "text": { "body": "Hi" } })
}

/// A desk with an app, and what these webhooks are in quarantine.
async fn desk(webhooks: &[(QuarantineReason, Vec<u8>)]) -> Desk {
    let desk = Desk::new().await;
    let create = ["provider", "create", "--app", "1042", "--secret", "first-secret-0123456789abcdef"];
    desk.json(&create).await;
    let app = ProviderAppId::parse("1042").unwrap();
    for (number, (reason, bytes)) in webhooks.iter().enumerate() {
        let at = AT.plus(std::time::Duration::from_secs(number as u64));
        desk.failures.bucket().quarantine(&app, at, *reason, bytes.clone()).await.unwrap();
    }
    desk
}

async fn ids(desk: &Desk) -> Vec<String> {
    let listed = desk.json(&["inbound", "list"]).await;
    listed.as_array().unwrap().iter().map(|kept| kept["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_is_in_quarantine_is_listed_newest_first_and_shown_with_its_body() {
    let desk = desk(&[
        (QuarantineReason::Unprocessed, webhook(&[text("wamid.1")])),
        (QuarantineReason::Unreadable, b"no JSON".to_vec()),
    ])
    .await;
    // The records of the relay are in the same bucket.
    desk.failures.put("aws/lambda/x/0", "2026-01-02T03:10:00.000Z", "{}");
    let listed = desk.run(&["inbound", "list"]).await.out;
    assert_snapshot!(listed, @r"
    ID                                                                                APP   RECEIVED                  REASON       BYTES
    1042/2026-01-02/29ecbeb830e3244605e5a88493e4088424a71780e5cf59bb3475f278f294335b  1042  2026-01-02T03:04:06.000Z  UNREADABLE   7
    1042/2026-01-02/d51ed18657815dbdadd845886abc4cd40257e5ec6e2758b5029440f3360d1473  1042  2026-01-02T03:04:05.000Z  UNPROCESSED  251
    ");
    let [newest, oldest] = &ids(&desk).await[..] else { panic!("two objects") };
    let shown = desk.json(&["inbound", "show", "--id", oldest]).await;
    assert_eq!((&shown["reason"], &shown["appId"]), (&json!("UNPROCESSED"), &json!("1042")));
    assert_eq!(shown["body"]["entry"][0]["changes"][0]["value"]["messages"], json!([text("wamid.1")]));
    assert_eq!(desk.json(&["inbound", "show", "--id", newest]).await["body"], "no JSON");
    assert_eq!(
        desk.refused(&["inbound", "show", "--id", "1042/2026-01-02/x"]).await,
        "The quarantine has no webhook 1042/2026-01-02/x; webhooks are kept for 90 days."
    );
}

#[tokio::test]
async fn what_can_be_read_is_queued_with_its_first_receipt_and_leaves_the_quarantine() {
    let nameless = webhook(&[text("wamid.2"), json!({ "from": "34600111222" })]);
    let desk = desk(&[
        (QuarantineReason::Unprocessed, webhook(&[text("wamid.1")])),
        (QuarantineReason::Unreadable, nameless),
        (QuarantineReason::Unreadable, b"no JSON".to_vec()),
    ])
    .await;
    let ran = desk.run(&["--json", "inbound", "redrive", "--all"]).await;
    assert_eq!((ran.status, ran.err.lines().count()), (1, 1), "{ran:?}");
    assert!(ran.err.contains("2 of 3 webhooks stay in quarantine."), "{}", ran.err);
    let queued = desk.queue.take();
    let queued: Vec<Inbound> = queued.iter().map(|message| Inbound::read(&message.body).unwrap()).collect();
    let found: Vec<(&Value, i64)> = queued
        .iter()
        .map(|piece| (&piece.value["messages"][0]["id"], piece.received_at.since(AT).as_secs() as i64))
        .collect();
    assert_eq!(found, [(&json!("wamid.2"), 1), (&json!("wamid.1"), 0)]);
    assert_eq!(ids(&desk).await.len(), 2);

    // A repeat is harmless: guards recognise the item.
    let half = ids(&desk).await.remove(1);
    assert_eq!(desk.run(&["inbound", "redrive", "--id", &half]).await.status, 1);
    assert_eq!(desk.queue.take().len(), 1);
}

#[tokio::test]
async fn an_item_stays_if_the_queue_or_the_app_is_not_there() {
    let desk = desk(&[(QuarantineReason::Unprocessed, webhook(&[text("wamid.1")]))]).await;
    desk.queue.close(true);
    assert_eq!(desk.run(&["inbound", "redrive", "--all"]).await.status, 1);
    desk.queue.close(false);
    desk.json(&["provider", "delete", "--app", "1042"]).await;
    let ran = desk.run(&["inbound", "redrive", "--all"]).await;
    assert!(ran.out.contains("there is no such app any more"), "{ran:?}");
    assert_eq!((desk.queue.take().len(), ids(&desk).await.len()), (0, 1));
}

#[tokio::test]
async fn a_deleted_webhook_is_gone() {
    let desk = desk(&[(QuarantineReason::Unreadable, b"no JSON".to_vec())]).await;
    let id = ids(&desk).await.remove(0);
    let delete = ["inbound", "delete", "--id", id.as_str()];
    let asked = desk.run_at_terminal("no\n", &delete).await;
    assert!(asked.status == 1 && asked.err.contains("never processed"), "{asked:?}");
    assert_eq!(desk.json(&delete).await, json!({ "id": id, "deleted": true }));
    assert!(ids(&desk).await.is_empty() && desk.failures.keys().is_empty());
    assert!(desk.refused(&delete).await.starts_with("The quarantine has no webhook"));
}
