//! The measured cases: a function, the data that it needs, and its events.

use bench::{Answer, Authority, Server, webhooks};
use domain::access::api_key::RateLimit;
use domain::media::MediaState;
use domain::{AttributeType, Erasure, KeyId, Media, WorkspaceId};
use harness::{GatewayEvent, World, fixture, fixture_text, queue_fixture};
use http::StatusCode;
use serde_json::{Value, json};

use crate::data::{LINE, age_settings, inbound, named, now, phone, reached, say, sent, someone};

/// A function and one of its tasks.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) binary: &'static str,
    what: What,
}

enum What {
    Floor,
    Attributes,
    Contact,
    ContactAmongDefinitions,
    Contacts,
    ContactUpdate,
    Conversation,
    Conversations,
    ConversationCreate,
    Files,
    File,
    Message,
    MessageRead,
    MessageList,
    User,
    ApiKey,
    Endpoint,
    Deliveries,
    Leads,
    Lead,
    Preflight,
    Reference,
    Relay,
    Delivery,
    MessageSend,
    LeadSend,
    Erasure,
    Sweep,
    Upload,
    ProviderStatus,
    InboxStatus,
    InboxText,
}

macro_rules! case {
    ($name:literal, $binary:literal, $what:ident) => {
        Case { name: $name, binary: $binary, what: What::$what }
    };
}

pub(crate) const ALL: &[Case] = &[
    case!("floor", "floor", Floor),
    case!("attributes", "attributes", Attributes),
    case!("contacts: GET one", "contacts", Contact),
    case!("contacts: GET one, 100 definitions", "contacts", ContactAmongDefinitions),
    case!("contacts: GET page of 20", "contacts", Contacts),
    case!("contacts: PATCH", "contacts", ContactUpdate),
    case!("conversations: GET one", "conversations", Conversation),
    case!("conversations: GET page of 20", "conversations", Conversations),
    case!("conversations: POST", "conversations", ConversationCreate),
    case!("users", "users", User),
    case!("access: GET one key", "access", ApiKey),
    case!("endpoints: GET one", "endpoints", Endpoint),
    case!("deliveries: GET page", "deliveries", Deliveries),
    case!("lead-records: GET page", "lead-records", Leads),
    case!("files: POST of two", "files", Files),
    case!("files: GET one", "files", File),
    case!("messages: GET one", "messages", MessageRead),
    case!("messages: GET list of 20", "messages", MessageList),
    case!("messages: POST", "messages", Message),
    case!("leads: POST", "leads", Lead),
    case!("leads: preflight", "leads", Preflight),
    case!("portal: the reference", "portal", Reference),
    case!("event-relay: a contact", "event-relay", Relay),
    case!("webhook-delivery: alone", "webhook-delivery", Delivery),
    case!("message-sender: a text", "message-sender", MessageSend),
    case!("lead-sender: a lead", "lead-sender", LeadSend),
    case!("people: a first pass", "people", Erasure),
    case!("provider-events: a status", "provider-events", ProviderStatus),
    case!("inbox: a status", "inbox", InboxStatus),
    case!("inbox: a text", "inbox", InboxText),
    case!("sweeper: nothing due", "sweeper", Sweep),
    case!("uploads: a file", "uploads", Upload),
];

/// A limit under which a busy process draws tokens for several requests with one write.
pub(crate) fn high_rate() -> RateLimit {
    RateLimit::new(RateLimit::MAX_PER_SECOND, RateLimit::MAX_BURST).unwrap()
}

/// A limit under which each request makes a write, so the number of writes does not depend on the speed of the machine.
pub(crate) fn low_rate() -> RateLimit {
    RateLimit::new(20, RateLimit::MAX_BURST).unwrap()
}

/// A workspace and the events for a function.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) events: Vec<String>,
    /// A receiver of webhooks, which answers at once.
    receiver: Server,
    certificate: String,
}

impl Scene {
    /// Creates the data of a case and this number of events. The requests come with a key, and the leads to a
    /// workspace, that has this limit.
    pub(crate) async fn start(case: &Case, count: usize, rate: RateLimit, authority: &Authority) -> Self {
        let mut world = World::start().await;
        // The clock of the function is the machine's.
        world.db.clock().set(now());
        world.key = world.key_with(world.workspace, &["*"], |key| key.rate = rate).await;
        let answer = async |_| Answer::of(StatusCode::OK, "ok");
        let receiver = Server::start(Some(authority.server.clone()), answer).await;
        let events = events(&world, &case.what, (count, rate), &receiver).await;
        age_settings(&world).await;
        Self { world, events, receiver, certificate: authority.pem.clone() }
    }

    /// The variables of the deployment that lead a function to the receiver.
    pub(crate) fn environment(&self) -> [(String, String); 2] {
        [
            ("TRUSTED_RECEIVERS", webhooks::origin(&self.receiver)),
            ("TRUSTED_CA_PEM", self.certificate.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

async fn events(
    world: &World,
    what: &What,
    (count, rate): (usize, RateLimit),
    receiver: &Server,
) -> Vec<String> {
    let same = |event: GatewayEvent| vec![event.json().to_string(); count];
    match what {
        What::Floor => vec![fixture_text("contacts-get.json"); count],
        What::Attributes => {
            for n in 0..10 {
                world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
            }
            same(world.event("attributes-list.json"))
        }
        What::Contact => same(world.event("contacts-get.json").path("contactId", someone(world, 1).await)),
        What::ContactAmongDefinitions => {
            for n in 0..100 {
                world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
            }
            same(world.event("contacts-get.json").path("contactId", someone(world, 1).await))
        }
        What::Contacts => {
            for n in 0..30 {
                someone(world, n).await;
            }
            same(world.event("contacts-list.json").query(&[("pageSize", "20")]))
        }
        What::ContactUpdate => {
            let id = someone(world, 1).await;
            let event = |n: usize| {
                let body = json!({ "firstName": format!("Ana {n}") });
                world.event("contacts-update.json").path("contactId", id).body(&body).json().to_string()
            };
            (0..count).map(event).collect()
        }
        What::Conversation => {
            let id = world.conversation(|_| ()).await.id;
            same(world.event("conversations-get.json").path("conversationId", id))
        }
        What::Conversations => {
            for _ in 0..30 {
                world.conversation(|_| ()).await;
            }
            same(world.event("conversations-list.json").query(&[("pageSize", "20")]))
        }
        What::ConversationCreate => {
            world.line(LINE, |_| ()).await;
            world.user("agent@example.com", |_| ()).await;
            let event = |n: usize| {
                let body = json!({
                    "participants": {
                        "externals": [{
                            "identifier": phone(n), "identifierType": "PHONE", "messageProviderType": "WHATSAPP",
                            "providerChannelId": LINE, "brandId": World::BRAND,
                        }],
                        "internals": [{ "identifier": "agent@example.com", "identifierType": "EMAIL" }],
                    },
                    "name": "Order 7",
                    "status": "ACTIVE",
                });
                let event = world.event("conversations-create.json").without_header("idempotency-key");
                event.body(&body).json().to_string()
            };
            (0..count).map(event).collect()
        }
        What::User => {
            let id = world.user("agent@example.com", |_| ()).await.id;
            same(world.event("users-get.json").path("userId", id))
        }
        What::ApiKey => {
            let id = KeyId::generate(world.db.store().ids());
            world.key_with(world.workspace, &["users:read"], |key| key.id = id).await;
            same(world.event("access-get.json").path("keyId", id))
        }
        What::Endpoint => {
            let id = world.endpoint_of(world.workspace, |_| ()).await.id;
            same(world.event("endpoints-get.json").path("endpointId", id))
        }
        What::Deliveries => {
            world.endpoint_of(world.workspace, |_| ()).await;
            same(world.event("deliveries-list.json").query(&[]))
        }
        What::Leads => {
            world.lead(&phone(0), |_| ()).await;
            same(world.event("lead-records-list.json").query(&[]))
        }
        What::Files => same(world.event("files-create.json").without_header("idempotency-key")),
        What::File => {
            let media = world.media(|media| {
                (media.state, media.size, media.expires_at) = (MediaState::Referenced, Some(1_234), None);
            });
            same(world.event("files-get.json").path("mediaId", media.await.id))
        }
        What::MessageRead => {
            world.line(LINE, |_| ()).await;
            let conversation = reached(world, 1).await;
            let message = say(world, &conversation).await;
            let event = world.event("messages-get.json").path("messageId", message);
            same(event.query(&[("conversationId", &conversation.id.to_string())]))
        }
        What::MessageList => {
            world.line(LINE, |_| ()).await;
            let conversation = reached(world, 1).await;
            for _ in 0..30 {
                say(world, &conversation).await;
            }
            let event = world.event("messages-list.json").path("conversationId", conversation.id);
            same(event.query(&[("pageSize", "20")]))
        }
        What::Message => {
            world.line(LINE, |_| ()).await;
            let conversation = reached(world, 1).await;
            let event = |n: usize| {
                let body = json!({ "conversationId": conversation.id.to_string(), "messageBody": format!("Parcel {n}.") });
                let event = world.event("messages-create.json").without_header("idempotency-key");
                event.body(&body).json().to_string()
            };
            (0..count).map(event).collect()
        }
        What::Lead => {
            world.line(LINE, |_| ()).await;
            let capture = world.capture(|capture| capture.rate = rate.per_second).await;
            let seed: Value = fixture("leads-accept.json");
            let seed: Value = serde_json::from_str(seed["body"].as_str().unwrap()).unwrap();
            let event = |n: usize| {
                let mut body = seed.clone();
                body["captureKey"] = json!(capture.key.as_str());
                body["cellphone"] = json!(phone(n));
                body["recaptchaToken"] = json!(format!("token-{n}"));
                GatewayEvent::of("leads-accept.json").body(&body).json().to_string()
            };
            (0..count).map(event).collect()
        }
        What::Preflight => {
            world.line(LINE, |_| ()).await;
            world.capture(|_| ()).await;
            same(GatewayEvent::of("leads-preflight.json"))
        }
        What::Reference => same(GatewayEvent::of("portal-file.json")),
        What::Relay => {
            webhooks::endpoint(world, world.workspace, None).await;
            let seed = fixture_text("event-relay-contact-created.json");
            let other = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
            let event = |n: usize| seed.replace("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f", &other(n));
            (0..count).map(event).collect()
        }
        What::Delivery => {
            let mut events = vec![];
            for _ in 0..count {
                let workspace = world.workspace(WorkspaceId::generate(world.db.store().ids())).await;
                let slot = webhooks::endpoint(world, workspace, Some(receiver)).await;
                webhooks::record(world, slot, 1).await;
                events.push(queue_fixture("webhook-delivery.json", &[webhooks::message(slot)]).to_string());
            }
            events
        }
        What::MessageSend => {
            world.line(LINE, |_| ()).await;
            let mut events = vec![];
            for n in 0..count {
                let conversation = reached(world, n).await;
                say(world, &conversation).await;
                let body = json!({
                    "lane": "conversation",
                    "workspaceId": world.workspace.to_string(),
                    "conversationId": conversation.id.to_string(),
                });
                events.push(queue_fixture("message-sender.json", &[body.to_string()]).to_string());
            }
            events
        }
        What::LeadSend => {
            world.line(LINE, |_| ()).await;
            let template = world.template(|_| ()).await;
            world.capture(|capture| capture.template = Some(template.id)).await;
            let mut events = vec![];
            for n in 0..count {
                let lead = world.lead(&phone(n), |_| ()).await;
                let body = json!({
                    "lane": "lead",
                    "workspaceId": world.workspace.to_string(),
                    "leadId": lead.id.to_string(),
                });
                events.push(queue_fixture("lead-sender.json", &[body.to_string()]).to_string());
            }
            events
        }
        What::Erasure => {
            let mut events = vec![];
            for n in 0..count {
                // Of each workspace, four jobs run at the same time.
                let workspace = world.workspace(WorkspaceId::generate(world.db.store().ids())).await;
                let contact = world.contact_of(workspace, |contact| named(contact, n)).await.id;
                let asked = Erasure::of_contacts([contact].into(), workspace, false, "operator", now());
                let asked = world.db.store().ask_erasure(&asked, None, None).await.unwrap();
                let body = json!({
                    "lane": "person",
                    "workspaceId": workspace.to_string(),
                    "jobId": asked.id.to_string(),
                });
                events.push(queue_fixture("people.json", &[body.to_string()]).to_string());
            }
            events
        }
        What::Sweep => vec![fixture_text("sweeper.json"); count],
        What::Upload => {
            let Media { workspace_id, id, .. } = world.media(|_| ()).await;
            let object = json!({ "key": format!("{workspace_id}/{id}"), "size": 1_234 });
            let body = json!({ "Records": [{ "s3": { "object": object } }] }).to_string();
            vec![queue_fixture("uploads.json", &[body]).to_string(); count]
        }
        What::ProviderStatus => {
            World::provider_app(&world.db, World::APP, None).await;
            vec![fixture_text("provider-events-receive.json"); count]
        }
        What::InboxStatus => {
            world.line(LINE, |_| ()).await;
            let mut events = vec![];
            for n in 0..count {
                let wamid = format!("wamid.out{n}");
                let part = sent(world, &reached(world, n).await, &wamid).await;
                let status = json!({
                    "id": wamid, "status": "delivered", "timestamp": now().as_seconds().to_string(),
                    "recipient_id": phone(n).trim_start_matches('+'), "biz_opaque_callback_data": part.to_string(),
                });
                events.push(inbound(json!({ "statuses": [status] })));
            }
            events
        }
        What::InboxText => {
            world.line(LINE, |_| ()).await;
            reached(world, 1).await;
            let customer = phone(1).trim_start_matches('+').to_owned();
            let event = |n: usize| {
                let message = json!({
                    "id": format!("wamid.in{n}"), "from": customer, "timestamp": now().as_seconds().to_string(),
                    "type": "text", "text": { "body": "Where is my parcel?" },
                });
                let contact = json!({ "wa_id": customer, "profile": { "name": "Ana Ruiz" } });
                inbound(json!({ "contacts": [contact], "messages": [message] }))
            };
            (0..count).map(event).collect()
        }
    }
}
