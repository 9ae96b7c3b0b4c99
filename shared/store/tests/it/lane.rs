//! Lanes of all kinds with an embedded DynamoDB: leases, releases, due times, and long random histories.

mod claims;
mod conversation;
mod gate;
mod history;
mod leases;
mod webhook;

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{ConversationId, HomeKey, LaneId, LaneKind, Rest, Timestamp};
use harness::{TestClock, World};
use serde_json::Value;
use store::{DueLane, Lease, Leased, Released, Store, Table};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(90);
const RESCUE: Duration = Duration::from_secs(120);
const MOMENT: Duration = Duration::from_millis(1);

/// A lane of each kind, due in two minutes.
struct Lanes {
    world: World,
    all: [LaneId; 3],
}

impl Lanes {
    async fn start() -> Self {
        let world = World::start().await;
        world.line("1045551234567", |_| ()).await;
        let lead = world.lead("+12025550101", |_| ()).await;
        let webhook = crate::support::hooks::slot(1);
        let least = HomeKey::of_moment(TestClock::START);
        world.db.store().notify_webhook_lane(webhook, least, RESCUE).await.unwrap();
        let conversation = ConversationId::from_uuid(Uuid::from_u128(7));
        let all = [
            LaneId::Webhook(webhook),
            LaneId::Conversation(world.workspace, conversation),
            LaneId::Lead(world.workspace, lead.id),
        ];
        let lanes = Self { world, all };
        let (table, pk) = lanes.key(all[1]);
        let put = lanes.world.db.client().put_item().table_name(lanes.world.db.table(table));
        let put = put.item("pk", s(&pk)).item("sk", s("L")).item("kind", s("lane")).item("sv", n(1));
        let put = put.item("seq", n(3)).item("mark", n(1)).item("dueShard", s("due#00"));
        put.item("dueAt", n(TestClock::START.plus(RESCUE).as_millis())).send().await.unwrap();
        lanes
    }

    fn store(&self) -> &Store {
        self.world.db.store()
    }

    fn now(&self) -> Timestamp {
        self.store().now()
    }

    fn key(&self, lane: LaneId) -> (Table, String) {
        match lane {
            LaneId::Webhook(slot) => {
                (Table::Webhooks, format!("{}#E#{}#{}", slot.workspace, slot.endpoint, slot.number))
            }
            LaneId::Conversation(workspace, id) => (Table::Messages, format!("{workspace}#C#{id}")),
            LaneId::Lead(workspace, id) => (Table::Leads, format!("{workspace}#L#{id}")),
            LaneId::Person(..) => panic!("no test makes {lane} this way"),
        }
    }

    fn row(&self, lane: LaneId) -> Value {
        let (table, pk) = self.key(lane);
        let rows = self.world.db.rows(table);
        rows.into_iter().find(|row| row["pk"]["S"] == pk && row["sk"]["S"] == "L").unwrap()
    }

    /// The due time of a lane, and the planned one.
    fn due_times(&self, lane: LaneId) -> (Option<Timestamp>, Option<Timestamp>) {
        let row = self.row(lane);
        let at = |name: &str| row[name]["N"].as_str().map(|at| Timestamp::from_millis(at.parse().unwrap()));
        assert_eq!(row.get("dueShard").is_some(), row.get("dueAt").is_some());
        (at("dueAt"), at("planned"))
    }

    async fn change(&self, lane: LaneId, expression: &str, value: AttributeValue) {
        let (table, pk) = self.key(lane);
        let update = self.world.db.client().update_item().table_name(self.world.db.table(table));
        let update = update.key("pk", s(&pk)).key("sk", s("L")).update_expression(expression);
        update.expression_attribute_values(":value", value).send().await.unwrap();
    }

    /// Raises the mark without adding work.
    async fn mark(&self, lane: LaneId) {
        self.change(lane, "ADD mark :value", n(1)).await;
    }

    async fn ask(&self, lane: LaneId) -> Lease {
        self.store().lease_lane(lane, LEASE).await.unwrap()
    }

    async fn lease(&self, lane: LaneId) -> Leased {
        match self.ask(lane).await {
            Lease::Taken(leased) => *leased,
            other => panic!("{other:?}"),
        }
    }

    async fn release(&self, leased: &Leased, rest: Rest) -> Released {
        self.store().release_lane(leased, rest, RESCUE).await.unwrap()
    }

    async fn due(&self, kind: LaneKind) -> Vec<DueLane> {
        let mut due = vec![];
        for shard in 0..Store::due_shards(kind) {
            due.extend(self.store().due_lanes(kind, shard, None, 100).await.unwrap().lanes);
        }
        due
    }

    /// The write units and the number of calls since the last call of this method.
    fn cost(&self) -> (f64, usize) {
        let calls = self.world.db.calls();
        self.world.db.forget_calls();
        (calls.iter().map(|call| call.write_units).sum(), calls.len())
    }
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
