//! Values that a process remembers for a limited time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::Timestamp;

/// Values by key. Each expires after the same time. It holds at most [`Memory::MOST`] values.
#[derive(Debug)]
pub struct Memory<K, V> {
    good_for: Duration,
    values: Mutex<HashMap<K, (V, Timestamp)>>,
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    /// The maximum number of values. If it is reached, expired values are removed; if that is not enough, all
    /// are.
    pub const MOST: usize = 10_000;

    /// An empty memory whose values expire after `good_for`.
    pub fn new(good_for: Duration) -> Self {
        Self { good_for, values: Mutex::default() }
    }

    /// The value of the key, if it has not expired.
    pub fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        self.values().get(key).filter(|(_, until)| now < *until).map(|(value, _)| value.clone())
    }

    /// Stores a value that was read at `now`.
    pub fn keep(&self, key: K, value: V, now: Timestamp) {
        let mut values = self.values();
        if values.len() >= Self::MOST {
            values.retain(|_, (_, until)| now < *until);
        }
        if values.len() >= Self::MOST {
            values.clear();
        }
        values.insert(key, (value, now.plus(self.good_for)));
    }

    /// Removes the value of the key.
    pub fn forget(&self, key: &K) {
        self.values().remove(key);
    }

    fn values(&self) -> MutexGuard<'_, HashMap<K, (V, Timestamp)>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    #[test]
    fn a_value_is_remembered_until_it_expires() {
        let memory = Memory::new(Duration::from_secs(5));
        memory.keep("a", 1, NOW);
        assert_eq!(memory.get(&"a", NOW.plus(Duration::from_millis(4_999))), Some(1));
        assert_eq!(memory.get(&"a", NOW.plus(Duration::from_secs(5))), None);
        assert_eq!(memory.get(&"b", NOW), None);
        memory.forget(&"a");
        assert_eq!(memory.get(&"a", NOW), None);
    }

    #[test]
    fn a_memory_holds_a_limited_number_of_values() {
        let memory = Memory::new(Duration::from_secs(5));
        for key in 0..3 * Memory::<usize, ()>::MOST {
            memory.keep(key, (), NOW);
        }
        assert!(memory.values().len() <= Memory::<usize, ()>::MOST);
    }
}
