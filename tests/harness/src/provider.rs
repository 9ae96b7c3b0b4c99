//! A provider that does what a test lines up, and otherwise accepts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use provider::{Call, Ending, Outgoing, Provider, Sent};
use tokio::sync::{Barrier, Notify};

use crate::TestClock;

/// WhatsApp as a sender under test knows it. Clones are one and the same.
#[derive(Clone, Default)]
pub struct TestProvider(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lined_up: VecDeque<Reaction>,
    calls: Vec<Called>,
    beginnings: usize,
}

/// What is done about the next call. (It is on record before anything of this happens.)
pub enum Reaction {
    /// It ends so; an accepted one gets an id.
    Ends(Ending),
    /// It is accepted and, against all rules, gets no id.
    AcceptsNamelessly,
    /// The sender dies with it.
    Panics,
    /// It never ends; what then happens to the sender is the test's.
    Hangs(Arc<Notify>),
    /// It ends when the test has come to the barrier, and has passed it.
    Meets(Arc<Barrier>, Ending),
    /// It takes that long.
    Takes(Arc<TestClock>, Duration, Ending),
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// From which line.
    pub channel: String,
    /// With which token.
    pub token: String,
    /// To whom.
    pub to: String,
    /// What.
    pub what: Outgoing,
    /// In answer to which message of the provider's.
    pub answers: Option<String>,
}

impl Called {
    /// To whom, and what it says in short.
    pub fn short(&self) -> (String, String) {
        let what = match &self.what {
            Outgoing::Text(text) => text.clone(),
            Outgoing::Media { link, .. } => link.split('?').next().unwrap_or_default().to_owned(),
            Outgoing::Template { name, .. } => name.clone(),
        };
        (self.to.clone(), what)
    }
}

/// The provider took it.
pub const ACCEPTED: Ending = Ending::Answered { status: 200, code: None };
/// It was asked and did not answer.
pub const NO_ANSWER: Ending = Ending::NoAnswer;

/// An error with the Graph API's code.
pub fn answered(status: u16, code: u32) -> Ending {
    Ending::Answered { status, code: Some(code) }
}

impl TestProvider {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lines up what is done about the call after those lined up so far.
    pub fn then(&self, reaction: Reaction) -> &Self {
        self.state().lined_up.push_back(reaction);
        self
    }

    /// Lines up how that call ends.
    pub fn ends(&self, ending: Ending) -> &Self {
        self.then(Reaction::Ends(ending))
    }

    /// All calls that were made, in order.
    pub fn calls(&self) -> Vec<Called> {
        self.state().calls.clone()
    }

    /// To whom each call went.
    pub fn numbers(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.to).collect()
    }

    /// To whom each call went, and what it said in short.
    pub fn short(&self) -> Vec<(String, String)> {
        self.calls().iter().map(Called::short).collect()
    }

    /// What each call said, in short.
    pub fn said(&self) -> Vec<String> {
        self.calls().iter().map(|call| call.short().1).collect()
    }

    /// How often a fresh beginning was asked for.
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
            });
            (state.calls.len(), state.lined_up.pop_front())
        };
        let ended =
            |ending| Sent { ending, message_id: (ending == ACCEPTED).then(|| format!("wamid.{number}")) };
        match reaction {
            None => ended(ACCEPTED),
            Some(Reaction::Ends(ending)) => ended(ending),
            Some(Reaction::AcceptsNamelessly) => Sent { ending: ACCEPTED, message_id: None },
            Some(Reaction::Panics) => panic!("as asked"),
            Some(Reaction::Hangs(got)) => {
                got.notify_one();
                std::future::pending().await
            }
            Some(Reaction::Meets(barrier, ending)) => {
                barrier.wait().await;
                barrier.wait().await;
                ended(ending)
            }
            Some(Reaction::Takes(clock, time, ending)) => {
                clock.advance(time);
                ended(ending)
            }
        }
    }

    fn afresh(&self) -> Self {
        self.state().beginnings += 1;
        self.clone()
    }
}
