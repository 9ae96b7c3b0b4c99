//! The measured cases: a function, the data that it needs, and its events.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::access::api_key::RateLimit;
use domain::message::Draft;
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    AttributeType, Cellphone, Conversation, Email, EndpointCaps, EndpointId, EndpointSecrets, EndpointState,
    EndpointUrl, EventFilter, MessageBody, MessageId, PersonName, Timestamp, TrustedReceivers,
    WebhookEndpoint,
};
use harness::{GatewayEvent, World, fixture, fixture_text, queue_fixture};
use serde_json::{Value, json};
use store::{MessageStored, NewMessage};

use crate::sample::EVENTS;

const LINE: &str = "1045551234567";
const FIRST_DUE: Duration = Duration::from_secs(120);

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
    Contacts,
    ContactUpdate,
    Conversation,
    Conversations,
    ConversationCreate,
    Files,
    Message,
    User,
    Lead,
    Preflight,
    Relay,
    MessageSend,
    LeadSend,
    Sweep,
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
    case!("contacts: GET page of 20", "contacts", Contacts),
    case!("contacts: PATCH", "contacts", ContactUpdate),
    case!("conversations: GET one", "conversations", Conversation),
    case!("conversations: GET page of 20", "conversations", Conversations),
    case!("conversations: POST", "conversations", ConversationCreate),
    case!("users", "users", User),
    case!("files: POST of two", "files", Files),
    case!("messages: POST", "messages", Message),
    case!("leads: POST", "leads", Lead),
    case!("leads: preflight", "leads", Preflight),
    case!("event-relay: a contact", "event-relay", Relay),
    case!("message-sender: a text", "message-sender", MessageSend),
    case!("lead-sender: a lead", "lead-sender", LeadSend),
    case!("sweeper: nothing due", "sweeper", Sweep),
];

/// A workspace and the events for a function.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) events: Vec<String>,
}

impl Scene {
    pub(crate) async fn start(case: &Case) -> Self {
        let mut world = World::start().await;
        // The clock of the function is the machine's.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        world.db.clock().set(Timestamp::from_millis(i64::try_from(now).unwrap()));
        let rate = RateLimit::new(RateLimit::MAX_PER_SECOND, RateLimit::MAX_BURST).unwrap();
        world.key = world.key_with(world.workspace, &["*"], |key| key.rate = rate).await;
        let events = events(&world, &case.what).await;
        Self { world, events }
    }
}

async fn events(world: &World, what: &What) -> Vec<String> {
    let same = |event: GatewayEvent| vec![event.json().to_string(); EVENTS];
    match what {
        What::Floor => vec![fixture_text("contacts-get.json"); EVENTS],
        What::Attributes => {
            for n in 0..10 {
                world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
            }
            same(world.event("attributes-list.json"))
        }
        What::Contact => same(world.event("contacts-get.json").path("contactId", someone(world, 1).await)),
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
            (0..EVENTS).map(event).collect()
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
            (0..EVENTS).map(event).collect()
        }
        What::User => {
            let id = world.user("agent@example.com", |_| ()).await.id;
            same(world.event("users-get.json").path("userId", id))
        }
        What::Files => same(world.event("files-create.json").without_header("idempotency-key")),
        What::Message => {
            world.line(LINE, |_| ()).await;
            let conversation = reached(world, 1).await;
            let event = |n: usize| {
                let body = json!({ "conversationId": conversation.id.to_string(), "messageBody": format!("Parcel {n}.") });
                let event = world.event("messages-create.json").without_header("idempotency-key");
                event.body(&body).json().to_string()
            };
            (0..EVENTS).map(event).collect()
        }
        What::Lead => {
            world.line(LINE, |_| ()).await;
            let capture = world.capture(|_| ()).await;
            let seed: Value = fixture("leads-accept.json");
            let seed: Value = serde_json::from_str(seed["body"].as_str().unwrap()).unwrap();
            let event = |n: usize| {
                let mut body = seed.clone();
                body["captureKey"] = json!(capture.key.as_str());
                body["cellphone"] = json!(phone(n));
                body["recaptchaToken"] = json!(format!("token-{n}"));
                GatewayEvent::of("leads-accept.json").body(&body).json().to_string()
            };
            (0..EVENTS).map(event).collect()
        }
        What::Preflight => {
            world.line(LINE, |_| ()).await;
            world.capture(|_| ()).await;
            same(GatewayEvent::of("leads-preflight.json"))
        }
        What::Relay => {
            endpoint(world).await;
            let seed = fixture_text("event-relay-contact-created.json");
            let other = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
            let event = |n: usize| seed.replace("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f", &other(n));
            (0..EVENTS).map(event).collect()
        }
        What::MessageSend => {
            world.line(LINE, |_| ()).await;
            let mut events = vec![];
            for n in 0..EVENTS {
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
            for n in 0..EVENTS {
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
        What::Sweep => vec![fixture_text("sweeper.json"); EVENTS],
    }
}

/// A Spanish mobile number.
fn phone(n: usize) -> String {
    format!("+346001{n:05}")
}

async fn someone(world: &World, n: usize) -> domain::ContactId {
    let contact = world.contact(|contact| {
        contact.first_name = PersonName::parse("Ana").ok();
        contact.last_name = PersonName::parse("Ruiz").ok();
        contact.email = Email::parse(&format!("ana{n}@example.com")).ok();
        contact.cellphone = Cellphone::parse(&phone(n)).ok();
    });
    contact.await.id
}

/// Creates a conversation with a contact who has a phone number.
async fn reached(world: &World, n: usize) -> Conversation {
    let contact = someone(world, n).await;
    world.conversation(|one| one.externals = vec![World::external(contact, LINE)]).await
}

/// Adds a text message to a conversation, as the API does.
async fn say(world: &World, conversation: &Conversation) {
    let store = world.db.store();
    let draft = Draft {
        conversation: conversation.id,
        body: MessageBody::parse("Your order is on its way.").ok(),
        media: vec![],
        broadcast: true,
        reply_to: None,
    };
    let seq = store.last_seq(conversation.workspace_id, conversation.id).await.unwrap() + 1;
    let id = MessageId::generate(store.ids());
    let message = draft.message(id, conversation, seq, vec![], store.now());
    let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
    assert_eq!(store.store_message(&new, FIRST_DUE, &id.to_string()).await.unwrap(), MessageStored::Done);
}

/// Creates an endpoint that subscribes to all events.
async fn endpoint(world: &World) {
    let store = world.db.store();
    let endpoint = WebhookEndpoint {
        id: EndpointId::generate(store.ids()),
        workspace_id: world.workspace,
        url: EndpointUrl::parse("https://hooks.example.com/in", &TrustedReceivers::none()).unwrap(),
        state: EndpointState::Enabled,
        filter: EventFilter::parse([]).unwrap(),
        caps: EndpointCaps::default(),
        slots: 1,
        forgets_before: None,
        created_at: store.now(),
        version: 1,
    };
    let secrets = EndpointSecrets {
        api_key: ReceiverKey::parse("customer-key").unwrap(),
        signing: SigningSecrets::only(SigningSecret::from_entropy([7; 32])),
    };
    let workspace = store.workspace(world.workspace).await.unwrap().unwrap();
    assert!(store.create_endpoint(&workspace, &endpoint, &secrets).await.unwrap());
}
