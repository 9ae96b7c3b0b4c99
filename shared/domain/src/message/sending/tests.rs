use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::choices::{ChoiceScope, opted_out_of};
use crate::contact::address::{ProviderUserId, UserIds};
use crate::conversation::{ContactRef, External};
use crate::ids::{BrandId, BusinessAccountId, ChannelId, ConversationId, MediaId, TemplateId, WorkspaceId};
use crate::media::{FileName, FileType};
use crate::retry::RetrySchedule;
use crate::sending::LineThrottle;
use crate::settings::line::Provider;
use crate::settings::template::{
    AccountState, Button, ButtonKind, ContactField, Filled, ParameterValue, Parameters, Requested, SaidBy,
    Sendable, Source, TemplateContent, TemplateScope, TemplateStatus, Variable, short_form,
};
use crate::text::{Cellphone, PersonName};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const LEASE: Uuid = Uuid::from_u128(9);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn id<T>(make: fn(Uuid) -> T, n: u128) -> T {
    make(Uuid::from_u128(n))
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn schedule() -> SendSchedule {
    let waits = |waits: &[u64]| RetrySchedule::of(&waits.iter().copied().map(secs).collect::<Vec<_>>());
    SendSchedule {
        retries: waits(&[30, 120, 600, 3_600, 14_400]),
        throttled: waits(&[5, 10]),
        template_look: secs(900),
        give_up: DAY,
    }
}

fn channel() -> ChannelId {
    ChannelId::parse("1045551234567").unwrap()
}

fn recipient(n: u128) -> Recipient {
    Recipient { contact: id(ContactId::from_uuid, n), channel: channel() }
}

fn written(text: Option<&str>, media: Vec<Attached>) -> Content {
    let body = text.map(|text| MessageBody::parse(text).unwrap());
    Content::Written { body, media, broadcast: true }
}

fn sound() -> Attached {
    Attached {
        media: id(MediaId::from_uuid, 5),
        file_type: FileType::Audio,
        content_type: "audio/ogg".to_owned(),
        name: FileName::parse("a.ogg").unwrap(),
        size: 1_000,
    }
}

fn message(content: Content, recipients: Vec<Recipient>) -> Message {
    Message {
        id: id(MessageId::from_uuid, 1),
        workspace_id: id(WorkspaceId::from_uuid, 2),
        conversation: id(ConversationId::from_uuid, 3),
        seq: 1,
        sent_by: SentBy::Api,
        lead: None,
        parts: content.parts_for(&recipients),
        content,
        reply_to: None,
        recipients,
        progress: Progress::default(),
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

/// A text and an audio file for two customers: four parts.
fn four_parts() -> Message {
    message(written(Some("hello"), vec![sound()]), vec![recipient(7), recipient(8)])
}

fn end(message: &Message, end: End, now: Timestamp) -> Message {
    message.ended(end, &schedule(), Jitter::NONE, now)
}

fn error(word: &str) -> PartError {
    PartError::of(word)
}

#[test]
fn a_call_may_be_made_unless_one_is_in_progress_or_it_is_too_early() {
    let at = |millis| Timestamp::from_millis(NOW.as_millis() + millis);
    let waits = Progress { next_at: Some(at(1)), ..Progress::default() };
    assert_eq!(Progress::default().standing(NOW), Standing::Due);
    assert_eq!(waits.standing(NOW), Standing::NotBefore(at(1)));
    assert_eq!(waits.standing(at(1)), Standing::Due, "from that moment on");
    let calling = Progress { calling: Some(LEASE), ..waits };
    assert_eq!(calling.standing(NOW), Standing::Interrupted, "whenever that may be");
}

#[test]
fn a_begun_call_keeps_the_time_of_the_first_call_and_clears_the_next_time() {
    let first = Progress::default().begun(LEASE, NOW);
    assert_eq!(first, Progress { since: Some(NOW), calling: Some(LEASE), ..Progress::default() });
    let later = Progress { failures: 2, throttled: 1, next_at: Some(NOW), calling: None, ..first };
    let other = Uuid::from_u128(10);
    let expected = Progress { next_at: None, calling: Some(other), ..later.clone() };
    assert_eq!(later.begun(other, NOW.plus(DAY)), expected);
}

#[test]
fn each_call_outcome_has_its_consequence() {
    let (begun, error) = (Progress::default().begun(LEASE, NOW), PartError::of("131026"));
    let after = |end| begun.after(end, &schedule(), Jitter::NONE, NOW);
    assert_eq!(after(End::Sent("wamid".to_owned())), SendOutcome::Sent("wamid".to_owned()));
    assert_eq!(after(End::Failed(error.clone())), SendOutcome::Failed(error.clone()));
    assert_eq!(after(End::Unknown(error.clone())), SendOutcome::Unknown(error));
    let ended = Progress { calling: None, ..begun.clone() };
    assert_eq!(after(End::NotCalled), SendOutcome::Waits(ended.clone()));
    let (soon, later) = (Some(NOW.plus(secs(5))), Some(NOW.plus(secs(30))));
    let throttled = Progress { throttled: 1, next_at: soon, ..ended.clone() };
    assert_eq!(after(End::Throttled), SendOutcome::Waits(throttled.clone()));
    let line = LineThrottle { until: Some(NOW.plus(secs(60))), times: 4 };
    let with_the_line = Progress { next_at: line.until, ..throttled };
    assert_eq!(
        after(End::LineThrottled(line)),
        SendOutcome::Waits(with_the_line),
        "as long as the line does"
    );
    let not_taken = Progress { failures: 1, next_at: later, ..ended };
    assert_eq!(after(End::NotTaken), SendOutcome::Waits(not_taken.clone()));
    // If no call was begun, the retry period starts now.
    assert_eq!(
        Progress::default().after(End::NotTaken, &schedule(), Jitter::NONE, NOW),
        SendOutcome::Waits(not_taken)
    );
    for end in [End::NotTaken, End::Throttled, End::LineThrottled(line)] {
        let given_up = SendOutcome::Failed(PartError::of(PartError::GIVEN_UP));
        assert_eq!(begun.after(end, &schedule(), Jitter::NONE, NOW.plus(DAY)), given_up);
    }
}

#[test]
fn a_part_without_a_call_is_due_and_a_call_begins_under_a_lease() {
    let message = four_parts();
    assert_eq!(message.turn(NOW), Turn::Due(0));
    let later = NOW.plus(secs(1));
    let begun = message.begun(LEASE, later);
    assert_eq!((begun.parts[0].status, begun.version, begun.updated_at), (MessageStatus::Sending, 2, later));
    assert_eq!(begun.progress, Progress { since: Some(later), calling: Some(LEASE), ..Progress::default() });
    assert_eq!(begun.parts[1..], message.parts[1..], "nothing else is touched");
    assert_eq!(begun.turn(later), Turn::Interrupted, "the sender that finds it did not make the call");
}

#[test]
fn each_call_outcome_gives_the_part_its_status() {
    let begun = four_parts().begun(LEASE, NOW);
    let rows = [
        (End::Sent("wamid.1".to_owned()), MessageStatus::Sent, Some("wamid.1"), None),
        (End::Failed(error("131026")), MessageStatus::Failed, None, Some("131026")),
        (End::Unknown(error("NO_ANSWER")), MessageStatus::Unknown, None, Some("NO_ANSWER")),
    ];
    for (what, status, provider_id, word) in rows {
        let ended = end(&begun, what, NOW);
        let part = &ended.parts[0];
        assert_eq!((part.status, ended.version), (status, 3));
        assert_eq!(part.provider_message_id.as_deref(), provider_id);
        assert_eq!(part.error.as_ref().map(PartError::as_str), word);
        assert_eq!(ended.progress, Progress::default(), "the next part begins anew");
        assert_eq!(ended.turn(NOW), Turn::Due(1), "FAILED and UNKNOWN hold up nobody");
    }
}

#[test]
fn a_part_that_was_not_accepted_is_retried_by_the_schedule_and_given_up_after_a_day() {
    let (mut message, mut now, mut calls) = (four_parts(), NOW, vec![]);
    while message.turn(now) == Turn::Due(0) {
        calls.push(now.since(NOW).as_secs());
        message = end(&message.begun(LEASE, now), End::NotTaken, now);
        if let Some(next_at) = message.progress.next_at {
            assert_eq!(message.turn(now), Turn::NotBefore(next_at));
            assert_eq!((message.parts[0].status, message.version), (MessageStatus::Sending, 2));
            now = next_at;
        }
    }
    let hours = |hours: u64| 4_350 + hours * 3_600;
    let expected = [0, 30, 150, 750, 4_350, hours(4), hours(8), hours(12), hours(16), hours(20), 24 * 3_600];
    assert_eq!(calls, expected);
    assert_eq!(message.parts[0].status, MessageStatus::Failed);
    assert_eq!(message.parts[0].error, Some(error(PartError::GIVEN_UP)));
    assert_eq!((message.progress.clone(), message.turn(now)), (Progress::default(), Turn::Due(1)));
}

#[test]
fn a_throttled_part_waits_by_its_own_schedule_and_counts_no_failure() {
    let mut message = four_parts();
    for wait in [5, 10, 10] {
        message = end(&message.begun(LEASE, NOW), End::Throttled, NOW);
        assert_eq!(message.turn(NOW), Turn::NotBefore(NOW.plus(secs(wait))));
    }
    assert_eq!((message.progress.failures, message.progress.throttled), (0, 3));
    let jitter = Jitter::of(&Uuid::from_u128(u128::MAX));
    let begun = four_parts().begun(LEASE, NOW);
    let lengthened = begun.ended(End::Throttled, &schedule(), jitter, NOW);
    assert_eq!(lengthened.progress.next_at, Some(NOW.plus(secs(6))));
    let exact = begun.ended(End::NotTaken, &schedule(), jitter, NOW);
    assert_eq!(exact.progress.next_at, Some(NOW.plus(secs(30))));
}

#[test]
fn a_part_throttled_for_a_day_is_given_up() {
    let throttled = end(&four_parts().begun(LEASE, NOW), End::Throttled, NOW);
    let last = end(&throttled.begun(LEASE, NOW.plus(DAY)), End::Throttled, NOW.plus(DAY));
    assert_eq!(last.parts[0].error, Some(error(PartError::GIVEN_UP)));
    let later = NOW.plus(DAY - secs(2));
    let shortened = end(&throttled.begun(LEASE, later), End::Throttled, later);
    assert_eq!(shortened.progress.next_at, Some(NOW.plus(DAY)), "one last time when the day is over");
}

#[test]
fn a_call_that_was_not_made_leaves_the_part_due() {
    let tried = end(&four_parts().begun(LEASE, NOW), End::NotTaken, NOW);
    let later = NOW.plus(HOUR);
    let given_back = end(&tried.begun(LEASE, later), End::NotCalled, later);
    assert_eq!(given_back.turn(later), Turn::Due(0));
    assert_eq!((given_back.progress.failures, given_back.progress.since), (1, Some(NOW)));
}

#[test]
fn a_message_whose_call_was_not_made_has_no_call_in_progress() {
    let failed = end(&four_parts().begun(LEASE, NOW), End::NotTaken, NOW);
    let begun = failed.begun(LEASE, NOW.plus(secs(30)));
    let progress = Progress { calling: None, ..begun.progress.clone() };
    assert_eq!((progress.failures, progress.since), (1, Some(NOW)));
    assert_eq!(begun.not_called(), Message { progress, ..begun });
}

#[test]
fn a_part_without_a_begun_call_waits_like_one_that_was_not_accepted() {
    let ended = end(&four_parts(), End::NotTaken, NOW);
    assert_eq!(ended.turn(NOW), Turn::NotBefore(NOW.plus(secs(30))));
    assert_eq!((ended.parts[0].status, ended.progress.since), (MessageStatus::Sending, Some(NOW)));
}

#[test]
fn after_the_last_part_a_message_is_finished() {
    let mut message = four_parts();
    for part in 0..4 {
        assert_eq!(message.turn(NOW), Turn::Due(part));
        message = end(&message.begun(LEASE, NOW), End::Sent(format!("wamid.{part}")), NOW);
    }
    assert_eq!(
        (message.turn(NOW), message.status(), message.version),
        (Turn::Finished, MessageStatus::Sent, 9)
    );
    assert_eq!(message.provider_id_for(id(ContactId::from_uuid, 8)), Some("wamid.2"));
    assert_eq!(message.provider_id_for(id(ContactId::from_uuid, 6)), None);
}

#[test]
fn changes_in_the_same_millisecond_have_increasing_times() {
    let begun = four_parts().begun(LEASE, NOW);
    let ended = end(&begun, End::Failed(error("131026")), NOW);
    assert!(NOW < begun.updated_at && begun.updated_at < ended.updated_at);
}

/// What is known when a message is sent to this contact, without a template.
fn known<'a>(conversation: &'a Conversation, contact: &'a Contact, line: &'a Line) -> MessageKnown<'a> {
    MessageKnown {
        conversation: Some(conversation),
        contact: Some(contact),
        line: Some(line),
        template: None,
        lead: None,
        choices: &[],
        now: NOW,
        window_closed: false,
    }
}

fn conversation(status: ConversationStatus) -> Conversation {
    let contact = id(ContactId::from_uuid, 7);
    let external = External {
        contact,
        shown: ContactRef::Id(contact),
        channel: channel(),
        brand: BrandId::parse("brand").unwrap(),
        joined_at: NOW,
        last_seen_at: None,
    };
    Conversation {
        status,
        externals: vec![external],
        ..Conversation::blank(id(ConversationId::from_uuid, 3), id(WorkspaceId::from_uuid, 2), NOW)
    }
}

fn contact() -> Contact {
    let mut contact = Contact::blank(id(ContactId::from_uuid, 7), id(WorkspaceId::from_uuid, 2), NOW);
    contact.cellphone = Cellphone::parse("+12025550101").ok();
    contact
}

fn line() -> Line {
    Line {
        channel: channel(),
        workspace_id: id(WorkspaceId::from_uuid, 2),
        brand: BrandId::parse("brand").unwrap(),
        business_account: BusinessAccountId::parse("waba").unwrap(),
        name: None,
        created_at: NOW,
        version: 1,
    }
}

/// A template with a code that the caller gives and the first name of the contact.
fn template() -> Template {
    let variable = |name: &str, source| Variable { name: name.to_owned(), source };
    let first_name = Source::Contact { field: ContactField::FirstName, fallback: None };
    let (form, sources) = short_form(vec![variable("name", first_name), variable("code", Source::Caller)]);
    Template {
        id: id(TemplateId::from_uuid, 4),
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "welcome".to_owned(),
        language: "es".to_owned(),
        category: None,
        form,
        sources,
        states: [(line().business_account, AccountState::of(TemplateStatus::Approved, NOW, SaidBy::Sync))]
            .into(),
        taken_from: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

/// The template of [`template`] in this status for the line's account.
fn in_status(status: TemplateStatus) -> Template {
    let mut template = template();
    let account = line().business_account;
    match status {
        TemplateStatus::Unsupported => template.form.unsupported = Some("{}".to_owned()),
        TemplateStatus::Mismatch => {
            template.states.get_mut(&account).unwrap().shape = Some("other".to_owned())
        }
        status => template.states.get_mut(&account).unwrap().status = status,
    }
    template
}

fn never(word: &str) -> NotReady {
    NotReady::Never(PartError::of(word))
}

fn requested() -> Requested {
    let code = ParameterValue::parse("a  1").unwrap();
    let parameters = Parameters::from([("code".to_owned(), code)]);
    Requested { template: id(TemplateId::from_uuid, 4), parameters }
}

#[test]
fn a_letter_contains_the_content_of_the_part() {
    let (conversation, contact, line) = (conversation(ConversationStatus::Ghost), contact(), line());
    let known = known(&conversation, &contact, &line);
    let message = four_parts();
    let letter = message.letter(0, &known).unwrap();
    assert_eq!(
        (letter.to.as_str(), letter.words),
        ("+12025550101", Words::Text(&MessageBody::parse("hello").unwrap()))
    );
    assert_eq!(message.letter(1, &known).unwrap().words, Words::Media(&sound(), None));
    assert_eq!(message.recipient_of(2).map(|to| to.contact), Some(id(ContactId::from_uuid, 8)));
}

#[test]
fn a_templates_letter_has_its_values_filled_in() {
    let (conversation, line, template) = (conversation(ConversationStatus::Active), line(), template());
    let mut named = contact();
    named.first_name = PersonName::parse("Ana María").ok();
    let known = MessageKnown { template: Some(&template), ..known(&conversation, &named, &line) };
    let message = message(Content::Template(TemplateContent::of(requested())), vec![recipient(7)]);
    let values = [("name", "Ana María"), ("code", "a 1")]
        .map(|(slot, value)| (slot.to_owned(), Filled::Text(value.to_owned())));
    let filling = Filling { values: values.into(), faults: vec![] };
    assert_eq!(message.letter(0, &known).unwrap().words, Words::Template(&template, filling));
    let unnamed = contact();
    let because = message.letter(0, &MessageKnown { contact: Some(&unnamed), ..known });
    let detail = "The value of name is the contact's firstName, which is empty.";
    assert_eq!(because, Err(NotReady::Never(error(PartError::MISSING_VALUE).because(detail))));
    // The template has changed since the message was accepted.
    let mut edited = template.clone();
    edited.set_variables(vec![]);
    assert!(message.letter(0, &MessageKnown { template: Some(&edited), ..known }).is_ok());
    edited.form.buttons.push(Button { text: String::new(), kind: ButtonKind::CopyCode });
    let because = message.letter(0, &MessageKnown { template: Some(&edited), ..known });
    let detail = "The value of button.0.code is missing.";
    assert_eq!(because, Err(NotReady::Never(error(PartError::MISSING_VALUE).because(detail))));
    let because = message.letter(0, &MessageKnown { template: None, ..known });
    assert_eq!(because, Err(never(PartError::NO_TEMPLATE)));
}

#[test]
fn a_templates_status_for_the_lines_account_decides() {
    let (conversation, line) = (conversation(ConversationStatus::Active), line());
    let mut named = contact();
    named.first_name = PersonName::parse("Ana").ok();
    let message = message(Content::Template(TemplateContent::of(requested())), vec![recipient(7)]);
    for status in TemplateStatus::ALL {
        let template = in_status(status);
        let known = MessageKnown { template: Some(&template), ..known(&conversation, &named, &line) };
        let letter = message.letter(0, &known).map(|_| ());
        let expected = match status.sendable() {
            Sendable::Now => Ok(()),
            Sendable::Later => Err(NotReady::TemplateWaits(status)),
            Sendable::Never => Err(NotReady::Never(error(PartError::NOT_APPROVED).because(status.as_str()))),
        };
        assert_eq!(letter, expected, "{status:?}");
        // What never fits does not wait first.
        let unnamed = contact();
        if status.sendable() == Sendable::Later {
            let because = message.letter(0, &MessageKnown { contact: Some(&unnamed), ..known });
            assert!(
                matches!(because, Err(NotReady::Never(error)) if error.as_str() == PartError::MISSING_VALUE)
            );
        }
    }
    let unknown = Template { states: [].into(), ..template() };
    let known = MessageKnown { template: Some(&unknown), ..known(&conversation, &named, &line) };
    assert_eq!(message.letter(0, &known), Err(never(PartError::NOT_APPROVED)));
}

#[test]
fn a_leads_message_needs_its_consent_its_number_and_lead_capture() {
    let (conversation, line, template) = (conversation(ConversationStatus::Active), line(), template());
    let mut named = contact();
    named.first_name = PersonName::parse("Ana").ok();
    let own = named.cellphone.as_ref().map(Cellphone::key);
    let other = Cellphone::parse("+34600111222").ok().map(|number| number.key());
    let out = [opted_out_of(ChoiceScope::All)];
    let message = message(Content::Template(TemplateContent::of(requested())), vec![recipient(7)]);
    let rows = [
        (own.clone(), true, &[][..], None),
        (own.clone(), false, &[], Some("CAPTURE_DISABLED")),
        (None, true, &[], Some("NO_CONSENT")),
        (other.clone(), true, &[], Some("NUMBER_CHANGED")),
        (other, false, &out, Some("OPTED_OUT")),
    ];
    for (number, is_capturing, choices, expected) in rows {
        let known = known(&conversation, &named, &line);
        let permit = LeadPermit { number, is_capturing };
        let known = MessageKnown { template: Some(&template), lead: Some(&permit), choices, ..known };
        let letter = message.letter(0, &known).map(|_| ());
        assert_eq!(letter, expected.map_or(Ok(()), |word| Err(never(word))), "{expected:?}");
    }
}

#[test]
fn a_template_that_waits_is_looked_at_until_a_day_has_passed() {
    let message = message(Content::Template(TemplateContent::of(requested())), vec![recipient(7)]);
    let look = |message: &Message, after| message.looked_at_again(&schedule(), NOW.plus(after));
    assert_eq!(look(&message, secs(0)), Some(NOW.plus(secs(900))));
    assert_eq!(look(&message, DAY - secs(60)), Some(NOW.plus(DAY)), "the last look is at the end");
    assert_eq!(look(&message, DAY), None);
    // A call that was made counts, and not when the message was written.
    let began =
        message.begun(LEASE, NOW.plus(HOUR)).ended(End::TemplatePaused, &schedule(), Jitter::NONE, NOW);
    assert_eq!(look(&began, DAY), Some(NOW.plus(DAY + secs(900))));
}

#[test]
fn a_call_for_a_paused_template_holds_only_templates_and_fails_after_a_day() {
    let begun = four_parts().begun(LEASE, NOW);
    let paused = begun.ended(End::TemplatePaused, &schedule(), Jitter::NONE, NOW);
    let until = NOW.plus(secs(900));
    assert_eq!(
        (paused.parts[0].status, paused.turn(NOW)),
        (MessageStatus::Sending, Turn::PausedUntil(until))
    );
    assert_eq!(paused.turn(until), Turn::Due(0));
    // The next call may end in another way.
    let throttled = paused.begun(LEASE, until).ended(End::Throttled, &schedule(), Jitter::NONE, until);
    assert_eq!(throttled.turn(until), Turn::NotBefore(until.plus(secs(5))));
    let failed =
        paused.begun(LEASE, until).ended(End::TemplatePaused, &schedule(), Jitter::NONE, NOW.plus(DAY));
    assert_eq!(failed.parts[0].status, MessageStatus::Failed);
    assert_eq!(failed.parts[0].error, Some(error(PartError::NOT_APPROVED).because("PAUSED")));
}

#[test]
fn a_number_that_opted_out_gets_no_template_and_everything_else() {
    let (conversation, contact, line, template) =
        (conversation(ConversationStatus::Active), contact(), line(), template());
    let out = [opted_out_of(ChoiceScope::All)];
    let known =
        MessageKnown { template: Some(&template), choices: &out, ..known(&conversation, &contact, &line) };
    let onboarding = message(Content::Template(TemplateContent::of(requested())), vec![recipient(7)]);
    for template in [Some(&template), None] {
        let because = onboarding.letter(0, &MessageKnown { template, ..known });
        assert_eq!(because, Err(never(PartError::OPTED_OUT)));
    }
    let silent = Contact { cellphone: None, ..contact.clone() };
    let because = onboarding.letter(0, &MessageKnown { contact: Some(&silent), ..known });
    assert_eq!(because, Err(never(PartError::NO_ADDRESS)));
    for part in 0..4 {
        assert!(four_parts().letter(part, &known).is_ok(), "{part}: written by an agent");
    }
}

#[test]
fn a_contact_without_a_number_gets_a_letter_by_its_user_id() {
    let (conversation, line) = (conversation(ConversationStatus::Active), line());
    let user = |id| ProviderUserId::parse(id).unwrap();
    let other = BusinessAccountId::parse("other").unwrap();
    let of_other = UserIds::one(other, user("US.2"));
    let number = || contact().cellphone;
    for (cellphone, user_ids, expected) in [
        (None, of_other.with(&line.business_account, &user("US.1")), Address::User(user("US.1"))),
        (None, of_other.clone(), Address::User(user("US.2"))),
        (number(), of_other, Address::Number(number().unwrap())),
    ] {
        let hidden = Contact { cellphone, user_ids, ..contact() };
        let known = known(&conversation, &hidden, &line);
        assert_eq!(four_parts().letter(0, &known).unwrap().to, expected);
    }
}

#[test]
fn a_closed_window_stops_what_an_agent_writes_and_no_template() {
    let (conversation, contact, line, template) =
        (conversation(ConversationStatus::Active), contact(), line(), template());
    let mut named = contact.clone();
    named.first_name = PersonName::parse("Ana").ok();
    let known = MessageKnown {
        template: Some(&template),
        window_closed: true,
        ..known(&conversation, &named, &line)
    };
    for part in 0..4 {
        assert_eq!(four_parts().letter(part, &known), Err(never(PartError::OUTSIDE_WINDOW)), "{part}");
    }
    let onboarding = message(Content::Template(TemplateContent::of(requested())), vec![recipient(7)]);
    assert!(onboarding.letter(0, &known).is_ok());
}

#[test]
fn a_part_that_cannot_be_sent_has_the_first_reason() {
    let (active, blocked) =
        (conversation(ConversationStatus::Active), conversation(ConversationStatus::Blocked));
    let (contact, line) = (contact(), line());
    let silent = Contact { cellphone: None, ..contact.clone() };
    let all = known(&active, &contact, &line);
    let rows = [
        (
            MessageKnown { conversation: Some(&blocked), line: None, contact: None, ..all },
            0,
            PartError::BLOCKED,
        ),
        (MessageKnown { conversation: None, ..all }, 0, PartError::BLOCKED),
        (MessageKnown { line: None, contact: None, ..all }, 0, PartError::NO_LINE),
        (MessageKnown { contact: None, ..all }, 0, PartError::NO_ADDRESS),
        (MessageKnown { contact: Some(&silent), ..all }, 0, PartError::NO_ADDRESS),
        (all, 4, PartError::NO_CONTENT),
    ];
    for (known, part, word) in rows {
        assert_eq!(four_parts().letter(part, &known), Err(never(word)));
    }
}

#[test]
fn only_the_first_piece_for_each_customer_answers_a_message() {
    let replied = id(MessageId::from_uuid, 6);
    let message = Message { reply_to: Some(replied), ..four_parts() };
    assert_eq!([0, 1, 2, 3].map(|part| message.answers(part)), [Some(replied), None, Some(replied), None]);
    assert_eq!(four_parts().answers(0), None);
}

#[test]
fn a_plan_becomes_messages_one_by_one() {
    let plan = OnboardingPlan {
        workspace_id: id(WorkspaceId::from_uuid, 2),
        conversation: id(ConversationId::from_uuid, 3),
        recipients: vec![recipient(7), recipient(8)],
        steps: [requested(), Requested { parameters: Parameters::new(), ..requested() }]
            .map(TemplateContent::of)
            .into(),
        done: 0,
        created_at: NOW,
    };
    assert_eq!(plan.steps_left().collect::<Vec<_>>(), [1, 2]);
    let later = NOW.plus(HOUR);
    let (first, plan) = plan.next_message(id(MessageId::from_uuid, 10), later).unwrap();
    assert_eq!(
        (first.seq, first.sent_by, first.created_at),
        (1, SentBy::Onboarding, NOW),
        "of the moment of the plan"
    );
    assert_eq!((first.content, first.parts.len()), (Content::Template(TemplateContent::of(requested())), 2));
    let (second, plan) = plan.next_message(id(MessageId::from_uuid, 11), later).unwrap();
    assert_eq!((second.seq, plan.steps_left().count()), (2, 0));
    assert_eq!(plan.next_message(id(MessageId::from_uuid, 12), later), None);
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Sent("wamid.1".to_owned())),
        Just(End::Failed(error("131026"))),
        Just(End::Unknown(error("NO_ANSWER"))),
        Just(End::NotTaken),
        Just(End::Throttled),
        (0..400_000_u64).prop_map(|wait| {
            End::LineThrottled(LineThrottle { until: Some(NOW.plus(secs(wait))), times: 1 })
        }),
        Just(End::NotCalled),
    ]
}

proptest! {
    #[test]
    fn a_status_never_goes_back_and_each_status_change_makes_a_version(
        ends in prop::collection::vec((any_end(), any::<bool>(), 0..200_000_u64), 1..40)
    ) {
        let (mut message, mut now) = (four_parts(), NOW);
        for (end, called, later) in ends {
            now = now.plus(secs(later));
            let mut steps = vec![];
            if called {
                steps.push(message.begun(LEASE, now));
            }
            let last = steps.last().unwrap_or(&message);
            steps.push(last.ended(end, &schedule(), Jitter::NONE, now));
            for next in steps {
                let moved = message.parts.iter().zip(&next.parts).filter(|(a, b)| a.status != b.status).count();
                prop_assert!(message.parts.iter().zip(&next.parts).all(|(a, b)| a.status <= b.status));
                prop_assert!(moved <= 1);
                prop_assert_eq!(next.version, message.version + moved as u64);
                prop_assert_eq!(next.updated_at > message.updated_at, moved == 1);
                prop_assert!(next.status() >= message.status());
                let last = next.progress.since.unwrap_or(now).plus(DAY);
                prop_assert!(next.progress.next_at.is_none_or(|at| at <= last));
                message = next;
            }
            prop_assert_eq!(message.progress.calling, None);
            if message.turn(now) == Turn::Finished {
                prop_assert_eq!(&message.progress, &Progress::default());
            }
        }
    }
}
