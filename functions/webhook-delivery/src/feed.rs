//! What a visit reads: pages of deliveries, with everything that their posts need.

use std::collections::BTreeSet;

use domain::webhook::NextPage;
use domain::{Delivery, EventId, HomeKey, Pointer, Slot, Timestamp};
use store::{JobPage, LaneJob, Store, StoreError, VisitBatch, WebhookLane};

/// What to read next.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Range(NextPage),
    Job(Box<LaneJob>, Box<WebhookLane>),
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) rows: Rows,
    /// What the posts need; `None` if the page is empty.
    pub(crate) needed: Option<VisitBatch>,
}

/// The current deliveries of a page.
#[derive(Debug)]
pub(crate) enum Rows {
    Fresh {
        rows: Vec<Delivery>,
        /// The place from which there may be more.
        next: Option<HomeKey>,
    },
    Waiting {
        /// The due pointers; those without a delivery are stale.
        due: Vec<(Pointer, Option<Delivery>)>,
        /// The last pointer that was read, also if it has expired, if more pointers may be due.
        last: Option<Pointer>,
        /// When the next pointer is due, if the page contains the last one that is due now.
        next_due: Option<Timestamp>,
    },
    Job(Box<LaneJob>, JobPage, Vec<Delivery>),
}

/// The maximum number of deliveries in a page. They fit into one batch read together with their workspace, endpoint,
/// secrets and events.
pub(crate) const MOST: usize = 90;

/// Reads a page of about `limit` deliveries: two round trips, or one if the page is empty.
pub(crate) async fn read_page(
    store: &Store,
    slot: Slot,
    read: Read,
    limit: usize,
    now: Timestamp,
) -> Result<Page, StoreError> {
    // A delivery that is only named needs two rows of the batch read: its home row and its event.
    let named_limit = limit.min(MOST / 2);
    match read {
        Read::Range(NextPage::Fresh(from)) => {
            let (rows, next) = store.fresh_deliveries(slot, from, limit).await?;
            let needed = read_needed(store, slot, &rows, BTreeSet::new()).await?;
            Ok(Page { rows: Rows::Fresh { rows, next }, needed })
        }
        Read::Range(NextPage::Waiting(behind)) => {
            let (mut found, last) = store.waiting_deliveries(slot, behind, named_limit).await?;
            let is_due = |pointer: &Pointer| pointer.not_before <= now;
            let next_due = found
                .iter()
                .chain(&last)
                .map(|pointer| pointer.not_before)
                .find(|not_before| *not_before > now);
            found.retain(is_due);
            let named = found.iter().map(|pointer| pointer.home).collect();
            let needed = read_needed(store, slot, &[], named).await?;
            let delivery = |pointer: &Pointer| needed.as_ref()?.homes.get(&pointer.home).cloned();
            let due = found.into_iter().map(|pointer| (pointer, delivery(&pointer))).collect();
            Ok(Page { rows: Rows::Waiting { due, last: last.filter(is_due), next_due }, needed })
        }
        Read::Job(job, lane) => {
            let mut page = store.job_page(&job, &lane, named_limit).await?;
            let mut deliveries = std::mem::take(&mut page.deliveries);
            let named = page.pointers.iter().map(|pointer| pointer.home).chain(page.places.iter().copied());
            let needed = read_needed(store, slot, &deliveries, named.clone().collect()).await?;
            let delivery = |home: HomeKey| needed.as_ref()?.homes.get(&home).cloned();
            deliveries.extend(named.filter_map(delivery));
            Ok(Page { rows: Rows::Job(job, page, deliveries), needed })
        }
    }
}

/// Reads what the posts of these deliveries need, and the deliveries that are only named.
async fn read_needed(
    store: &Store,
    slot: Slot,
    deliveries: &[Delivery],
    named: BTreeSet<HomeKey>,
) -> Result<Option<VisitBatch>, StoreError> {
    let read = deliveries.iter().map(|delivery| delivery.event);
    let events: BTreeSet<EventId> = read.chain(named.iter().map(|home| home.event)).collect();
    if events.is_empty() {
        return Ok(None);
    }
    let (events, named): (Vec<_>, Vec<_>) = (events.into_iter().collect(), named.into_iter().collect());
    store.visit_batch(slot, &events, &named).await.map(Some)
}
