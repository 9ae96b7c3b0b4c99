use super::*;

#[test]
fn a_begun_call_makes_a_lead_sending_and_records_its_lease() {
    let begun = begun();
    let progress = Progress { since: Some(NOW), calling: Some(LEASE), ..Progress::default() };
    let expected = Lead {
        state: LeadState::Sending,
        opened: true,
        contact: stranger(),
        progress,
        updated_at: NOW.plus(MOMENT),
        version: 2,
        ..lead()
    };
    assert_eq!(begun, expected);
    assert_eq!(begun.standing(NOW), Some(Standing::Interrupted));
    assert_eq!(lead().standing(NOW), Some(Standing::Due));
}

#[test]
fn each_call_outcome_has_its_state_error_and_message_update() {
    let id = || "wamid.1".to_owned();
    let rows = [
        (End::Sent(id()), LeadState::Sent, None, MessageUpdate::Sent(id())),
        (
            End::Failed(error("131026")),
            LeadState::Failed,
            Some("131026"),
            MessageUpdate::Failed(error("131026")),
        ),
        (
            End::Unknown(error("NO_ANSWER")),
            LeadState::Unknown,
            Some("NO_ANSWER"),
            MessageUpdate::Unknown(error("NO_ANSWER")),
        ),
    ];
    for (end, state, word, said) in rows {
        let expected = Lead {
            state,
            error: word.map(error),
            progress: Progress::default(),
            updated_at: begun().updated_at.plus(MOMENT),
            version: 3,
            ..begun()
        };
        assert_eq!(ended(&begun(), end.clone()), (expected, said), "{end:?}");
    }
}

#[test]
fn a_send_that_was_not_accepted_waits_in_its_present_state() {
    let seconds = |seconds| Some(NOW.plus(Duration::from_secs(seconds)));
    for (end, failures, throttled, next_at) in
        [(End::NotTaken, 1, 0, seconds(30)), (End::Throttled, 0, 1, seconds(5)), (End::NotCalled, 0, 0, None)]
    {
        // One lead with a begun call, and one without.
        for lead in [begun(), lead()] {
            let called = lead.state == LeadState::Sending;
            let since = (called || next_at.is_some()).then_some(NOW);
            let progress = Progress { failures, throttled, since, next_at, calling: None, is_paused: false };
            let expected = Lead { progress, ..lead.clone() };
            assert_eq!(ended(&lead, end.clone()), (expected.clone(), MessageUpdate::Waits), "{end:?}");
            let standing = next_at.map_or(Standing::Due, Standing::NotBefore);
            assert_eq!(expected.standing(NOW), Some(standing));
            assert_eq!(expected.standing(NOW.plus(Duration::from_secs(30))), Some(Standing::Due));
        }
    }
}

#[test]
fn a_send_that_is_never_accepted_is_given_up_a_day_after_its_first_call() {
    let day = Duration::from_secs(86_400);
    let last = begun().ended(End::NotTaken, &SendSchedule::recommended(), Jitter::NONE, NOW.plus(day));
    assert_eq!((last.0.state, last.0.error), (LeadState::Failed, Some(error("GIVEN_UP"))));
    assert_eq!(last.1, MessageUpdate::Failed(error("GIVEN_UP")));
    let before = NOW.plus(day - MOMENT);
    let waits = begun().ended(End::NotTaken, &SendSchedule::recommended(), Jitter::NONE, before).0;
    assert_eq!((waits.state, waits.progress.next_at), (LeadState::Sending, Some(NOW.plus(day))));
}

#[test]
fn a_lead_that_is_not_sent_has_a_reason() {
    for (why, state) in [
        (NotSent::Suppressed(error("OPTED_OUT")), LeadState::Suppressed),
        (NotSent::Failed(error("NO_LINE")), LeadState::Failed),
    ] {
        for lead in [lead(), ended(&begun(), End::NotTaken).0] {
            let (next, word) = lead.not_sent(why.clone(), NOW);
            let (NotSent::Suppressed(error) | NotSent::Failed(error)) = why.clone();
            assert_eq!(
                (next.state, next.error, next.version),
                (state, Some(error.clone()), lead.version + 1)
            );
            assert_eq!((next.progress, next.opened), (Progress::default(), lead.opened));
            assert_eq!(word, MessageUpdate::Failed(error));
        }
    }
}

#[test]
fn an_operator_can_retry_only_failed_and_unknown_leads() {
    for (state, may) in [
        (LeadState::Queued, false),
        (LeadState::Sending, false),
        (LeadState::Sent, false),
        (LeadState::Failed, true),
        (LeadState::Unknown, true),
        (LeadState::Suppressed, false),
    ] {
        let lead = Lead { state, error: Some(error("x")), ..begun() };
        let expected = Lead {
            state: LeadState::Queued,
            error: None,
            progress: Progress::default(),
            updated_at: lead.updated_at.plus(MOMENT),
            version: lead.version + 1,
            ..lead.clone()
        };
        let ended = matches!(state, LeadState::Failed | LeadState::Suppressed);
        assert_eq!(lead.queued_by_repeat(NOW), ended.then(|| expected.clone()), "{state:?}");
        assert_eq!(lead.retried(NOW), may.then_some(expected), "{state:?}");
        assert_eq!(lead.standing(NOW).is_none(), state.is_final());
    }
}

#[test]
fn a_messages_status_never_goes_back() {
    let said = |status, id: Option<&str>, word: Option<&str>| {
        let mut message = opening(&lead(), None).message;
        message.parts[0].status = status;
        message.parts[0].provider_message_id = id.map(str::to_owned);
        message.parts[0].error = word.map(error);
        message
    };
    let words = [
        (MessageUpdate::Unknown(error("a")), MessageStatus::Unknown, None, Some("a")),
        (MessageUpdate::Failed(error("b")), MessageStatus::Failed, None, Some("b")),
        (MessageUpdate::Sent("c".to_owned()), MessageStatus::Sent, Some("c"), None),
    ];
    for name in MessageStatus::NAMES {
        let status = MessageStatus::parse(name).unwrap();
        let before = said(status, None, (status == MessageStatus::Unknown).then_some("before"));
        assert_eq!(MessageUpdate::Waits.of(&before, NOW), None);
        for (word, becomes, id, why) in &words {
            let mut expected = said(*becomes, *id, *why);
            expected.version = 2;
            expected.updated_at = NOW.plus(MOMENT);
            let expected = (status < *becomes).then_some(expected);
            assert_eq!(word.of(&before, NOW), expected, "{name} {word:?}");
        }
    }
    let empty = Message { parts: vec![], ..said(MessageStatus::Sending, None, None) };
    assert_eq!(words[2].0.of(&empty, NOW), None);
}

/// An event in a lead's life.
#[derive(Clone, Debug)]
enum Happens {
    Ends(End),
    /// No call was begun, because something was missing.
    Misses,
    Forbidden,
    Again,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        1 => Just(Happens::Ends(End::Sent("wamid".to_owned()))),
        1 => Just(Happens::Ends(End::Failed(PartError::of("131026")))),
        1 => Just(Happens::Ends(End::Unknown(PartError::of("NO_ANSWER")))),
        3 => Just(Happens::Ends(End::NotTaken)),
        2 => Just(Happens::Ends(End::Throttled)),
        1 => Just(Happens::Ends(End::NotCalled)),
        2 => Just(Happens::Misses),
        1 => Just(Happens::Forbidden),
        2 => Just(Happens::Again),
    ]
}

proptest! {
    #[test]
    fn a_lead_is_sent_at_most_once_and_a_final_state_stays_final(
        history in prop::collection::vec((happens(), 0..40_000_u64, any::<u128>()), 0..40)
    ) {
        let waits = |waits: &[u64]| {
            RetrySchedule::of(&waits.iter().copied().map(Duration::from_secs).collect::<Vec<_>>())
        };
        let schedule = SendSchedule {
            retries: waits(&[30, 600]),
            throttled: waits(&[5]),
            template_look: Duration::from_secs(900),
            give_up: Duration::from_secs(86_400),
        };
        let (mut lead, mut message, mut now, mut sent) = (lead(), None::<Message>, NOW, 0);
        for (happens, seconds, random) in history {
            now = now.plus(Duration::from_secs(seconds));
            let (before, jitter) = (lead.clone(), Jitter::of(&Uuid::from_u128(random)));
            let (next, word) = match (happens, lead.standing(now)) {
                (Happens::Again, _) => match lead.retried(now) {
                    Some(next) => (next, MessageUpdate::Waits),
                    None => continue,
                },
                // Nobody works on the lead.
                (_, None | Some(Standing::NotBefore(_))) => continue,
                (_, Some(Standing::Interrupted)) => unreachable!("each call ends here"),
                (Happens::Forbidden, _) => lead.not_sent(NotSent::Suppressed(PartError::of("OPTED_OUT")), now),
                (Happens::Misses, _) => lead.ended(End::NotTaken, &schedule, jitter, now),
                (Happens::Ends(end), _) => {
                    let begun = lead.begun(lead.contact, LEASE, now);
                    prop_assert_eq!(begun.state, LeadState::Sending);
                    message.get_or_insert_with(|| opening(&lead, None).message);
                    begun.ended(end, &schedule, jitter, now)
                }
            };
            sent += usize::from(next.state == LeadState::Sent);
            if next.state == before.state {
                prop_assert_eq!((next.version, next.updated_at), (before.version, before.updated_at));
            } else {
                prop_assert!(next.version > before.version && next.updated_at > before.updated_at);
            }
            prop_assert_eq!(next.error.is_some(), matches!(
                next.state,
                LeadState::Failed | LeadState::Unknown | LeadState::Suppressed
            ));
            prop_assert!(next.progress.calling.is_none());
            if next.state.is_final() {
                prop_assert_eq!(&next.progress, &Progress::default());
                prop_assert!(word != MessageUpdate::Waits);
            }
            // The values from the acceptance never change.
            prop_assert_eq!((next.id, &next.consent, next.message), (before.id, &before.consent, before.message));
            if let Some(seen) = &mut message
                && let Some(told) = word.of(seen, now)
            {
                prop_assert!(told.status() > seen.status() && told.version == seen.version + 1);
                *seen = told;
            }
            prop_assert_eq!(next.opened, message.is_some());
            lead = next;
        }
        prop_assert!(sent <= 1);
        if lead.state == LeadState::Sent {
            prop_assert_eq!(message.map(|message| message.status()), Some(MessageStatus::Sent));
        }
    }
}
