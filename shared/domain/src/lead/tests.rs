mod sending;

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

use super::*;
use crate::choices::{ChoiceScope, opted_out_of};
use crate::contact::Contact;
use crate::conversation::{ContactRef, Conversation, ConversationStatus, External};
use crate::ids::{BusinessAccountId, ChannelId, Ids, TemplateId};
use crate::lead::captcha::Score;
use crate::lead::capture::{Capture, CaptureKey};
use crate::message::{Content, Message, MessageStatus, SentBy};
use crate::secret::Secret;
use crate::sending::Progress;
use crate::settings::line::{Brand, Line, Lines, Provider};
use crate::settings::template::{AccountState, Form, SaidBy, Template, TemplateScope, TemplateStatus};
use crate::settings::workspace::list_shard;
use crate::text::{Email, PersonName, Unfit};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const MOMENT: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Counting(AtomicU64);

impl Ids for Counting {
    fn next(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(100))
}

fn brand() -> BrandId {
    BrandId::parse("brand").unwrap()
}

fn phone() -> Cellphone {
    Cellphone::parse("+12025550101").unwrap()
}

fn person(name: &str) -> Option<PersonName> {
    PersonName::parse(name).ok()
}

fn request(name: &str) -> LeadRequest {
    LeadRequest {
        workspace_id: workspace(),
        capture_key: Secret::new("lck_0"),
        cellphone: phone(),
        name: LeadName::read(name).unwrap(),
        brand: None,
        landing_uri: LandingUri::parse("https://www.example.com/spring?a=1").unwrap(),
        utm: Utm::of([("utm_source".to_owned(), "search".to_owned())].into()).unwrap(),
        consent: ConsentClaim {
            captured_at: Some(NOW.plus(MOMENT)),
            text: ConsentText::parse("I agree.").ok(),
        },
        captcha: Secret::new("token"),
    }
}

fn seen(address: &str) -> VisitorSeen<'_> {
    let score = Score::from_hundredths(70).unwrap();
    VisitorSeen { brand: brand(), score, address, user_agent: Some("Browser/1.0") }
}

fn lead_of(name: &str) -> Lead {
    request(name).accepted(seen("203.0.113.7"), &Counting::default(), NOW)
}

fn lead() -> Lead {
    lead_of("Ana Pérez")
}

fn line() -> Line {
    let account = BusinessAccountId::parse("2055500001").unwrap();
    Line::new(workspace(), ChannelId::parse("1045551234567").unwrap(), brand(), account, NOW).unwrap()
}

fn template() -> Template {
    Template {
        id: TemplateId::from_uuid(Uuid::from_u128(7)),
        scope: TemplateScope::Workspace(workspace()),
        provider: Provider::WhatsApp,
        name: "hello".to_owned(),
        language: "es".to_owned(),
        category: None,
        form: Form::of_names(vec![]),
        sources: [].into(),
        states: [line().business_account]
            .into_iter()
            .map(|account| (account, AccountState::of(TemplateStatus::Approved, NOW, SaidBy::Operator)))
            .collect(),
        taken_from: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

fn stranger() -> ContactId {
    ContactId::from_uuid(Uuid::from_u128(50))
}

fn error(word: &str) -> PartError {
    PartError::of(word)
}

#[test]
fn the_body_of_a_request_has_at_most_16_kilobytes() {
    assert_eq!(LeadRequest::MAX_BODY, 16_384);
}

#[test]
fn an_accepted_lead_is_queued_with_its_ids_and_its_consent() {
    let ids = Counting::default();
    let lead = request("Ana").accepted(seen("203.0.113.7"), &ids, NOW);
    assert_eq!((lead.state, lead.version, lead.opened), (LeadState::Queued, 1, false));
    assert_eq!((lead.created_at, lead.updated_at, lead.message_version), (NOW, NOW, None));
    assert_eq!((lead.error.clone(), lead.brand.clone(), lead.cellphone.clone()), (None, brand(), phone()));
    let minted =
        [*lead.id.as_uuid(), *lead.contact.as_uuid(), *lead.conversation.as_uuid(), *lead.message.as_uuid()];
    assert_eq!(minted, [1, 2, 3, 4].map(Uuid::from_u128), "each its own");
    let consent = Consent {
        status: ConsentStatus::Granted,
        captured_at: Some(NOW.plus(MOMENT)),
        text: ConsentText::parse("I agree.").ok(),
        received_at: NOW,
        landing_uri: lead.landing_uri.clone(),
        address_hash: Consent::hash_of(lead.id, "203.0.113.7"),
        user_agent: Some("Browser/1.0".to_owned()),
        score: Score::from_hundredths(70).unwrap(),
    };
    assert_eq!(lead.consent, consent);
}

#[test]
fn a_user_agent_is_truncated() {
    let long = "ñ".repeat(Consent::MAX_USER_AGENT + 1);
    let seen = VisitorSeen { user_agent: Some(&long), ..seen("") };
    let kept = request("").accepted(seen.clone(), &Counting::default(), NOW).consent.user_agent.unwrap();
    assert_eq!((kept.chars().count(), long.starts_with(&kept)), (512, true));
    let silent = VisitorSeen { user_agent: None, ..seen };
    assert_eq!(request("").accepted(silent, &Counting::default(), NOW).consent.user_agent, None);
}

#[test]
fn the_text_of_a_consent_is_kept_as_it_was_sent_and_a_blank_one_is_none() {
    let read = |text: &str| ConsentText::read(text).map(|kept| kept.map(|kept| kept.as_str().to_owned()));
    let most = "ñ".repeat(ConsentText::MAX);
    for text in ["I agree.", "  Sí,\n\tquiero \u{200b}mensajes. ", "是", &most] {
        assert_eq!(read(text), Ok(Some(text.to_owned())));
        assert_eq!(ConsentText::parse(text).map(|kept| kept.as_str().to_owned()), Ok(text.to_owned()));
    }
    for blank in ["", " \n", "\u{200b}\u{feff}"] {
        assert_eq!(read(blank), Ok(None), "{blank:?}");
        assert_eq!(ConsentText::parse(blank), Err(Unfit::TooShort { min: 1 }), "{blank:?}");
    }
    assert_eq!(read(&format!("{most}ñ")), Err(Unfit::TooLong { max: 2_000 }));
    assert_eq!(format!("{:?}", ConsentText::parse("Ana agrees")), "Ok([ConsentText])");
}

#[test]
fn an_address_hash_confirms_an_address_and_differs_between_leads() {
    let id = |n| LeadId::from_uuid(Uuid::from_u128(n));
    let hash = Consent::hash_of(id(1), "203.0.113.7");
    // printf '00000000-0000-0000-0000-000000000001|203.0.113.7' | sha256sum
    assert_eq!(hash, "d44f806fcf925965b2ac4abfe785b4bbcfabfda230fdfdffd2aef6fec5bfa36e");
    assert_ne!(hash, Consent::hash_of(id(2), "203.0.113.7"));
    assert_ne!(hash, Consent::hash_of(id(1), "203.0.113.8"));
}

#[test]
fn states_and_consents_have_their_names() {
    for (state, word, ended_without_message) in [
        (LeadState::Queued, "QUEUED", false),
        (LeadState::Sending, "SENDING", false),
        (LeadState::Sent, "SENT", false),
        (LeadState::Failed, "FAILED", true),
        (LeadState::Unknown, "UNKNOWN", false),
        (LeadState::Suppressed, "SUPPRESSED", true),
    ] {
        assert_eq!(state.as_str(), word);
        assert_eq!(state.ended_without_message(), ended_without_message, "{word}");
        assert_eq!(LeadState::parse(word), Ok(state));
    }
    assert_eq!(LeadState::parse("sent"), Err(Unfit::NotOneOf { expected: LeadState::NAMES }));
    for status in [ConsentStatus::Granted, ConsentStatus::NotProvided] {
        assert_eq!(ConsentStatus::parse(status.as_str()), Ok(status));
    }
    assert_eq!(ConsentStatus::parse("granted"), Err(Unfit::NotOneOf { expected: ConsentStatus::NAMES }));
}

#[test]
fn a_name_is_trimmed_and_a_blank_one_is_absent() {
    let name = |text: &str| LeadName::read(text).map(|name| name.map(|name| name.as_str().to_owned()));
    assert_eq!(name(" Ana \n"), Ok(Some("Ana".to_owned())));
    assert_eq!((name(""), name(" \t ")), (Ok(None), Ok(None)));
    assert_eq!(name(&"ñ".repeat(100)), Ok(Some("ñ".repeat(100))));
    assert_eq!(name(&"ñ".repeat(101)), Err(Unfit::TooLong { max: 100 }));
    assert_eq!(name(&format!(" {} ", "ñ".repeat(100))), Ok(Some("ñ".repeat(100))));
    assert_eq!(name("\u{202e}Ana\tRuiz\u{1b}[2J\u{2028}").unwrap().as_deref(), Some("Ana Ruiz [2J"));
    assert_eq!(name("\u{200b}\u{3164}\n"), Ok(None));
    assert_eq!(LeadName::parse(" "), Err(Unfit::TooShort { min: 1 }));
    assert_eq!(LeadName::parse("Ana").unwrap().as_str(), "Ana");
}

#[test]
fn the_first_word_is_the_first_name_and_the_rest_the_last() {
    for (name, first, last) in [
        ("Ana", "Ana", ""),
        ("Ana Pérez", "Ana", "Pérez"),
        ("  Ana   Pérez  de Ruiz ", "Ana", "Pérez  de Ruiz"),
        ("Ana\tPérez", "Ana", "Pérez"),
        ("Ana\u{a0}Pérez", "Ana", "Pérez"),
    ] {
        assert_eq!(LeadName::parse(name).unwrap().first_and_last(), (person(first), person(last)), "{name}");
    }
}

#[test]
fn a_landing_page_is_a_web_url_stored_as_sent() {
    let longest = format!("https://example.com/{}", "x".repeat(2_048 - 20));
    for text in
        ["https://example.com", "HTTP://Example.com/a?b=c#d", "http://localhost:8080/ñ", longest.as_str()]
    {
        assert_eq!(LandingUri::parse(text).unwrap().as_str(), text);
    }
    assert_eq!(LandingUri::parse(""), Err(Unfit::TooShort { min: 1 }));
    assert_eq!(LandingUri::parse(&format!("{longest}x")), Err(Unfit::TooLong { max: 2_048 }));
    for text in [
        "example.com",
        "/spring",
        "ftp://example.com",
        "javascript:alert(1)",
        "mailto:a@example.com",
        "https://",
        "https:example.com",
        "https:/example.com",
        "http:///spring",
        "https:example.com?from=http://a",
        "https:// example.com",
        " https://example.com",
        "https://example.com/a b",
        "https://example.com/\n",
        "https://example.com/\u{0}",
        "data:text/html,x",
        "file:///etc/hosts",
    ] {
        assert_eq!(LandingUri::parse(text), Err(Unfit::Value { reason: "not a web page" }), "{text}");
    }
}

#[test]
fn the_keys_and_values_of_a_campaign_are_limited() {
    let utm = |values: Vec<(String, String)>| Utm::of(values.into_iter().collect());
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let keys = |count: usize| (0..count).map(|n| pair(&format!("k{n}"), "")).collect::<Vec<_>>();
    assert_eq!(utm(keys(20)).unwrap().values().len(), 20);
    assert_eq!(utm(keys(21)), Err(Unfit::TooLong { max: 20 }));
    let (longest, longer) = ("ñ".repeat(256), "ñ".repeat(257));
    assert!(utm(vec![pair(&longest, &longest)]).is_ok());
    assert_eq!(utm(vec![pair("", "x")]), Err(Unfit::TooShort { min: 1 }));
    assert_eq!(utm(vec![pair(&longer, "")]), Err(Unfit::TooLong { max: 256 }));
    assert_eq!(utm(vec![pair("a", &longer)]), Err(Unfit::TooLong { max: 256 }));
}

#[test]
fn personal_data_of_a_visitor_prints_redacted() {
    let printed = format!("{:?} {:?}", request("Ana Pérez"), lead());
    for word in ["Ana", "Pérez", "spring", "+12025550101", "Browser", "search", "token"] {
        assert!(!printed.contains(word), "{word}: {printed}");
    }
}

/// Enabled capture settings.
fn capture() -> Capture {
    Capture { enabled: true, ..Capture::new(workspace(), CaptureKey::from_entropy([1; 6]), NOW) }
}

/// The workspace's lines: one of the brand, and another.
fn lines() -> Lines {
    let other = Line { channel: ChannelId::parse("2").unwrap(), ..line() };
    let of_brand =
        Brand { line: Some(line().channel), ..Brand::new(brand(), workspace(), "A brand", NOW).unwrap() };
    Lines { lines: vec![line(), other], brands: vec![of_brand], default: None }
}

#[test]
fn reasons_that_forbid_a_lead_come_before_reasons_that_prevent_it() {
    let (on, lines, template) = (capture(), lines(), template());
    let line = &lines.lines[0];
    let none = Lines { lines: vec![], ..lines.clone() };
    let off = Capture { enabled: false, ..on.clone() };
    // The message waits or fails by the status of its template.
    let unapproved = Template { states: [].into(), ..template.clone() };
    let [out, marketing] = [ChoiceScope::All, ChoiceScope::Marketing].map(|scope| [opted_out_of(scope)]);
    let nothing = LeadKnown { capture: None, choices: &out, lines: &none, template: None };
    let not_given = {
        let mut lead = lead();
        lead.consent.status = ConsentStatus::NotProvided;
        lead
    };
    let suppressed = |word| Judgement::Suppressed(error(word));
    let no_line = || Judgement::Failed { error: error("NO_LINE"), line: None };
    let enabled = LeadKnown { capture: Some(&on), ..nothing };
    let willing = LeadKnown { choices: &[], ..enabled };
    let reached = LeadKnown { lines: &lines, ..willing };
    let no_template = Judgement::Failed { error: error("NO_TEMPLATE"), line: Some((line, brand())) };
    let rows = [
        (&not_given, nothing, suppressed("NO_CONSENT")),
        (&lead(), nothing, suppressed("CAPTURE_DISABLED")),
        (&lead(), LeadKnown { capture: Some(&off), ..nothing }, suppressed("CAPTURE_DISABLED")),
        (&lead(), enabled, suppressed("OPTED_OUT")),
        (&lead(), LeadKnown { choices: &marketing, ..enabled }, suppressed("OPTED_OUT_MARKETING")),
        (&lead(), willing, no_line()),
        (&lead(), LeadKnown { template: Some(&template), ..willing }, no_line()),
        (&lead(), reached, no_template),
        (
            &lead(),
            LeadKnown { template: Some(&unapproved), ..reached },
            Judgement::Message(line, &unapproved),
        ),
        (&lead(), LeadKnown { template: Some(&template), ..reached }, Judgement::Message(line, &template)),
    ];
    for (lead, known, expected) in rows {
        assert_eq!(lead.judge(&known), expected, "{known:?}");
    }
}

#[test]
fn a_lead_without_a_line_of_its_brand_is_shown_on_the_default_or_the_oldest() {
    let capture = capture();
    let of_other = Lead { brand: BrandId::parse("unknown").unwrap(), ..lead() };
    let oldest =
        Line { channel: ChannelId::parse("3").unwrap(), created_at: Timestamp::from_millis(1), ..line() };
    let mut lines = lines();
    lines.lines.push(oldest);
    for (default, expected) in [(Some("2"), "2"), (None, "3"), (Some("gone"), "3")] {
        lines.default = default.map(|channel| ChannelId::parse(channel).unwrap());
        let known = LeadKnown { capture: Some(&capture), choices: &[], lines: &lines, template: None };
        let Judgement::Failed { error, line } = of_other.judge(&known) else { panic!("no line") };
        let (line, shown) = line.unwrap();
        assert_eq!((error.as_str(), line.channel.as_str(), shown), ("NO_LINE", expected, brand()));
    }
}

#[test]
fn an_unknown_number_becomes_a_contact_with_the_leads_name() {
    for (name, first, last) in [("Ana Pérez", "Ana", "Pérez"), ("Ana", "Ana", ""), ("", "", "")] {
        let lead = lead_of(name);
        let expected = Contact {
            first_name: person(first),
            last_name: person(last),
            cellphone: Some(phone()),
            ..Contact::blank(lead.contact, workspace(), NOW)
        };
        assert_eq!(lead.contact_of(None, NOW), expected);
    }
}

#[test]
fn only_a_missing_name_of_a_known_contact_is_filled_in() {
    let later = NOW.plus(MOMENT);
    let blank = Contact {
        cellphone: Some(phone()),
        email: Email::parse("ana@example.com").ok(),
        version: 3,
        ..Contact::blank(stranger(), workspace(), NOW)
    };
    let named = |first, last| Contact { first_name: person(first), last_name: person(last), ..blank.clone() };
    let filled = |first, last| Contact { updated_at: later, version: 4, ..named(first, last) };
    for (name, found, expected) in [
        ("Ana Pérez", named("", ""), filled("Ana", "Pérez")),
        ("Ana", named("", ""), filled("Ana", "")),
        ("", named("", ""), named("", "")),
        ("Ana Pérez", named("María", "Gil"), named("María", "Gil")),
        // A name with only one part stays as it is. Otherwise the contact would become "María Pérez", who
        // does not exist.
        ("Ana Pérez", named("María", ""), named("María", "")),
        ("Ana Pérez", named("", "Gil"), named("", "Gil")),
    ] {
        assert_eq!(lead_of(name).contact_of(Some(&found), NOW), expected, "{name}");
    }
    let ahead = Contact { updated_at: later, ..blank };
    assert_eq!(lead().contact_of(Some(&ahead), NOW).updated_at, later.plus(MOMENT), "time goes on");
}

#[test]
fn a_lead_opens_an_unassigned_conversation_with_one_message_to_send() {
    let lead = lead();
    let contact = lead.contact_of(None, NOW);
    let conversation = lead.new_conversation(lead.conversation, &contact, (&line(), brand()), 4, NOW);
    let external = External {
        contact: lead.contact,
        shown: ContactRef::Cellphone(phone()),
        channel: line().channel,
        brand: brand(),
        joined_at: NOW,
        last_seen_at: None,
    };
    let expected = Conversation {
        id: lead.conversation,
        workspace_id: workspace(),
        name: None,
        status: ConversationStatus::NotAssignedToHuman,
        externals: vec![external],
        internals: vec![],
        created_at: NOW,
        updated_at: NOW,
        list_shard: list_shard(lead.conversation.as_uuid(), 4),
        version: 1,
        expires_at: None,
    };
    assert_eq!(conversation, expected);
    let message = lead.message_in(&conversation, &contact, template().bare_content(NOW), 7, NOW).unwrap();
    assert_eq!((message.id, message.conversation, message.seq), (lead.message, lead.conversation, 7));
    assert_eq!((message.sent_by, message.lead, message.version), (SentBy::Lead, Some(lead.id), 1));
    assert_eq!(message.content, Content::Template(template().bare_content(NOW)));
    assert_eq!((message.status(), message.parts.len()), (MessageStatus::Queued, 1));
    assert_eq!((message.created_at, &message.progress), (NOW, &Progress::default()));
    // Nobody else in the conversation gets it, and nobody gets it if the contact has left.
    let mut joined = conversation.clone();
    joined.externals.push(External { contact: stranger(), ..conversation.externals[0].clone() });
    let message = lead.message_in(&joined, &contact, template().bare_content(NOW), 1, NOW).unwrap();
    assert_eq!(message.recipients.iter().map(|to| to.contact).collect::<Vec<_>>(), [contact.id]);
    joined.externals.remove(0);
    assert_eq!(lead.message_in(&joined, &contact, template().bare_content(NOW), 1, NOW), None);
}
