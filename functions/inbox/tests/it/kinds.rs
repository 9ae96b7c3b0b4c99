//! What comes in beside texts and files: each kind is stored whole, and what is no message of a customer changes nothing.

use domain::message::Content;
use domain::message::received::{Forwarded, Received, ReferralField};
use domain::{Cellphone, Conversation, ConversationStatus};
use harness::World;
use serde_json::{Value, json};
use store::{MessageQuery, Table};

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";

fn item(id: &str, content: Value) -> Value {
    let mut item = json!({ "id": id, "from": NUMBER, "timestamp": "1767323045" });
    for (name, value) in content.as_object().unwrap() {
        item[name.as_str()] = value.clone();
    }
    item
}

impl Site {
    /// A GHOST of a customer with the number.
    async fn ghost(&self) -> Conversation {
        let number = Cellphone::parse(&format!("+{NUMBER}")).ok();
        let ana = self.world.contact(|contact| contact.cellphone = number).await;
        let externals = vec![World::external(ana.id, LINE)];
        let ghost = |conversation: &mut Conversation| {
            conversation.externals = externals;
            conversation.status = ConversationStatus::Ghost;
        };
        self.world.conversation(ghost).await
    }

    async fn received(&self, conversation: &Conversation) -> Vec<Received> {
        let query =
            MessageQuery { conversation: conversation.id, direction: None, page_size: 100, after: None };
        let page = self.store().messages_page(self.world.workspace, query).await.unwrap();
        let received = page.items.into_iter().rev().map(|message| match message.content {
            Content::Received(received) => received,
            other => panic!("{other:?}"),
        });
        received.collect()
    }
}

#[tokio::test]
async fn what_is_no_message_of_a_customer_makes_none_opens_no_window_and_wakes_no_ghost() {
    let site = Site::start().await;
    let ghost = site.ghost().await;
    let text = json!({ "type": "text", "text": { "body": "Hi all" } });
    let of_group = json!({ "type": "text", "text": text["text"], "group_id": "g1" });
    let items = [
        item("wamid.1", json!({ "type": "edit", "edit": { "original_message_id": "wamid.o" } })),
        item("wamid.2", json!({ "type": "revoke", "revoke": {} })),
        item("wamid.3", json!({ "type": "request_welcome" })),
        item("wamid.4", json!({ "type": "system", "system": { "type": "customer_identity_changed" } })),
        item("wamid.5", of_group),
    ];
    assert!(site.process(&[site.piece(LINE, "messages", &items)]).await.is_empty());
    let home = site.store().conversation(site.world.workspace, ghost.id).await.unwrap().unwrap();
    assert_eq!(home, ghost);
    assert!(
        site.received(&ghost).await.is_empty() && site.world.db.rows_from(Table::Contacts, "W#").is_empty()
    );
    assert_eq!(site.counted.values()["InboxItemsDropped"].iter().sum::<u64>(), 5);
}

#[tokio::test]
async fn a_change_that_no_set_up_needs_is_dropped_without_an_alarm_and_an_unknown_one_is_not() {
    let site = Site::start().await;
    site.deliver("history", json!({ "history": [] })).await;
    let seen = |site: &Site| {
        site.counted.values().get("ProviderChangesSeen").map_or(0, |seen| seen.iter().sum::<u64>())
    };
    assert_eq!(seen(&site), 0);
    site.deliver("a_field_of_a_later_release", json!({ "x": 1 })).await;
    assert_eq!(seen(&site), 1);
}

#[tokio::test]
async fn where_a_message_comes_from_and_what_no_field_shows_are_stored_with_it() {
    let site = Site::start().await;
    let ghost = site.ghost().await;
    let response = json!({ "flow_token": "t", "rating": "5" }).to_string();
    let flow = json!({ "type": "nfm_reply", "nfm_reply": { "name": "flow", "body": "Sent", "response_json": response } });
    let product =
        json!({ "product_retailer_id": "SKU1", "quantity": 2, "item_price": 30, "currency": "USD" });
    let items = [
        item("wamid.1", json!({ "type": "interactive", "interactive": flow })),
        item(
            "wamid.2",
            json!({ "type": "order", "order": { "catalog_id": "194", "product_items": [product] } }),
        ),
        item(
            "wamid.3",
            json!({
                "type": "text", "text": { "body": "I saw your ad" },
                "referral": { "source_type": "ad", "ctwa_clid": "ARA1" }, "context": { "forwarded": true },
            }),
        ),
        item("wamid.4", json!({ "type": "poll", "poll": { "name": "Lunch?" } })),
    ];
    assert!(site.process(&[site.piece(LINE, "messages", &items)]).await.is_empty());
    let received = site.received(&ghost).await;
    let kinds: Vec<&str> = received.iter().map(|one| one.what.message_type().as_str()).collect();
    assert_eq!(kinds, ["FLOW_REPLY", "ORDER", "TEXT", "UNSUPPORTED"]);
    let referral = received[2].extras.referral.as_ref().unwrap();
    assert_eq!(referral.0[&ReferralField::ClickId].as_str(), "ARA1");
    assert_eq!(received[2].extras.forwarded, Forwarded::Once);
    assert_eq!(received[3].extras.raw.as_ref().unwrap().as_str(), r#"{"poll":{"name":"Lunch?"}}"#);
    assert!(received[..2].iter().all(|one| one.extras.raw.is_none()));
}
