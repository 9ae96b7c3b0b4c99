//! A stand-in for the transport: receivers that do what a test lines up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{AttemptError, EventId};
use tokio::sync::{Barrier, Notify};
use webhook_delivery::{Answer, Post, Transport, Unanswered};

/// Receivers that answer what a test lines up, then as they always do, which is 200 unless a test says otherwise.
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
    /// Our own network lets nothing out.
    Stays,
    Panics,
    /// Got the request; what then happens to the sender is the test's.
    Hangs(Arc<Notify>),
    Meets(Arc<Barrier>, u16),
    /// Takes so long by the process's own clock.
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

    /// What is done about posts for which nothing is lined up.
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

    /// How many posts of that event there were.
    pub(crate) fn count_of(&self, event: EventId) -> usize {
        self.posts().iter().filter(|posted| posted.event() == event).count()
    }

    /// The most posts that were under way at the same moment, since the last question.
    pub(crate) fn most_at_once(&self) -> usize {
        std::mem::take(&mut self.0.lock().unwrap().most_at_once)
    }
}

/// A post that is under way; also one that is given up.
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
        // Those that are begun together are under way together.
        tokio::task::yield_now().await;
        let answer = |status, retry_after: &str| {
            let retry_after = (!retry_after.is_empty()).then(|| retry_after.to_owned());
            Ok(Answer { status, retry_after, body: b"answer".to_vec() })
        };
        match reaction {
            Reaction::Answers(status, retry_after) => answer(status, retry_after),
            Reaction::Fails(error) => Err(error.into()),
            Reaction::Stays => Err(Unanswered::NotSent),
            Reaction::Panics => panic!("as asked"),
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
