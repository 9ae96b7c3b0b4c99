//! The reading of the day: templates and lines of all accounts.

use std::time::Duration;

use domain::settings::reported::LineFact;
use domain::{ProviderAppId, Template, TemplateScope, TemplateStatus};
use harness::{Death, World};
use inbox::TemplateReader;
use local::simulator::Provider;
use provider::TemplateClient;
use queue::Inbound;
use serde_json::{Value, json};

use crate::{LINE, Site};

const OTHER: &str = "2055500009";

/// A site with a provider whose account has this many templates.
async fn with_templates(number: usize) -> (Site, Provider) {
    let (mut site, provider) = (Site::start().await, Provider::start(0).await.unwrap());
    site.function.templates = TemplateReader::new(TemplateClient::new(&provider.url(), "v25.0").unwrap());
    list(&provider, number);
    (site, provider)
}

fn list(provider: &Provider, number: usize) {
    let template = |number| {
        json!({
            "name": format!("t{number:03}"), "language": "es", "status": "APPROVED", "category": "UTILITY",
            "components": [{ "type": "BODY", "text": "Hola" }],
        })
    };
    let templates: Vec<Value> = (0..number).map(template).collect();
    let registry = json!({ "phoneNumberIds": [LINE], "data": templates });
    provider.set_templates(World::ACCOUNT, &registry).unwrap();
}

/// Processes what is queued until nothing is left. Returns the number of pieces.
async fn work(site: &Site) -> usize {
    let mut done = 0;
    loop {
        let pieces: Vec<Inbound> = site.queued().into_iter().map(|(piece, _)| piece).collect();
        if pieces.is_empty() {
            return done;
        }
        done += pieces.len();
        assert_eq!(site.process(&pieces).await, Vec::<String>::new());
    }
}

async fn templates(site: &Site) -> Vec<Template> {
    site.store().templates_of(TemplateScope::Workspace(site.world.workspace)).await.unwrap()
}

async fn sync_error(site: &Site) -> Option<Option<String>> {
    let report = site.store().account_report(site.world.workspace, &World::account()).await.unwrap();
    report.and_then(|report| report.synced).map(|synced| synced.error)
}

#[tokio::test]
async fn each_account_is_read_once_over_a_quarter_of_an_hour() {
    let site = Site::start().await;
    for number in 0..24 {
        let account = domain::BusinessAccountId::parse(&format!("77{number}")).unwrap();
        site.world.line(&format!("88{number}"), |line| line.business_account = account).await;
    }
    let other = site.other_workspace("99").await;
    assert_ne!(other, site.world.workspace);
    assert_eq!(site.function.begin_the_day().await.unwrap(), 25);
    let queued = site.queued();
    let mut accounts: Vec<&str> = queued.iter().map(|(piece, _)| piece.account.as_str()).collect();
    accounts.sort_unstable();
    accounts.dedup();
    assert_eq!((queued.len(), accounts.len()), (25, 25));
    let delays: std::collections::BTreeSet<u64> = queued.iter().map(|(_, delay)| *delay).collect();
    assert_eq!(delays.into_iter().collect::<Vec<_>>(), [0, 300, 600]);
}

#[tokio::test]
async fn a_page_ends_with_the_next_piece_and_the_last_one_with_what_is_gone_and_the_lines() {
    let (site, provider) = with_templates(125).await;
    site.function.begin_the_day().await.unwrap();
    assert_eq!(work(&site).await, 2, "two pages");
    assert_eq!(templates(&site).await.len(), 125);
    let [line] = &site.store().line_states(site.world.workspace).await.unwrap()[..] else { panic!("a line") };
    assert_eq!(
        (line.fact(LineFact::Status), line.fact(LineFact::Quality)),
        (Some("CONNECTED"), Some("GREEN"))
    );
    assert_eq!(sync_error(&site).await, Some(None));

    list(&provider, 120);
    site.world.db.clock().advance(Duration::from_secs(86_400));
    site.function.begin_the_day().await.unwrap();
    assert_eq!(work(&site).await, 2);
    let gone = |template: &&Template| template.status(&World::account()) == Some(TemplateStatus::Deleted);
    assert_eq!(templates(&site).await.iter().filter(gone).count(), 5);
    assert_eq!(site.count_of("InboxItemsProcessed"), 4);
}

#[tokio::test]
async fn a_function_that_dies_at_any_call_is_finished_by_the_repeat() {
    let pieces = {
        let (site, _provider) = with_templates(3).await;
        site.function.begin_the_day().await.unwrap();
        site.queued()
    };
    let [(piece, _)] = &pieces[..] else { panic!("{}", pieces.len()) };
    let piece = std::slice::from_ref(piece);
    for call in 0.. {
        let (site, _provider) = with_templates(3).await;
        let dead = site.world.db.die_after(call, Death::After);
        let died = tokio::select! {
            _ = dead => true,
            _ = site.process(piece) => false,
        };
        site.world.db.revive();
        assert_eq!(site.process(piece).await, Vec::<String>::new());
        work(&site).await;
        assert_eq!((templates(&site).await.len(), sync_error(&site).await), (3, Some(None)), "{call}");
        assert_eq!(site.store().line_states(site.world.workspace).await.unwrap().len(), 1, "{call}");
        if !died {
            assert!(call > 5, "{call}");
            return;
        }
    }
}

#[tokio::test]
async fn a_refused_token_is_kept_as_the_accounts_error_and_ends_with_the_next_reading() {
    let (site, provider) = with_templates(3).await;
    provider.set_templates(World::ACCOUNT, &json!({ "data": [], "refuses": 190 })).unwrap();
    site.function.begin_the_day().await.unwrap();
    assert_eq!(work(&site).await, 1);
    let error = sync_error(&site).await.flatten().unwrap();
    assert!(error.contains("190"), "{error}");
    assert_eq!(site.count_of("ProviderChangesSeen"), 1, "an operator is called");
    list(&provider, 3);
    site.world.db.clock().advance(Duration::from_secs(86_400));
    site.function.begin_the_day().await.unwrap();
    work(&site).await;
    assert_eq!((sync_error(&site).await, templates(&site).await.len()), (Some(None), 3));
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_asked_again_for_a_quarter_of_an_hour() {
    let site = Site::start().await;
    site.function.begin_the_day().await.unwrap();
    let mut asked = 0;
    loop {
        let queued = site.queued();
        let [(piece, delay)] = &queued[..] else { break };
        site.world.db.clock().advance(Duration::from_secs(*delay));
        assert_eq!(site.process(std::slice::from_ref(piece)).await, Vec::<String>::new());
        asked += 1;
    }
    assert!((5..20).contains(&asked), "{asked}");
    assert_eq!((site.count_of("ProviderChangesSeen"), sync_error(&site).await), (1, None));
}

#[tokio::test]
async fn an_app_cannot_ask_for_a_reading() {
    let (site, _provider) = with_templates(3).await;
    site.function.begin_the_day().await.unwrap();
    let (piece, _) = site.queued().remove(0);
    let forged = Inbound { app: ProviderAppId::parse("1042000000001").unwrap(), ..piece.clone() };
    assert_eq!(site.process(&[forged]).await, Vec::<String>::new());
    assert_eq!((templates(&site).await.len(), site.count_of("ProviderChangesSeen")), (0, 1));
    let elsewhere = Inbound { account: OTHER.to_owned(), ..piece };
    assert_eq!(site.process(&[elsewhere]).await, Vec::<String>::new());
    assert_eq!(site.count_of("InboxItemsDropped"), 1, "no line of the account is here");
}
