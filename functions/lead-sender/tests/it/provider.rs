//! A provider that does what a test lines up, and otherwise accepts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use provider::{Call, Ending, Outgoing, Provider, Sent};
use tokio::sync::Barrier;

#[derive(Clone, Default)]
pub(crate) struct Whatsapp(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lined_up: VecDeque<Reaction>,
    calls: Vec<Called>,
    beginnings: usize,
}

/// What is done about the next call. (It is on record before anything of this happens.)
pub(crate) enum Reaction {
    /// It ends so; an accepted one gets an id.
    Ends(Ending),
    /// It is accepted and, against all rules, gets no id.
    AcceptsNamelessly,
    Panics,
    /// It ends when the test has come to the barrier, and has passed it.
    Meets(Arc<Barrier>, Ending),
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) channel: String,
    pub(crate) token: String,
    pub(crate) to: String,
    pub(crate) what: Outgoing,
    pub(crate) answers: Option<String>,
}

pub(crate) const ACCEPTED: Ending = Ending::Answered { status: 200, code: None };
pub(crate) const NO_ANSWER: Ending = Ending::NoAnswer;

pub(crate) fn answered(status: u16, code: u32) -> Ending {
    Ending::Answered { status, code: Some(code) }
}

impl Whatsapp {
    pub(crate) fn then(&self, reaction: Reaction) -> &Self {
        self.0.lock().unwrap().lined_up.push_back(reaction);
        self
    }

    pub(crate) fn ends(&self, ending: Ending) -> &Self {
        self.then(Reaction::Ends(ending))
    }

    pub(crate) fn calls(&self) -> Vec<Called> {
        self.0.lock().unwrap().calls.clone()
    }

    /// To whom each call went.
    pub(crate) fn numbers(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.to).collect()
    }

    /// How often a fresh beginning was asked for.
    pub(crate) fn beginnings(&self) -> usize {
        self.0.lock().unwrap().beginnings
    }
}

impl Provider for Whatsapp {
    async fn send(&self, call: Call<'_>) -> Sent {
        let (number, reaction) = {
            let mut state = self.0.lock().unwrap();
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
            Some(Reaction::Meets(barrier, ending)) => {
                barrier.wait().await;
                barrier.wait().await;
                ended(ending)
            }
        }
    }

    fn afresh(&self) -> Self {
        self.0.lock().unwrap().beginnings += 1;
        self.clone()
    }
}
