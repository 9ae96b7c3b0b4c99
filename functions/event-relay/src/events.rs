//! Turns changes into events with deliveries, and adds the deliveries to their lanes.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::webhook::Subscribers;
use domain::{Event, EventId, HomeKey, LaneId, Slot, Timestamp, WorkspaceId, error_chain};
use edge::view;
use futures::StreamExt;
use futures::future::join3;
use queue::Wake;
use runtime::metrics::Relayed;
use store::{NewEvent, StoreError};
use uuid::Uuid;

use crate::body::{NoBody, body};
use crate::change::EventChange;
use crate::relay::{AT_ONCE, Relay};
use crate::settings::{WorkspaceSettings, settings_of};

/// The events that could not be relayed. The causes are logged.
pub(crate) type Failed = HashSet<EventId>;

/// The outcome of the events of a batch.
pub(crate) struct RelayResult {
    /// The visits to queue, one for each lane with new work.
    pub(crate) wakes: Vec<Wake>,
    /// The events whose records must be repeated.
    pub(crate) failed: Failed,
}

/// An event with a subscriber, now or when its record was relayed before.
struct SubscribedEvent<'a> {
    change: &'a EventChange,
    settings: &'a WorkspaceSettings,
    /// The slots of the endpoints that subscribe to it now.
    slots: Subscribers,
}

/// A recorded event, and the slots whose lanes are notified of it.
struct Standing {
    event: Event,
    slots: Vec<Slot>,
}

/// The maximum bytes of bodies that are recorded at the same time, so a batch of the largest bodies fits into memory.
const PORTION: usize = 4 * 1024 * 1024;

/// Records the events of changes with their deliveries, and adds these to their lanes. An event without a subscriber
/// is not recorded. One for a disabled endpoint is recorded as PARKED, and its lane has no work. Five round trips: settings; recorded events together with the data for the bodies; deliveries;
/// events; lanes.
pub(crate) async fn relay_events(relay: &Relay, changes: &[EventChange], counted: &Relayed) -> RelayResult {
    let mut failed = Failed::new();
    let settings = settings_of(&relay.store, changes).await;
    let wanted = wanted(changes, &settings, &mut failed);

    // A recorded event needs no body, but few events are already recorded. So the function reads both in one round
    // trip.
    let (found, erased, bodies) =
        join3(recorded_events(relay, &wanted), erased(relay, &wanted), bodies(relay, &wanted)).await;
    let (mut standing, mut new) = (vec![], vec![]);
    for (SubscribedEvent { change, slots, .. }, body) in wanted.into_iter().zip(bodies) {
        let event = change.event.clone();
        match (found.get(&event.id), body) {
            // The lookup failed.
            (None, _) => drop(failed.insert(event.id)),
            // The record is repeated. The event stays as it was recorded, but the process may have died before it
            // added the deliveries to their lanes.
            (Some(Some(slots)), _) => standing.push(Standing { event, slots: slots.clone() }),
            // The event is new and has no subscriber.
            (Some(None), None) => {}
            (Some(None), Some(body)) => match shown(change, body, erased.as_ref()) {
                Ok(body) => {
                    let (about, request) = (Some(change.subject()), change.request.clone());
                    new.push(NewEvent { event, about, request, body, slots });
                }
                Err(error) => {
                    log_failure(&event, &*error);
                    failed.insert(event.id);
                }
            },
        }
    }
    standing.extend(record(relay, new, counted, &mut failed).await);

    let (wakes, unnotified) = notify_lanes(relay, &standing).await;
    let of_unnotified =
        standing.iter().filter(|standing| standing.slots.iter().any(|slot| unnotified.contains(slot)));
    failed.extend(of_unnotified.map(|standing| standing.event.id));
    RelayResult { wakes, failed }
}

/// The events to relay, each once, because a batch may repeat a change. If the settings of a workspace could not be
/// read, its events fail.
fn wanted<'a>(
    changes: &'a [EventChange],
    settings: &'a BTreeMap<WorkspaceId, WorkspaceSettings>,
    failed: &mut Failed,
) -> Vec<SubscribedEvent<'a>> {
    let (mut wanted, mut seen) = (vec![], HashSet::new());
    for change in changes {
        let event = &change.event;
        match settings.get(&event.workspace_id) {
            None => drop(failed.insert(event.id)),
            Some(settings) if settings.may_have(event) && seen.insert(event.id) => {
                wanted.push(SubscribedEvent { change, settings, slots: settings.slots_of(change) });
            }
            Some(_) => {}
        }
    }
    wanted
}

/// Reads which events are recorded, with the slots of their deliveries: one round trip for all. The result omits the
/// events whose lookup failed.
async fn recorded_events(
    relay: &Relay,
    wanted: &[SubscribedEvent<'_>],
) -> HashMap<EventId, Option<Vec<Slot>>> {
    let of = |SubscribedEvent { change, .. }: &SubscribedEvent| (change.event.workspace_id, change.event.id);
    let all: Vec<(WorkspaceId, EventId)> = wanted.iter().map(of).collect();
    let mut answers = vec![(all.as_slice(), relay.store.recorded_events(&all).await)];
    // An event that this release cannot read must not delay the others.
    if let [(_, Err(StoreError::Unreadable { .. }))] = answers.as_slice() {
        let alone = all.chunks(1).map(async |one| (one, relay.store.recorded_events(one).await));
        answers = futures::stream::iter(alone).buffered(AT_ONCE).collect().await;
    }
    let mut known = HashMap::new();
    for (asked, answer) in answers {
        match answer {
            Ok(mut found) => known.extend(asked.iter().map(|(_, event)| (*event, found.remove(event)))),
            Err(error) => {
                let first = asked.first().map(|(_, event)| event.to_string());
                let (events, cause) = (asked.len(), error_chain(&error));
                tracing::error!(event = first, events, cause, "events cannot be looked up");
            }
        }
    }
    known
}

/// The subjects of these events that are erased; `None` if that cannot be read.
async fn erased(
    relay: &Relay,
    wanted: &[SubscribedEvent<'_>],
) -> Option<HashMap<(WorkspaceId, Uuid), Timestamp>> {
    let of = |SubscribedEvent { change, .. }: &SubscribedEvent| (change.event.workspace_id, change.subject());
    let subjects: Vec<(WorkspaceId, Uuid)> = wanted.iter().map(of).collect();
    let read = relay.store.erased_subjects(&subjects).await;
    read.inspect_err(|error| {
        tracing::error!(events = wanted.len(), cause = error_chain(error), "erasures cannot be looked up");
    })
    .ok()
}

/// The body to record: without data, if the event's subject was erased after the change. Without knowing that, the
/// event is not recorded.
fn shown(
    change: &EventChange,
    body: Result<Vec<u8>, NoBody>,
    erased: Option<&HashMap<(WorkspaceId, Uuid), Timestamp>>,
) -> Result<Vec<u8>, NoBody> {
    let erased = erased.ok_or("it is not known whether the subject was erased")?;
    let event = &change.event;
    match erased.get(&(event.workspace_id, change.subject())) {
        Some(before) if event.at < *before => Ok(view::redacted_body(event)?),
        _ => body,
    }
}

/// The bodies of events, in their order. An event without a subscriber has none.
async fn bodies(relay: &Relay, wanted: &[SubscribedEvent<'_>]) -> Vec<Option<Result<Vec<u8>, NoBody>>> {
    let bodies =
        wanted.iter().map(async |SubscribedEvent { change, settings, slots }| match slots.is_empty() {
            true => None,
            false => Some(body(&relay.store, change, &settings.definitions).await),
        });
    futures::stream::iter(bodies).buffered(AT_ONCE).collect().await
}

/// Records events, and returns those that were recorded.
async fn record(relay: &Relay, new: Vec<NewEvent>, counted: &Relayed, failed: &mut Failed) -> Vec<Standing> {
    let mut ends = Vec::with_capacity(new.len());
    for portion in portions(&new) {
        ends.extend(relay.store.record_events(portion).await);
    }
    let mut standing = vec![];
    for (new, end) in new.into_iter().zip(ends) {
        match end {
            Ok(()) => {
                counted.events_recorded.add(1);
                log_recorded(&new);
                standing.push(Standing { event: new.event, slots: new.slots.enabled });
            }
            Err(error) => {
                log_failure(&new.event, &error);
                failed.insert(new.event.id);
            }
        }
    }
    standing
}

/// Divides events into portions, in their order.
fn portions(mut rest: &[NewEvent]) -> impl Iterator<Item = &[NewEvent]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |new: &&NewEvent| {
            bytes += new.body.len();
            bytes <= PORTION
        };
        let fitting = rest.iter().take_while(fits).count().max(1);
        let (portion, later) = rest.split_at_checked(fitting)?;
        rest = later;
        Some(portion)
    })
}

/// Adds all recorded deliveries to their lanes, with one write for each lane. Returns the visits to queue, and the
/// slots whose lanes could not be written. One round trip, or two for a lane with new work since its last visit.
async fn notify_lanes(relay: &Relay, standing: &[Standing]) -> (Vec<Wake>, HashSet<Slot>) {
    let mut least: BTreeMap<Slot, HomeKey> = BTreeMap::new();
    for Standing { event, slots } in standing {
        let place = HomeKey { at: event.at, event: event.id };
        for slot in slots {
            least.entry(*slot).and_modify(|least| *least = place.min(*least)).or_insert(place);
        }
    }
    let calls = least
        .into_iter()
        .map(async |(slot, least)| (slot, relay.store.notify_webhook_lane(slot, least, relay.rescue).await));
    let mut calls = futures::stream::iter(calls).buffered(AT_ONCE);
    let (mut wakes, mut unnotified) = (vec![], HashSet::new());
    while let Some((slot, notified)) = calls.next().await {
        let lane = LaneId::Webhook(slot);
        match notified {
            Ok(notified) => wakes.extend(notified.wake.map(|track| Wake::now(lane, track))),
            Err(error) => {
                tracing::error!(lane = %lane, cause = error_chain(&error), "lane not notified");
                unnotified.insert(slot);
            }
        }
    }
    (wakes, unnotified)
}

/// Logs the line that connects a request and its event.
fn log_recorded(NewEvent { event, request, slots, .. }: &NewEvent) {
    let Event { id, workspace_id, event_type, .. } = event;
    let (request, r#type, deliveries) = (request.as_deref(), event_type.as_str(), slots.all().count());
    tracing::info!(event = %id, r#type, workspace = %workspace_id, request, deliveries, "event recorded");
}

fn log_failure(Event { id, workspace_id, .. }: &Event, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(event = %id, workspace = %workspace_id, cause = error_chain(error), "event not recorded");
}
