//! Tests the function and its real client with the provider simulator, one recipient at a time.

use std::time::Duration;

use domain::MessageStatus;
use local::simulator;
use provider::Client;
use serde_json::json;

use crate::{Sender, failed, sent, unknown};

#[tokio::test]
async fn every_behaviour_of_the_simulator_has_its_outcome() {
    let simulator = simulator::Provider::start(0).await.unwrap();
    let client = Client::new(&simulator.url(), "v23.0", Duration::from_millis(300)).unwrap();
    let sender = Sender::with(client).await;
    let mut customers = vec![];
    for digits in ["0001", "0002", "0003", "0004", "0005", "0006", "0007"] {
        customers.push(sender.customer(&format!("+1202555{digits}")).await);
    }
    let conversation = sender.conversation(&customers.iter().collect::<Vec<_>>()).await;
    let id = sender.say(&conversation, "hello").await;
    for wait in [5, 10, 30] {
        sender.wake().await;
        assert_eq!(
            sender.message(id).await.status(),
            MessageStatus::Queued,
            "the recipient 0007 is not processed yet"
        );
        assert_eq!(sender.sqs.take()[0].delay, wait);
        sender.world.db.clock().advance(Duration::from_secs(wait));
    }
    sender.wake().await;
    assert_eq!(
        sender.parts(id).await,
        [
            failed("131026"),
            sent(1).remove(0),
            unknown("NO_ANSWER"),
            sent(1).remove(0),
            unknown("NO_ANSWER"),
            failed("132001"),
            sent(1).remove(0),
        ]
    );
    sender.assert_idle(1);

    let calls = simulator.ledger().entries();
    let tried: Vec<&str> = calls.iter().map(|call| &call.body["to"].as_str().unwrap()[8..]).collect();
    let expected = ["0001", "0002", "0002", "0002", "0003", "0004", "0004", "0005", "0006", "0007"];
    assert_eq!(tried, expected);
    let last = calls.last().unwrap();
    assert_eq!(last.path, format!("/v23.0/{}/messages", crate::LINE));
    assert_eq!(last.headers["authorization"], format!("Bearer token-of-{}", crate::LINE));
    assert_eq!(
        last.body,
        json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+12025550007",
            "type": "text", "text": { "body": "hello", "preview_url": false },
            "biz_opaque_callback_data": format!("{}.{id}.6", crate::CONVERSATION),
        })
    );
    let id_given = &last.answer.as_ref().unwrap().body["messages"][0]["id"];
    assert_eq!(sender.message(id).await.parts[6].provider_message_id.as_deref(), id_given.as_str());
}
