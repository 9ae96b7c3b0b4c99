//! A provider for random histories: its calls end as a history says, and it records them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{PartId, Reached};
use proptest::prelude::Strategy;
use proptest::sample::select;
use provider::{Call, CallOutcome, Meaning, Outgoing, Provider, Sent, meaning};

use crate::{ACCEPTED, NO_ANSWER, answered};

/// A call, in the order of the calls.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// The recipient: a phone number.
    pub to: String,
    /// The content.
    pub what: Outgoing,
    /// The part that the call sends.
    pub part: PartId,
    /// The outcome; `None` if the sender died before it came.
    pub outcome: Option<CallOutcome>,
}

/// A provider that accepts every call, except those for which a test chose an outcome.
#[derive(Clone, Default)]
pub struct RecordingProvider(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next: Vec<CallOutcome>,
    calls: Vec<RecordedCall>,
}

impl RecordingProvider {
    /// Sets the outcomes of the next calls; the last of them is the first to be used.
    pub fn set_next(&self, outcomes: Vec<CallOutcome>) {
        self.state().next = outcomes;
    }

    /// All calls.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.state().calls.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for RecordingProvider {
    async fn send(&self, call: Call<'_>) -> Sent {
        let (number, outcome) = {
            let mut state = self.state();
            let to = call.to.as_str().to_owned();
            state.calls.push(RecordedCall { to, what: call.what.clone(), part: call.part, outcome: None });
            (state.calls.len() - 1, state.next.pop().unwrap_or(ACCEPTED))
        };
        tokio::task::yield_now().await;
        self.state().calls[number].outcome = Some(outcome);
        let message_id = (meaning(outcome) == Meaning::Accepted).then(|| format!("wamid.{number}"));
        Sent { outcome, message_id, is_held: false, reached: Reached::default(), detail: None }
    }

    fn with_new_connections(&self) -> Self {
        self.clone()
    }
}

/// One outcome of each meaning that a sender distinguishes.
pub fn call_outcomes() -> impl Strategy<Value = CallOutcome> {
    select(vec![
        CallOutcome::NeverConnected,
        NO_ANSWER,
        ACCEPTED,
        answered(429, 130_429),
        answered(400, 131_056),
        answered(500, 1),
        answered(500, 99),
        answered(400, 131_026),
    ])
}
