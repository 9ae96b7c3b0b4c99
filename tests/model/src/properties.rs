//! The properties that must hold in every history.

use stateright::{Model, Property};

use crate::conversation::{self, Conversation};
use crate::lane::Lease;
use crate::webhooks::{
    Home, HomeState, JobState, Key, Keys, Order, RelayStep, Stage, State, Visitor, Webhooks, Wrong,
};

/// No two visitors work on a lane at the same time.
pub const ONE_VISITOR: &str = "a lane has one visitor";
/// A lane with work is due.
pub const DUTY: &str = "a lane that was told of work is due";
/// The due time is near.
pub const SOON: &str = "a lane that was told of work is due soon";
/// A waiting delivery can be found.
pub const FOUND: &str = "a waiting delivery has a pointer that a visitor will read";
/// All work is done in the end.
pub const ALL_DONE: &str = "when no step is possible, all work is done";
/// No needless repeats.
pub const NOT_AGAIN: &str = "a delivered event is not attempted again";
/// Retries keep their waiting time.
pub const NOT_EARLY: &str = "no delivery is attempted before its time";
/// A home row without its event is not attempted.
pub const EVENT_THERE: &str = "no delivery is attempted without its event";
/// A job skips no row.
pub const JOB_WHOLE: &str = "a finished job attempted all its rows";
/// A job attempts no row twice.
pub const JOB_ONCE: &str = "a job does not repeat an attempt that it recorded";
/// A cancelled job stops.
pub const CANCELLED: &str = "a cancelled job ends with the current page";

/// Messages keep their order.
pub const IN_ORDER: &str = "no message overtakes another";
/// A message is sent at most once.
pub const ONCE: &str = "a message whose call reached the provider is not sent again";
/// An unknown outcome has a cause.
pub const KNOWN: &str = "a message is unknown only if a visitor died or ran out of time";

// States that the bounds must reach. Otherwise a run proves too little.

/// A delivery uses up its schedule.
pub const EXHAUSTED: &str = "a delivery is exhausted";
/// A visitor reads a home row before its event exists.
pub const PUT_OFF: &str = "a delivery waits for its event";
/// A key arrives before `base`.
pub const LATE: &str = "a lease finds a key before base";
/// Two visitors died in a row.
pub const CAREFUL: &str = "a visitor is in careful mode";
/// A job that had rows to attempt is finished.
pub const JOB_DONE: &str = "a job is finished";
/// A job was cancelled after its first page.
pub const JOB_STOPPED: &str = "a job is cancelled while it runs";

/// The properties of a webhook lane.
pub(crate) fn of_webhooks() -> Vec<Property<Webhooks>> {
    vec![
        Property::always(ONE_VISITOR, |_, state: &State| {
            state.visitors.iter().filter(|visitor| matches!(visitor, Visitor::Visiting(_))).count() < 2
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
            state.job.is_some_and(|job| job.state == JobState::Cancelled && job.position > 0)
        }),
    ]
}

fn is_not(state: &State, wrong: Wrong) -> bool {
    state.history.wrong != Some(wrong)
}

fn homes(state: &State) -> impl Iterator<Item = (Key, &Home)> {
    state.homes.iter().enumerate().filter_map(|(key, home)| Some((key as Key, home.as_ref()?)))
}

/// Whether the endpoint accepts deliveries. It does not while an operator has enabled it but not told the lane yet.
fn is_served(model: &Webhooks, state: &State) -> bool {
    let to_tell = model.orders().iter().skip(state.orders).any(|order| *order == Order::TellJob);
    let enables = model.operator.contains(&Order::Enable);
    !(state.disabled || to_tell && enables)
}

/// The pending deliveries that the lane was told of.
fn told_work(state: &State) -> impl Iterator<Item = Key> {
    homes(state)
        .filter(|(key, home)| home.state == HomeState::Pending && state.history.told.has(*key))
        .map(|(key, _)| key)
}

fn told_job(model: &Webhooks, state: &State) -> bool {
    let told = model.orders().iter().take(state.orders).any(|order| *order == Order::TellJob);
    told && state.job.is_some_and(|job| job.state == JobState::Active)
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

/// The properties of a conversation's lane.
pub(crate) fn of_conversations() -> Vec<Property<Conversation>> {
    vec![
        Property::always(ONE_VISITOR, |_, state: &conversation::State| state.visitors.len() < 2),
        Property::always(DUTY, |_, state: &conversation::State| {
            state.lane.due.is_some() || state.untold > 0 || state.taken().iter().all(|row| !row.is_open())
        }),
        Property::always(ALL_DONE, |model: &Conversation, state: &conversation::State| {
            let mut moves = vec![];
            let may_rest = state.wakes == 0 && state.visitors.is_empty() && state.taken == model.messages;
            if may_rest {
                model.actions(state, &mut moves);
            }
            !may_rest || !moves.is_empty() || state.taken().iter().all(|row| !row.is_open())
        }),
        Property::always(IN_ORDER, |_, state: &conversation::State| {
            state.wrong != Some(conversation::Wrong::Overtaken)
        }),
        Property::always(ONCE, |_, state: &conversation::State| {
            state.wrong != Some(conversation::Wrong::CalledTwice)
        }),
        Property::always(KNOWN, |_, state: &conversation::State| {
            state.wrong != Some(conversation::Wrong::UnknownForNothing)
        }),
    ]
}
