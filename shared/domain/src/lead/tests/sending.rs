//! The states of a lead, and how it follows its message.

use proptest::prelude::*;

use super::*;

/// The lead's message after its part ended in this way.
fn message(status: MessageStatus, error: Option<&str>) -> Message {
    let (lead, line) = (lead(), line());
    let contact = lead.contact_of(None, NOW);
    let conversation = lead.new_conversation(lead.conversation, &contact, (&line, brand()), 1, NOW);
    let mut message = lead.message_in(&conversation, &contact, template().bare_content(NOW), 1, NOW).unwrap();
    message.parts[0].status = status;
    message.parts[0].error = error.map(PartError::of);
    message
}

#[test]
fn the_part_of_the_message_decides_about_the_lead() {
    use MessageStatus::{Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
    let rows = [
        (Queued, None, LeadState::Sending),
        (Sending, None, LeadState::Sending),
        (Sent, None, LeadState::Sent),
        (Delivered, None, LeadState::Sent),
        (Read, None, LeadState::Sent),
        (Unknown, Some("NO_ANSWER"), LeadState::Unknown),
        (Failed, Some("131026"), LeadState::Failed),
        (Failed, Some("NUMBER_CHANGED"), LeadState::Failed),
        (Failed, Some("OPTED_OUT"), LeadState::Suppressed),
        (Failed, Some("OPTED_OUT_MARKETING"), LeadState::Suppressed),
        (Failed, Some("CAPTURE_DISABLED"), LeadState::Suppressed),
    ];
    for (status, error, expected) in rows {
        let shown = error.map(PartError::of);
        assert_eq!(Lead::state_of(&message(status, error)), (expected, shown), "{status:?} {error:?}");
    }
}

#[test]
fn an_opened_lead_is_sending_or_failed_and_names_what_it_opened() {
    let (lead, conversation) = (lead(), lead().conversation);
    let sending = lead.opened_for(stranger(), Some(conversation), None, NOW);
    assert_eq!((sending.state, sending.contact, sending.opened), (LeadState::Sending, stranger(), true));
    assert_eq!((sending.version, sending.updated_at), (2, NOW.plus(MOMENT)));
    assert_eq!(sending.sent_message(), Some(lead.message));
    let failed = lead.opened_for(stranger(), None, Some(error("NO_LINE")), NOW);
    assert_eq!(
        (failed.state, failed.error.clone(), failed.opened),
        (LeadState::Failed, Some(error("NO_LINE")), false)
    );
    assert_eq!((lead.sent_message(), failed.sent_message()), (None, None));
    let suppressed = lead.suppressed(error("OPTED_OUT"), NOW);
    assert_eq!((suppressed.state, suppressed.opened), (LeadState::Suppressed, false));
}

#[test]
fn a_lead_is_retried_with_a_new_message() {
    let other = MessageId::from_uuid(Uuid::from_u128(99));
    for state in LeadState::ALL {
        let lead =
            Lead { state, error: Some(error("131026")), message_version: Some(3), opened: true, ..lead() };
        let queued = |lead: Lead| {
            let message = lead.sent_message();
            (lead.state, lead.message, lead.message_version, lead.error, lead.opened, lead.version, message)
        };
        let expected = (LeadState::Queued, other, None, None, true, 2, None);
        let by_operator = matches!(state, LeadState::Unknown | LeadState::Failed).then_some(expected.clone());
        assert_eq!(lead.retried(other, NOW).map(queued), by_operator, "{state:?}");
        let by_visitor = matches!(state, LeadState::Suppressed | LeadState::Failed).then_some(expected);
        assert_eq!(lead.queued_by_repeat(other, NOW).map(queued), by_visitor, "{state:?}");
    }
}

#[test]
fn a_retry_is_refused_if_it_is_too_late_too_early_or_would_suppress_the_lead() {
    use crate::TemplateCategory::{Marketing, Utility};
    use LeadState::{Failed, Queued, Sending, Sent, Suppressed, Unknown};
    use NotRetried::{CaptureDisabled, MaySendTwice, OptedOut, State};
    let enabled =
        Capture { enabled: true, ..Capture::new(workspace(), CaptureKey::from_entropy([0; 6]), NOW) };
    let disabled = Capture { enabled: false, ..enabled.clone() };
    let (on, off, twice) = (Some(&enabled), Some(&disabled), true);
    let (all, marketing) = (Some(ChoiceScope::All), Some(ChoiceScope::Marketing));
    for (state, capture, opted_out, category, may_send_twice, expected) in [
        (Queued, on, None, None, twice, Err(State)),
        (Sending, on, None, None, twice, Err(State)),
        (Sent, on, None, None, twice, Err(State)),
        (Suppressed, on, None, None, twice, Err(State)),
        (Failed, on, None, None, false, Ok(Queued)),
        (Failed, on, None, None, twice, Ok(Queued)),
        (Unknown, on, None, None, false, Err(MaySendTwice)),
        (Unknown, on, None, None, twice, Ok(Queued)),
        (Failed, off, None, None, twice, Err(CaptureDisabled)),
        (Failed, None, None, None, twice, Err(CaptureDisabled)),
        (Failed, on, all.clone(), Some(Utility), twice, Err(OptedOut)),
        (Failed, on, marketing.clone(), Some(Marketing), twice, Err(OptedOut)),
        (Failed, on, marketing.clone(), None, twice, Err(OptedOut)),
        (Failed, on, marketing, Some(Utility), twice, Ok(Queued)),
        // The first reason is named: what the caller can change, before what the workspace can.
        (Unknown, off, all.clone(), None, false, Err(MaySendTwice)),
        (Unknown, off, all, None, twice, Err(CaptureDisabled)),
    ] {
        let lead = Lead { state, ..lead() };
        let choices: Vec<_> = opted_out.iter().map(|scope| opted_out_of(scope.clone())).collect();
        let known = RetryKnown { capture, category, choices: &choices, may_send_twice };
        let retried = lead.retry(&known, lead.message, NOW).map(|next| next.state);
        assert_eq!(retried, expected, "{state:?} {opted_out:?} {category:?} {may_send_twice}");
    }
}

proptest! {
    #[test]
    fn each_change_of_a_lead_is_a_later_version(at in 0_i64..10, state in 0_usize..6) {
        let before = Lead { state: LeadState::ALL[state], ..lead() };
        let now = Timestamp::from_millis(NOW.as_millis() - 5 + at);
        let changes = [
            Some(before.suppressed(error("OPTED_OUT"), now)),
            Some(before.opened_for(stranger(), None, None, now)),
            before.retried(before.message, now),
            before.queued_by_repeat(before.message, now),
        ];
        for after in changes.into_iter().flatten() {
            prop_assert_eq!(after.version, before.version + 1);
            prop_assert!(after.updated_at > before.updated_at && after.updated_at >= now);
        }
    }
}
