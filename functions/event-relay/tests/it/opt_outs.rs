//! The stream records of choices about templates.

use std::time::Duration;

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::{Cellphone, ChannelId, ProviderUserId};
use harness::Death;
use serde_json::json;
use store::Table;

use crate::{ENDPOINT, Scene};

#[tokio::test]
async fn each_change_of_a_choice_is_one_event_whoever_made_it() {
    let scene = Scene::with_endpoint().await;
    let (store, workspace) = (scene.world.db.store(), scene.world.workspace);
    let number = Cellphone::parse("+34600111222").unwrap();
    let user = ProviderUserId::parse("US.1").unwrap();
    let contact = scene.world.contact(|contact| contact.cellphone = Some(number.clone())).await.id;
    let choose = async |choice, source| {
        scene.world.db.clock().advance(Duration::from_secs(60));
        let scopes = [ChoiceScope::All].into();
        let chosen = Chosen { choice, scopes, source, at: store.now() };
        store.choose(workspace, &[Chooser::from(&number), Chooser::from(&user)], &chosen).await.unwrap();
    };
    // A person who never opted out opts in: nothing changes.
    choose(Choice::In, ChoiceSource::Provider).await;
    choose(Choice::Out, ChoiceSource::Keyword).await;
    choose(Choice::Out, ChoiceSource::Provider).await;
    choose(Choice::In, ChoiceSource::Keyword).await;
    scene.world.db.clock().advance(Duration::from_secs(60));
    store.opt_out(workspace, &number, ChoiceScope::All, store.now(), harness::operator()).await.unwrap();
    scene.world.db.clock().advance(Duration::from_secs(60));
    let seen = store.choices(workspace, &number).await.unwrap().unwrap();
    store.opt_in(&seen, harness::operator()).await.unwrap();
    store.hide_opt_out(workspace, &number).await.unwrap();

    let records = scene.world.db.stream(Table::Leads);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    // The newest is listed first.
    let mut bodies = scene.bodies(ENDPOINT).await;
    bodies.reverse();
    let told: Vec<_> = bodies.iter().map(|body| (&body["eventType"], &body["payload"]["source"])).collect();
    let (out, back) = (json!("contact.opted_out"), json!("contact.opted_in"));
    let (keyword, operator) = (json!("KEYWORD"), json!("OPERATOR"));
    assert_eq!(told, [(&out, &keyword), (&back, &keyword), (&out, &operator), (&back, &operator)]);
    assert_eq!(
        bodies[0]["payload"],
        json!({
            "contactId": contact.to_string(),
            "workspaceId": workspace.to_string(),
            "scope": "ALL",
            "providerChannelId": null,
            "source": "KEYWORD",
            "optedOutAt": "2026-01-02T03:06:05.678Z",
        })
    );
    assert!(!bodies.iter().any(|body| body.to_string().contains("+34600111222")));
}

#[tokio::test]
async fn each_scope_that_changes_is_an_event_of_its_own() {
    let scene = Scene::with_endpoint().await;
    let (store, workspace) = (scene.world.db.store(), scene.world.workspace);
    let number = [Chooser::from(&Cellphone::parse("+34600111222").unwrap())];
    let line = ChoiceScope::Line(ChannelId::parse("106540352242922").unwrap());
    let choose = async |choice, scopes: &[ChoiceScope], source| {
        scene.world.db.clock().advance(Duration::from_secs(60));
        let scopes = scopes.iter().cloned().collect();
        let chosen = Chosen { choice, scopes, source, at: store.now() };
        store.choose(workspace, &number, &chosen).await.unwrap();
    };
    choose(Choice::Out, &[line], ChoiceSource::Provider).await;
    choose(Choice::Out, &[ChoiceScope::Marketing], ChoiceSource::Keyword).await;
    choose(Choice::Out, &[ChoiceScope::All], ChoiceSource::Button).await;
    choose(Choice::In, &[ChoiceScope::All, ChoiceScope::Marketing], ChoiceSource::Keyword).await;
    let records = scene.world.db.stream(Table::Leads);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    let bodies = scene.bodies(ENDPOINT).await;
    let mut told: Vec<_> = bodies
        .iter()
        .map(|body| {
            let payload = &body["payload"];
            let text = |name: &str| payload[name].as_str().unwrap_or("-").to_owned();
            (
                body["eventType"].as_str().unwrap().to_owned(),
                text("scope"),
                text("providerChannelId"),
                text("source"),
            )
        })
        .collect();
    told.sort();
    let row = |event: &str, scope: &str, line: &str, source: &str| {
        (format!("contact.opted_{event}"), scope.to_owned(), line.to_owned(), source.to_owned())
    };
    assert_eq!(
        told,
        [
            row("in", "ALL", "-", "KEYWORD"),
            row("in", "MARKETING", "-", "KEYWORD"),
            row("out", "ALL", "-", "BUTTON"),
            row("out", "MARKETING", "-", "KEYWORD"),
            row("out", "MARKETING", "106540352242922", "PROVIDER"),
        ]
    );
}

#[tokio::test]
async fn a_choice_that_was_first_kept_under_one_id_is_told_once_after_a_kill_at_any_call() {
    let number = Cellphone::parse("+34600111222").unwrap();
    let user = ProviderUserId::parse("US.1").unwrap();
    let of_number = vec![Chooser::from(&number)];
    let of_user = vec![Chooser::from(&user)];
    let both = vec![Chooser::from(&number), Chooser::from(&user)];
    for first in [&of_number, &of_user] {
        for (death, calls) in
            [Death::Before, Death::After].into_iter().flat_map(|death| [(death, 0), (death, 1), (death, 2)])
        {
            let scene = Scene::with_endpoint().await;
            let (store, workspace, db) = (scene.world.db.store(), scene.world.workspace, &scene.world.db);
            let choose = async |choosers: &[Chooser], choice| {
                db.clock().advance(Duration::from_secs(60));
                let (scopes, source) = ([ChoiceScope::All].into(), ChoiceSource::Keyword);
                let chosen = Chosen { choice, scopes, source, at: store.now() };
                let dead = db.die_after(calls, death);
                tokio::select! {
                    chosen = store.choose(workspace, choosers, &chosen) => drop(chosen.unwrap()),
                    _ = dead => {}
                }
                db.revive();
                store.choose(workspace, choosers, &chosen).await.unwrap();
                // The provider repeats its webhook.
                store.choose(workspace, choosers, &chosen).await.unwrap();
            };
            choose(first, Choice::Out).await;
            choose(&both, Choice::Out).await;
            choose(&both, Choice::In).await;
            choose(first, Choice::Out).await;
            choose(&both, Choice::In).await;
            let records = db.stream(Table::Leads);
            assert!(scene.relayed(&records).await);
            let mut bodies = scene.bodies(ENDPOINT).await;
            bodies.reverse();
            let told: Vec<_> = bodies.iter().map(|body| body["eventType"].as_str().unwrap()).collect();
            let (out, back) = ("contact.opted_out", "contact.opted_in");
            assert_eq!(told, [out, back, out, back], "{death:?} {calls}");
        }
    }
}
