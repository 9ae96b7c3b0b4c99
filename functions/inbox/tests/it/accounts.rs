//! What the provider says about accounts and lines, in any order, and for whom it is kept.

use std::time::Duration;

use domain::settings::reported::{AccountFact, AccountReport, LineFact, LineState, News};
use domain::{BusinessAccountId, ChannelId, Timestamp, WorkspaceId};
use harness::{Death, World, trips};
use inbox::TemplateReader;
use provider::TemplateClient;
use serde_json::{Value, json};
use store::Table;
use wiremock::matchers::{path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{LINE, Site};

const RESTRICTED: &str = "ACCOUNT_RESTRICTION";
const OTHERS_LINE: &str = "2045551234567";

fn account() -> BusinessAccountId {
    BusinessAccountId::parse(World::ACCOUNT).unwrap()
}

fn update(event: &str, seconds: i64) -> Value {
    json!({ "event": event, "entry_time": seconds })
}

fn restricted(seconds: i64) -> Value {
    let info =
        json!([{ "restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": 1_767_600_000 }]);
    json!({ "event": RESTRICTED, "entry_time": seconds, "restriction_info": info })
}

fn quality(number: &str, event: &str, seconds: i64) -> Value {
    json!({ "display_phone_number": number, "event": event, "current_limit": "TIER_1K", "entry_time": seconds })
}

impl Site {
    async fn report(&self, workspace: WorkspaceId) -> Option<AccountReport> {
        self.store().account_report(workspace, &account()).await.unwrap()
    }

    /// The status of the account in a workspace, if one is known.
    async fn account_status(&self, workspace: WorkspaceId) -> Option<String> {
        self.report(workspace).await?.fact(AccountFact::Status).map(str::to_owned)
    }

    async fn line_state(&self) -> Option<LineState> {
        let line = ChannelId::parse(LINE).unwrap();
        self.store().line_and_state(self.world.workspace, &line).await.unwrap().unwrap().1
    }

    /// A list of the provider said which number the line has.
    async fn number_known(&self, number: &str) {
        let line = LineState::unknown(self.world.workspace, ChannelId::parse(LINE).unwrap(), account());
        let facts = vec![(LineFact::DisplayPhoneNumber, number.to_owned())];
        let news = News { at: Timestamp::from_millis(0), facts, restrictions: None, notice: None };
        assert!(self.store().put_line_state(&line.told(&news, self.store().now()).unwrap()).await.unwrap());
    }

    pub(crate) fn count_of(&self, name: &str) -> u64 {
        self.counted.values().get(name).map_or(0, |values| values.iter().sum())
    }
}

#[tokio::test]
async fn the_news_of_an_account_are_kept_for_each_workspace_that_has_it_and_late_ones_undo_nothing() {
    let site = Site::start().await;
    let (own, other) = (site.world.workspace, site.other_workspace(OTHERS_LINE).await);
    site.deliver("account_update", restricted(1_767_000_010)).await;
    for workspace in [own, other] {
        let report = site.report(workspace).await.unwrap();
        assert_eq!(report.fact(AccountFact::Status), Some("RESTRICTED"));
        assert_eq!(report.restrictions()[0].kind, "RESTRICTED_BIZ_INITIATED_MESSAGING");
        let notice = report.notice.unwrap();
        assert_eq!(
            (notice.event.as_str(), notice.at),
            (RESTRICTED, Timestamp::from_millis(1_767_000_010_000))
        );
        assert!(
            notice.raw.as_str().contains("restriction_info") && !notice.raw.as_str().contains("entry_time")
        );
    }
    let before = site.report(own).await;
    site.deliver("account_update", restricted(1_767_000_010)).await;
    site.deliver("account_update", update("DISABLED_UPDATE", 1_767_000_005)).await;
    assert_eq!(site.report(own).await, before, "a repeat or an older webhook changed the account");
    // The app of one workspace says nothing about another one's.
    let disabled = update("DISABLED_UPDATE", 1_767_000_020);
    site.deliver_for(Some(other), World::ACCOUNT, "account_update", disabled).await;
    assert_eq!(site.report(own).await, before);
    assert_eq!(site.account_status(other).await.as_deref(), Some("DISABLED"));
    site.deliver_for(None, "999", "account_update", update("ACCOUNT_DELETED", 1_767_000_030)).await;
    assert_eq!(site.report(own).await, before, "another account");
    assert_eq!(site.count_of("InboxItemsDropped"), 1);
}

#[tokio::test]
async fn each_kind_of_news_changes_what_it_is_about() {
    let site = Site::start().await;
    let own = site.world.workspace;
    site.deliver("account_review_update", json!({ "decision": "APPROVED" })).await;
    site.deliver("business_capability_update", json!({ "max_daily_conversation_per_phone": 2_000 })).await;
    let alert = json!({ "alert_severity": "CRITICAL", "alert_type": "OBA_APPROVED", "entity_type": "BUSINESS", "entity_id": "7" });
    site.deliver("account_alerts", alert).await;
    let report = site.report(own).await.unwrap();
    let facts = [AccountFact::ReviewStatus, AccountFact::MessagingLimit, AccountFact::Status]
        .map(|fact| report.fact(fact));
    assert_eq!(facts, [Some("APPROVED"), Some("2000"), None]);
    assert_eq!(report.notice.unwrap().event, "OBA_APPROVED");
    assert_eq!(site.count_of("ProviderChangesSeen"), 0, "nobody must look at these");
    // A line of another workspace's account or of nobody is counted.
    let alert =
        json!({ "alert_type": "LOW_QUALITY", "entity_type": "PHONE_NUMBER", "entity_id": OTHERS_LINE });
    site.deliver("account_alerts", alert).await;
    assert_eq!(
        (site.line_state().await, site.count_of("ProviderChangesSeen")),
        (None, 1),
        "an unknown line is counted"
    );
    let alert = json!({ "alert_info": { "alert_type": "LOW_QUALITY" }, "entity_type": "PHONE_NUMBER", "entity_id": LINE, "entry_time": 1_767_000_000 });
    site.deliver("account_alerts", alert).await;
    assert_eq!(site.line_state().await.unwrap().notice.unwrap().event, "LOW_QUALITY");
    let known = site.line_state().await.unwrap();
    let facts = vec![(LineFact::DisplayPhoneNumber, "+34 600 111 222".to_owned())];
    let news = News { at: Timestamp::from_millis(0), facts, restrictions: None, notice: None };
    assert!(site.store().put_line_state(&known.told(&news, site.store().now()).unwrap()).await.unwrap());
    site.deliver("phone_number_quality_update", quality("34600111222", "FLAGGED", 1_767_000_010)).await;
    let named = json!({ "display_phone_number": "34600111222", "decision": "APPROVED", "requested_verified_name": "Shop", "entry_time": 1_767_000_010 });
    site.deliver("phone_number_name_update", named).await;
    let line = site.line_state().await.unwrap();
    let facts = [LineFact::Status, LineFact::MessagingLimit, LineFact::NameStatus, LineFact::VerifiedName];
    assert_eq!(facts.map(|fact| line.fact(fact).unwrap()), ["FLAGGED", "TIER_1K", "APPROVED", "Shop"]);
    assert_eq!(line.notice.unwrap().event, "FLAGGED");
    assert_eq!(site.count_of("ProviderChangesSeen"), 1);
}

#[tokio::test]
async fn an_operator_is_called_only_if_an_account_cannot_send_as_before() {
    for (event, status, is_counted) in [
        (RESTRICTED, Some("RESTRICTED"), 1),
        ("ACCOUNT_VIOLATION", Some("VIOLATION"), 1),
        ("DISABLED_UPDATE", Some("DISABLED"), 1),
        ("ACCOUNT_DELETED", Some("DELETED"), 1),
        ("ACCOUNT_OFFBOARDED", Some("OFFBOARDED"), 1),
        ("PARTNER_REMOVED", None, 1),
        ("PHONE_NUMBER_REMOVED", None, 1),
        ("VERIFIED_ACCOUNT", None, 0),
        ("A_NEW_EVENT", None, 0),
    ] {
        let site = Site::start().await;
        site.deliver("account_update", update(event, 1_767_000_000)).await;
        assert_eq!(site.account_status(site.world.workspace).await.as_deref(), status, "{event}");
        assert_eq!(site.report(site.world.workspace).await.unwrap().notice.unwrap().event, event);
        assert_eq!(site.count_of("ProviderChangesSeen"), is_counted, "{event}");
    }
}

#[tokio::test]
async fn news_take_three_round_trips_and_two_units_of_each_kind_for_a_workspace() {
    let site = Site::start().await;
    site.number_known("+34 600 111 222").await;
    let reads_of = async |field: &str, value: Value| {
        site.calls();
        site.deliver(field, value).await;
        let calls = site.calls();
        let read: f64 = calls.iter().map(|call| call.read_units).sum();
        let written: f64 = calls.iter().map(|call| call.write_units).sum();
        (trips(&calls), read, written)
    };
    assert_eq!(reads_of("account_update", restricted(1_767_000_000)).await, (3, 2.0, 1.0));
    assert_eq!(
        reads_of("account_update", restricted(1_767_000_000)).await,
        (2, 2.0, 0.0),
        "a repeat writes nothing"
    );
    let flagged = quality("34600111222", "FLAGGED", 1_767_000_000);
    assert_eq!(reads_of("phone_number_quality_update", flagged).await, (3, 2.0, 1.0));
}

#[tokio::test]
async fn a_kill_at_any_call_leaves_news_that_a_repeat_completes() {
    for calls in 0..5 {
        let site = Site::start().await;
        let other = site.other_workspace(OTHERS_LINE).await;
        let dead = site.world.db.die_after(calls, Death::After);
        tokio::select! {
            () = site.deliver("account_update", restricted(1_767_000_000)) => {}
            _ = dead => {}
        }
        site.world.db.revive();
        site.deliver("account_update", restricted(1_767_000_000)).await;
        for workspace in [site.world.workspace, other] {
            assert_eq!(site.report(workspace).await.unwrap().version, 1, "{calls}");
        }
        assert_eq!(site.world.db.rows(Table::Leads).len(), 0);
    }
}

#[tokio::test]
async fn a_deleted_line_takes_what_is_known_of_it_and_of_its_account() {
    let site = Site::start().await;
    site.number_known("+34 600 111 222").await;
    site.deliver("account_update", restricted(1_767_000_000)).await;
    let (store, own) = (site.store(), site.world.workspace);
    let seen = store.workspace(own).await.unwrap().unwrap();
    let lines = store.lines(own).await.unwrap();
    let line = lines.lines.iter().find(|line| line.channel.as_str() == LINE).unwrap();
    let brand = lines.brands[0].with_line(None);
    assert!(store.delete_line(&seen.without_line(&line.channel), line, brand.as_ref(), true).await.unwrap());
    assert_eq!((store.line_states(own).await.unwrap(), site.report(own).await), (vec![], None));
}

/// The function with a provider that answers for the account's lines.
async fn with_lines(answer: ResponseTemplate) -> (Site, MockServer) {
    let (mut site, provider) = (Site::start().await, MockServer::start().await);
    let asked = Mock::given(path(format!("/v25.0/{}/phone_numbers", World::ACCOUNT)));
    asked.and(query_param("limit", "100")).respond_with(answer).mount(&provider).await;
    site.function.templates = TemplateReader::new(TemplateClient::new(&provider.uri(), "v25.0").unwrap());
    (site, provider)
}

#[tokio::test]
async fn a_line_that_is_not_known_by_its_number_is_found_in_the_list_of_the_provider() {
    let ours = json!({
        "id": LINE, "display_phone_number": "+34 600-111-222", "verified_name": "Shop", "quality_rating": "GREEN", "status": "CONNECTED",
    });
    let foreign = json!({ "id": "999", "display_phone_number": "+34 600 111 223", "status": "CONNECTED" });
    let list = json!({ "data": [foreign, ours, { "id": 7 }] });
    let (site, provider) = with_lines(ResponseTemplate::new(200).set_body_json(list)).await;
    let now = site.store().now().as_millis() / 1_000;
    site.deliver("phone_number_quality_update", quality("34600111222", "FLAGGED", now - 60)).await;
    let line = site.line_state().await.unwrap();
    let facts = [LineFact::Status, LineFact::Quality, LineFact::VerifiedName, LineFact::MessagingLimit];
    // The list is newer than the webhook.
    assert_eq!(facts.map(|fact| line.fact(fact).unwrap()), ["CONNECTED", "GREEN", "Shop", "TIER_1K"]);
    assert_eq!(line.notice.unwrap().event, "FLAGGED");
    assert_eq!((site.count_of("ProviderChangesSeen"), site.queued().len()), (0, 0));
    assert_eq!(
        site.store().line_states(site.world.workspace).await.unwrap().len(),
        1,
        "the others are nobody's"
    );
    site.deliver("phone_number_quality_update", quality("34600111222", "UNFLAGGED", now - 30)).await;
    assert_eq!(provider.received_requests().await.unwrap().len(), 1, "the number is known from now on");
    // A number that the list does not have either, or has for somebody else, is counted.
    for number in ["34600111223", "34600111224"] {
        site.deliver("phone_number_quality_update", quality(number, "FLAGGED", now)).await;
    }
    assert_eq!(site.count_of("ProviderChangesSeen"), 2);
}

#[tokio::test]
async fn news_of_a_line_wait_for_a_provider_that_does_not_answer_and_not_for_a_token_that_does_not_hold() {
    let (site, _provider) = with_lines(ResponseTemplate::new(503)).await;
    let news = quality("34600111222", "FLAGGED", 1_767_000_000);
    site.deliver("phone_number_quality_update", news.clone()).await;
    let queued = site.queued();
    let [(piece, delay)] = &queued[..] else { panic!("{}", queued.len()) };
    assert_eq!((*delay, site.count_of("ProviderChangesSeen")), (5, 0));
    site.world.db.clock().advance(Duration::from_mins(15));
    site.process(std::slice::from_ref(piece)).await;
    assert_eq!(
        (site.queued().len(), site.count_of("ProviderChangesSeen")),
        (0, 1),
        "it has waited for long enough"
    );
    let refused = json!({ "error": { "code": 190, "message": "expired" } });
    let (site, _provider) = with_lines(ResponseTemplate::new(401).set_body_json(refused)).await;
    site.deliver("phone_number_quality_update", news).await;
    assert_eq!((site.queued().len(), site.count_of("ProviderChangesSeen")), (0, 1));
}
