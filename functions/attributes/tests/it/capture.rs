//! GET and PATCH /settings/capture, POST /settings/capture/rotate-key.

use std::collections::BTreeSet;

use domain::settings::template::{AccountState, SaidBy, Source, TemplateStatus, Variable};
use domain::{BusinessAccountId, Template, TemplateId};
use futures::future::join_all;
use harness::{Answer, Death, GatewayEvent, World};
use serde_json::{Value, json};

use crate::{Attributes, code};

const SCRIPT: &str = "https://capture.example.com/api/v1/leadscout/scripts/lead-capture-2.js";

impl Attributes {
    async fn capture(&self) -> Answer {
        self.send(self.world.event("attributes-capture.json")).await
    }

    fn patch(&self, body: &Value) -> GatewayEvent {
        self.world.event("attributes-update-capture.json").request_id("r").body(body)
    }

    async fn patched(&self, body: &Value) -> Answer {
        self.send(self.patch(body)).await
    }

    fn rotation(&self) -> GatewayEvent {
        self.world.event("attributes-rotate-capture-key.json").request_id("r")
    }

    async fn secret(&self) -> Option<String> {
        let store = self.world.db.frozen_store();
        store.captcha_secret(self.world.workspace).await.unwrap().map(|secret| secret.expose().to_owned())
    }

    /// What lead capture needs, with this template.
    fn complete(template: TemplateId) -> Value {
        json!({
            "enabled": true,
            "origins": ["https://Shop.example.com/", "https://shop.example.com"],
            "brandId": World::BRAND,
            "leadTemplateId": template.to_string(),
            "captchaSecret": "s-1",
        })
    }

    /// A line for the brand, and a template that it can send.
    async fn sending() -> (Self, TemplateId) {
        let f = Self::start().await;
        f.world.line("line-a", |_| ()).await;
        let template = f.world.template(|_| ()).await.id;
        (f, template)
    }
}

#[tokio::test]
async fn lead_capture_is_set_up_shown_and_changed_with_an_entry_each() {
    let (f, template) = Attributes::sending().await;
    let unset = f.capture().await;
    let mut shown = json!({
        "enabled": false,
        "captureKey": null,
        "origins": [],
        "brandId": null,
        "leadTemplateId": null,
        "threshold": 0.5,
        "dailyCap": null,
        "phoneCap": null,
        "rate": 10,
        "hasSecret": false,
        "unreachableBrands": [],
        "captureUrl": "https://capture.example.com",
        "scriptUrl": SCRIPT,
    });
    assert_eq!((unset.status, &unset.json), (200, &shown), "{}", unset.text);

    let set = f.patched(&Attributes::complete(template)).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let key = set.json["captureKey"].clone();
    assert_eq!(key.as_str().map(|key| (&key[..4], key.len())), Some(("lck_", 28)));
    for (field, value) in [
        ("enabled", json!(true)),
        ("captureKey", key),
        ("origins", json!(["https://shop.example.com"])),
        ("brandId", json!(World::BRAND)),
        ("leadTemplateId", json!(template.to_string())),
        ("hasSecret", json!(true)),
    ] {
        shown[field] = value;
    }
    assert_eq!(set.json, shown);
    let read = f.capture().await;
    assert_eq!((&read.json, &read.headers["etag"]), (&shown, &set.headers["etag"]));
    assert_eq!(f.secret().await.as_deref(), Some("s-1"));

    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let other =
        json!({"threshold": 0.75, "dailyCap": 500, "phoneCap": 2, "origins": ["http://localhost:8080"]});
    let changed = f.patched(&other).await;
    for field in ["threshold", "dailyCap", "phoneCap", "origins"] {
        shown[field] = other[field].clone();
    }
    assert_eq!(changed.json, shown);
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let cleared = f.patched(&json!({"brandId": null, "dailyCap": null, "phoneCap": null})).await;
    for field in ["brandId", "dailyCap", "phoneCap"] {
        shown[field] = Value::Null;
    }
    assert_eq!(cleared.json, shown);
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let rotated = f.send(f.rotation()).await;
    assert_ne!(rotated.json["captureKey"], shown["captureKey"]);
    shown["captureKey"] = rotated.json["captureKey"].clone();
    assert_eq!((rotated.status, &rotated.json), (200, &shown));

    let entry = |action: &str, fields: &[&str]| {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>();
        (format!("capture.{action}"), f.world.workspace.to_string(), fields)
    };
    let all = ["enabled", "origins", "brandId", "leadTemplateId", "captureKey", "captchaSecret"];
    let expected = [
        entry("update", &all),
        entry("update", &["origins", "threshold", "dailyCap", "phoneCap"]),
        entry("update", &["brandId", "dailyCap", "phoneCap"]),
        entry("rotate_key", &["captureKey"]),
    ];
    assert_eq!(f.audit().await, expected);
}

#[tokio::test]
async fn a_change_without_effect_writes_nothing_and_a_secret_always_has_one() {
    let (f, template) = Attributes::sending().await;
    let set = f.patched(&Attributes::complete(template)).await;
    let mut same = Attributes::complete(template);
    same.as_object_mut().unwrap().remove("captchaSecret");
    for body in [json!({}), same] {
        let answer = f.patched(&body).await;
        assert_eq!((&answer.json, &answer.headers["etag"]), (&set.json, &set.headers["etag"]), "{body}");
    }
    assert_eq!(f.audit().await.len(), 1);
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let again = f.patched(&json!({"captchaSecret": "s-2"})).await;
    assert_eq!(again.json, set.json);
    assert_ne!(again.headers["etag"], set.headers["etag"]);
    assert_eq!(
        (f.secret().await.as_deref(), &f.audit().await[1].2),
        (Some("s-2"), &vec!["captchaSecret".to_owned()])
    );
}

#[tokio::test]
async fn enabling_while_something_is_missing_lists_it_and_changes_nothing() {
    let (f, good) = Attributes::sending().await;
    let asking = |template: &mut Template| {
        template.set_variables(vec![Variable::new("order", Source::Caller).unwrap()]);
    };
    let needs = f.world.platform_template(asking).await.id;
    let unapproved = f.world.template(|template| template.states.clear()).await.id;
    let with = |field: &str, value: Value| {
        let mut body = Attributes::complete(good);
        body[field] = value;
        body
    };
    let rows = [
        (json!({"enabled": true}), vec!["CAPTCHA_SECRET", "ORIGINS", "TEMPLATE"]),
        (with("origins", json!([])), vec!["ORIGINS"]),
        (with("leadTemplateId", Value::Null), vec!["TEMPLATE"]),
        (with("leadTemplateId", json!(needs.to_string())), vec!["CALLER_VALUES"]),
        (with("leadTemplateId", json!(unapproved.to_string())), vec!["APPROVAL"]),
    ];
    for (body, lacks) in rows {
        let answer = f.patched(&body).await;
        let expected = json!({"title": "Lead Capture Incomplete", "status": 422, "code": "SERVICE_SETTING_1203", "extra": {"lacks": lacks}});
        assert_eq!(answer.json, expected, "{body}");
    }
    assert_eq!((f.capture().await.json["captureKey"].clone(), f.secret().await), (Value::Null, None));
    // Enabled lead capture may not become incomplete, disabled one may.
    assert_eq!(f.patched(&Attributes::complete(good)).await.status, 200);
    let emptied = f.patched(&json!({"origins": []})).await;
    assert_eq!(
        (code(&emptied), &emptied.json["extra"]["lacks"]),
        ((422, "SERVICE_SETTING_1203"), &json!(["ORIGINS"]))
    );
    let off = f.patched(&json!({"origins": [], "enabled": false})).await;
    assert_eq!((off.status, &off.json["enabled"]), (200, &json!(false)));
    assert_eq!(f.audit().await.len(), 2);
}

#[tokio::test]
async fn what_was_missing_before_stops_no_change_but_enabling() {
    let f = Attributes::start().await;
    f.world.line("line-a", |_| ()).await;
    let template = f.world.template(|_| ()).await;
    assert_eq!(f.patched(&Attributes::complete(template.id)).await.status, 200);
    let news = AccountState::of(TemplateStatus::Paused, f.world.db.store().now(), SaidBy::Provider);
    let paused = template.decided(&World::account(), news).unwrap().unwrap();
    assert!(f.world.db.store().replace_template(&paused).await.unwrap());
    let capped = f.patched(&json!({"dailyCap": 7, "origins": ["https://new.example"]})).await;
    assert_eq!((capped.status, &capped.json["dailyCap"]), (200, &json!(7)), "{}", capped.text);
    assert_eq!(capped.json["unreachableBrands"], json!([World::BRAND]));
    for (body, lacks) in [
        (json!({"origins": []}), json!(["ORIGINS"])),
        (json!({"enabled": true, "dailyCap": 8}), json!(["APPROVAL"])),
        (json!({"enabled": true, "origins": []}), json!(["ORIGINS", "APPROVAL"])),
    ] {
        let refused = f.patched(&body).await;
        assert_eq!(
            (code(&refused), &refused.json["extra"]["lacks"]),
            ((422, "SERVICE_SETTING_1203"), &lacks)
        );
    }
    assert_eq!(f.capture().await.json, capped.json);
    assert_eq!(f.audit().await.len(), 2);
}

#[tokio::test]
async fn brands_whose_leads_cannot_get_the_template_are_listed() {
    let (f, template) = Attributes::sending().await;
    let other = BusinessAccountId::parse("2055500009").unwrap();
    let brand = domain::BrandId::parse("other").unwrap();
    f.world.line("line-b", |line| (line.business_account, line.brand) = (other, brand)).await;
    let set = f.patched(&Attributes::complete(template)).await;
    assert_eq!(set.json["unreachableBrands"], json!(["other"]));
    assert_eq!(f.capture().await.json["unreachableBrands"], json!(["other"]));
}

#[tokio::test]
async fn unfit_fields_are_refused_together_and_no_secret_is_repeated() {
    let f = Attributes::start().await;
    let many: Vec<String> = (0..21).map(|n| format!("https://w{n}.example")).collect();
    let rows: [(Value, &[(&str, &str)]); 5] = [
        (json!([]), &[("", "dict_type")]),
        (
            json!({
                "enabled": null, "origins": ["https://a.example/path", 7], "brandId": "", "leadTemplateId": "x",
                "threshold": 0.755, "dailyCap": 0, "phoneCap": 1.5, "captchaSecret": "two words", "rate": 20,
            }),
            &[
                ("rate", "extra_forbidden"),
                ("origins.0", "value_error"),
                ("origins.1", "string_type"),
                ("enabled", "bool_parsing"),
                ("brandId", "string_too_short"),
                ("leadTemplateId", "uuid_parsing"),
                ("threshold", "value_error"),
                ("dailyCap", "greater_than_equal"),
                ("phoneCap", "int_parsing"),
                ("captchaSecret", "string_pattern_mismatch"),
            ],
        ),
        (json!({"origins": many}), &[("origins", "too_long")]),
        (
            json!({"threshold": "0.5", "captchaSecret": null, "origins": null}),
            &[("origins", "list_type"), ("threshold", "float_parsing"), ("captchaSecret", "string_type")],
        ),
        (
            json!({"threshold": 1.01, "dailyCap": 4_294_967_296_u64}),
            &[("threshold", "value_error"), ("dailyCap", "less_than_equal")],
        ),
    ];
    for (body, failed) in rows {
        let expected: Vec<_> = failed
            .iter()
            .map(|(place, kind)| {
                (format!("body.{place}").trim_end_matches('.').to_owned(), (*kind).to_owned())
            })
            .collect();
        let answer = f.patched(&body).await;
        assert_eq!(answer.failures(), expected, "{body}");
        assert!(!answer.text.contains("two words"));
    }
    assert_eq!((f.capture().await.json["captureKey"].clone(), f.audit().await.len()), (Value::Null, 0));
}

#[tokio::test]
async fn unknown_templates_and_brands_are_named_together() {
    let f = Attributes::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.template_of(domain::TemplateScope::Workspace(other), |_| ()).await.id;
    let unknown = TemplateId::generate(f.world.db.store().ids());
    for id in [foreign, unknown] {
        let answer = f.patched(&json!({"leadTemplateId": id.to_string(), "brandId": "nobody"})).await;
        let failed =
            ["leadTemplateId", "brandId"].map(|field| (format!("body.{field}"), "value_error".to_owned()));
        assert_eq!(answer.failures(), failed);
        assert_eq!(answer.json["detail"][0]["input"], id.to_string());
    }
    assert_eq!(f.capture().await.json["captureKey"], Value::Null);
}

#[tokio::test]
async fn a_key_is_rotated_only_if_there_is_one() {
    let f = Attributes::start().await;
    assert_eq!(code(&f.send(f.rotation()).await), (404, "SERVICE_SETTING_0404"));
    assert_eq!(f.patched(&json!({})).await.status, 200, "sets lead capture up");
    let keys = join_all([(), ()].map(|()| f.send(f.rotation()))).await;
    let last = f.capture().await.json["captureKey"].clone();
    assert!(keys.iter().any(|answer| answer.json["captureKey"] == last));
    assert_eq!(f.audit().await.len(), 3);
}

#[tokio::test]
async fn if_match_must_name_the_settings_that_were_read() {
    let f = Attributes::start().await;
    for round in 1..3 {
        let tag = f.capture().await.headers["etag"].clone();
        // Of two changes of one state, one is refused: of lead capture that is not set up, and of one that is.
        let answers = join_all(
            [1, 2].map(|n| f.send(f.patch(&json!({"dailyCap": 10 * round + n})).header("If-Match", &tag))),
        )
        .await;
        assert_eq!(Answer::statuses(&answers), [200, 412], "{round}");
        let stale = f.send(f.rotation().header("If-Match", &tag)).await;
        assert_eq!(code(&stale), (412, "SERVICE_CORE_0412"));
    }
    let tag = f.capture().await.headers["etag"].clone();
    assert_eq!(f.send(f.rotation().header("If-Match", &tag)).await.status, 200);
    assert_eq!(f.audit().await.len(), 3);
}

#[tokio::test]
async fn changes_that_come_together_are_all_kept() {
    let f = Attributes::start().await;
    let bodies = [
        json!({"dailyCap": 7}),
        json!({"phoneCap": 2}),
        json!({"threshold": 0.9}),
        json!({"captchaSecret": "s"}),
    ];
    let answers = join_all(bodies.iter().map(|body| f.patched(body))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let shown = f.capture().await.json;
    let found = ["dailyCap", "phoneCap", "threshold", "hasSecret"].map(|field| shown[field].clone());
    assert_eq!(found, [json!(7), json!(2), json!(0.9), json!(true)]);
    assert_eq!(f.audit().await.len(), 4);
}

#[tokio::test]
async fn settings_secret_and_entry_are_written_together() {
    let mut versions = BTreeSet::new();
    for calls in 0..16 {
        for death in [Death::Before, Death::After] {
            let f = Attributes::start().await;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = async { (f.patched(&json!({"captchaSecret": "s"})).await, f.send(f.rotation()).await) } => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let stored = f.world.db.store().capture(f.world.workspace).await.unwrap();
            let version = stored.as_ref().map_or(0, |capture| capture.version);
            assert_eq!(f.audit().await.len() as u64, version, "{calls} {death:?}");
            let has_secret = stored.is_some_and(|capture| capture.has_secret);
            assert_eq!(f.secret().await.is_some(), has_secret, "{calls} {death:?}");
            versions.insert(version);
        }
    }
    assert!(versions.into_iter().eq(0..=2), "a death before the change, between both, and after both");
}

#[tokio::test]
async fn reading_takes_two_round_trips_and_a_change_three() {
    let (f, template) = Attributes::sending().await;
    f.patched(&Attributes::complete(template)).await;
    f.capture().await;
    let measured = || f.world.db.spent();
    measured();
    f.capture().await;
    assert_eq!(measured(), (2, 1.0));
    f.patched(&json!({})).await;
    assert_eq!(measured(), (2, 1.0), "the limiter only");
    f.patched(&json!({"dailyCap": 3})).await;
    assert_eq!(measured(), (3, 7.0), "the limiter, the workspace, the settings and the entry");
    f.patched(&json!({"captchaSecret": "s-2"})).await;
    assert_eq!(measured(), (3, 9.0), "and the secret");
    f.send(f.rotation()).await;
    assert_eq!(measured(), (3, 5.0), "the limiter, the settings and the entry");
}
