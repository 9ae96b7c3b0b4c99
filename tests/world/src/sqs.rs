//! The queues between the functions: what is sent to them arrives once or twice, late, in any order, and rarely not at all.

use std::rc::Rc;
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use harness::{context, failed_messages, queue_event};
use lambda_runtime::{Context, LambdaEvent};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use crate::queues::{Message, Queue, UPLOADS};
use crate::simulation::Simulation;

impl Simulation {
    /// Moves what the functions queued into the queues.
    fn collect(&self) {
        for queued in self.sqs.take() {
            self.queue(&queued.queue, queued.body, queued.delay);
        }
    }

    /// Puts a message into a queue, as SQS does: it may come late, or twice.
    fn queue(&self, name: &str, body: String, delay: u64) {
        let Queue { name: queue, is_only_copy, .. } = Queue::named(name);
        let level = self.faults.levels.queue;
        let mut delay = Duration::from_millis(delay * 1_000 + self.random.within(0, 50));
        if !is_only_copy && self.faults.strikes(level / 3) {
            return self.trace.note(format_args!("{queue} loses {body}"));
        }
        if self.faults.strikes(level) {
            delay += Duration::from_millis(self.random.within(0, 200_000));
        }
        let copies = 1 + usize::from(self.faults.strikes(level));
        let visible = Instant::now() + delay;
        let message = Message { queue, body, visible, receives: 0, is_refused: false, is_done: false };
        let mut queues = self.queues.borrow_mut();
        queues.entry(queue).or_default().extend(vec![message; copies]);
    }

    /// The bucket tells of an object that was written.
    pub(crate) fn tell_of_upload(&self, key: &str, size: u64) {
        let object = json!({ "key": key, "size": size });
        let record = json!({ "eventName": "ObjectCreated:Put", "s3": { "object": object } });
        self.queue(UPLOADS, json!({ "Records": [record] }).to_string(), 0);
        for news in &self.faults.queued {
            news.notify_one();
        }
    }

    /// Invokes the function of a queue with batches of its messages, as long as the world exists.
    pub(crate) async fn poll(self: Rc<Self>, queue: &'static Queue, news: &Notify) {
        loop {
            self.collect();
            let next = {
                let queues = self.queues.borrow();
                queues
                    .get(queue.name)
                    .and_then(|messages| messages.iter().map(|message| message.visible).min())
            };
            match next {
                Some(next) if next <= Instant::now() => {}
                next => {
                    tokio::select! {
                        biased;
                        () = news.notified() => {}
                        () = until(next) => {}
                    }
                    continue;
                }
            }
            sleep(Duration::from_millis(self.random.within(0, 80))).await;
            let batch = self.receive(queue);
            if batch.is_empty() {
                continue;
            }
            let this = self.clone();
            self.spawn("invocation", async move { this.process(queue, batch).await });
        }
    }

    /// Takes some of the visible messages, in any order. They are invisible for a time, and stay in the queue.
    fn receive(&self, from: &'static Queue) -> Vec<Message> {
        let queue = from.name;
        let now = Instant::now();
        let mut queues = self.queues.borrow_mut();
        let Some(messages) = queues.get_mut(queue) else { return vec![] };
        let mut batch: Vec<Message> = vec![];
        // In a crowd, copies of a message come to several processes at once.
        let most =
            if self.faults.levels.crowd > 0 { self.random.within(1, 2) } else { self.random.within(1, 10) };
        for _ in 0..most {
            let seen: Vec<usize> = (0..messages.len()).filter(|at| messages[*at].visible <= now).collect();
            if seen.is_empty() {
                break;
            }
            let at = *self.random.one_of(&seen);
            messages[at].receives += 1;
            messages[at].visible = now + from.invisible;
            if messages[at].receives > from.most_receives {
                let dead = messages.remove(at);
                self.trace.note(format_args!("{queue} gives up {}", dead.body));
                self.dead_letters.borrow_mut().push(dead);
            } else {
                batch.push(messages[at].clone());
            }
        }
        batch
    }

    async fn process(&self, queue: &Queue, batch: Vec<Message>) {
        let Queue { name: queue, event, limit, .. } = *queue;
        self.busy.set(self.busy.get() + 1);
        let bodies: Vec<String> = batch.iter().map(|message| message.body.clone()).collect();
        let machine = self.machine();
        let of = |store: &store::Store| -> Context { context(store.now(), limit) };
        let who = self.who(match queue {
            "message-sends" => "message-sender",
            "lead-sends" => "lead-sender",
            "person-jobs" => "people",
            "inbox" => "inbox",
            UPLOADS => "uploads",
            _ => "webhook-delivery",
        });
        let failed: Option<Vec<String>> = match queue {
            "message-sends" => {
                let event = queue_event(event, &bodies, of(&machine.message_sender.store));
                let work = machine.message_sender.handle(event);
                answered(self.invoke_as(&who, limit, work).await)
            }
            "lead-sends" => {
                let event = queue_event(event, &bodies, of(&machine.lead_sender.store));
                answered(self.invoke_as(&who, limit, machine.lead_sender.handle(event)).await)
            }
            "person-jobs" => {
                let event = queue_event(event, &bodies, of(&machine.people.store));
                answered(self.invoke_as(&who, limit, machine.people.handle(event)).await)
            }
            "inbox" => {
                let event = queue_event(event, &bodies, Context::default()).payload;
                let done = self.invoke_as(&who, limit, machine.inbox.handle(event)).await;
                done.map(failed_messages)
            }
            UPLOADS => {
                let event = queue_event(event, &bodies, Context::default()).payload;
                let done = self.invoke_as(&who, limit, machine.uploads.handle(event)).await;
                done.map(failed_messages)
            }
            _ => {
                let mut event: LambdaEvent<SqsEvent> =
                    queue_event(event, &bodies, of(&machine.delivery.store));
                if queue.ends_with("-slow") {
                    for message in &mut event.payload.records {
                        message.event_source_arn = message.event_source_arn.take().map(|arn| arn + "-slow");
                    }
                }
                answered(self.invoke_as(&who, limit, machine.delivery.handle(event)).await)
            }
        };
        self.busy.set(self.busy.get() - 1);
        let Some(failed) = failed else { return };
        let repeats = self.faults.strikes(self.faults.levels.queue / 2);
        let mut queues = self.queues.borrow_mut();
        let messages = queues.entry(queue).or_default();
        for (number, done) in batch.iter().enumerate() {
            let is_it = |message: &Message| {
                message.body == done.body
                    && message.visible == done.visible
                    && message.receives == done.receives
            };
            let Some(at) = messages.iter().position(is_it) else { continue };
            let is_failed = failed.contains(&number.to_string());
            messages[at].is_refused |= is_failed && who.troubles() == 0;
            // The queue may forget that a message was deleted.
            if !is_failed && !repeats {
                messages.remove(at);
            }
            if !is_failed {
                let copies = messages.iter_mut().filter(|message| message.body == done.body);
                copies.for_each(|copy| copy.is_done = true);
            }
        }
    }

    /// Whether the queues hold messages.
    pub(crate) fn has_messages(&self) -> bool {
        self.collect();
        self.queues.borrow().values().any(|messages| !messages.is_empty())
    }
}

fn answered<E>(ended: Option<Result<SqsBatchResponse, E>>) -> Option<Vec<String>> {
    ended.and_then(Result::ok).map(failed_messages)
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
