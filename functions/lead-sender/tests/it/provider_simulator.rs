//! Tests the function and its real client with the provider simulator, one lead at a time.

use domain::LeadState;
use local::simulator;
use provider::Client;
use serde_json::json;

use crate::{SENT, Sender, failed, secs, task, unknown};

#[tokio::test]
async fn every_behaviour_of_the_simulator_has_its_outcome() {
    let simulator = simulator::Provider::start(0).await.unwrap();
    let client = Client::new(&simulator.url(), "v23.0", std::time::Duration::from_millis(300)).unwrap();
    let sender = Sender::with(client).await;
    let mut leads = vec![];
    for digits in ["0001", "0002", "0003", "0004", "0005", "0006", "0007"] {
        leads.push(sender.lead_of(&format!("+1202555{digits}")).await);
    }
    let tasks: Vec<String> = leads.iter().map(|id| task(*id)).collect();
    for wait in [6, 30, 30, 30] {
        assert_eq!(sender.run(&tasks).await, Vec::<String>::new());
        sender.world.db.clock().advance(secs(wait));
    }
    let expected = [
        failed("131026"),
        SENT,
        unknown("NO_ANSWER"),
        SENT,
        unknown("NO_ANSWER"),
        failed("132001"),
        (LeadState::Sent, None),
    ];
    for (id, expected) in leads.iter().zip(expected) {
        assert_eq!(sender.state(*id).await, expected);
    }

    let calls = simulator.ledger().entries();
    let mut tried: Vec<&str> = calls.iter().map(|call| &call.body["to"].as_str().unwrap()[8..]).collect();
    tried.sort_unstable();
    assert_eq!(tried, ["0001", "0002", "0002", "0002", "0003", "0004", "0004", "0005", "0006", "0007"]);
    let good = calls.iter().find(|call| call.body["to"] == "+12025550007").unwrap();
    assert_eq!(good.path, format!("/v23.0/{}/messages", crate::LINE));
    assert_eq!(good.headers["authorization"], format!("Bearer token-of-{}", crate::LINE));
    let text = |text: &str| json!({ "type": "text", "text": text });
    let message = sender.message(leads[6]).await.unwrap();
    let part = format!("{}.{}.0", message.conversation, message.id);
    assert_eq!(
        good.body,
        json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+12025550007",
            "type": "template",
            "template": {
                "name": "lead_hello", "language": { "code": "es" },
                "components": [{ "type": "body", "parameters": [text("Ana"), text("Pérez")] }],
            },
            "biz_opaque_callback_data": part,
        })
    );
    let id_given = &good.answer.as_ref().unwrap().body["messages"][0]["id"];
    assert_eq!(message.parts[0].provider_message_id.as_deref(), id_given.as_str());
}
