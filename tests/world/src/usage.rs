//! What the service counted as usage, against what the receivers of a calm world got.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harness::TestClock;

use crate::faults::Levels;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

impl Levels {
    /// Whether nothing is counted twice or not at all: no batch is repeated, no visit dies, and no
    /// write of counts fails or is late.
    fn counts_well(&self) -> bool {
        self.fault + self.death + self.slow + self.queue + self.stall + self.crowd == 0
    }
}

impl Simulation {
    /// In a calm world the usage has each change once, and each delivery that a receiver acknowledged. The tenant's endpoint gets
    /// every event, except those about endpoints.
    pub(crate) async fn check_usage(&self, tenant: &Tenant) {
        let is_erased = tenant.ledger.borrow().person.is_erased;
        if !self.faults.levels.counts_well() || is_erased || tenant.is_switched {
            return;
        }
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for event in self.receivers.acknowledged(&tenant.url) {
            let kind = event.body["eventType"].as_str().unwrap_or_default().to_owned();
            if seen.insert(event.id) && !kind.starts_with("webhook.") {
                *known.entry(kind).or_default() += 1;
            }
        }
        known.insert("delivery.delivered".to_owned(), self.receivers.answered_well(tenant.workspace));

        let from = TestClock::START.minus(Duration::from_secs(3_600)).to_string();
        let event = tenant.event("attributes-usage.json").query(&[("from", &from), ("step", "DAY")]);
        let Some(answer) = self.persists("attributes", event, false).await else {
            return self.breaks("the usage cannot be read".to_owned());
        };
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for step in answer.json["steps"].as_array().into_iter().flatten() {
            for (name, number) in step["counts"].as_object().into_iter().flatten() {
                // Messages are counted by their direction.
                let of = name.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
                *counted.entry(of).or_default() += number.as_u64().unwrap_or_default();
            }
        }
        counted.retain(|name, _| is_known(name));
        if counted != known {
            self.breaks(format!("tenant {} counted {counted:?}, it was {known:?}", tenant.number));
        }
    }
}

/// Whether the receivers know what a name counts: not attempts that failed, and not changes of endpoints.
fn is_known(name: &str) -> bool {
    name == "delivery.delivered" || !name.starts_with("webhook.") && !name.starts_with("delivery.")
}
