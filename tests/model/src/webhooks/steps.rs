//! The steps of relays, visitors, sweeper, operator, queue and clock on a webhook lane. A step is one call of the
//! store, or several calls whose intermediate states nobody else can observe.

use std::time::Duration;

use domain::webhook::NextPage;
use domain::{
    Delivery, DeliveryState, EndpointId, EventType, HomeKey, LaneProgress, Pointer, Slot, Watermarks,
    WorkspaceId,
};
use uuid::Uuid;

use super::state::{home_key, key_of, moment, pointer, time};
use super::{
    Fault, Home, HomeState, Item, Job, JobKind, JobState, KEYS, Key, Keys, Move, Order, Outcome, Page,
    Position, Relay, RelayStep, Stage, State, Step, Visit, Visitor, Webhooks, What, Write, Wrong,
};
use crate::lane::{Lease, Release, Released, Time};
use crate::rules::{Rule, Rules};

/// Collects the possible steps of a state.
pub(super) struct Steps<'a> {
    pub(super) model: &'a Webhooks,
    pub(super) from: &'a State,
    pub(super) moves: &'a mut Vec<Move>,
}

impl Steps<'_> {
    /// Adds all possible steps.
    pub(super) fn all(&mut self) {
        for number in 0..self.from.relays.len() {
            self.relay(number);
        }
        self.operator();
        self.queue();
        self.time();
        for number in 0..self.from.visitors.len() {
            self.visitor(number);
        }
    }

    fn rule(&self, rule: Rule) -> bool {
        self.model.rules.has(rule)
    }

    /// Whether a fault of this kind may still happen.
    fn may(&self, kind: Fault) -> bool {
        self.from.faults > 0 && self.model.kinds.contains(&kind)
    }

    fn fault(&mut self, step: Step, change: impl FnOnce(&mut State)) {
        self.step(step, |state| {
            state.faults -= 1;
            change(state);
        });
    }

    fn step(&mut self, step: Step, change: impl FnOnce(&mut State)) {
        let mut to = self.from.clone();
        change(&mut to);
        self.moves.push(Move { step, to: to.settled() });
    }

    // Relays.

    /// homes -> events -> notify. The response to the notification says whether to queue a message. If the relay dies before it
    /// queues the message, that is a lost message.
    fn relay(&mut self, number: usize) {
        let (rules, batch) = (self.model.rules, &self.model.relays[number]);
        let Relay { at, stands } = self.from.relays[number];
        let (home, event, notify) = (RelayStep::Home(0), RelayStep::Event(0), RelayStep::Notify);
        let order = match (rules.has(Rule::TellAfterWork), rules.has(Rule::HomeBeforeEvent)) {
            (false, _) => [notify, home, event, RelayStep::End],
            (true, false) => [event, home, notify, RelayStep::End],
            (true, true) => [home, event, notify, RelayStep::End],
        };
        let behind = |step: RelayStep| match order.iter().position(|at| *at == step) {
            Some(at) if at + 1 < order.len() => order[at + 1],
            _ => RelayStep::End,
        };
        let next_of = |index: u8, step: fn(u8) -> RelayStep| match index + 1 < batch.len() as u8 {
            true => step(index + 1),
            false => behind(step(0)),
        };
        // No other party writes the relay's events, so the time at which the relay reads them before its first step
        // does not matter.
        let (at, stands) = match at {
            RelayStep::Begin => {
                let mut stands = Keys::default();
                batch.iter().filter(|key| self.from.events.has(**key)).for_each(|key| stands.add(*key));
                let over = batch.iter().all(|key| stands.has(*key)) && !rules.has(Rule::RepeatTells);
                (if over { RelayStep::End } else { order[0] }, stands)
            }
            at => (at, stands),
        };
        let to = |state: &mut State, at: RelayStep| state.relays[number] = Relay { at, stands };
        let put_home = |state: &mut State, key: Key| {
            if !stands.has(key) || !rules.has(Rule::StandingIsNotPut) {
                state.homes[key as usize] = Some(Home::default());
            }
        };
        let low = match rules.has(Rule::LowIsTheLeast) {
            true => batch.iter().min().copied().unwrap_or_default(),
            false => batch.last().copied().unwrap_or_default(),
        };
        let notified = |state: &mut State| {
            let answered = state.lane.due;
            state.lane.notify(rules, state.clock);
            batch.iter().for_each(|key| state.history.notified.add(*key));
            if state.lane.lease == Lease::Free && !state.lane.closed {
                state.queue();
            }
            let at = match answered {
                Some(due) if due > state.clock && !state.lane.closed && rules.has(Rule::TellHastensDue) => {
                    RelayStep::Hasten(due)
                }
                _ => behind(RelayStep::Notify),
            };
            to(state, at);
        };

        match at {
            RelayStep::Home(_) if self.model.puts_at_once => self.step(Step::Relay(number, at), |state| {
                for key in batch {
                    put_home(state, *key);
                    state.events.add(*key);
                }
                to(state, RelayStep::Notify);
            }),
            RelayStep::Home(index) => self.step(Step::Relay(number, at), |state| {
                put_home(state, batch[index as usize]);
                to(state, next_of(index, RelayStep::Home));
            }),
            RelayStep::Event(index) => self.step(Step::Relay(number, at), |state| {
                state.events.add(batch[index as usize]);
                to(state, next_of(index, RelayStep::Event));
            }),
            RelayStep::Notify => self.step(Step::Relay(number, at), |state| {
                if !rules.has(Rule::TellSaysLow) {
                    notified(state);
                } else if state.low.is_none_or(|least| least > low) {
                    state.low = Some(low);
                    notified(state);
                } else {
                    to(state, RelayStep::TellAgain);
                }
            }),
            RelayStep::TellAgain => self.step(Step::Relay(number, at), |state| {
                if state.low.is_some_and(|least| least <= low) || !rules.has(Rule::SecondFormNeedsLow) {
                    notified(state);
                } else {
                    to(state, RelayStep::Notify);
                }
            }),
            RelayStep::Hasten(due) => self.step(Step::Relay(number, at), |state| {
                if state.lane.due == Some(due) {
                    state.lane.due = Some(state.clock);
                }
                to(state, behind(RelayStep::Notify));
            }),
            RelayStep::End if self.from.relays[number].at == RelayStep::Begin => {
                self.step(Step::Relay(number, at), |state| to(state, at));
            }
            RelayStep::Begin | RelayStep::End => {}
        }
        if self.from.relays[number].at != RelayStep::Begin && self.may(Fault::RelayAgain) {
            self.fault(Step::RelayAgain(number), |state| state.relays[number] = Relay::default());
        }
    }

    // The operator.

    fn operator(&mut self) {
        let Some(&order) = self.model.orders().get(self.from.orders) else { return };
        let rules = self.model.rules;
        if order == Order::MayCancel {
            self.step(Step::Operator(order, false), |state| state.orders += 1);
        }
        self.step(Step::Operator(order, true), |state| {
            state.orders += 1;
            match order {
                Order::Disable => state.disabled = true,
                Order::Enable => state.disabled = false,
                Order::PutJob(kind) => state.put_job(kind),
                Order::NotifyJob => {
                    state.lane.notify(rules, state.clock);
                    state.has_jobs = true;
                    if rules.has(Rule::TellSetsDue) {
                        state.lane.due = Some(state.clock);
                    }
                }
                Order::MayCancel => {
                    if let Some(job) = &mut state.job
                        && job.state == JobState::Active
                    {
                        job.state = JobState::Cancelled;
                    }
                }
            }
        });
    }

    // Queue, sweeper, leases and time.

    fn queue(&mut self) {
        let (state, rules) = (self.from, self.model.rules);
        if self.may(Fault::Stray) {
            self.fault(Step::Stray, State::queue);
        }
        if state.messages == 0 {
            if state.lane.may_claim(rules, state.clock) {
                self.step(Step::Sweep, |state| {
                    state.lane.due = Some(state.clock);
                    state.queue();
                });
            }
            return;
        }
        if self.may(Fault::Lost) {
            self.fault(Step::Lost, |state| state.messages -= 1);
        }
        if !state.lane.may_lease(rules) {
            self.step(Step::Held, |state| state.messages -= 1);
        } else if state.visitors.len() < 2 {
            let low_first = rules.has(Rule::LeaseTakesLow) && state.low_is_before_base();
            for ahead in self.clocks() {
                if low_first {
                    self.step(Step::LowInTheWay, |state| {
                        state.messages -= 1;
                        state.visitors.push(Visitor::Refused(ahead));
                    });
                } else {
                    self.leased(ahead, |state| {
                        state.messages -= 1;
                        state.low = None;
                        state.lease(rules, ahead);
                    });
                }
            }
        }
    }

    /// A visitor takes the lease by this change. If the answer is lost, it repeats the lease before it does anything.
    fn leased(&mut self, ahead: Time, change: impl Fn(&mut State)) {
        self.step(Step::Leased(ahead), &change);
        if self.may(Fault::LeaseUnanswered) {
            self.fault(Step::LeaseUnanswered(ahead), |state| {
                change(state);
                if let Some(Visitor::Visiting(visit)) = state.visitors.pop() {
                    state.visitors.push(Visitor::Repeats(visit));
                }
            });
        }
    }

    /// The repeat of a lease whose answer was lost is refused, and shows the lane as it is now.
    fn repeat_lease(&mut self, number: usize, visit: &Visit) {
        let mut visit = visit.clone();
        (visit.seen, visit.has_jobs) = (self.from.lane.mark, self.from.has_jobs);
        if self.rule(Rule::RepeatedLeaseLooksFromLow) {
            let from = self.from.back_to_low(visit.progress.watermarks());
            visit.progress = LaneProgress::new(from);
        }
        self.step(Step::LeaseRepeated, |state| state.visitors[number] = Visitor::Visiting(visit));
    }

    fn clocks(&self) -> Vec<Time> {
        if self.model.ahead == 0 { vec![0] } else { vec![0, self.model.ahead] }
    }

    fn time(&mut self) {
        let state = self.from;
        let dies_late = state.lane.lease == Lease::Running && !self.rule(Rule::LeaseOutlivesVisit);
        if state.lane.lease == Lease::Orphaned || dies_late {
            self.step(Step::Expired, |state| state.lane.lease = Lease::Free);
        }
        // The clock advances only if something waits for it.
        let far = |then: Option<Time>| then.is_some_and(|then| then > state.clock);
        let waits = state.homes.iter().flatten().any(|home| far(home.next)) || far(state.lane.due);
        let late_relay = (0..KEYS as Key).any(|key| {
            !state.events.has(key)
                && state.home(key).is_some_and(|home| home.put_off > self.model.late_events)
        });
        if waits && !late_relay {
            self.step(Step::Tick, |state| state.clock += 1);
        }
    }

    // Visitors.

    fn visitor(&mut self, number: usize) {
        let state = self.from;
        let visit = match &state.visitors[number] {
            Visitor::Refused(ahead) => return self.take_low(number, *ahead),
            Visitor::Repeats(visit) => return self.repeat_lease(number, visit),
            Visitor::Visiting(visit) => visit,
        };
        match &visit.stage {
            Stage::Look => {
                self.look(number, visit);
                if visit.busy && self.may(Fault::TimeUp) {
                    self.release(number, visit, Release::TimeUp, false);
                }
            }
            Stage::Note(page) => self.step(Step::Noted, |state| {
                for item in &page.items {
                    if let Some(home) = &mut state.homes[item.key as usize] {
                        home.begun = true;
                    }
                }
                state.visit(number).stage = Stage::Act(page.clone());
            }),
            Stage::Act(page) => self.act(number, visit, page),
            Stage::ReadMark(how, parked) => self.step(Step::ReadMark, |state| {
                let mark = state.lane.mark;
                let visit = state.visit(number);
                visit.seen = mark;
                visit.stage = Stage::Release(*how, *parked);
            }),
            Stage::Release(how, parked) => self.release(number, visit, *how, *parked),
        }
        if self.may(Fault::Kill) {
            self.fault(Step::Died(visit.stage.clone()), |state| state.die(number));
        }
    }

    /// The second form of the lease: `low` becomes `base`.
    fn take_low(&mut self, number: usize, ahead: Time) {
        let (state, rules) = (self.from, self.model.rules);
        let stands = state.low_is_before_base() || !rules.has(Rule::TakingLowNeedsLow);
        if state.lane.may_lease(rules) && stands {
            self.leased(ahead, |state| {
                state.visitors.remove(number);
                state.watermarks.base = state.low.take().map(home_key).or(state.watermarks.base);
                state.lease(rules, ahead);
            });
        } else {
            self.step(Step::Held, |state| {
                state.visitors.remove(number);
            });
        }
    }

    /// due pointers -> fresh rows -> job -> release. The visitor takes one page of the first range that has rows.
    fn look(&mut self, number: usize, visit: &Visit) {
        let mut visit = visit.clone();
        if !self.rule(Rule::LookReadsEndpoint) {
            visit.endpoint = Some(visit.endpoint.unwrap_or(self.from.disabled));
        }
        let disabled = visit.endpoint.unwrap_or(self.from.disabled);
        let mut job = self.from.job;
        visit.stage = match self.read_range(&mut visit, disabled).or_else(|| self.read_job(&mut visit)) {
            Some(_) if disabled => self.end(Release::Done, true),
            Some(page) if page.items.is_empty() => {
                if let (Some(job), Some(position)) = (&mut job, page.of_job) {
                    job.position = Some(position);
                }
                Stage::Look
            }
            Some(page) => {
                let attempt = page.items.iter().any(|item| item.what == What::Attempt);
                if visit.careful && attempt { Stage::Note(page) } else { Stage::Act(page) }
            }
            None if visit.has_jobs && disabled => self.end(Release::Done, true),
            None => {
                let next = visit.progress.next_wait();
                self.end(next.map_or(Release::Done, |next| Release::Waits(time(next))), false)
            }
        };
        // The job's range is empty, so the job is finished, unless it was finished before.
        let over =
            visit.has_jobs && matches!(visit.stage, Stage::Release(_, false) | Stage::ReadMark(_, false));
        let finished = over && self.may_go_on(job);
        if over {
            visit.has_jobs = false;
        }
        if finished {
            visit.stage = Stage::Look;
        }
        self.step(Step::Looked(visit.stage.clone()), |state| {
            state.job = job;
            if finished {
                state.finish_job();
            }
            *state.visit(number) = visit;
        });
    }

    fn end(&self, how: Release, parked: bool) -> Stage {
        match self.rule(Rule::MarkBeforeLook) {
            true => Stage::Release(how, parked),
            false => Stage::ReadMark(how, parked),
        }
    }

    fn may_go_on(&self, job: Option<Job>) -> bool {
        job.is_some_and(|job| {
            job.state == JobState::Active
                || job.state == JobState::Cancelled && !self.rule(Rule::CancelStopsJob)
        })
    }

    /// Reads and takes the next page of pointers or home rows that has rows. A disabled endpoint's page is not taken.
    fn read_range(&self, visit: &mut Visit, disabled: bool) -> Option<Page> {
        let limit = self.limit(visit);
        while let Some(next) = visit.progress.begin_read() {
            let mut repairs = vec![];
            let (is_empty, taken) = match next {
                NextPage::Waiting(behind) => {
                    let rows = self.from.pointers.iter().filter(|pointer| Some(**pointer) > behind);
                    let mut rows: Vec<Pointer> = rows.copied().take(limit).collect();
                    let now = moment(self.from.clock + visit.ahead);
                    let due = rows.partition_point(|pointer| pointer.not_before <= now);
                    let next_due = rows.get(due).map(|pointer| pointer.not_before);
                    let is_whole = rows.len() < limit || next_due.is_some();
                    rows.truncate(due);
                    repairs.extend(rows.iter().map(|pointer| key_of(pointer.home)));
                    let row = |pointer: Pointer| (pointer, self.row(key_of(pointer.home), Some(pointer)));
                    let mut rows: Vec<(Pointer, Option<Delivery>)> = rows.into_iter().map(row).collect();
                    if let Some((last, _)) = rows.last()
                        && !self.rule(Rule::WaitedIsAKey)
                        && key_of(last.home) < KEYS as Key
                    {
                        rows.push((pointer(time(last.not_before), KEYS as Key), None));
                    }
                    if disabled && !rows.is_empty() && self.rule(Rule::ParkedKeepsBase) {
                        return Some(Page::default());
                    }
                    let last = rows.last().map(|(last, _)| *last).filter(|_| !is_whole);
                    (rows.is_empty(), homes_of(visit.progress.take_waiting(&rows, last, next_due)))
                }
                NextPage::Fresh(from) => {
                    let keys =
                        (from.map_or(0, key_of)..KEYS as Key).filter(|key| self.from.home(*key).is_some());
                    let keys: Vec<Key> = keys.take(limit).collect();
                    let rows: Vec<Delivery> = keys.iter().filter_map(|key| self.row(*key, None)).collect();
                    repairs.extend(keys);
                    if disabled && !rows.is_empty() && self.rule(Rule::ParkedKeepsBase) {
                        return Some(Page::default());
                    }
                    let next = rows.get(limit - 1).map(|last| HomeKey::of(last).next());
                    (rows.is_empty(), homes_of(visit.progress.take_fresh(&rows, next)))
                }
            };
            if is_empty {
                continue;
            }
            let mut items = vec![];
            for home in taken {
                match self.treatment(key_of(home)) {
                    Some(what) if !disabled => items.push(Item { key: key_of(home), what }),
                    _ => visit.progress.recorded(home),
                }
            }
            // A record that is one unordered batch may leave a row without its pointer. Visitors repair that.
            repairs.retain(|key| {
                let waits = self.from.home(*key).is_some_and(|home| home.next.is_some());
                waits && !self.rule(Rule::PointerBeforeHome) && items.iter().all(|item| item.key != *key)
            });
            items.extend(repairs.into_iter().map(|key| Item { key, what: What::Repair }));
            return Some(Page { of_job: None, items });
        }
        None
    }

    /// Reads and takes the next page of the job, if it has rows.
    fn read_job(&self, visit: &mut Visit) -> Option<Page> {
        let job = self.from.job.filter(|_| visit.has_jobs && self.may_go_on(self.from.job))?;
        let Watermarks { base, waited, .. } = visit.progress.watermarks();
        let rows: Vec<Position> = if job.kind == JobKind::Enable {
            let behind = waited.max(job.position.and_then(|(pointer, _)| pointer));
            let rows = self.from.pointers.iter().filter(|pointer| Some(**pointer) > behind);
            rows.map(|pointer| (Some(*pointer), key_of(pointer.home))).take(self.limit(visit)).collect()
        } else {
            let keys = job.position.map_or(0, |(_, key)| key + 1)..base.map_or(0, key_of);
            let keys = keys.filter(|key| self.from.home(*key).is_some());
            keys.map(|key| (None, key)).take(self.limit(visit)).collect()
        };
        let of_job = Some(*rows.last()?);
        let mut items = vec![];
        for (pointer, key) in rows {
            let is_asked_for = self.from.home(key).is_some_and(|home| {
                let is_stale = pointer.is_some_and(|pointer| home.next != Some(time(pointer.not_before)));
                !is_stale && self.asks_for(&job, key, home)
            });
            if is_asked_for
                && let Some(what) = self.treatment(key)
                && visit.progress.take_for_job(home_key(key))
            {
                items.push(Item { key, what });
            }
        }
        Some(Page { of_job, items })
    }

    /// The number of rows in a page.
    fn limit(&self, visit: &Visit) -> usize {
        if visit.careful { 1 } else { self.model.page }
    }

    /// A home row as the visitor sees it. Without one of the rules for rows, the visitor sees a row that needs work.
    fn row(&self, key: Key, through: Option<Pointer>) -> Option<Delivery> {
        let home = self.from.home(key)?;
        let (state, next) = match through {
            None => (self.rule(Rule::PassesHandled), home.next.filter(|_| self.rule(Rule::PassesWaiting))),
            Some(_) if self.rule(Rule::PointerMatchesHome) => (true, home.next),
            Some(pointer) => (false, Some(time(pointer.not_before))),
        };
        let HomeKey { at, event } = home_key(key);
        let delivery = Delivery::new(SLOT, event, EventType::ContactUpdated, at, at, Duration::ZERO);
        let state = match home.state {
            HomeState::Delivered if state => DeliveryState::Delivered,
            HomeState::Exhausted if state => DeliveryState::Exhausted,
            _ => DeliveryState::Pending,
        };
        Some(Delivery { state, next_at: next.map(moment), ..delivery })
    }

    /// The treatment of a delivery that was taken; `None`: it is skipped.
    fn treatment(&self, key: Key) -> Option<What> {
        if self.from.home(key)?.begun {
            Some(What::Died)
        } else if !self.from.events.has(key) && self.rule(Rule::NeedsEvent) {
            self.rule(Rule::PutsOffEventless).then_some(What::PutOff)
        } else {
            Some(What::Attempt)
        }
    }

    fn asks_for(&self, job: &Job, key: Key, home: &Home) -> bool {
        let passed = match self.rule(Rule::JobMarksRows) {
            true => home.by_job,
            false => home.last > job.made,
        };
        let wanted = match job.kind {
            JobKind::Enable => home.state == HomeState::Pending,
            JobKind::Replay => true,
            JobKind::Recover => home.state == HomeState::Exhausted,
        };
        wanted && self.from.events.has(key) && !(passed && self.rule(Rule::JobPassesItsOwn))
    }

    /// Posts a page and records it, once for each possible outcome. Also dies during the record, once for each subset
    /// of writes that may have been executed.
    fn act(&mut self, number: usize, visit: &Visit, page: &Page) {
        let poisoned =
            page.items.iter().any(|item| item.what == What::Attempt && Some(item.key) == self.model.poison);
        if poisoned {
            self.step(Step::DiedActing(vec![], vec![]), |state| state.die(number));
            return;
        }
        for outcomes in self.outcomes(page) {
            let mut posted = self.from.clone();
            posted.post(self.model, page, &outcomes);
            let mut after = visit.clone();
            after.busy = true;
            let writes = after.record(self.model, self.from, page, &outcomes);
            if posted.faults > 0 && self.model.kinds.contains(&Fault::Kill) {
                self.die_acting(number, &posted, page, &outcomes, &writes);
            }
            let mut to = posted;
            for write in writes.concat() {
                if !to.write(self.model.rules, write, page.of_job.is_some()) {
                    after.has_jobs = false;
                }
            }
            after.stage = match outcomes.contains(&Outcome::NotSent) {
                true => Stage::Release(Release::Closed(to.clock + 1), false),
                false => Stage::Look,
            };
            *to.visit(number) = after;
            self.moves.push(Move { step: Step::Acted(outcomes), to: to.settled() });
        }
    }

    /// The visitor dies during its record: all batches before one were written, and of this batch any subset of writes.
    fn die_acting(
        &mut self,
        number: usize,
        posted: &State,
        page: &Page,
        outcomes: &[Outcome],
        writes: &[Vec<Write>],
    ) {
        let (mut before, mut written) = (posted.clone(), vec![]);
        before.faults -= 1;
        for batch in writes {
            for part in 0..1_usize << batch.len() {
                let (mut to, mut written) = (before.clone(), written.clone());
                for (_, write) in batch.iter().enumerate().filter(|(at, _)| part & 1 << at != 0) {
                    to.write(self.model.rules, *write, page.of_job.is_some());
                    written.push(*write);
                }
                to.die(number);
                self.moves
                    .push(Move { step: Step::DiedActing(outcomes.to_vec(), written), to: to.settled() });
            }
            for write in batch {
                before.write(self.model.rules, *write, page.of_job.is_some());
                written.push(*write);
            }
        }
    }

    /// The possible outcomes of a page's posts.
    fn outcomes(&self, page: &Page) -> Vec<Vec<Outcome>> {
        let mut all = vec![vec![]];
        for _ in page.items.iter().filter(|item| item.what == What::Attempt) {
            let each = [Outcome::Delivered, Outcome::Failed, Outcome::NotSent];
            let more =
                |outcomes: Vec<Outcome>| each.map(|outcome| [outcomes.clone(), vec![outcome]].concat());
            all = all.into_iter().flat_map(more).collect();
        }
        let not_sent = if self.may(Fault::NotSent) { self.from.faults } else { 0 };
        let count = |outcomes: &[Outcome], outcome| outcomes.iter().filter(|each| **each == outcome).count();
        all.retain(|outcomes| {
            count(outcomes, Outcome::Failed) <= self.from.failures as usize
                && count(outcomes, Outcome::NotSent) <= not_sent as usize
        });
        all
    }

    fn release(&mut self, number: usize, visit: &Visit, how: Release, parked: bool) {
        let rules = self.model.rules;
        let mut to = self.from.clone();
        let released = to.lane.release(rules, how, visit.mine, visit.seen, to.clock);
        match released {
            Released::NotMine => {
                to.visitors.remove(number);
            }
            Released::Yes => {
                to.visitors.remove(number);
                to.watermarks = visit.progress.watermarks();
                let under_mark = matches!(how, Release::Done | Release::Waits(_));
                if how == Release::Done && rules.has(Rule::DoneRemovesLow) || !rules.has(Rule::LowNeedsMark) {
                    to.low = None;
                }
                if !parked && (under_mark || !rules.has(Rule::JobsNeedMark)) {
                    to.has_jobs = visit.has_jobs;
                }
                if how == Release::TimeUp {
                    to.faults -= 1;
                    to.queue();
                }
            }
            Released::MarkMoved => {
                let mut visit = visit.clone();
                visit.seen = to.lane.mark;
                visit.busy = true;
                visit.stage = Stage::Look;
                let from = visit.progress.watermarks();
                let looks_from_low = rules.has(Rule::RefusedLooksFromLow);
                visit.progress = LaneProgress::new(if looks_from_low { to.back_to_low(from) } else { from });
                if rules.has(Rule::RefusedTakesJobs) {
                    visit.has_jobs = to.has_jobs;
                }
                *to.visit(number) = visit;
            }
        }
        self.moves.push(Move { step: Step::Released(how, released), to: to.settled() });
    }
}

impl State {
    fn put_job(&mut self, kind: JobKind) {
        self.job = Some(Job { kind, state: JobState::Active, position: None, made: self.clock });
        for key in 0..KEYS as Key {
            let asked = self.home(key).is_some_and(|home| match kind {
                JobKind::Enable => home.state == HomeState::Pending && home.next.is_some(),
                JobKind::Replay => home.state != HomeState::Pending,
                JobKind::Recover => home.state == HomeState::Exhausted,
            });
            if asked && self.events.has(key) {
                self.history.asked.add(key);
            }
        }
    }

    fn finish_job(&mut self) {
        let Some(job) = &mut self.job else { return };
        let cancelled = job.state == JobState::Cancelled;
        job.state = JobState::Finished;
        if cancelled {
            self.wrong(Wrong::CancelledWentOn);
        }
        if !self.history.attempted.holds(self.history.asked) {
            self.wrong(Wrong::JobMissed);
        }
    }

    /// A visitor takes the lease. The caller has already handled `low`.
    fn lease(&mut self, rules: Rules, ahead: Time) {
        self.lane.lease(rules);
        for visitor in &mut self.visitors {
            if let Visitor::Visiting(visit) = visitor {
                visit.mine = false;
            }
        }
        let mut from = self.watermarks;
        if self.lane.begun > 1 && rules.has(Rule::DeathDistrustsLastWait) {
            from.last_wait = from.last_wait.max(self.pointers.last().copied());
        }
        self.visitors.push(Visitor::Visiting(Visit {
            mine: true,
            ahead,
            seen: self.lane.mark,
            progress: LaneProgress::new(from),
            has_jobs: self.has_jobs,
            careful: self.lane.begun > 2 && rules.has(Rule::CarefulAfterDeaths),
            endpoint: None,
            busy: false,
            stage: Stage::Look,
        }));
    }

    fn die(&mut self, number: usize) {
        if let Visitor::Visiting(visit) = self.visitors.remove(number)
            && visit.mine
            && self.lane.lease == Lease::Running
        {
            self.lane.lease = Lease::Orphaned;
        }
    }

    /// The effects of a page's posts, even if the visitor dies before it records them.
    fn post(&mut self, model: &Webhooks, page: &Page, outcomes: &[Outcome]) {
        for outcome in outcomes {
            match outcome {
                Outcome::Delivered => {}
                Outcome::Failed => self.failures -= 1,
                Outcome::NotSent => self.faults -= 1,
            }
        }
        let cancelled = self.job.is_some_and(|job| job.state == JobState::Cancelled);
        if page.of_job.is_some() && cancelled {
            self.history.after_cancel += 1;
            if self.history.after_cancel > 1 {
                self.wrong(Wrong::CancelledWentOn);
            }
        }
        let attempted = page.items.iter().filter(|item| item.what == What::Attempt);
        for (Item { key, .. }, outcome) in attempted.zip(outcomes) {
            let Some(home) = self.home(*key).copied() else { continue };
            if *outcome == Outcome::NotSent {
                continue;
            }
            if !self.events.has(*key) {
                self.wrong(Wrong::NoEvent);
            }
            if page.of_job.is_some() {
                if home.by_job {
                    self.wrong(Wrong::JobRepeated);
                }
                continue;
            }
            if self.history.delivered.has(*key) {
                self.wrong(Wrong::DeliveredAgain);
            }
            if home.next.is_some_and(|next| next > self.clock + model.ahead) {
                self.wrong(Wrong::TooEarly);
            }
        }
    }

    /// Executes one write of a record. Returns `false` if the write is refused because the job is no longer active.
    fn write(&mut self, rules: Rules, write: Write, is_of_job: bool) -> bool {
        match write {
            Write::Pointer(pointer) => {
                self.pointers.insert(pointer);
            }
            Write::Home(key, home) => {
                self.homes[key as usize] = Some(home);
                if home.state == HomeState::Delivered {
                    self.history.delivered.add(key);
                } else if is_of_job {
                    self.history.delivered.remove(key);
                }
                if self.job.is_some() {
                    self.history.attempted.add(key);
                }
            }
            Write::Position(position) => {
                if let Some(job) = &mut self.job {
                    if job.state != JobState::Active && rules.has(Rule::CancelStopsJob) {
                        return false;
                    }
                    job.position = Some(position);
                }
            }
        }
        true
    }
}

impl Visit {
    /// The record of a page: batches of writes in their order.
    fn record(
        &mut self,
        model: &Webhooks,
        state: &State,
        page: &Page,
        outcomes: &[Outcome],
    ) -> Vec<Vec<Write>> {
        let (rules, now) = (model.rules, state.clock + self.ahead);
        let (mut pointers, mut homes) = (vec![], vec![]);
        let mut put = |progress: &mut LaneProgress, then: Time, key: Key, is_repair: bool| {
            let behind_waited = progress.add_pointer(home_key(key), moment(then));
            let is_behind = rules.has(Rule::PointerBehindWaited) && !is_repair;
            let put = if is_behind { behind_waited } else { pointer(then, key) };
            pointers.push(Write::Pointer(put));
            Some(time(put.not_before))
        };
        let mut outcomes = outcomes.iter();
        for Item { key, what } in &page.items {
            let Some(mut home) = state.home(*key).copied() else { continue };
            if *what == What::Repair {
                home.next.and_then(|next| put(&mut self.progress, next, *key, true));
                continue;
            }
            let end = if *what == What::Attempt { outcomes.next().copied() } else { None };
            if end == Some(Outcome::NotSent) {
                let stops = if home.next.is_some() {
                    Rule::WaitedStopsAtUnhandled
                } else {
                    Rule::BaseStopsAtUnhandled
                };
                if !rules.has(stops) {
                    self.progress.recorded(home_key(*key));
                }
                continue;
            }
            let failed = *what == What::Died || end == Some(Outcome::Failed);
            if end == Some(Outcome::Delivered) {
                home = Home { state: HomeState::Delivered, ..Home::default() };
            } else {
                home.failures += u8::from(failed);
                home.put_off += u8::from(!failed);
            }
            home.begun = false;
            if failed && page.of_job.is_some() {
                home.state = HomeState::Pending;
                home.failures = 1;
            }
            if failed && home.failures >= model.attempts {
                home = Home { state: HomeState::Exhausted, ..Home::default() };
            }
            home.next = match home.state {
                HomeState::Pending => put(&mut self.progress, now + 1, *key, false),
                HomeState::Delivered | HomeState::Exhausted => None,
            };
            if *what == What::Attempt {
                let was_by_job = state.home(*key).is_some_and(|home| home.by_job);
                home.by_job = page.of_job.is_some() || was_by_job;
                home.last = if rules.has(Rule::JobMarksRows) { 0 } else { now };
            }
            self.progress.recorded(home_key(*key));
            homes.push(Write::Home(*key, home));
        }

        let mut batches = match rules.has(Rule::PointerBeforeHome) {
            true => vec![pointers, homes],
            false => vec![[pointers, homes].concat()],
        };
        if let Some(position) = page.of_job.filter(|_| self.progress.job_is_recorded()) {
            let position = vec![Write::Position(position)];
            match rules.has(Rule::PageBeforePosition) {
                true => batches.push(position),
                false => batches.insert(0, position),
            }
        }
        batches
    }
}

/// Every delivery of the model is of this slot.
const SLOT: Slot = Slot {
    workspace: WorkspaceId::from_uuid(Uuid::nil()),
    endpoint: EndpointId::from_uuid(Uuid::nil()),
    number: 0,
};

fn homes_of(taken: Vec<&Delivery>) -> Vec<HomeKey> {
    taken.into_iter().map(HomeKey::of).collect()
}
