//! What goes wrong: at every call of a function to AWS, and at the calls to others.

use std::fmt::{self, Debug, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use harness::{Fault, Turn, Turns};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::commits::{Commit, Commits};
use crate::order::Order;
use crate::queues::QUEUES;
use crate::random::Random;
use crate::taken::Taken;
use crate::trace::Trace;

tokio::task_local! {
    /// The invocation to which the code that runs belongs.
    pub(crate) static WHO: Who;
}

/// An invocation of a function.
#[derive(Clone)]
pub(crate) struct Who {
    pub(crate) begun: tokio::time::Instant,
    /// The function, and the number of the invocation.
    pub(crate) name: Arc<str>,
    /// Told when the process dies.
    pub(crate) killed: Arc<Notify>,
    /// How many of its calls failed, or were so late that a lease may have ended.
    troubles: Arc<AtomicU64>,
    /// Calls that still fail in the same way as the last one: an outage and not a hiccup.
    failing: Arc<Mutex<Option<(Fault, u64)>>>,
}

impl Who {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            begun: tokio::time::Instant::now(),
            name: name.into(),
            killed: Arc::default(),
            troubles: Arc::default(),
            failing: Arc::default(),
        }
    }

    /// How many of its calls failed or stalled so far. A process that died or ran out of time has one more.
    pub(crate) fn troubles(&self) -> u64 {
        self.troubles.load(Ordering::SeqCst)
    }

    pub(crate) fn is_troubled(&self) {
        self.troubles.fetch_add(1, Ordering::SeqCst);
    }

    /// Kills the process. The returned future never ends.
    pub(crate) async fn die<T>(self) -> T {
        self.is_troubled();
        self.killed.notify_one();
        std::future::pending().await
    }
}

impl Debug for Who {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// How often each thing goes wrong, in a thousand calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    /// A call fails.
    pub(crate) fault: u64,
    /// The process dies at a call.
    pub(crate) death: u64,
    /// A call takes up to eight seconds.
    pub(crate) slow: u64,
    /// A message of a queue comes twice, late, or (where the service allows it) never.
    pub(crate) queue: u64,
    /// A read of an index does not see the last seconds.
    pub(crate) lag: u64,
    /// A call to WhatsApp or to a receiver does not end well.
    pub(crate) others: u64,
    /// The greatest difference of a process's clock, in milliseconds.
    pub(crate) skew: u64,
    /// A call takes up to four minutes, as if its process was stopped for so long. Its leases end meanwhile.
    pub(crate) stall: u64,
    /// How many clients do the same at the same moment, at most. 0: nobody does.
    pub(crate) crowd: u64,
}

impl Levels {
    /// Each seed has its own mix: some worlds are calm, and few have everything.
    pub(crate) fn draw(random: &Random) -> Self {
        let level = |most: u64| if random.happens(550) { random.within(1, most) } else { 0 };
        Self {
            fault: level(60),
            death: level(12),
            slow: level(30),
            queue: level(200),
            lag: level(300),
            others: level(350),
            skew: level(4_000),
            stall: if random.happens(150) { random.within(1, 25) } else { 0 },
            crowd: if random.happens(500) { random.within(2, 4) } else { 0 },
        }
    }
}

/// The tables with streams, each as the end of its name, in the order of [`Faults::stored`].
const STREAMS: [&str; 4] = ["-contacts", "-conversations", "-messages", "-leads"];

/// Decides about all calls.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) random: Arc<Random>,
    pub(crate) trace: Arc<Trace>,
    pub(crate) levels: Levels,
    /// Told when something was queued: one for each queue. (A `watch` channel wakes its receivers in a random order.)
    pub(crate) queued: [Arc<Notify>; QUEUES.len()],
    /// Told when a table changed: one for each stream.
    pub(crate) stored: [Arc<Notify>; 5],
    over: AtomicBool,
    /// How many calls went wrong.
    pub(crate) happened: AtomicU64,
    /// When rows were written last, for indexes that lag: table and keys.
    written: Mutex<Vec<(tokio::time::Instant, Value)>>,
    /// What was recorded about choices and calls, once the world follows it.
    order: Arc<Mutex<Option<Order>>>,
    /// What jobs about persons wrote, once the world follows it.
    taken: Arc<Mutex<Option<Taken>>>,
    /// What managing functions committed, once the world follows it.
    commits: Arc<Mutex<Option<Commits>>>,
}

impl Faults {
    pub(crate) fn new(random: Arc<Random>, trace: Arc<Trace>, levels: Levels) -> Self {
        Self {
            random,
            trace,
            levels,
            queued: Default::default(),
            stored: Default::default(),
            over: AtomicBool::new(false),
            happened: AtomicU64::new(0),
            written: Mutex::default(),
            order: Arc::default(),
            taken: Arc::default(),
            commits: Arc::default(),
        }
    }

    /// From now on the order of what is recorded is known, and what jobs about persons and managing functions write.
    pub(crate) fn follow(&self, order: Order, taken: Taken, commits: Commits) {
        *self.commits.lock().unwrap_or_else(PoisonError::into_inner) = Some(commits);
        *self.order.lock().unwrap_or_else(PoisonError::into_inner) = Some(order);
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }

    /// The rows that jobs about persons wrote.
    pub(crate) fn taken(&self) -> Vec<Value> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.as_ref().map(|taken| taken.rows().to_vec()).unwrap_or_default()
    }

    /// What is wrong with the commits of managing functions.
    pub(crate) fn wrong_commits(&self) -> Vec<String> {
        let commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        commits.as_ref().map(|commits| commits.wrong().to_vec()).unwrap_or_default()
    }

    /// Asks what was recorded.
    pub(crate) fn of_order<T>(&self, ask: impl FnOnce(&Order) -> T) -> Option<T> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ask)
    }

    /// From now on nothing goes wrong.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// Whether nothing goes wrong any more.
    pub(crate) fn are_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Whether something of this level goes wrong now.
    pub(crate) fn strikes(&self, level: u64) -> bool {
        if self.are_over() || !self.random.happens(level) {
            return false;
        }
        self.happened.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Who is to be told when this operation was executed.
    fn listeners(&self, operation: &str, body: &Value) -> Vec<Arc<Notify>> {
        let of_table = |name: Option<&str>| {
            let at = STREAMS.iter().position(|table| name.is_some_and(|name| name.ends_with(table)));
            at.map(|at| self.stored[at].clone())
        };
        match operation {
            "SendMessageBatch" => self.queued.to_vec(),
            "PutItem" | "UpdateItem" | "DeleteItem" => {
                of_table(body["TableName"].as_str()).into_iter().collect()
            }
            "BatchWriteItem" | "TransactWriteItems" => self.stored.to_vec(),
            _ => vec![],
        }
    }

    fn fault(&self, who: &Who, operation: &str) -> Option<Fault> {
        let mut failing = who.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((fault, left)) = failing.take() {
            *failing = (left > 1).then(|| (fault, left - 1));
            if kinds(operation).contains(&fault) {
                return Some(fault);
            }
        }
        if !self.strikes(self.levels.fault) {
            return None;
        }
        let fault = *self.random.one_of(kinds(operation));
        // The SDK makes three attempts, and the service's own retries go on for seconds.
        if self.random.happens(400) {
            *failing = Some((fault, *self.random.one_of(&[1, 2, 5, 9])));
        }
        Some(fault)
    }

    fn latency(&self, who: &Who) -> Duration {
        if self.strikes(self.levels.stall) {
            who.is_troubled();
            return Duration::from_millis(self.random.within(30_000, 240_000));
        }
        let most = if self.strikes(self.levels.slow) { 8_000 } else { 12 };
        Duration::from_millis(self.random.within(1, most))
    }

    /// Remembers what a call may write.
    fn wrote(&self, operation: &str, body: &Value) {
        let now = tokio::time::Instant::now();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|(at, _)| now.duration_since(*at) < LAG);
        let keys = |write: &Value| {
            let of = if write["Key"].is_null() { &write["Item"] } else { &write["Key"] };
            serde_json::json!([write["TableName"], of["pk"], of["sk"]])
        };
        match operation {
            "TransactWriteItems" => {
                let items = body["TransactItems"].as_array().into_iter().flatten();
                let writes = items.filter_map(Value::as_object).flatten();
                written.extend(writes.map(|(_, write)| (now, keys(write))));
            }
            "PutItem" | "UpdateItem" => written.push((now, keys(body))),
            _ => {}
        }
    }
}

/// Tells who follows the writes, if the world follows them by now.
fn told<T>(follower: &Mutex<Option<T>>, what: impl FnOnce(&mut T)) {
    if let Some(follower) = follower.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        what(follower);
    }
}

/// How long an index does not show a row that was written.
const LAG: Duration = Duration::from_secs(3);

/// The ways in which an operation fails.
fn kinds(operation: &str) -> &'static [Fault] {
    use Fault::{AnswerLost, Conflict, HalfProcessed, ItemThrottled, Throttled, Unprocessed, Unreachable};
    match operation {
        "TransactWriteItems" => &[Throttled, Conflict, ItemThrottled, AnswerLost, AnswerLost, Unreachable],
        "PutItem" | "UpdateItem" | "DeleteItem" => {
            &[Throttled, Conflict, AnswerLost, AnswerLost, Unreachable]
        }
        "BatchGetItem" | "BatchWriteItem" => {
            &[Throttled, AnswerLost, Unreachable, Unprocessed, HalfProcessed, HalfProcessed]
        }
        _ => &[Throttled, AnswerLost, Unreachable],
    }
}

/// Whether a call may record a choice about templates, or that a call of WhatsApp begins.
fn changes_choices_or_messages(operation: &str, body: &Value) -> bool {
    match operation {
        "TransactWriteItems" | "BatchWriteItem" => true,
        "PutItem" | "UpdateItem" => {
            let table = body["TableName"].as_str().unwrap_or_default();
            ["-leads", "-messages"].iter().any(|of| table.ends_with(of))
        }
        _ => false,
    }
}

/// The call without what is random in the SDK.
fn digest(body: &Value) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut body = body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("ClientRequestToken");
    }
    body.to_string().hash(&mut hash);
    hash.finish()
}

impl Turns for Faults {
    fn turn(&self, operation: &str, body: &Value) -> Turn {
        let Ok(who) = WHO.try_with(Who::clone) else {
            // The world itself looks or prepares.
            return Turn { before: async {}.boxed(), fault: None, after: Box::new(|_| async {}.boxed()) };
        };
        let fault = self.fault(&who, operation);
        let dies = self.strikes(self.levels.death).then(|| self.random.happens(500));
        if fault.is_some() {
            who.is_troubled();
        }
        let (before, after) = (self.latency(&who), self.latency(&who));
        let what = match body["IndexName"].as_str() {
            Some(index) => format!("{operation} {}/{index}", body["TableName"].as_str().unwrap_or_default()),
            None => format!("{operation} {}", body["TableName"].as_str().unwrap_or_default()),
        };
        let goes = match (fault, dies) {
            (None, None) => String::new(),
            (fault, dies) => format!(" {fault:?} {dies:?}"),
        };
        self.trace.note(format_args!("{} {what} {:x}{goes}", who.name, digest(body)));
        self.wrote(operation, body);
        let (dying, trace, listeners) = (who.clone(), self.trace.clone(), self.listeners(operation, body));
        let order = changes_choices_or_messages(operation, body).then(|| self.order.clone());
        let taken = Taken::is_write(&who.name, operation).then(|| self.taken.clone());
        let of_others = taken.clone();
        let commit = Commit::of(&who.name, operation, body).map(|commit| (self.commits.clone(), commit));
        let begun = commit.clone();
        Turn {
            before: async move {
                sleep(before).await;
                if dies == Some(false) {
                    dying.die::<()>().await;
                }
                if let Some(taken) = of_others {
                    told(&taken, Taken::skip);
                }
                if let Some((commits, commit)) = begun {
                    told(&commits, |commits| commits.look(&commit));
                }
            }
            .boxed(),
            fault,
            after: Box::new(move |outcome| {
                if outcome != "200" && outcome != "Ok(200)" {
                    trace.note(format_args!("{} -> {outcome}", who.name));
                }
                for listener in listeners {
                    listener.notify_one();
                }
                if let Some(order) = order {
                    told(&order, Order::read);
                }
                if let Some(taken) = taken {
                    told(&taken, Taken::keep);
                }
                if let Some((commits, commit)) = commit {
                    told(&commits, |commits| commits.judge(&commit));
                }
                async move {
                    if dies == Some(true) {
                        who.die::<()>().await;
                    }
                    sleep(after).await;
                }
                .boxed()
            }),
        }
    }

    /// An index may lag: rows that were written in the last seconds are missing.
    fn read(&self, _: &str, body: &Value, answer: &mut Value) {
        if body["IndexName"].is_null() || !self.strikes(self.levels.lag) {
            return;
        }
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let now = tokio::time::Instant::now();
        let is_new = |row: &Value| {
            let key = serde_json::json!([body["TableName"], row["pk"], row["sk"]]);
            written.iter().any(|(at, written)| now.duration_since(*at) < LAG && *written == key)
        };
        if let Some(items) = answer["Items"].as_array_mut() {
            let before = items.len();
            items.retain(|row| !is_new(row));
            if items.len() < before {
                let hidden = before - items.len();
                answer["Count"] = items.len().into();
                self.trace.note(format_args!("index hides {hidden} rows"));
            }
        }
    }
}
