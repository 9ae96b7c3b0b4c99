use std::time::Duration;

use domain::sending::Progress;
use domain::settings::template::{Parameters, Requested};
use domain::{Conversation, LaneId, Message, TemplateId, UserRef};
use harness::World;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::json;
use store::{ConversationLane, Lease};

use crate::Desk;

/// A conversation with two participants, and with a template and a message to send.
async fn conversation() -> (World, Conversation, Message) {
    let world = World::start().await;
    let agent = world.user("ada@example.com", |_| ()).await;
    let template = TemplateId::generate(world.db.store().ids());
    let steps = vec![Requested { template, parameters: Parameters::new() }];
    let joined_at = world.db.store().now();
    let conversation = world
        .onboarded_conversation(steps, |conversation| {
            let shown = UserRef::Id(agent.id);
            conversation.internals =
                vec![domain::Internal { user: agent.id, shown, joined_at, last_seen_at: None }];
        })
        .await;
    let message = world.say(&conversation, "a text that is nobody else's").await;
    (world, conversation, message)
}

#[tokio::test]
async fn a_conversation_is_shown_with_its_participants_and_its_unsent_messages() {
    let (world, conversation, message) = conversation().await;
    let (at, contact) =
        (harness::TestClock::START.plus(Duration::from_secs(60)), conversation.externals[0].contact);
    let store = world.db.store();
    store.saw(conversation.workspace_id, conversation.id, contact, at).await.unwrap();
    let desk = Desk::over(world.db);
    let (workspace, id) = (conversation.workspace_id.to_string(), conversation.id.to_string());
    let show = ["conversation", "show", "--workspace", &workspace, "--conversation", &id];
    let shown = desk.json(&show).await;
    assert_json_snapshot!(shown, @r#"
    {
      "conversationId": "00000000-0000-4000-8000-000000000009",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "externals": [
        {
          "brandId": "brand",
          "contactId": "00000000-0000-4000-8000-000000000008",
          "identifier": "00000000-0000-4000-8000-000000000008",
          "identifierType": "ID",
          "joinedAt": "2026-01-02T03:04:05.678Z",
          "lastSeenAt": "2026-01-02T03:05:05.678Z",
          "providerChannelId": "line"
        }
      ],
      "internals": [
        {
          "identifier": "00000000-0000-4000-8000-000000000005",
          "identifierType": "ID",
          "joinedAt": "2026-01-02T03:04:05.678Z",
          "lastSeenAt": null,
          "userId": "00000000-0000-4000-8000-000000000005"
        }
      ],
      "lane": {
        "dueAt": "2026-01-02T03:04:05.678Z",
        "lease": null,
        "leaseUntil": null,
        "more": false,
        "open": [
          {
            "messageId": "00000000-0000-4000-8000-00000000000a",
            "seq": 2
          }
        ],
        "plan": {
          "done": 0,
          "templates": [
            "00000000-0000-4000-8000-000000000007"
          ]
        },
        "seq": 2
      },
      "name": null,
      "status": "ACTIVE",
      "updatedAt": "2026-01-02T03:04:05.678Z",
      "version": 1,
      "windows": [
        {
          "contactId": "00000000-0000-4000-8000-000000000008",
          "isOpen": false,
          "lastInboundAt": null,
          "openUntil": null,
          "providerChannelId": "line"
        }
      ]
    }
    "#);
    assert_eq!(shown["lane"]["open"][0]["messageId"], message.id.to_string());

    let lane = LaneId::Conversation(conversation.workspace_id, conversation.id);
    let leased = desk.db.store().lease_lane(lane, Duration::from_secs(90)).await.unwrap();
    assert!(matches!(leased, Lease::Taken(_)));
    let leased = desk.json(&show).await["lane"].clone();
    assert_eq!(
        (&leased["leaseUntil"], &leased["dueAt"]),
        (&json!("2026-01-02T03:05:35.678Z"), &shown["lane"]["dueAt"])
    );
    assert_snapshot!(desk.run(&show).await.out, @"
    conversation    00000000-0000-4000-8000-000000000009
    name            -
    status          ACTIVE
    externals       00000000-0000-4000-8000-000000000008 on line line
    24-hour window  00000000-0000-4000-8000-000000000008 not known
    internals       00000000-0000-4000-8000-000000000005
    messages        2
    leased until    2026-01-02T03:05:35.678Z
    due             2026-01-02T03:04:05.678Z
    open            2. 00000000-0000-4000-8000-00000000000a
    templates left  00000000-0000-4000-8000-000000000007
    created         2026-01-02T03:04:05.678Z
    updated         2026-01-02T03:04:05.678Z
    ");
}

#[tokio::test]
async fn a_message_is_shown_with_its_text_and_its_parts() {
    let (world, conversation, message) = conversation().await;
    let store = world.db.store();
    let lane = LaneId::Conversation(conversation.workspace_id, conversation.id);
    let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(90)).await.unwrap() else {
        panic!("the lane must be free")
    };
    let outbound =
        store.outbound(&ConversationLane::of(&leased).unwrap(), message.id).await.unwrap().unwrap();
    let now = store.now();
    let put_off = |message: &Message| Message {
        progress: Progress {
            failures: 2,
            throttled: 1,
            since: Some(now),
            next_at: Some(now),
            calling: None,
            is_paused: false,
        },
        ..message.clone()
    };
    store.record(&outbound, Duration::ZERO, put_off).await.unwrap().unwrap();

    let desk = Desk::over(world.db);
    let (workspace, of, id) =
        (conversation.workspace_id.to_string(), conversation.id.to_string(), message.id.to_string());
    let show = ["message", "show", "--workspace", &workspace, "--conversation", &of, "--message", &id];
    let shown = desk.json(&show).await;
    assert_json_snapshot!(shown, @r#"
    {
      "broadcast": true,
      "content": null,
      "conversationId": "00000000-0000-4000-8000-000000000009",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "mediaIds": [],
      "messageBody": "a text that is nobody else's",
      "messageId": "00000000-0000-4000-8000-00000000000a",
      "parts": [
        {
          "deliveredAt": null,
          "error": null,
          "errorInWords": null,
          "held": false,
          "index": 0,
          "pricing": null,
          "providerMessageId": null,
          "readAt": null,
          "recipient": "00000000-0000-4000-8000-000000000008",
          "status": "QUEUED"
        }
      ],
      "progress": {
        "calling": null,
        "failures": 2,
        "nextAt": "2026-01-02T03:04:05.678Z",
        "since": "2026-01-02T03:04:05.678Z",
        "throttled": 1
      },
      "replyToMessageId": null,
      "sentBy": "API",
      "seq": 2,
      "status": "QUEUED",
      "templateId": null,
      "type": "TEXT",
      "updatedAt": "2026-01-02T03:04:05.678Z",
      "version": 1
    }
    "#);
    assert_snapshot!(desk.run(&show).await.out, @"
    message       00000000-0000-4000-8000-00000000000a
    conversation  00000000-0000-4000-8000-000000000009
    number        2
    sent by       API
    status        QUEUED
    type          TEXT
    text          a text that is nobody else's
    content       -
    template      -
    media         -
    parts         00000000-0000-4000-8000-000000000008 #0 QUEUED
    tries         2 failed, 1 throttled
    next at       2026-01-02T03:04:05.678Z
    created       2026-01-02T03:04:05.678Z
    updated       2026-01-02T03:04:05.678Z
    ");
}

#[tokio::test]
async fn an_unknown_conversation_and_an_unknown_message_are_refused() {
    let (world, conversation, _) = conversation().await;
    let desk = Desk::over(world.db);
    let nobody = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    let (workspace, id) = (conversation.workspace_id.to_string(), conversation.id.to_string());
    let show = ["conversation", "show", "--workspace", &workspace, "--conversation", nobody];
    assert_eq!(desk.refused(&show).await, format!("The workspace has no conversation {nobody}."));
    for of in [nobody, &id] {
        let show = ["message", "show", "--workspace", &workspace, "--conversation", of, "--message", nobody];
        assert_eq!(desk.refused(&show).await, format!("The conversation has no message {nobody}."));
    }
    // A conversation of another workspace is unknown.
    let other = desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap();
    let show = ["conversation", "show", "--workspace", other, "--conversation", &id];
    assert_eq!(desk.refused(&show).await, format!("The workspace has no conversation {id}."));
}
