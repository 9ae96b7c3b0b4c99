//! Random histories of a conversation over weeks: messages arrive at any time, the provider and the database fail,
//! and senders die or run concurrently. No recipient gets a message twice, no message is lost silently, and the order
//! is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::message::{Report, ReportKind, Reported};
use domain::{Message, MessageId, MessageStatus, PartId};
use harness::{Death, Fault, RecordedCall, RecordingProvider, call_outcomes};
use proptest::prelude::*;
use proptest::test_runner::Config;
use provider::{CallOutcome, Meaning, Outgoing, meaning};

use crate::{Sender, task};

/// A random step.
#[derive(Clone, Debug)]
enum Happens {
    /// A caller adds a message, or an internal note if it is not broadcast.
    Said { broadcast: bool },
    /// A sender runs, and may die at one of its calls. Provider calls have these outcomes, and then succeed.
    Wake { dies: Option<(usize, bool)>, outcomes: Vec<CallOutcome> },
    /// Two senders run concurrently.
    TwoWakes { outcomes: Vec<CallOutcome> },
    /// The database fails this number of times.
    Fails { operation: &'static str, fault: Fault, times: usize },
    /// The provider reports about all calls so far while a sender runs.
    Reported { delivered: bool },
    /// The time advances by this number of seconds.
    Later(u64),
}

fn outcomes() -> impl Strategy<Value = Vec<CallOutcome>> {
    prop::collection::vec(call_outcomes(), 0..5)
}

fn happens() -> impl Strategy<Value = Happens> {
    let operation = prop::sample::select(vec!["GetItem", "UpdateItem", "TransactWriteItems", "Query"]);
    let fault =
        prop::sample::select(vec![Fault::Throttled, Fault::AnswerLost, Fault::Unreachable, Fault::Conflict]);
    prop_oneof![
        3 => any::<bool>().prop_map(|note| Happens::Said { broadcast: !note }),
        3 => (prop::option::of((0..25_usize, any::<bool>())), outcomes())
            .prop_map(|(dies, outcomes)| Happens::Wake { dies, outcomes }),
        1 => outcomes().prop_map(|outcomes| Happens::TwoWakes { outcomes }),
        1 => (operation, fault, 1..6_usize)
            .prop_map(|(operation, fault, times)| Happens::Fails { operation, fault, times }),
        3 => any::<bool>().prop_map(|delivered| Happens::Reported { delivered }),
        3 => prop::sample::select(vec![1, 6, 31, 95, 130, 700, 4_000, 20_000]).prop_map(Happens::Later),
    ]
}

const CUSTOMERS: [&str; 2] = ["+12025550101", "+12025550102"];

async fn live(history: Vec<Happens>) -> Result<(), TestCaseError> {
    let sender = Sender::with(RecordingProvider::default()).await;
    let (one, other) = (sender.customer(CUSTOMERS[0]).await, sender.customer(CUSTOMERS[1]).await);
    let conversation = sender.conversation(&[&one, &other]).await;
    let mut said: Vec<(MessageId, bool)> = vec![];
    let mut told: BTreeMap<PartId, MessageStatus> = BTreeMap::new();
    let (mut troubled, db, wake) = (false, &sender.world.db, [task(crate::CONVERSATION)]);
    for happens in history {
        match happens {
            Happens::Said { broadcast } => {
                let text = format!("message {:03}", said.len());
                let id = sender
                    .take(&conversation, Some(&text), vec![], |draft| draft.broadcast = broadcast)
                    .await;
                said.push((id, broadcast));
            }
            Happens::Wake { dies, outcomes } => {
                sender.provider.set_next(outcomes);
                let Some((calls, carried_out)) = dies else {
                    sender.run(&wake).await;
                    continue;
                };
                troubled = true;
                let death = if carried_out { Death::After } else { Death::Before };
                let mut dead = db.die_after(calls, death);
                tokio::select! {
                    _ = sender.run(&wake) => {}
                    _ = &mut dead => {}
                }
                db.revive();
            }
            Happens::TwoWakes { outcomes } => {
                sender.provider.set_next(outcomes);
                tokio::join!(sender.run(&wake), sender.run(&wake));
            }
            Happens::Fails { operation, fault, times } => {
                troubled = true;
                db.fail(operation, fault, times);
                sender.run(&wake).await;
                db.heal();
            }
            Happens::Reported { delivered } => {
                let (reported, _) = tokio::join!(report(&sender, delivered), sender.run(&wake));
                for (part, status) in reported {
                    let least = told.entry(part).or_insert(status);
                    *least = status.max(*least);
                }
            }
            Happens::Later(seconds) => db.clock().advance(Duration::from_secs(seconds)),
        }
    }
    // All failures end, and the sweeper processes the rest.
    sender.provider.set_next(vec![]);
    for _ in 0..6 {
        db.clock().advance(Duration::from_secs(86_400));
        if sender.due().await.is_empty() {
            break;
        }
        sender.wake().await;
    }
    prop_assert!(sender.due().await.is_empty(), "{}", sender.lane());
    prop_assert_eq!(sender.rows("Q#"), 0);

    let calls = sender.provider.calls();
    in_order_and_never_blindly_again(&calls)?;
    for (number, (id, broadcast)) in said.into_iter().enumerate() {
        let message = sender.message(id).await;
        if broadcast {
            as_it_was(&message, &format!("message {number:03}"), &calls, &told, troubled)?;
        } else {
            prop_assert_eq!((message.status(), message.version), (MessageStatus::Queued, 1));
        }
    }
    Ok(())
}

/// Reports about all calls so far, as far as the reports are not too early: that the message was sent or delivered.
/// Returns the parts that were reported, with the least status that they have from then on.
async fn report(sender: &Sender<RecordingProvider>, delivered: bool) -> Vec<(PartId, MessageStatus)> {
    let (store, mut reported) = (sender.store(), vec![]);
    let (kind, status) = match delivered {
        true => (ReportKind::Delivered, MessageStatus::Delivered),
        false => (ReportKind::Sent, MessageStatus::Sent),
    };
    for (number, call) in sender.provider.calls().iter().enumerate() {
        // Only what the provider accepted, or may have accepted.
        if !matches!(call.outcome.map(meaning), None | Some(Meaning::Accepted | Meaning::Unknown)) {
            continue;
        }
        let message = sender.message(call.part.message).await;
        let provider_message_id = format!("wamid.{number}");
        let report = Report { provider_message_id, kind: kind.clone(), pricing: None, at: store.now() };
        if message.reported(call.part.part, &report, store.now()) != Reported::TooEarly {
            assert!(store.record_report(&message, call.part.part, &report).await.unwrap());
            reported.push((call.part, status));
        }
    }
    reported
}

/// The place of a call in the order: its message, and its recipient in it.
fn place(call: &RecordedCall) -> (&str, &str) {
    let Outgoing::Text(text) = &call.what else { panic!("{:?}", call.what) };
    (text, &call.to)
}

/// Checks that calls follow the order of the messages, and of the customers in each. A call is repeated only if the
/// provider certainly refused the one before it.
fn in_order_and_never_blindly_again(calls: &[RecordedCall]) -> Result<(), TestCaseError> {
    for pair in calls.windows(2) {
        let (at, next) = (place(&pair[0]), place(&pair[1]));
        prop_assert!(at <= next, "{:?}", pair);
        if at == next {
            let again = pair[0].outcome.map(meaning);
            prop_assert!(
                matches!(again, Some(Meaning::Retry | Meaning::Throttled | Meaning::RecipientThrottled)),
                "{:?}",
                pair
            );
        }
    }
    Ok(())
}

/// Checks that each part has the outcome of its last call, or what the provider reported since.
fn as_it_was(
    message: &Message,
    text: &str,
    calls: &[RecordedCall],
    told: &BTreeMap<PartId, MessageStatus>,
    troubled: bool,
) -> Result<(), TestCaseError> {
    for (number, (part, to)) in message.parts.iter().zip(CUSTOMERS).enumerate() {
        let id = PartId { conversation: message.conversation, message: message.id, part: number };
        if let Some(least) = told.get(&id) {
            prop_assert!(part.status >= *least && part.provider_message_id.is_some(), "{:?}", part);
            prop_assert_eq!(part.status == MessageStatus::Delivered, part.delivered_at.is_some());
            continue;
        }
        let mut of_it = calls.iter().filter(|call| place(call) == (text, to));
        let last = of_it.next_back().and_then(|call| call.outcome).map(meaning);
        let error = part.error.as_ref().map(|error| error.as_str());
        let expected = match part.status {
            MessageStatus::Sent => last == Some(Meaning::Accepted) && part.provider_message_id.is_some(),
            MessageStatus::Failed => match error {
                Some("131026") => last == Some(Meaning::Failed),
                Some("GIVEN_UP") => last.is_none_or(|last| {
                    matches!(last, Meaning::Retry | Meaning::Throttled | Meaning::RecipientThrottled)
                }),
                _ => false,
            },
            MessageStatus::Unknown => match error {
                Some("NO_ANSWER") => last == Some(Meaning::Unknown),
                Some("INTERRUPTED") => troubled,
                _ => false,
            },
            _ => false,
        };
        prop_assert!(expected, "{} to {}: {:?}, last call {:?}", text, to, part, last);
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_recipient_gets_a_message_twice_none_is_lost_and_the_order_is_kept(
        history in prop::collection::vec(happens(), 1..30)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(live(history))?;
    }
}
