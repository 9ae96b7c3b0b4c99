//! Visits whose steps happen in any order: rows are read, taken, handled and recorded while others are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::ids::{EndpointId, EventId, WorkspaceId};
use crate::lane::Slot;
use crate::webhook::event::EventType;

/// The number of rows in a page.
const PAGE: usize = 3;
/// The number of the delivery whose rows have expired, but are still in the table.
const EXPIRED: u8 = 5;

fn moment(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_767_323_000_000 + i64::try_from(millis).unwrap())
}

fn delivery(number: u8) -> Delivery {
    let slot = Slot {
        workspace: WorkspaceId::from_uuid(Uuid::from_u128(1)),
        endpoint: EndpointId::from_uuid(Uuid::from_u128(2)),
        number: 0,
    };
    let event = EventId::from_uuid(Uuid::from_u128(u128::from(number)));
    // Two events share a moment.
    let at = moment(u64::from(number / 2));
    Delivery::new(slot, event, EventType::ContactUpdated, at, at, Duration::from_secs(60))
}

/// A delivery as it is when it is handled, with its new pointer.
type Handled = (Delivery, Option<Pointer>);

/// A page that is being read: the keys are read before the deliveries.
enum Reading {
    Fresh(Vec<Delivery>, Option<HomeKey>),
    Keys(Vec<Pointer>, Option<Pointer>, Option<Timestamp>),
    Waiting(Vec<(Pointer, Option<Delivery>)>, Option<Pointer>, Option<Timestamp>),
    Job(Vec<Delivery>),
}

struct World {
    homes: BTreeMap<HomeKey, Delivery>,
    pointers: BTreeSet<Pointer>,
    now: u64,
    progress: LaneProgress,
    reading: Option<Reading>,
    taken: Vec<Delivery>,
    /// The deliveries of a job's page whose outcome is not recorded.
    of_job: BTreeSet<HomeKey>,
    handled: Vec<Handled>,
    recording: Vec<Handled>,
}

impl World {
    /// Deliveries by number: fresh, or waiting since the given moment, and a stale pointer for each that is odd.
    fn start(waits: &[Option<u8>]) -> Self {
        let (mut homes, mut pointers) = (BTreeMap::new(), BTreeSet::new());
        for (number, wait) in (0..).zip(waits) {
            let mut home = delivery(number);
            if let Some(wait) = wait {
                let not_before = moment(u64::from(*wait));
                home = home.waiting(not_before);
                pointers.insert(Pointer { not_before, home: HomeKey::of(&home) });
            }
            if number % 2 == 1 {
                pointers.insert(Pointer { not_before: moment(2), home: HomeKey::of(&home) });
            }
            homes.insert(HomeKey::of(&home), home);
        }
        let from = Watermarks { last_wait: pointers.last().copied(), ..Watermarks::default() };
        let progress = LaneProgress::new(from);
        let (taken, handled, recording) = (vec![], vec![], vec![]);
        let of_job = BTreeSet::new();
        Self { homes, pointers, now: 5, progress, reading: None, taken, of_job, handled, recording }
    }

    fn step(&mut self, step: u8, choice: u8) {
        match step {
            0 => self.read(),
            1 => self.take(),
            2 => self.handle(usize::from(choice)),
            3 => self.record(),
            4 if self.progress.is_read() && self.reading.is_none() => {
                self.progress.look_again(moment(self.now))
            }
            5 if self.progress.is_read() && self.reading.is_none() => self.read_job(choice),
            6 => self.record_event(choice),
            _ => self.now += u64::from(choice % 3),
        }
        self.nothing_is_lost();
        self.jobs_are_known();
    }

    /// Reads the keys of a page, or the deliveries of the keys.
    fn read(&mut self) {
        self.reading = match self.reading.take() {
            None => self.progress.begin_read().map(|next| match next {
                NextPage::Fresh(from) => {
                    let rows = self.homes.range(from.unwrap_or(HomeKey::of_moment(moment(0)))..);
                    let rows: Vec<Delivery> = rows.map(|(_, home)| home.clone()).take(PAGE).collect();
                    let next = rows.get(PAGE - 1).map(|last| HomeKey::of(last).next());
                    Reading::Fresh(Self::live(rows, HomeKey::of), next)
                }
                NextPage::Waiting(behind) => {
                    let rows = self.pointers.iter().copied().filter(|pointer| Some(*pointer) > behind);
                    let mut rows: Vec<Pointer> = rows.take(PAGE).collect();
                    let due = rows.partition_point(|pointer| pointer.not_before <= moment(self.now));
                    let next_due = rows.get(due).map(|pointer| pointer.not_before);
                    let last = rows.get(PAGE - 1).copied().filter(|_| next_due.is_none());
                    rows.truncate(due);
                    Reading::Keys(Self::live(rows, |pointer| pointer.home), last, next_due)
                }
            }),
            Some(Reading::Keys(keys, last, next_due)) => {
                let rows = keys.into_iter().map(|key| (key, self.homes.get(&key.home).cloned())).collect();
                Some(Reading::Waiting(rows, last, next_due))
            }
            read => read,
        };
    }

    /// Reads a page of a job, which asks for all deliveries from a place on that are not fresh.
    fn read_job(&mut self, choice: u8) {
        assert_eq!(self.progress.begin_read(), None);
        let from = HomeKey::of(&delivery(choice % 8));
        let rows = self.homes.range(from..).map(|(_, home)| home.clone());
        let rows = rows.filter(|home| !home.is_fresh()).take(PAGE).collect();
        self.reading = Some(Reading::Job(Self::live(rows, HomeKey::of)));
    }

    /// An event is recorded after the others.
    fn record_event(&mut self, choice: u8) {
        let home = delivery(16 + choice % 8);
        let is_last = self.homes.last_key_value().is_none_or(|(last, _)| *last < HomeKey::of(&home));
        if is_last {
            self.homes.insert(HomeKey::of(&home), home);
        }
    }

    /// The rows of a page without those that have expired: delivery number 5 and its pointers.
    fn live<R>(rows: Vec<R>, home: impl Fn(&R) -> HomeKey) -> Vec<R> {
        rows.into_iter().filter(|row| home(row) != HomeKey::of(&delivery(EXPIRED))).collect()
    }

    fn take(&mut self) {
        let taken: Vec<Delivery> = match self.reading.take() {
            Some(Reading::Fresh(rows, next)) => {
                self.progress.take_fresh(&rows, next).into_iter().cloned().collect()
            }
            Some(Reading::Waiting(rows, last, next_due)) => {
                self.progress.take_waiting(&rows, last, next_due).into_iter().cloned().collect()
            }
            Some(Reading::Job(rows)) => {
                let is_taken = |home: &Delivery| self.progress.take_for_job(HomeKey::of(home));
                let taken: Vec<Delivery> = rows.into_iter().filter(is_taken).collect();
                self.of_job.extend(taken.iter().map(HomeKey::of));
                taken
            }
            keys => return self.reading = keys,
        };
        for delivery in taken {
            let handled = self.handled.iter().chain(&self.recording).map(|(delivery, _)| delivery);
            let mut in_work = self.taken.iter().chain(handled);
            assert!(
                in_work.all(|other| other.event != delivery.event),
                "it is posted twice at the same time"
            );
            assert_eq!(self.homes[&HomeKey::of(&delivery)], delivery, "it is posted from an earlier state");
            self.taken.push(delivery);
        }
    }

    /// A post ends: the delivery is done, or waits. The clock of this visit may be behind.
    fn handle(&mut self, choice: usize) {
        if self.taken.is_empty() {
            return;
        }
        let delivery = self.taken.swap_remove(choice % self.taken.len());
        let home = HomeKey::of(&delivery);
        self.handled.push(match choice % 4 {
            0 | 1 => (delivery.ended(DeliveryState::Delivered), None),
            wait => {
                let not_before = moment((self.now + wait as u64).saturating_sub(3));
                let pointer = self.progress.add_pointer(home, not_before);
                (delivery.waiting(pointer.not_before), Some(pointer))
            }
        });
    }

    /// Writes the pointers of a record, or its home rows.
    fn record(&mut self) {
        if self.recording.is_empty() {
            self.recording = std::mem::take(&mut self.handled);
            self.pointers.extend(self.recording.iter().filter_map(|(_, pointer)| *pointer));
            return;
        }
        for (delivery, _) in self.recording.drain(..) {
            self.progress.recorded(HomeKey::of(&delivery));
            self.of_job.remove(&HomeKey::of(&delivery));
            self.homes.insert(HomeKey::of(&delivery), delivery);
        }
    }

    fn unfinished(&self) -> impl Iterator<Item = (&HomeKey, &Delivery)> {
        let is_live = |home: &HomeKey| *home != HomeKey::of(&delivery(EXPIRED));
        let is_unfinished = move |(home, delivery): &(&HomeKey, &Delivery)| {
            delivery.state == DeliveryState::Pending && is_live(home)
        };
        self.homes.iter().filter(is_unfinished)
    }

    /// The visit knows which deliveries are in work for a job.
    fn jobs_are_known(&self) {
        assert_eq!(self.progress.job_is_recorded(), self.of_job.is_empty());
        assert!(self.homes.keys().all(|home| self.progress.is_for_job(*home) == self.of_job.contains(home)));
    }

    /// The next visit would find every unfinished delivery, if this one ended here.
    fn nothing_is_lost(&self) {
        let marks = self.progress.watermarks();
        for (home, delivery) in self.unfinished() {
            match delivery.next_at {
                None => assert!(marks.base.is_none_or(|base| base <= *home), "base passed {delivery:?}"),
                Some(not_before) => {
                    let pointer = Pointer { not_before, home: *home };
                    assert!(marks.waited < Some(pointer), "waited passed {delivery:?}");
                    assert!(marks.last_wait >= Some(pointer), "last_wait is before {delivery:?}");
                }
            }
        }
    }

    /// Does all work that is left, also of the events that were recorded last.
    fn end(&mut self) {
        while self.reading.is_some() {
            self.step(0, 0);
            self.step(1, 0);
        }
        self.step(4, 0);
        while !self.progress.is_done() || self.reading.is_some() {
            for step in 0..4 {
                self.step(step, 0);
            }
        }
        let first = self.unfinished().map(|(_, home)| home.next_at.expect("no fresh delivery is left")).min();
        assert!(first.is_none_or(|first| self.progress.next_wait().is_some_and(|next| next <= first)));
        assert!(self.taken.is_empty() && self.handled.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// In every order of the steps, no watermark passes unfinished work, no delivery is taken while it is in work or
    /// from an earlier state, and each that is taken leaves once (`recorded` asserts it).
    #[test]
    fn a_visit_finishes_each_delivery_once_and_its_watermarks_pass_none(
        waits in prop::collection::vec(prop::option::of(0_u8..8), 0..8),
        steps in prop::collection::vec((0_u8..8, any::<u8>()), 0..80),
    ) {
        let mut world = World::start(&waits);
        for (step, choice) in steps {
            world.step(step, choice);
        }
        world.end();
    }
}

#[test]
fn a_new_pointer_is_never_before_the_pointers_already_read() {
    let mut progress = LaneProgress::new(Watermarks::default());
    assert!(!progress.watermarks().is_waiting());
    let home = |number| HomeKey::of(&delivery(number));
    let first = progress.add_pointer(home(1), moment(50));
    assert_eq!((first.not_before, progress.watermarks().is_waiting()), (moment(50), true));
    let waited = Watermarks { waited: Some(first), ..progress.watermarks() };
    assert!(!waited.is_waiting());
    // A visitor whose clock is behind.
    let mut next = LaneProgress::new(waited);
    let second = next.add_pointer(home(0), moment(40));
    assert_eq!(second.not_before, moment(51));
    assert!(second > first && next.watermarks().is_waiting());
}

#[test]
fn a_job_takes_a_delivery_once_and_a_pointer_leads_back_to_it_until_it_is_recorded() {
    let mut progress = LaneProgress::new(Watermarks::default());
    let home = HomeKey::of(&delivery(1));
    assert!(progress.take_for_job(home) && !progress.take_for_job(home));
    assert!(progress.is_for_job(home) && !progress.job_is_recorded());
    assert!(!progress.watermarks().is_waiting());
    let pointer = progress.lead_back(home, moment(9));
    let marks = progress.watermarks();
    assert!(marks.waited < Some(pointer) && marks.last_wait == Some(pointer));
    assert!(progress.is_for_job(home));
    progress.recorded(home);
    assert!(progress.job_is_recorded() && !progress.take_for_job(home), "the job's page may be outdated");
    assert_eq!(progress.next_wait(), None, "the pointer is stale");
}
