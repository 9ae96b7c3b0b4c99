//! The deliveries that a visit has read and not posted yet, in an order that keeps the events of one subject in theirs.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// A queue whose items leave in their order, except that those of one subject leave one at a time: the next one leaves
/// after the one before it ended. An item never waits for one of another subject.
#[derive(Clone, Debug)]
pub struct ReadyQueue<S, T> {
    waiting: VecDeque<(Option<S>, T)>,
    /// The subjects of the items that left and have not ended.
    in_flight: HashSet<S>,
}

impl<S, T> Default for ReadyQueue<S, T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), in_flight: HashSet::new() }
    }
}

impl<S: Copy + Eq + Hash, T> ReadyQueue<S, T> {
    /// Adds an item after the others. An item without a subject waits for none.
    pub fn push(&mut self, subject: Option<S>, item: T) {
        self.waiting.push_back((subject, item));
    }

    /// The next item that may leave.
    pub fn pop(&mut self) -> Option<T> {
        let (subject, item) = self.waiting.remove(self.next()?)?;
        self.in_flight.extend(subject);
        Some(item)
    }

    /// Whether an item may leave.
    pub fn has_next(&self) -> bool {
        self.next().is_some()
    }

    fn next(&self) -> Option<usize> {
        let is_free = |subject: &Option<S>| !subject.is_some_and(|subject| self.in_flight.contains(&subject));
        self.waiting.iter().position(|(subject, _)| is_free(subject))
    }

    /// Notes that an item ended that had left, whatever became of it.
    pub fn ended(&mut self, subject: Option<S>) {
        let was_in_flight = subject.is_none_or(|subject| self.in_flight.remove(&subject));
        debug_assert!(was_in_flight, "an item ended that had not left");
    }

    /// The number of items that have not left.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether all items have left.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many items may leave before one ends.
    pub fn free(&self) -> usize {
        let mut subjects = self.in_flight.clone();
        let is_free = |subject: &Option<S>| subject.is_none_or(|subject| subjects.insert(subject));
        self.waiting.iter().map(|(subject, _)| *subject).filter(is_free).count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In every order of arrivals and ends, the first item leaves whose subject has none in flight. So the items of a
        /// subject leave in their order and one at a time, and hold no others.
        #[test]
        fn items_of_one_subject_leave_in_order_and_hold_no_others(
            steps in prop::collection::vec((0_u8..3, prop::option::of(0_u8..3), any::<prop::sample::Index>()), 0..60),
        ) {
            let mut queue = ReadyQueue::default();
            let mut waiting: Vec<(Option<u8>, usize)> = vec![];
            let mut in_flight: Vec<Option<u8>> = vec![];
            for (number, (step, subject, index)) in steps.into_iter().enumerate() {
                match step {
                    0 => {
                        queue.push(subject, number);
                        waiting.push((subject, number));
                    }
                    1 => {
                        let may = |of: &Option<u8>| of.is_none() || !in_flight.contains(of);
                        let expected = waiting.iter().position(|(subject, _)| may(subject));
                        let expected = expected.map(|at| waiting.remove(at));
                        prop_assert_eq!(queue.has_next(), expected.is_some());
                        prop_assert_eq!(queue.pop(), expected.map(|(_, number)| number));
                        in_flight.extend(expected.map(|(subject, _)| subject));
                    }
                    _ if in_flight.is_empty() => {}
                    _ => queue.ended(in_flight.swap_remove(index.index(in_flight.len()))),
                }
                prop_assert_eq!((queue.len(), queue.is_empty()), (waiting.len(), waiting.is_empty()));
                let mut rest = queue.clone();
                prop_assert_eq!(std::iter::from_fn(|| rest.pop()).count(), queue.free());
            }
        }
    }
}
