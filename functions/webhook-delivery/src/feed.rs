//! What a visit reads: pages of deliveries from the three ranges of its lane, with everything that their posts need.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::{Delivery, EndpointSecrets, EventId, Slot, Timestamp, WebhookEndpoint, WorkspaceState};
use store::{HomeKey, JobPage, LaneJob, Pointer, RecordedEvent, Store, StoreError, WebhookLane};

/// Where a delivery came from. It decides what is recorded when the delivery is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// It has not been attempted yet.
    Fresh,
    /// It waited for a retry, and this pointer led to it.
    Waited(Pointer),
    /// A job asks for it.
    Job,
}

/// The range to read next, and where to start in it.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Fresh(Option<HomeKey>),
    Waiting(Option<Pointer>),
    Job(Box<LaneJob>, Box<WebhookLane>),
}

/// What the posts of a page need.
#[derive(Debug, Default)]
pub(crate) struct Needed {
    pub(crate) workspace: Option<WorkspaceState>,
    pub(crate) endpoint: Option<WebhookEndpoint>,
    pub(crate) secrets: Option<EndpointSecrets>,
    pub(crate) events: HashMap<EventId, RecordedEvent>,
}

/// A page of one range.
#[derive(Debug)]
pub(crate) struct Page {
    /// The range that was read.
    pub(crate) read: Read,
    /// The current deliveries, each with the pointer that led to it.
    pub(crate) deliveries: Vec<(Delivery, Option<Pointer>)>,
    /// Pointers to deliveries that no longer exist, and the last pointer of the page if more may follow.
    pub(crate) stale: Vec<Pointer>,
    /// Whether more may follow.
    pub(crate) more: bool,
    /// The place from which more fresh deliveries may follow.
    pub(crate) fresh_from: Option<HomeKey>,
    /// When the next pointer is due, if the page contains the last one that is due now.
    pub(crate) next_wait: Option<Timestamp>,
    /// The page of the job, if a job was read.
    pub(crate) of_job: Option<JobPage>,
    /// What the posts need; `None` if the page is empty.
    pub(crate) needed: Option<Arc<Needed>>,
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
    let mut page = Page {
        read: read.clone(),
        deliveries: vec![],
        stale: vec![],
        more: false,
        fresh_from: None,
        next_wait: None,
        of_job: None,
        needed: None,
    };
    let mut pointers = vec![];
    let mut places = vec![];
    match &read {
        Read::Fresh(from) => {
            let (deliveries, next) = store.fresh_deliveries(slot, *from, limit).await?;
            (page.more, page.fresh_from) = (next.is_some(), next);
            page.deliveries = deliveries.into_iter().map(|delivery| (delivery, None)).collect();
        }
        Read::Waiting(behind) => {
            // Each pointer needs two rows of the batch read: the home row of its delivery and its event.
            let (mut found, last) = store.waiting_deliveries(slot, *behind, limit.min(MOST / 2)).await?;
            let is_due = |pointer: &Pointer| pointer.not_before <= now;
            page.next_wait = found.iter().chain(&last).map(|pointer| pointer.not_before).find(|at| *at > now);
            found.retain(is_due);
            pointers = found;
            // The last pointer that was read may have expired. The next page begins after it all the same.
            let last = last.filter(is_due);
            page.more = last.is_some();
            page.stale.extend(last);
        }
        Read::Job(job, lane) => {
            let found = store.job_page(job, lane, limit.min(MOST / 2)).await?;
            page.deliveries = found.deliveries.iter().cloned().map(|delivery| (delivery, None)).collect();
            pointers = found.pointers.clone();
            places = found.places.clone();
            page.more = !found.is_last;
            page.of_job = Some(found);
        }
    }
    add_needed(store, slot, page, pointers, places).await
}

/// Adds what the posts of the page need, and the deliveries of these pointers and places.
async fn add_needed(
    store: &Store,
    slot: Slot,
    mut page: Page,
    pointers: Vec<Pointer>,
    places: Vec<HomeKey>,
) -> Result<Page, StoreError> {
    let mut events: BTreeSet<EventId> = page.deliveries.iter().map(|(delivery, _)| delivery.event).collect();
    let homes: BTreeSet<HomeKey> =
        pointers.iter().map(|pointer| pointer.home).chain(places.iter().copied()).collect();
    events.extend(homes.iter().map(|home| home.event));
    if events.is_empty() {
        return Ok(page);
    }
    let events: Vec<EventId> = events.into_iter().collect();
    let homes: Vec<HomeKey> = homes.into_iter().collect();
    let batch = store.visit_batch(slot, &events, &homes).await?;
    // Several pointers may lead to the same delivery.
    let mut named: BTreeSet<HomeKey> = places.into_iter().collect();
    for pointer in pointers {
        match batch.homes.get(&pointer.home) {
            Some(home) => page.deliveries.push((home.clone(), Some(pointer))),
            None => page.stale.push(pointer),
        }
        named.remove(&pointer.home);
    }
    let named = named.iter().filter_map(|place| batch.homes.get(place));
    page.deliveries.extend(named.map(|home| (home.clone(), None)));
    page.needed = Some(Arc::new(Needed {
        workspace: batch.workspace,
        endpoint: batch.endpoint,
        secrets: batch.secrets,
        events: batch.events,
    }));
    Ok(page)
}
