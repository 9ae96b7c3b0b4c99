//! The events about a contact, a conversation or a lead, so that an erasure finds them, and the marks of
//! erased subjects, so that the relay records no data of them later.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Event, EventId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::events::{EventAbout, EventRow, recorded};
use super::lane::HomeKey;
use crate::dynamodb::item::{Item, PK, SK, key, read, row, text};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

/// How long the mark of an erased subject is kept. It outlasts the records of the failure bucket, which are kept
/// for 90 days.
const MARK_KEPT: Duration = Duration::from_secs(100 * 86_400);

impl Store {
    /// Which of these subjects are erased, with the moment before which their events show nothing (strongly
    /// consistent read). One round trip.
    pub async fn erased_subjects(
        &self,
        subjects: &[(WorkspaceId, Uuid)],
    ) -> Result<HashMap<(WorkspaceId, Uuid), Timestamp>, StoreError> {
        let subjects: BTreeSet<&(WorkspaceId, Uuid)> = subjects.iter().collect();
        let mut by_key: HashMap<String, (WorkspaceId, Uuid)> = HashMap::new();
        let mut wanted = vec![];
        for (workspace, subject) in subjects {
            let (pk, sk) = keys::erased_mark(*workspace, subject);
            wanted.push(key(&pk, sk));
            by_key.insert(pk, (*workspace, *subject));
        }
        let mut erased = HashMap::new();
        for item in self.batch_items(Table::Webhooks, wanted).await? {
            let subject = by_key.get(text(&item, PK)).copied();
            let mark: MarkRow = read(item)?;
            erased.extend(subject.map(|subject| (subject, Timestamp::from_millis(mark.before))));
        }
        Ok(erased)
    }

    /// Marks a subject as erased: the relay records nothing of its events from before a moment. One round
    /// trip.
    pub async fn mark_erased(
        &self,
        workspace: WorkspaceId,
        subject: &Uuid,
        before: Timestamp,
    ) -> Result<(), StoreError> {
        let (pk, sk) = keys::erased_mark(workspace, subject);
        let expires_at = self.now().plus(MARK_KEPT).as_seconds();
        let row = row(pk, sk, "erased", &MarkRow { before: before.as_millis(), expires_at })?;
        self.write(Write::put(Table::Webhooks, row)).await?;
        Ok(())
    }

    /// The events about a subject that are still recorded or may be in a moment; `None` for the latter. One
    /// round trip for each megabyte, and one for every hundred events.
    pub async fn events_about(
        &self,
        workspace: WorkspaceId,
        subject: &Uuid,
    ) -> Result<Vec<(EventId, Option<EventAbout>)>, StoreError> {
        let named = self.partition_items(Table::Webhooks, keys::events_about(workspace, subject)).await?;
        let event = |item: &Item| EventId::parse(text(item, SK).strip_prefix(keys::ABOUT)?).ok();
        let events: Vec<EventId> = named.iter().filter_map(event).collect();
        let wanted = events.iter().map(|event| {
            let (pk, sk) = keys::event(workspace, *event);
            key(pk, sk)
        });
        let rows = self.batch_items(Table::Webhooks, wanted.collect()).await?;
        let mut found = HashMap::new();
        for item in rows {
            let row: EventRow = read(item)?;
            found.insert(row.event_id, row.about());
        }
        Ok(events.into_iter().map(|event| (event, found.remove(&event))).collect())
    }

    /// Replaces the body of an event, and removes what receivers answered to its deliveries. Three round
    /// trips, and one for each attempt after the first.
    pub async fn redact_event(&self, event: &Event, body: &[u8]) -> Result<(), StoreError> {
        let (pk, sk) = keys::event(event.workspace_id, event.id);
        let redacted = Write::update(Table::Webhooks, key(&pk, sk), "SET body = :body")
            .when("attribute_exists(pk)")
            .bind(":body", AttributeValue::B(Blob::new(body)))
            .returning_new();
        // The event may have expired since it was read. Then its deliveries expire too.
        let Wrote::Done(item) = self.write(redacted).await? else { return Ok(()) };
        for slot in recorded(item)?.slots {
            let place = HomeKey { at: event.at, event: event.id };
            let home = key(keys::slot(&slot), place.sort_key());
            let answer = Write::update(Table::Webhooks, home, "REMOVE #first.#answer")
                .when("attribute_exists(#first.#answer)")
                .name("#first", "first")
                .name("#answer", "answer");
            self.write(answer).await?;
            let prefix = keys::attempts(event.id);
            for item in self.range(slot, prefix.clone(), prefix + "~", 1_000).await?.0 {
                let attempt = key(text(&item, PK), text(&item, SK));
                let answer = Write::update(Table::Webhooks, attempt, "REMOVE #answer")
                    .when("attribute_exists(#answer)")
                    .name("#answer", "answer");
                self.write(answer).await?;
            }
        }
        Ok(())
    }

    /// Deletes the row by which an erasure found an event. One round trip.
    pub async fn forget_event_about(
        &self,
        workspace: WorkspaceId,
        subject: &Uuid,
        event: EventId,
    ) -> Result<(), StoreError> {
        let found = key(keys::events_about(workspace, subject), keys::about(event));
        self.write(Write::delete(Table::Webhooks, found)).await?;
        Ok(())
    }
}

/// `W#S#<subject>` / `E`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkRow {
    /// Milliseconds since 1970.
    before: i64,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}
