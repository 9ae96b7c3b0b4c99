//! AWS around the functions of a world: it invokes them, and brings them what waits in queues and streams.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use edge::ApiRequest;
use edge::provider::WebhookRequest;
use harness::{Answer, GatewayEvent, TestBucket, TestClock, TestQueue, World};
use serde_json::{Value, json};
use store::Table;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::edits::Edit;
use crate::faults::{Faults, WHO, Who};
use crate::machine::Machine;
use crate::queues::{Message, QUEUES};
use crate::random::Random;
use crate::receivers::Receivers;
use crate::tenant::Tenant;
use crate::trace::Trace;
use crate::whatsapp::WhatsApp;

/// A world while it runs.
pub(crate) struct Simulation {
    pub(crate) begun: Instant,
    pub(crate) random: Arc<Random>,
    pub(crate) trace: Arc<Trace>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) world: World,
    pub(crate) sqs: TestQueue,
    pub(crate) bucket: TestBucket,
    pub(crate) whatsapp: WhatsApp,
    pub(crate) receivers: Receivers,
    pub(crate) machines: Vec<Machine>,
    pub(crate) tenants: Vec<Tenant>,
    /// The versions of each tenant's settings at the beginning.
    pub(crate) versions: Vec<BTreeMap<Edit, u64>>,
    /// What must never be, and was.
    pub(crate) broken: RefCell<Vec<String>>,
    pub(crate) queues: RefCell<BTreeMap<&'static str, Vec<Message>>>,
    /// Messages that were received too often.
    pub(crate) dead_letters: RefCell<Vec<Message>>,
    /// Batches that streams repeat and invocations that run.
    pub(crate) busy: Cell<usize>,
    invocations: Cell<u64>,
    /// Everything that must not panic.
    tasks: RefCell<Vec<(String, JoinHandle<()>)>>,
    /// Whether WhatsApp decided about a template.
    pub(crate) reviewed: Cell<bool>,
}

/// How long a process may be stopped.
const STOPPED: Duration = Duration::from_secs(240);

impl Simulation {
    #[allow(clippy::too_many_arguments, reason = "the parts of a world")]
    pub(crate) fn new(
        begun: Instant,
        random: Arc<Random>,
        trace: Arc<Trace>,
        faults: Arc<Faults>,
        world: World,
        sqs: TestQueue,
        bucket: TestBucket,
        whatsapp: WhatsApp,
        receivers: Receivers,
        machines: Vec<Machine>,
        tenants: Vec<Tenant>,
        versions: Vec<BTreeMap<Edit, u64>>,
    ) -> Rc<Self> {
        Rc::new(Self {
            begun,
            random,
            trace,
            faults,
            world,
            sqs,
            bucket,
            whatsapp,
            receivers,
            machines,
            tenants,
            versions,
            broken: RefCell::default(),
            queues: RefCell::default(),
            dead_letters: RefCell::default(),
            busy: Cell::default(),
            invocations: Cell::default(),
            tasks: RefCell::default(),
            reviewed: Cell::default(),
        })
    }

    /// The present time without differences of clocks.
    pub(crate) fn now(&self) -> Timestamp {
        TestClock::START.plus(self.begun.elapsed())
    }

    /// Lets the fixtures know the time.
    pub(crate) fn sync(&self) {
        self.world.db.clock().set(self.now());
    }

    pub(crate) fn breaks(&self, what: String) {
        self.trace.note(format_args!("BROKEN {what}"));
        self.broken.borrow_mut().push(what);
    }

    /// Runs something beside everything else. A panic in it breaks the world.
    pub(crate) fn spawn(self: &Rc<Self>, name: &str, task: impl Future<Output = ()> + 'static) {
        self.tasks.borrow_mut().push((name.to_owned(), tokio::task::spawn_local(task)));
    }

    /// Waits for all tasks with this name.
    pub(crate) async fn join(&self, name: &str) {
        loop {
            let found = {
                let mut tasks = self.tasks.borrow_mut();
                let at = tasks.iter().position(|(task, _)| task == name);
                at.map(|at| tasks.remove(at).1)
            };
            let Some(task) = found else { return };
            if let Err(error) = task.await {
                self.breaks(format!("{name}: {error}"));
            }
        }
    }

    /// Notes the tasks that panicked.
    pub(crate) async fn find_panics(&self) {
        let ended: Vec<_> = {
            let mut tasks = self.tasks.borrow_mut();
            let (ended, runs) = tasks.drain(..).partition(|(_, task)| task.is_finished());
            *tasks = runs;
            ended
        };
        for (name, task) in ended {
            if let Err(error) = task.await {
                self.breaks(format!("{name}: {error}"));
            }
        }
    }

    /// Runs an invocation until it ends, dies or is out of time. `None` if it gave no answer.
    pub(crate) async fn invoke<T>(
        &self,
        function: &str,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        self.invoke_as(&self.who(function), limit, work).await
    }

    /// The next invocation of a function.
    pub(crate) fn who(&self, function: &str) -> Who {
        let number = self.invocations.get() + 1;
        self.invocations.set(number);
        Who::new(&format!("{function}#{number}"))
    }

    pub(crate) async fn invoke_as<T>(
        &self,
        who: &Who,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let killed = who.killed.clone();
        // A process that was stopped for a while does not notice that its time is over. Lambda ends it all the same. The
        // functions with conditions must not depend on that. A visit of a webhook's lane does: it records without
        // conditions, because its function ends before its lease (DeliveryTimeoutSeconds, LeaseSeconds in template.yaml).
        let depends_on_its_end = who.name.starts_with("webhook-delivery");
        let is_late = self.faults.levels.stall > 0 && !depends_on_its_end;
        let limit = if is_late { limit + STOPPED } else { limit };
        self.trace.note(format_args!("{} begins", who.name));
        let ended = WHO
            .scope(who.clone(), async {
                tokio::select! {
                    biased;
                    () = killed.notified() => None,
                    () = sleep(limit) => {
                        who.is_troubled();
                        None
                    }
                    ended = Box::pin(work) => Some(ended),
                }
            })
            .await;
        self.trace.note(format_args!("{} {}", who.name, if ended.is_some() { "ends" } else { "DIES" }));
        ended
    }

    pub(crate) fn machine(&self) -> &Machine {
        self.random.one_of(&self.machines)
    }

    /// A request to the Integrations API. `None` if no answer arrives.
    pub(crate) async fn request(&self, function: &str, event: GatewayEvent) -> Option<Answer> {
        let (request, begun) = (ApiRequest::new(event.request()), Instant::now());
        let machine = self.machine();
        let work = async {
            let response = match function {
                "conversations" => {
                    conversations::handle(&machine.conversations, crate::times::RESCUE, &request).await
                }
                "contacts" => contacts::handle(&machine.contacts, &request).await,
                "messages" => messages::handle(&machine.messages, &request).await,
                "attributes" => {
                    let random = machine.desk.console().random;
                    let url = "https://capture.example.com";
                    let capturing = attributes::Capturing { url, random: &*random };
                    attributes::handle(&machine.attributes, &capturing, &request).await
                }
                "users" => users::handle(&machine.users, &request).await,
                "files" => files::handle(&machine.files, &machine.bucket, &request).await,
                other => return machine.management.handle(other, &request).await,
            };
            response.into()
        };
        let answer: Answer = self.invoke(function, Duration::from_secs(29), work).await?;
        self.trace.note(format_args!("{function} answers {} {}", answer.status, answer.text));
        // The caller's own connection may break, too.
        let is_answer = self.is_answer(&event, answer.status, begun);
        (is_answer && !self.faults.strikes(self.faults.levels.fault)).then_some(answer)
    }

    /// A lead of a landing page.
    pub(crate) async fn lead(&self, event: GatewayEvent) -> Option<Value> {
        let request = serde_json::from_value(event.json().clone()).expect("a request");
        let (machine, begun) = (self.machine(), Instant::now());
        let work = machine.leads.handle(&request);
        let answer = self.invoke("leads", Duration::from_secs(29), work).await?;
        let answer = serde_json::to_value(answer).expect("an answer");
        self.trace.note(format_args!("leads answers {answer}"));
        let status = answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
        let is_answer = self.is_answer(&event, status.unwrap_or_default(), begun);
        (is_answer && !self.faults.strikes(self.faults.levels.fault)).then_some(answer)
    }

    /// A webhook of WhatsApp. Returns whether it was answered with 200.
    pub(crate) async fn webhook(&self, event: GatewayEvent) -> bool {
        let request: WebhookRequest = serde_json::from_value(event.json().clone()).expect("a request");
        let machine = self.machine();
        let work = machine.provider_events.handle(&request);
        let answer = self.invoke("provider-events", Duration::from_secs(10), work).await;
        let answer = answer.map(|answer| serde_json::to_value(answer).expect("an answer"));
        let is_received = answer.is_some_and(|answer| answer["statusCode"] == 200);
        is_received && !self.faults.strikes(self.faults.levels.fault)
    }

    /// Starts what AWS does by itself.
    pub(crate) fn start(self: &Rc<Self>) {
        for (queue, news) in QUEUES.iter().zip(&self.faults.queued) {
            let (this, news) = (self.clone(), news.clone());
            self.spawn(queue.name, async move { this.poll(queue, &news).await });
        }
        let tables =
            [Table::Contacts, Table::Conversations, Table::Messages, Table::Leads, Table::Workspaces];
        for (table, news) in tables.into_iter().zip(&self.faults.stored) {
            let (this, news) = (self.clone(), news.clone());
            self.spawn("stream", async move { this.follow(table, &news).await });
        }
    }

    /// Brings the changes of a table to the relay: those of one key in their order, and each batch until it is done.
    async fn follow(self: Rc<Self>, table: Table, news: &Notify) {
        const LANES: usize = 3;
        let mut place = self.world.db.follow(table);
        let lanes: [Rc<RefCell<VecDeque<Value>>>; LANES] = Default::default();
        let works: [Rc<Cell<bool>>; LANES] = Default::default();
        loop {
            for record in self.world.db.changes(&mut place) {
                if !is_relayed(&record) {
                    continue;
                }
                let pk = record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap_or_default();
                let lane = pk.bytes().map(usize::from).sum::<usize>() % LANES;
                lanes[lane].borrow_mut().push_back(record);
            }
            for (lane, works) in lanes.iter().zip(&works) {
                if !works.get() && !lane.borrow().is_empty() {
                    works.set(true);
                    self.busy.set(self.busy.get() + 1);
                    let (this, lane, works) = (self.clone(), lane.clone(), works.clone());
                    self.spawn("relay", async move {
                        this.relay(&lane).await;
                        works.set(false);
                        this.busy.set(this.busy.get() - 1);
                        for stream in &this.faults.stored {
                            stream.notify_one();
                        }
                    });
                }
            }
            news.notified().await;
            sleep(Duration::from_millis(self.random.within(5, 60))).await;
        }
    }

    /// Relays everything in a lane of a stream.
    async fn relay(&self, lane: &RefCell<VecDeque<Value>>) {
        let mut attempts = 0;
        loop {
            sleep(Duration::from_millis(self.random.within(10, 300))).await;
            // A failed batch is divided.
            let most = if attempts > 0 { 1 } else { self.random.within(1, 10) };
            let batch: Vec<Value> =
                lane.borrow().iter().take(usize::try_from(most).unwrap_or(1)).cloned().collect();
            if batch.is_empty() {
                return;
            }
            let numbers: Vec<String> = batch
                .iter()
                .map(|record| record["dynamodb"]["SequenceNumber"].as_str().unwrap_or_default().to_owned())
                .collect();
            let event = serde_json::from_value(json!({ "Records": batch })).expect("a stream event");
            let relay = &self.machine().relay;
            let ended = self.invoke("event-relay", Duration::from_secs(90), relay.handle(event)).await;
            let done = match ended {
                Some(Ok(answer)) => {
                    let failed: Vec<String> = answer
                        .batch_item_failures
                        .iter()
                        .filter_map(|failure| failure.item_identifier.clone())
                        .collect();
                    numbers.iter().position(|number| failed.contains(number)).unwrap_or(numbers.len())
                }
                Some(Err(_)) | None => 0,
            };
            // The stream may repeat what was done, if it did not learn of it.
            let done = if self.faults.strikes(self.faults.levels.queue / 4) { 0 } else { done };
            lane.borrow_mut().drain(..done);
            attempts = if done == 0 { attempts + 1 } else { 0 };
            if attempts > 50 {
                self.breaks(format!("the relay gives up {}", numbers[0]));
                lane.borrow_mut().pop_front();
                attempts = 0;
            }
            if attempts > 0 {
                sleep(Duration::from_millis(1_000)).await;
            }
        }
    }

    /// The sweeper's run of a minute.
    pub(crate) async fn sweep(&self) {
        let sweeper = &self.machine().sweeper;
        let _ = self.invoke("sweeper", Duration::from_secs(50), sweeper.run()).await;
    }
}

/// Whether the filters of the template let a record through to the relay.
fn is_relayed(record: &Value) -> bool {
    let sk = record["dynamodb"]["Keys"]["sk"]["S"].as_str().unwrap_or_default();
    sk == "C"
        || sk == "L" && record["dynamodb"]["Keys"]["pk"]["S"].as_str().is_some_and(|pk| pk.contains("#L#"))
        || sk.starts_with("M#")
        || (sk == "P" || sk.starts_with("X#")) && record["eventName"] == "INSERT"
        || record["dynamodb"]["NewImage"]["kind"]["S"] == "optOut"
        || record["dynamodb"]["NewImage"]["state"]["S"] == "ASKED"
        || record["eventName"] == "MODIFY" && record["dynamodb"]["NewImage"]["kind"]["S"] == "endpoint"
}
