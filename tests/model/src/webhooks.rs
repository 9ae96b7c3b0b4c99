//! A webhook lane: its rows and the parties that work on them. `steps.rs` has the steps.
//!
//! The rows are those of the table: the lane `L`, a home row for each delivery by key, pointers `R#<not before>#<key>`,
//! and one job `J`. Keys are small numbers. The relays run in any order, so keys arrive in any order.

mod properties;
mod state;
mod steps;

use stateright::{Model, Property};

pub use state::{
    Fault, History, Home, HomeState, Item, Job, JobKind, JobState, KEYS, Key, Keys, Move, Order, Outcome,
    Page, Position, Relay, RelayStep, Stage, State, Step, Visit, Visitor, Webhooks, What, Write, Wrong,
};

use steps::Steps;

impl Model for Webhooks {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let relays = vec![Relay::default(); self.relays.len()];
        vec![State { relays, failures: self.failures, faults: self.faults, ..State::default() }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        Steps { model: self, from: state, moves }.all();
    }

    fn next_state(&self, _: &State, action: Move) -> Option<State> {
        Some(action.to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::of_webhooks()
    }

    fn within_boundary(&self, state: &State) -> bool {
        // Only models without one of the rules reach this boundary.
        state.clock < 12 && state.lane.mark < 12
    }
}
