//! Random histories of several concurrent writers and a reader of one conversation. Each test checks that some
//! sequential order of the same requests explains all answers: no update is lost, and no reader sees a state that
//! never existed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use edge::Api;
use harness::{Answer, Fault};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};

use crate::{Conversations, email, phone, with};

/// The fields of a conversation that the requests change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    name: Option<String>,
    status: String,
    externals: Vec<String>,
    internals: Vec<String>,
}

/// One request; `None` for a GET.
type Request = Option<Update>;

/// A PATCH in the model.
#[derive(Clone, Debug, Default)]
struct Update {
    name: Option<Option<&'static str>>,
    status: Option<&'static str>,
    externals: Changes,
    internals: Changes,
}

#[derive(Clone, Debug, Default)]
struct Changes {
    add: Vec<&'static str>,
    remove: Vec<&'static str>,
}

const NUMBERS: [&str; 4] = ["+34600111200", "+34600111201", "+34600111202", "+34600111203"];
const AGENTS: [&str; 3] = ["0@x.io", "1@x.io", "2@x.io"];

impl State {
    fn shown(conversation: &Value) -> Self {
        let all = |side: &str| {
            let all = conversation["participants"][side].as_array().unwrap().iter();
            all.map(|one| one["identifier"].as_str().unwrap().to_owned()).collect()
        };
        Self {
            name: conversation["name"].as_str().map(str::to_owned),
            status: conversation["status"].as_str().unwrap().to_owned(),
            externals: all("externals"),
            internals: all("internals"),
        }
    }

    /// The state after a request, which is also its answer; or its refusal.
    fn after(&self, request: &Request) -> Result<Self, String> {
        let Some(update) = request else { return Ok(self.clone()) };
        let next = Self {
            name: update.name.map_or(self.name.clone(), |name| name.map(str::to_owned)),
            status: update.status.unwrap_or(&self.status).to_owned(),
            externals: update.externals.after(&self.externals),
            internals: update.internals.after(&self.internals),
        };
        if next.externals.is_empty() { Err("SERVICE_CONVERSATION_0609".to_owned()) } else { Ok(next) }
    }
}

impl Changes {
    fn after(&self, before: &[String]) -> Vec<String> {
        let stays = |one: &String| self.add.contains(&one.as_str()) || !self.remove.contains(&one.as_str());
        let mut after: Vec<String> = before.iter().filter(|one| stays(one)).cloned().collect();
        for added in &self.add {
            if !after.iter().any(|one| one == added) {
                after.push((*added).to_owned());
            }
        }
        after
    }

    fn body(&self, named: fn(&str) -> Value) -> Value {
        let all = |names: &[&str]| -> Value { names.iter().map(|name| named(name)).collect() };
        json!({"add": all(&self.add), "remove": all(&self.remove)})
    }
}

impl Update {
    fn body(&self) -> Value {
        let mut body = json!({"participants": {
            "externals": self.externals.body(phone),
            "internals": self.internals.body(email),
        }});
        if let Some(name) = self.name {
            body["name"] = json!(name);
        }
        if let Some(status) = self.status {
            body["status"] = json!(status);
        }
        body
    }
}

/// A generator of reproducible random numbers.
struct Rng(u64);

impl Rng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn some(&mut self, of: &[&'static str], one_in: usize) -> Vec<&'static str> {
        of.iter().copied().filter(|_| self.roll(one_in) == 0).collect()
    }

    fn changes(&mut self, of: &[&'static str]) -> Changes {
        Changes { add: self.some(of, 4), remove: self.some(of, 4) }
    }

    fn request(&mut self) -> Request {
        if self.roll(6) == 0 {
            return None;
        }
        Some(Update {
            name: [None, None, Some(None), Some(Some("a")), Some(Some("b"))][self.roll(5)],
            status: [None, None, None, Some("ACTIVE"), Some("RELEASED")][self.roll(5)],
            externals: self.changes(&NUMBERS),
            internals: self.changes(&AGENTS),
        })
    }
}

/// A request with its start and end on a clock that ticks at each.
#[derive(Debug)]
struct Done {
    request: Request,
    sent: u64,
    answered: u64,
    answer: Result<State, String>,
}

fn answer_of(answer: &Answer) -> Result<State, String> {
    match answer.status {
        200 => Ok(State::shown(&answer.json)),
        _ => Err(answer.json["code"].as_str().unwrap().to_owned()),
    }
}

/// Whether the rest of a history has an order that explains each answer. The order must keep each request that was
/// answered before another was sent.
fn is_explained(history: &[Done], done: u32, state: &State, tried: &mut HashSet<(u32, State)>) -> bool {
    if done.count_ones() as usize == history.len() {
        return true;
    }
    if !tried.insert((done, state.clone())) {
        return false;
    }
    let open = |at: usize| done & (1 << at) == 0;
    let first_answered = (0..history.len()).filter(|at| open(*at)).map(|at| history[at].answered).min();
    (0..history.len()).filter(|at| open(*at) && Some(history[*at].sent) < first_answered).any(|at| {
        let expected = state.after(&history[at].request);
        let next = expected.as_ref().unwrap_or(state).clone();
        expected == history[at].answer && is_explained(history, done | 1 << at, &next, tried)
    })
}

/// One history: each of this number of writers sends its requests one after another, in two processes. A last read
/// follows.
async fn history(f: &Conversations, rng: &mut Rng, writers: usize, each: usize) -> (State, Vec<Done>) {
    let made = f.made(&with(NUMBERS[0], json!({}))).await;
    let id = made["id"].as_str().unwrap();
    let (ticks, second) = (AtomicU64::new(0), f.world.api(ApiFunction::Conversations));
    let tick = || ticks.fetch_add(1, Ordering::SeqCst);
    let send = async |api: &Api, request: Request| {
        let event = match &request {
            Some(update) => f.patched(id, &update.body()),
            None => f.world.event("conversations-get.json").path("conversationId", id),
        };
        let sent = tick();
        // The future is boxed, because all requests together would make a very deep type.
        let answer = f.send_to(api, event).await;
        Done { request, sent, answered: tick(), answer: answer_of(&answer) }
    };
    let requests: Vec<Vec<Request>> =
        (0..writers).map(|_| (0..each).map(|_| rng.request()).collect()).collect();
    f.world.db.fail("TransactWriteItems", Fault::Conflict, rng.roll(3));
    let writers = requests.into_iter().enumerate().map(async |(writer, requests)| {
        let api = if writer % 2 == 0 { &f.api } else { &second };
        let mut done = vec![];
        for request in requests {
            done.push(send(api, request).await);
        }
        done
    });
    let done = futures::future::join_all(writers).await;
    let mut history: Vec<Done> = done.into_iter().flatten().collect();
    history.push(send(&f.api, None).await);
    (State::shown(&made), history)
}

#[tokio::test]
async fn every_history_of_concurrent_updates_has_a_sequential_order() {
    let f = Conversations::start().await;
    for agent in AGENTS {
        f.world.user(agent, |_| ()).await;
    }
    let mut rng = Rng(7);
    let (mut overlapping, mut refused) = (0, 0);
    for round in 0..20 {
        let (begun, history) = history(&f, &mut rng, 5, 4).await;
        overlapping += history.windows(2).filter(|pair| pair[1].sent < pair[0].answered).count();
        refused += history.iter().filter(|done| done.answer.is_err()).count();
        assert!(is_explained(&history, 0, &begun, &mut HashSet::new()), "history {round}: {history:#?}");
    }
    assert!(
        overlapping > 30 && refused > 3,
        "the histories have overlaps and refusals: {overlapping}, {refused}"
    );
}

#[test]
fn a_history_with_a_lost_update_or_a_stale_answer_has_no_sequential_order() {
    let begun = State {
        name: None,
        status: "ACTIVE".to_owned(),
        externals: vec![NUMBERS[0].to_owned()],
        internals: vec![],
    };
    let rename = |name| Some(Update { name: Some(Some(name)), ..Update::default() });
    let add = || {
        let externals = Changes { add: vec![NUMBERS[1]], remove: vec![] };
        Some(Update { externals, ..Update::default() })
    };
    let done = |request: Request, sent, answered, answer: &State| Done {
        request,
        sent,
        answered,
        answer: Ok(answer.clone()),
    };
    let named = begun.after(&rename("a")).unwrap();
    let added = begun.after(&add()).unwrap();
    let both = named.after(&add()).unwrap();
    let explained = |history: &[Done]| is_explained(history, 0, &begun, &mut HashSet::new());
    assert!(explained(&[done(rename("a"), 0, 3, &named), done(add(), 1, 2, &both), done(None, 4, 5, &both)]));
    // Both read the first state, and the later write won.
    assert!(!explained(&[
        done(rename("a"), 0, 3, &named),
        done(add(), 1, 2, &added),
        done(None, 4, 5, &added)
    ]));
    // A reader that starts after an answer sees the state before it.
    assert!(!explained(&[done(rename("a"), 0, 1, &named), done(None, 2, 3, &begun)]));
}
