//! Lists, searches and views of a workspace's data.

use std::time::Duration;

use domain::contact::conflict::{Conflict, ConflictReason};
use domain::webhook::delivery::Next;
use domain::{
    Cellphone, Contact, Conversation, ConversationStatus, Email, Internal, PersonName, UserRef, WaId,
};
use harness::World;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;
use crate::hooks::Hooks;

const NOBODY: &str = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";

/// The ids of a list.
fn ids(listed: &Value, name: &str) -> Vec<String> {
    listed.as_array().unwrap().iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
}

/// The command in the workspace of the events in `events/`.
fn within<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--workspace", World::WORKSPACE]].concat()
}

/// The lists of this command, page by page. The hint of each leads to the next.
async fn pages(desk: &Desk, list: &[&str], name: &str) -> Vec<Vec<String>> {
    let (mut pages, mut after) = (vec![], None::<String>);
    loop {
        let more: Vec<&str> = after.iter().flat_map(|id| ["--after", id]).collect();
        let page = within(&[list, &more].concat());
        let (listed, shown) = (desk.json(&page).await, desk.run(&page).await);
        pages.push(ids(&listed, name));
        match shown.err.strip_prefix("There may be more: --after ") {
            Some(id) => after = Some(id.trim_end().to_owned()),
            None => {
                assert_eq!(shown.err, "");
                return pages;
            }
        }
    }
}

/// A contact of a test: first name, e-mail address, number.
async fn contact(world: &World, name: &str, cellphone: &str) -> Contact {
    world.db.clock().advance(Duration::from_secs(1));
    let email = format!("{}@example.com", name.to_lowercase());
    let fill = |contact: &mut Contact| {
        contact.first_name = PersonName::parse(name).ok();
        contact.email = Email::parse(&email).ok();
        contact.cellphone = Cellphone::parse(cellphone).ok();
    };
    world.contact(fill).await
}

#[tokio::test]
async fn contacts_are_listed_newest_first_page_by_page() {
    let world = World::start().await;
    let mut all: Vec<String> = vec![];
    for at in 0..5 {
        all.insert(0, contact(&world, &format!("Ana{at}"), &format!("+3460011122{at}")).await.id.to_string());
    }
    let (other, _) = world.second_workspace().await;
    world.contact_of(other, |_| ()).await;
    let desk = Desk::over(world.db);
    assert_eq!(ids(&desk.json(&within(&["contacts", "list"])).await, "id"), all);
    let listed = pages(&desk, &["contacts", "list", "--limit", "2"], "id").await;
    assert_eq!(listed, [&all[..2], &all[2..4], &all[4..]]);
    let owner = ["contacts", "list", "--owner", "nobody@example.com"];
    assert_eq!(desk.json(&within(&owner)).await, json!([]));
    let unknown = within(&["contacts", "list", "--after", NOBODY]);
    assert_eq!(desk.refused(&unknown).await, format!("The workspace has no contact {NOBODY}."));
    assert_snapshot!(desk.run(&within(&["contacts", "list", "--limit", "1"])).await.out, @"
    CONTACT                               TYPE     FIRST NAME  LAST NAME  E-MAIL            NUMBER        EXTERNAL ID  USER IDS  WA ID  LANGUAGE  OWNER  UPDATED
    00000000-0000-4000-8000-000000000009  PARTIAL  Ana4        -          ana4@example.com  +34600111224  -            -         -      -         -      2026-01-02T03:04:10.678Z
    ");
}

#[tokio::test]
async fn a_contact_without_a_number_is_listed_and_shown_with_its_ids_at_the_provider() {
    let world = World::start().await;
    let fill = |contact: &mut Contact| {
        contact.first_name = PersonName::parse("Ana").ok();
        contact.user_ids = World::user_ids("US.1");
        contact.wa_id = WaId::parse("34600111222").ok();
    };
    let ana = world.contact(fill).await.id.to_string();
    let desk = Desk::over(world.db);
    for list in [&["contacts", "list"][..], &["contacts", "search", "ana"], &["contacts", "export"]] {
        let listed = desk.json(&within(list)).await;
        let ids = (&listed[0]["id"], &listed[0]["userIds"], &listed[0]["waId"], &listed[0]["cellphone"]);
        assert_eq!(ids, (&json!(ana), &json!(["US.1"]), &json!("34600111222"), &Value::Null), "{list:?}");
    }
    let shown = desk.json(&within(&["contacts", "show", "--contact", &ana])).await;
    assert_eq!((&shown["userIds"], &shown["optedOut"]), (&json!(["US.1"]), &json!([])));
    let table = desk.run(&within(&["contacts", "show", "--contact", &ana])).await.out;
    assert!(table.contains("user ids      US.1") && table.contains("wa id         34600111222"), "{table}");
}

#[tokio::test]
async fn contacts_are_listed_by_their_owner() {
    let world = World::start().await;
    let ada = world.user("ada@example.com", |_| ()).await;
    let mut owned = vec![];
    for at in 0..3 {
        world.db.clock().advance(Duration::from_secs(1));
        world.contact(|_| ()).await;
        let fill = |contact: &mut Contact| {
            contact.owner = Some(domain::contact::Owner { id: ada.id, email: ada.email.clone() });
            contact.cellphone = Cellphone::parse(&format!("+3460011122{at}")).ok();
        };
        owned.insert(0, world.contact(fill).await.id.to_string());
    }
    let desk = Desk::over(world.db);
    let list = ["contacts", "list", "--limit", "2", "--owner", "Ada@example.com"];
    assert_eq!(pages(&desk, &list, "id").await, [&owned[..2], &owned[2..]]);
}

#[tokio::test]
async fn a_search_finds_words_and_digits_and_continues_after_any_of_its_results() {
    let world = World::start().await;
    for (name, cellphone) in [
        ("Anabel", "+34600111222"),
        ("Anais", "+34600111333"),
        ("Ana", "+34911160011"),
        ("Bea", "+34600999111"),
    ] {
        contact(&world, name, cellphone).await;
    }
    let desk = Desk::over(world.db);
    // A phone fragment finds numbers that begin with it, with or without the country code, and those that end with it.
    for (text, count) in [("an", 3), ("ana", 3), ("ana example", 3), ("60011", 3), ("111", 1), ("nobody", 0)]
    {
        let all = ids(&desk.json(&within(&["contacts", "search", text])).await, "id");
        assert_eq!(all.len(), count, "{text}");
        let one_by_one = pages(&desk, &["contacts", "search", text, "--limit", "1"], "id").await;
        assert_eq!(one_by_one.concat(), all, "{text}");
        for (at, id) in all.iter().enumerate() {
            let after = within(&["contacts", "search", text, "--after", id]);
            assert_eq!(ids(&desk.json(&after).await, "id"), all[at + 1..], "{text} after {at}");
        }
    }
    let ana = ids(&desk.json(&within(&["contacts", "search", "anabel"])).await, "id").remove(0);
    assert_eq!(
        desk.refused(&within(&["contacts", "search", "bea", "--after", &ana])).await,
        format!("The search does not find the contact {ana}, so the list cannot continue after it.")
    );
    let invalid = desk.run(&within(&["contacts", "search", "a b c d e f"])).await;
    assert_eq!(invalid.status, 2, "{invalid:?}");
}

#[tokio::test]
async fn a_contact_is_shown_by_id_e_mail_address_or_number_with_its_opt_out() {
    let world = World::start().await;
    let company = world.open_attribute("company", domain::AttributeType::Text, |_| ()).await;
    let ana = contact(&world, "Ana", "+34600111222").await;
    let bob = contact(&world, "Bob", "+34600111333").await;
    // Bob wrote from Ana's number, and later it came with another user id.
    let at = world.db.store().now();
    let later = Contact { moved_at: Some(at.plus(Duration::from_secs(60))), ..ana.clone() };
    for conflict in
        [Conflict::of_user_id(&later), Conflict::between(&ana, ConflictReason::NumberOfAnother, bob.id, at)]
    {
        assert!(world.db.store().keep_conflict(&conflict).await.unwrap());
    }
    let desk = Desk::over(world.db);
    let file = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shown.csv");
    std::fs::write(&file, format!("id,attr:company\n{},Aster\n", ana.id)).unwrap();
    desk.json(&within(&["contacts", "import", file.to_str().unwrap()])).await;
    desk.json(&within(&["opt-out", "add", "--cellphone", "+34600111222"])).await;
    assert_eq!(company.key_name, "company");

    let (id, mut shown) = (ana.id.to_string(), vec![]);
    for named in [id.as_str(), "ANA@example.com", "+34600111222"] {
        shown.push(desk.json(&within(&["contacts", "show", "--contact", named])).await);
    }
    assert!(shown.iter().all(|view| *view == shown[0]), "{shown:?}");
    assert_json_snapshot!(shown[0], @r#"
    {
      "attributes": {
        "company": [
          "Aster"
        ]
      },
      "cellphone": "+34600111222",
      "conflicts": [
        {
          "contactId": "00000000-0000-4000-8000-000000000007",
          "occurredAt": "2026-01-02T03:04:07.678Z",
          "otherContactId": "00000000-0000-4000-8000-000000000008",
          "reason": "NUMBER_OF_ANOTHER"
        },
        {
          "contactId": "00000000-0000-4000-8000-000000000007",
          "occurredAt": "2026-01-02T03:05:07.678Z",
          "otherContactId": null,
          "reason": "USER_ID_CHANGED"
        }
      ],
      "createdAt": "2026-01-02T03:04:06.678Z",
      "email": "ana@example.com",
      "externalId": null,
      "firstName": "Ana",
      "id": "00000000-0000-4000-8000-000000000007",
      "languageCode": null,
      "lastName": null,
      "optedOut": [
        "ALL"
      ],
      "owner": null,
      "ownerId": null,
      "type": "PARTIAL",
      "updatedAt": "2026-01-02T03:04:07.678Z",
      "userIds": [],
      "version": 2,
      "waId": null,
      "workspaceId": "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"
    }
    "#);
    assert_snapshot!(desk.run(&within(&["contacts", "show", "--contact", &id])).await.out, @"
    contact       00000000-0000-4000-8000-000000000007
    type          PARTIAL
    first name    Ana
    last name     -
    e-mail        ana@example.com
    number        +34600111222
    external id   -
    user ids      -
    wa id         -
    language      -
    owner         -
    updated       2026-01-02T03:04:07.678Z
    created       2026-01-02T03:04:06.678Z
    attributes    company: Aster
    opted out of  ALL
    version       2
    conflicts     NUMBER_OF_ANOTHER with 00000000-0000-4000-8000-000000000008 at 2026-01-02T03:04:07.678Z
                  USER_ID_CHANGED at 2026-01-02T03:05:07.678Z
    ");
    for nobody in [NOBODY, "nobody@example.com", "+34600999999"] {
        let refused = desk.refused(&within(&["contacts", "show", "--contact", nobody])).await;
        assert_eq!(refused, format!("The workspace has no contact {nobody}."));
    }
    let invalid = desk.run(&within(&["contacts", "show", "--contact", "somebody"])).await;
    assert_eq!(invalid.status, 2);
    assert!(
        invalid.err.contains("should be a contact's id, e-mail address or phone number"),
        "{}",
        invalid.err
    );
}

#[tokio::test]
async fn conversations_are_listed_newest_first_by_status_and_people() {
    let world = World::start().await;
    let ada = world.user("ada@example.com", |_| ()).await;
    let ana = contact(&world, "Ana", "+34600111222").await;
    let mut all: Vec<Conversation> = vec![];
    for at in 0..5 {
        world.db.clock().advance(Duration::from_secs(1));
        let joined_at = world.db.store().now();
        let fill = |conversation: &mut Conversation| {
            if at % 2 == 0 {
                conversation.externals = vec![World::external(ana.id, "line")];
                let shown = UserRef::Email(ada.email.clone());
                conversation.internals =
                    vec![Internal { user: ada.id, shown, joined_at, last_seen_at: None }];
            }
            if at == 4 {
                conversation.status = ConversationStatus::Blocked;
            }
        };
        all.insert(0, world.conversation(fill).await);
    }
    let id = |at: usize| all[at].id.to_string();
    let desk = Desk::over(world.db);
    let listed = async |more: &[&str]| {
        let list = within(&[&["conversation", "list"], more].concat());
        ids(&desk.json(&list).await, "conversationId")
    };
    assert_eq!(listed(&[]).await, [id(0), id(1), id(2), id(3), id(4)]);
    let of_ana = [id(0), id(2), id(4)];
    assert_eq!(listed(&["--contact", "ana@example.com"]).await, of_ana);
    assert_eq!(listed(&["--contact", "+34600111222", "--user", "ada@example.com"]).await, of_ana);
    assert_eq!(listed(&["--user", &ada.id.to_string(), "--status", "ACTIVE"]).await, of_ana[1..]);
    assert_eq!(listed(&["--status", "BLOCKED"]).await, [id(0)]);
    assert_eq!(listed(&["--contact", NOBODY]).await, Vec::<String>::new());
    let paged = pages(&desk, &["conversation", "list", "--limit", "2"], "conversationId").await;
    assert_eq!(paged, [vec![id(0), id(1)], vec![id(2), id(3)], vec![id(4)]]);
    let unknown = within(&["conversation", "list", "--after", NOBODY]);
    assert_eq!(desk.refused(&unknown).await, format!("The workspace has no conversation {NOBODY}."));
    assert_snapshot!(desk.run(&within(&["conversation", "list", "--limit", "2"])).await.out, @"
    CONVERSATION                          NAME  STATUS   CUSTOMERS                             USERS            CREATED                   UPDATED
    00000000-0000-4000-8000-000000000011  -     BLOCKED  00000000-0000-4000-8000-000000000007  ada@example.com  2026-01-02T03:04:11.678Z  2026-01-02T03:04:11.678Z
    00000000-0000-4000-8000-00000000000f  -     ACTIVE   00000000-0000-4000-8000-00000000000e  -                2026-01-02T03:04:10.678Z  2026-01-02T03:04:10.678Z
    ");
}

#[tokio::test]
async fn messages_of_a_conversation_are_listed_newest_first_page_by_page() {
    let world = World::start().await;
    let (conversation, other) = (world.conversation(|_| ()).await, world.conversation(|_| ()).await);
    world.say(&other, "elsewhere").await;
    let long = format!("Hello\u{1b}[31m {}", "and so on ".repeat(10));
    let mut all: Vec<String> = vec![];
    for text in ["one", "two", "three", "four", &long] {
        all.insert(0, world.say(&conversation, text).await.id.to_string());
    }
    let desk = Desk::over(world.db);
    let of = conversation.id.to_string();
    let list = ["message", "list", "--conversation", &of];
    assert_eq!(ids(&desk.json(&within(&list)).await, "messageId"), all);
    let paged = pages(&desk, &[&list[..], &["--limit", "2"]].concat(), "messageId").await;
    assert_eq!(paged, [&all[..2], &all[2..4], &all[4..]]);
    assert_snapshot!(desk.run(&within(&[&list[..], &["--limit", "2"]].concat())).await.out, @r"
    NUMBER  MESSAGE                               SENT BY  STATUS  ERROR  TEXT                                                                  CREATED
    5       00000000-0000-4000-8000-00000000000e  API      QUEUED  -      Hello\u{1b}[31m and so on and so on and so on and so on and so on...  2026-01-02T03:04:05.678Z
    4       00000000-0000-4000-8000-00000000000d  API      QUEUED  -      four                                                                  2026-01-02T03:04:05.678Z
    ");
    let unknown = within(&["message", "list", "--conversation", NOBODY]);
    assert_eq!(desk.refused(&unknown).await, format!("The workspace has no conversation {NOBODY}."));
    let unknown = within(&[&list[..], &["--after", NOBODY]].concat());
    assert_eq!(desk.refused(&unknown).await, format!("The conversation has no message {NOBODY}."));
}

#[tokio::test]
async fn events_are_listed_once_each_with_their_deliveries_by_time_and_page_by_page() {
    let hooks = Hooks::new().await;
    let one = hooks.read(&hooks.endpoint_with(&["--slots", "3"]).await).await;
    let two = hooks.read(&hooks.endpoint().await).await;
    let (mut all, mut times) = (vec![], vec![]);
    for at in 0..7 {
        hooks.pass(1);
        let to: &[_] = if at % 2 == 0 { &[&one, &two] } else { &[&one] };
        all.insert(0, hooks.event(to).await.id.to_string());
        times.insert(0, hooks.store().now().to_string());
    }
    let delivery = format!("{}.{}", all[0], two.id);
    hooks.attempted(&delivery, 503, Next::Exhausted).await;
    let listed =
        async |more: &[&str]| ids(&hooks.json(&[&["event", "list"], more].concat()).await, "eventId");
    assert_eq!(listed(&[]).await, all);
    assert_eq!(listed(&["--since", &times[2]]).await, all[..3]);
    assert_eq!(listed(&["--until", &times[2]]).await, all[3..]);
    assert_eq!(listed(&["--limit", "3"]).await, all[..3]);
    for at in 0..all.len() {
        assert_eq!(
            listed(&["--limit", "2", "--after", &all[at]]).await,
            all[at + 1..(at + 3).min(all.len())]
        );
    }
    // Deliveries to an endpoint that was deleted since are listed too.
    hooks.json(&["webhook", "delete", "--endpoint", &two.id.to_string()]).await;
    let ran = hooks.desk.run(&hooks.within(&["events", "list", "--limit", "2"])).await;
    assert_eq!(ran.err, format!("There may be more: --after {}\n", all[1]));
    assert_snapshot!(ran.out, @"
    EVENT                                 TYPE             TIME                      DELIVERIES
    a1199ee9-ce37-5eac-a7a3-d88d2c14643e  contact.updated  2026-01-02T03:04:12.678Z  1 EXHAUSTED (503), 1 PENDING
    28c29332-e545-5a19-b8d0-a28c2564ebbc  contact.updated  2026-01-02T03:04:11.678Z  1 PENDING
    ");
    assert_eq!(
        hooks.refused(&["event", "list", "--after", NOBODY]).await,
        format!(
            "The workspace has no recorded event {NOBODY}; events to which an endpoint subscribes are kept for 30 days, unless the deployment sets EventRetentionDays."
        )
    );
}

#[tokio::test]
async fn an_event_is_shown_with_its_deliveries_and_its_body() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    hooks.attempted(&delivery, 503, Next::Exhausted).await;
    let event = delivery.split_once('.').unwrap().0;
    let shown = hooks.json(&["event", "show", "--event", event]).await;
    let body: Value = serde_json::from_str(shown["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["eventId"], &body["eventType"]), (&shown["eventId"], &json!("webhook.test")));
    assert_eq!(shown["deliveries"][0]["deliveryId"], delivery);
    assert_snapshot!(hooks.desk.run(&hooks.within(&["event", "show", "--event", event])).await.out, @r#"
    event       94b9dc14-260f-51b8-9851-619cee161a90
    type        webhook.test
    time        2026-01-02T03:04:05.679Z
    request     -
    deliveries  00000000-0000-4000-8000-000000000004 EXHAUSTED (503)
    body        {"eventId":"94b9dc14-260f-51b8-9851-619cee161a90","eventType":"webhook.test","entity":"webhook_tests","workspaceId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05Z","payload":{"endpointId":"00000000-0000-4000-8000-000000000004"}}
    "#);
    assert!(hooks.refused(&["event", "show", "--event", NOBODY]).await.contains("no recorded event"));
}
