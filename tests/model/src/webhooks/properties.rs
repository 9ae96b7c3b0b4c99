//! What must hold of a webhook lane.

use stateright::{Model, Property};

use crate::lane::Lease;
use crate::properties::{
    ALL_DONE, CANCELLED, CAREFUL, DUTY, EVENT_THERE, EXHAUSTED, FOUND, JOB_DONE, JOB_ONCE, JOB_STOPPED,
    JOB_WHOLE, LATE, NOT_AGAIN, NOT_EARLY, ONE_VISITOR, PUT_OFF, SOON,
};
use crate::webhooks::state::{
    Home, HomeState, JobState, Key, Keys, Order, RelayStep, Stage, State, Visitor, Webhooks, Wrong,
};

/// The properties of a webhook lane.
pub(crate) fn of_webhooks() -> Vec<Property<Webhooks>> {
    vec![
        Property::always(ONE_VISITOR, |_, state: &State| {
            let holds = |visitor: &&Visitor| matches!(visitor, Visitor::Repeats(_) | Visitor::Visiting(_));
            state.visitors.iter().filter(holds).count() < 2
        }),
        Property::always(DUTY, |model: &Webhooks, state: &State| {
            !is_served(model, state)
                || state.lane.due.is_some()
                || !told_work(state).any(|_| true) && !told_job(model, state)
        }),
        Property::always(SOON, |model: &Webhooks, state: &State| {
            !is_served(model, state)
                || state.lane.due.is_some_and(|due| due <= state.clock)
                || state.lane.closed
                || state.lane.lease == Lease::Running
                || !told_work(state).any(|key| is_fresh(state, key) && relay_is_through(model, state, key))
        }),
        Property::always(FOUND, |_, state: &State| {
            homes(state).all(|(key, home)| home.state != HomeState::Pending || state.is_found(key, home))
        }),
        Property::always(ALL_DONE, |model: &Webhooks, state: &State| {
            let moves = |state: &State| {
                let mut moves = vec![];
                model.actions(state, &mut moves);
                !moves.is_empty()
            };
            state.messages > 0
                || !state.visitors.is_empty()
                || state.relays.iter().any(|relay| relay.at != RelayStep::End)
                || moves(state)
                || is_done(model, state)
        }),
        Property::always(NOT_AGAIN, |_, state: &State| is_not(state, Wrong::DeliveredAgain)),
        Property::always(NOT_EARLY, |_, state: &State| is_not(state, Wrong::TooEarly)),
        Property::always(EVENT_THERE, |_, state: &State| is_not(state, Wrong::NoEvent)),
        Property::always(JOB_WHOLE, |_, state: &State| is_not(state, Wrong::JobMissed)),
        Property::always(JOB_ONCE, |_, state: &State| is_not(state, Wrong::JobRepeated)),
        Property::always(CANCELLED, |_, state: &State| is_not(state, Wrong::CancelledWentOn)),
        Property::sometimes(EXHAUSTED, |_, state: &State| {
            homes(state).any(|(_, home)| home.state == HomeState::Exhausted)
        }),
        Property::sometimes(PUT_OFF, |_, state: &State| homes(state).any(|(_, home)| home.put_off > 0)),
        Property::sometimes(LATE, |_, state: &State| {
            state.visitors.iter().any(|visitor| matches!(visitor, Visitor::Refused(_)))
        }),
        Property::sometimes(CAREFUL, |_, state: &State| {
            state.visitors.iter().any(|visitor| {
                matches!(visitor, Visitor::Visiting(visit) if matches!(visit.stage, Stage::Note(_)))
            })
        }),
        Property::sometimes(JOB_DONE, |_, state: &State| {
            state.history.asked != Keys::default()
                && state.job.is_some_and(|job| job.state == JobState::Finished)
        }),
        Property::sometimes(JOB_STOPPED, |_, state: &State| {
            state.job.is_some_and(|job| job.state == JobState::Cancelled && job.position.is_some())
        }),
    ]
}

fn is_not(state: &State, wrong: Wrong) -> bool {
    state.history.wrong != Some(wrong)
}

fn homes(state: &State) -> impl Iterator<Item = (Key, &Home)> {
    state.homes.iter().enumerate().filter_map(|(key, home)| Some((key as Key, home.as_ref()?)))
}

/// Whether the endpoint accepts deliveries. It does not while an operator has enabled it but not notified the lane yet.
fn is_served(model: &Webhooks, state: &State) -> bool {
    let to_tell = model.orders().iter().skip(state.orders).any(|order| *order == Order::NotifyJob);
    let enables = model.operator.contains(&Order::Enable);
    !(state.disabled || to_tell && enables)
}

/// The pending deliveries that the lane was notified of.
fn told_work(state: &State) -> impl Iterator<Item = Key> {
    homes(state)
        .filter(|(key, home)| home.state == HomeState::Pending && state.history.notified.has(*key))
        .map(|(key, _)| key)
}

fn told_job(model: &Webhooks, state: &State) -> bool {
    let notified = model.orders().iter().take(state.orders).any(|order| *order == Order::NotifyJob);
    notified && state.job.is_some_and(|job| job.state == JobState::Active)
}

fn is_fresh(state: &State, key: Key) -> bool {
    state.home(key).is_some_and(|home| home.next.is_none())
}

/// Whether every relay that has this delivery in its batch is done, apart from queueing its message.
fn relay_is_through(model: &Webhooks, state: &State, key: Key) -> bool {
    let batches = model.relays.iter().zip(&state.relays).filter(|(batch, _)| batch.contains(&key));
    batches.into_iter().all(|(_, relay)| relay.at == RelayStep::End)
}

/// Whether every event and its home row exist, the row is not pending, and the job is not active.
fn is_done(model: &Webhooks, state: &State) -> bool {
    let mut keys = model.relays.iter().flatten();
    let done = |key: &Key| {
        state.events.has(*key)
            && state.home(*key).is_some_and(|home| home.state != HomeState::Pending || state.disabled)
    };
    keys.all(done) && (state.disabled || state.job.is_none_or(|job| job.state != JobState::Active))
}
