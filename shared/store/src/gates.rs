//! The gates before endpoints: who posts to them now, and what is known of their answers.
//!
//! On the way of a receiver that answers well a gate costs one write in and one out for each invocation, both beside
//! calls that are made anyway. Slots are taken and given back by attributes of their own, so that workers seldom stand
//! in each other's way; what is known of the endpoint is written under its version, and only when there is news.

use std::time::Duration;

use domain::gate::{Admission, Failing, Gate, Health, Lane, Seen, Slot};
use domain::{EndpointId, RetrySchedule, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::due::millis;
use crate::item::{Item, key, n, read, s};
use crate::transact::{Patience, Write, Wrote, is_by};
use crate::{Store, StoreError, Table, keys};

/// What became of asking for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateEntry {
    /// The caller may post, and gives the place back ([`Store::leave_gate`]).
    Entered(Place),
    /// The slow lane is to see to it.
    Aside,
    /// All slots are taken.
    Busy,
    /// Nobody posts before that.
    PutOff(Timestamp),
}

/// A place at an endpoint's gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    workspace: WorkspaceId,
    endpoint: EndpointId,
    slot: Slot,
    gate: Gate,
}

impl Place {
    /// Whether one post is to show whether the endpoint answers again: more are not to be made.
    pub fn is_probe(&self) -> bool {
        self.slot == Slot::Probe
    }
}

/// Rows of gates go when nobody has been at them for so long: all that they know is over by then.
const KEPT: Duration = Duration::from_secs(30 * 86_400);
/// How often a place is asked for, each time by what stood there.
const TRIES: usize = 8;

impl Store {
    /// Takes a place at an endpoint's gate, for so long at most. One trip; one more where the slot first tried was
    /// taken.
    pub async fn enter_gate(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        lane: Lane,
        lasting: Duration,
    ) -> Result<GateEntry, StoreError> {
        let token = self.ids.next();
        let mut slot = Slot::drawn(lane, &token);
        for _ in 0..TRIES {
            let now = self.now();
            let write = take(keys::gate(workspace, endpoint), slot, lane, now, lasting, &token);
            let found = match self.write(write).await? {
                Wrote::Done(item) => {
                    return Ok(GateEntry::Entered(Place { workspace, endpoint, slot, gate: gate(item)? }));
                }
                Wrote::Refused(found) => found.unwrap_or_default(),
            };
            let (mine, found) = (is_by(&found, &token.to_string()), gate(found)?);
            if mine {
                return Ok(GateEntry::Entered(Place { workspace, endpoint, slot, gate: found }));
            }
            slot = match found.admission(lane, now) {
                Admission::Free(slot) => slot,
                Admission::Aside => return Ok(GateEntry::Aside),
                Admission::Busy => return Ok(GateEntry::Busy),
                Admission::PutOff(until) => return Ok(GateEntry::PutOff(until)),
            };
        }
        // So many came before: as if all places were taken.
        Ok(match lane {
            Lane::Fast => GateEntry::Aside,
            Lane::Slow => GateEntry::Busy,
        })
    }

    /// Gives a place back with what was seen meanwhile; what is known of the endpoint now. One trip; more only while
    /// others learn something of it at the same time.
    pub async fn leave_gate(
        &self,
        place: &Place,
        seen: Seen,
        schedule: &RetrySchedule,
    ) -> Result<Health, StoreError> {
        let mut gate = place.gate.clone();
        let (workspace, endpoint) = (place.workspace, place.endpoint);
        let mut patience = Patience::for_merges(self);
        loop {
            let now = self.now();
            let health = gate.health.after(seen, schedule, now);
            let (pk, sk) = keys::gate(workspace, endpoint);
            if health == gate.health {
                // No news. Should there be no row any more (the gate was set up anew), none is made.
                let leaving =
                    Write::update(Table::Deliveries, key(pk, sk), format!("REMOVE {}", place.slot.name()));
                self.write(leaving.when("attribute_exists(pk)")).await?;
                return Ok(health);
            }
            let request = self.ids.next().to_string();
            let write = learn(key(pk, sk), place.slot, &gate, &health, now).bind(":request", s(&request));
            match self.write(write).await? {
                Wrote::Done(_) => return Ok(health),
                Wrote::Refused(Some(found)) if is_by(&found, &request) => return Ok(health),
                Wrote::Refused(found) => gate = self::gate(found.unwrap_or_default())?,
            }
            patience.wait().await?;
        }
    }

    /// Has an endpoint's deliveries take the slow lane from now on, for a while: it keeps somebody waiting. One trip.
    pub async fn mark_slow(&self, workspace: WorkspaceId, endpoint: EndpointId) -> Result<(), StoreError> {
        let (pk, sk) = keys::gate(workspace, endpoint);
        let now = self.now();
        let write =
            Write::update(Table::Deliveries, key(pk, sk), "SET slowUntil = :until, expiresAt = :expires")
                .bind(":until", n(now.plus(Gate::SLOW_FOR).as_millis()))
                .bind(":expires", n(now.plus(KEPT).as_seconds()));
        self.write(write).await.map(drop)
    }

    /// Lets an endpoint be called again at once, on the fast lane, whatever is known of its silence; that it does nothing
    /// but fail, if so, is not forgotten. One trip.
    pub async fn close_circuit(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<(), StoreError> {
        let (pk, sk) = keys::gate(workspace, endpoint);
        let change = "SET silences = :none, openings = :none REMOVE openUntil, slowUntil ADD version :one";
        let write = Write::update(Table::Deliveries, key(pk, sk), change)
            .when("attribute_exists(pk)")
            .bind(":none", n(0))
            .bind(":one", n(1));
        self.write(write).await.map(drop)
    }

    /// What is known of an endpoint's answers. One trip.
    pub async fn endpoint_health(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<Health, StoreError> {
        let found = self.get_item(Table::Deliveries, keys::gate(workspace, endpoint)).await?;
        Ok(gate(found.unwrap_or_default())?.health)
    }

    /// Forgets what is known of an endpoint: it was mended, or enabled again. One trip.
    pub async fn reset_gate(&self, workspace: WorkspaceId, endpoint: EndpointId) -> Result<(), StoreError> {
        let (pk, sk) = keys::gate(workspace, endpoint);
        self.write(Write::delete(Table::Deliveries, key(pk, sk))).await.map(drop)
    }
}

/// Takes a slot that is free while the gate lets somebody in by it.
fn take(
    (pk, sk): (String, &str),
    slot: Slot,
    lane: Lane,
    now: Timestamp,
    lasting: Duration,
    token: &Uuid,
) -> Write {
    let name = slot.name();
    let free = |attribute: &str| format!("(attribute_not_exists({attribute}) OR {attribute} <= :now)");
    let answers = match slot {
        Slot::Probe => "silences >= :silences".to_owned(),
        Slot::Of(..) => "(attribute_not_exists(silences) OR silences < :silences)".to_owned(),
    };
    let mut conditions = vec![free(&name), free("openUntil"), answers];
    if lane == Lane::Fast {
        conditions.push(free("slowUntil"));
    }
    let change = format!("SET {name} = :until, lastRequest = :token, expiresAt = :expires");
    Write::update(Table::Deliveries, key(pk, sk), change)
        .when(conditions.join(" AND "))
        .bind(":until", n(now.plus(lasting).as_millis()))
        .bind(":token", s(token.to_string()))
        .bind(":expires", n(now.plus(KEPT).as_seconds()))
        .bind(":now", n(now.as_millis()))
        .bind(":silences", n(Gate::SILENCES))
        .returning_new()
}

/// Gives a slot back and writes down what is known now, if nobody has since `seen`; `:request` is the caller's.
fn learn(key: Item, slot: Slot, seen: &Gate, health: &Health, now: Timestamp) -> Write {
    let mut sets =
        "SET version = :next, lastRequest = :request, expiresAt = :expires, silences = :silences, \
                    openings = :openings"
            .to_owned();
    let mut removes = format!("REMOVE {}", slot.name());
    let mut values = vec![
        (":next", n(seen.version + 1)),
        (":expires", n(now.plus(KEPT).as_seconds())),
        (":silences", n(health.silences)),
        (":openings", n(health.openings)),
    ];
    match health.open_until {
        Some(until) => {
            sets += ", openUntil = :open";
            values.push((":open", n(until.as_millis())));
        }
        None => removes += ", openUntil",
    }
    // Who is kept waiting says so apart from this: what was not changed here is not written.
    if let Some(until) = health.slow_until.filter(|until| seen.health.slow_until != Some(*until)) {
        sets += ", slowUntil = :slow";
        values.push((":slow", n(until.as_millis())));
    }
    match &health.failing {
        Some(failing) => {
            let hours =
                failing.hours.iter().flat_map(|(at, failures)| [n(at.as_millis()), n(failures)]).collect();
            sets += ", failingSince = :failing, failures = :failures";
            values.push((":failing", n(failing.since.as_millis())));
            values.push((":failures", aws_sdk_dynamodb::types::AttributeValue::L(hours)));
        }
        None => removes += ", failingSince, failures",
    }
    let write = Write::update(Table::Deliveries, key, format!("{sets} {removes}"));
    let write = match seen.version {
        0 => write.when("attribute_not_exists(version)"),
        version => write.when("version = :seen").bind(":seen", n(version)),
    };
    values.into_iter().fold(write, |write, (name, value)| write.bind(name, value))
}

/// `W#G#<endpoint id>` / `G`; also an attribute for each slot that is taken ([`Slot::name`]).
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GateRow {
    // Moments in milliseconds since 1970.
    version: u64,
    silences: u32,
    openings: u32,
    slow_until: Option<i64>,
    open_until: Option<i64>,
    failing_since: Option<i64>,
    /// Of each hour of the last day with failures: the first of them, how many.
    failures: Vec<i64>,
}

fn gate(item: Item) -> Result<Gate, StoreError> {
    let taken = Slot::all().filter_map(|slot| {
        let until = item.get(&slot.name())?;
        Some((slot, Timestamp::from_millis(millis(until))))
    });
    let taken = taken.collect();
    let row: GateRow = read(item)?;
    let hour = |pair: &[i64]| (Timestamp::from_millis(pair[0]), u32::try_from(pair[1]).unwrap_or(u32::MAX));
    let hours = row.failures.chunks_exact(2).map(hour).collect();
    let health = Health {
        slow_until: row.slow_until.map(Timestamp::from_millis),
        silences: row.silences,
        openings: row.openings,
        open_until: row.open_until.map(Timestamp::from_millis),
        failing: row.failing_since.map(|since| Failing { since: Timestamp::from_millis(since), hours }),
    };
    Ok(Gate { health, taken, version: row.version })
}
