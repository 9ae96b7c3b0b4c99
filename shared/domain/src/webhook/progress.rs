//! How far a visit of a webhook lane has come.
//!
//! A lane finds its deliveries in two ranges of rows. A **home row** is a delivery; the home rows from `base` on are
//! fresh, which means that nobody has attempted them. A **pointer** leads to a delivery that waits for a retry; the
//! pointers after `waited` are not processed. A visit takes deliveries from both, page by page, and finishes them in
//! any order, while it reads further pages. [`LaneProgress`] knows which deliveries are unfinished, so the
//! [`Watermarks`] that the lane keeps never pass one of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::Timestamp;
use crate::webhook::delivery::{Delivery, DeliveryState};
use crate::webhook::keys::{HomeKey, Pointer};

/// Up to where a lane is processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watermarks {
    /// Every home row before this place was processed: attempted, or given a pointer.
    pub base: Option<HomeKey>,
    /// Every pointer up to this one was processed.
    pub waited: Option<Pointer>,
    /// The highest pointer that was ever written: nothing waits after it.
    pub last_wait: Option<Pointer>,
}

impl Watermarks {
    /// Whether a delivery waits for a later attempt.
    pub fn is_waiting(&self) -> bool {
        self.last_wait > self.waited
    }

    /// A new pointer for a delivery that is not attempted before `not_before`. It is always after `waited`: the clock
    /// of the visitor that read those pointers may be ahead of this visitor's clock, and nobody reads them again.
    pub fn add_pointer(&mut self, home: HomeKey, not_before: Timestamp) -> Pointer {
        let least = self.waited.map(|waited| Timestamp::from_millis(waited.not_before.as_millis() + 1));
        let pointer = Pointer { not_before: least.map_or(not_before, |least| not_before.max(least)), home };
        self.last_wait = self.last_wait.max(Some(pointer));
        pointer
    }
}

/// A range of a lane's rows, and where its next page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPage {
    /// The pointers after this one.
    Waiting(Option<Pointer>),
    /// The home rows from this place on.
    Fresh(Option<HomeKey>),
}

/// How a visit found a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Found {
    Fresh,
    Through(Pointer),
    /// By the rows of a job; with the pointer that leads back to it, if there is one.
    ForJob(Option<Pointer>),
}

/// The progress of a visit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneProgress {
    /// Up to where the visit has read.
    read_to: Watermarks,
    fresh_is_read: bool,
    waiting_is_read: bool,
    /// When the first pointer is due that was not due when the visit read it.
    next_due: Option<Timestamp>,
    /// The deliveries that the visit took and whose outcome is not recorded yet.
    in_work: BTreeMap<HomeKey, Found>,
    /// The deliveries that were recorded since the last read began. Its page may show their earlier state.
    recorded: BTreeSet<HomeKey>,
    /// The pointers that the next visit reads, again or for the first time.
    left: BTreeSet<Pointer>,
}

impl LaneProgress {
    /// A visit that begins at these watermarks.
    pub fn new(from: Watermarks) -> Self {
        Self {
            read_to: from,
            fresh_is_read: false,
            waiting_is_read: !from.is_waiting(),
            next_due: None,
            in_work: BTreeMap::new(),
            recorded: BTreeSet::new(),
            left: BTreeSet::new(),
        }
    }

    /// Begins to read the next page; `None` if both ranges were read to their ends. Deliveries that wait come first,
    /// because they are older.
    pub fn begin_read(&mut self) -> Option<NextPage> {
        self.recorded.clear();
        match (self.waiting_is_read, self.fresh_is_read) {
            (false, _) => Some(NextPage::Waiting(self.read_to.waited)),
            (true, false) => Some(NextPage::Fresh(self.read_to.base)),
            (true, true) => None,
        }
    }

    /// Reads both ranges further, because rows may have been added after their ends were read, and pointers may be due
    /// that were not.
    pub fn look_again(&mut self, now: Timestamp) {
        debug_assert!(self.is_read());
        let is_due = |not_before: Timestamp| not_before <= now;
        let is_unread =
            |pointer: &Pointer| Some(*pointer) > self.read_to.waited && is_due(pointer.not_before);
        self.fresh_is_read = false;
        self.waiting_is_read = !self.next_due.is_some_and(is_due) && !self.left.iter().any(is_unread);
    }

    /// Takes the next page of home rows, and returns the deliveries to process. `next` is the place from which there
    /// may be more; the rows between the page and that place have expired.
    pub fn take_fresh<'p>(&mut self, page: &'p [Delivery], next: Option<HomeKey>) -> Vec<&'p Delivery> {
        debug_assert!(page.first().map(HomeKey::of).is_none_or(|first| Some(first) >= self.read_to.base));
        debug_assert!(page.is_sorted_by_key(HomeKey::of));
        self.fresh_is_read = next.is_none();
        let read_to = next.or(page.last().map(|last| HomeKey::of(last).next()));
        self.read_to.base = read_to.or(self.read_to.base);
        let mut taken = vec![];
        for delivery in page {
            if delivery.is_fresh() {
                let was_in_work = self.in_work.insert(HomeKey::of(delivery), Found::Fresh).is_some();
                debug_assert!(!was_in_work, "a home row is fresh in one page only");
                taken.push(delivery);
            }
        }
        taken
    }

    /// Takes the next page of due pointers, each with its delivery if that exists, and returns the deliveries to
    /// process. If more pointers may be due, `last` is the last one that was read, also if it has expired. `next_due`
    /// is the moment of the first pointer that is not due yet.
    pub fn take_waiting<'p>(
        &mut self,
        page: &'p [(Pointer, Option<Delivery>)],
        last: Option<Pointer>,
        next_due: Option<Timestamp>,
    ) -> Vec<&'p Delivery> {
        debug_assert!(page.first().is_none_or(|(first, _)| Some(*first) > self.read_to.waited));
        debug_assert!(page.is_sorted_by_key(|(pointer, _)| *pointer));
        self.waiting_is_read = last.is_none();
        self.next_due = next_due;
        self.read_to.waited = last.or(page.last().map(|(last, _)| *last)).or(self.read_to.waited);
        let mut taken = vec![];
        for (pointer, delivery) in page {
            self.left.remove(pointer);
            let Some(delivery) = delivery else { continue };
            if self.may_be_outdated(pointer.home) {
                // Only the recorded row shows whether its delivery still waits for this moment.
                self.left.insert(*pointer);
            } else if delivery.state == DeliveryState::Pending && delivery.next_at == Some(pointer.not_before)
            {
                self.in_work.insert(pointer.home, Found::Through(*pointer));
                taken.push(delivery);
            }
        }
        taken
    }

    /// Takes a delivery that a job asks for. Returns `false` if this visit attempts it anyway, or has just attempted it.
    pub fn take_for_job(&mut self, home: HomeKey) -> bool {
        let is_taken = !self.may_be_outdated(home);
        if is_taken {
            self.in_work.insert(home, Found::ForJob(None));
        }
        is_taken
    }

    /// Whether a delivery is in work for a job.
    pub fn is_for_job(&self, home: HomeKey) -> bool {
        matches!(self.in_work.get(&home), Some(Found::ForJob(_)))
    }

    /// Whether the outcome of every delivery that was taken for a job is recorded.
    pub fn job_is_recorded(&self) -> bool {
        !self.in_work.values().any(|found| matches!(found, Found::ForJob(_)))
    }

    /// Whether a page may show an earlier state of a delivery. The visit then does not post it again.
    fn may_be_outdated(&self, home: HomeKey) -> bool {
        self.in_work.contains_key(&home) || self.recorded.contains(&home)
    }

    /// A new pointer, for a delivery that waits from now on.
    pub fn add_pointer(&mut self, home: HomeKey, not_before: Timestamp) -> Pointer {
        let pointer = self.read_to.add_pointer(home, not_before);
        self.left.insert(pointer);
        pointer
    }

    /// A new pointer that leads to a delivery while it is posted, if only a job led to it so far.
    pub fn lead_back(&mut self, home: HomeKey, now: Timestamp) -> Pointer {
        debug_assert_eq!(self.in_work.get(&home), Some(&Found::ForJob(None)));
        let pointer = self.read_to.add_pointer(home, now);
        self.in_work.insert(home, Found::ForJob(Some(pointer)));
        pointer
    }

    /// Notes that the outcome of a delivery is recorded: the visit is done with it.
    pub fn recorded(&mut self, home: HomeKey) {
        let was_in_work = self.in_work.remove(&home).is_some();
        debug_assert!(
            was_in_work,
            "a delivery was recorded that the visit did not take, or that it had recorded"
        );
        self.recorded.insert(home);
    }

    /// Whether both ranges were read to their ends.
    pub fn is_read(&self) -> bool {
        self.waiting_is_read && self.fresh_is_read
    }

    /// Whether nothing is left to do before [`LaneProgress::next_wait`].
    pub fn is_done(&self) -> bool {
        self.in_work.is_empty() && self.is_read()
    }

    /// When the next delivery is due that waits.
    pub fn next_wait(&self) -> Option<Timestamp> {
        self.left.first().map(|pointer| pointer.not_before).into_iter().chain(self.next_due).min()
    }

    /// The watermarks at the end of the visit.
    pub fn watermarks(&self) -> Watermarks {
        let fresh = self.in_work.iter().find(|(_, found)| **found == Found::Fresh).map(|(home, _)| *home);
        let waiting = self.in_work.values().filter_map(|found| match found {
            Found::Through(pointer) | Found::ForJob(Some(pointer)) => Some(pointer),
            Found::Fresh | Found::ForJob(None) => None,
        });
        let before_left = waiting.chain(&self.left).min().map(|pointer| pointer.previous());
        Watermarks {
            base: fresh.or(self.read_to.base),
            waited: before_left.map_or(self.read_to.waited, |before| self.read_to.waited.min(Some(before))),
            last_wait: self.read_to.last_wait,
        }
    }
}

#[cfg(test)]
mod tests;
