//! What must hold of a conversation's lane.

use stateright::{Model, Property};

use crate::conversation::state::{Conversation, State, Wrong};
use crate::properties::{ALL_DONE, DUTY, IN_ORDER, KNOWN, ONCE, ONE_VISITOR};

/// The properties of a conversation's lane.
pub(crate) fn of_conversations() -> Vec<Property<Conversation>> {
    vec![
        Property::always(ONE_VISITOR, |_, state: &State| state.visitors.len() < 2),
        Property::always(DUTY, |_, state: &State| {
            state.lane.due.is_some() || state.untold > 0 || state.taken().iter().all(|row| !row.is_open())
        }),
        Property::always(ALL_DONE, |model: &Conversation, state: &State| {
            let mut moves = vec![];
            let may_rest = state.wakes == 0 && state.visitors.is_empty() && state.taken == model.messages;
            if may_rest {
                model.actions(state, &mut moves);
            }
            !may_rest || !moves.is_empty() || state.taken().iter().all(|row| !row.is_open())
        }),
        Property::always(IN_ORDER, |_, state: &State| state.wrong != Some(Wrong::Overtaken)),
        Property::always(ONCE, |_, state: &State| state.wrong != Some(Wrong::CalledTwice)),
        Property::always(KNOWN, |_, state: &State| state.wrong != Some(Wrong::UnknownForNothing)),
    ]
}
