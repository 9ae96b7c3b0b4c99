//! Customers opt out and in, in any order.

use domain::choices::Held;
use domain::{
    Cellphone, ChannelId, ChoiceScope, Choices, Contact, Keywords, ProviderUserId, TemplateCategory,
};
use harness::{OptedOut, World};
use serde_json::{Value, json};

use crate::{LINE, Site};

const NUMBER: &str = "+34600111222";
const USER: &str = "US.13491208655302741918";

fn preference(value: &str, seconds: i64, ids: Value) -> Value {
    let mut item =
        json!({ "category": "marketing_messages", "value": value, "timestamp": seconds.to_string() });
    for (name, id) in ids.as_object().unwrap() {
        item[name] = id.clone();
    }
    json!({ "metadata": { "phone_number_id": LINE }, "contacts": [], "user_preferences": [item] })
}

impl Site {
    async fn prefers(&self, value: &str, seconds: i64) {
        let ids = json!({ "wa_id": &NUMBER[1..] });
        self.deliver("user_preferences", preference(value, seconds, ids)).await;
    }

    async fn is_out(&self) -> bool {
        let number = Cellphone::parse(NUMBER).unwrap();
        self.world.db.store().opted_out(self.world.workspace, &number).await.unwrap()
    }

    /// Whether the number gets no marketing from the line.
    async fn is_out_of_marketing(&self) -> bool {
        let number = Cellphone::parse(NUMBER).unwrap();
        let kept = self.world.db.store().choices(self.world.workspace, &number).await.unwrap();
        let line = ChannelId::parse(LINE).unwrap();
        let refusal = |category| Choices::refusal(kept.as_slice(), Some(category), Some(&line));
        assert_eq!(refusal(TemplateCategory::Utility), None, "news about orders are sent");
        refusal(TemplateCategory::Marketing).is_some()
    }

    async fn says(&self, contact: &Contact, text: &str, seconds: i64) {
        let number = contact.cellphone.as_ref().map(|number| &number.as_str()[1..]);
        let message = json!({
            "id": format!("wamid.{seconds}"), "from": number, "from_user_id": USER,
            "timestamp": seconds.to_string(), "type": "text", "text": { "body": text },
        });
        assert_eq!(self.process(&[self.piece(LINE, "messages", &[message])]).await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn the_providers_preference_holds_and_a_late_repeat_does_not_undo_a_newer_one() {
    let site = Site::start().await;
    let number = Cellphone::parse(NUMBER).unwrap();
    let contact = site.world.contact(|contact| contact.cellphone = Some(number.clone())).await;
    let workspace = site.world.workspace;
    site.prefers("stop", 1_767_000_000).await;
    let kept = site.world.db.store().choices(workspace, &number).await.unwrap().unwrap();
    let line = ChoiceScope::Line(ChannelId::parse(LINE).unwrap());
    assert_eq!(kept.scopes.keys().collect::<Vec<_>>(), [&line]);
    assert_eq!((kept.contact, kept.scopes[&line].source.as_str()), (Some(contact.id), "PROVIDER"));
    site.prefers("resume", 1_767_000_100).await;
    site.prefers("stop", 1_767_000_000).await;
    assert!(!site.is_out_of_marketing().await, "a late repeat opted out");
    site.prefers("stop", 1_767_000_200).await;
    site.prefers("resume", 1_767_000_100).await;
    assert!(site.is_out_of_marketing().await, "a late repeat opted in");
    // The customer may come back by a keyword; the provider's own preference stays.
    site.says(&contact, "START", 1_767_000_300).await;
    assert!(site.is_out_of_marketing().await);
}

#[tokio::test]
async fn a_preference_of_a_category_that_is_not_known_only_stops() {
    let site = Site::start().await;
    let item = |value: &str, seconds| {
        let mut change = preference(value, seconds, json!({ "wa_id": &NUMBER[1..] }));
        change["user_preferences"][0]["category"] = json!("other_messages");
        change
    };
    site.deliver("user_preferences", item("stop", 1_767_000_000)).await;
    assert!(site.is_out_of_marketing().await);
    site.deliver("user_preferences", item("resume", 1_767_000_100)).await;
    assert!(site.is_out_of_marketing().await);
}

#[tokio::test]
async fn a_keyword_against_marketing_leaves_news_about_orders() {
    let site = Site::start().await;
    let number = Cellphone::parse(NUMBER).unwrap();
    let contact = site.world.contact(|contact| contact.cellphone = Some(number)).await;
    site.says(&contact, "Stop promotions", 1_767_000_000).await;
    assert!(site.is_out_of_marketing().await && !site.is_out().await);
    site.says(&contact, "alta", 1_767_000_001).await;
    assert!(!site.is_out_of_marketing().await);
}

#[tokio::test]
async fn a_person_without_a_number_is_kept_by_the_user_id() {
    let site = Site::start().await;
    let item = preference("stop", 1_767_000_000, json!({ "user_id": USER }));
    site.deliver("user_preferences", item).await;
    let user = ProviderUserId::parse(USER).unwrap();
    let kept = site.world.db.store().choices(site.world.workspace, &user).await.unwrap().unwrap();
    let held: Vec<&Held> = kept.scopes.values().collect();
    assert_eq!((kept.contact, held.len(), held[0].is_beside), (None, 1, false));
    // Ids that are none change nothing.
    let item = preference("stop", 1_767_000_000, json!({ "wa_id": "x", "user_id": "a b" }));
    site.deliver("user_preferences", item).await;
    assert_eq!(site.world.db.store().opt_outs(site.world.workspace).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_keyword_opts_out_by_number_and_user_id_and_another_text_costs_nothing() {
    let site = Site::start().await;
    let number = Cellphone::parse(NUMBER).unwrap();
    let contact = site.world.contact(|contact| contact.cellphone = Some(number)).await;
    site.says(&contact, "please stop", 1_767_000_000).await;
    assert!(!site.is_out().await);
    site.world.db.forget_calls();
    site.says(&contact, "good morning", 1_767_000_001).await;
    let calls = site.world.db.calls();
    assert!(calls.iter().all(|call| !call.table.ends_with("leads")), "no choice is read: {calls:?}");
    let keywords =
        calls.iter().filter(|call| call.operation == "GetItem" && call.table.ends_with("workspaces"));
    assert_eq!(keywords.count(), 0, "the keywords are in memory");

    site.says(&contact, " ¡Stop! ", 1_767_000_002).await;
    let user = ProviderUserId::parse(USER).unwrap();
    let store = site.world.db.store();
    assert!(site.is_out().await && store.opted_out(site.world.workspace, &user).await.unwrap());
    site.says(&contact, "alta", 1_767_000_003).await;
    site.says(&contact, "STOP", 1_767_000_002).await;
    assert!(!site.is_out().await && !store.opted_out(site.world.workspace, &user).await.unwrap());

    let own = Keywords::new(&["aus".to_owned()], &[], &[]).unwrap();
    let change = (None, Some(&own));
    assert!(store.replace_keywords(site.world.workspace, change, harness::operator()).await.unwrap());
    // The function remembers keywords for five minutes.
    site.world.db.clock().advance(std::time::Duration::from_secs(300));
    site.says(&contact, "STOP", 1_767_000_010).await;
    assert!(!site.is_out().await, "the defaults hold beside the workspace's own words");
    site.says(&contact, "Aus", 1_767_000_011).await;
    assert!(site.is_out().await);
}

#[tokio::test]
async fn a_keyword_is_heard_wherever_a_customer_writes_or_taps_it() {
    let button = |text: &str, payload: Option<&str>| json!({ "type": "button", "button": { "text": text, "payload": payload } });
    let tapped = |kind: &str, id: &str, title: &str| {
        let reply = json!({ "type": kind, kind: { "id": id, "title": title } });
        json!({ "type": "interactive", "interactive": reply })
    };
    let caption =
        json!({ "type": "image", "image": { "id": "1", "mime_type": "image/png", "caption": "Stop!" } });
    for (n, (content, expected)) in [
        (button("STOP", None), Some("BUTTON")),
        (button("No, thanks", Some("stop")), Some("BUTTON")),
        (button("START", Some("STOP")), Some("BUTTON")),
        (button("No, thanks", Some("menu.7")), None),
        (tapped("button_reply", "1", "Baja"), Some("BUTTON")),
        (tapped("list_reply", "STOP", "Leave"), Some("BUTTON")),
        (tapped("list_reply", "1", "Stay"), None),
        (caption, Some("KEYWORD")),
    ]
    .into_iter()
    .enumerate()
    {
        let site = Site::start().await;
        let number = Cellphone::parse(NUMBER).unwrap();
        site.world.contact(|contact| contact.cellphone = Some(number.clone())).await;
        let mut message = content;
        message["id"] = json!(format!("wamid.{n}"));
        message["from"] = json!(&NUMBER[1..]);
        message["timestamp"] = json!("1767000000");
        site.process(&[site.piece(LINE, "messages", &[message.clone()])]).await;
        let kept = site.world.db.store().choices(site.world.workspace, &number).await.unwrap();
        let source = kept.and_then(|kept| kept.outs().next().map(|(_, held)| held.source.as_str()));
        assert_eq!(source, expected, "{message}");
    }
}

#[tokio::test]
async fn a_kill_at_any_call_leaves_a_choice_that_a_repeat_completes() {
    for calls in 0..6 {
        let site = Site::start().await;
        let number = Cellphone::parse(NUMBER).unwrap();
        let contact = site.world.contact(|contact| contact.cellphone = Some(number)).await;
        let dead = site.world.db.die_after(calls, harness::Death::After);
        tokio::select! {
            () = site.says(&contact, "STOP", 1_767_000_000) => {}
            _ = dead => {}
        }
        site.world.db.revive();
        site.says(&contact, "STOP", 1_767_000_000).await;
        let listed = site.world.db.store().opt_outs(site.world.workspace).await.unwrap();
        assert_eq!(
            listed
                .iter()
                .map(|kept| (kept.version, kept.scopes[&ChoiceScope::All].is_beside))
                .collect::<Vec<_>>(),
            [(1, false), (1, true)]
        );
    }
}

impl Site {
    /// A text of somebody whom the provider names by both ids.
    async fn hears(&self, id: &str) {
        let message = json!({
            "id": id, "from": &NUMBER[1..], "from_user_id": USER,
            "timestamp": "1767000000", "type": "text", "text": { "body": "hello" },
        });
        assert_eq!(self.process(&[self.piece(LINE, "messages", &[message])]).await, Vec::<String>::new());
    }

    async fn customer_of_number(&self) -> Contact {
        let number = Cellphone::parse(NUMBER).unwrap();
        let id = self.store().contact_holding_cellphone(self.world.workspace, &number).await.unwrap();
        self.store().contact(self.world.workspace, id.unwrap()).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn the_choices_of_a_number_and_a_user_id_become_one_with_the_first_message_that_names_both() {
    for is_known in [false, true] {
        for by_number in [false, true] {
            let site = Site::start().await;
            if is_known {
                let number = Cellphone::parse(NUMBER).ok();
                site.world.contact(|contact| contact.cellphone = number).await;
            }
            let ids = if by_number { json!({ "wa_id": &NUMBER[1..] }) } else { json!({ "user_id": USER }) };
            site.deliver("user_preferences", preference("stop", 1_766_000_000, ids)).await;
            site.hears("wamid.1").await;
            let (store, workspace) = (site.store(), site.world.workspace);
            let kept = store.choices(workspace, &ProviderUserId::parse(USER).unwrap()).await.unwrap();
            let line = ChoiceScope::Line(ChannelId::parse(LINE).unwrap());
            assert!(kept.is_some_and(|kept| kept.is_out_of(&line)), "{is_known} {by_number}");
            assert!(site.is_out_of_marketing().await, "{is_known} {by_number}");
            // One of the two rows told it.
            let rows = site.world.db.rows_of(store::Table::Leads, "optOut");
            let beside = |row: &&Value| row["scopes"]["L"][0]["M"]["isBeside"]["BOOL"] == true;
            assert_eq!((rows.len(), rows.iter().filter(beside).count()), (2, 1), "{is_known} {by_number}");
        }
    }
}

#[tokio::test]
async fn without_the_person_key_messages_are_stored_and_no_further_id_is_learnt() {
    const PK: &str = "00000000-0000-0000-0000-000000000000#HK";
    let site = Site::start().await;
    let key = site.world.db.row(store::Table::Secrets, PK, "K");
    site.world.db.remove_row(store::Table::Secrets, PK, "K");
    for id in ["wamid.1", "wamid.2"] {
        site.hears(id).await;
        assert_eq!(site.customer_of_number().await.user_ids, World::user_ids(""));
    }
    // A choice waits for the key.
    let stop = site.change("1", "user_preferences", preference("stop", 1, json!({ "user_id": USER })));
    assert_eq!(site.process(&[stop]).await, ["0"]);
    site.world.db.put_row(store::Table::Secrets, &key);
    site.hears("wamid.3").await;
    assert_eq!(site.customer_of_number().await.user_ids, World::user_ids(USER));
    assert_eq!(site.world.db.rows_of(store::Table::Messages, "message").len(), 3);
}
