//! Accepting leads: completely, with the rows that prevent a second acceptance, or not at all.

use std::time::Duration;

use domain::lead::captcha::{Score, Threshold};
use domain::lead::capture::LeadCaps;
use domain::lead::{ConsentClaim, ConsentText, LandingUri, LeadName, Utm, VisitorSeen};
use domain::sending::PartError;
use domain::{
    AuditAction, AuditFilter, BrandId, Capture, CaptureKey, Cellphone, LaneId, Lead, LeadId, LeadRequest,
    LeadState, Secret, TemplateId, Timestamp, WebOrigin, Workspace,
};
use harness::{Fault, TestClock, TestDb, World, trips};
use serde_json::Value;
use store::{
    LeadAccepted, LeadDuplicates, LeadOpening, LeadRecorded, LeadTraits, Lease, LeasedLead, Store,
    StoreError, Table,
};

use crate::support::{OTHER, WORKSPACE};

const DAY: Duration = Duration::from_secs(24 * 3_600);
const SECOND: Duration = Duration::from_secs(1);
const DUE: Duration = Duration::from_secs(120);
const PHONE: &str = "+34600111222";

fn phone(text: &str) -> Cellphone {
    Cellphone::parse(text).unwrap()
}

fn brand(id: &str) -> BrandId {
    BrandId::parse(id).unwrap()
}

/// A lead with all optional fields.
fn lead(db: &TestDb) -> Lead {
    let request = LeadRequest {
        workspace_id: WORKSPACE,
        capture_key: Secret::new(""),
        cellphone: phone(PHONE),
        name: LeadName::read("Ada Lovelace").unwrap(),
        brand: None,
        landing_uri: LandingUri::parse("https://www.example.com/spring?a=b").unwrap(),
        utm: Utm::of(
            [("source".to_owned(), "search".to_owned()), ("empty".to_owned(), String::new())].into(),
        )
        .unwrap(),
        consent: ConsentClaim {
            captured_at: Timestamp::parse("2026-01-02T03:04:00.5Z"),
            text: ConsentText::parse("I agree that Example Travel writes to me.").ok(),
        },
        captcha: Secret::new("token"),
    };
    let seen = VisitorSeen {
        brand: brand("brand"),
        score: Score::from_hundredths(71).unwrap(),
        address: "203.0.113.7",
        user_agent: Some("Browser/1.0"),
    };
    request.accepted(seen, &**db.ids(), db.store().now())
}

/// A lead with another number and brand.
fn lead_of(db: &TestDb, number: &str, of_brand: &str) -> Lead {
    Lead { cellphone: phone(number), brand: brand(of_brand), ..lead(db) }
}

/// The store with the rights of the function that accepts leads.
fn store(db: &TestDb) -> Store {
    db.store_of("leads")
}

async fn accept(db: &TestDb, lead: &Lead, token: &str) -> LeadAccepted {
    store(db).accept_lead(lead, token, DUE).await.unwrap()
}

async fn traces(db: &TestDb, lead: &Lead, token: &str) -> LeadDuplicates {
    let traits = LeadTraits { cellphone: &lead.cellphone, brand: Some(&lead.brand), token_sha256_hex: token };
    store(db).lead_duplicates(lead.workspace_id, traits).await.unwrap()
}

/// The only row of a kind.
fn row(db: &TestDb, kind: &str) -> Value {
    let mut rows: Vec<Value> =
        db.rows(Table::Leads).into_iter().filter(|row| row["kind"]["S"] == kind).collect();
    assert_eq!(rows.len(), 1, "{kind}");
    rows.remove(0)
}

#[tokio::test]
async fn an_accepted_lead_is_read_back_unchanged_with_and_without_optional_fields() {
    let db = TestDb::start().await;
    let whole = lead(&db);
    let mut bare = lead_of(&db, "+34600111223", "brand");
    (bare.name, bare.consent.captured_at, bare.consent.user_agent) = (None, None, None);
    bare.utm = Utm::default();
    for (lead, token) in [(&whole, "t1"), (&bare, "t2")] {
        assert_eq!(accept(&db, lead, token).await, LeadAccepted::Done);
        assert_eq!(db.store().lead(WORKSPACE, lead.id).await.unwrap().as_ref(), Some(lead));
        assert_eq!(db.store().lead(OTHER, lead.id).await.unwrap(), None);
    }
    assert_eq!(db.store().lead(WORKSPACE, LeadId::generate(&**db.ids())).await.unwrap(), None);
}

#[tokio::test]
async fn a_lead_is_stored_with_its_token_its_repeat_row_and_its_place_in_the_due_index() {
    let db = TestDb::start().await;
    let lead = lead(&db);
    accept(&db, &lead, "t").await;
    assert_eq!(db.rows(Table::Leads).len(), 3);
    let (entity, token, repeat) = (row(&db, "lead"), row(&db, "captchaToken"), row(&db, "leadRepeat"));
    let due = TestClock::START.plus(DUE).as_millis().to_string();
    assert_eq!((entity["dueAt"]["N"].as_str(), entity["dueShard"].is_object()), (Some(due.as_str()), true));
    assert_eq!(entity.get("expiresAt"), None, "a lead stays");
    let tomorrow = TestClock::START.plus(DAY).as_seconds().to_string();
    for trace in [&token, &repeat] {
        assert_eq!(trace["expiresAt"]["N"], tomorrow);
        assert_eq!(trace["leadId"]["S"], lead.id.to_string());
    }
}

#[tokio::test]
async fn traces_are_found_by_number_and_brand_or_by_token_in_their_workspace() {
    let db = TestDb::start().await;
    let first = lead(&db);
    assert_eq!(traces(&db, &first, "t").await, LeadDuplicates::default());
    accept(&db, &first, "t").await;
    db.forget_calls();
    let found = traces(&db, &first, "t").await;
    let calls = db.calls();
    assert_eq!((calls.len(), calls[0].operation.as_str(), calls[0].read_units), (1, "BatchGetItem", 2.0));
    assert_eq!((found.repeated, found.token.as_ref().unwrap().lead), (Some(first.id), first.id));
    for (number, of_brand, token, repeated, same) in [
        (PHONE, "brand", "t", true, Some(true)),
        (PHONE, "brand", "other", true, None),
        ("+34600111223", "brand", "t", false, Some(false)),
        (PHONE, "second", "t", false, Some(false)),
        (PHONE, "second", "other", false, None),
    ] {
        let asked = lead_of(&db, number, of_brand);
        let found = traces(&db, &asked, token).await;
        assert_eq!(found.repeated.is_some(), repeated, "{number} {of_brand} {token}");
        let of = found.token.map(|used| used.is_of(&asked.cellphone, &asked.brand));
        assert_eq!(of, same, "{number} {of_brand} {token}");
    }
    let theirs = Lead { workspace_id: OTHER, ..first };
    assert_eq!(traces(&db, &theirs, "t").await, LeadDuplicates::default());
    assert_eq!(accept(&db, &Lead { id: lead(&db).id, ..theirs }, "t").await, LeadAccepted::Done);
}

#[tokio::test]
async fn a_used_token_wins_over_a_repeat_and_both_write_nothing() {
    let db = TestDb::start().await;
    let first = lead(&db);
    accept(&db, &first, "t").await;
    let before = db.rows(Table::Leads);
    let again = lead(&db);
    assert_eq!(accept(&db, &again, "other").await, LeadAccepted::Repeats(first.id));
    let LeadAccepted::TokenUsed(used) = accept(&db, &again, "t").await else { panic!("not used") };
    assert_eq!((used.lead, used.is_of(&first.cellphone, &first.brand)), (first.id, true));
    let other = lead_of(&db, "+34600111223", "brand");
    let LeadAccepted::TokenUsed(used) = accept(&db, &other, "t").await else { panic!("not used") };
    assert!(!used.is_of(&other.cellphone, &other.brand));
    assert_eq!(db.rows(Table::Leads), before);
}

#[tokio::test]
async fn an_expired_row_counts_as_absent_while_it_still_exists() {
    let db = TestDb::start().await;
    let first = lead(&db);
    accept(&db, &first, "t").await;
    // The row expires at this second, and still counts during it.
    db.clock().advance(DAY);
    assert_eq!(traces(&db, &first, "t").await.repeated, Some(first.id));
    let (id, now) = (lead(&db).id, db.store().now());
    let second = Lead { id, created_at: now, updated_at: now, ..first.clone() };
    assert_eq!(accept(&db, &second, "other").await, LeadAccepted::Repeats(first.id));
    let used = store(&db).repeat_lead(WORKSPACE, "t", second.id, &second.cellphone, &second.brand).await;
    assert_eq!(used.unwrap().unwrap().lead, first.id);

    db.clock().advance(SECOND);
    assert_eq!(traces(&db, &first, "t").await, LeadDuplicates::default());
    let second = Lead { created_at: db.store().now(), ..second };
    assert_eq!(accept(&db, &second, "t").await, LeadAccepted::Done);
    let found = traces(&db, &first, "t").await;
    assert_eq!((found.repeated, found.token.unwrap().lead), (Some(second.id), second.id));
    assert_eq!(db.rows(Table::Leads).len(), 2 + 2, "in the place of those");
}

#[tokio::test]
async fn a_lead_that_ended_without_a_message_is_queued_again_once_by_its_repeats() {
    let db = TestDb::start().await;
    let first = lead(&db);
    accept(&db, &first, "1").await;
    let now = async || store(&db).lead(WORKSPACE, first.id).await.unwrap().unwrap();
    let ends = async |state| {
        let key = format!("{WORKSPACE}#L#{}", first.id);
        db.change_row(Table::Leads, &key, "L", |row| {
            row["stage"] = serde_json::json!({ "S": state });
            row["state"] = serde_json::json!({ "S": state });
            row["error"] = serde_json::json!({ "S": "OPTED_OUT" });
            row.as_object_mut().unwrap().remove("dueAt");
        });
    };
    let repeat = async |token: &str| {
        store(&db).repeat_lead(WORKSPACE, token, first.id, &first.cellphone, &first.brand).await.unwrap()
    };
    for (n, state) in ["SUPPRESSED", "FAILED"].into_iter().enumerate() {
        ends(state).await;
        let ended = now().await;
        db.forget_calls();
        let held = db.hold("TransactWriteItems");
        let meanwhile = async {
            db.begun("TransactWriteItems", 1).await;
            assert_eq!(repeat(&format!("early {n}")).await, None);
            drop(held);
        };
        let slow = format!("slow {n}");
        let (slow, ()) = tokio::join!(repeat(&slow), meanwhile);
        assert_eq!(slow, None, "{state}");
        let again = now().await;
        assert_eq!((again.state, again.version, &again.error), (LeadState::Queued, ended.version + 1, &None));
        assert_eq!((&again.consent, again.created_at), (&first.consent, first.created_at));
        let row = db.row(Table::Leads, &format!("{WORKSPACE}#L#{}", first.id), "L");
        assert!(row["dueAt"]["N"].is_string() && row["state"].is_null(), "{row}");
    }
    assert_eq!(traces(&db, &first, "3").await, LeadDuplicates { repeated: Some(first.id), token: None });
}

#[tokio::test]
async fn a_token_is_used_up_once() {
    let db = TestDb::start().await;
    let first = lead(&db);
    accept(&db, &first, "t").await;
    let use_token = async |token: &str, number: &str| {
        store(&db).repeat_lead(WORKSPACE, token, first.id, &phone(number), &brand("brand")).await.unwrap()
    };
    db.forget_calls();
    assert_eq!(use_token("second", PHONE).await, None);
    assert_eq!(db.operations(), ["GetItem leads", "TransactWriteItems leads"]);
    assert_eq!(db.calls()[1].write_units, 2.0);
    assert_eq!(use_token("second", PHONE).await.unwrap().lead, first.id);
    assert!(!use_token("t", "+34600111223").await.unwrap().is_of(&phone("+34600111223"), &brand("brand")));
    let LeadAccepted::TokenUsed(used) = accept(&db, &lead_of(&db, "+34600111223", "brand"), "second").await
    else {
        panic!("not used")
    };
    assert_eq!(used.lead, first.id);
    // An earlier attempt of the same write appears as a token that was used for this lead.
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    db.fail("TransactWriteItems", Fault::Conflict, 1);
    let used = use_token("third", PHONE).await.unwrap();
    assert!(used.lead == first.id && used.is_of(&phone(PHONE), &brand("brand")));
}

#[tokio::test]
async fn a_transaction_whose_answer_was_lost_is_recognised() {
    let db = TestDb::start().await;
    for (number, lost) in [("+34600111223", 1), ("+34600111224", 2)] {
        let lead = lead_of(&db, number, "brand");
        db.fail("TransactWriteItems", Fault::AnswerLost, lost);
        assert_eq!(accept(&db, &lead, number).await, LeadAccepted::Done);
    }
    // After a conflict the transaction has a new client token, so DynamoDB does not recognise it.
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    db.fail("TransactWriteItems", Fault::Conflict, 1);
    assert_eq!(accept(&db, &lead_of(&db, "+34600111227", "brand"), "w").await, LeadAccepted::Done);
    let lead = lead(&db);
    db.fail("TransactWriteItems", Fault::AnswerLost, 3);
    assert!(matches!(store(&db).accept_lead(&lead, "t", DUE).await, Err(StoreError::Busy(_))));
    assert_eq!(traces(&db, &lead, "t").await.repeated, Some(lead.id), "it was carried out");
    db.fail("TransactWriteItems", Fault::Conflict, 2);
    assert_eq!(accept(&db, &lead_of(&db, "+34600111225", "brand"), "u").await, LeadAccepted::Done);
    let twice = lead_of(&db, "+34600111226", "brand");
    let twice = Lead { id: lead.id, ..twice };
    assert!(matches!(store(&db).accept_lead(&twice, "v", DUE).await, Err(StoreError::Failed(_))));
}

#[tokio::test]
async fn leads_are_counted_up_to_their_caps_by_day_and_number() {
    let db = TestDb::start().await;
    let count = async |number: &str, daily, per_phone| {
        let caps = LeadCaps { daily, per_phone };
        store(&db).count_lead(WORKSPACE, &phone(number), caps).await.unwrap().is_some()
    };
    let (one, other) = (PHONE, "+34600111223");
    db.forget_calls();
    assert!(count(one, None, None).await);
    assert!(!count(one, Some(0), None).await && !count(one, Some(9), Some(0)).await);
    assert_eq!(trips(&db.calls()), 0, "nothing to count");
    for (number, daily, per_phone, expected) in [
        (one, Some(2), None, true),
        (one, None, Some(2), true),
        (one, Some(2), Some(2), true),
        // Now the number has two leads, and so has the day.
        (one, Some(9), Some(2), false),
        (one, None, Some(2), false),
        (other, Some(2), Some(2), false),
        (other, Some(2), None, false),
        // The refusals counted nothing.
        (other, Some(3), Some(1), true),
        (one, None, Some(3), true),
        (one, None, Some(3), false),
    ] {
        assert_eq!(count(number, daily, per_phone).await, expected, "{number} {daily:?} {per_phone:?}");
    }
    let theirs = LeadCaps { daily: Some(1), per_phone: Some(1) };
    assert!(store(&db).count_lead(OTHER, &phone(one), theirs).await.unwrap().is_some());
    let gone = TestClock::START.plus(2 * DAY).as_seconds().to_string();
    let rows = db.rows(Table::Leads);
    assert_eq!(rows.len(), 2 + 1 + 2);
    assert!(rows.iter().all(|row| row["expiresAt"]["N"] == gone.as_str()), "{rows:?}");
}

#[tokio::test]
async fn a_count_can_be_taken_back_even_on_the_next_day() {
    let db = TestDb::start().await;
    let caps = LeadCaps { daily: Some(1), per_phone: Some(1) };
    let count = async || store(&db).count_lead(WORKSPACE, &phone(PHONE), caps).await.unwrap();
    db.clock().set(Timestamp::parse("2026-01-02T23:59:59.999Z").unwrap());
    let counted = count().await.unwrap();
    assert!(count().await.is_none());
    db.clock().set(Timestamp::parse("2026-01-03T00:00:00.001Z").unwrap());
    store(&db).uncount_lead(&counted).await;
    let left: Vec<String> = db.rows(Table::Leads).iter().map(|row| row["leads"]["N"].to_string()).collect();
    assert_eq!(left, ["\"0\"", "\"0\""], "of the day on which it was counted");
    assert!(count().await.is_some());
}

#[tokio::test]
async fn a_new_count_starts_at_midnight_utc() {
    let db = TestDb::start().await;
    let caps = LeadCaps { daily: Some(1), per_phone: Some(1) };
    let count = async || store(&db).count_lead(WORKSPACE, &phone(PHONE), caps).await.unwrap().is_some();
    for (at, expected) in [
        ("2026-01-02T00:00:00.000Z", true),
        ("2026-01-02T23:59:59.999Z", false),
        ("2026-01-03T00:00:00.000Z", true),
        ("2026-01-03T00:00:00.000Z", false),
    ] {
        db.clock().set(Timestamp::parse(at).unwrap());
        assert_eq!(count().await, expected, "{at}");
    }
}

#[tokio::test]
async fn the_consent_of_a_lead_stays_in_every_state() {
    let db = TestDb::start().await;
    let first = lead(&db);
    accept(&db, &first, "t").await;
    let consent = row(&db, "lead")["consent"].clone();
    assert_eq!(consent["M"].as_object().unwrap().len(), 6);
    let leased =
        async || match db.store().lease_lane(LaneId::Lead(WORKSPACE, first.id), SECOND).await.unwrap() {
            Lease::Taken(leased) => LeasedLead::of(&leased).unwrap(),
            other => panic!("{other:?}"),
        };
    let stays = async |state: LeadState| {
        let lead = db.store().lead(WORKSPACE, first.id).await.unwrap().unwrap();
        assert_eq!((lead.state, &lead.consent), (state, &first.consent));
        assert_eq!(row(&db, "lead")["consent"], consent, "{state:?}");
    };
    let held = leased().await;
    stays(LeadState::Queued).await;
    let (now, store, nothing) = (db.store().now(), db.store(), LeadOpening::default());
    let record = async |held: &LeasedLead, next: &Lead| {
        let recorded = store.open_lead(held, next, &nothing, SECOND, SECOND).await;
        assert_eq!(recorded.unwrap(), LeadRecorded::Done);
    };
    let no_line = Some(PartError::of(PartError::NO_LINE));
    record(&held, &held.lead.opened_for(held.lead.contact, None, no_line, now)).await;
    stays(LeadState::Failed).await;
    let seen = store.lead(WORKSPACE, first.id).await.unwrap().unwrap();
    assert!(store.retry_lead(&seen, &seen.retried(seen.message, now).unwrap(), None).await.unwrap());
    stays(LeadState::Queued).await;
    let held = leased().await;
    record(&held, &held.lead.suppressed(PartError::of(PartError::OPTED_OUT), now)).await;
    stays(LeadState::Suppressed).await;
}

#[tokio::test]
async fn lead_capture_settings_are_replaced_only_by_their_next_version() {
    let db = TestDb::start().await;
    let store = db.store();
    let bare = Capture::new(WORKSPACE, CaptureKey::from_entropy([7; 6]), store.now());
    assert_eq!(store.capture(WORKSPACE).await.unwrap(), None);
    let seen = Workspace::new(WORKSPACE, "Aster", store.now()).unwrap();
    assert!(store.create_workspace(&seen).await.unwrap());
    let save = async |seen: &Workspace, next: &Capture| {
        store.save_capture(seen, (next, None), &["origins"], harness::operator()).await.unwrap()
    };
    assert!(save(&seen, &bare).await);
    let seen = store.workspace(WORKSPACE).await.unwrap().unwrap();
    assert!(!save(&seen, &bare).await, "there are settings already");
    assert_eq!(store.capture(WORKSPACE).await.unwrap(), Some(bare.clone()));
    let whole = Capture {
        enabled: true,
        origins: ["https://www.example.com", "http://[::1]:8795"]
            .map(|origin| WebOrigin::parse(origin).unwrap())
            .to_vec(),
        brand: Some(brand("brand")),
        template: Some(TemplateId::generate(&**db.ids())),
        threshold: Threshold::parse("0.07").unwrap(),
        caps: LeadCaps { daily: Some(1_000_000), per_phone: Some(3) },
        has_secret: true,
        updated_at: store.now().plus(SECOND),
        version: 2,
        ..bare.clone()
    };
    let stale = Workspace { version: seen.version - 1, ..seen.clone() };
    assert!(!save(&stale, &whole).await, "the workspace has changed");
    assert!(save(&seen, &whole).await);
    let seen = store.workspace(WORKSPACE).await.unwrap().unwrap();
    assert!(!save(&seen, &whole).await, "from a version that is no longer there");
    assert_eq!(self::store(&db).capture(WORKSPACE).await.unwrap(), Some(whole.clone()));

    let rekeyed = whole.rekeyed(CaptureKey::from_entropy([8; 6]), store.now());
    let rekey = async || store.rekey_capture(&rekeyed, harness::operator()).await.unwrap();
    assert_eq!([rekey().await, rekey().await], [true, false]);
    assert_eq!(store.capture(WORKSPACE).await.unwrap(), Some(rekeyed.clone()));
    assert_eq!(store.capture(OTHER).await.unwrap(), None);

    let log = store.audit_log(WORKSPACE, &AuditFilter::default(), 10, None).await.unwrap().items;
    let said = log.iter().map(|entry| (entry.action, entry.fields.join(" "), entry.subject.clone()));
    let entry = |action, fields: &str| (action, fields.to_owned(), WORKSPACE.to_string());
    let update = || entry(AuditAction::CaptureUpdate, "origins");
    let mut said: Vec<_> = said.collect();
    said.sort_by_key(|(action, ..)| action.as_str());
    assert_eq!(said, [entry(AuditAction::CaptureRotateKey, "captureKey"), update(), update()]);
}

#[tokio::test]
async fn a_captcha_secret_is_stored_with_the_settings_or_not_at_all() {
    let db = TestDb::start().await;
    let store = db.store();
    let seen = Workspace::new(WORKSPACE, "Aster", store.now()).unwrap();
    assert!(store.create_workspace(&seen).await.unwrap());
    let key = CaptureKey::from_entropy([7; 6]);
    let first = Capture { has_secret: true, ..Capture::new(WORKSPACE, key, store.now()) };
    let secret = |text: &str| Secret::new(text);
    let save = async |seen: &Workspace, next: &Capture, secret: &Secret| {
        store.save_capture(seen, (next, Some(secret)), &[], harness::operator()).await.unwrap()
    };
    let written = |calls: &[harness::Call]| calls.iter().map(|call| call.write_units).sum::<f64>();
    db.forget_calls();
    assert!(save(&seen, &first, &secret("first")).await);
    assert_eq!((trips(&db.calls()), written(&db.calls())), (1, 8.0));
    assert_eq!(store.captcha_secret(WORKSPACE).await.unwrap(), Some(secret("first")));
    assert!(!save(&seen, &first, &secret("second")).await);
    assert_eq!(store.captcha_secret(WORKSPACE).await.unwrap(), Some(secret("first")));
    let seen = store.workspace(WORKSPACE).await.unwrap().unwrap();
    assert!(save(&seen, &Capture { version: 2, ..first.clone() }, &secret("third")).await);
    assert_eq!(store.captcha_secret(WORKSPACE).await.unwrap(), Some(secret("third")), "the process forgets");
    let seen = store.workspace(WORKSPACE).await.unwrap().unwrap();
    let next = Capture { version: 3, ..first };
    assert!(store.save_capture(&seen, (&next, None), &[], harness::operator()).await.unwrap());
    db.forget_calls();
    assert_eq!(store.captcha_secret(WORKSPACE).await.unwrap(), Some(secret("third")));
    assert_eq!(db.calls().len(), 0, "a change without a secret lets the process remember it");
}

#[tokio::test]
async fn a_captcha_secret_is_remembered_for_five_minutes_but_a_missing_one_is_not() {
    let world = World::start().await;
    let (db, of) = (&world.db, world.workspace);
    let reader = store(db);
    assert_eq!(reader.captcha_secret(of).await.unwrap(), None);
    let set = |secret: &str| world.set_captcha_secret(of, secret);
    let read = async || reader.captcha_secret(of).await.unwrap().unwrap().expose().to_owned();
    set("first");
    assert_eq!(read().await, "first");
    set("second");
    db.forget_calls();
    db.clock().advance(Duration::from_secs(299));
    assert_eq!((read().await.as_str(), db.calls().len()), ("first", 0));
    db.clock().advance(SECOND);
    assert_eq!((read().await.as_str(), db.calls().len()), ("second", 1));
    set("third");
    reader.forget_captcha_secret(of);
    assert_eq!(read().await, "third");
    assert_eq!(reader.captcha_secret(OTHER).await.unwrap(), None);
}
