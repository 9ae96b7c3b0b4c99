use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::conversation::Recipient;
use crate::ids::{ChannelId, ContactId, ConversationId, MessageId, WorkspaceId};
use crate::message::{Content, MessageBody, PricingWord, SentBy};
use crate::sending::Progress;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const IDS: [&str; 2] = ["wamid.1", "wamid.2"];

/// A message to two customers, whose parts are in these statuses. Part 0 has the first of [`IDS`] if a sender
/// recorded that it was accepted.
fn message(statuses: [MessageStatus; 2]) -> Message {
    let contact = |n| ContactId::from_uuid(Uuid::from_u128(n));
    let channel = ChannelId::parse("1045551234567").unwrap();
    let recipients: Vec<Recipient> =
        [7, 8].map(|n| Recipient { contact: contact(n), channel: channel.clone() }).into();
    let content = Content::Written { body: MessageBody::parse("hello").ok(), media: vec![], broadcast: true };
    let mut parts = content.parts_for(&recipients);
    for (part, status) in parts.iter_mut().zip(statuses) {
        part.status = status;
        part.provider_message_id = (status >= MessageStatus::Sent).then(|| IDS[0].to_owned());
        part.error = match status {
            MessageStatus::Unknown => Some(PartError::of(PartError::INTERRUPTED)),
            MessageStatus::Failed => Some(PartError::of("131026")),
            _ => None,
        };
        part.delivered_at = (status >= MessageStatus::Delivered).then_some(NOW);
        part.read_at = (status == MessageStatus::Read).then_some(NOW);
    }
    Message {
        id: MessageId::from_uuid(Uuid::from_u128(1)),
        workspace_id: WorkspaceId::from_uuid(Uuid::from_u128(2)),
        conversation: ConversationId::from_uuid(Uuid::from_u128(3)),
        seq: 4,
        sent_by: SentBy::Api,
        lead: None,
        content,
        reply_to: None,
        recipients,
        parts,
        progress: Progress::default(),
        created_at: NOW,
        updated_at: NOW,
        version: 3,
    }
}

fn report(kind: ReportKind, seconds: u64) -> Report {
    let at = NOW.plus(Duration::from_secs(seconds));
    Report { provider_message_id: IDS[0].to_owned(), kind, pricing: None, at }
}

fn failed(code: &str) -> ReportKind {
    ReportKind::Failed(PartError::of(code))
}

/// The message after these reports about part 0.
fn after(message: &Message, reports: &[Report]) -> Message {
    reports.iter().fold(message.clone(), |message, report| match message.reported(0, report, NOW) {
        Reported::Changed(next) => *next,
        _ => message,
    })
}

#[test]
fn of_several_codes_for_the_accepted_send_the_smallest_holds_and_a_code_of_the_sender_stays() {
    let mut part = message([MessageStatus::Failed, MessageStatus::Unknown]);
    assert_eq!(part.reported(0, &report(failed("100"), 0), NOW), Reported::Unchanged);
    part.parts[0].provider_message_id = Some(IDS[0].to_owned());
    for (codes, held) in [(["100", "131049"], "100"), (["131049", "100"], "100"), (["131049"; 2], "131026")] {
        let after = after(&part, &codes.map(|code| report(failed(code), 0)));
        assert_eq!(after.parts[0].error.as_ref().map(PartError::as_str), Some(held), "{codes:?}");
    }
}

#[test]
fn every_status_changes_as_the_table_says() {
    use MessageStatus::{Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
    let rows = [
        (Queued, [None; 4]),
        (Sending, [None; 4]),
        (Unknown, [Some(Sent), Some(Failed), Some(Delivered), Some(Read)]),
        (Failed, [Some(Failed), Some(Failed), Some(Delivered), Some(Read)]),
        (Sent, [Some(Sent), Some(Failed), Some(Delivered), Some(Read)]),
        (Delivered, [Some(Delivered), Some(Delivered), Some(Delivered), Some(Read)]),
        (Read, [Some(Read), Some(Read), Some(Read), Some(Read)]),
    ];
    let kinds = [ReportKind::Sent, failed("131049"), ReportKind::Delivered, ReportKind::Read];
    for (before, row) in rows {
        for (kind, expected) in kinds.iter().zip(row) {
            let message = message([before, Unknown]);
            let at = format!("{kind:?} on {before:?}");
            let reported = message.reported(0, &report(kind.clone(), 0), NOW);
            let Some(expected) = expected else {
                assert_eq!(reported, Reported::TooEarly, "{at}");
                continue;
            };
            if expected == before {
                assert_eq!(reported, Reported::Unchanged, "{at}");
                continue;
            }
            let Reported::Changed(next) = reported else { panic!("{at}: {reported:?}") };
            let part = &next.parts[0];
            assert_eq!((part.status, part.provider_message_id.as_deref()), (expected, Some(IDS[0])), "{at}");
            let code = (expected == Failed).then_some("131049");
            assert_eq!(part.error.as_ref().map(PartError::as_str), code, "{at}");
            let times = (expected >= Delivered).then_some(NOW);
            let read = (expected == Read).then_some(NOW);
            assert_eq!((part.delivered_at, part.read_at), (times, read), "{at}");
            assert_eq!((next.parts[1].clone(), next.version), (message.parts[1].clone(), 4), "{at}");
            assert_eq!(next.updated_at, NOW.plus(Duration::from_millis(1)), "{at}");
            assert_eq!(next.progress, message.progress, "{at}");
        }
    }
}

#[test]
fn a_report_about_no_part_changes_nothing() {
    let message = message([MessageStatus::Sent; 2]);
    assert_eq!(message.reported(2, &report(ReportKind::Read, 0), NOW), Reported::NoPart);
}

#[test]
fn the_failure_of_another_send_changes_nothing_but_its_delivery_is_proof() {
    let of_other = |kind| Report { provider_message_id: IDS[1].to_owned(), ..report(kind, 0) };
    let sent = message([MessageStatus::Sent; 2]);
    for kind in [ReportKind::Sent, failed("131026")] {
        assert_eq!(sent.reported(0, &of_other(kind), NOW), Reported::Unchanged);
    }
    let part = &after(&sent, &[of_other(ReportKind::Delivered)]).parts[0];
    let expected = (MessageStatus::Delivered, Some(IDS[0]));
    assert_eq!((part.status, part.provider_message_id.as_deref()), expected);
}

#[test]
fn a_message_was_delivered_and_read_when_its_last_part_was() {
    let mut message = message([MessageStatus::Sent; 2]);
    let at = |seconds| Some(NOW.plus(Duration::from_secs(seconds)));
    assert_eq!((message.delivered_at(), message.read_at()), (None, None));
    message = after(&message, &[report(ReportKind::Read, 5)]);
    assert_eq!((message.delivered_at(), message.read_at()), (None, None));
    message.parts[1].delivered_at = at(9);
    assert_eq!((message.delivered_at(), message.read_at()), (at(9), None));
    message.parts[1].read_at = at(3);
    assert_eq!((message.delivered_at(), message.read_at()), (at(9), at(5)));
    message.parts.clear();
    assert_eq!((message.delivered_at(), message.read_at()), (None, None), "an internal note");
}

fn pricing(billable: bool, category: &str) -> Pricing {
    Pricing::of(Some(billable), Some(category), Some("regular")).unwrap()
}

fn priced(kind: ReportKind, pricing: Pricing) -> Report {
    Report { pricing: Some(pricing), ..report(kind, 0) }
}

/// The status whose report gave the price, and the price.
type Priced<'a> = Option<(PricedBy, &'a Pricing)>;

#[test]
fn the_pricing_is_that_of_the_most_advanced_status_and_of_two_the_lesser() {
    use MessageStatus::{Delivered, Failed, Sent, Unknown};
    let [free, cheap, dear] =
        [pricing(false, "service"), pricing(true, "marketing"), pricing(true, "utility")];
    let (sent, delivered, read) = (ReportKind::Sent, ReportKind::Delivered, ReportKind::Read);
    let of = |kind: &ReportKind, pricing: &Pricing| priced(kind.clone(), pricing.clone());
    let without = |kind: &ReportKind| report(kind.clone(), 0);
    let rows: Vec<(MessageStatus, Vec<Report>, Priced<'_>)> = vec![
        (Unknown, vec![of(&sent, &dear)], Some((PricedBy::Sent, &dear))),
        // The part is not written for it.
        (Sent, vec![of(&sent, &dear)], None),
        (Sent, vec![of(&delivered, &dear)], Some((PricedBy::Delivered, &dear))),
        (Unknown, vec![of(&sent, &free), of(&delivered, &dear)], Some((PricedBy::Delivered, &dear))),
        (Sent, vec![of(&read, &dear), of(&delivered, &free)], Some((PricedBy::Read, &dear))),
        (Sent, vec![of(&delivered, &dear), without(&read)], Some((PricedBy::Delivered, &dear))),
        (Sent, vec![without(&read), of(&delivered, &dear)], Some((PricedBy::Delivered, &dear))),
        (Sent, vec![of(&delivered, &dear), of(&delivered, &free)], Some((PricedBy::Delivered, &free))),
        (Sent, vec![of(&delivered, &cheap), of(&delivered, &dear)], Some((PricedBy::Delivered, &cheap))),
        (Delivered, vec![of(&sent, &dear)], None),
        (Failed, vec![of(&read, &dear)], Some((PricedBy::Read, &dear))),
        (Sent, vec![priced(failed("131026"), dear.clone())], None),
    ];
    for (status, reports, expected) in rows {
        let of = after(&message([status, Sent]), &reports);
        let shown = of.parts[0].pricing.as_ref().map(|priced| (priced.by, &priced.pricing));
        assert_eq!(shown, expected, "{status:?} {reports:?}");
    }
    let only = |billable, category, kind| Pricing::of(billable, category, kind).is_some();
    assert_eq!(
        [only(None, None, None), only(None, Some(" "), Some("")), only(Some(false), None, None)],
        [false, false, true]
    );
    let long = "x".repeat(PricingWord::MAX + 1);
    let cut = Pricing::of(None, Some(&long), Some("a\nb")).unwrap();
    assert_eq!(cut.category.unwrap().as_str().len(), PricingWord::MAX);
}

#[test]
fn a_held_part_is_held_until_any_later_status() {
    let mut held = message([MessageStatus::Sent; 2]);
    held.parts[0].is_held = true;
    let rows = [
        (ReportKind::Sent, MessageStatus::Sent),
        (ReportKind::Delivered, MessageStatus::Delivered),
        (ReportKind::Read, MessageStatus::Read),
        (failed("132015"), MessageStatus::Failed),
    ];
    for (kind, status) in rows {
        let after = after(&held, &[report(kind.clone(), 0)]);
        assert_eq!((after.parts[0].is_held, after.parts[0].status), (false, status), "{kind:?}");
        assert_eq!(after.version, held.version + 1, "{kind:?}");
    }
    let of_other = Report { provider_message_id: IDS[1].to_owned(), ..report(ReportKind::Sent, 0) };
    assert_eq!(held.reported(0, &of_other, NOW), Reported::Unchanged);
}

#[test]
fn of_two_errors_with_the_same_code_the_one_that_says_more_holds() {
    let with = |detail: Option<&str>| {
        let error = PartError::of("131026");
        ReportKind::Failed(detail.map_or(error.clone(), |detail| error.because(detail)))
    };
    let rows = [
        ([None, Some("b")], "b"),
        ([Some("b"), None], "b"),
        ([Some("b"), Some("a")], "a"),
        ([Some("a"), Some("b")], "a"),
    ];
    for (details, held) in rows {
        let reports = details.map(|detail| report(with(detail), 0));
        let part = after(&message([MessageStatus::Sent; 2]), &reports);
        assert_eq!(part.parts[0].error.as_ref().and_then(PartError::detail), Some(held), "{details:?}");
    }
}

/// The parts without the pricing of `sent`, which counts only if it comes at the right time.
fn settled(message: &Message) -> Vec<Part> {
    let mut parts = message.parts.clone();
    for part in &mut parts {
        part.pricing = part.pricing.take().filter(|priced| priced.by != PricedBy::Sent);
    }
    parts
}

fn reports() -> impl Strategy<Value = Vec<Report>> {
    let kinds =
        vec![ReportKind::Sent, ReportKind::Delivered, ReportKind::Read, failed("131026"), failed("131049")];
    let pricings =
        prop::sample::select(vec![None, Some(pricing(false, "service")), Some(pricing(true, "utility"))]);
    let one = (prop::sample::select(kinds), 0..20_u64, pricings)
        .prop_map(|(kind, seconds, pricing)| Report { pricing, ..report(kind, seconds) });
    prop::collection::vec(one, 0..6)
}

fn finals() -> impl Strategy<Value = MessageStatus> {
    prop::sample::select(vec![
        MessageStatus::Unknown,
        MessageStatus::Failed,
        MessageStatus::Sent,
        MessageStatus::Delivered,
        MessageStatus::Read,
    ])
}

proptest! {
    #[test]
    fn every_order_and_repetition_of_the_same_reports_ends_in_the_same_parts(
        (reports, again) in reports().prop_flat_map(|reports| {
            let repeated: Vec<Report> = reports.iter().chain(&reports).chain(&reports).cloned().collect();
            let size = reports.len();
            (Just(reports), Just(repeated).prop_shuffle(), 0..=2 * size).prop_map(|(reports, mut again, rest)| {
                // A part of the repetitions, which still has each report at least once.
                again.truncate(again.len() - rest);
                again.extend(reports.clone());
                (reports, again)
            })
        }),
        status in finals(),
        rotation in 0..6_usize,
    ) {
        let message = message([status, MessageStatus::Sent]);
        let mut rotated = again;
        let by = rotation % rotated.len().max(1);
        rotated.rotate_left(by);
        prop_assert_eq!(settled(&after(&message, &rotated)), settled(&after(&message, &reports)));
    }

    #[test]
    fn a_rank_goes_back_only_from_sent_to_failed_and_each_change_raises_the_version(
        reports in reports(), status in finals(),
    ) {
        let mut message = message([status, MessageStatus::Sent]);
        for report in reports {
            let next = after(&message, std::slice::from_ref(&report));
            let (from, to) = (message.parts[0].status, next.parts[0].status);
            prop_assert!(to >= from || (from, to) == (MessageStatus::Sent, MessageStatus::Failed));
            prop_assert_eq!(next.version, message.version + u64::from(next.parts != message.parts));
            prop_assert!(next.updated_at > message.updated_at || next == message);
            prop_assert_eq!(after(&next, &[report]), next.clone(), "a repeat");
            message = next;
        }
    }
}
