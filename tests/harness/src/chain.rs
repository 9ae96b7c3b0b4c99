//! A chain of invocations: a function processes a message, sends one to the queue that invokes it, processes that one, and
//! so on. Lambda counts them, and ends a chain of about 16 invocations unless the function allows it.

use std::time::Duration;

use domain::{Clock, Timestamp};

use crate::{TestClock, TestQueue};

impl TestQueue {
    /// Invokes the function with this message, and then with each message that it sends, when the message becomes visible.
    /// Returns the delays of these messages in seconds. The chain ends with an invocation that sends nothing, or with a
    /// message that becomes visible after `until`, which does not count. A chain that branches fails the test: the number
    /// of its messages could grow without limit.
    pub async fn chain(
        &self,
        clock: &TestClock,
        until: Timestamp,
        first: String,
        invoke: impl AsyncFn(String),
    ) -> Vec<u64> {
        let (mut delays, mut message) = (vec![], first);
        self.take();
        loop {
            invoke(message).await;
            let mut queued = self.take();
            assert!(queued.len() <= 1, "an invocation for one message sends {queued:?}");
            let Some(next) = queued.pop() else { return delays };
            clock.advance(Duration::from_secs(next.delay));
            if clock.now() > until {
                return delays;
            }
            delays.push(next.delay);
            message = next.body;
        }
    }
}
