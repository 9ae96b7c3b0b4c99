//! The provider's decisions about templates, in any order, and who may make them.

use domain::settings::template::Sendable;
use domain::{BusinessAccountId, Template, TemplateCategory, TemplateScope, WorkspaceId};
use harness::{Death, World};
use serde_json::{Value, json};
use store::Table;

use crate::{LINE, Site};

const FIELD: &str = "message_template_status_update";

fn status(event: &str, seconds: i64) -> Value {
    json!({
        "event": event,
        "message_template_id": 168,
        "message_template_name": "welcome",
        "message_template_language": "es",
        "reason": "NONE",
        "entry_time": seconds,
    })
}

fn account() -> BusinessAccountId {
    BusinessAccountId::parse(World::ACCOUNT).unwrap()
}

impl Site {
    async fn decided(&self, event: &str, seconds: i64) {
        self.deliver(FIELD, status(event, seconds)).await;
    }

    async fn current(&self, template: &Template) -> Template {
        self.world.db.store().template(template.scope, template.id).await.unwrap().unwrap()
    }

    async fn is_approved(&self, template: &Template) -> bool {
        self.current(template).await.sendable(&account()) == Sendable::Now
    }

    /// A workspace with a line of the account and an approved template.
    async fn workspace_with_template(&self) -> (WorkspaceId, Template) {
        let (other, _) = self.world.second_workspace().await;
        self.world.line_of(other, "2045551234567", |_| ()).await;
        (other, self.world.template_of(TemplateScope::Workspace(other), |_| ()).await)
    }
}

#[tokio::test]
async fn statuses_approve_pause_and_revoke_for_the_account_and_late_ones_undo_nothing() {
    let site = Site::start().await;
    let own = site.world.template(|_| ()).await;
    let platforms = site.world.platform_template(|_| ()).await;
    let french = site.world.template(|template| template.language = "fr".to_owned()).await;
    let both = async || {
        let both = (site.is_approved(&own).await, site.is_approved(&platforms).await);
        assert_eq!(both.0, both.1);
        both.0
    };
    site.decided("PAUSED", 1_767_000_010).await;
    assert!(!both().await);
    assert_eq!(site.current(&own).await.accounts(Sendable::Later).collect::<Vec<_>>(), [&account()]);
    site.decided("APPROVED", 1_767_000_005).await;
    assert!(!both().await, "an older approval ended the pause");
    site.decided("APPROVED", 1_767_000_020).await;
    assert!(both().await);
    let version = site.current(&own).await.version;
    site.decided("APPROVED", 1_767_000_020).await;
    assert_eq!(site.current(&own).await.version, version, "a repeat changed the template");
    for (event, seconds) in [("REJECTED", 30), ("DISABLED", 50), ("PENDING_DELETION", 70)] {
        site.decided(event, 1_767_000_000 + seconds).await;
        assert!(!both().await, "{event}");
        site.decided("REINSTATED", 1_767_000_010 + seconds).await;
        assert!(both().await, "{event}");
    }
    assert_eq!(site.current(&french).await, french, "another language");
}

#[tokio::test]
async fn only_the_named_account_and_the_workspaces_that_have_it_are_changed() {
    let site = Site::start().await;
    let own = site.world.template(|_| ()).await;
    let (other, theirs) = site.workspace_with_template().await;
    let foreign = status("DISABLED", 1_767_000_000);
    site.deliver_for(None, "999", FIELD, foreign.clone()).await;
    assert!(site.is_approved(&own).await && site.is_approved(&theirs).await);
    // The app of one workspace does not decide for another one.
    site.deliver_for(Some(other), World::ACCOUNT, FIELD, foreign.clone()).await;
    assert!(site.is_approved(&own).await && !site.is_approved(&theirs).await);
    site.decided("DISABLED", 1_767_000_000).await;
    assert!(!site.is_approved(&own).await);
    // A workspace without a line of the account has no say.
    let nobody = WorkspaceId::parse("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f").unwrap();
    site.deliver_for(Some(nobody), World::ACCOUNT, FIELD, status("APPROVED", 1_767_000_001)).await;
    assert!(!site.is_approved(&own).await && !site.is_approved(&theirs).await);
}

#[tokio::test]
async fn a_workspaces_app_decides_about_the_platforms_template_only_if_the_account_is_its_own() {
    let site = Site::start().await;
    let platforms = site.world.platform_template(|_| ()).await;
    let only = Some(site.world.workspace);
    site.deliver_for(only, World::ACCOUNT, FIELD, status("PAUSED", 1_767_000_000)).await;
    assert!(!site.is_approved(&platforms).await);
    site.workspace_with_template().await;
    site.deliver_for(only, World::ACCOUNT, FIELD, status("APPROVED", 1_767_000_010)).await;
    assert!(!site.is_approved(&platforms).await, "one of two workspaces with the account decided for both");
}

#[tokio::test]
async fn a_deleted_line_ends_what_its_account_says() {
    let site = Site::start().await;
    let store = site.world.db.store();
    assert_eq!(store.workspaces_of_account(&account()).await.unwrap(), [site.world.workspace]);
    let seen = store.workspace(site.world.workspace).await.unwrap().unwrap();
    let lines = store.lines(seen.id).await.unwrap();
    let line = lines.lines.iter().find(|line| line.channel.as_str() == LINE).unwrap();
    let brand = lines.brands[0].with_line(None);
    let next = seen.without_line(&line.channel);
    assert!(store.delete_line(&next, line, brand.as_ref(), true).await.unwrap());
    assert_eq!(store.workspaces_of_account(&account()).await.unwrap(), []);
}

#[tokio::test]
async fn other_changes_are_counted_and_change_nothing() {
    let site = Site::start().await;
    let own = site.world.template(|_| ()).await;
    site.decided("A_NEW_STATUS", 1_767_000_000).await;
    for field in ["message_template_quality_update", "account_update", "account_alerts", "a_new_field"] {
        site.deliver(field, json!({ "event_of_another_form": "DISABLED_UPDATE" })).await;
    }
    assert_eq!(site.current(&own).await, own);
    let seen: u64 = site.counted.values()["ProviderChangesSeen"].iter().sum();
    assert_eq!(seen, 5);
}

#[tokio::test]
async fn a_kill_at_any_call_leaves_statuses_that_a_repeat_completes() {
    for calls in 0..6 {
        let site = Site::start().await;
        let own = site.world.template(|_| ()).await;
        let platforms = site.world.platform_template(|_| ()).await;
        let dead = site.world.db.die_after(calls, Death::After);
        tokio::select! {
            () = site.decided("PAUSED", 1_767_000_000) => {}
            _ = dead => {}
        }
        site.world.db.revive();
        site.decided("PAUSED", 1_767_000_000).await;
        for template in [&own, &platforms] {
            let current = site.current(template).await;
            assert_eq!(
                (current.version, current.accounts(Sendable::Now).count()),
                (template.version + 1, 0),
                "{calls}"
            );
        }
        assert_eq!(site.world.db.rows(Table::Leads).len(), 0);
    }
}

#[tokio::test]
async fn the_provider_changes_the_category_of_its_own_and_the_platforms_template() {
    let site = Site::start().await;
    let own = site.world.template(|_| ()).await;
    let platforms = site.world.platform_template(|_| ()).await;
    let news = |category: &str| {
        json!({
            "message_template_id": 168,
            "message_template_name": "welcome",
            "message_template_language": "es",
            "previous_category": "UTILITY",
            "new_category": category,
        })
    };
    for (category, expected, version) in [
        ("MARKETING", Some(TemplateCategory::Marketing), 1),
        ("MARKETING", Some(TemplateCategory::Marketing), 1),
        ("NEW_CATEGORY", Some(TemplateCategory::Marketing), 1),
        ("UTILITY", Some(TemplateCategory::Utility), 2),
    ] {
        site.deliver("template_category_update", news(category)).await;
        for template in [&own, &platforms] {
            let current = site.current(template).await;
            assert_eq!(
                (current.category, current.version),
                (expected, template.version + version),
                "{category}"
            );
        }
    }
}
