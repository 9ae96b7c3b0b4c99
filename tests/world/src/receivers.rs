//! The tenants' endpoints: they verify what they get, and answer well or badly.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::webhook::SigningSecret;
use domain::{AttemptError, EndpointSecrets, WorkspaceId};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::time::{Instant, sleep};
use webhook_delivery::{Answer, Post, Transport, Unanswered};

use crate::faults::{Faults, WHO, Who};

/// An event that a receiver acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) body: Value,
}

/// The receivers of all tenants, by URL.
#[derive(Clone)]
pub(crate) struct Receivers {
    faults: Arc<Faults>,
    all: Rc<RefCell<BTreeMap<String, Receiver>>>,
    /// What was wrong with a post.
    broken: Rc<RefCell<Vec<String>>>,
    posts: Rc<RefCell<Vec<Posted>>>,
    /// How many posts were answered with 200, by workspace.
    answered: Rc<RefCell<BTreeMap<WorkspaceId, u64>>>,
    in_flight: InFlight,
}

/// The posts that are in flight: the URL, and the id of what the event is about.
type InFlight = Rc<RefCell<BTreeSet<(String, String)>>>;

/// A post in flight. It ends with its answer or with its worker.
struct UnderWay {
    of: (String, String),
    all: InFlight,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.all.borrow_mut().remove(&self.of);
    }
}

/// A post, whatever became of it.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) url: String,
    pub(crate) workspace: WorkspaceId,
    /// When the invocation began that posted.
    pub(crate) begun: Instant,
    pub(crate) at: Instant,
}

struct Receiver {
    workspace: WorkspaceId,
    /// The secrets that were told: none at first, several after a rotation.
    secrets: Vec<SigningSecret>,
    /// The keys with which the service may call: several after a change.
    keys: Vec<String>,
    /// Whether it says at times that it is gone.
    is_switched: bool,
    /// Whether its secret may be rotated. Then several sign.
    rotates: bool,
    acknowledged: Vec<Event>,
}

impl Receivers {
    pub(crate) fn new(faults: Arc<Faults>) -> Self {
        let (broken, posts, in_flight) = (Rc::default(), Rc::default(), Rc::default());
        Self { faults, all: Rc::default(), broken, posts, answered: Rc::default(), in_flight }
    }

    pub(crate) fn add(&self, url: &str, workspace: WorkspaceId, secrets: EndpointSecrets, is_switched: bool) {
        self.announce(url, workspace, secrets.api_key.expose());
        self.tell(url, secrets.signing.active);
        self.change(url, |receiver| (receiver.is_switched, receiver.rotates) = (is_switched, false));
    }

    /// A receiver that does not know its secrets yet, and accepts nothing.
    pub(crate) fn announce(&self, url: &str, workspace: WorkspaceId, key: &str) {
        let (secrets, keys, acknowledged) = (vec![], vec![key.to_owned()], vec![]);
        let (is_switched, rotates) = (false, true);
        let receiver = Receiver { workspace, secrets, keys, is_switched, rotates, acknowledged };
        self.all.borrow_mut().insert(url.to_owned(), receiver);
    }

    /// From now on, the receiver knows this secret too.
    pub(crate) fn tell(&self, url: &str, secret: SigningSecret) {
        self.change(url, |receiver| receiver.secrets.push(secret));
    }

    /// From now on, the receiver accepts this key too.
    pub(crate) fn accept(&self, url: &str, key: &str) {
        self.change(url, |receiver| receiver.keys.push(key.to_owned()));
    }

    /// The receiver at the first URL also has the second one from now on.
    pub(crate) fn move_to(&self, url: &str, next: &str) {
        let (workspace, secrets, keys) = {
            let all = self.all.borrow();
            let Receiver { workspace, secrets, keys, .. } = &all[url];
            (*workspace, secrets.clone(), keys.clone())
        };
        self.announce(next, workspace, "");
        self.change(next, |receiver| (receiver.secrets, receiver.keys) = (secrets, keys));
    }

    fn change(&self, url: &str, change: impl FnOnce(&mut Receiver)) {
        if let Some(receiver) = self.all.borrow_mut().get_mut(url) {
            change(receiver);
        }
    }

    pub(crate) fn posts(&self) -> Vec<Posted> {
        self.posts.borrow().clone()
    }

    /// How many posts for a workspace were answered with 200.
    pub(crate) fn answered_well(&self, workspace: WorkspaceId) -> u64 {
        self.answered.borrow().get(&workspace).copied().unwrap_or_default()
    }

    /// The events that a receiver acknowledged, in their order, some more than once.
    pub(crate) fn acknowledged(&self, url: &str) -> Vec<Event> {
        self.all.borrow()[url].acknowledged.clone()
    }

    pub(crate) fn broken(&self) -> Vec<String> {
        self.broken.borrow().clone()
    }

    /// Notes that a post is in flight. Another one about the same contact, conversation, message or lead must not be. An
    /// event that is left of an erased person names nobody.
    fn begin(&self, url: &str, event: &Event) -> Option<UnderWay> {
        let is_left =
            ["contact.erased", "event.redacted"].map(Value::from).contains(&event.body["eventType"]);
        let about = event.body["payload"]["id"].as_str().filter(|_| !is_left)?;
        let of = (url.to_owned(), about.to_owned());
        if !self.in_flight.borrow_mut().insert(of.clone()) {
            self.broken.borrow_mut().push(format!("{url} got two posts about {about} at the same time"));
            return None;
        }
        Some(UnderWay { of, all: self.in_flight.clone() })
    }

    /// Verifies a post as a receiver does. Returns the event.
    fn verified(receiver: &Receiver, headers: &BTreeMap<&str, String>, body: &[u8]) -> Result<Event, String> {
        let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
        let mac = |key: &[u8], text: &[u8]| {
            let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes every key");
            mac.update(text);
            mac.finalize().into_bytes()
        };
        let legacy = |secret: &SigningSecret| {
            let mac = domain::encoding::hex(&mac(secret.expose().as_bytes(), body));
            header("x-service-signature") == format!("sha256={mac}")
        };
        if !receiver.secrets.iter().any(legacy) {
            return Err("a wrong signature of the body".to_owned());
        }
        if !receiver.keys.contains(&header("x-service-api-key")) {
            return Err("another tenant's key".to_owned());
        }
        let (id, at) = (header("webhook-id"), header("webhook-timestamp"));
        let signed = [id.as_bytes(), b".", at.as_bytes(), b".", body].concat();
        let signatures = header("webhook-signature");
        let signatures: Vec<&str> = signatures.split(' ').collect();
        let standard = |secret: &SigningSecret| {
            let signature = format!("v1,{}", STANDARD.encode(mac(&secret.key_bytes(), &signed)));
            signatures.contains(&signature.as_str())
        };
        let is_signed = receiver.secrets.iter().any(standard);
        if !is_signed || signatures.len() > 1 && !receiver.rotates {
            return Err("a wrong standard signature".to_owned());
        }
        let json: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if json["eventId"] != id.as_str() || json["workspaceId"] != receiver.workspace.to_string() {
            return Err(format!("another event or tenant: {json}"));
        }
        Ok(Event { id, body: json })
    }
}

impl Transport for Receivers {
    async fn post(&self, post: Post<'_>) -> Result<Answer, Unanswered> {
        let random = self.faults.random.clone();
        let level = self.faults.levels.others;
        let ends = match self.faults.strikes(level) {
            true => random.within(1, 8),
            false => 0,
        };
        let dies = self.faults.strikes(self.faults.levels.death);
        let url = post.url.as_str().to_owned();
        let headers: BTreeMap<&str, String> =
            post.headers.iter().map(|(name, value)| (*name, value.expose().to_owned())).collect();
        let event = match self.all.borrow().get(&url) {
            Some(receiver) => {
                let (begun, at) = (WHO.with(|who| who.begun), Instant::now());
                let posted = Posted { url: url.clone(), workspace: receiver.workspace, begun, at };
                self.posts.borrow_mut().push(posted);
                if receiver.secrets.is_empty() {
                    return Ok(Answer { status: 500, retry_after: None, body: vec![] });
                }
                Self::verified(receiver, &headers, post.body)
            }
            None => Err("an unknown URL".to_owned()),
        };
        let id = headers.get("webhook-id").cloned().unwrap_or_default();
        self.faults.trace.note(format_args!("post {url} {id} ends {ends} dies {dies}"));
        let event = match event {
            Ok(event) => event,
            Err(wrong) => {
                self.broken.borrow_mut().push(format!("{url} got {wrong}"));
                return Err(Unanswered::NotSent);
            }
        };
        let _under_way = self.begin(&url, &event);
        sleep(Duration::from_millis(random.within(5, if ends == 6 { 29_000 } else { 300 }))).await;
        // A receiver may have processed an event whose answer is lost: only 2xx answers that arrive count.
        let answer = |status| Ok(Answer { status, retry_after: None, body: vec![] });
        if dies {
            WHO.with(Who::clone).die::<()>().await;
        }
        match ends {
            1 => answer(500),
            2 => {
                sleep(Duration::from_secs(30)).await;
                Err(Unanswered::Failed(AttemptError::Timeout))
            }
            3 => Err(Unanswered::Failed(AttemptError::ConnectFailed)),
            4 => Err(Unanswered::NotSent),
            7 if self.all.borrow().get(&url).is_some_and(|receiver| receiver.is_switched) => answer(410),
            5 => Ok(Answer { status: 429, retry_after: Some("7".to_owned()), body: vec![] }),
            _ => {
                if let Some(receiver) = self.all.borrow_mut().get_mut(&url) {
                    *self.answered.borrow_mut().entry(receiver.workspace).or_default() += 1;
                    receiver.acknowledged.push(event);
                }
                answer(200)
            }
        }
    }
}
