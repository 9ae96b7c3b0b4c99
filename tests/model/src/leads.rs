//! A lead that follows its message: statuses of the provider, stream records that are repeated and late, an operator who retries,
//! and an erasure, in every order.
//!
//! Each change of a message is a record of the stream. A relay reads the records of a message in order, and a record whose write
//! failed again with all after it. An operator may also redrive a record that was read long ago. A retry gives the lead a new message; the old one
//! stays, and the provider may still report on it.

use stateright::{Model, Property};

use crate::check::Shown;

/// The lead never shows an earlier status of its message.
pub const FORWARD: &str = "a lead never goes back to an earlier status of its message";
/// The message before a retry moves nothing.
pub const OWN_MESSAGE: &str = "a lead never shows a status of the message before its retry";
/// An erased lead stays erased.
pub const ERASED: &str = "an erased lead does not come back";
/// Nothing that happened to the message is missing in the lead.
pub const UP_TO_DATE: &str = "when all records of its message are read, a lead shows the last status";

/// A part of the protocol that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The write requires that the lead followed no later version of the message (`messageVersion`).
    NamesVersion,
    /// The write requires that the lead still has this message (`messageId`).
    NamesMessage,
    /// The write requires that the lead exists. Its `messageId` is the proof.
    NamesLead,
    /// A record whose write failed is read again.
    RepeatsRecords,
}

/// What a status of a message makes of its lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shows {
    /// The message waits, or its call has begun.
    Sending,
    /// The provider accepted it, delivered it, or the customer read it.
    Sent,
    /// The provider refused it, or reports that it failed.
    Failed,
    /// Nobody knows the outcome of the call.
    Unknown,
}

/// A message: its versions, in order, and how many of their records the relay has read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Message {
    versions: Vec<Shows>,
    read: usize,
}

/// A lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lead {
    message: usize,
    /// How many versions of the message were there when the lead followed it last; 0 before.
    followed: usize,
    /// What it shows. `None` before its message exists.
    shows: Option<Shows>,
}

/// The bounds, and what is taken out.
#[derive(Clone, Debug)]
pub struct Leads {
    /// What is taken out.
    pub without: Option<Guard>,
    /// How many statuses the provider reports.
    pub reports: u8,
    /// How many writes of the relay fail.
    pub faults: u8,
    /// How many records are read again long after.
    pub redriven: u8,
}

/// The whole state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    messages: Vec<Message>,
    /// `None` after it was erased.
    lead: Option<Lead>,
    is_erased: bool,
    reports: u8,
    faults: u8,
    redriven: u8,
    /// The write of the relay that broke a property.
    went_back: bool,
    is_of_other: bool,
}

/// A step and the state it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    step: String,
    to: State,
}

impl Shown for Move {
    fn shown(&self) -> String {
        self.step.clone()
    }
}

impl Model for Leads {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            messages: vec![],
            lead: Some(Lead { message: 0, followed: 0, shows: None }),
            is_erased: false,
            reports: self.reports,
            faults: self.faults,
            redriven: self.redriven,
            went_back: false,
            is_of_other: false,
        }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        let mut steps = Steps { model: self, from: state, moves };
        steps.lead();
        steps.statuses();
        steps.relay();
    }

    fn next_state(&self, _: &State, action: Move) -> Option<State> {
        Some(action.to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(FORWARD, |_, state: &State| !state.went_back),
            Property::always(OWN_MESSAGE, |_, state: &State| !state.is_of_other),
            Property::always(ERASED, |_, state: &State| !(state.is_erased && state.lead.is_some())),
            Property::always(UP_TO_DATE, |_, state: &State| {
                state.lead.as_ref().is_none_or(|lead| {
                    let of = state.messages.get(lead.message);
                    let read = of.filter(|message| message.read == message.versions.len());
                    read.is_none_or(|message| lead.shows == message.versions.last().copied())
                })
            }),
            Property::sometimes("a retried lead is sent", |_, state: &State| {
                let is_sent = |lead: &Lead| lead.message == 1 && lead.shows == Some(Shows::Sent);
                state.lead.as_ref().is_some_and(is_sent)
            }),
            Property::sometimes("a lead fails after it was sent", |_, state: &State| {
                let versions = state.messages.first().map(|message| message.versions.as_slice());
                let is_failed = state.lead.as_ref().is_some_and(|lead| lead.shows == Some(Shows::Failed));
                is_failed && versions.is_some_and(|versions| versions.contains(&Shows::Sent))
            }),
        ]
    }
}

/// Collects the possible steps of a state.
struct Steps<'a> {
    model: &'a Leads,
    from: &'a State,
    moves: &'a mut Vec<Move>,
}

impl Steps<'_> {
    fn has(&self, guard: Guard) -> bool {
        self.model.without != Some(guard)
    }

    fn step(&mut self, step: impl Into<String>, change: impl FnOnce(&mut State)) {
        let mut to = self.from.clone();
        change(&mut to);
        self.moves.push(Move { step: step.into(), to });
    }

    /// The lead is opened, retried once, or erased.
    fn lead(&mut self) {
        let Some(lead) = &self.from.lead else { return };
        if lead.shows.is_none() {
            self.step("the lead's message is stored", |state| {
                state.messages.push(Message { versions: vec![Shows::Sending], read: 0 });
                state.lead = state.lead.take().map(|lead| Lead { shows: Some(Shows::Sending), ..lead });
            });
        }
        if lead.message == 0 && matches!(lead.shows, Some(Shows::Failed | Shows::Unknown)) {
            self.step("the operator retries the lead", |state| {
                state.lead = Some(Lead { message: 1, followed: 0, shows: None });
            });
        }
        self.step("the lead is erased", |state| {
            state.lead = None;
            state.is_erased = true;
        });
    }

    /// The sender and the provider change the messages. What failed or is read changes no more.
    fn statuses(&mut self) {
        for at in 0..self.from.messages.len() {
            let next: &[Shows] = match self.from.messages[at].versions.last() {
                Some(Shows::Sending) => &[Shows::Sent, Shows::Failed, Shows::Unknown],
                // A part that is delivered, or is read, shows the same.
                Some(Shows::Sent) => &[Shows::Sent, Shows::Failed],
                Some(Shows::Unknown) => &[Shows::Sent, Shows::Failed],
                Some(Shows::Failed) | None => &[],
            };
            for shows in next.iter().filter(|_| self.from.reports > 0) {
                self.step(format!("message {at} is {shows:?}"), |state| {
                    state.reports -= 1;
                    state.messages[at].versions.push(*shows);
                });
            }
        }
    }

    /// The relay reads the next record of a message, or one that it read before.
    fn relay(&mut self) {
        for at in 0..self.from.messages.len() {
            let (read, all) = (self.from.messages[at].read, self.from.messages[at].versions.len());
            if read < all {
                let version = read + 1;
                self.follow(
                    format!("the relay reads version {version} of message {at}"),
                    at,
                    version,
                    |state| {
                        state.messages[at].read = version;
                    },
                );
                if self.from.faults > 0 {
                    let repeats = self.has(Guard::RepeatsRecords);
                    self.step(format!("the write of version {version} of message {at} fails"), |state| {
                        state.faults -= 1;
                        state.messages[at].read = if repeats { read } else { version };
                    });
                    // The write happened, and its answer was lost.
                    self.follow(
                        format!("the answer about version {version} of message {at} is lost"),
                        at,
                        version,
                        |state| {
                            state.faults -= 1;
                        },
                    );
                }
            }
            for version in (1..=read).filter(|_| self.from.redriven > 0) {
                self.follow(format!("version {version} of message {at} is redriven"), at, version, |state| {
                    state.redriven -= 1;
                });
            }
        }
    }

    /// The conditional write by which the lead follows this version of a message.
    fn follow(&mut self, step: String, at: usize, version: usize, also: impl FnOnce(&mut State)) {
        let names_version = self.has(Guard::NamesVersion);
        let (names_message, names_lead) = (self.has(Guard::NamesMessage), self.has(Guard::NamesLead));
        self.step(step, |state| {
            also(state);
            let shows = state.messages[at].versions[version - 1];
            let next = Lead { message: at, followed: version, shows: Some(shows) };
            match &mut state.lead {
                Some(lead) => {
                    let is_own = lead.message == at;
                    let is_later = lead.followed < version;
                    if (is_own || !names_message) && (is_later || !names_version) {
                        state.is_of_other |= !is_own;
                        state.went_back |= is_own && !is_later && lead.followed > version;
                        *lead = Lead { message: lead.message, ..next };
                    }
                }
                None if !names_lead => state.lead = Some(next),
                None => {}
            }
        });
    }
}
