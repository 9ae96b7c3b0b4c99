//! One example event of each type, from one story: a visitor leaves a number, becomes a contact, and takes
//! part in a conversation until it is released.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::attribute::{AttributeDefinition, NewAttribute};
use domain::choices::{Choice, ChoiceScope, ChoiceSource, Choices, Chooser, Choosers, Chosen};
use domain::contact::conflict::{Conflict, ConflictReason};
use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::lead::captcha::Score;
use domain::media::FileMissing;

use domain::lead::{ConsentStatus, ConsentText, LandingUri, LeadName, Utm};
use domain::media::{Attached, FileName, SentAs};
use domain::message::arrival::Arrival;
use domain::message::received::{
    Card, ChoiceKind, Degrees, Location, Order, OrderItem, Raw, Received, ReceivedContent, ReceivedText, Said,
};
use domain::message::summary::Tally;
use domain::message::{Draft, Priced, PricedBy, Pricing, SentBy};
use domain::sending::PartError;
use domain::settings::line::Provider;
use domain::settings::reported::{
    AccountFact, AccountReport, AccountStatus, LineFact, LineState, News, Restriction,
};
use domain::settings::template::{
    AccountState, Change, ContactField, Form, NewTemplate, SaidBy, Source, Text,
};
use domain::webhook::DisabledReason;
use domain::{
    AttributeCategory, AttributeType, BrandId, BusinessAccountId, Cellphone, ChannelId, Consent, Contact,
    ContactId, ContactRef, Conversation, ConversationId, ConversationName, ConversationStatus, Definitions,
    Email, EndpointCaps, EndpointId, EndpointState, EndpointUrl, Event, EventFilter, EventType, External,
    ExternalId, FileType, Ids, Internal, Language, Lead, LeadId, LeadState, MediaId, Message, MessageBody,
    MessageId, MessageStatus, PersonName, Summary, Template, TemplateCategory, TemplateScope, TemplateStatus,
    Timestamp, UserId, UserRef, WebhookEndpoint, WorkspaceId,
};
use edge::view;
use serde::Serialize;
use uuid::Uuid;

/// An event of a type.
pub(crate) struct Example {
    pub(crate) event: Event,
    /// The body as posted.
    pub(crate) body: Vec<u8>,
    /// When the event happens, as a sentence.
    pub(crate) when: &'static str,
}

/// One example of each type, in the order of the types.
pub(crate) fn examples() -> Vec<Example> {
    EventType::NAMES.iter().map(|name| example_of(EventType::parse(name).unwrap())).collect()
}

/// The example of this type.
pub(crate) fn example_of(event_type: EventType) -> Example {
    let show = |contact: &Contact, seconds, when| {
        let definitions = definitions();
        example(event_type, contact.id.as_uuid(), seconds, when, &view::contact(contact, &definitions, at(0)))
    };
    let tell = |state, seconds, when| {
        let lead = lead(state);
        example(event_type, lead.id.as_uuid(), seconds, when, &view::lead(&lead))
    };
    let choose = |choice, seconds, when| {
        let (choices, scope) = (chosen(choice, seconds), ChoiceScope::All);
        let view = view::choice(&choices, &scope, &choices.scopes[&scope]);
        example(event_type, &choices.entity(&scope), seconds, when, &view)
    };
    match event_type {
        EventType::ContactCreated => show(&visitor(), 5, "A contact was made."),
        EventType::ContactUpdated => {
            show(&customer(), 45, "A contact changed. The payload is the whole contact after the change.")
        }
        EventType::ContactMerged => {
            let when = "A contact became part of another one, by a request or because WhatsApp proved that both are one person. \
                        Replace `mergedContactId` by `contactId` in what you keep.";
            let anonymous = Contact { id: ContactId::from_uuid(uuid(31)), cellphone: None, ..visitor() };
            let (merged, definitions) = (anonymous, definitions());
            let shown = |of| view::contact(of, &definitions, at(0));
            let stays = customer();
            let payload = view::merged(stays.id, &merged, at(60_000), Some(shown(&stays)), shown(&merged));
            example(event_type, merged.id.as_uuid(), 60_000, when, &payload)
        }
        EventType::ContactErased => {
            let when = "A person asked to be erased, and it is done. Erase what you keep of the contact.";
            let erased = view::erased(contact_id(), workspace(), at(90_000));
            example(event_type, contact_id().as_uuid(), 90_000, when, &erased)
        }
        EventType::ContactOptedOut => choose(
            Choice::Out,
            80_000,
            "A person opted out of templates: with a keyword (`KEYWORD`), with a tap on a button or a list's row that is a \
             keyword (`BUTTON`), in WhatsApp (`PROVIDER`), or by the business (`OPERATOR`). `contactId` is `null` if the \
             workspace has no such contact.",
        ),
        EventType::ContactOptedIn => {
            choose(Choice::In, 85_000, "A person who had opted out gets templates again.")
        }
        EventType::ContactConflict => {
            let when = "WhatsApp says of a contact what contradicts what is known, and the service does not decide. Nothing \
                        else changes. `reason` and what to do are in the table below.";
            let (reason, other) = (ConflictReason::NumberOfAnother, ContactId::from_uuid(uuid(40)));
            let conflict = Conflict::between(&customer(), reason, other, at(86_000));
            example(event_type, &conflict.entity(), 86_000, when, &view::conflict(&conflict))
        }
        EventType::ConversationCreated => {
            let (conversation, when) = (opened(), "A conversation was made.");
            example(event_type, conversation.id.as_uuid(), 60, when, &view::conversation(&conversation))
        }
        EventType::ConversationUpdated => {
            let (conversation, when) =
                (released(), "A conversation changed: its name, its status or who takes part.");
            example(event_type, conversation.id.as_uuid(), 3_660, when, &view::conversation(&conversation))
        }
        EventType::ConversationSummaryCreated => {
            let (conversation, when) = (
                released(),
                "A `PATCH` released a conversation. It comes once for each release, with a `conversation.updated`.",
            );
            let summary = Summary { conversation, tally: tally() };
            example(event_type, summary.conversation.id.as_uuid(), 3_660, when, &view::summary(&summary))
        }
        EventType::MessageCreated => {
            let when = "A message was made, with a part for each recipient and file. `recipient` is the contact's id.";
            example(event_type, said().id.as_uuid(), 90, when, &view::message(&said()))
        }
        EventType::MessageUpdated => {
            let when = "A message's status changed, or WhatsApp reported about a part. Here the text was delivered and the \
                        file refused.";
            example(event_type, said().id.as_uuid(), 95, when, &view::message(&half_sent()))
        }
        EventType::LeadAccepted => tell(
            LeadState::Queued,
            0,
            "Lead capture accepted a lead. Contact and conversation are `null` until they exist.",
        ),
        EventType::LeadSent => tell(LeadState::Sent, 5, "The first message to a lead was sent."),
        EventType::LeadFailed => tell(
            LeadState::Failed,
            4,
            "The first message to a lead was not sent (`FAILED`), must not be sent (`SUPPRESSED`), or has an unknown \
             outcome (`UNKNOWN`): `state` says which.",
        ),
        EventType::TemplateUpdated => {
            let when = "A message template was created, or its status, quality, category, components or sources changed. Here WhatsApp \
                        paused it.";
            let (change, account) = (paused_template(), account_id());
            let payload = view::template_updated(&change, &[&account]);
            example(event_type, &change.after.entity(workspace()), 86_000, when, &payload)
        }
        EventType::LineUpdated => {
            let when = "What WhatsApp says of a line changed: a limit of messages, the name, the status, or an alert (`notice`). Fields of \
                        which WhatsApp has said nothing are `null`.";
            let line = line_state();
            example(event_type, &line.entity(), 87_000, when, &view::line_state(&line))
        }
        EventType::AccountUpdated => {
            let when = "What WhatsApp says of a business account changed: a restriction, a violation, a ban, a review, a limit of \
                        messages, or an alert (`notice`). Each workspace with a line of the account gets it.";
            let account = account_report();
            example(event_type, &account.entity(), 88_000, when, &view::account_report(&account))
        }
        EventType::WebhookEndpointDisabled => {
            let when = "An endpoint of the workspace was disabled: it answered 410 (`GONE`), every attempt failed for five days \
                        (`FAILING`), or the operator (`OPERATOR`) or somebody of the workspace (`TENANT`) did it. Its deliveries \
                        wait until `parkedUntil`. The endpoint itself does not get this event.";
            let (endpoint, since) = (endpoint(), at(95_000));
            let payload = view::endpoint_disabled(&endpoint, since, DisabledReason::Gone);
            example(event_type, endpoint.id.as_uuid(), 95_000, when, &payload)
        }
        EventType::WebhookEndpointFailing => {
            let when = "Every attempt of an endpoint of the workspace has failed since `failingSince`, for two and a half days. If \
                        that goes on, the endpoint is disabled at `disabledAt` or later. It comes once until an attempt \
                        succeeds. The endpoint itself does not get this event.";
            let (endpoint, since) = (endpoint(), at(0));
            let payload = view::endpoint_failing(&endpoint, since);
            example(event_type, endpoint.id.as_uuid(), 216_000, when, &payload)
        }
        EventType::EventRedacted => {
            let when = "The person of an event was erased before its delivery. It has the `eventId` of the event that it \
                        replaces, and `payload.eventType` is that event's type.";
            example(event_type, contact_id().as_uuid(), 45, when, &view::redacted(EventType::ContactUpdated))
        }
        EventType::WebhookTest => {
            let (endpoint, when) = (endpoint().id, "Somebody asked for a test.");
            example(event_type, endpoint.as_uuid(), 0, when, &view::trial(endpoint))
        }
    }
}

fn example(
    event_type: EventType,
    entity: &Uuid,
    seconds: u64,
    when: &'static str,
    payload: &impl Serialize,
) -> Example {
    let event = Event::of_change(event_type, workspace(), entity, 1, at(seconds));
    let body = view::event_body(&event, payload).unwrap();
    Example { event, body, when }
}

/// A time in the story, in seconds after its beginning on 2026-01-02 at 09:30.
pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_767_346_200_250).plus(Duration::from_secs(seconds))
}

/// Ids that look like real ones.
fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(0x3f0c_81a2_5b1d_4e6f_9a70_4c2e_d815_7b00 + n)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(uuid(1))
}

fn contact_id() -> ContactId {
    ContactId::from_uuid(uuid(2))
}

fn conversation_id() -> ConversationId {
    ConversationId::from_uuid(uuid(4))
}

fn agent() -> Owner {
    Owner { id: UserId::from_uuid(uuid(3)), email: Email::parse("grace@example.com").unwrap() }
}

fn phone() -> Cellphone {
    Cellphone::parse("+34600111222").unwrap()
}

fn line() -> ChannelId {
    ChannelId::parse("whatsapp-madrid").unwrap()
}

fn brand() -> BrandId {
    BrandId::parse("acme").unwrap()
}

struct Always(Uuid);

impl Ids for Always {
    fn next(&self) -> Uuid {
        self.0
    }
}

fn definition(n: u128, key_name: &str, category: AttributeCategory, values: &[&str]) -> AttributeDefinition {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let attribute_type = AttributeType::Text;
    let new = NewAttribute { category, attribute_type, key_name, is_required: false, values: &values };
    AttributeDefinition::new(workspace(), &new, &Always(uuid(n)), at(0)).unwrap()
}

fn definitions() -> Definitions {
    Definitions::new(vec![
        definition(20, "Company", AttributeCategory::Open, &[]),
        definition(21, "Plan", AttributeCategory::Closed, &["Team"]),
    ])
}

/// The lead's contact, with the data from the landing page.
fn visitor() -> Contact {
    Contact {
        first_name: PersonName::parse("María").ok(),
        cellphone: Some(phone()),
        ..Contact::blank(contact_id(), workspace(), at(5))
    }
}

/// The same contact after an agent added data.
fn customer() -> Contact {
    let content = |definition: &AttributeDefinition| match definition.closed_values.first() {
        Some(value) => AttributeContent::Closed(vec![value.id]),
        None => AttributeContent::Open(OpenContent::parse("Analytical Engines").unwrap()),
    };
    Contact {
        last_name: PersonName::parse("López").ok(),
        email: Email::parse("maria@example.com").ok(),
        external_id: ExternalId::parse("crm-1815").ok(),
        language: Some(Language::Es),
        owner: Some(agent()),
        attributes: definitions().iter().map(|definition| (definition.id, content(definition))).collect(),
        updated_at: at(45),
        ..visitor()
    }
}

fn paused_template() -> Change {
    let wanted = NewTemplate {
        scope: TemplateScope::Workspace(workspace()),
        provider: Provider::WhatsApp,
        name: "order_shipped",
        language: "es",
        category: Some(TemplateCategory::Utility),
        form: Form {
            body: Text {
                text: Some("Hola {{1}}, tu pedido está en camino.".to_owned()),
                names: vec!["1".to_owned()],
            },
            ..Form::of_names(vec![])
        },
        sources: [("1".to_owned(), Source::Contact { field: ContactField::FirstName, fallback: None })]
            .into(),
        approved_by: [account_id()].into(),
    };
    let before = Template::new(wanted, &Always(uuid(41)), at(0)).unwrap();
    let news = AccountState::of(TemplateStatus::Paused, at(85_995), SaidBy::Provider);
    let after = before.decided(&account_id(), news).unwrap().unwrap();
    Change { before: Some(before), after }
}

fn line_state() -> LineState {
    let known = LineState::unknown(workspace(), line(), account_id());
    let facts = [
        (LineFact::DisplayPhoneNumber, "+34 600 111 222"),
        (LineFact::VerifiedName, "Acme"),
        (LineFact::NameStatus, "APPROVED"),
        (LineFact::MessagingLimit, "TIER_1K"),
        (LineFact::Status, "FLAGGED"),
    ];
    let raw = r#"{"display_phone_number":"34600111222","event":"FLAGGED","current_limit":"TIER_1K"}"#;
    let news = News {
        at: at(86_995),
        facts: facts.map(|(fact, value)| (fact, value.to_owned())).to_vec(),
        restrictions: None,
        notice: Some(("FLAGGED".to_owned(), Raw::of(raw))),
    };
    known.told(&news, at(87_000)).unwrap()
}

fn account_report() -> AccountReport {
    let known = AccountReport::unknown(workspace(), account_id());
    let kind = "RESTRICTED_BIZ_INITIATED_MESSAGING".to_owned();
    let raw = r#"{"event":"ACCOUNT_RESTRICTION","restriction_info":[{"restriction_type":"RESTRICTED_BIZ_INITIATED_MESSAGING"}]}"#;
    let news = News {
        at: at(87_995),
        facts: vec![(AccountFact::Status, AccountStatus::Restricted.as_str().to_owned())],
        restrictions: Some(vec![Restriction { kind, until: Some(at(692_795)), remediation: None }]),
        notice: Some(("ACCOUNT_RESTRICTION".to_owned(), Raw::of(raw))),
    };
    known.told(&news, at(88_000)).unwrap()
}

fn account_id() -> BusinessAccountId {
    BusinessAccountId::parse("2055500001").unwrap()
}

fn endpoint() -> WebhookEndpoint {
    WebhookEndpoint {
        id: EndpointId::from_uuid(uuid(11)),
        workspace_id: workspace(),
        url: EndpointUrl::restore("https://hooks.example.com/messaging").unwrap(),
        state: EndpointState::Enabled,
        filter: EventFilter::All,
        caps: EndpointCaps::default(),
        slots: 1,
        description: None,
        forgets_before: None,
        failing_since: None,
        created_at: at(0),
        version: 1,
    }
}

fn chosen(choice: Choice, seconds: u64) -> Choices {
    let (contact, scopes) = (Some(contact_id()), [ChoiceScope::All].into());
    let chosen = Chosen { choice, scopes, source: ChoiceSource::Keyword, at: at(seconds) };
    let key = domain::PersonKey::new([7; 32]);
    let person = Choosers::new(&key, workspace(), [Chooser::Number(phone())], contact);
    Choices::of_person(&[None], &person, &chosen, at(seconds)).remove(0)
}

fn opened() -> Conversation {
    Conversation {
        name: ConversationName::parse("Order 4711").ok(),
        externals: vec![External {
            contact: contact_id(),
            shown: ContactRef::Cellphone(phone()),
            channel: line(),
            brand: brand(),
            joined_at: at(60),
            last_seen_at: None,
        }],
        internals: vec![Internal {
            user: agent().id,
            shown: UserRef::Email(agent().email),
            joined_at: at(60),
            last_seen_at: None,
        }],
        ..Conversation::blank(conversation_id(), workspace(), at(60))
    }
}

fn released() -> Conversation {
    Conversation { status: ConversationStatus::Released, updated_at: at(3_660), ..opened() }
}

fn tally() -> Tally {
    Tally { inbound: 3, outbound: 4, internal: 1, first: Some(at(90)), last: Some(at(3_600)) }
}

/// A text with a file that takes no caption: two parts.
fn said() -> Message {
    let sound = Attached {
        media: MediaId::from_uuid(uuid(6)),
        file_type: FileType::Audio,
        content_type: "audio/ogg".to_owned(),
        name: FileName::parse("welcome.ogg").unwrap(),
        size: 48_213,
    };
    let draft = Draft {
        conversation: conversation_id(),
        body: MessageBody::parse("¡Hola, María!").ok(),
        media: vec![sound.media],
        broadcast: true,
        reply_to: None,
    };
    draft.message(MessageId::from_uuid(uuid(5)), &opened(), 1, vec![sound], at(90))
}

/// The event of a customer's text.
pub(crate) fn from_customer() -> Example {
    let answer = written_by_customers().remove(0);
    let when = "A customer answered.";
    example(EventType::MessageCreated, answer.id.as_uuid(), 120, when, &view::message(&answer))
}

/// A message of the customer of each type, with the file of the first stored and the one of the second missing.
pub(crate) fn written_by_customers() -> Vec<Message> {
    let text = |text: &str| ReceivedText::cut(text, ReceivedText::MAX);
    let [latitude, longitude] = [40.416_775, -3.703_79].map(|angle| Degrees::of(angle).unwrap());
    let stored = |file_type, content_type: &str, name: &str| {
        Ok(Attached {
            media: MediaId::from_uuid(uuid(10)),
            file_type,
            content_type: content_type.to_owned(),
            name: FileName::parse(name).unwrap(),
            size: 48_213,
        })
    };
    let file = |sent_as, file, caption: Option<&str>| ReceivedContent::File {
        sent_as,
        file,
        caption: caption.map(text),
        voice: (sent_as == SentAs::Audio).then_some(true),
        animated: (sent_as == SentAs::Sticker).then_some(false),
    };
    let missing = || Err(FileMissing::Unavailable);
    let card = Card {
        name: Some(text("Eva Sanz")),
        phones: vec![text("+34 600 333 444")],
        emails: vec![text("eva@example.com")],
    };
    let sol = Location { latitude, longitude, name: Some(text("Sol")), address: None, url: None };
    let product = OrderItem {
        product_id: Some(text("SKU1")),
        quantity: Some(text("2")),
        price: Some(text("30")),
        currency: Some(text("EUR")),
    };
    let said = ReceivedContent::Said;
    let all = [
        said(Said::text("¿Cuándo llega?")),
        file(SentAs::Image, stored(FileType::Image, "image/jpeg", "image.jpg"), Some("Así llegó")),
        file(SentAs::Video, missing(), None),
        file(SentAs::Audio, stored(FileType::Audio, "audio/ogg", "audio.ogg"), None),
        file(SentAs::Document, stored(FileType::Document, "application/pdf", "ticket.pdf"), None),
        file(SentAs::Sticker, stored(FileType::Sticker, "image/webp", "sticker.webp"), None),
        said(Said::Location(sol)),
        said(Said::contacts([card])),
        said(Said::ButtonReply { text: text("Sí"), payload: Some(text("confirm")) }),
        said(Said::InteractiveReply {
            kind: ChoiceKind::Button,
            id: text("slot-2"),
            title: text("Mañana"),
            description: Some(text("9-14 h")),
        }),
        ReceivedContent::Reaction {
            to: Some(MessageId::from_uuid(uuid(5))),
            provider_message_id: "wamid.0".to_owned(),
            emoji: Some(text("👍")),
        },
        said(Said::FlowReply {
            name: Some(text("flow")),
            text: Some(text("Sent")),
            flow_token: Some(text("survey-7")),
            response: Some(Raw::of(r#"{"flow_token":"survey-7","rating":"5"}"#)),
        }),
        said(Said::Order(Order {
            catalog_id: Some(text("194")),
            text: Some(text("Por favor")),
            items: vec![product],
        })),
        said(Said::CallPermissionReply {
            response: text("accept"),
            permanent: Some(false),
            expires_at: Some(Timestamp::from_millis(1_767_950_000_000)),
            source: Some(text("user_action")),
        }),
        said(Said::unsupported("poll")),
    ];
    let written = |what| {
        let provider_message_id = "wamid.HBgLMzQ2MDAxMTEyMjIVAgASGBQzQTdGNDhCMDlBQjFBQzA4RUE1OQA=".to_owned();
        let received = Received {
            contact: contact_id(),
            channel: line(),
            provider_message_id,
            what,
            extras: Box::default(),
        };
        let reply_to = Some(MessageId::from_uuid(uuid(5)));
        Arrival { by: SentBy::Customer, received, reply_to, created_at: at(119) }.message(
            &opened(),
            2,
            at(120),
        )
    };
    all.into_iter().map(written).collect()
}

fn half_sent() -> Message {
    let mut said = Message { updated_at: at(95), ..said() };
    said.parts[0].status = MessageStatus::Delivered;
    said.parts[0].delivered_at = Some(at(94));
    let pricing = Pricing::of(Some(false), Some("service"), Some("free_customer_service")).unwrap();
    said.parts[0].pricing = Some(Priced { by: PricedBy::Delivered, pricing });
    said.parts[0].provider_message_id =
        Some("wamid.HBgLMzQ2MDAxMTEyMjIVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA".to_owned());
    said.parts[1].status = MessageStatus::Failed;
    said.parts[1].error = Some(PartError::of("131053"));
    said
}

fn lead(state: LeadState) -> Lead {
    let landing_uri = LandingUri::parse("https://www.example.com/spring?utm_source=newsletter").unwrap();
    let utm = BTreeMap::from([
        ("utm_campaign".to_owned(), "spring".to_owned()),
        ("utm_source".to_owned(), "newsletter".to_owned()),
    ]);
    Lead {
        id: LeadId::from_uuid(uuid(9)),
        workspace_id: workspace(),
        cellphone: phone(),
        name: LeadName::read("Ana Pérez").unwrap(),
        brand: brand(),
        landing_uri: landing_uri.clone(),
        utm: Utm::of(utm).unwrap(),
        consent: Consent {
            status: ConsentStatus::Granted,
            captured_at: Some(at(0)),
            text: ConsentText::parse("I want to be contacted on WhatsApp.").ok(),
            received_at: at(0),
            landing_uri,
            address_hash: String::new(),
            user_agent: None,
            score: Score::from_hundredths(90).unwrap(),
        },
        contact: contact_id(),
        conversation: ConversationId::from_uuid(uuid(7)),
        message: MessageId::from_uuid(uuid(8)),
        message_version: matches!(state, LeadState::Sent | LeadState::Failed).then_some(3),
        opened: matches!(state, LeadState::Sent | LeadState::Failed),
        state,
        error: (state == LeadState::Failed)
            .then(|| PartError::of("131026").because("Message undeliverable.")),
        created_at: at(0),
        updated_at: at(0),
        version: 1,
    }
}
