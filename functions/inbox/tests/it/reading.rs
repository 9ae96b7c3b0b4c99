//! Templates that are read again from the provider, because a webhook or a failed send says that they are others there.

use std::time::Duration;

use domain::{BusinessAccountId, Template, TemplateCategory, TemplateScope, TemplateStatus};
use harness::{Death, World, trips};
use inbox::TemplateReader;
use local::simulator::Provider;
use provider::TemplateClient;
use provider::webhook::TEMPLATE_REFUSED;
use queue::Inbound;
use serde_json::{Value, json};

use crate::Site;

const STATUS: &str = "message_template_status_update";
const COMPONENTS: &str = "message_template_components_update";
const QUALITY: &str = "message_template_quality_update";
const CATEGORY: &str = "template_category_update";

fn account() -> BusinessAccountId {
    World::account()
}

/// A template as the provider lists it.
fn listed(status: &str, text: &str) -> Value {
    json!({
        "name": "welcome", "language": "es", "status": status, "category": "UTILITY",
        "quality_score": { "score": "GREEN" },
        "components": [{ "type": "BODY", "text": text }],
    })
}

/// News of the template, with the fields that all have.
fn news(more: &Value) -> Value {
    let mut news = json!({ "message_template_id": 168, "message_template_name": "welcome", "message_template_language": "es" });
    for (name, value) in more.as_object().unwrap() {
        news[name.as_str()] = value.clone();
    }
    news
}

/// The function with a provider that lists templates.
struct Place {
    site: Site,
    provider: Provider,
}

impl Place {
    async fn start() -> Self {
        let mut site = Site::start().await;
        let provider = Provider::start(0).await.unwrap();
        site.function.templates = TemplateReader::new(TemplateClient::new(&provider.url(), "v25.0").unwrap());
        Self { site, provider }
    }

    /// Sets the account's list at the provider, a second later.
    fn list(&self, templates: &[Value]) {
        self.set(json!({ "data": templates }));
    }

    fn set(&self, registry: Value) {
        self.provider.set_templates(World::ACCOUNT, &registry).unwrap();
        self.site.world.db.clock().advance(Duration::from_secs(1));
    }

    async fn deliver(&self, field: &str, more: &Value) {
        self.site.deliver(field, news(more)).await;
    }

    async fn approved(&self) {
        self.deliver(STATUS, &json!({ "event": "APPROVED", "reason": "NONE" })).await;
    }

    /// A failed send asks for the template.
    async fn refused(&self) -> bool {
        let piece =
            Inbound::of_the_service(self.site.store().now(), &account(), TEMPLATE_REFUSED, news(&json!({})));
        self.site.process(&[piece]).await.is_empty()
    }

    async fn current(&self, template: &Template) -> Template {
        self.site.store().template(template.scope, template.id).await.unwrap().unwrap()
    }

    async fn named(&self, scope: TemplateScope) -> Option<Template> {
        self.site.store().template_named(scope, "welcome", "es").await.unwrap()
    }

    fn own(&self) -> TemplateScope {
        TemplateScope::Workspace(self.site.world.workspace)
    }

    fn counted(&self, name: &str) -> u64 {
        self.site.counted.values().get(name).map_or(0, |counts| counts.iter().sum())
    }
}

#[tokio::test]
async fn components_quality_and_words_that_are_not_known_are_read_from_the_list() {
    for (field, more, counted) in [
        (COMPONENTS, json!({ "message_template_element": "Bye" }), 0),
        (QUALITY, json!({ "previous_quality_score": "RED", "new_quality_score": "GREEN" }), 0),
        (STATUS, json!({ "event": "UNARCHIVED" }), 1),
        (STATUS, json!({ "event": "A_NEW_STATUS" }), 1),
        (STATUS, json!({ "event": "REINSTATED" }), 0),
        (CATEGORY, json!({ "previous_category": "UTILITY", "new_category": "A_NEW_CATEGORY" }), 1),
        (TEMPLATE_REFUSED, json!({}), 0),
    ] {
        let place = Place::start().await;
        let own = place.site.world.template(|_| ()).await;
        let platforms = place.site.world.platform_template(|_| ()).await;
        // A list can hold others whose names contain this one.
        let mut longer = listed("REJECTED", "No");
        longer["name"] = json!("a_welcome_to_all");
        place.list(&[longer, listed("APPROVED", "Bye {{1}}")]);
        place.deliver(field, &more).await;
        for before in [own, platforms] {
            let after = place.current(&before).await;
            assert_eq!(after.form.body.text.as_deref(), Some("Bye {{1}}"), "{field}");
            assert_eq!(after.category, Some(TemplateCategory::Utility), "{field}");
            let state = &after.states[&account()];
            assert_eq!(
                (state.status.sendable(), after.version),
                (before.sendable(&account()), after.version)
            );
            if field != STATUS || counted == 1 {
                assert_eq!(state.quality.as_deref(), Some("GREEN"), "{field}");
            }
        }
        assert_eq!(
            (place.counted("ProviderChangesSeen"), place.site.queued().len()),
            (counted, 0),
            "{field}"
        );
    }
}

#[tokio::test]
async fn a_template_that_stands_nowhere_is_created_in_each_workspace_of_the_account() {
    for (field, more) in [
        (STATUS, json!({ "event": "APPROVED" })),
        (COMPONENTS, json!({})),
        (CATEGORY, json!({ "new_category": "UTILITY" })),
    ] {
        let place = Place::start().await;
        let (other, _) = place.site.world.second_workspace().await;
        place.site.world.line_of(other, "2045551234567", |_| ()).await;
        place.list(&[listed("APPROVED", "Hi")]);
        place.deliver(field, &more).await;
        for scope in [place.own(), TemplateScope::Workspace(other)] {
            let made = place.named(scope).await.unwrap();
            assert_eq!(made.status(&account()), Some(TemplateStatus::Approved), "{field}");
            assert_eq!(made.form.body.text.as_deref(), Some("Hi"));
        }
        assert_eq!(
            place.named(TemplateScope::Platform).await,
            None,
            "only an operator creates the platform's"
        );
        let made = place.named(place.own()).await.unwrap();
        place.deliver(field, &more).await;
        let again = place.named(place.own()).await.unwrap();
        assert_eq!((again.id, again.form), (made.id, made.form), "a repeat makes no other");
    }
    // The app of one workspace creates nothing in another one.
    let place = Place::start().await;
    let (other, _) = place.site.world.second_workspace().await;
    place.site.world.line_of(other, "2045551234567", |_| ()).await;
    place.list(&[listed("APPROVED", "Hi")]);
    place.site.deliver_for(Some(other), World::ACCOUNT, COMPONENTS, news(&json!({}))).await;
    assert!(place.named(TemplateScope::Workspace(other)).await.is_some());
    assert_eq!(place.named(place.own()).await, None);
}

#[tokio::test]
async fn a_list_that_lags_behind_its_webhook_does_not_undo_the_status() {
    for stands in [true, false] {
        let place = Place::start().await;
        if stands {
            place.site.world.template(|_| ()).await;
        }
        place.list(&[listed("PENDING", "Hi")]);
        // The webhook comes some minutes after the approval.
        place
            .deliver(STATUS, &json!({ "event": "APPROVED", "reason": "NONE", "entry_time": 1_767_322_800 }))
            .await;
        let after = place.named(place.own()).await.unwrap();
        assert_eq!(after.status(&account()), Some(TemplateStatus::Approved), "{stands}");
        assert_eq!(after.form.body.text.as_deref(), Some("Hi"), "{stands}");
    }
}

#[tokio::test]
async fn what_the_list_no_longer_has_or_a_token_does_not_show_changes_nothing() {
    for (registry, counted) in [(json!({ "data": [] }), 0), (json!({ "data": [], "refuses": 190 }), 1)] {
        let place = Place::start().await;
        let own = place.site.world.template(|_| ()).await;
        place.set(registry);
        place.deliver(COMPONENTS, &json!({})).await;
        assert!(place.refused().await);
        assert_eq!(place.current(&own).await, own);
        assert_eq!(place.counted("ProviderChangesSeen"), counted * 2);
        assert_eq!(place.site.queued().len(), 0);
    }
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_asked_again_for_a_quarter_of_an_hour() {
    let place = Place::start().await;
    let own = place.site.world.template(|_| ()).await;
    place.set(json!({ "data": [], "refuses": 4 }));
    let mut piece = place.site.change(World::ACCOUNT, COMPONENTS, news(&json!({})));
    let (mut waits, mut waited) = (0, 0);
    loop {
        assert!(place.site.process(&[piece.clone()]).await.is_empty());
        let Some((next, delay)) = place.site.queued().pop() else { break };
        place.site.world.db.clock().advance(Duration::from_secs(delay));
        (piece, waits, waited) = (next, waits + 1, waited + delay);
    }
    assert_eq!((waited, place.counted("ProviderChangesSeen")), (900, 1));
    assert!(waits <= 14, "{waits}");
    assert_eq!(place.current(&own).await, own);
    // A failed send asks once, because the next one asks again.
    assert!(place.refused().await);
    assert_eq!(place.site.queued().len(), 0);
}

#[tokio::test]
async fn a_thousand_failed_sends_read_their_template_once_a_minute() {
    let place = Place::start().await;
    place.site.world.template(|_| ()).await;
    place.list(&[listed("APPROVED", "Hi")]);
    assert!(place.refused().await);
    place.site.world.db.forget_calls();
    for _ in 0..20 {
        assert!(place.refused().await);
    }
    assert_eq!(place.site.world.db.calls().len(), 0, "it was read a moment ago");
    place.site.world.db.clock().advance(Duration::from_secs(60));
    assert!(place.refused().await);
    // The account's workspaces, its line, the names and the row. The token is in memory.
    assert_eq!(trips(&place.site.world.db.calls()), 4, "{:?}", place.site.world.db.operations());
}

#[tokio::test]
async fn a_kill_at_any_call_leaves_what_a_repeat_completes() {
    let mut died = 0;
    for calls in 0.. {
        let place = Place::start().await;
        let (other, _) = place.site.world.second_workspace().await;
        place.site.world.line_of(other, "2045551234567", |_| ()).await;
        place.list(&[listed("APPROVED", "Hi")]);
        let dead = place.site.world.db.die_after(calls, Death::After);
        let is_over = tokio::select! {
            () = place.approved() => true,
            _ = dead => false,
        };
        place.site.world.db.revive();
        place.approved().await;
        let mut made = vec![];
        for scope in [place.own(), TemplateScope::Workspace(other)] {
            made.extend(place.named(scope).await);
        }
        // What a killed attempt made in one workspace stands somewhere, so the other one does not get it.
        assert!(!made.is_empty() && (made.len() == 2 || !is_over), "{calls}");
        let is_approved = |made: &Template| made.status(&account()) == Some(TemplateStatus::Approved);
        assert!(made.iter().all(is_approved), "{calls}");
        if is_over {
            break;
        }
        died += 1;
    }
    assert!(died > 6, "{died}");
}
