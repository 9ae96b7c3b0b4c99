//! WhatsApp: it accepts messages or does not, and says later what became of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use domain::message::Piece;
use domain::{MessageBody, MessageStatus, PartId, Reached, WorkspaceId};
use harness::{ACCEPTED, NO_ANSWER, answered};
use provider::{Call, CallOutcome, Meaning, Outgoing, Provider, Sent, meaning};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::faults::{Faults, WHO, Who};

/// A call, in the order of the calls.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) part: PartId,
    pub(crate) channel: String,
    pub(crate) token: String,
    pub(crate) to: String,
    /// The text, the name of the template, or the link to the file without its signature.
    pub(crate) what: String,
    /// The text below the file.
    caption: Option<String>,
    /// How the call ended for the sender; `None` if the sender died before.
    pub(crate) outcome: Option<CallOutcome>,
    /// The id that WhatsApp gave the message, if it accepted it, whether the sender learned of it or not.
    pub(crate) wamid: Option<String>,
    pub(crate) at: Instant,
    /// The sender, and how many of its calls had failed before this one.
    pub(crate) who: Who,
    troubles: u64,
}

impl Called {
    /// Whether the sender died or a call of it failed after this one, so it may have been unable to record the outcome.
    pub(crate) fn may_be_unrecorded(&self) -> bool {
        self.outcome.is_none() || self.who.troubles() > self.troubles
    }

    /// Whether the answer allows another call.
    pub(crate) fn may_be_repeated(&self) -> bool {
        let meaning = self.outcome.map(meaning);
        matches!(meaning, Some(Meaning::Retry | Meaning::Throttled | Meaning::RecipientThrottled))
    }

    /// Whether the call had this content.
    pub(crate) fn has(&self, piece: Piece<'_>, workspace: WorkspaceId) -> bool {
        match piece {
            Piece::Text(text) => self.what == text.as_str(),
            Piece::Media(file, caption) => {
                self.what.ends_with(&format!(".amazonaws.com/{workspace}/{}", file.media))
                    && self.caption.as_deref() == caption.map(MessageBody::as_str)
            }
            Piece::Template(_) => self.caption.is_none(),
        }
    }
}

/// The provider of all lines.
#[derive(Clone)]
pub(crate) struct WhatsApp {
    faults: Arc<Faults>,
    state: Rc<RefCell<State>>,
    /// Told when there is something to tell by webhook.
    pub(crate) news: Rc<Notify>,
}

#[derive(Default)]
struct State {
    calls: Vec<Called>,
    /// What is still to be told by webhook: the line, and the fields of the change.
    untold: Vec<Value>,
    /// What was told of each message that was sent: the last of its statuses.
    told: BTreeMap<String, MessageStatus>,
}

impl WhatsApp {
    pub(crate) fn new(faults: Arc<Faults>) -> Self {
        Self { faults, state: Rc::default(), news: Rc::default() }
    }

    pub(crate) fn calls(&self) -> Vec<Called> {
        self.state.borrow().calls.clone()
    }

    /// What WhatsApp tells of a message that it sent, by the end of the world. `None` if it tells nothing.
    pub(crate) fn told(&self, wamid: &str) -> Option<MessageStatus> {
        self.state.borrow().told.get(wamid).copied()
    }

    /// What is to be told by webhook, each with the line's channel.
    pub(crate) fn take_untold(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.borrow_mut().untold)
    }

    /// Will tell this by webhook.
    pub(crate) fn tells(&self, change: Value) {
        self.state.borrow_mut().untold.push(change);
        self.news.notify_one();
    }
}

impl Provider for WhatsApp {
    async fn send(&self, call: Call<'_>) -> Sent {
        let random = self.faults.random.clone();
        let who = WHO.with(Who::clone);
        let ends = if self.faults.strikes(self.faults.levels.others) { random.within(1, 8) } else { 0 };
        let dies = self.faults.strikes(self.faults.levels.death).then(|| random.happens(500));
        // Whether WhatsApp has the message, and what the sender learns.
        let (is_accepted, outcome) = match ends {
            1 => (false, CallOutcome::NeverConnected),
            2 => (random.happens(500), NO_ANSWER),
            3 => (false, answered(429, 130_429)),
            4 => (false, answered(400, 131_056)),
            5 => (false, answered(500, 1)),
            6 => (random.happens(500), answered(502, 99)),
            7 => (false, answered(400, 131_026)),
            _ => (true, ACCEPTED),
        };
        let is_accepted = is_accepted && dies != Some(false);
        let number = {
            let mut state = self.state.borrow_mut();
            let number = state.calls.len();
            state.calls.push(Called {
                part: call.part,
                channel: call.channel.as_str().to_owned(),
                token: call.token.expose().to_owned(),
                to: call.to.as_str().to_owned(),
                what: match call.what {
                    Outgoing::Text(text) => text.clone(),
                    Outgoing::Template { name, .. } => name.clone(),
                    Outgoing::Media { link, .. } => link.split('?').next().unwrap_or_default().to_owned(),
                },
                caption: match call.what {
                    Outgoing::Media { caption, .. } => caption.clone(),
                    Outgoing::Text(_) | Outgoing::Template { .. } => None,
                },
                outcome: None,
                at: Instant::now(),
                wamid: is_accepted.then(|| format!("wamid.{number}")),
                troubles: who.troubles(),
                who: who.clone(),
            });
            number
        };
        let to = call.to.as_str().trim_start_matches('+').to_owned();
        self.faults.trace.note(format_args!("call {number} {} to {to}: {ends} {dies:?}", call.part));
        sleep(Duration::from_millis(random.within(20, if ends == 8 { 9_500 } else { 400 }))).await;
        if is_accepted {
            let statuses = [
                ("sent", MessageStatus::Sent),
                ("delivered", MessageStatus::Delivered),
                ("read", MessageStatus::Read),
            ];
            let known = random.within(0, 3);
            for (status, is) in statuses.into_iter().take(usize::try_from(known).unwrap_or_default()) {
                self.state.borrow_mut().told.insert(format!("wamid.{number}"), is);
                self.tells(json!({
                    "line": call.channel.as_str(),
                    "statuses": [{
                        "id": format!("wamid.{number}"), "status": status, "recipient_id": to,
                        "biz_opaque_callback_data": call.part.to_string(),
                    }],
                }));
            }
        }
        if dies.is_some() {
            who.clone().die::<()>().await;
        }
        if outcome == NO_ANSWER {
            sleep(crate::times::CALL).await;
        }
        self.state.borrow_mut().calls[number].outcome = Some(outcome);
        let message_id = (outcome == ACCEPTED).then(|| format!("wamid.{number}"));
        Sent { outcome, message_id, is_held: false, reached: Reached::default(), detail: None }
    }

    fn with_new_connections(&self) -> Self {
        self.clone()
    }
}
