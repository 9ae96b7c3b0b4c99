//! GET and PUT /settings/onboarding.

use domain::settings::template::{Source, Variable};
use domain::{Onboarding, Override, Template, TemplateId, TemplateScope};
use futures::future::{join, join_all};
use harness::{Answer, Death, GatewayEvent, trips};
use serde_json::{Value, json};

use crate::{Attributes, code};

impl Attributes {
    async fn get(&self) -> Answer {
        self.send(self.world.event("attributes-onboarding.json")).await
    }

    fn put(&self, body: &Value) -> GatewayEvent {
        self.world.event("attributes-set-onboarding.json").request_id("r").body(body)
    }

    async fn set(&self, sequence: &[TemplateId]) -> Answer {
        self.send(self.put(&wanted("ENTIRE", sequence))).await
    }

    async fn stored(&self) -> Onboarding {
        self.world.db.store().workspace(self.world.workspace).await.unwrap().unwrap().onboarding
    }
}

fn wanted(overriding: &str, sequence: &[TemplateId]) -> Value {
    let sequence: Vec<String> = sequence.iter().map(TemplateId::to_string).collect();
    json!({"override": overriding, "sequence": sequence})
}

/// Gives a template a place that only a caller can fill.
fn asking(template: &mut Template) {
    template.set_variables(vec![Variable::new("order", Source::Caller).unwrap()]);
}

#[tokio::test]
async fn an_onboarding_is_set_shown_and_written_to_the_audit_log() {
    let f = Attributes::start().await;
    assert_eq!(f.get().await.json, json!({"override": "ENTIRE", "sequence": []}));
    let own = f.world.template(|_| ()).await.id;
    let platforms = f.world.platform_template(|_| ()).await.id;
    let body = wanted("FIRST_ONLY", &[platforms, own, platforms]);
    let answer = f.send(f.put(&body)).await;
    assert_eq!((answer.status, &answer.json), (200, &body), "{}", answer.text);
    let shown = f.get().await;
    assert_eq!((&shown.json, &shown.headers["etag"]), (&body, &answer.headers["etag"]));
    assert_eq!(f.stored().await.overriding, Override::FirstOnly);
    let workspace = f.world.workspace.to_string();
    let entry = |fields: &[&str]| {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        ("onboarding.update".to_owned(), workspace.clone(), fields)
    };
    assert_eq!(f.audit().await, [entry(&["override", "sequence"])]);
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    assert_eq!(f.send(f.put(&wanted("FIRST_ONLY", &[own]))).await.status, 200);
    assert_eq!(f.audit().await, [entry(&["override", "sequence"]), entry(&["sequence"])]);
}

#[tokio::test]
async fn a_repeat_changes_nothing() {
    let f = Attributes::start().await;
    let template = f.world.template(|_| ()).await.id;
    f.set(&[template]).await;
    let version = async || f.world.db.store().workspace(f.world.workspace).await.unwrap().unwrap().version;
    let before = version().await;
    assert_eq!(f.set(&[template]).await.status, 200);
    assert_eq!((version().await, f.audit().await.len()), (before, 1));
}

#[tokio::test]
async fn a_sequence_that_would_refuse_conversations_is_refused_with_their_code() {
    let f = Attributes::start().await;
    f.world.line("line-a", |_| ()).await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.template_of(TemplateScope::Workspace(other), |_| ()).await.id;
    let unknown = TemplateId::generate(f.world.db.store().ids());
    let plain = f.world.template(|_| ()).await.id;
    let needs = f.world.platform_template(asking).await.id;
    let unapproved = f.world.template(|template| template.states.clear()).await.id;
    assert_eq!(f.set(&[plain]).await.status, 200);
    for (template, expected) in [
        (unknown, "SERVICE_CONVERSATION_0601"),
        (foreign, "SERVICE_CONVERSATION_0601"),
        (unapproved, "SERVICE_CONVERSATION_0602"),
        (needs, "SERVICE_CONVERSATION_0608"),
    ] {
        let answer = f.set(&[plain, template]).await;
        assert_eq!(code(&answer), (422, expected), "{}", answer.text);
        let extra = &answer.json["extra"];
        assert_eq!(extra["templateId"], template.to_string(), "{expected}");
        assert_eq!(extra["origin"], "WORKSPACE_CONFIGURATION", "{expected}");
    }
    assert_eq!((f.stored().await.sequence, f.audit().await.len()), (vec![plain], 1));
}

#[tokio::test]
async fn only_the_default_line_judges() {
    let f = Attributes::start().await;
    f.world.line("line-a", |_| ()).await;
    let other = domain::BusinessAccountId::parse("2055500009").unwrap();
    f.world.line("line-b", |line| line.business_account = other).await;
    let template = f.world.template(|_| ()).await.id;
    assert_eq!(f.set(&[template]).await.status, 200);
}

#[tokio::test]
async fn unfit_fields_are_refused_together_and_both_fields_are_required() {
    let f = Attributes::start().await;
    let id = TemplateId::generate(f.world.db.store().ids());
    for (body, failed) in [
        (json!({}), vec![("override", "missing"), ("sequence", "missing")]),
        (
            json!({"override": "NONE", "sequence": [id.to_string(), "x", 7], "template": null}),
            vec![
                ("template", "extra_forbidden"),
                ("override", "enum"),
                ("sequence.1", "uuid_parsing"),
                ("sequence.2", "string_type"),
            ],
        ),
        (
            json!({"override": null, "sequence": null}),
            vec![("override", "string_type"), ("sequence", "list_type")],
        ),
        (wanted("ENTIRE", &[id; 11]), vec![("sequence", "too_long")]),
    ] {
        let answer = f.send(f.put(&body)).await;
        let expected: Vec<_> =
            failed.into_iter().map(|(place, kind)| (format!("body.{place}"), kind.to_owned())).collect();
        assert_eq!((answer.status, answer.failures()), (422, expected), "{body}");
    }
    let plain = f.world.template(|_| ()).await.id;
    assert_eq!(f.set(&[plain; 10]).await.status, 200, "ten are the most");
}

#[tokio::test]
async fn if_match_must_name_the_state_that_was_read() {
    let f = Attributes::start().await;
    let template = f.world.template(|_| ()).await.id;
    let tag = f.get().await.headers["etag"].clone();
    let put = |overriding: &str| f.put(&wanted(overriding, &[template])).header("If-Match", &tag);
    // Of two changes of one state, one is refused.
    let answers = join_all(["ENTIRE", "FIRST_ONLY"].map(|overriding| f.send(put(overriding)))).await;
    assert_eq!((Answer::statuses(&answers), f.audit().await.len()), (vec![200, 412], 1));
    assert_eq!(code(&f.send(put("ENTIRE")).await), (412, "SERVICE_CORE_0412"));
    let tag = f.get().await.headers["etag"].clone();
    assert_eq!(f.send(f.put(&wanted("ENTIRE", &[])).header("If-Match", &tag)).await.status, 200);
}

#[tokio::test]
async fn a_template_that_is_deleted_meanwhile_is_unknown() {
    let f = Attributes::start().await;
    let template = f.world.template(|_| ()).await;
    f.get().await;
    f.world.db.forget_calls();
    let held = f.world.db.hold("Query");
    // The deletion comes after the request has read the workspace and the template.
    let (answer, ()) = join(f.set(&[template.id]), async {
        f.world.db.begun("BatchGetItem", 1).await;
        f.world.db.begun("Query", 1).await;
        f.world.delete_template(&template).await;
        drop(held);
    })
    .await;
    assert_eq!(code(&answer), (422, "SERVICE_CONVERSATION_0601"), "{}", answer.text);
    assert_eq!(f.stored().await, Onboarding::default());
}

#[tokio::test]
async fn an_onboarding_and_its_entry_are_written_together() {
    for calls in 0..8 {
        for death in [Death::Before, Death::After] {
            let f = Attributes::start().await;
            let sequence = [f.world.template(|_| ()).await.id];
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.set(&sequence) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let is_set = !f.stored().await.sequence.is_empty();
            assert_eq!(f.audit().await.len(), usize::from(is_set), "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn reading_takes_one_round_trip_and_a_change_three() {
    let f = Attributes::start().await;
    let template = f.world.template(|_| ()).await.id;
    f.get().await;
    f.world.db.forget_calls();
    f.get().await;
    assert_eq!(trips(&f.world.db.calls()), 1);
    f.world.db.forget_calls();
    f.set(&[template]).await;
    let calls = f.world.db.calls();
    // Without the limiter's write, which runs beside the first read.
    let written: f64 = calls.iter().map(|call| call.write_units).sum();
    assert_eq!((trips(&calls), written), (3, 5.0), "the workspace, its entry, and the limiter");
}
