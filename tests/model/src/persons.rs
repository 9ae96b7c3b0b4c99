//! Two contacts of one person: messages that name ids, choices about templates, calls, a merge and an erasure, in every order.
//!
//! The contact [`GOES`] becomes part of the contact [`STAYS`]. Ids are a number, which `STAYS` has, a user id, which `GOES` has, and a
//! second number, which a message teaches. Each step is one conditional write, or the reads before it. The lanes of the jobs are those of
//! all lanes, so a job has one visitor here; a visitor that dies forgets what it read.
//!
//! A *request in flight* read a contact and stores a conversation for it later, without a condition. The second look of a merge, and the
//! second pass of an erasure, come when the requests that read the contact before have ended.

use stateright::{Model, Property};

use crate::check::Shown;

/// The contact that becomes part of the other one.
pub const GOES: u8 = 0;
/// The contact that stays.
pub const STAYS: u8 = 1;
/// The number, the user id, and the second number.
const IDS: usize = 3;
const USER: usize = 1;
const SECOND: usize = 2;

/// Every id belongs to a contact that exists.
pub const HELD: &str = "each id belongs to a contact that exists";
/// The ids of a contact keep the same choice.
pub const SAME_CHOICE: &str = "all ids of a contact keep the same choice";
/// No template after an opt-out.
pub const NO_CALL: &str = "no call of a template begins after a choice against it";
/// A contact is never in both jobs.
pub const ONE_JOB: &str = "a contact is never merged and erased at the same time";
/// Nothing is left.
pub const NOTHING_LEFT: &str =
    "in the end no conversation lists a contact that is merged or erased, and all jobs are over";

/// A part of the protocol that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// A merge moves everything again after the requests that read the merged contact have ended.
    SecondLook,
    /// A second pass of an erasure comes after the requests in flight have ended.
    SecondPass,
    /// `erasing` and `merging` exclude each other by the conditions of their writes.
    ErasingAgainstMerging,
    /// The join names the ids that were read.
    JoinNamesIds,
    /// The join gives all ids the same choice.
    JoinJoinsChoices,
    /// A contact that learns an id gives all its ids the same choice.
    LearnJoinsChoices,
    /// A choice names the ids that were read.
    ChoiceNamesIds,
    /// The begin of a call checks the choice that was read.
    BeginChecksChoice,
}

/// A contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contact {
    /// It exists.
    Live {
        /// Whether a merge makes another contact part of it.
        merging: bool,
        /// Whether an erasure takes it.
        erasing: bool,
    },
    /// It became part of [`STAYS`].
    Merged,
    /// It was erased.
    Gone,
}

/// The ids of a contact, as bits.
type Ids = u8;

/// A merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// Nothing has begun; the ids of both contacts if its visitor has read them.
    Asked(Option<[Ids; 2]>),
    /// The contacts are one.
    Joined,
    /// Everything was moved once.
    Moved,
    /// Nothing more happens.
    Over,
}

/// An erasure of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erasure {
    /// The contact that was named.
    pub of: u8,
    /// The contacts that go with it, as bits: known once all are marked.
    pub known: u8,
    /// What happens next.
    pub stage: Stage,
    /// 1 or 2.
    pub pass: u8,
}

/// What an erasure does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It marks the contacts.
    Mark,
    /// It erases conversations.
    Conversations,
    /// It erases contacts.
    Contacts,
    /// It waits for the requests in flight.
    Settling,
    /// It is over.
    Done,
}

/// The bounds, and what is taken out.
#[derive(Clone, Debug)]
pub struct Persons {
    /// What is taken out.
    pub without: Option<Guard>,
    /// How many requests store a conversation.
    pub requests: u8,
    /// How many visitors may die.
    pub faults: u8,
    /// Whether an erasure is asked for. It also takes what a faulty merge leaves.
    pub erases: bool,
}

/// The whole state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    contacts: [Contact; 2],
    holder: [Option<u8>; IDS],
    /// Whether the choice that is kept for the id is against templates.
    out: [bool; IDS],
    /// The contact for which each conversation is listed.
    conversations: Vec<u8>,
    requests: u8,
    in_flight: Vec<u8>,
    /// The contact that is about to learn the second number.
    learning: Option<u8>,
    /// The id of a choice, and all ids of its contact as they were read.
    choosing: Option<(usize, Ids)>,
    has_chosen: bool,
    /// The id of a call that is about to begin.
    beginning: Option<usize>,
    has_begun: bool,
    /// A call began after a choice against it.
    wrong: bool,
    merge: Option<Merge>,
    erasure: Option<Erasure>,
    faults: u8,
}

/// A step and the state it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    step: &'static str,
    to: State,
}

impl Shown for Move {
    fn shown(&self) -> String {
        self.step.to_owned()
    }
}

impl State {
    fn ids_of(&self, contact: u8) -> Ids {
        (0..IDS).filter(|id| self.holder[*id] == Some(contact)).map(|id| 1 << id).sum()
    }

    /// The ids of the contact that has this id, or the id alone.
    fn ids_with(&self, id: usize) -> Ids {
        self.holder[id].map_or(1 << id, |contact| self.ids_of(contact))
    }

    fn is_live(&self, contact: u8) -> bool {
        matches!(self.contacts[usize::from(contact)], Contact::Live { .. })
    }

    fn is_out(&self, ids: Ids) -> bool {
        (0..IDS).any(|id| ids & 1 << id != 0 && self.out[id])
    }

    fn choose_out(&mut self, ids: Ids) {
        (0..IDS).filter(|id| ids & 1 << id != 0).for_each(|id| self.out[id] = true);
    }

    /// Gives all ids of a contact the same choice.
    fn join_choices(&mut self, contact: u8) {
        let ids = self.ids_of(contact);
        if self.is_out(ids) {
            self.choose_out(ids);
        }
    }

    /// The contacts that are one with this one, as bits.
    fn one_with(&self, contact: u8) -> u8 {
        let is_merged = self.contacts[usize::from(GOES)] == Contact::Merged;
        if is_merged { 1 << GOES | 1 << STAYS } else { 1 << contact }
    }

    fn settled(mut self) -> Self {
        self.conversations.sort_unstable();
        self.in_flight.sort_unstable();
        self
    }
}

impl Model for Persons {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let live = Contact::Live { merging: false, erasing: false };
        vec![State {
            contacts: [live; 2],
            holder: [Some(STAYS), Some(GOES), None],
            out: [false; IDS],
            conversations: vec![GOES],
            requests: self.requests,
            in_flight: vec![],
            learning: None,
            choosing: None,
            has_chosen: false,
            beginning: None,
            has_begun: false,
            wrong: false,
            merge: None,
            erasure: None,
            faults: self.faults,
        }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        let mut steps = Steps { model: self, from: state, moves };
        steps.requests();
        steps.learning();
        steps.choosing();
        steps.calls();
        steps.merge();
        steps.erasure();
    }

    fn next_state(&self, _: &State, action: Move) -> Option<State> {
        Some(action.to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(HELD, |_, state: &State| {
                state.holder.iter().flatten().all(|contact| state.is_live(*contact))
            }),
            Property::always(SAME_CHOICE, |_, state: &State| {
                [GOES, STAYS].into_iter().all(|contact| {
                    let ids = state.ids_of(contact);
                    (0..IDS).all(|id| ids & 1 << id == 0 || state.out[id] == state.is_out(ids))
                })
            }),
            Property::always(NO_CALL, |_, state: &State| !state.wrong),
            Property::always(ONE_JOB, |_, state: &State| {
                state
                    .contacts
                    .iter()
                    .all(|contact| !matches!(contact, Contact::Live { merging: true, erasing: true }))
            }),
            Property::always(NOTHING_LEFT, |model: &Persons, state: &State| {
                let mut moves = vec![];
                model.actions(state, &mut moves);
                let is_over = state.merge.is_none_or(|merge| merge == Merge::Over)
                    && state.erasure.is_none_or(|erasure| erasure.stage == Stage::Done);
                !moves.is_empty() || (is_over && state.conversations.iter().all(|of| state.is_live(*of)))
            }),
            Property::sometimes("a merge and an erasure are both over", |_, state: &State| {
                state.merge == Some(Merge::Over)
                    && state.erasure.is_some_and(|erasure| erasure.stage == Stage::Done)
            }),
        ]
    }
}

/// Collects the possible steps of a state.
struct Steps<'a> {
    model: &'a Persons,
    from: &'a State,
    moves: &'a mut Vec<Move>,
}

impl Steps<'_> {
    fn has(&self, guard: Guard) -> bool {
        self.model.without != Some(guard)
    }

    fn step(&mut self, step: &'static str, change: impl FnOnce(&mut State)) {
        let mut to = self.from.clone();
        change(&mut to);
        self.moves.push(Move { step, to: to.settled() });
    }

    /// Requests and messages that open a conversation for a contact that they read before.
    fn requests(&mut self) {
        let from = self.from;
        for contact in [GOES, STAYS].into_iter().filter(|contact| from.is_live(*contact)) {
            if from.requests > 0 {
                self.step("a request reads a contact", |state| {
                    state.requests -= 1;
                    state.in_flight.push(contact);
                });
            }
        }
        for at in 0..from.in_flight.len() {
            self.step("a request stores a conversation", |state| {
                let contact = state.in_flight.remove(at);
                state.conversations.push(contact);
            });
        }
    }

    /// A message names the user id and the second number.
    fn learning(&mut self) {
        let from = self.from;
        match (from.learning, from.holder[USER]) {
            (None, Some(contact)) if from.holder[SECOND].is_none() => {
                self.step("a message reads the contact of the user id", |state| {
                    state.learning = Some(contact)
                });
            }
            (Some(contact), _) => {
                let joins = self.has(Guard::LearnJoinsChoices);
                self.step("the contact learns the second number, or the message reads again", |state| {
                    state.learning = None;
                    if state.holder[USER] == Some(contact) && state.holder[SECOND].is_none() {
                        state.holder[SECOND] = Some(contact);
                        if joins {
                            state.join_choices(contact);
                        }
                    }
                });
            }
            _ => {}
        }
    }

    /// The person writes STOP.
    fn choosing(&mut self) {
        let from = self.from;
        match from.choosing {
            None if !from.has_chosen => {
                for id in 0..IDS {
                    self.step("a choice reads the ids of its contact", |state| {
                        state.choosing = Some((id, state.ids_with(id)));
                    });
                }
            }
            Some((id, ids)) => {
                let is_free = !self.has(Guard::ChoiceNamesIds);
                self.step("the choice is kept for all ids, or reads again", |state| {
                    state.choosing = None;
                    if is_free || state.ids_with(id) == ids {
                        state.has_chosen = true;
                        state.choose_out(ids);
                    }
                });
            }
            None => {}
        }
    }

    /// A sender calls the provider with a template.
    fn calls(&mut self) {
        let from = self.from;
        match from.beginning {
            None if !from.has_begun => {
                for id in (0..IDS).filter(|id| !from.out[*id]) {
                    self.step("a sender reads the choice of an id", |state| state.beginning = Some(id));
                }
            }
            Some(id) => {
                let is_free = !self.has(Guard::BeginChecksChoice);
                self.step("the call begins, or the sender reads again", |state| {
                    state.beginning = None;
                    if is_free || !state.out[id] {
                        state.has_begun = true;
                        state.wrong |= state.is_out(state.ids_with(id));
                    }
                });
            }
            None => {}
        }
    }

    fn merge(&mut self) {
        let from = self.from;
        let both_live = from.is_live(GOES) && from.is_live(STAYS);
        match from.merge {
            None if both_live => {
                self.step("a merge is asked for", |state| state.merge = Some(Merge::Asked(None)))
            }
            Some(Merge::Asked(None)) => self.step("the merge reads both contacts", |state| {
                let is_erasing = |contact: &Contact| matches!(contact, Contact::Live { erasing: true, .. });
                let ends = !both_live || state.contacts.iter().any(is_erasing);
                let read = Merge::Asked(Some([state.ids_of(GOES), state.ids_of(STAYS)]));
                state.merge = Some(if ends { Merge::Over } else { read });
            }),
            Some(Merge::Asked(Some(ids))) => {
                self.die("the visitor of the merge dies", |state| state.merge = Some(Merge::Asked(None)));
                self.join(ids);
            }
            Some(Merge::Joined) => {
                let looks_again = self.has(Guard::SecondLook);
                self.moved("the merge moves a conversation", "the first move ends", |state| {
                    if let Contact::Live { merging, .. } = &mut state.contacts[usize::from(STAYS)] {
                        *merging = false;
                    }
                    state.merge = Some(if looks_again { Merge::Moved } else { Merge::Over });
                });
            }
            Some(Merge::Moved) if !from.in_flight.contains(&GOES) => {
                self.moved("the second look moves a conversation", "the merge ends", |state| {
                    state.merge = Some(Merge::Over);
                });
            }
            _ => {}
        }
    }

    /// The transaction that makes one contact of both, if they are as they were read.
    fn join(&mut self, [goes, stays]: [Ids; 2]) {
        let (excludes, names) = (self.has(Guard::ErasingAgainstMerging), self.has(Guard::JoinNamesIds));
        let joins = self.has(Guard::JoinJoinsChoices);
        self.step("the contacts are joined, or read again", |state| {
            state.merge = Some(Merge::Asked(None));
            let is_erasing = |contact: &Contact| matches!(contact, Contact::Live { erasing: true, .. });
            let is_free = !excludes || !state.contacts.iter().any(is_erasing);
            let are_same = !names || [state.ids_of(GOES), state.ids_of(STAYS)] == [goes, stays];
            if !(state.is_live(GOES) && state.is_live(STAYS) && is_free && are_same) {
                return;
            }
            state.contacts[usize::from(GOES)] = Contact::Merged;
            if let Contact::Live { merging, .. } = &mut state.contacts[usize::from(STAYS)] {
                *merging = true;
            }
            (0..IDS).filter(|id| goes & 1 << id != 0).for_each(|id| state.holder[id] = Some(STAYS));
            if joins {
                state.join_choices(STAYS);
            }
            state.merge = Some(Merge::Joined);
        });
    }

    /// Moves one conversation of the merged contact, or goes on if none is left or the person was erased.
    fn moved(&mut self, moves: &'static str, ends: &'static str, end: impl FnOnce(&mut State)) {
        let from = self.from;
        let listed = from.conversations.iter().position(|of| *of == GOES);
        match listed.filter(|_| from.contacts[usize::from(GOES)] == Contact::Merged) {
            Some(at) => self.step(moves, |state| state.conversations[at] = STAYS),
            None => self.step(ends, end),
        }
    }

    fn die(&mut self, step: &'static str, change: impl FnOnce(&mut State)) {
        if self.from.faults > 0 {
            self.step(step, |state| {
                state.faults -= 1;
                change(state);
            });
        }
    }

    fn erasure(&mut self) {
        let from = self.from;
        let Some(erasure) = from.erasure else {
            for of in [GOES, STAYS].into_iter().filter(|_| self.model.erases) {
                let asked = Erasure { of, known: 0, stage: Stage::Mark, pass: 1 };
                self.step("an erasure is asked for", |state| state.erasure = Some(asked));
            }
            return;
        };
        let next = |stage| Some(Erasure { stage, ..erasure });
        let is_known = |contact: &u8| erasure.known & 1 << contact != 0;
        match erasure.stage {
            Stage::Mark => self.mark(erasure),
            Stage::Conversations => match from.conversations.iter().position(is_known) {
                Some(at) => self.step("the erasure erases a conversation", |state| {
                    state.conversations.remove(at);
                }),
                None => self.step("no conversation is left", |state| state.erasure = next(Stage::Contacts)),
            },
            Stage::Contacts => self.step("the erasure erases the contacts", |state| {
                let known: Vec<u8> = [GOES, STAYS].into_iter().filter(is_known).collect();
                known.iter().for_each(|contact| state.contacts[usize::from(*contact)] = Contact::Gone);
                for holder in &mut state.holder {
                    *holder = holder.filter(|contact| !known.contains(contact));
                }
                state.erasure = next(if erasure.pass == 1 { Stage::Settling } else { Stage::Done });
            }),
            Stage::Settling if !self.has(Guard::SecondPass) => {
                self.step("the erasure ends after one pass", |state| state.erasure = next(Stage::Done));
            }
            Stage::Settling if !from.in_flight.iter().any(is_known) => {
                let second = Erasure { pass: 2, stage: Stage::Conversations, ..erasure };
                self.step("the second pass begins", |state| state.erasure = Some(second));
            }
            Stage::Settling | Stage::Done => {}
        }
    }

    /// Marks one more of the contacts that are one, or goes on if all are marked.
    fn mark(&mut self, erasure: Erasure) {
        let from = self.from;
        let known = from.one_with(erasure.of);
        let unmarked =
            [GOES, STAYS].into_iter().find_map(|contact| match from.contacts[usize::from(contact)] {
                Contact::Live { erasing: false, merging } if known & 1 << contact != 0 => {
                    Some((contact, merging))
                }
                _ => None,
            });
        match unmarked {
            // It waits until the merge has ended.
            Some((_, true)) if self.has(Guard::ErasingAgainstMerging) => {}
            Some((contact, _)) => self.step("the erasure marks a contact", |state| {
                if let Contact::Live { erasing, .. } = &mut state.contacts[usize::from(contact)] {
                    *erasing = true;
                }
            }),
            None => self.step("the erasure has found the person", |state| {
                state.erasure = Some(Erasure { known, stage: Stage::Conversations, ..erasure });
            }),
        }
    }
}
