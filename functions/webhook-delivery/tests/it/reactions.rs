//! A test transport: its receivers react as the test defines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{AttemptError, EventId};
use tokio::sync::{Barrier, Notify};
use webhook_delivery::{Answer, Post, Transport, Unanswered};

/// Receivers with a list of reactions, and a default reaction after them, which is a 200 unless the test sets
/// another.
#[derive(Clone, Default)]
pub(crate) struct Receivers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lined_up: VecDeque<Reaction>,
    always: Option<Box<Always>>,
    posts: Vec<Posted>,
    under_way: usize,
    most_at_once: usize,
}

type Always = dyn Fn(&Posted) -> Reaction + Send;

#[derive(Clone)]
pub(crate) enum Reaction {
    Answers(u16, &'static str),
    Fails(AttemptError),
    /// The deployment's own network lets nothing out.
    Stays,
    Panics,
    /// The receiver gets the request. The test decides what happens to the sender then.
    Hangs(Arc<Notify>),
    Meets(Arc<Barrier>, u16),
    /// The answer takes this long by the process's own clock.
    Takes(Duration, u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(header, _)| header == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn event(&self) -> EventId {
        EventId::parse(self.header("webhook-id")).unwrap()
    }
}

impl Receivers {
    pub(crate) fn then(&self, reaction: Reaction) -> &Self {
        self.0.lock().unwrap().lined_up.push_back(reaction);
        self
    }

    pub(crate) fn answer(&self, status: u16) -> &Self {
        self.then(Reaction::Answers(status, ""))
    }

    /// Sets the reaction to posts without a listed one.
    pub(crate) fn always(&self, always: impl Fn(&Posted) -> Reaction + Send + 'static) {
        self.0.lock().unwrap().always = Some(Box::new(always));
    }

    pub(crate) fn always_answer(&self, status: u16) {
        self.always(move |_| Reaction::Answers(status, ""));
    }

    pub(crate) fn always_silent(&self) {
        self.always(|_| Reaction::Fails(AttemptError::Timeout));
    }

    pub(crate) fn posts(&self) -> Vec<Posted> {
        self.0.lock().unwrap().posts.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().posts.len()
    }

    /// How many posts of that event were made.
    pub(crate) fn count_of(&self, event: EventId) -> usize {
        self.posts().iter().filter(|posted| posted.event() == event).count()
    }

    /// The maximum number of concurrent posts since the last call of this function.
    pub(crate) fn most_at_once(&self) -> usize {
        std::mem::take(&mut self.0.lock().unwrap().most_at_once)
    }
}

/// A post in flight; dropping it ends it, also if it is abandoned.
struct UnderWay(Receivers);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().under_way -= 1;
    }
}

impl Transport for Receivers {
    async fn post(&self, post: Post<'_>) -> Result<Answer, Unanswered> {
        let headers =
            post.headers.iter().map(|(name, value)| ((*name).to_owned(), value.expose().to_owned()));
        let posted = Posted {
            url: post.url.as_str().to_owned(),
            headers: headers.collect(),
            body: post.body.to_vec(),
        };
        let reaction = {
            let mut state = self.0.lock().unwrap();
            let reaction = match state.lined_up.pop_front() {
                Some(reaction) => reaction,
                None => state.always.as_ref().map_or(Reaction::Answers(200, ""), |always| always(&posted)),
            };
            state.posts.push(posted);
            state.under_way += 1;
            state.most_at_once = state.most_at_once.max(state.under_way);
            reaction
        };
        let _under_way = UnderWay(self.clone());
        // Posts that begin together are in flight together.
        tokio::task::yield_now().await;
        let answer = |status, retry_after: &str| {
            let retry_after = (!retry_after.is_empty()).then(|| retry_after.to_owned());
            Ok(Answer { status, retry_after, body: b"answer".to_vec() })
        };
        match reaction {
            Reaction::Answers(status, retry_after) => answer(status, retry_after),
            Reaction::Fails(error) => Err(error.into()),
            Reaction::Stays => Err(Unanswered::NotSent),
            Reaction::Panics => panic!("the test asked for a panic"),
            Reaction::Hangs(got) => {
                got.notify_one();
                std::future::pending().await
            }
            Reaction::Meets(barrier, status) => {
                barrier.wait().await;
                answer(status, "")
            }
            Reaction::Takes(time, status) => {
                tokio::time::sleep(time).await;
                answer(status, "")
            }
        }
    }
}
