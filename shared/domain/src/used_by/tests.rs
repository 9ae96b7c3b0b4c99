use uuid::Uuid;

use super::*;
use crate::conversation::{ContactRef, External};
use crate::ids::{BusinessAccountId, ContactId, TeamId, TemplateId, UserId, WorkspaceId};
use crate::lead::capture::CaptureKey;
use crate::settings::line::Provider;
use crate::settings::onboarding::Onboarding;
use crate::settings::template::{AccountState, Form, SaidBy, TemplateStatus};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(id(1))
}

fn channel(text: &str) -> ChannelId {
    ChannelId::parse(text).unwrap()
}

fn brand_id(text: &str) -> BrandId {
    BrandId::parse(text).unwrap()
}

fn brand(text: &str, line: Option<&str>) -> Brand {
    Brand { line: line.map(channel), ..Brand::new(brand_id(text), workspace(), text, NOW).unwrap() }
}

fn line(text: &str, brand: &str) -> Line {
    let account = BusinessAccountId::parse("2").unwrap();
    Line::new(workspace(), channel(text), brand_id(brand), account, NOW).unwrap()
}

/// `a` has the lines 1 (default of the workspace) and 2, `b` has line 3, and `c` has none.
fn lines() -> Lines {
    Lines {
        lines: vec![line("1", "a"), line("2", "a"), line("3", "b")],
        brands: vec![brand("a", Some("1")), brand("b", Some("3")), brand("c", None)],
        default: Some(channel("1")),
    }
}

fn capture(brand: Option<&str>, enabled: bool) -> Capture {
    let key = CaptureKey::from_entropy([1; 6]);
    Capture { brand: brand.map(brand_id), enabled, ..Capture::new(workspace(), key, NOW) }
}

fn conversation(n: u128, line: &str, status: ConversationStatus) -> Conversation {
    let contact = ContactId::from_uuid(id(n));
    let external = External {
        contact,
        shown: ContactRef::Id(contact),
        channel: channel(line),
        brand: brand_id("a"),
        joined_at: NOW,
        last_seen_at: None,
    };
    Conversation {
        status,
        externals: vec![external],
        ..Conversation::blank(ConversationId::from_uuid(id(n)), workspace(), NOW)
    }
}

#[test]
fn a_brand_is_used_by_its_lines_and_by_lead_capture_that_names_it() {
    let of_a = vec![UsedBy::Line(channel("1")), UsedBy::Line(channel("2"))];
    let rows = [
        ("a", None, of_a.clone()),
        ("a", Some(capture(Some("a"), false)), [of_a, vec![UsedBy::Capture]].concat()),
        ("b", Some(capture(Some("a"), true)), vec![UsedBy::Line(channel("3"))]),
        ("c", Some(capture(None, true)), vec![]),
        ("c", Some(capture(Some("c"), false)), vec![UsedBy::Capture]),
    ];
    for (name, capture, expected) in rows {
        assert_eq!(of_brand(&brand(name, None), &lines(), capture.as_ref()), expected, "{name} {capture:?}");
    }
}

#[test]
fn a_line_is_used_by_those_who_would_have_to_send_from_another_one() {
    let rows = [
        // The default line of the workspace and of its brand.
        ("1", None, vec![UsedBy::Workspace, UsedBy::Brand(brand_id("a"))]),
        // A further line of a brand.
        ("2", None, vec![]),
        ("2", Some(capture(Some("a"), true)), vec![]),
        // The only line of a brand, which then sends from the workspace's default.
        ("3", None, vec![]),
        ("3", Some(capture(Some("a"), true)), vec![]),
        ("3", Some(capture(Some("b"), true)), vec![UsedBy::Capture]),
        ("3", Some(capture(Some("b"), false)), vec![]),
        ("3", Some(capture(None, true)), vec![UsedBy::Capture]),
    ];
    for (name, capture, expected) in rows {
        let line = lines().line(&channel(name)).cloned().unwrap();
        assert_eq!(of_line(&line, &lines(), capture.as_ref(), &[]), expected, "{name} {capture:?}");
    }
}

#[test]
fn the_last_line_of_a_workspace_can_be_deleted_unless_leads_are_answered_from_it() {
    let last = Lines { lines: vec![line("1", "a")], ..lines() };
    assert_eq!(of_line(&line("1", "a"), &last, None, &[]), []);
    // A brand without a line sends from the default line of the workspace.
    let capture = capture(Some("c"), true);
    assert_eq!(of_line(&line("1", "a"), &last, Some(&capture), &[]), [UsedBy::Capture]);
}

#[test]
fn a_line_is_used_by_the_newest_conversations_that_are_not_released() {
    let newest = [
        conversation(9, "3", ConversationStatus::Active),
        conversation(8, "2", ConversationStatus::Released),
        conversation(7, "2", ConversationStatus::Blocked),
        conversation(6, "2", ConversationStatus::Ghost),
    ];
    let uses = |text: &str| of_line(&line(text, "a"), &Lines::default(), None, &newest);
    let seven = ConversationId::from_uuid(id(7));
    assert_eq!(uses("2"), [UsedBy::Conversations { newest: seven, others: 1 }]);
    assert_eq!(uses("2")[0].to_string(), format!("conversation {seven} and 1 more"));
    assert_eq!(uses("3")[0].to_string(), format!("conversation {}", id(9)));
    assert_eq!(uses("4"), []);
}

#[test]
fn a_template_is_used_by_the_workspaces_settings_and_the_platforms_by_its_approvals() {
    let template = Template {
        id: TemplateId::from_uuid(id(5)),
        scope: TemplateScope::Workspace(workspace()),
        provider: Provider::WhatsApp,
        name: "welcome".to_owned(),
        language: "es".to_owned(),
        category: None,
        form: Form::of_names(vec![]),
        sources: [].into(),
        states: [BusinessAccountId::parse("2").unwrap()]
            .into_iter()
            .map(|account| (account, AccountState::of(TemplateStatus::Approved, NOW, SaidBy::Operator)))
            .collect(),
        taken_from: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    };
    let plain = Workspace::new(workspace(), "Aster", NOW).unwrap();
    let sequence = vec![TemplateId::from_uuid(id(4)), template.id];
    let onboarding = Onboarding { sequence, ..Onboarding::default() };
    let with_onboarding = Workspace { onboarding, ..plain.clone() };
    let with_template = Capture { template: Some(template.id), ..capture(None, false) };
    let other = Capture { template: Some(TemplateId::from_uuid(id(4))), ..with_template.clone() };
    let uses = |workspace, capture| of_template(&template, Some(workspace), Some(capture));
    assert_eq!(uses(&plain, &other), []);
    assert_eq!(uses(&with_onboarding, &other), [UsedBy::Onboarding]);
    assert_eq!(uses(&plain, &with_template), [UsedBy::Capture]);
    assert_eq!(uses(&with_onboarding, &with_template), [UsedBy::Onboarding, UsedBy::Capture]);

    let platforms = Template { scope: TemplateScope::Platform, ..template };
    assert_eq!(of_template(&platforms, None, None), [UsedBy::Accounts(1)]);
    let bare = Template { states: [].into(), ..platforms };
    assert_eq!(of_template(&bare, None, None), []);
}

#[test]
fn a_team_is_used_by_its_members() {
    let team = Team::new(TeamId::from_uuid(id(3)), workspace(), "Sales", NOW).unwrap();
    assert_eq!(of_team(&team), []);
    let two = team.with(&[id(1), id(2)].map(UserId::from_uuid)).unwrap().unwrap();
    assert_eq!(of_team(&two), [UsedBy::Members(2)]);
    assert_eq!([1, 2].map(|n| UsedBy::Members(n).to_string()), ["1 member", "2 members"]);
}
