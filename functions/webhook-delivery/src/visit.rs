//! Visits to endpoints: what the deliveries of one invocation that go to the same endpoint do at its gate together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::gate::{Lane, Seen};
use domain::{EndpointId, WorkspaceId, causes};
use store::{GateEntry, Store};
use tokio::sync::OnceCell;

use crate::settings::Rules;

/// The visits of an invocation, by endpoint.
#[derive(Default)]
pub(crate) struct Visits(Mutex<HashMap<EndpointId, Arc<Visit>>>);

/// One visit: it begins with the first delivery that comes to the endpoint and ends with the last that leaves.
pub(crate) struct Visit {
    workspace: WorkspaceId,
    endpoint: EndpointId,
    entry: OnceCell<GateEntry>,
    /// Whether the one post that a probe allows is made.
    probed: AtomicBool,
    /// Whether it was said that the endpoint keeps us waiting.
    told_slow: AtomicBool,
    so_far: Mutex<SoFar>,
}

#[derive(Default)]
struct SoFar {
    guests: u32,
    seen: Seen,
}

impl Visits {
    /// Joins the visit to an endpoint, or begins one. Whoever joins leaves ([`Visits::leave`]).
    pub(crate) fn join(&self, workspace: WorkspaceId, endpoint: EndpointId) -> Arc<Visit> {
        let mut visits = locked(&self.0);
        let visit = visits.entry(endpoint).or_insert_with(|| {
            Arc::new(Visit {
                workspace,
                endpoint,
                entry: OnceCell::new(),
                probed: AtomicBool::new(false),
                told_slow: AtomicBool::new(false),
                so_far: Mutex::default(),
            })
        });
        locked(&visit.so_far).guests += 1;
        visit.clone()
    }

    /// Leaves; the last to do so gives the place at the gate back. Whether the endpoint is to be disabled, as it does
    /// nothing but fail.
    pub(crate) async fn leave(&self, visit: &Visit, store: &Store, rules: &Rules) -> bool {
        let seen = {
            let mut visits = locked(&self.0);
            let mut so_far = locked(&visit.so_far);
            so_far.guests -= 1;
            if so_far.guests > 0 {
                return false;
            }
            visits.remove(&visit.endpoint);
            so_far.seen
        };
        let Some(GateEntry::Entered(place)) = visit.entry.get() else { return false };
        match store.leave_gate(place, seen, &rules.schedule).await {
            Ok(health) => seen.refused + seen.silent > 0 && health.is_hopeless(store.now()),
            Err(error) => {
                // The place is free again when its time is over; what was seen is seen again.
                tracing::warn!(endpoint = %visit.endpoint, cause = causes(&error), "gate not left");
                false
            }
        }
    }
}

impl Visit {
    /// Asks at the gate, once for all guests. A gate that cannot be asked lets nobody in for a while.
    pub(crate) async fn enter(&self, store: &Store, lane: Lane, rules: &Rules) -> &GateEntry {
        let enter = async || {
            let entry = store.enter_gate(self.workspace, self.endpoint, lane, rules.lease).await;
            entry.unwrap_or_else(|error| {
                tracing::warn!(endpoint = %self.endpoint, cause = causes(&error), "gate not asked");
                GateEntry::Busy
            })
        };
        self.entry.get_or_init(enter).await
    }

    /// Whether a guest may post: while it is tried whether the endpoint answers again, one may.
    pub(crate) fn may_post(&self) -> bool {
        match self.entry.get() {
            Some(GateEntry::Entered(place)) => {
                !place.is_probe() || !self.probed.swap(true, Ordering::Relaxed)
            }
            _ => false,
        }
    }

    /// Tells, once, that the endpoint keeps us waiting: other deliveries to it are to take the slow lane.
    pub(crate) async fn tell_slow(&self, store: &Store) {
        if self.told_slow.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Err(error) = store.mark_slow(self.workspace, self.endpoint).await {
            tracing::warn!(endpoint = %self.endpoint, cause = causes(&error), "slowness not told");
        }
    }

    /// Adds what a guest saw.
    pub(crate) fn saw(&self, seen: Seen) {
        locked(&self.so_far).seen.add(seen);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
