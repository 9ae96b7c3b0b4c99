//! A provider that reacts to each call as the test planned, and accepts every other call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::Reached;
use provider::{Call, CallOutcome, Outgoing, Provider, Sent};
use tokio::sync::{Barrier, Notify};

use crate::TestClock;

/// WhatsApp for a sender under test. Clones share their state.
#[derive(Clone, Default)]
pub struct TestProvider(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lined_up: VecDeque<Reaction>,
    calls: Vec<Called>,
    beginnings: usize,
}

/// The reaction to one call. The call is recorded before the reaction starts.
pub enum Reaction {
    /// Ends with this outcome. An accepted call gets a message id.
    Ends(CallOutcome),
    /// Accepts the call and names the recipient by these ids.
    Reaches(Reached),
    /// Accepts the call, and holds the message until the quality of the template is known.
    Holds,
    /// Accepts the call, but returns no message id, which the provider's rules do not allow.
    AcceptsNamelessly,
    /// Panics in the sender's process.
    Panics,
    /// Notifies the test and never ends.
    Hangs(Arc<Notify>),
    /// Waits at the barrier twice and then ends with this outcome. Between the two waits the test knows that the call
    /// is in progress.
    Meets(Arc<Barrier>, CallOutcome),
    /// Advances the clock by this time and then ends with this outcome.
    Takes(Arc<TestClock>, Duration, CallOutcome),
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The channel of the line that sends.
    pub channel: String,
    /// The access token of the call.
    pub token: String,
    /// The recipient: a phone number or a user id.
    pub to: String,
    /// The content of the message.
    pub what: Outgoing,
    /// The provider's id of the message that this one replies to.
    pub answers: Option<String>,
    /// The id of the part, as the provider repeats it.
    pub part: String,
}

impl Called {
    /// The recipient's number and a short form of the content: text, link without its query, or template name.
    pub fn short(&self) -> (String, String) {
        let what = match &self.what {
            Outgoing::Text(text) => text.clone(),
            Outgoing::Media { link, .. } => link.split('?').next().unwrap_or_default().to_owned(),
            Outgoing::Template { name, .. } => name.clone(),
        };
        (self.to.clone(), what)
    }
}

/// The provider accepted the message.
pub const ACCEPTED: CallOutcome = CallOutcome::Answered { status: 200, code: None };
/// The provider received the call and did not answer.
pub const NO_ANSWER: CallOutcome = CallOutcome::NoAnswer;

/// The provider answered with this status and this error code of the Graph API.
pub fn answered(status: u16, code: u32) -> CallOutcome {
    CallOutcome::Answered { status, code: Some(code) }
}

impl TestProvider {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans the reaction to the next call that has none yet.
    pub fn then(&self, reaction: Reaction) -> &Self {
        self.state().lined_up.push_back(reaction);
        self
    }

    /// Plans that the next call without a plan ends with this outcome.
    pub fn ends(&self, outcome: CallOutcome) -> &Self {
        self.then(Reaction::Ends(outcome))
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Called> {
        self.state().calls.clone()
    }

    /// The recipient of each call.
    pub fn numbers(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.to).collect()
    }

    /// The recipient and the short content of each call.
    pub fn short(&self) -> Vec<(String, String)> {
        self.calls().iter().map(Called::short).collect()
    }

    /// The short content of each call.
    pub fn said(&self) -> Vec<String> {
        self.calls().iter().map(|call| call.short().1).collect()
    }

    /// How many times the sender asked for a fresh connection.
    pub fn beginnings(&self) -> usize {
        self.state().beginnings
    }
}

impl Provider for TestProvider {
    async fn send(&self, call: Call<'_>) -> Sent {
        let (number, reaction) = {
            let mut state = self.state();
            state.calls.push(Called {
                channel: call.channel.as_str().to_owned(),
                token: call.token.expose().to_owned(),
                to: call.to.as_str().to_owned(),
                what: call.what.clone(),
                answers: call.answers.map(str::to_owned),
                part: call.part.to_string(),
            });
            (state.calls.len(), state.lined_up.pop_front())
        };
        let ended = |outcome| Sent {
            outcome,
            message_id: (outcome == ACCEPTED).then(|| format!("wamid.{number}")),
            is_held: false,
            reached: Reached::default(),
            detail: None,
        };
        match reaction {
            None => ended(ACCEPTED),
            Some(Reaction::Ends(outcome)) => ended(outcome),
            Some(Reaction::Reaches(reached)) => Sent { reached, ..ended(ACCEPTED) },
            Some(Reaction::Holds) => Sent { is_held: true, ..ended(ACCEPTED) },
            Some(Reaction::AcceptsNamelessly) => Sent { message_id: None, ..ended(ACCEPTED) },
            Some(Reaction::Panics) => panic!("the test asked for this panic"),
            Some(Reaction::Hangs(got)) => {
                got.notify_one();
                std::future::pending().await
            }
            Some(Reaction::Meets(barrier, outcome)) => {
                barrier.wait().await;
                barrier.wait().await;
                ended(outcome)
            }
            Some(Reaction::Takes(clock, time, outcome)) => {
                clock.advance(time);
                ended(outcome)
            }
        }
    }

    fn with_new_connections(&self) -> Self {
        self.state().beginnings += 1;
        self.clone()
    }
}
