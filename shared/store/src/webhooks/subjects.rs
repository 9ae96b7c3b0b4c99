//! The events about a contact, a conversation or a lead, so that an erasure finds them, and the marks of
//! erased subjects, so that the relay records no data of them later.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{ContactId, Delivery, Event, HomeKey, Retention, Slot, Timestamp, WebhookEndpoint, WorkspaceId};
use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::events::{EventAbout, about, recorded};
use super::lane::SortKey;
use super::lists::DeliveryFilter;
use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{PK, key, key_of, read, row, text};
use crate::dynamodb::read::{MAX_KEYS, Place, Query};
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
            wanted.push(Place::of(Table::Webhooks, (pk.clone(), sk)));
            by_key.insert(pk, (*workspace, *subject));
        }
        let mut erased = HashMap::new();
        for item in self.rows_at(&wanted).await?.into_items() {
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
        let key = keys::erased_mark(workspace, subject);
        let expires_at = self.now().plus(MARK_KEPT).as_seconds();
        let row = row(key, "erased", &MarkRow { before: before.as_millis(), expires_at })?;
        self.write(Write::put(Table::Webhooks, row)).await?;
        Ok(())
    }

    /// The recorded events about these subjects, and those that name one of these contacts, because their own
    /// subject (a lead, a conversation) may have expired; by subject. It reads all deliveries that the workspace
    /// still has, and their events: about two round trips for each hundred, several slots at the same time.
    pub async fn events_about(
        &self,
        workspace: WorkspaceId,
        subjects: &BTreeSet<Uuid>,
        contacts: &BTreeSet<ContactId>,
    ) -> Result<BTreeMap<Uuid, Vec<EventAbout>>, StoreError> {
        let contacts: Vec<String> = contacts.iter().map(ToString::to_string).collect();
        let is_wanted = |subject: &Uuid, event: &EventAbout| {
            let names_one = || {
                let body = String::from_utf8_lossy(&event.body);
                contacts.iter().any(|contact| body.contains(contact))
            };
            subjects.contains(subject) || names_one()
        };
        let endpoints = self.endpoints(workspace).await?;
        let deleted =
            self.endpoints_deleted_since(workspace, self.now().minus(Retention::LONGEST_EVENTS)).await?;
        let slots: BTreeSet<Slot> =
            endpoints.iter().flat_map(WebhookEndpoint::all_slots).chain(deleted).collect();
        let found = slots.into_iter().map(|slot| self.events_of_slot(slot, &is_wanted));
        let found: Vec<_> = futures::stream::iter(found).buffered(Self::SLOTS_AT_ONCE).try_collect().await?;
        let mut about: BTreeMap<Uuid, Vec<EventAbout>> = BTreeMap::new();
        let mut known = BTreeSet::new();
        for (subject, event) in found.into_iter().flatten() {
            // An event has a delivery in a slot of each of its endpoints.
            if known.insert(event.event.id) {
                about.entry(subject).or_default().push(event);
            }
        }
        Ok(about)
    }

    /// How many slots [`Store::events_about`] reads at the same time.
    const SLOTS_AT_ONCE: usize = 16;

    async fn events_of_slot(
        &self,
        slot: Slot,
        is_wanted: &impl Fn(&Uuid, &EventAbout) -> bool,
    ) -> Result<Vec<(Uuid, EventAbout)>, StoreError> {
        let all = DeliveryFilter {
            since: Timestamp::from_millis(0),
            until: Timestamp::from_millis(i64::MAX),
            states: &[],
            event_type: None,
        };
        let (mut found, mut before) = (vec![], None);
        loop {
            let page = self.deliveries_by(slot, all, MAX_KEYS, before, Query::with_expired).await?;
            let place = |of: &Delivery| Place::of(Table::Webhooks, keys::event(slot.workspace, of.event));
            let places: Vec<Place> = page.deliveries.iter().map(place).collect();
            for item in self.rows_and_expired_at(&places).await?.into_items() {
                found.extend(about(item)?.filter(|(subject, event)| is_wanted(subject, event)));
            }
            before = page.next;
            if before.is_none() {
                return Ok(found);
            }
        }
    }

    /// Replaces the body of an event, and removes what receivers answered to its deliveries. `forgets` also removes
    /// its subject: then no other erasure finds it. Two or three round trips; two for each delivery, and one for each
    /// attempt after the first.
    pub async fn redact_event(&self, event: &Event, body: &[u8], forgets: bool) -> Result<(), StoreError> {
        let (pk, sk) = keys::event(event.workspace_id, event.id);
        let redacted = Write::update(Table::Webhooks, key((&pk, sk)), "SET body = :body")
            .when("attribute_exists(pk)")
            .bind(":body", AttributeValue::B(Blob::new(body)))
            .returning_new();
        // The event may have expired since it was read. Then its deliveries expire too.
        let Wrote::Done(item) = self.write(redacted).await? else { return Ok(()) };
        for slot in recorded(item)?.slots {
            let place = HomeKey { at: event.at, event: event.id };
            let home = key((keys::slot(&slot), place.sort_key()));
            let answer = Write::update(Table::Webhooks, home, "REMOVE #first.#answer")
                .when("attribute_exists(#first.#answer)")
                .name("#first", "first")
                .name("#answer", "answer");
            self.write(answer).await?;
            let attempts =
                Query::of(Table::Webhooks, keys::slot(&slot)).begins_with(keys::attempts(event.id));
            for item in self.query_all(attempts.with_expired()).await? {
                let attempt = key_of(&item);
                let answer = Write::update(Table::Webhooks, attempt, "REMOVE #answer")
                    .when("attribute_exists(#answer)")
                    .name("#answer", "answer");
                self.write(answer).await?;
            }
        }
        if forgets {
            let (pk, sk) = keys::event(event.workspace_id, event.id);
            let done = Write::update(Table::Webhooks, key((pk, sk)), "REMOVE about");
            self.write(done.when("attribute_exists(pk)")).await?;
        }
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

stored! { MarkRow }
