//! Jobs of a slot: operators request them, and the visits of its lane execute them, page by page.

use std::time::Duration;

use domain::{
    AuditAction, Author, Delivery, EventId, HomeKey, Job, JobId, JobKind, JobState, Pointer, Slot, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::events::{NotifyResult, lane_change, lane_change_unseen};
use super::lane::{SortKey, WebhookLane};
use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{Item, SK, key, n, read, row, s, text};
use crate::dynamodb::read::Query;
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{LAST_REQUEST, Write, Wrote, is_written_by};
use crate::{Store, StoreError, Table, keys};

/// A job with its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneJob {
    /// The job with its state and counts.
    pub job: Job,
    /// The sort key of the last row that was processed.
    position: Option<String>,
}

/// A page of the deliveries of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPage {
    /// Deliveries as they were read.
    pub deliveries: Vec<Delivery>,
    /// Pointers to deliveries that are still to be read.
    pub pointers: Vec<Pointer>,
    /// Places of deliveries that are still to be read.
    pub places: Vec<HomeKey>,
    /// Whether this is the last page.
    pub is_last: bool,
    position: Option<String>,
}

/// How long the row of a job is kept after the request.
const KEPT: Duration = Duration::from_secs(30 * 86_400);
/// Whether there is no job with this key: `:seconds` is the current time. DynamoDB deletes expired rows late.
const IS_FREE: &str = "attribute_not_exists(pk) OR expiresAt < :seconds";
/// Whether a job may change to `:state`. A repeat of a write whose answer was lost finds its own change.
const IS_ACTIVE_OR_SO: &str = "(#state = :active OR (#state = :state AND #updatedAt = :updatedAt))";

impl Store {
    /// Requests a job and notifies its lane to process it at once. If there is a job with this id, it stays as
    /// it is; but a [`JobKind::Retry`] or [`JobKind::Recover`] that has ended starts again if the new request
    /// is later. A new job can have an entry of the audit log: its action, the id of what is changed, and who asks. Returns
    /// whether the job is new, and the result of notifying the lane. Two round trips.
    pub async fn request_job(
        &self,
        job: &Job,
        rescue: Duration,
        entry: Option<(AuditAction, &str, &Author)>,
    ) -> Result<(bool, NotifyResult), StoreError> {
        let now = self.now();
        let request = self.ids.next().to_string();
        let mut item = job_row(job)?;
        item.insert(LAST_REQUEST.to_owned(), s(&request));
        let put = Write::put(Table::Webhooks, item).bind(":seconds", n(now.as_seconds()));
        let put = match job.kind {
            JobKind::Enable | JobKind::Replay { .. } => put.when(IS_FREE),
            JobKind::Retry { .. } | JobKind::Recover { .. } => put
                .when(format!("{IS_FREE} OR (#state <> :active AND createdAt < :createdAt)"))
                .name("#state", "state")
                .bind(":active", s(JobState::Active.as_str()))
                .bind(":createdAt", n(job.created_at.as_millis())),
        };
        let is_new = match entry {
            Some((action, subject, by)) => {
                self.all_or_none([put, self.audit(by, job.slot.workspace, action, subject, &[])?]).await?
            }
            None => match self.write(put).await? {
                Wrote::Done(_) => true,
                Wrote::Refused(found) => found.is_some_and(|found| is_written_by(&found, &request)),
            },
        };
        // The lane is notified after the job is stored, also if an interrupted command is repeated.
        let due_at = now.plus(rescue);
        let change =
            lane_change(job.slot, due_at).set("hasJobs", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
        let notified = match self
            .write(change.of(Table::Webhooks, key(keys::webhook_lane(&job.slot))).returning_new())
            .await?
        {
            Wrote::Done(item) => item,
            Wrote::Refused(_) => return Ok((is_new, NotifyResult { wake: None })),
        };
        // Also if the endpoint's circuit is open.
        Ok((is_new, self.after_notify(job.slot, notified, due_at).await?))
    }

    /// Part of the transaction of a change that requests a job: the row of a new job, and the change that notifies its lane. The
    /// sweeper looks at the lane after `rescue`, whenever the lane was due before. 4 write units.
    pub(crate) fn new_job_writes(&self, job: &Job, rescue: Duration) -> Result<[Write; 2], StoreError> {
        let now = self.now();
        let put = Write::put(Table::Webhooks, job_row(job)?).when(IS_FREE);
        let lane = lane_change_unseen(job.slot, now.plus(rescue))
            .set("hasJobs", aws_sdk_dynamodb::types::AttributeValue::Bool(true));
        let lane = lane.of(Table::Webhooks, key(keys::webhook_lane(&job.slot)));
        Ok([put.bind(":seconds", n(now.as_seconds())), lane])
    }

    /// The jobs of a slot that are kept, oldest first. One round trip for each megabyte.
    pub async fn jobs(&self, slot: Slot) -> Result<Vec<LaneJob>, StoreError> {
        let query = Query::of(Table::Webhooks, keys::slot(&slot)).begins_with(keys::JOBS);
        let rows = self.query_all(query).await?.into_iter();
        let mut jobs = rows.map(|item| lane_job(slot, item)).collect::<Result<Vec<_>, _>>()?;
        jobs.sort_by_key(|of: &LaneJob| (of.job.created_at, of.job.id));
        Ok(jobs)
    }

    /// A job of a slot, if it is kept. One round trip.
    pub async fn job(&self, slot: Slot, id: JobId) -> Result<Option<LaneJob>, StoreError> {
        let item = self.get_item(Table::Webhooks, (keys::slot(&slot), keys::job(id))).await?;
        item.map(|item| lane_job(slot, item)).transpose()
    }

    /// The next page of a job's deliveries, about `limit` rows. One round trip.
    pub async fn job_page(
        &self,
        of: &LaneJob,
        lane: &WebhookLane,
        limit: usize,
    ) -> Result<JobPage, StoreError> {
        let slot = of.job.slot;
        let behind = |first: String| of.position.as_ref().map_or(first, |position| format!("{position}~"));
        let place = |at: Timestamp, event: EventId| HomeKey { at, event };
        let (from, to) = match of.job.kind {
            JobKind::Retry { event, at } => {
                let places = vec![place(at, event)];
                return Ok(JobPage { places, is_last: true, ..JobPage::default() });
            }
            JobKind::Enable => {
                let behind_waited =
                    lane.watermarks.waited.map_or(Pointer::PREFIX.to_owned(), |at| at.sort_key() + "~");
                (behind(behind_waited), format!("{}~", Pointer::PREFIX))
            }
            JobKind::Replay { since, until } => (
                behind(HomeKey::of_moment(since).sort_key()),
                // The first place of a moment has the nil id, and no row has that place.
                HomeKey::of_moment(until).sort_key(),
            ),
            JobKind::Recover { since } => {
                (behind(HomeKey::of_moment(since).sort_key()), format!("{}~", HomeKey::PREFIX))
            }
        };
        if from > to {
            return Ok(JobPage { is_last: true, ..JobPage::default() });
        }
        let rows = Query::of(Table::Webhooks, keys::slot(&slot)).between(from, to).limit(limit);
        let found = self.query(rows).await?;
        let position = found.next.as_ref().map(|last| text(last, SK).to_owned());
        let mut page = JobPage { is_last: found.next.is_none(), position, ..JobPage::default() };
        for item in found.items {
            match Pointer::read(text(&item, SK)) {
                Some(pointer) => page.pointers.push(pointer),
                None => page.deliveries.push(super::rows::delivery(slot, item)?),
            }
        }
        Ok(page)
    }

    /// Records the progress of a job after all of a page is recorded. Returns `None` if the job was
    /// cancelled. One round trip.
    pub async fn advance_job(
        &self,
        of: &LaneJob,
        page: &JobPage,
        progress: &Job,
    ) -> Result<Option<LaneJob>, StoreError> {
        let state = if page.is_last { JobState::Done } else { JobState::Active };
        let now = self.now();
        let mut next = LaneJob { job: Job { state, updated_at: now, ..progress.clone() }, ..of.clone() };
        next.position = page.position.clone().or(next.position);
        let change = RowUpdate::default()
            .set("state", s(state.as_str()))
            .set("attempted", n(progress.attempted))
            .set("delivered", n(progress.delivered))
            .set("passed", n(progress.passed))
            .set("updatedAt", n(now.as_millis()))
            .set_or_remove("position", next.position.clone().map(s))
            .when(IS_ACTIVE_OR_SO)
            .bind(":active", s(JobState::Active.as_str()));
        match self.write(of.change(change)).await? {
            Wrote::Done(_) => Ok(Some(next)),
            Wrote::Refused(_) => Ok(None),
        }
    }

    /// Cancels the rest of a job in these slots, in which it is active, with an entry of the audit log. Returns `false` if it is no
    /// longer active in one of them. One round trip.
    pub async fn cancel_job(&self, rows: &[&LaneJob], by: &Author) -> Result<bool, StoreError> {
        let Some(LaneJob { job, .. }) = rows.first() else { return Ok(true) };
        let entry = self.audit(by, job.slot.workspace, AuditAction::WebhookJobCancel, job.id, &[])?;
        let cancel = |of: &&LaneJob| {
            let change = RowUpdate::default()
                .set("state", s(JobState::Cancelled.as_str()))
                .set("updatedAt", n(self.now().as_millis()))
                .when("#state = :active")
                .bind(":active", s(JobState::Active.as_str()));
            of.change(change)
        };
        self.all_or_none(rows.iter().map(cancel).chain([entry])).await
    }
}

impl LaneJob {
    /// A change of the row, under the condition that it is of this job and not of a later request for it.
    fn change(&self, change: RowUpdate) -> Write {
        let change = change
            .when("#createdAt = :createdAt")
            .name("createdAt")
            .bind(":createdAt", n(self.job.created_at.as_millis()));
        change.of(Table::Webhooks, key((keys::slot(&self.job.slot), keys::job(self.job.id))))
    }
}

/// `W#E#<endpoint>#<slot>` / `J#<job>`. It has `position` after a page was executed.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Job", rename_all = "camelCase")]
struct JobRow {
    #[serde(rename = "jobId", with = "fields::text")]
    id: JobId,
    #[serde(skip, default = "OfKey::placeholder")]
    slot: Slot,
    #[serde(rename = "askedFor", with = "KindField")]
    kind: JobKind,
    #[serde(with = "fields::text")]
    state: JobState,
    #[serde(with = "fields::millis")]
    created_at: Timestamp,
    #[serde(with = "fields::millis")]
    updated_at: Timestamp,
    attempted: u64,
    delivered: u64,
    passed: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "JobKind", tag = "what", rename_all = "SCREAMING_SNAKE_CASE")]
enum KindField {
    Enable,
    Retry {
        #[serde(with = "fields::text")]
        event: EventId,
        #[serde(with = "fields::millis")]
        at: Timestamp,
    },
    Replay {
        #[serde(with = "fields::millis")]
        since: Timestamp,
        #[serde(with = "fields::millis")]
        until: Timestamp,
    },
    Recover {
        #[serde(with = "fields::millis")]
        since: Timestamp,
    },
}

stored! { Job = JobRow }

fn job_row(job: &Job) -> Result<Item, StoreError> {
    let mut item = row((keys::slot(&job.slot), keys::job(job.id)), "job", job)?;
    item.insert("expiresAt".to_owned(), n(job.created_at.plus(KEPT).as_seconds()));
    Ok(item)
}

fn lane_job(slot: Slot, item: Item) -> Result<LaneJob, StoreError> {
    let position = item.get("position").and_then(|position| position.as_s().ok()).cloned();
    Ok(LaneJob { job: Job { slot, ..read(item)? }, position })
}
