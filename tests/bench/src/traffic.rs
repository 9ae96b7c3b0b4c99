//! Counts the calls of the store and the posts to receivers that are in progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts calls and posts in progress, and measures for how long only calls were in progress.
#[derive(Clone, Default)]
pub struct Traffic(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    calls: u32,
    posts: u32,
    since: Option<Instant>,
    only_calls: Duration,
}

/// A call or a post in progress. It ends when this value is dropped.
pub struct UnderWay {
    traffic: Traffic,
    is_post: bool,
}

impl Traffic {
    /// Starts a call of the store.
    pub fn call(&self) -> UnderWay {
        self.begin(false)
    }

    /// Starts a post.
    pub fn post(&self) -> UnderWay {
        self.begin(true)
    }

    /// For how long calls of the store and no posts were in progress, since the last `take_waited`.
    pub fn take_waited(&self) -> Duration {
        let mut state = self.state();
        state.pass();
        std::mem::take(&mut state.only_calls)
    }

    fn begin(&self, is_post: bool) -> UnderWay {
        let mut state = self.state();
        state.pass();
        *state.count(is_post) += 1;
        UnderWay { traffic: self.clone(), is_post }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pass(&mut self) {
        let now = Instant::now();
        if let Some(since) = self.since.filter(|_| self.calls > 0 && self.posts == 0) {
            self.only_calls += now - since;
        }
        self.since = Some(now);
    }

    fn count(&mut self, is_post: bool) -> &mut u32 {
        if is_post { &mut self.posts } else { &mut self.calls }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.traffic.state();
        state.pass();
        *state.count(self.is_post) -= 1;
    }
}
