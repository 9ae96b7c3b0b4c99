//! A stand-in for Lambda's runtime API that serves one process.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::serve::{Answer, Incoming, Server};

/// The result of an invocation.
pub struct Invocation {
    /// The function's response, or the error that it reported.
    pub answer: Bytes,
    /// Whether the function responded. `false` if it reported an error.
    pub answered: bool,
    /// The time from the hand-over of the event to the arrival of the response.
    pub took: Duration,
}

struct Poll {
    at: Instant,
    event: oneshot::Sender<Bytes>,
}

/// Lambda as one process of a function sees it.
pub struct Lambda {
    server: Server,
    polls: mpsc::UnboundedReceiver<Poll>,
    polled: Option<Poll>,
    ends: mpsc::UnboundedReceiver<(bool, Bytes)>,
}

impl Lambda {
    /// Starts the runtime API on a free port. An invocation may take this time.
    pub async fn start(time_out: Duration) -> Self {
        let (poll, polls) = mpsc::unbounded_channel();
        let (end, ends) = mpsc::unbounded_channel();
        let ways = Arc::new((poll, end));
        let server = Server::start(None, move |request| answer(ways.clone(), time_out, request)).await;
        Self { server, polls, polled: None, ends }
    }

    /// The address for `AWS_LAMBDA_RUNTIME_API` in the process's environment.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    /// Waits until the function asks for an event. Returns the time at which it asked.
    pub async fn polled(&mut self) -> Instant {
        match &self.polled {
            Some(poll) => poll.at,
            None => {
                let poll = self.polls.recv().await.expect("a request for the next event");
                self.polled.insert(poll).at
            }
        }
    }

    /// Hands an event to the function as soon as it asks for one, and waits for the result.
    pub async fn invoke(&mut self, event: impl Into<Bytes>) -> Invocation {
        self.polled().await;
        let poll = self.polled.take().expect("a poll that was received before");
        let begun = Instant::now();
        let _ = poll.event.send(event.into());
        let (answered, answer) = self.ends.recv().await.expect("a response or an error of the function");
        Invocation { answer, answered, took: begun.elapsed() }
    }
}

type Ways = (mpsc::UnboundedSender<Poll>, mpsc::UnboundedSender<(bool, Bytes)>);

async fn answer(ways: Arc<Ways>, time_out: Duration, request: Incoming) -> Answer {
    let (polls, ends) = &*ways;
    let what = request.path.rsplit('/').next().unwrap_or_default();
    match what {
        "next" => {
            let (event, handed_over) = oneshot::channel();
            let _ = polls.send(Poll { at: Instant::now(), event });
            let Ok(event) = handed_over.await else { return Answer::of(StatusCode::GONE, "") };
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let deadline = (now + time_out).as_millis();
            let headers = vec![
                ("lambda-runtime-aws-request-id", "8f507cfc-xmpl-4697-b07a-ac58fc914c95".to_owned()),
                ("lambda-runtime-deadline-ms", deadline.to_string()),
                (
                    "lambda-runtime-invoked-function-arn",
                    "arn:aws:lambda:eu-west-1:123456789012:function:bench".to_owned(),
                ),
                ("content-type", "application/json".to_owned()),
            ];
            Answer { status: StatusCode::OK, headers, body: event }
        }
        what => {
            let _ = ends.send((what == "response", request.body));
            Answer::of(StatusCode::ACCEPTED, "{\"status\":\"OK\"}")
        }
    }
}
