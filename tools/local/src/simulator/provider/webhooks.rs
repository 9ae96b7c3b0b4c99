//! Posts webhooks to the app, signed, until it answers 200.

use std::io;
use std::iter::successors;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use http::header::CONTENT_TYPE;
use http::{Request, Uri};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::http_client;
use crate::simulator::ledger::{Ledger, now};

/// The time limit of one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The wait before the second attempt. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The longest time that a caller waits until its webhooks are delivered.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most attempts at the same time. The stack runs on the same machine.
const MOST_ATTEMPTS: usize = 8;
/// The most series of webhooks that are being posted, including those that wait for their next attempt.
const MOST_RUNNING: usize = 1_000;
/// The most series of webhooks that wait for others.
const MOST_WAITING: usize = 10_000;
/// The most webhooks that the ledger shows.
const MOST_SHOWN: usize = 10_000;
/// The most answers that the ledger shows of a webhook.
const MOST_ANSWERS: usize = 100;

/// The app to which the provider posts webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SimulatedApp {
    /// The app's id at the provider.
    pub app_id: String,
    /// The secret that signs the webhooks.
    pub app_secret: String,
    /// The URL to which webhooks are posted, such as `http://host/api/v1/whatsapp/<app id>`. Plain HTTP only.
    pub webhook_url: String,
}

impl SimulatedApp {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.app_id.is_empty() || self.app_secret.is_empty() {
            return Err("appId and appSecret must not be empty");
        }
        let url: Result<Uri, _> = self.webhook_url.parse();
        match url {
            Ok(url) if url.scheme_str() == Some("http") && url.host().is_some() => Ok(()),
            _ => Err("webhookUrl must be an http URL with a host"),
        }
    }

    /// The value of `X-Hub-Signature-256` for these bytes.
    fn signature(&self, body: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.app_secret.as_bytes()).ok()?;
        mac.update(body);
        let digest: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("sha256={digest}"))
    }

    /// Posts the bytes once. Returns the status of the answer.
    async fn post(&self, body: Bytes) -> io::Result<u16> {
        let request = Request::post(&self.webhook_url)
            .header(CONTENT_TYPE, "application/json")
            .header("x-hub-signature-256", self.signature(&body).unwrap_or_default())
            .body(body)
            .map_err(io::Error::other)?;
        Ok(http_client::send(request).await?.status().as_u16())
    }
}

/// A webhook that the provider posted or is posting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// The number of the webhook, from 1.
    pub number: u64,
    /// When it was made (UTC, milliseconds).
    pub at: String,
    /// What became of it.
    pub state: WebhookState,
    /// The number of attempts so far.
    pub attempts: u64,
    /// The status of the answer to each of the last hundred attempts. `null` if there was no answer.
    pub answers: Vec<Option<u16>>,
    /// The body.
    pub body: Value,
}

/// What became of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WebhookState {
    /// It was not answered with 200 yet, and is tried again.
    Pending,
    /// It was answered with 200.
    Delivered,
    /// It is never posted, because too many others are pending.
    Dropped,
}

/// Why webhooks are not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotPosted {
    #[error("nothing is posted, because the simulator has no app: PUT /app sets it")]
    NoApp,
    #[error("nothing is posted, because too many webhooks are pending")]
    Full,
}

/// The webhooks of the simulator. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Webhooks {
    app: Arc<Mutex<Option<SimulatedApp>>>,
    ledger: Ledger<Posted>,
    count: Arc<AtomicU64>,
    series: mpsc::Sender<Series>,
}

/// The task that posts webhooks. Dropping it ends all attempts.
#[derive(Debug)]
pub(super) struct Poster(JoinHandle<()>);

impl Drop for Poster {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Webhooks that are posted one after another: each one when the one before it is delivered.
#[derive(Debug)]
struct Series {
    delay: Duration,
    webhooks: Vec<(u64, Bytes)>,
    delivered: oneshot::Sender<()>,
}

/// Webhooks on their way.
pub(super) struct OnTheWay {
    pub(super) numbers: Vec<u64>,
    delivered: oneshot::Receiver<()>,
}

impl OnTheWay {
    /// Waits until the webhooks are delivered, at most five seconds.
    pub(super) async fn delivered(self) {
        let _ = timeout(PATIENCE, self.delivered).await;
    }
}

impl Webhooks {
    pub(super) fn start() -> (Self, Poster) {
        let (series, waiting) = mpsc::channel(MOST_WAITING);
        let (app, count) = Default::default();
        let webhooks = Self { app, ledger: Ledger::new(), count, series };
        let poster = post_all(waiting, Arc::clone(&webhooks.app), webhooks.ledger.clone());
        (webhooks, Poster(tokio::spawn(poster)))
    }

    pub(super) const fn ledger(&self) -> &Ledger<Posted> {
        &self.ledger
    }

    pub(super) fn set_app(&self, app: SimulatedApp) {
        *self.app.lock().unwrap_or_else(PoisonError::into_inner) = Some(app);
    }

    pub(super) fn has_app(&self) -> bool {
        current(&self.app).is_some()
    }

    /// Posts the webhooks, one after another, after a delay.
    pub(super) fn post(&self, delay: Duration, bodies: Vec<Value>) -> Result<OnTheWay, NotPosted> {
        if !self.has_app() {
            return Err(NotPosted::NoApp);
        }
        let place = self.series.try_reserve();
        let state = if place.is_ok() { WebhookState::Pending } else { WebhookState::Dropped };
        let webhooks: Vec<_> = bodies.into_iter().map(|body| self.record(body, state)).collect();
        let place = place.map_err(|_| NotPosted::Full)?;
        let numbers = webhooks.iter().map(|(number, _)| *number).collect();
        let (tell, delivered) = oneshot::channel();
        place.send(Series { delay, webhooks, delivered: tell });
        Ok(OnTheWay { numbers, delivered })
    }

    fn record(&self, body: Value, state: WebhookState) -> (u64, Bytes) {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = Bytes::from(body.to_string());
        let webhook = Posted { number, at: now(), state, attempts: 0, answers: vec![], body };
        self.ledger.change(|all| {
            if all.len() >= MOST_SHOWN {
                all.remove(0);
            }
            all.push(webhook);
        });
        (number, bytes)
    }
}

fn current(app: &Mutex<Option<SimulatedApp>>) -> Option<SimulatedApp> {
    app.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn post_all(
    mut waiting: mpsc::Receiver<Series>,
    app: Arc<Mutex<Option<SimulatedApp>>>,
    ledger: Ledger<Posted>,
) {
    let places = Arc::new(Semaphore::new(MOST_ATTEMPTS));
    // This task owns the series, so its end also ends them.
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            series = waiting.recv(), if running.len() < MOST_RUNNING => {
                let Some(series) = series else { return };
                running.spawn(post_series(series, Arc::clone(&places), Arc::clone(&app), ledger.clone()));
            }
            Some(_) = running.join_next() => {}
        }
    }
}

async fn post_series(
    series: Series,
    places: Arc<Semaphore>,
    app: Arc<Mutex<Option<SimulatedApp>>>,
    ledger: Ledger<Posted>,
) {
    sleep(series.delay).await;
    for (number, body) in series.webhooks {
        for wait in waits() {
            let answer = attempt(&places, &app, body.clone()).await;
            ledger.change(|all| attempted(all, number, answer));
            if answer == Some(200) {
                break;
            }
            sleep(wait).await;
        }
    }
    let _ = series.delivered.send(());
}

/// Posts the bytes to the app of this moment, which may have a new URL or a new secret.
async fn attempt(places: &Semaphore, app: &Mutex<Option<SimulatedApp>>, body: Bytes) -> Option<u16> {
    let _place = places.acquire().await.ok()?;
    let app = current(app)?;
    timeout(ATTEMPT, app.post(body)).await.ok()?.ok()
}

/// The waits between attempts. They never end.
fn waits() -> impl Iterator<Item = Duration> {
    successors(Some(FIRST_WAIT), |wait| Some(LONGEST_WAIT.min(*wait * 2)))
}

fn attempted(all: &mut [Posted], number: u64, answer: Option<u16>) {
    let Some(webhook) = all.iter_mut().rev().find(|webhook| webhook.number == number) else { return };
    webhook.attempts += 1;
    if webhook.answers.len() == MOST_ANSWERS {
        webhook.answers.remove(0);
    }
    webhook.answers.push(answer);
    if answer == Some(200) {
        webhook.state = WebhookState::Delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_hexadecimal_hmac_of_the_bytes() {
        let app = SimulatedApp {
            app_id: "1".to_owned(),
            app_secret: "Jefe".to_owned(),
            webhook_url: "http://127.0.0.1".to_owned(),
        };
        // RFC 4231, test case 2.
        assert_eq!(
            app.signature(b"what do ya want for nothing?").unwrap(),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn the_waits_double_up_to_ten_seconds() {
        let waits: Vec<u128> = waits().take(8).map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    }

    #[tokio::test]
    async fn webhooks_beyond_the_limit_are_dropped_and_shown() {
        let (webhooks, _poster) = Webhooks::start();
        assert_eq!(webhooks.post(Duration::ZERO, vec![]).err(), Some(NotPosted::NoApp));
        webhooks.set_app(SimulatedApp {
            app_id: "1".to_owned(),
            app_secret: "s".to_owned(),
            webhook_url: "http://127.0.0.1:1/".to_owned(),
        });
        // The poster does not run before this task waits.
        for _ in 0..MOST_WAITING {
            assert!(webhooks.post(Duration::ZERO, vec![Value::Null]).is_ok());
        }
        assert_eq!(webhooks.post(Duration::ZERO, vec![Value::Null]).err(), Some(NotPosted::Full));
        let shown = webhooks.ledger().entries();
        assert_eq!((shown.len(), shown[0].number), (MOST_SHOWN, 2));
        assert_eq!(shown[MOST_SHOWN - 1].state, WebhookState::Dropped);
    }

    #[test]
    fn an_app_needs_its_id_its_secret_and_an_http_url() {
        let check = |id: &str, secret: &str, url: &str| {
            let [app_id, app_secret, webhook_url] = [id, secret, url].map(str::to_owned);
            SimulatedApp { app_id, app_secret, webhook_url }.check().is_ok()
        };
        assert!(check("1", "s", "http://127.0.0.1:9/api/v1/whatsapp/1"));
        let wrong =
            [("", "s", "http://h/"), ("1", "", "http://h/"), ("1", "s", "https://h/"), ("1", "s", "/x")];
        for (id, secret, url) in wrong {
            assert!(!check(id, secret, url), "{id} {secret} {url}");
        }
    }
}
