use std::time::Duration;

use domain::sending::PartError;
use domain::{Lead, LeadState, Timestamp};
use harness::World;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;

const NOBODY: &str = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";

/// A workspace with leads that the test defines.
struct Leads {
    desk: Desk,
    workspace: String,
}

impl Leads {
    /// Creates one lead for each change. The first lead is the oldest.
    async fn with(changes: &[&dyn Fn(&mut Lead)]) -> (Self, Vec<String>) {
        let world = World::start().await;
        let mut leads = vec![];
        for (at, change) in changes.iter().enumerate() {
            let lead = world.lead(&format!("+346001112{at:02}"), |lead| change(lead)).await;
            world.db.clock().advance(Duration::from_secs(1));
            leads.push(lead.id.to_string());
        }
        world.capture(|_| ()).await;
        let workspace = world.workspace.to_string();
        (Self { desk: Desk::over(world.db), workspace }, leads)
    }

    fn within<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &["--workspace", &self.workspace]].concat()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        self.desk.json(&self.within(arguments)).await
    }

    async fn refused(&self, arguments: &[&str]) -> String {
        self.desk.refused(&self.within(arguments)).await
    }

    async fn listed(&self, more: &[&str]) -> Vec<String> {
        let listed = self.json(&[&["lead", "list"], more].concat()).await;
        let id = |lead: &Value| lead["requestId"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(id).collect()
    }
}

/// Puts a lead into this state with this error.
fn ended(state: LeadState, error: Option<&'static str>) -> impl Fn(&mut Lead) {
    move |lead| {
        lead.state = state;
        lead.error = error.map(PartError::of);
        lead.opened = error.is_none_or(|error| error != PartError::OPTED_OUT);
    }
}

#[tokio::test]
async fn leads_are_listed_newest_first_by_state_and_up_to_a_limit() {
    let unknown = ended(LeadState::Unknown, Some(PartError::NO_ANSWER));
    let sent = ended(LeadState::Sent, None);
    let (leads, ids) = Leads::with(&[&unknown, &|_| (), &sent, &unknown]).await;
    let of = |places: &[usize]| places.iter().map(|&at| ids[at].clone()).collect::<Vec<_>>();
    assert_eq!(leads.listed(&[]).await, of(&[3, 2, 1, 0]));
    assert_eq!(leads.listed(&["--state", "UNKNOWN"]).await, of(&[3, 0]));
    assert_eq!(leads.listed(&["--state", "SUPPRESSED"]).await, of(&[]));
    assert_eq!(leads.listed(&["--limit", "2"]).await, of(&[3, 2]));
    assert_eq!(leads.listed(&["--limit", "2", "--after", &ids[2]]).await, of(&[1, 0]));
    assert_eq!(leads.listed(&["--state", "UNKNOWN", "--after", &ids[2]]).await, of(&[0]));
    assert_eq!(leads.listed(&["--after", &ids[0]]).await, of(&[]));
    let shown = leads.json(&["lead", "list", "--limit", "1"]).await;
    assert_json_snapshot!(shown, @r#"
    [
      {
        "brandId": "brand",
        "cellphone": "+34600111203",
        "createdAt": "2026-01-02T03:04:08.678Z",
        "error": "NO_ANSWER",
        "errorInWords": "WhatsApp did not answer: nobody knows whether the person received the message",
        "landingUri": "https://www.example.com/spring?utm_source=search",
        "name": "Ana Pérez",
        "requestId": "00000000-0000-4000-8000-000000000014",
        "state": "UNKNOWN",
        "updatedAt": "2026-01-02T03:04:08.678Z",
        "utm": {
          "utm_source": "search"
        }
      }
    ]
    "#);
    assert_snapshot!(leads.desk.run(&leads.within(&["lead", "list"])).await.out, @"
    LEAD                                  STATE    NUMBER        NAME       PAGE                                              CAMPAIGN           BRAND  CREATED                   ERROR
    00000000-0000-4000-8000-000000000014  UNKNOWN  +34600111203  Ana Pérez  https://www.example.com/spring?utm_source=search  utm_source=search  brand  2026-01-02T03:04:08.678Z  NO_ANSWER: WhatsApp did not answer: nobody knows whether the person received the message
    00000000-0000-4000-8000-00000000000f  SENT     +34600111202  Ana Pérez  https://www.example.com/spring?utm_source=search  utm_source=search  brand  2026-01-02T03:04:07.678Z  -
    00000000-0000-4000-8000-00000000000a  QUEUED   +34600111201  Ana Pérez  https://www.example.com/spring?utm_source=search  utm_source=search  brand  2026-01-02T03:04:06.678Z  -
    00000000-0000-4000-8000-000000000005  UNKNOWN  +34600111200  Ana Pérez  https://www.example.com/spring?utm_source=search  utm_source=search  brand  2026-01-02T03:04:05.678Z  NO_ANSWER: WhatsApp did not answer: nobody knows whether the person received the message
    ");
}

#[tokio::test]
async fn leads_are_exported_as_guarded_csv_or_json() {
    let hostile = |lead: &mut Lead| {
        lead.name = domain::lead::LeadName::parse("Ana;=cmd|' /C calc'!A0").ok();
        let utm = [("utm_source", "=1+1"), ("utm_medium", "mail"), ("gclid", "x"), ("fbclid", "@y")];
        let utm = utm.map(|(key, value)| (key.to_owned(), value.to_owned()));
        lead.utm = domain::lead::Utm::of(utm.into()).unwrap();
    };
    let (leads, ids) = Leads::with(&[&hostile, &ended(LeadState::Sent, None)]).await;
    let export = leads.within(&["lead", "export"]);
    let csv = leads.desk.run(&export).await.out;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(
        rows[0],
        "requestId,createdAt,state,error,name,cellphone,brandId,landingUri,utm_source,utm_medium,utm_campaign,\
        utm_term,utm_content,utm,consentStatus,consentCapturedAt,consentReceivedAt,consentText,userAgent,score,\
        contactId,conversationId"
    );
    assert!(rows.len() == 3 && rows[1].starts_with(&ids[1]) && rows[2].starts_with(&ids[0]), "{csv}");
    assert!(rows[1].contains(",SENT,,Ana P\u{e9}rez,+34600111201,brand,"), "{csv}");
    assert!(rows[2].contains(",Ana;'=cmd|' /C calc'!A0,+34600111200,"), "{csv}");
    assert!(rows[2].contains(",'=1+1,mail,,,,fbclid=@y; gclid=x,GRANTED,"), "{csv}");
    let raw = leads.desk.run(&[&export[..], &["--raw"]].concat()).await.out;
    assert!(raw.contains(",Ana;=cmd|") && raw.contains(",=1+1,"), "{raw}");
    let json = leads.json(&["lead", "export"]).await;
    let shown = leads.json(&["lead", "show", "--lead", &ids[0]]).await;
    assert_eq!(json.as_array().unwrap()[1], shown);
    assert_eq!(leads.json(&["lead", "export", "--state", "SENT"]).await.as_array().unwrap().len(), 1);
    assert_eq!(leads.json(&["lead", "export", "--state", "FAILED"]).await, json!([]));
    let file = std::env::temp_dir().join(format!("leads-{}.csv", std::process::id()));
    let path = file.to_str().unwrap();
    let written = leads.json(&["lead", "export", "--output", path]).await;
    assert_eq!(written, json!({ "exported": 2, "file": path }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), csv);
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn a_list_may_be_longer_than_one_page_of_the_table() {
    let world = World::start().await;
    for at in 0..105 {
        world.lead(&format!("+34600112{at:03}"), |_| ()).await;
        world.db.clock().advance(Duration::from_millis(1));
    }
    let workspace = world.workspace.to_string();
    let leads = Leads { desk: Desk::over(world.db), workspace };
    let all = leads.listed(&["--limit", "1000"]).await;
    assert_eq!(all.len(), 105);
    assert_eq!(leads.json(&["lead", "export"]).await.as_array().unwrap().len(), 105);
    assert_eq!(leads.listed(&[]).await, all[..50]);
    assert_eq!(leads.listed(&["--limit", "103"]).await, all[..103]);
    assert_eq!(leads.listed(&["--after", &all[99]]).await, all[100..]);
}

#[tokio::test]
async fn a_lead_is_shown_with_its_consent_and_its_progress() {
    let waiting = |lead: &mut Lead| {
        lead.state = LeadState::Sending;
        lead.opened = true;
        lead.consent.captured_at = Some(Timestamp::from_millis(1_767_323_000_000));
        lead.consent.text = domain::lead::ConsentText::parse("I agree\nto messages.").ok();
    };
    let (leads, ids) = Leads::with(&[&waiting, &ended(LeadState::Failed, Some("131026"))]).await;
    let show = ["lead", "show", "--lead", &ids[0]];
    assert_json_snapshot!(leads.json(&show).await, @r#"
    {
      "brandId": "brand",
      "cellphone": "+34600111200",
      "consent": {
        "addressHash": "d341915284dc65f3c42475dff047095318e78531edf5d9505d393bdf63fe4614",
        "capturedAt": "2026-01-02T03:03:20.000Z",
        "landingUri": "https://www.example.com/spring?utm_source=search",
        "receivedAt": "2026-01-02T03:04:05.678Z",
        "score": 0.9,
        "status": "GRANTED",
        "text": "I agree\nto messages.",
        "userAgent": "Browser/1.0"
      },
      "contactId": "00000000-0000-4000-8000-000000000006",
      "conversationId": "00000000-0000-4000-8000-000000000007",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "error": null,
      "errorInWords": null,
      "landingUri": "https://www.example.com/spring?utm_source=search",
      "messageId": "00000000-0000-4000-8000-000000000008",
      "name": "Ana Pérez",
      "requestId": "00000000-0000-4000-8000-000000000005",
      "state": "SENDING",
      "updatedAt": "2026-01-02T03:04:05.678Z",
      "utm": {
        "utm_source": "search"
      },
      "version": 1
    }
    "#);
    assert_snapshot!(leads.desk.run(&leads.within(&show)).await.out, @"
    lead           00000000-0000-4000-8000-000000000005
    state          SENDING
    number         +34600111200
    brand          brand
    created        2026-01-02T03:04:05.678Z
    updated        2026-01-02T03:04:05.678Z
    error          -
    name           Ana Pérez
    page           https://www.example.com/spring?utm_source=search
    campaign       utm_source=search
    consent        GRANTED at 2026-01-02T03:03:20.000Z, received at 2026-01-02T03:04:05.678Z
    consent text   I agree\\nto messages.
    captcha score  0.9
    browser        Browser/1.0
    address hash   d341915284dc65f3c42475dff047095318e78531edf5d9505d393bdf63fe4614
    contact        00000000-0000-4000-8000-000000000006
    conversation   00000000-0000-4000-8000-000000000007
    message        00000000-0000-4000-8000-000000000008
    ");
    let failed = leads.json(&["lead", "show", "--lead", &ids[1]]).await;
    assert_eq!((&failed["state"], &failed["error"]), (&json!("FAILED"), &json!("131026")));
}

#[tokio::test]
async fn a_failure_is_shown_in_words_and_an_unknown_code_alone() {
    let failed = |code| ended(LeadState::Failed, Some(code));
    let (leads, _) = Leads::with(&[&failed("131047"), &failed("999999"), &failed("NO_LINE")]).await;
    let list = leads.json(&["lead", "list"]).await;
    let words: Vec<_> = list.as_array().unwrap().iter().map(|lead| lead["errorInWords"].as_str()).collect();
    let of_provider = "the person last wrote more than 24 hours ago: only a template can be sent";
    let own = "the line or the brand no longer exists";
    assert_eq!(words, [Some(own), None, Some(of_provider)]);
    let table = leads.desk.run(&leads.within(&["lead", "list"])).await.out;
    let ends: Vec<&str> = table.lines().skip(1).map(|line| line.rsplit("Z  ").next().unwrap()).collect();
    assert_eq!(ends, [&format!("NO_LINE: {own}"), "999999", &format!("131047: {of_provider}")]);
}

#[tokio::test]
async fn a_lead_without_a_conversation_shows_none_of_its_future_ids() {
    let (leads, ids) = Leads::with(&[&|_| ()]).await;
    let shown = leads.json(&["lead", "show", "--lead", &ids[0]]).await;
    for field in ["contactId", "conversationId", "messageId"] {
        assert_eq!(shown[field], Value::Null, "{field}");
    }
}

#[tokio::test]
async fn a_failed_lead_is_retried_and_due_at_once() {
    let (leads, ids) = Leads::with(&[&ended(LeadState::Failed, Some(PartError::NO_LINE))]).await;
    let retried = leads.json(&["lead", "retry", "--lead", &ids[0]]).await;
    assert_eq!(
        (&retried["state"], &retried["error"], &retried["version"]),
        (&json!("QUEUED"), &Value::Null, &json!(2))
    );
    assert_eq!(leads.json(&["lead", "show", "--lead", &ids[0]]).await, retried);
    let rows = leads.desk.db.rows(store::Table::Leads);
    let is_it = |row: &&Value| row["sk"]["S"] == "L" && row["pk"]["S"].as_str().unwrap().ends_with(&ids[0]);
    let row = rows.iter().find(is_it).unwrap();
    let now = leads.desk.db.store().now().as_millis().to_string();
    assert_eq!(row["dueAt"]["N"], now.as_str(), "the lead must be due for the sweeper");
}

#[tokio::test]
async fn an_unknown_lead_is_retried_only_with_may_send_twice() {
    let (leads, ids) = Leads::with(&[&ended(LeadState::Unknown, Some(PartError::NO_ANSWER))]).await;
    let retry = ["lead", "retry", "--lead", &ids[0]];
    let before = leads.json(&["lead", "show", "--lead", &ids[0]]).await;
    assert_snapshot!(leads.refused(&retry).await, @"The outcome of the lead's message is unknown, and a retry may send it twice: give --may-send-twice to allow that.");
    assert_eq!(leads.json(&["lead", "show", "--lead", &ids[0]]).await, before);
    let retried = leads.json(&[&retry[..], &["--may-send-twice"]].concat()).await;
    assert_eq!(retried["state"], "QUEUED");
}

#[tokio::test]
async fn a_lead_in_progress_sent_or_forbidden_is_not_retried() {
    let states = [LeadState::Queued, LeadState::Sending, LeadState::Sent, LeadState::Suppressed];
    let changes = states.map(|state| ended(state, None));
    let changes = changes.each_ref().map(|change| change as &dyn Fn(&mut Lead));
    let (leads, ids) = Leads::with(&changes).await;
    for (state, id) in states.iter().zip(&ids) {
        for more in [&[][..], &["--may-send-twice"]] {
            let refused = leads.refused(&[&["lead", "retry", "--lead", id], more].concat()).await;
            let expected =
                format!("The lead is {}: only a FAILED or UNKNOWN lead can be retried.", state.as_str());
            assert_eq!(refused, expected);
        }
        let shown = leads.json(&["lead", "show", "--lead", id]).await;
        assert_eq!((&shown["state"], &shown["version"]), (&json!(state.as_str()), &json!(1)));
    }
}

#[tokio::test]
async fn a_lead_that_would_be_suppressed_is_not_retried() {
    let failed = ended(LeadState::Failed, Some("131026"));
    let (leads, ids) = Leads::with(&[&failed]).await;
    let retry = ["lead", "retry", "--lead", &ids[0]];
    leads.json(&["opt-out", "add", "--cellphone", "+34600111200"]).await;
    assert_snapshot!(leads.refused(&retry).await, @"The lead is not retried: it would become SUPPRESSED for good, because its number has opted out.");
    leads.json(&["opt-out", "remove", "--cellphone", "+34600111200"]).await;
    leads.json(&["capture", "disable"]).await;
    assert_snapshot!(leads.refused(&retry).await, @"The lead is not retried: it would become SUPPRESSED for good, because capture is disabled.");
    assert_eq!(leads.listed(&["--state", "FAILED"]).await, ids, "a refusal must change nothing");
}

#[tokio::test]
async fn of_two_concurrent_retries_one_is_refused_because_the_lead_is_queued() {
    let (leads, ids) = Leads::with(&[&ended(LeadState::Failed, Some("131026"))]).await;
    let retry = leads.within(&["lead", "retry", "--lead", &ids[0]]);
    let (one, other) = tokio::join!(leads.desk.run(&retry), leads.desk.run(&retry));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [0, 1]);
    let err = one.err + &other.err;
    assert_eq!(err, "The lead is QUEUED: only a FAILED or UNKNOWN lead can be retried.\n");
    assert_eq!(leads.json(&["lead", "show", "--lead", &ids[0]]).await["version"], 2);
}

#[tokio::test]
async fn unknown_leads_and_leads_of_other_workspaces_are_refused() {
    let (leads, ids) = Leads::with(&[&ended(LeadState::Failed, Some("131026"))]).await;
    let other = leads.desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap();
    for (workspace, lead) in [(leads.workspace.as_str(), NOBODY), (other, &ids[0])] {
        for command in
            [&["lead", "show", "--lead"][..], &["lead", "retry", "--lead"], &["lead", "list", "--after"]]
        {
            let refused = leads.desk.refused(&[command, &[lead, "--workspace", workspace]].concat()).await;
            assert_eq!(refused, format!("The workspace has no lead {lead}."), "{command:?}");
        }
    }
    assert_eq!(leads.desk.json(&["lead", "list", "--workspace", other]).await, json!([]));
    let nowhere = leads.desk.refused(&["lead", "list", "--workspace", NOBODY]).await;
    assert_eq!(nowhere, format!("There is no workspace {NOBODY}."));
}
