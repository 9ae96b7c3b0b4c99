//! The stored data of a lead and of its consent.

use domain::lead::captcha::Score;
use domain::lead::{ConsentStatus, ConsentText, LandingUri, LeadName, Utm};
use domain::{BrandId, Cellphone, Consent, Lead, LeadState, Timestamp};
use harness::{TestClock, World};
use serde_json::json;

use crate::{PHONE, Site, with};

#[tokio::test]
async fn every_field_of_a_lead_is_stored() {
    let site = Site::start().await;
    let page = "https://www.example.com/spring?utm_source=search#form";
    let mut body = site.body();
    body["name"] = json!("  Ada Lovelace ");
    body["brandId"] = json!(World::BRAND);
    body["landingUri"] = json!(page);
    body["utm"] = json!({"source": "search", "term": "motores anal\u{ed}ticos", "empty": ""});
    body["consent"]["capturedAt"] = json!("2026-01-02T04:04:00.5+01:00");
    body["consent"]["text"] = json!(" S\u{ed}, acepto\nmensajes. ");
    let answer = site.send(site.event(&body).header("user-agent", "Browser/1.0 (\u{fc})")).await;
    let lead = site.lead(crate::id(&answer)).await;
    let utm = [("source", "search"), ("term", "motores anal\u{ed}ticos"), ("empty", "")];
    let utm = utm.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let expected = Lead {
        id: crate::id(&answer),
        workspace_id: site.world.workspace,
        cellphone: Cellphone::parse(PHONE).unwrap(),
        name: LeadName::read("Ada Lovelace").unwrap(),
        brand: BrandId::parse(World::BRAND).unwrap(),
        landing_uri: LandingUri::parse(page).unwrap(),
        utm: Utm::of(utm.into()).unwrap(),
        consent: Consent {
            status: ConsentStatus::Granted,
            captured_at: Timestamp::parse("2026-01-02T03:04:00.500Z"),
            text: ConsentText::parse(" S\u{ed}, acepto\nmensajes. ").ok(),
            received_at: TestClock::START,
            landing_uri: LandingUri::parse(page).unwrap(),
            address_hash: Consent::hash_of(lead.id, "203.0.113.7"),
            user_agent: Some("Browser/1.0 (\u{fc})".to_owned()),
            score: Score::from_hundredths(90).unwrap(),
        },
        state: LeadState::Queued,
        error: None,
        opened: false,
        created_at: TestClock::START,
        updated_at: TestClock::START,
        version: 1,
        // Each lead has its own ids.
        contact: lead.contact,
        conversation: lead.conversation,
        message: lead.message,
        message_version: lead.message_version,
    };
    assert_eq!(lead, expected);
    let ids =
        [lead.id.as_uuid(), lead.contact.as_uuid(), lead.conversation.as_uuid(), lead.message.as_uuid()];
    let apart: std::collections::BTreeSet<_> = ids.into_iter().collect();
    assert_eq!(apart.len(), 4);
    assert!(ids.iter().all(|id| id.get_version_num() == 4));
    let rows = site.world.db.rows(store::Table::Leads);
    let row = rows.iter().find(|row| row["kind"]["S"] == "lead").unwrap();
    assert_eq!(
        row["dueAt"]["N"],
        (TestClock::START.as_millis() + 120_000).to_string(),
        "the sweeper finds the lead if it is not queued"
    );
    let text = json!(rows).to_string();
    for unkept in ["203.0.113.7", "\"token\"", site.capture.key.as_str()] {
        assert!(!text.contains(unkept), "{unkept}");
    }
}

#[tokio::test]
async fn absent_fields_are_not_stored() {
    let site = Site::start().await;
    let mut body = with(&site.body(), "name", json!(" "));
    body["consent"]["text"] = json!(" \u{200b}");
    let event = site.event(&body).without_header("user-agent");
    let lead = site.lead(crate::id(&site.send(event).await)).await;
    assert_eq!(lead.consent.text, None);
    assert_eq!((lead.name, lead.consent.user_agent, lead.consent.captured_at), (None, None, None));
    assert_eq!(lead.utm, Utm::default());
    assert_eq!(lead.brand.as_str(), World::BRAND, "the default of the set-up");
}

#[tokio::test]
async fn a_user_agent_is_stored_up_to_512_characters() {
    let site = Site::start().await;
    for (number, count) in [0, 1, 511, 512, 513, 8_000].into_iter().enumerate() {
        let agent = "\u{e9}".repeat(count);
        let answer = site.send(site.event(&site.visitor(number)).header("user-agent", &agent)).await;
        let kept = site.lead(crate::id(&answer)).await.consent.user_agent.unwrap();
        assert_eq!(kept, "\u{e9}".repeat(count.min(512)));
    }
}

#[tokio::test]
async fn only_printable_text_of_a_user_agent_is_stored() {
    let site = Site::start().await;
    let event = site.event(&site.visitor(1)).header("user-agent", "\u{202e}Browser\u{9b}31m/1.0\tx\u{2028}");
    let answer = site.send(event).await;
    let kept = site.lead(crate::id(&answer)).await.consent.user_agent;
    assert_eq!(kept.as_deref(), Some("Browser 31m/1.0 x "));
}

#[tokio::test]
async fn equal_addresses_are_stored_as_different_hashes() {
    let site = Site::start().await;
    let (one, other) = (site.accepted(&site.visitor(1)).await, site.accepted(&site.visitor(2)).await);
    let hash = async |id| site.lead(id).await.consent.address_hash;
    assert_ne!(hash(one).await, hash(other).await);
    assert_eq!(hash(one).await, Consent::hash_of(one, "203.0.113.7"));
    assert_eq!(hash(one).await.len(), 64);
}

#[tokio::test]
async fn a_score_is_rounded_down_and_stored() {
    let site = Site::start().await;
    for (number, (score, kept)) in [(0.5, 50), (0.709, 70), (0.7, 70), (1.0, 100)].into_iter().enumerate() {
        let (action, hostname) = ("campaign_lead".to_owned(), "www.example.com".to_owned());
        let at = TestClock::START;
        let solved = domain::lead::captcha::CaptchaAnswer::Solved { score, action, hostname, at };
        site.captcha().says.replace(Some(Ok(solved)));
        let id = site.accepted(&site.visitor(number)).await;
        assert_eq!(site.lead(id).await.consent.score.hundredths(), kept, "{score}");
    }
}

#[tokio::test]
async fn a_repeated_lead_does_not_change_the_first() {
    let site = Site::start().await;
    let id = site.accepted(&site.body()).await;
    let first = site.lead(id).await;
    site.world.db.clock().advance(std::time::Duration::from_secs(60));
    let mut again = with(&site.body(), "recaptchaToken", json!("another"));
    again["name"] = json!("Somebody Else");
    again["landingUri"] = json!("https://www.example.com/autumn");
    again["consent"]["capturedAt"] = json!("2026-01-02T03:05:00Z");
    again["consent"]["text"] = json!("Another text.");
    assert_eq!(site.accepted(&again).await, id);
    assert_eq!(site.lead(id).await, first);
}
