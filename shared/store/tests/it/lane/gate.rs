//! Actors whose database calls each wait for permission. So a history is a sequence of calls of several
//! actors, and the same seed produces the same history.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use domain::{Clock, Timestamp};
use harness::{TestClock, TestDb};
use store::{Store, Tables};
use tokio::sync::oneshot;

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallFate {
    /// The call is executed.
    Executed,
    /// The call is executed, and its answer is lost.
    AnswerLost,
    /// The call is executed, and the actor dies.
    ActorDies,
}

#[derive(Clone, Debug, Default)]
struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<oneshot::Sender<CallFate>>,
    under_way: usize,
    is_dead: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// An actor that proceeds in steps of one call each.
pub(crate) struct Actor {
    gate: Gate,
    acting: Pin<Box<dyn Future<Output = ()>>>,
}

/// The state of an actor after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActorState {
    Alive,
    Ended,
    Dead,
}

impl Actor {
    /// An actor whose clock differs from the others' by `skew` milliseconds.
    pub(crate) fn new<F: Future<Output = ()> + 'static>(
        db: &TestDb,
        skew: i64,
        act: impl FnOnce(Store) -> F,
    ) -> Self {
        let gate = Gate::default();
        let config = db.client().config();
        let client = Gated { inner: config.http_client().unwrap(), gate: gate.clone() };
        let config = config.to_builder().http_client(SharedHttpClient::new(client)).build();
        let clock = Arc::new(Skewed { clock: db.clock().clone(), skew });
        let tables = Tables::of_stack("test");
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        let store = Store::new(client, tables, clock, db.ids().clone());
        Self { gate, acting: Box::pin(act(store)) }
    }

    /// Executes the waiting call as `fate` says, and runs the actor until its next call waits.
    pub(crate) async fn step(&mut self, fate: CallFate) -> ActorState {
        {
            let mut state = self.gate.state();
            if !state.waiting.is_empty() {
                state.under_way += 1;
                state.waiting.remove(0).send(fate).unwrap();
            }
        }
        poll_fn(|cx| {
            let polled = self.acting.as_mut().poll(cx);
            let state = self.gate.state();
            match polled {
                Poll::Ready(()) => Poll::Ready(ActorState::Ended),
                Poll::Pending if state.is_dead => Poll::Ready(ActorState::Dead),
                Poll::Pending if state.under_way == 0 && !state.waiting.is_empty() => {
                    Poll::Ready(ActorState::Alive)
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

#[derive(Debug)]
struct Skewed {
    clock: Arc<TestClock>,
    skew: i64,
}

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now().as_millis() + self.skew)
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.clock.sleep(time)
    }
}

#[derive(Debug)]
struct Gated {
    inner: SharedHttpClient,
    gate: Gate,
}

impl HttpClient for Gated {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(GatedConnector { inner, gate: self.gate.clone() })
    }
}

#[derive(Debug)]
struct GatedConnector {
    inner: SharedHttpConnector,
    gate: Gate,
}

impl HttpConnector for GatedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, gate) = (self.inner.clone(), self.gate.clone());
        let (fate, waits) = oneshot::channel();
        gate.state().waiting.push(fate);
        HttpConnectorFuture::new(async move {
            let Ok(fate) = waits.await else { return std::future::pending().await };
            let answer = inner.call(request).await;
            gate.state().under_way -= 1;
            match fate {
                CallFate::Executed => answer,
                CallFate::AnswerLost => Err(ConnectorError::timeout("no answer in time".into())),
                CallFate::ActorDies => {
                    gate.state().is_dead = true;
                    std::future::pending().await
                }
            }
        })
    }
}
