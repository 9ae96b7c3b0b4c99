//! Compares `openapi.yaml` with the code: codes, problems, names, fields, limits, events and their headers.
//!
//! `tests/contract` compares routes, parameters and request bodies.

use std::collections::{BTreeMap, BTreeSet};

use admin::{
    Activated, DeliveryDetails, EndpointDetails, EventDetails, FoundDelivery, Health, JobProgress,
    RetriedLeads,
};
use domain::access::api_key::RateLimit;
use domain::access::kind::Visitor;
use domain::attribute::AttributeDefinition;
use domain::choices::{Choice, ChoiceScope, ChoiceSource, Choices, Chooser, Choosers, Chosen};
use domain::contact::search::SearchQuery;
use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::lead::captcha::Score;
use domain::lead::{
    ConsentClaim, ConsentStatus, ConsentText, LandingUri, LeadName, NotRetried, Utm, VisitorSeen,
};
use domain::media::{Attached, Declared, FileName, RULES};
use domain::message::received::Received;
use domain::message::summary::{Direction, Tally};
use domain::message::{Draft, MessageType, Priced, PricedBy, Pricing, SentBy};
use domain::sending::PartError;
use domain::settings::template::{
    AccountState, Button, ButtonKind, Card, Fault, FaultKind, FileKind, Filled, Filling,
    Form as TemplateForm, Header, Offer, ParameterFormat, ParameterValue, SaidBy, SlotKind, Source, Text,
};
use domain::webhook::{DisabledReason, ReceiverKey, signature};
use domain::{
    Actor, ApiKey, Attempt, AttemptOutcome, AttributeCategory, AttributeId, AttributeType, AuditAction,
    AuditEntry, AuditEntryId, Author, BrandId, BusinessAccountId, Cellphone, ChannelId, ClosedValue,
    ClosedValueId, Contact, ContactId, ContactRef, ContactType, Conversation, ConversationId,
    ConversationName, ConversationStatus, Definitions, Delivery, DeliveryState, Email, EndpointCaps,
    EndpointId, EndpointState, EndpointUrl, Event, EventFilter, EventId, EventType, External, ExternalId,
    FileType, Ids, Internal, JobId, JobKind, JobState, KeyId, KeyKind, Language, Lead, LeadRequest,
    LeadState, Media, MediaDigest, MediaId, Message, MessageBody, MessageId, MessageStatus, Onboarding,
    PersonName, Provider, ProviderUserId, Role, Scope, Scopes, SentOrigin, Slot, Summary, Template,
    TemplateCategory, TemplateId, TemplateScope, TemplateStatus, Timestamp, Unfit, User, UserId, UserIds,
    UserRef, UserStatus, WebhookEndpoint, Workspace, WorkspaceId,
};
use edge::capture::{CaptureAnswer, LeadProblem, PROBLEMS};
use edge::form::{Form, Node, Rejection};
use edge::{ApiError, ApiRequest, CODES, view};
use serde_json::{Value, json};
use store::RecordedEvent;
use uuid::Uuid;

fn api() -> Value {
    local::reference::as_json()
}

/// The target of a `$ref`, or the node itself.
fn deref<'a>(api: &'a Value, node: &'a Value) -> &'a Value {
    match node["$ref"].as_str() {
        Some(pointer) => api.pointer(pointer.trim_start_matches('#')).unwrap(),
        None => node,
    }
}

fn schema<'a>(api: &'a Value, name: &str) -> &'a Value {
    let found = &api["components"]["schemas"][name];
    assert!(found.is_object(), "no schema {name}");
    found
}

fn object(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node.as_object().into_iter().flatten()
}

fn words(node: &Value) -> Vec<&str> {
    node.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// All responses of all operations, each with its operation's name and its status.
fn answers(api: &Value) -> Vec<(&str, u16, &Value)> {
    let operations = object(&api["paths"]).flat_map(|(_, item)| object(item));
    operations
        .filter_map(|(_, operation)| Some((operation["operationId"].as_str()?, &operation["responses"])))
        .flat_map(|(id, responses)| {
            object(responses).map(move |(status, answer)| (id, status.parse().unwrap(), deref(api, answer)))
        })
        .collect()
}

/// The values that the schemas of errors list for this field, by operation and status, with the examples.
fn listed<'a>(api: &'a Value, field: &str) -> Vec<(&'a str, u16, Vec<&'a str>, Vec<&'a Value>)> {
    let mut all = vec![];
    for (id, status, answer) in answers(api) {
        for (_, media) in object(&answer["content"]) {
            let narrowed = &deref(api, &media["schema"])["allOf"][1]["properties"];
            if narrowed[field].is_object() {
                assert_eq!(narrowed["status"]["const"], status, "{id}");
                let examples = object(&media["examples"]).map(|(_, example)| &deref(api, example)["value"]);
                all.push((id, status, words(&narrowed[field]["enum"]), examples.collect()));
            }
        }
    }
    all
}

#[test]
fn every_code_is_in_a_response_and_every_response_code_exists() {
    let api = api();
    let mut seen = BTreeSet::new();
    for (id, status, codes, examples) in listed(&api, "code") {
        seen.extend(codes.iter().map(|code| (status, (*code).to_owned())));
        let shown: BTreeSet<&str> = examples.iter().filter_map(|example| example["code"].as_str()).collect();
        assert_eq!(shown, codes.into_iter().collect(), "examples of {id}, {status}");
    }
    let known = CODES.iter().map(|row| (row.status, row.code.to_owned())).collect();
    assert_eq!(seen, known, "left: openapi.yaml, right: edge::CODES");
}

#[test]
fn every_problem_of_lead_capture_is_in_a_response_and_every_response_problem_exists() {
    let api = api();
    let mut seen = BTreeSet::new();
    for (id, status, types, examples) in listed(&api, "type") {
        seen.extend(types.iter().map(|name| (status, (*name).to_owned())));
        let shown: BTreeSet<&str> = examples.iter().filter_map(|example| example["type"].as_str()).collect();
        assert_eq!(shown, types.into_iter().collect(), "examples of {id}, {status}");
    }
    let mut known: BTreeSet<(u16, String)> =
        PROBLEMS.iter().map(|row| (row.status, row.name.to_owned())).collect();
    // The gateway's response for another path or method.
    known.insert((404, "SERVICE.CAMPAIGN_LEADS.INVALID_REQUEST".to_owned()));
    assert_eq!(seen, known, "left: openapi.yaml, right: edge::capture::PROBLEMS");
}

#[test]
fn examples_of_errors_have_the_codes_status_and_title() {
    let api = api();
    let codes = CODES.iter().map(|row| (row.code, (row.status, row.title)));
    let known: BTreeMap<&str, (u16, &str)> =
        codes.chain(PROBLEMS.iter().map(|row| (row.name, (row.status, row.title)))).collect();
    for (name, example) in object(&api["components"]["examples"]) {
        let value = &example["value"];
        let code = value["code"].as_str().or(value["type"].as_str().filter(|_| value["title"].is_string()));
        let Some(code) = code.filter(|_| name != "noLeadRoute") else { continue };
        let (status, title) = known[code];
        assert_eq!((&value["status"], &value["title"]), (&json!(status), &json!(title)), "{name}");
    }
}

#[test]
fn enumerations_match_the_domain() {
    let api = api();
    let types = [ContactType::Normal, ContactType::Partial].map(ContactType::as_str);
    let statuses = [UserStatus::Active, UserStatus::Disabled].map(UserStatus::as_str);
    let event_types = [EventType::NAMES, &["*"]].concat();
    let shown = [MessageStatus::NAMES, &[Received::STATUS]].concat();
    let rows: &[(&str, &[&str])] = &[
        ("/ConversationStatus/enum", ConversationStatus::NAMES),
        ("/MessageStatus/enum", MessageStatus::NAMES),
        ("/ShownMessageStatus/enum", &shown),
        ("/MessageDirection/enum", Direction::NAMES),
        ("/MessageType/enum", MessageType::NAMES),
        ("/MessageSenderType/enum", SentBy::NAMES),
        ("/MessageProviderType/enum", Provider::NAMES),
        ("/LanguageCode/enum", Language::NAMES),
        ("/FileType/enum", FileType::NAMES),
        ("/AttributeCategory/enum", AttributeCategory::NAMES),
        ("/AttributeType/enum", AttributeType::NAMES),
        ("/LeadState/enum", LeadState::NAMES),
        ("/LeadRefusalReason/enum", NotRetried::NAMES),
        ("/ConsentStatus/enum", ConsentStatus::NAMES),
        ("/ContactType/enum", &types),
        ("/TemplateStatus/enum", TemplateStatus::NAMES),
        ("/TemplateCategory/enum", TemplateCategory::NAMES),
        ("/TemplateParameterKind/enum", SlotKind::NAMES),
        ("/Template/properties/parameterFormat/enum", ParameterFormat::NAMES),
        ("/UserStatus/enum", &statuses),
        ("/AuditAction/enum", AuditAction::NAMES),
        ("/WebhookEventFilter/items/enum", &event_types),
        ("/WebhookJobState/enum", JobState::NAMES),
        ("/WebhookEventType/enum", EventType::NAMES),
        ("/DeliveryState/enum", DeliveryState::NAMES),
        ("/Scope/enum", Scope::NAMES),
        ("/Role/enum", Role::NAMES),
    ];
    for (pointer, names) in rows {
        let found = api["components"]["schemas"].pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(words(found), *names, "{pointer}");
    }
    assert_eq!(schema(&api, "MessageCreated")["properties"]["messagingProduct"]["const"], domain::PLATFORM);
    let scopes = api["components"]["securitySchemes"]["apiKey"]["description"].as_str().unwrap();
    for scope in Scope::NAMES {
        assert!(scopes.contains(&format!("`{scope}`")), "{scope}");
    }
    let errors = schema(&api, "MessagePart")["properties"]["error"]["description"].as_str().unwrap();
    for error in [
        PartError::NO_ADDRESS,
        PartError::MISSING_VALUE,
        PartError::NO_TEMPLATE,
        PartError::NO_CONTENT,
        PartError::NO_LINE,
        PartError::OPTED_OUT,
        PartError::OPTED_OUT_MARKETING,
        PartError::BLOCKED,
        PartError::GIVEN_UP,
        PartError::NO_ANSWER,
        PartError::INTERRUPTED,
    ] {
        assert!(errors.contains(&format!("`{error}`")), "{error}");
    }
}

#[test]
fn the_types_of_validation_failures_match_those_of_the_form() {
    let faults = [
        Rejection::Missing,
        Rejection::NotText,
        Rejection::NotObject,
        Rejection::NotList,
        Rejection::TooFewItems(1),
        Rejection::TooManyItems(1),
        Rejection::NotInteger,
        Rejection::NotNumber,
        Rejection::Below(1),
        Rejection::Above(1),
        Rejection::NotBool,
        Rejection::Unknown { what: "field", allowed: &[] },
        Rejection::Refused(""),
        Rejection::Unfit(Unfit::TooShort { min: 1 }),
        Rejection::Unfit(Unfit::TooLong { max: 1 }),
        Rejection::Unfit(Unfit::Shape { pattern: "", form: "" }),
        Rejection::Unfit(Unfit::NotOneOf { expected: &[] }),
        Rejection::Unfit(Unfit::NotAUuid),
    ];
    let mut form = Form::default();
    for fault in faults {
        form.fail(&Node::root("body", None), fault);
    }
    let Err(ApiError::Invalid(failures)) = form.finish(None::<()>) else { panic!("nothing was noted") };
    let noted: BTreeSet<&str> = failures.iter().map(|failure| failure.kind).collect();
    let api = api();
    let kinds = schema(&api, "ValidationFailureType");
    assert_eq!(words(&kinds["enum"]).into_iter().collect::<BTreeSet<_>>(), noted);
}

#[test]
fn limits_match_the_domain() {
    let api = api();
    let largest = RULES.iter().map(|rule| rule.max_bytes).max().unwrap();
    let file = "/components/schemas/FileUploadRequestItem/properties";
    let lead = "/components/schemas/CampaignLeadRequest/properties";
    let create = "/components/schemas/ConversationCreate/properties";
    let update = "/components/schemas/ConversationUpdate/properties/participants/properties";
    let attributes = "/components/schemas/ContactUpdate/properties/customAttributes/properties";
    let text = "/components/schemas/TextMessageCreate/allOf/1/properties";
    let files = "/components/schemas/FileMessageCreate/allOf/1/properties";
    let rows = [
        ("/components/schemas/PersonName/maxLength".to_owned(), PersonName::MAX as u64),
        ("/components/schemas/Email/maxLength".to_owned(), Email::MAX as u64),
        ("/components/schemas/ExternalId/maxLength".to_owned(), ExternalId::MAX as u64),
        ("/components/schemas/Identifier/maxLength".to_owned(), Email::MAX as u64),
        ("/components/schemas/ConversationName/maxLength".to_owned(), ConversationName::MAX as u64),
        ("/components/schemas/ExternalName/maxLength".to_owned(), ChannelId::MAX as u64),
        ("/components/schemas/ExternalName/maxLength".to_owned(), BrandId::MAX as u64),
        (format!("{create}/participants/properties/externals/maxItems"), Conversation::MAX_EXTERNALS as u64),
        (format!("{create}/participants/properties/internals/maxItems"), Conversation::MAX_INTERNALS as u64),
        (format!("{create}/onboardingTemplates/maxItems"), Onboarding::MAX as u64),
        (format!("{update}/externals/properties/add/maxItems"), Conversation::MAX_EXTERNALS as u64),
        (format!("{update}/externals/properties/remove/maxItems"), Conversation::MAX_EXTERNALS as u64),
        (format!("{update}/internals/properties/add/maxItems"), Conversation::MAX_INTERNALS as u64),
        (format!("{update}/internals/properties/remove/maxItems"), Conversation::MAX_INTERNALS as u64),
        (
            "/components/schemas/OnboardingTemplateEntry/properties/parameters/maxProperties".to_owned(),
            Template::MAX_PARAMETERS as u64,
        ),
        (
            "/components/schemas/TemplatePreviewRequest/properties/parameters/maxProperties".to_owned(),
            Template::MAX_PARAMETERS as u64,
        ),
        ("/components/schemas/Template/properties/buttons/maxItems".to_owned(), TemplateForm::MAX_BUTTONS as u64),
        ("/components/schemas/Template/properties/cards/maxItems".to_owned(), TemplateForm::MAX_CARDS as u64),
        (
            "/components/schemas/TemplateOfMessage/properties/parameters/maxProperties".to_owned(),
            Template::MAX_PARAMETERS as u64,
        ),
        (
            "/components/schemas/TemplateOfMessage/properties/parameters/additionalProperties/maxLength".to_owned(),
            ParameterValue::MAX as u64,
        ),
        (
            "/components/schemas/OnboardingTemplateEntry/properties/parameters/additionalProperties/maxLength"
                .to_owned(),
            ParameterValue::MAX as u64,
        ),
        (format!("{attributes}/openAttributes/maxItems"), AttributeDefinition::MAX_ACTIVE as u64),
        (format!("{attributes}/closedAttributes/maxItems"), AttributeDefinition::MAX_ACTIVE as u64),
        (
            "/components/schemas/OpenAttributeUpdate/properties/content/maxLength".to_owned(),
            AttributeDefinition::MAX_CONTENT as u64,
        ),
        (
            "/components/schemas/ClosedAttributeUpdate/properties/closedCustomAttributeIds/maxItems".to_owned(),
            AttributeDefinition::MAX_VALUES as u64,
        ),
        ("/components/schemas/ApiKeyCreate/properties/rate/maximum".to_owned(), RateLimit::MAX_PER_SECOND.into()),
        ("/components/schemas/ApiKeyCreate/properties/burst/maximum".to_owned(), RateLimit::MAX_BURST.into()),
        ("/components/schemas/ApiKeyCreate/properties/scopes/maxItems".to_owned(), Scope::NAMES.len() as u64),
        (
            "/components/schemas/WebhookEndpointCreate/properties/description/maxLength".to_owned(),
            WebhookEndpoint::MAX_DESCRIPTION as u64,
        ),
        ("/components/schemas/WebhookEndpointUpdate/properties/maxPerSecond/maximum".to_owned(), EndpointCaps::MOST.into()),
        ("/components/schemas/WebhookUrl/maxLength".to_owned(), EndpointUrl::MAX as u64),
        ("/components/schemas/ReceiverKey/maxLength".to_owned(), ReceiverKey::MAX as u64),
        (
            "/components/schemas/WebhookEndpointList/properties/webhookEndpoints/maxItems".to_owned(),
            WebhookEndpoint::MAX_PER_WORKSPACE as u64,
        ),
        (format!("{file}/name/maxLength"), FileName::MAX as u64),
        (format!("{file}/contentLength/maximum"), largest),
        (format!("{text}/messageBody/maxLength"), MessageBody::MAX as u64),
        (format!("{text}/mediaIds/maxItems"), Message::MAX_MEDIA as u64),
        (format!("{files}/messageBody/maxLength"), MessageBody::MAX as u64),
        (format!("{files}/mediaIds/maxItems"), Message::MAX_MEDIA as u64),
        (
            "/paths/~1service~1api~1v1~1workspaces~1{workspaceId}~1files/post/requestBody/content/application~1json/schema/maxItems"
                .to_owned(),
            Media::MAX_AT_ONCE as u64,
        ),
        ("/components/schemas/Search/minLength".to_owned(), SearchQuery::MIN as u64),
        ("/components/schemas/Search/maxLength".to_owned(), SearchQuery::MAX as u64),
        (format!("{lead}/captureKey/maxLength"), LeadRequest::MAX_KEY as u64),
        (format!("{lead}/recaptchaToken/maxLength"), LeadRequest::MAX_TOKEN as u64),
        (format!("{lead}/name/maxLength"), LeadName::MAX as u64),
        (format!("{lead}/landingUri/maxLength"), LandingUri::MAX as u64),
        (format!("{lead}/utm/maxProperties"), Utm::MAX as u64),
        (format!("{lead}/utm/propertyNames/maxLength"), Utm::MAX_TEXT as u64),
        (format!("{lead}/utm/additionalProperties/maxLength"), Utm::MAX_TEXT as u64),
        ("/components/examples/tooLarge/value/extra/maxBytes".to_owned(), ApiRequest::MAX_BODY as u64),
    ];
    for (pointer, limit) in rows {
        assert_eq!(api.pointer(&pointer), Some(&json!(limit)), "{pointer}");
    }
}

#[test]
fn every_event_is_a_webhook_with_its_headers_and_every_webhook_is_an_event() {
    let api = api();
    let described: BTreeSet<&str> = object(&api["webhooks"]).map(|(name, _)| name.as_str()).collect();
    assert_eq!(described, EventType::NAMES.iter().copied().collect());
    for (name, item) in object(&api["webhooks"]) {
        let event_type = EventType::parse(name).unwrap();
        let sent = &item["post"]["requestBody"]["content"]["application/json"];
        let narrowed = &deref(&api, &sent["schema"])["allOf"][1]["properties"];
        assert_eq!(narrowed["eventType"]["const"], event_type.as_str());
        assert_eq!(narrowed["entity"]["const"], event_type.entity(), "{name}");
        let parameters = item["post"]["parameters"].as_array().unwrap().iter();
        let headers: BTreeSet<String> = parameters
            .map(|parameter| deref(&api, parameter)["name"].as_str().unwrap().to_lowercase())
            .collect();
        let signed = [
            signature::API_KEY,
            signature::SIGNATURE,
            signature::TIMESTAMP,
            signature::STANDARD_ID,
            signature::STANDARD_TIMESTAMP,
            signature::STANDARD_SIGNATURE,
        ];
        assert_eq!(headers, signed.map(str::to_owned).into(), "{name}");
    }
}

/// All fields of a schema, including those of its parts, and its required fields.
fn fields<'a>(api: &'a Value, schema: &'a Value) -> (BTreeMap<&'a str, &'a Value>, BTreeSet<&'a str>) {
    let schema = deref(api, schema);
    let (mut all, mut required) = (BTreeMap::new(), BTreeSet::new());
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let (fields, needed) = fields(api, part);
        all.extend(fields);
        required.extend(needed);
    }
    all.extend(object(&schema["properties"]).map(|(name, field)| (name.as_str(), field)));
    required.extend(words(&schema["required"]));
    (all, required)
}

/// Documented fields that are not always present.
const SOMETIMES: [&str; 2] = ["Content-Length", "detail"];

/// Documented fields that only messages of customers have.
const OF_CUSTOMERS: [&str; 9] = [
    "content",
    "contactId",
    "referral",
    "referredProduct",
    "forwarded",
    "providerErrors",
    "raw",
    "editedAt",
    "revokedAt",
];

fn is_of_customers(at: &str) -> bool {
    at.starts_with("Message") && OF_CUSTOMERS.iter().any(|name| at.ends_with(&format!(".{name}")))
}

/// Documented fields that depend on the kind of a template's header or button.
fn is_of_a_kind(at: &str) -> bool {
    at.starts_with("Template")
        && [".url", ".phoneNumber", "header.text"].iter().any(|name| at.ends_with(name))
}

/// Checks that an object has exactly the fields of its schema, and that the objects in it have theirs.
fn assert_shows(api: &Value, at: &str, shown: &Value, schema: &Value) {
    let schema = deref(api, schema);
    let schema =
        schema["anyOf"].as_array().and_then(|choices| choices.first()).map_or(schema, |one| deref(api, one));
    match shown {
        Value::Object(members) => {
            let (described, required) = fields(api, schema);
            if described.is_empty() {
                assert!(schema["additionalProperties"].is_object(), "{at} is an object without fields");
                return;
            }
            let members: BTreeMap<&str, &Value> =
                members.iter().map(|(name, value)| (name.as_str(), value)).collect();
            let mut always: BTreeSet<&str> = described.keys().copied().collect();
            always.retain(|name| !SOMETIMES.contains(name));
            assert_eq!(required, always, "{at}: left: `required`, right: `properties`");
            let (shown, described_names): (BTreeSet<_>, BTreeSet<_>) =
                (members.keys().copied().collect(), described.keys().copied().collect());
            assert_eq!(shown, described_names, "{at}: left: the code, right: openapi.yaml");
            for (name, value) in members {
                assert_shows(api, &format!("{at}.{name}"), value, described[name]);
            }
        }
        Value::Array(items) => {
            assert!(!items.is_empty() || is_of_customers(at), "{at} is to be seen with something in it");
            for item in items {
                assert_shows(api, &format!("{at}[]"), item, &schema["items"]);
            }
        }
        Value::Null => {
            assert!(is_of_customers(at) || is_of_a_kind(at), "{at} is to be seen with a value");
        }
        _ => {}
    }
}

struct Counting(std::sync::atomic::AtomicU64);

impl Ids for Counting {
    fn next(&self) -> Uuid {
        id(u128::from(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) + 1_000)
    }
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn moment() -> Timestamp {
    Timestamp::from_millis(1_767_323_045_678)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(id(1))
}

fn email() -> Email {
    Email::parse("ana@example.com").unwrap()
}

fn definitions() -> Definitions {
    let open = AttributeDefinition {
        id: AttributeId::from_uuid(id(2)),
        workspace_id: workspace(),
        category: AttributeCategory::Closed,
        is_required: true,
        key_name: "plan".to_owned(),
        attribute_type: AttributeType::Text,
        closed_values: vec![ClosedValue { id: ClosedValueId::from_uuid(id(3)), value: "Team".to_owned() }],
        created_at: moment(),
        deleted_at: Some(Timestamp::from_millis(i64::MAX)),
        version: 1,
    };
    Definitions::new(vec![open])
}

fn contact() -> Contact {
    Contact {
        id: ContactId::from_uuid(id(4)),
        workspace_id: workspace(),
        created_at: moment(),
        updated_at: moment(),
        first_name: PersonName::parse("Ana").ok(),
        last_name: PersonName::parse("Pérez").ok(),
        email: Some(email()),
        cellphone: Cellphone::parse("+34600111222").ok(),
        external_id: ExternalId::parse("crm-1").ok(),
        user_ids: UserIds::one(
            BusinessAccountId::parse("2055500001").unwrap(),
            ProviderUserId::parse("ES.1").unwrap(),
        ),
        wa_id: None,
        moved_at: None,
        number_since: None,
        language: Some(Language::Es),
        owner: Some(Owner { id: UserId::from_uuid(id(5)), email: email() }),
        attributes: [(
            AttributeId::from_uuid(id(2)),
            AttributeContent::Open(OpenContent::parse("x").unwrap()),
        )]
        .into(),
        merging: None,
        erasing: None,
        merged: vec![],
        version: 1,
    }
}

fn conversation() -> Conversation {
    Conversation {
        name: ConversationName::parse("Order").ok(),
        externals: vec![External {
            contact: contact().id,
            shown: ContactRef::Id(contact().id),
            channel: ChannelId::parse("line").unwrap(),
            brand: BrandId::parse("brand").unwrap(),
            joined_at: moment(),
            last_seen_at: Some(moment()),
        }],
        internals: vec![Internal {
            user: UserId::from_uuid(id(5)),
            shown: UserRef::Email(email()),
            joined_at: moment(),
            last_seen_at: Some(moment()),
        }],
        ..Conversation::blank(ConversationId::from_uuid(id(6)), workspace(), moment())
    }
}

fn message() -> Message {
    let picture = Attached {
        media: MediaId::from_uuid(id(7)),
        file_type: FileType::Image,
        content_type: "image/png".to_owned(),
        name: FileName::parse("a.png").unwrap(),
        size: 1,
    };
    let draft = Draft {
        conversation: conversation().id,
        body: MessageBody::parse("Hello").ok(),
        media: vec![picture.media],
        broadcast: true,
        reply_to: Some(MessageId::from_uuid(id(8))),
    };
    let mut message = draft.message(MessageId::from_uuid(id(9)), &conversation(), 1, vec![picture], moment());
    for part in &mut message.parts {
        part.provider_message_id = Some("wamid.1".to_owned());
        part.error = Some(PartError::of("131026").because("Message undeliverable."));
        part.text = Some("Hello Ana".to_owned());
        let pricing = Pricing::of(Some(true), Some("utility"), Some("regular")).unwrap();
        part.pricing = Some(Priced { by: PricedBy::Delivered, pricing });
        part.delivered_at = Some(moment());
        part.read_at = Some(moment());
    }
    message
}

fn account() -> BusinessAccountId {
    BusinessAccountId::parse("205550000000001").unwrap()
}

/// A template with everything that one can have.
fn template() -> Template {
    let text = |text: &str| Text::parse(text, ParameterFormat::Named);
    let button = |kind| Button { text: "See".to_owned(), kind };
    let buttons = vec![
        button(ButtonKind::Url("https://aster.example/{{1}}".to_owned())),
        button(ButtonKind::PhoneNumber("+34600111222".to_owned())),
    ];
    let card = Card { header: FileKind::Image, body: text("Rome"), buttons: buttons.clone() };
    let state = AccountState {
        quality: Some("GREEN".to_owned()),
        category: Some(TemplateCategory::Utility),
        reason: Some("NONE".to_owned()),
        ..AccountState::of(TemplateStatus::Approved, moment(), SaidBy::Sync)
    };
    Template {
        id: TemplateId::from_uuid(id(11)),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "trip_ready".to_owned(),
        language: "es".to_owned(),
        category: Some(TemplateCategory::Utility),
        form: TemplateForm {
            header: Some(Header::Text(text("Trip"))),
            body: text("To {{city}}"),
            footer: Some("Aster".to_owned()),
            buttons,
            offer: Some(Offer { text: "Now".to_owned(), expires: true }),
            cards: vec![card],
            ..TemplateForm::of_names(vec![])
        },
        sources: ["city", "button.0.url", "offer.expiresAt", "card.0.header.image", "card.0.button.0.url"]
            .map(|slot| (slot.to_owned(), Source::Fixed(ParameterValue::parse("x").unwrap())))
            .into(),
        states: [(account(), state)].into(),
        taken_from: None,
        created_at: moment(),
        updated_at: moment(),
        version: 1,
    }
}

fn filling() -> Filling {
    Filling { values: [("city".to_owned(), Filled::Text("Rome".to_owned()))].into(), faults: vec![] }
}

fn problem() -> view::ProblemView {
    let (kind, parameter, reason) = (FaultKind::Unfit, "city".to_owned(), "is blank".to_owned());
    view::ProblemView::refused(&Fault { kind, parameter, reason })
}

fn lead() -> Lead {
    let request = LeadRequest {
        workspace_id: workspace(),
        capture_key: domain::Secret::new("key"),
        cellphone: Cellphone::parse("+34600111222").unwrap(),
        name: LeadName::read("Ana").unwrap(),
        brand: None,
        landing_uri: LandingUri::parse("https://www.example.com/").unwrap(),
        utm: Utm::of([("utm_source".to_owned(), "mail".to_owned())].into()).unwrap(),
        consent: ConsentClaim { captured_at: Some(moment()), text: ConsentText::parse("I agree.").ok() },
        captcha: domain::Secret::new("token"),
    };
    let brand = BrandId::parse("brand").unwrap();
    let score = Score::from_hundredths(90).unwrap();
    let seen = VisitorSeen { brand, score, address: "192.0.2.1", user_agent: None };
    let error = Some(PartError::of("131026").because("Message undeliverable."));
    Lead {
        opened: true,
        state: LeadState::Failed,
        error,
        message_version: Some(3),
        ..request.accepted(seen, &Counting(0.into()), moment())
    }
}

fn retried_leads() -> RetriedLeads {
    let refused = vec![(lead().id, NotRetried::State)];
    RetriedLeads { retried: vec![lead().id], refused, next: None }
}

fn chosen(choice: Choice, scope: &ChoiceScope) -> Value {
    let chooser = Chooser::Number(Cellphone::parse("+34600111222").unwrap());
    let chosen =
        Chosen { choice, scopes: [scope.clone()].into(), source: ChoiceSource::Keyword, at: moment() };
    let key = domain::PersonKey::new([7; 32]);
    let person = Choosers::new(&key, workspace(), [chooser], Some(ContactId::from_uuid(id(2))));
    let choices = Choices::of_person(&[None], &person, &chosen, moment()).remove(0);
    json!(view::choice(&choices, scope, &choices.scopes[scope]))
}

fn endpoint() -> WebhookEndpoint {
    WebhookEndpoint {
        id: EndpointId::from_uuid(id(10)),
        workspace_id: workspace(),
        url: EndpointUrl::restore("https://hooks.example.com/in").unwrap(),
        description: Some("orders".to_owned()),
        state: EndpointState::Disabled { since: moment(), reason: DisabledReason::Tenant },
        filter: EventFilter::All,
        caps: EndpointCaps { concurrency: Some(1), per_second: Some(1) },
        slots: 1,
        forgets_before: None,
        failing_since: None,
        created_at: moment(),
        version: 1,
    }
}

fn delivery() -> FoundDelivery {
    let slot = Slot { workspace: workspace(), endpoint: endpoint().id, number: 0 };
    let event = EventId::from_uuid(id(12));
    let mut delivery =
        Delivery::new(slot, event, EventType::LeadSent, moment(), moment(), std::time::Duration::ZERO);
    delivery.last = Some((moment(), AttemptOutcome::Answered { status: 503, retry_after: None }));
    (delivery, Some(endpoint()))
}

/// The delivery of a kind that no endpoint has: each of its fields has a value.
fn with_all(mut shown: Value) -> Value {
    shown["dueAt"] = json!(moment().to_string());
    shown
}

fn delivery_with_all() -> Value {
    with_all(json!(view::delivery(&delivery())))
}

fn delivery_details() -> Value {
    let outcome = AttemptOutcome::Answered { status: 503, retry_after: Some(std::time::Duration::ZERO) };
    let took = std::time::Duration::ZERO;
    let attempt = Attempt { number: 1, at: moment(), took, outcome, answer: b"no".to_vec() };
    let mut shown = with_all(json!(view::delivery_details(&DeliveryDetails {
        found: delivery(),
        attempts: vec![attempt]
    })));
    // The values of the others are secret, or made anew.
    let first = shown["headers"][0].clone();
    shown["headers"] = json!([first]);
    shown
}

fn event_with_all() -> Value {
    let mut shown = json!(view::event(&[delivery()], Some("{}")));
    shown["deliveries"] = json!([delivery_with_all()]);
    shown
}

fn event_details() -> Value {
    let event = RecordedEvent {
        id: EventId::from_uuid(id(12)),
        event_type: EventType::LeadSent,
        at: moment(),
        about: None,
        body: vec![],
        request: Some("r".to_owned()),
        slots: vec![],
    };
    let details = EventDetails { event, deliveries: vec![delivery()] };
    let mut shown = json!(view::event_details(&details, "{}"));
    shown["deliveries"] = json!([delivery_with_all()]);
    shown
}

/// A job of a kind that no endpoint has: each of its fields has a value.
fn job() -> Value {
    let of = |kind| JobProgress {
        id: JobId::from_uuid(id(11)),
        endpoint: EndpointId::from_uuid(id(10)),
        kind,
        state: JobState::Active,
        attempted: 1,
        delivered: 1,
        passed_over: 1,
        asked_at: moment(),
        moved_at: moment(),
    };
    let mut shown = json!(view::job(&of(JobKind::Replay { since: moment(), until: moment() })));
    let event = EventId::from_uuid(id(12));
    shown["deliveryId"] = json!(view::job(&of(JobKind::Retry { event, at: moment() })))["deliveryId"].clone();
    shown
}

fn api_key(by: &Actor) -> ApiKey {
    ApiKey {
        id: KeyId::from_uuid(id(8)),
        workspace_id: workspace(),
        name: "crm".to_owned(),
        kind: KeyKind::Key,
        scopes: Scopes::parse(["contacts:read"]).unwrap(),
        rate: RateLimit::DEFAULT,
        bucket: KeyId::from_uuid(id(8)),
        created_at: moment(),
        created_by: by.clone(),
        expires_at: Some(moment()),
        revoked_at: Some(moment()),
    }
}

#[test]
fn responses_and_events_have_exactly_the_documented_fields() {
    let api = api();
    let (contact, definitions, conversation, message) = (contact(), definitions(), conversation(), message());
    let user = User {
        id: UserId::from_uuid(id(5)),
        workspace_id: workspace(),
        status: UserStatus::Active,
        created_at: moment(),
        updated_at: moment(),
        first_name: PersonName::parse("Ada").ok(),
        last_name: PersonName::parse("Okafor").ok(),
        email: email(),
        cellphone: Cellphone::parse("+34600111222").ok(),
        language: Some(Language::En),
        version: 1,
    };
    let file = Declared {
        name: FileName::parse("a.txt").unwrap(),
        file_type: FileType::Document,
        content_type: "text/plain",
        digest: MediaDigest::parse("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=").unwrap(),
        size: Some(5),
    };
    let media = Media::ready(&file, workspace(), &Counting(0.into()), moment());
    let tally = Tally { first: Some(moment()), last: Some(moment()), ..Tally::default() };
    let summary = Summary { conversation: conversation.clone(), tally };
    let contacts = vec![view::contact(&contact, &definitions, moment())];
    let event = Event {
        id: EventId::from_uuid(id(10)),
        event_type: EventType::ContactUpdated,
        workspace_id: workspace(),
        at: moment(),
    };
    let event: Value = serde_json::from_slice(&view::event_body(&event, &json!({})).unwrap()).unwrap();
    let visitor = Actor::Session { id: KeyId::from_uuid(id(8)), subject: Some("ana@example.com".to_owned()) };
    let author = Author { actor: visitor, request_id: Some("r".to_owned()) };
    let key = api_key(&author.actor);
    let entry = AuditEntry {
        id: AuditEntryId::from_uuid(id(9)),
        workspace_id: workspace(),
        at: moment(),
        author,
        action: AuditAction::WorkspaceUpdate,
        subject: workspace().to_string(),
        fields: vec!["name".to_owned()],
    };
    // A new key was never used. The field is that of every key.
    let mut created = json!(view::created_key(&key, Some("msk_")));
    created["lastUsedAt"] = json!(moment().to_string());
    let endpoint = endpoint();
    let health = Health {
        width: 16,
        open_until: Some(moment()),
        slow_until: Some(moment()),
        failing_since: Some(moment()),
    };
    let details = EndpointDetails {
        endpoint: endpoint.clone(),
        next_secret_signs: true,
        previous_signs_until: Some(moment()),
        health,
    };
    let activated = Activated { is_new: true, previous_signs_until: Some(moment()) };
    let mut changed = json!(view::changed_endpoint(&endpoint, None));
    changed["job"] = job();
    let (template, account) = (template(), account());
    let accounts = [&account];
    let of_line = ChoiceScope::Line(ChannelId::parse("line").unwrap());
    let rows = [
        ("Contact", json!(view::contact(&contact, &definitions, moment()))),
        ("ContactPage", json!(view::ContactsView { contacts, cursor: String::new() })),
        ("Conversation", json!(view::conversation(&conversation))),
        (
            "ConversationPage",
            json!(view::ConversationsView {
                conversations: vec![view::conversation(&conversation)],
                cursor: Some(String::new()),
            }),
        ),
        (
            "CustomAttributeList",
            json!(view::AttributesView {
                custom_attributes: definitions.iter().map(view::attribute).collect()
            }),
        ),
        ("InternalUser", json!(view::user(&user))),
        ("ApiKey", json!(view::api_key(&key, Some(moment())))),
        ("ApiKeyCreated", created),
        (
            "ApiKeyPage",
            json!(view::ApiKeysView {
                api_keys: vec![view::api_key(&key, Some(moment()))],
                cursor: Some(String::new())
            }),
        ),
        ("WebhookEndpoint", json!(view::webhook_endpoint(&endpoint))),
        (
            "WebhookEndpointList",
            json!(view::WebhookEndpointsView { webhook_endpoints: vec![view::webhook_endpoint(&endpoint)] }),
        ),
        ("WebhookEndpointDetails", json!(view::endpoint_details(&details))),
        ("WebhookEndpointCreated", json!(view::created_endpoint(&endpoint, Some("whsec_")))),
        ("WebhookEndpointChanged", changed),
        ("WebhookJob", job()),
        ("WebhookJobList", json!({"jobs": [job()]})),
        ("WebhookTestSent", json!(view::sent_test(delivery().0.id()))),
        ("Delivery", delivery_with_all()),
        ("DeliveryPage", json!({"deliveries": [delivery_with_all()], "cursor": ""})),
        ("DeliveryDetails", delivery_details()),
        ("RecordedEvent", event_with_all()),
        ("EventPage", json!({"events": [event_with_all()], "cursor": ""})),
        ("EventDetails", event_details()),
        ("WebhookSecret", json!(view::new_secret("whsec_", 2))),
        ("WebhookSecretActivated", json!(view::activated_secret(activated))),
        ("AuditEntry", json!(view::audit_entry(&entry))),
        (
            "AuditLogPage",
            json!(view::AuditLogView {
                entries: vec![view::audit_entry(&entry)],
                cursor: Some(String::new())
            }),
        ),
        (
            "FileUploadResponseItem",
            json!(view::upload(MediaId::from_uuid(id(7)), &file, "https://example.com".to_owned())),
        ),
        ("MessageCreated", json!(view::message_created(message.id))),
        ("Message", json!(view::message(&message))),
        (
            "MessagePage",
            json!(view::MessagesView {
                messages: vec![view::message(&message)],
                cursor: Some(String::new())
            }),
        ),
        ("Template", json!(view::template(&template, &accounts))),
        (
            "TemplatePage",
            json!(view::TemplatesView {
                templates: vec![view::template(&template, &accounts)],
                cursor: Some(String::new()),
            }),
        ),
        ("TemplatePreview", json!(view::template_preview(&template, &filling(), vec![problem()]))),
        ("FileDownload", json!(view::file(&media, 5, "https://example.com".to_owned(), moment()))),
        ("ConversationSummary", json!(view::summary(&summary))),
        ("Lead", json!(view::lead(&lead()))),
        ("LeadRecord", json!(view::lead_record(&lead()))),
        ("LeadPage", json!({"leads": [view::lead_record(&lead())], "cursor": ""})),
        ("LeadRetriesDone", json!(view::lead_retries(&retried_leads(), Some(String::new())))),
        ("OptedOut", chosen(Choice::Out, &of_line)),
        ("OptedIn", chosen(Choice::In, &of_line)),
    ];
    for (name, shown) in rows {
        assert_shows(&api, name, &shown, schema(&api, name));
    }
    let described: BTreeSet<&str> = fields(&api, schema(&api, "ContactUpdatedEvent")).0.into_keys().collect();
    assert_eq!(event.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), described);
}

#[test]
fn sessions_have_exactly_the_documented_fields() {
    let api = api();
    let subject = Some("ana@example.com".to_owned());
    let by = Actor::Session { id: KeyId::from_uuid(id(8)), subject: subject.clone() };
    let return_url = Some("https://app.example.com/".to_owned());
    let visitor = Visitor { role: Some(Role::Viewer), subject, return_url };
    let session = ApiKey { kind: KeyKind::Session(visitor), ..api_key(&by) };
    let workspace = Workspace::new(workspace(), "Aster Travel", moment()).unwrap();
    let shown = view::SessionsView { sessions: vec![view::session(&session)], cursor: Some(String::new()) };
    let rows = [
        ("Session", json!(view::session(&session))),
        ("SessionPage", json!(shown)),
        ("StartedSession", json!(view::started_session(&session, "msk_"))),
        ("OwnSession", json!(view::own_session(&session, &workspace))),
        ("PortalLink", json!(view::portal_link(&session, Role::Viewer, "https://api.example.com/"))),
    ];
    for (name, shown) in rows {
        assert_shows(&api, name, &shown, schema(&api, name));
    }
}

#[test]
fn responses_of_lead_capture_have_exactly_the_documented_fields() {
    let api = api();
    let body = |outcome| {
        let answer = json!(CaptureAnswer::of(&outcome, &SentOrigin::Absent));
        serde_json::from_str::<Value>(answer["body"].as_str().unwrap()).unwrap()
    };
    assert_shows(&api, "CampaignLeadAccepted", &body(Ok(lead().id)), schema(&api, "CampaignLeadAccepted"));
    let problem = body(Err(LeadProblem::Rejected("")));
    let shown: BTreeSet<&str> = problem.as_object().unwrap().keys().map(String::as_str).collect();
    let (_, required) = fields(&api, schema(&api, "LeadRejectedProblem"));
    assert_eq!(shown, required);
}
