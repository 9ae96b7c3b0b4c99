//! WhatsApp: it accepts messages or does not, and says later what became of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use domain::message::Piece;
use domain::{MessageBody, MessageStatus, PartId, Reached, WorkspaceId};
use harness::{ACCEPTED, NO_ANSWER, answered};
use local::simulator::Templates;
use provider::{Call, CallOutcome, Meaning, Outgoing, Provider, Sent, body, meaning};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::faults::{Faults, WHO, Who};
use crate::order::Order;
use crate::phones::Phone;

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
    /// Whether it is a template.
    pub(crate) is_template: bool,
    /// How much had been recorded about choices and calls.
    pub(crate) recorded: usize,
}

impl Called {
    /// Whether the sender died or a call of it failed after this one, so it may have been unable to record the outcome.
    pub(crate) fn may_be_unrecorded(&self) -> bool {
        self.outcome.is_none() || self.who.troubles() > self.troubles
    }

    /// Whether the answer allows another call.
    pub(crate) fn may_be_repeated(&self) -> bool {
        let meaning = self.outcome.map(meaning);
        let may_be =
            [Meaning::Retry, Meaning::TemplatePaused, Meaning::Throttled, Meaning::RecipientThrottled];
        meaning.is_some_and(|meaning| may_be.contains(&meaning))
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
    /// The templates of the tenants' account.
    registry: Arc<Templates>,
    state: Rc<RefCell<State>>,
    /// Told when there is something to tell by webhook.
    pub(crate) news: Rc<Notify>,
}

/// Who has a phone.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub(crate) phone: Phone,
    /// The id for the businesses of the account.
    pub(crate) user: Option<String>,
    /// Whether businesses do not get the number from the id.
    pub(crate) hides: bool,
}

#[derive(Default)]
struct State {
    calls: Vec<Called>,
    /// The phones with two written forms that anybody has or had.
    phones: Vec<Phone>,
    subscribers: Vec<Subscriber>,
    /// What is still to be told by webhook: the line, and the fields of the change.
    untold: Vec<Value>,
    /// What was told of each message that was sent: the last of its statuses.
    told: BTreeMap<String, MessageStatus>,
}

impl Subscriber {
    /// Whether this is the number or the id.
    fn is(&self, to: &str) -> bool {
        self.phone.is(to) || self.user.as_deref() == Some(to)
    }
}

impl WhatsApp {
    pub(crate) fn new(faults: Arc<Faults>, registry: Arc<Templates>) -> Self {
        Self { faults, registry, state: Rc::default(), news: Rc::default() }
    }

    pub(crate) fn registry(&self) -> &Arc<Templates> {
        &self.registry
    }

    pub(crate) fn calls(&self) -> Vec<Called> {
        self.state.borrow().calls.clone()
    }

    /// Somebody has a phone from now on, and nobody else, or somebody has it in another way.
    pub(crate) fn subscribes(&self, subscriber: Subscriber) {
        let mut state = self.state.borrow_mut();
        state
            .subscribers
            .retain(|of| of.phone != subscriber.phone && (of.user.is_none() || of.user != subscriber.user));
        state.phones.push(subscriber.phone.clone());
        state.subscribers.push(subscriber);
    }

    /// Nobody has a phone any more.
    pub(crate) fn is_left(&self, phone: &Phone) {
        self.state.borrow_mut().subscribers.retain(|of| of.phone != *phone);
    }

    /// Whether an address is one of the people with two written forms of a number.
    pub(crate) fn is_of_subscriber(&self, to: &str) -> bool {
        let state = self.state.borrow();
        state.phones.iter().any(|phone| phone.is(to))
            || !to.starts_with(|first: char| first == '+' || first.is_ascii_digit())
    }

    /// Whether nobody has this number, or the user is gone.
    fn is_vacant(&self, to: &str) -> bool {
        let state = self.state.borrow();
        let is_there = state.subscribers.iter().any(|of| of.is(to));
        drop(state);
        self.is_of_subscriber(to) && !is_there
    }

    /// The ids that an answer names.
    fn reached(&self, to: &str) -> Reached {
        let state = self.state.borrow();
        let Some(of) = state.subscribers.iter().find(|of| of.is(to)) else { return Reached::default() };
        let is_dialled = of.phone.is(to);
        let names_user = !is_dialled || self.faults.random.happens(500);
        Reached::named(
            (is_dialled || !of.hides).then_some(of.phone.provider.as_str()),
            of.user.as_deref().filter(|_| names_user),
        )
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
        let message = body(call.to, call.what, call.answers, call.part);
        let refused = self.registry.judge(call.channel.as_str(), &message).err().map(|fault| fault.code);
        // Whether WhatsApp has the message, and what the sender learns.
        let (is_accepted, outcome) = match ends {
            1 => (false, CallOutcome::NeverConnected),
            2 => (random.happens(500), NO_ANSWER),
            3 => (false, answered(429, 130_429)),
            4 => (false, answered(400, 131_056)),
            5 => (false, answered(500, 1)),
            6 => (random.happens(500), answered(502, 99)),
            7 => (false, answered(400, 131_026)),
            _ if let Some(code) = refused => (false, answered(400, code)),
            _ if self.is_vacant(call.to.as_str()) => (false, answered(400, 131_026)),
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
                is_template: matches!(call.what, Outgoing::Template { .. }),
                recorded: self.faults.of_order(Order::len).unwrap_or_default(),
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
        let reached = message_id.as_ref().map(|_| self.reached(call.to.as_str())).unwrap_or_default();
        Sent { outcome, message_id, is_held: false, reached, detail: None }
    }

    fn with_new_connections(&self) -> Self {
        self.clone()
    }
}
