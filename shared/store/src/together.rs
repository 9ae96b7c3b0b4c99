//! Calls that are made at the same time travel together.
//!
//! Whoever asks puts the question down and waits for its turn to carry all that lie there, or for another's turn to have
//! brought the answer. One call is under way at a time, so that what comes meanwhile makes up the next one: the busier
//! it is, the more a call carries. A caller reads as if each asked alone.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Mutex as Turn, oneshot};

/// Where questions of one kind wait for each other.
pub(crate) struct Together<Q, A> {
    waiting: Mutex<Vec<(Q, oneshot::Sender<A>)>>,
    turn: Turn<()>,
}

impl<Q, A> Default for Together<Q, A> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turn: Turn::default() }
    }
}

impl<Q: Clone, A> Together<Q, A> {
    /// Asks. `carry` answers the questions of one call, in their order; `most` are the most it takes. Should whoever
    /// carried this question be dropped on the way, it is asked anew: its answer is then to be the same.
    pub(crate) async fn ask(&self, question: Q, most: usize, carry: impl AsyncFn(Vec<Q>) -> Vec<A>) -> A {
        loop {
            let mut answer = self.put(question.clone());
            loop {
                tokio::select! {
                    biased;
                    answered = &mut answer => match answered {
                        Ok(answered) => return answered,
                        Err(_) => break,
                    },
                    _turn = self.turn.lock() => {
                        // Those who were woken together with the caller come here in the same breath.
                        tokio::task::yield_now().await;
                        let (questions, askers): (Vec<Q>, Vec<_>) = self.take(most).into_iter().unzip();
                        if questions.is_empty() {
                            continue;
                        }
                        for (asker, answer) in askers.into_iter().zip(carry(questions).await) {
                            // Who no longer waits needs no answer.
                            let _ = asker.send(answer);
                        }
                    }
                }
            }
        }
    }

    fn put(&self, question: Q) -> oneshot::Receiver<A> {
        let (asker, answer) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((question, asker));
        answer
    }

    fn take(&self, most: usize) -> Vec<(Q, oneshot::Sender<A>)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.len().min(most);
        waiting.drain(..count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use futures::future::join_all;

    /// Doubles numbers, and remembers which travelled together.
    async fn double(calls: &RefCell<Vec<Vec<u32>>>, numbers: Vec<u32>) -> Vec<u32> {
        calls.borrow_mut().push(numbers.clone());
        tokio::task::yield_now().await;
        numbers.into_iter().map(|number| 2 * number).collect()
    }

    #[tokio::test]
    async fn what_is_asked_at_the_same_time_is_one_call_and_each_gets_its_own_answer() {
        let (together, calls) = (Together::default(), RefCell::default());
        let ask =
            async |number| together.ask(number, 25, async |numbers| double(&calls, numbers).await).await;
        assert_eq!(join_all((0..20).map(&ask)).await, (0..20).map(|number| 2 * number).collect::<Vec<_>>());
        assert_eq!(calls.borrow().len(), 1);
        assert_eq!(ask(7).await, 14);
        assert_eq!(calls.borrow().len(), 2);
    }

    #[tokio::test]
    async fn more_than_a_call_takes_go_in_several_and_what_comes_during_one_makes_up_the_next() {
        let (together, calls) = (Together::default(), RefCell::default());
        let ask =
            async |number| together.ask(number, 10, async |numbers| double(&calls, numbers).await).await;
        let late = async {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            join_all((100..105).map(&ask)).await
        };
        let (first, second) = tokio::join!(join_all((0..10).map(&ask)), late);
        assert_eq!((first.len(), second[4]), (10, 208));
        assert_eq!(join_all((0..24).map(&ask)).await[23], 46);
        let sizes: Vec<usize> = calls.borrow().iter().map(Vec::len).collect();
        assert_eq!(sizes, [10, 5, 10, 10, 4]);
    }

    #[test]
    fn a_question_whose_carrier_was_dropped_is_asked_anew() {
        let together: Together<u32, u32> = Together::default();
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut carrier = pin!(together.ask(1, 25, async |_| std::future::pending().await));
            assert!(carrier.as_mut().poll(&mut context).is_pending());
            let mut asker = pin!(together.ask(2, 25, async |numbers: Vec<u32>| numbers));
            assert!(asker.as_mut().poll(&mut context).is_pending());
            // Behind its yield it has taken both, and hangs.
            assert!(carrier.as_mut().poll(&mut context).is_pending());
            assert!(asker.as_mut().poll(&mut context).is_pending());
        }
        let mut alone = pin!(together.ask(3, 25, async |numbers: Vec<u32>| numbers));
        let answer = (0..9).find_map(|_| match alone.as_mut().poll(&mut context) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        });
        assert_eq!(answer, Some(3));
    }
}
