use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use url::Url;
use uuid::Uuid;

use super::*;
use crate::ids::ChannelId;
use crate::settings::line::{Brand, Line, Provider};
use crate::settings::template::{
    AccountState, SaidBy, Source, TemplateScope, TemplateStatus, Variable, short_form,
};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

fn key() -> CaptureKey {
    CaptureKey::from_entropy([10, 11, 12, 13, 14, 15])
}

fn capture() -> Capture {
    let origins = ["https://www.example.com", "https://shop.example.com:8443"];
    Capture {
        enabled: true,
        origins: origins.map(|origin| WebOrigin::parse(origin).unwrap()).to_vec(),
        ..Capture::new(workspace(), key(), NOW)
    }
}

fn one(origin: &str) -> SentOrigin {
    SentOrigin::One(origin.to_owned())
}

#[test]
fn every_objection_is_found_and_the_first_of_several_is_returned() {
    let (capture, key) = (capture(), key());
    let disabled = Capture { enabled: false, ..capture.clone() };
    let good = one("https://www.example.com");
    let foreign = one("https://evil.example");
    let rows = [
        (Some(&capture), key.as_str(), &good, None),
        (Some(&capture), key.as_str(), &SentOrigin::Absent, None),
        (None, key.as_str(), &good, Some(Objection::UnknownWorkspace)),
        (None, "lck_000000000000000000000000", &SentOrigin::Absent, Some(Objection::UnknownWorkspace)),
        (Some(&disabled), key.as_str(), &good, Some(Objection::Disabled)),
        (Some(&disabled), "x", &foreign, Some(Objection::Disabled)),
        (Some(&capture), "", &good, Some(Objection::Key)),
        (Some(&capture), &key.as_str()[1..], &good, Some(Objection::Key)),
        (Some(&capture), &key.as_str().to_lowercase(), &foreign, Some(Objection::Key)),
        (Some(&capture), key.as_str(), &foreign, Some(Objection::Origin)),
        (Some(&capture), key.as_str(), &SentOrigin::Unclear, Some(Objection::Origin)),
    ];
    let paused = WorkspaceState::Disabled { since: NOW };
    for (capture, key, origin, expected) in rows {
        let found = |state| Capture::admits(capture, state, key, origin).err();
        assert_eq!(found(WorkspaceState::Enabled), expected, "{key} {origin:?}");
        let expected = capture.map_or(Objection::UnknownWorkspace, |_| Objection::WorkspaceDisabled);
        assert_eq!(found(paused), Some(expected), "{key} {origin:?}");
    }
}

#[test]
fn a_captcha_may_be_solved_on_the_hosts_of_the_origins() {
    assert_eq!(capture().hosts(), ["www.example.com", "shop.example.com"]);
}

#[test]
fn an_origin_is_allowed_only_in_its_exact_spelling() {
    let capture = capture();
    assert!(capture.allows(&one("https://www.example.com")));
    assert!(capture.allows(&one("https://shop.example.com:8443")));
    for foreign in [
        "",
        "null",
        "*",
        "https://www.example.com/",
        "https://www.example.com:443",
        "https://www.example.com.",
        "https://WWW.example.com",
        "HTTPS://www.example.com",
        "http://www.example.com",
        "https://www.example.com.evil.example",
        "https://evil-www.example.com",
        "https://example.com",
        "https://shop.example.com",
        "https://shop.example.com:8444",
        " https://www.example.com",
        "https://www.example.com,https://evil.example",
        "https://www.example.com https://evil.example",
    ] {
        assert!(!capture.allows(&one(foreign)), "{foreign}");
    }
    assert!(!capture.allows(&SentOrigin::Absent), "an answer to a server names no origin");
}

#[test]
fn origins_parse_only_in_the_spelling_of_browsers() {
    for good in [
        "https://example.com",
        "https://www.example.com:8443",
        "https://xn--bcher-kva.example",
        "http://localhost:3000",
        "http://127.0.0.1:8795",
        "http://[::1]:8795",
        "https://192.0.2.7",
    ] {
        assert_eq!(WebOrigin::parse(good).unwrap().as_str(), good);
    }
    for bad in [
        "",
        "example.com",
        "//example.com",
        "https://",
        "https://Example.com",
        "https://example.com/",
        "https://example.com/path",
        "https://example.com?x",
        "https://example.com#x",
        "https://example.com:443",
        "https://example.com.",
        "https://user@example.com",
        "https://*.example.com",
        "https://bücher.example",
        "http://example.com",
        "http://127.0.0.1.example.com",
        "file:///x",
        "null",
        "*",
        "chrome-extension://abc",
    ] {
        assert!(WebOrigin::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(WebOrigin::parse("https://a.example:8443").unwrap().host(), "a.example");
}

#[test]
fn an_origin_that_an_owner_writes_becomes_the_one_that_browsers_send() {
    for (written, expected) in [
        ("https://Shop.example.com/", "https://shop.example.com"),
        (" https://shop.example.com \n", "https://shop.example.com"),
        ("shop.example.com", "https://shop.example.com"),
        ("Shop.example.com:8443/", "https://shop.example.com:8443"),
        ("HTTPS://SHOP.EXAMPLE.COM:443", "https://shop.example.com"),
        ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example"),
        ("http://localhost:3000/", "http://localhost:3000"),
    ] {
        assert_eq!(
            WebOrigin::written(written).map(|origin| origin.as_str().to_owned()),
            Ok(expected.to_owned()),
            "{written:?}"
        );
    }
    for wrong in [
        "",
        "https://",
        "http://shop.example.com",
        "https://shop.example.com/spring",
        "https://shop.example.com/?a=1",
        "https://shop.example.com/#a",
        "https://a:b@shop.example.com",
        "https://*.example.com",
        "https://a.example https://b.example",
        "ftp://shop.example.com",
        "mailto:a@shop.example.com",
    ] {
        assert!(WebOrigin::written(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_brand_is_the_leads_own_or_the_default_and_must_exist() {
    let brand = |id: &str| BrandId::parse(id).unwrap();
    let there = Brand::new(brand("aster"), workspace(), "Aster", NOW).unwrap();
    let lines = Lines { brands: vec![there], ..Lines::default() };
    let with = |brand| Capture { brand, ..capture() };
    let rows = [
        (Some(brand("aster")), Some(brand("gone")), Some(brand("aster"))),
        (None, Some(brand("aster")), Some(brand("aster"))),
        (Some(brand("other")), Some(brand("aster")), None),
        (None, Some(brand("gone")), None),
        (None, None, None),
    ];
    for (named, default, expected) in rows {
        assert_eq!(with(default).brand_of(named.as_ref(), &lines), expected);
    }
}

#[test]
fn a_capture_key_parses_and_other_texts_do_not() {
    let key = key();
    assert_eq!(CaptureKey::parse(key.as_str()), Ok(key.clone()));
    for bad in
        ["", "lck_", &key.as_str()[..27], &format!("{}x", key.as_str()), "lck_00000000000000000000000!"]
    {
        assert!(CaptureKey::parse(bad).is_err(), "{bad}");
    }
    assert_eq!(format!("{key:?}"), "[CaptureKey]");
}

#[test]
fn a_quota_is_the_rate_a_second_and_the_requests_of_ten_seconds_at_once() {
    let quota = |capture: Option<&Capture>| {
        let RateLimit { per_second, burst } = Capture::quota(capture);
        assert_eq!(RateLimit::new(per_second, burst), Ok(RateLimit { per_second, burst }));
        (per_second, burst)
    };
    assert_eq!(quota(None), (10, 100));
    assert_eq!(quota(Some(&capture())), (10, 100));
    for (rate, burst) in [(1, 10), (25, 250), (Capture::MAX_RATE, 5_000)] {
        assert_eq!(quota(Some(&Capture { rate, ..capture() })), (rate, burst));
    }
}

#[test]
fn a_change_has_its_effect_once_and_a_repeated_one_none() {
    let origin = |text: &str| WebOrigin::parse(text).unwrap();
    let later = NOW.plus(Duration::from_secs(1));
    let capture = capture();
    assert_eq!(capture.changed(&CaptureChange::default(), later), Ok(None));
    let change = CaptureChange {
        enabled: Some(false),
        origins: OriginsChange::Amend {
            add: vec![origin("https://a.example"), origin("https://www.example.com")],
            remove: vec![origin("https://shop.example.com:8443"), origin("https://gone.example")],
        },
        brand: Patch::Set(BrandId::parse("aster").unwrap()),
        template: Patch::Set(TemplateId::from_uuid(Uuid::from_u128(7))),
        threshold: Threshold::from_hundredths(70),
        daily_cap: Patch::Set(10),
        phone_cap: Patch::Set(2),
        rate: Some(25),
        secret: None,
    };
    let next = capture.changed(&change, later).unwrap().unwrap();
    let expected = Capture {
        enabled: false,
        origins: vec![origin("https://www.example.com"), origin("https://a.example")],
        brand: BrandId::parse("aster").ok(),
        template: Some(TemplateId::from_uuid(Uuid::from_u128(7))),
        threshold: Threshold::from_hundredths(70).unwrap(),
        caps: LeadCaps { daily: Some(10), per_phone: Some(2) },
        rate: 25,
        updated_at: later,
        version: 2,
        ..capture.clone()
    };
    assert_eq!(next, expected);
    assert_eq!(next.changed(&change, later), Ok(None));
    let all =
        ["enabled", "origins", "brandId", "leadTemplateId", "threshold", "dailyCap", "phoneCap", "rate"];
    assert_eq!(capture.differences(&next), all);
    assert_eq!(capture.differences(&capture.rekeyed(CaptureKey::from_entropy([9; 6]), NOW)), ["captureKey"]);
    let cleared = CaptureChange {
        brand: Patch::Clear,
        daily_cap: Patch::Clear,
        phone_cap: Patch::Clear,
        ..CaptureChange::default()
    };
    let next = next.changed(&cleared, NOW).unwrap().unwrap();
    assert_eq!((next.brand, next.caps, next.version), (None, LeadCaps::default(), 3));
    assert_eq!(next.updated_at, later.plus(Duration::from_millis(1)), "time never goes back");
}

#[test]
fn the_settings_have_at_most_twenty_origins() {
    let origins = |count: usize| {
        (0..count).map(|n| WebOrigin::parse(&format!("https://w{n}.example")).unwrap()).collect()
    };
    let changed = |origins| CaptureChange { origins, ..CaptureChange::default() };
    let add = |count| changed(OriginsChange::Amend { add: origins(count), remove: vec![] });
    let capture = Capture::new(workspace(), key(), NOW);
    let full = capture.with(&add(20)).unwrap();
    assert_eq!(capture.with(&add(21)), Err(TooManyOrigins));
    assert_eq!(full.changed(&add(20), NOW), Ok(None), "each is there once");
    assert_eq!(full.changed(&add(21), NOW), Err(TooManyOrigins));
    let new = || vec![WebOrigin::parse("https://new.example").unwrap()];
    let swapped = changed(OriginsChange::Amend { remove: origins(1), add: new() });
    assert_eq!(full.with(&swapped).unwrap().origins.len(), 20);
    let twice = changed(OriginsChange::Replace([new(), new()].concat()));
    assert_eq!(full.with(&twice).unwrap().origins, new(), "others are gone, and each is there once");
    assert_eq!(full.changed(&changed(OriginsChange::Replace(origins(20))), NOW), Ok(None));
    assert_eq!(full.with(&changed(OriginsChange::Replace(origins(21)))), Err(TooManyOrigins));
    assert_eq!(full.with(&changed(OriginsChange::Replace(vec![]))).unwrap().origins, []);
}

#[test]
fn a_secret_always_makes_a_next_version() {
    let change = CaptureChange { secret: Some(Secret::new("s")), ..CaptureChange::default() };
    let first = capture().changed(&change, NOW).unwrap().unwrap();
    assert_eq!((capture().has_secret, first.has_secret, first.version), (false, true, 2));
    let second = first.changed(&change, NOW).unwrap().unwrap();
    assert_eq!((second.has_secret, second.version), (true, 3));
    assert!(second.with(&CaptureChange::default()).unwrap().has_secret, "a change of others keeps it");
}

#[test]
fn a_new_key_changes_only_the_key_and_the_version() {
    let (capture, other) = (capture(), CaptureKey::from_entropy([9; 6]));
    let next = capture.rekeyed(other.clone(), NOW);
    let updated_at = NOW.plus(Duration::from_millis(1));
    assert_eq!(next, Capture { key: other, updated_at, version: 2, ..capture });
}

#[test]
fn a_captcha_secret_has_only_visible_characters() {
    for good in ["s", &"x".repeat(512)] {
        assert_eq!(Capture::secret(good).unwrap(), Secret::new(good));
    }
    for bad in ["", "two words", "line\n", "caf\u{e9}", &"x".repeat(513)] {
        assert!(Capture::secret(bad).is_err(), "{bad}");
    }
}

/// A template that is approved for the accounts and has variables that only a caller fills.
fn template(approved: &[&str], asked: &[&str]) -> Template {
    let variable = |name: &&str| Variable::new(name, Source::Caller).unwrap();
    let (form, sources) = short_form(asked.iter().map(variable).collect());
    Template {
        id: TemplateId::from_uuid(Uuid::from_u128(7)),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "hello".to_owned(),
        language: "en".to_owned(),
        category: None,
        form,
        sources,
        states: approved
            .iter()
            .map(|id| BusinessAccountId::parse(id).unwrap())
            .map(|account| (account, AccountState::of(TemplateStatus::Approved, NOW, SaidBy::Operator)))
            .collect(),
        taken_from: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

/// `alpha` sends from its own line. `beta` has no line, so it sends from the default one, which is `alpha`'s.
fn lines() -> Lines {
    let brand = |id: &str, line: Option<&str>| Brand {
        line: line.map(|line| ChannelId::parse(line).unwrap()),
        ..Brand::new(BrandId::parse(id).unwrap(), workspace(), "A brand", NOW).unwrap()
    };
    let line = |id: &str, brand: &str, account: &str| {
        let (id, brand) = (ChannelId::parse(id).unwrap(), BrandId::parse(brand).unwrap());
        Line::new(workspace(), id, brand, BusinessAccountId::parse(account).unwrap(), NOW).unwrap()
    };
    Lines {
        lines: vec![line("1", "alpha", "A"), line("2", "gamma", "C")],
        brands: vec![brand("alpha", Some("1")), brand("beta", None), brand("gamma", Some("2"))],
        default: ChannelId::parse("1").ok(),
    }
}

#[test]
fn all_reasons_against_enabling_are_listed() {
    let (lines, nobody) = (lines(), Lines::default());
    let no_default = Lines { default: None, ..lines.clone() };
    let brand = |id: &str| BrandId::parse(id).unwrap();
    let id = template(&[], &[]).id;
    let complete = |named: Option<&str>| Capture { brand: named.map(brand), template: Some(id), ..capture() };
    let (good, unapproved) = (template(&["A"], &[]), template(&["B"], &[]));
    let asking = template(&["A"], &["code"]);
    let rows = [
        (complete(Some("alpha")), true, &lines, Some(&good), vec![]),
        (complete(Some("beta")), true, &lines, Some(&good), vec![]),
        (complete(None), true, &lines, Some(&good), vec![]),
        (complete(Some("alpha")), false, &lines, Some(&good), vec![Lack::Secret]),
        (
            Capture { origins: vec![], ..complete(Some("alpha")) },
            true,
            &lines,
            Some(&good),
            vec![Lack::Origins],
        ),
        (Capture { template: None, ..complete(Some("alpha")) }, true, &lines, None, vec![Lack::Template]),
        (complete(Some("alpha")), true, &lines, None, vec![Lack::UnknownTemplate(id)]),
        (complete(Some("alpha")), true, &lines, Some(&asking), vec![Lack::CallerValues(id)]),
        (complete(Some("delta")), true, &lines, Some(&good), vec![Lack::UnknownBrand(brand("delta"))]),
        (complete(Some("beta")), true, &no_default, Some(&good), vec![Lack::Line(brand("beta"))]),
        (
            complete(Some("gamma")),
            true,
            &lines,
            Some(&good),
            vec![Lack::Approval {
                template: id,
                brand: brand("gamma"),
                account: BusinessAccountId::parse("C").unwrap(),
            }],
        ),
        (complete(None), true, &lines, Some(&unapproved), vec![Lack::Brand]),
        (complete(None), true, &nobody, Some(&good), vec![Lack::Brand]),
        (
            Capture::new(workspace(), key(), NOW),
            false,
            &nobody,
            None,
            vec![Lack::Secret, Lack::Origins, Lack::Template, Lack::Brand],
        ),
    ];
    let mut said = BTreeSet::new();
    for (capture, has_secret, lines, template, expected) in rows {
        let capture = Capture { has_secret, ..capture };
        let lacks = capture.lacks(&CaptureKnown { lines, template });
        assert_eq!(lacks, expected);
        said.extend(lacks.iter().map(Lack::word));
    }
    let words = [
        "APPROVAL",
        "BRAND",
        "CALLER_VALUES",
        "CAPTCHA_SECRET",
        "LINE",
        "ORIGINS",
        "TEMPLATE",
        "UNKNOWN_BRAND",
        "UNKNOWN_TEMPLATE",
    ];
    assert_eq!(said.into_iter().collect::<Vec<_>>(), words);
}

#[test]
fn a_change_is_refused_for_what_it_makes_missing_itself() {
    let lines = lines();
    let (good, asking) = (template(&["A"], &[]), template(&[], &["code"]));
    let paused = Template { states: BTreeMap::new(), ..good.clone() };
    let other = Template { id: TemplateId::from_uuid(Uuid::from_u128(8)), ..paused.clone() };
    let brand = |id: &str| BrandId::parse(id).unwrap();
    let approval = |template: &Template, brand_id: &str, account: &str| Lack::Approval {
        template: template.id,
        brand: brand(brand_id),
        account: BusinessAccountId::parse(account).unwrap(),
    };
    let nothing = CaptureChange::default;
    let cap = CaptureChange { daily_cap: Patch::Set(5), ..nothing() };
    let bare = CaptureChange { origins: OriginsChange::Replace(vec![]), ..nothing() };
    let branded = CaptureChange { brand: Patch::Set(brand("gamma")), ..nothing() };
    let unbranded = CaptureChange { brand: Patch::Clear, ..nothing() };
    let named = |template: &Template| CaptureChange { template: Patch::Set(template.id), ..nothing() };
    let unnamed = CaptureChange { template: Patch::Clear, ..nothing() };
    let switched = |enabled| CaptureChange { enabled: Some(enabled), ..bare.clone() };
    let alpha = || approval(&paused, "alpha", "A");
    // The change, the template after it, and what counts as missing.
    let rows = [
        (&cap, Some(&good), vec![]),
        (&cap, Some(&paused), vec![]),
        (&cap, None, vec![]),
        (&cap, Some(&asking), vec![]),
        (&bare, Some(&good), vec![Lack::Origins]),
        (&bare, Some(&paused), vec![Lack::Origins]),
        (&branded, Some(&paused), vec![approval(&paused, "gamma", "C")]),
        (&unbranded, Some(&good), vec![]),
        (&unbranded, Some(&paused), vec![Lack::Brand]),
        (&named(&paused), Some(&paused), vec![]),
        (&named(&other), Some(&other), vec![approval(&other, "alpha", "A")]),
        (&unnamed, None, vec![Lack::Template]),
        (&switched(true), Some(&paused), vec![Lack::Origins, alpha()]),
        (&switched(false), Some(&paused), vec![]),
    ];
    let before =
        Capture { brand: Some(brand("alpha")), template: Some(good.id), has_secret: true, ..capture() };
    for (change, template, expected) in rows {
        let next = before.with(change).unwrap();
        let known = CaptureKnown { lines: &lines, template };
        assert_eq!(
            next.newly_lacks(&before, change, &known),
            expected,
            "{change:?} {:?}",
            template.is_some()
        );
    }
    // Without a default brand: no brand could send the former template, and none can send the next one.
    let before = Capture { brand: None, ..before };
    let next = before.with(&named(&other)).unwrap();
    let known = CaptureKnown { lines: &lines, template: Some(&other) };
    assert_eq!(next.newly_lacks(&before, &named(&other), &known), [Lack::Brand]);
    // Disabled settings may lack anything, until a change asks for enabled ones.
    let new = Capture::new(workspace(), key(), NOW);
    let known = CaptureKnown { lines: &lines, template: None };
    let lacked = |change: &CaptureChange| new.with(change).unwrap().newly_lacks(&new, change, &known).len();
    let enabled = CaptureChange { enabled: Some(true), ..nothing() };
    assert_eq!((lacked(&bare), lacked(&enabled)), (0, 3));
}

#[test]
fn brands_that_cannot_reach_their_leads_are_listed() {
    let (lines, good) = (lines(), template(&["A"], &[]));
    let no_default = Lines { default: None, ..lines.clone() };
    let told = |lines: &Lines, template: Option<&Template>| {
        let known = CaptureKnown { lines, template };
        let brands = capture().unreachable(&known);
        brands.into_iter().map(|brand| brand.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&lines, Some(&good)), ["gamma"]);
    assert_eq!(told(&no_default, Some(&good)), ["beta", "gamma"]);
    assert_eq!(told(&lines, Some(&template(&["A", "C"], &[]))), [""; 0]);
    assert_eq!(told(&lines, None), [""; 0]);
}

proptest! {
    #[test]
    fn keys_from_any_entropy_have_the_right_form(entropy: [u64; 6]) {
        prop_assert!(CaptureKey::parse(CaptureKey::from_entropy(entropy).as_str()).is_ok());
    }

    #[test]
    fn a_valid_origin_equals_the_serialized_origin_of_its_url(text in "https?://[a-zA-Z0-9.:/@*-]{0,20}") {
        if let Ok(origin) = WebOrigin::parse(&text) {
            prop_assert_eq!(Url::parse(&text).unwrap().origin().ascii_serialization(), origin.as_str());
        }
    }
}
