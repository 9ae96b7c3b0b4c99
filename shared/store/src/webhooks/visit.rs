//! The reads and writes of a visit of a webhook lane.

use std::collections::HashMap;
use std::time::Duration;

use domain::{
    Attempt, Delivery, EndpointSecrets, EventId, LaneId, Slot, Timestamp, WebhookEndpoint, WorkspaceState,
};

use super::events::{RecordedEvent, recorded};
use super::lane::{HomeKey, Pointer};
use super::rows::{attempt_item, delivery, home_item, pointer_item};
use crate::dynamodb::batch::without_repeats;
use crate::dynamodb::item::{Item, PK, SK, key, read, s, text};
use crate::settings::workspaces::state_of;
use crate::webhooks::endpoints::EndpointRow;
use crate::webhooks::secrets::EndpointSecretsRow;
use crate::{Store, StoreError, Table, keys};

/// The data for a page of work, from one strongly consistent read.
#[derive(Clone, Debug, Default)]
pub struct VisitBatch {
    /// The state of the workspace; `None` if the workspace does not exist.
    pub workspace: Option<WorkspaceState>,
    /// The endpoint; `None` if it was deleted.
    pub endpoint: Option<WebhookEndpoint>,
    /// The endpoint's secrets.
    pub secrets: Option<EndpointSecrets>,
    /// The events, without those that are not recorded yet.
    pub events: HashMap<EventId, RecordedEvent>,
    /// The deliveries at the places that pointers name.
    pub homes: HashMap<HomeKey, Delivery>,
}

/// What to record about a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The delivery as it is now.
    pub delivery: Delivery,
    /// The attempt, if one was made.
    pub attempt: Option<Attempt>,
    /// The pointer, if the delivery waits for a later attempt.
    pub pointer: Option<Pointer>,
}

impl Store {
    /// The next home rows of a slot from a place on, in order (strongly consistent read), and whether there
    /// may be more. One round trip.
    pub async fn fresh_deliveries(
        &self,
        slot: Slot,
        from: Option<HomeKey>,
        limit: usize,
    ) -> Result<(Vec<Delivery>, bool), StoreError> {
        let from = from.map_or_else(|| HomeKey::PREFIX.to_owned(), HomeKey::sort_key);
        let (items, more) = self.range(slot, from, "D#~".to_owned(), limit).await?;
        let deliveries = items.into_iter().map(|item| delivery(slot, item)).collect::<Result<_, _>>()?;
        Ok((deliveries, more))
    }

    /// The next pointers of a slot after one, in order (strongly consistent read), and whether there may be
    /// more. One round trip.
    pub async fn waiting_deliveries(
        &self,
        slot: Slot,
        behind: Option<Pointer>,
        limit: usize,
    ) -> Result<(Vec<Pointer>, bool), StoreError> {
        let from = behind.map_or_else(|| Pointer::PREFIX.to_owned(), |behind| behind.sort_key() + "~");
        let (items, more) = self.range(slot, from, "R#~".to_owned(), limit).await?;
        Ok((items.iter().filter_map(|item| Pointer::read(text(item, SK))).collect(), more))
    }

    /// The highest pointer of a slot (strongly consistent read). One round trip.
    pub async fn last_pointer(&self, slot: Slot) -> Result<Option<Pointer>, StoreError> {
        let answer = self
            .db
            .query()
            .table_name(self.tables.name(Table::Webhooks))
            .key_condition_expression("pk = :pk AND begins_with(sk, :pointers)")
            .expression_attribute_values(":pk", s(keys::slot(&slot)))
            .expression_attribute_values(":pointers", s(Pointer::PREFIX))
            .consistent_read(true)
            .scan_index_forward(false)
            .limit(1)
            .send()
            .await?;
        Ok(answer.items.unwrap_or_default().first().and_then(|item| Pointer::read(text(item, SK))))
    }

    /// The rows of a slot between two sort keys (strongly consistent read), and whether there may be more.
    pub(crate) async fn range(
        &self,
        slot: Slot,
        from: String,
        to: String,
        limit: usize,
    ) -> Result<(Vec<Item>, bool), StoreError> {
        let answer = self
            .db
            .query()
            .table_name(self.tables.name(Table::Webhooks))
            .key_condition_expression("pk = :pk AND sk BETWEEN :from AND :to")
            .expression_attribute_values(":pk", s(keys::slot(&slot)))
            .expression_attribute_values(":from", s(from))
            .expression_attribute_values(":to", s(to))
            .consistent_read(true)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await?;
        Ok((answer.items.unwrap_or_default(), answer.last_evaluated_key.is_some()))
    }

    /// The state of a slot's workspace, the endpoint with its secrets, these events, and the deliveries at these
    /// places. One round trip; more only while the tables leave some of the keys unprocessed.
    pub async fn visit_batch(
        &self,
        slot: Slot,
        events: &[EventId],
        homes: &[HomeKey],
    ) -> Result<VisitBatch, StoreError> {
        let Slot { workspace, endpoint, .. } = slot;
        let of_workspace = keys::workspace(workspace);
        let of_endpoint = keys::endpoint(workspace, endpoint);
        let (secrets_pk, secrets_sk) = keys::endpoint_secrets(workspace, endpoint);
        let mut wanted = vec![
            (Table::Workspaces, key(&of_workspace.0, of_workspace.1)),
            (Table::Workspaces, key(of_endpoint.0, of_endpoint.1)),
            (Table::Secrets, key(secrets_pk, secrets_sk)),
        ];
        let event = |event: &EventId| {
            let (pk, sk) = keys::event(workspace, *event);
            (Table::Webhooks, key(pk, sk))
        };
        wanted.extend(events.iter().map(event));
        let pk = keys::slot(&slot);
        wanted.extend(homes.iter().map(|home| (Table::Webhooks, key(&pk, home.sort_key()))));
        let mut batch = VisitBatch::default();
        for (table, item) in self.rows_of(wanted).await? {
            match table {
                Table::Workspaces if text(&item, PK) == of_workspace.0 => {
                    batch.workspace = Some(state_of(item)?);
                }
                Table::Workspaces => batch.endpoint = Some(read::<EndpointRow>(item)?.into()),
                Table::Secrets => batch.secrets = Some(read::<EndpointSecretsRow>(item)?.into()),
                _ if text(&item, PK) == pk => {
                    let home = delivery(slot, item)?;
                    batch.homes.insert(HomeKey::of(&home), home);
                }
                _ => {
                    let event = recorded(item)?;
                    batch.events.insert(event.id, event);
                }
            }
        }
        Ok(batch)
    }

    /// Records the outcomes of deliveries, with retries for at most `retry_for`. The lane's lease is the
    /// fence: no other process writes these rows. A repeat changes nothing. Home rows are written last, so a
    /// waiting delivery that is read has its pointer and every attempt that it counts. One round trip for
    /// each 25 rows, some at the same time; one more if deliveries wait, or were attempted before.
    pub async fn record_deliveries(
        &self,
        slot: Slot,
        records: &[Record],
        retry_for: Duration,
    ) -> Result<(), StoreError> {
        let (mut before, mut rows) = (vec![], vec![]);
        for Record { delivery, attempt, pointer } in records {
            rows.push(home_item(delivery)?);
            before.extend(pointer.map(|pointer| pointer_item(&slot, pointer, delivery.expires_at)));
            // The first attempt is in the home row.
            if let Some(attempt) = attempt.as_ref().filter(|attempt| attempt.number > 1) {
                before.push(attempt_item(delivery, attempt)?);
            }
        }
        for rows in [before, rows].map(without_repeats) {
            self.put_all(Table::Webhooks, &rows, retry_for).await.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// The due time of a webhook lane, if it is due at all: for tests and operators. One round trip.
    pub async fn webhook_lane_due(&self, slot: Slot) -> Result<Option<Timestamp>, StoreError> {
        let (table, pk, sk) = keys::lane(&LaneId::Webhook(slot));
        let item = self.get_item(table, (pk, sk)).await?;
        Ok(item
            .and_then(|item| item.get("dueAt").map(crate::dynamodb::item::number))
            .map(Timestamp::from_millis))
    }
}
