//! Actors whose every call of the database waits for its turn: a history is a sequence of calls, whoever makes them, and
//! the same seed makes the same one.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

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

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is carried out.
    Goes,
    /// It is carried out, and its answer is lost.
    IsLost,
    /// It is carried out, and whoever made it is dead.
    IsTheLast,
}

#[derive(Clone, Debug, Default)]
struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<oneshot::Sender<Turn>>,
    under_way: usize,
    is_dead: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// Somebody who does something in steps of one call each.
pub(crate) struct Actor {
    gate: Gate,
    acting: Pin<Box<dyn Future<Output = ()>>>,
}

/// Whether an actor goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    Alive,
    Over,
    Dead,
}

impl Actor {
    /// An actor whose clock differs by so many milliseconds from the others'.
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

    /// Goes on to the next call, which then waits for its turn; the one that waits now is carried out so.
    pub(crate) async fn step(&mut self, turn: Turn) -> Is {
        {
            let mut state = self.gate.state();
            if !state.waiting.is_empty() {
                state.under_way += 1;
                state.waiting.remove(0).send(turn).unwrap();
            }
        }
        poll_fn(|cx| {
            let polled = self.acting.as_mut().poll(cx);
            let state = self.gate.state();
            match polled {
                Poll::Ready(()) => Poll::Ready(Is::Over),
                Poll::Pending if state.is_dead => Poll::Ready(Is::Dead),
                Poll::Pending if state.under_way == 0 && !state.waiting.is_empty() => Poll::Ready(Is::Alive),
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
        let (turn, waits) = oneshot::channel();
        gate.state().waiting.push(turn);
        HttpConnectorFuture::new(async move {
            let Ok(turn) = waits.await else { return std::future::pending().await };
            let answer = inner.call(request).await;
            gate.state().under_way -= 1;
            match turn {
                Turn::Goes => answer,
                Turn::IsLost => Err(ConnectorError::timeout("no answer in time".into())),
                Turn::IsTheLast => {
                    gate.state().is_dead = true;
                    std::future::pending().await
                }
            }
        })
    }
}
