//! The lane of a conversation: its open work, the recorded steps, and its release.

use std::time::Duration;

use domain::conversation::Opening;
use domain::message::{Report, ReportKind};
use domain::retry::Jitter;
use domain::sending::{End, PartError, SendSchedule};
use domain::settings::template::{Parameters, Requested};
use domain::{
    Cellphone, Conversation, ConversationId, LaneId, LaneKind, Message, MessageId, MessageStatus,
    OnboardingPlan, Recipient, Rest, RetrySchedule, TemplateId, WorkspaceId,
};
use harness::{Fault, TestClock, TestDb, World, trips};
use store::{ConversationLane, Lease, Leased, Outbound, Released, Store, Table};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(90);
const FIRST_DUE: Duration = Duration::from_secs(120);
const RETRY_FOR: Duration = Duration::ZERO;

struct Lanes {
    world: World,
    conversation: Conversation,
}

impl Lanes {
    /// A conversation with two customers and this number of templates to send.
    async fn start(steps: usize) -> Self {
        let world = World::start().await;
        let mut externals = vec![];
        for phone in ["+12025550101", "+12025550102"] {
            let contact = world.contact(|contact| contact.cellphone = Cellphone::parse(phone).ok()).await;
            externals.push(World::external(contact.id, "line"));
        }
        let recipients = externals
            .iter()
            .map(|external| Recipient { contact: external.contact, channel: external.channel.clone() })
            .collect();
        let conversation = Conversation {
            externals,
            ..Conversation::blank(
                ConversationId::from_uuid(Uuid::from_u128(0xc)),
                world.workspace,
                TestClock::START,
            )
        };
        let step = |n| Requested {
            template: TemplateId::from_uuid(Uuid::from_u128(n as u128)),
            parameters: Parameters::new(),
        };
        let plan = OnboardingPlan {
            workspace_id: world.workspace,
            conversation: conversation.id,
            recipients,
            steps: (0..steps).map(step).map(World::content).collect(),
            done: 0,
            created_at: TestClock::START,
        };
        let plan = (steps > 0).then_some(plan);
        let opening = Opening { conversation: conversation.clone(), new_contacts: vec![], plan };
        world.db.store().open_conversation(&opening, FIRST_DUE, None, "seed").await.unwrap();
        Self { world, conversation }
    }

    fn db(&self) -> &TestDb {
        &self.world.db
    }

    fn store(&self) -> &Store {
        self.world.db.store()
    }

    async fn say(&self, text: &str) -> MessageId {
        self.world.say(&self.conversation, text).await.id
    }

    fn id(&self) -> LaneId {
        LaneId::Conversation(self.conversation.workspace_id, self.conversation.id)
    }

    async fn lease(&self) -> Lease {
        self.store().lease_lane(self.id(), LEASE).await.unwrap()
    }

    async fn leased(&self) -> Leased {
        match self.lease().await {
            Lease::Taken(leased) => *leased,
            other => panic!("{other:?}"),
        }
    }

    async fn taken(&self) -> ConversationLane {
        ConversationLane::of(&self.leased().await).unwrap()
    }

    async fn release(&self, leased: &Leased, rest: Rest) -> Released {
        self.store().release_lane(leased, rest, FIRST_DUE).await.unwrap()
    }

    /// The numbers of the open messages of a lane.
    async fn open(&self, lane: &ConversationLane) -> Vec<u64> {
        self.store().open_in(lane).await.unwrap().entries.iter().map(|entry| entry.seq).collect()
    }

    async fn message(&self, id: MessageId) -> Message {
        let conversation = &self.conversation;
        self.store().message(conversation.workspace_id, conversation.id, id).await.unwrap().unwrap()
    }

    async fn due(&self) -> usize {
        self.db().due(LaneKind::Conversation).await.len()
    }
}

fn schedule() -> SendSchedule {
    let waits = RetrySchedule::of(&[Duration::from_secs(30)]);
    SendSchedule {
        retries: waits.clone(),
        throttled: waits,
        template_look: Duration::from_secs(900),
        give_up: Duration::from_secs(86_400),
    }
}

fn begun(lane: &ConversationLane) -> impl Fn(&Message) -> Message {
    let lease = lane.lease;
    move |message| message.begun(lease, TestClock::START)
}

fn ended(end: End) -> impl Fn(&Message) -> Message {
    move |message| message.ended(end.clone(), &schedule(), Jitter::NONE, TestClock::START)
}

fn sent(id: &str) -> impl Fn(&Message) -> Message {
    ended(End::Sent(id.to_owned()))
}

async fn record(lanes: &Lanes, seen: &Outbound, step: impl Fn(&Message) -> Message) -> Option<Outbound> {
    lanes.store().record(seen, RETRY_FOR, step).await.unwrap()
}

#[tokio::test]
async fn a_missing_conversation_has_no_lane() {
    let lanes = Lanes::start(0).await;
    let (workspace, nobody) = (lanes.world.workspace, ConversationId::from_uuid(Uuid::from_u128(1)));
    let elsewhere = WorkspaceId::from_uuid(Uuid::from_u128(1));
    for (workspace, id) in [(workspace, nobody), (elsewhere, lanes.conversation.id)] {
        let lease = lanes.store().lease_lane(LaneId::Conversation(workspace, id), LEASE).await.unwrap();
        assert_eq!(lease, Lease::Unknown);
    }
    assert_eq!(lanes.db().rows(Table::Messages).len(), 1, "and none is made by asking");
}

#[tokio::test]
async fn the_open_work_is_the_plan_and_the_messages_in_order_up_to_the_number_of_the_lease() {
    let lanes = Lanes::start(2).await;
    let first = lanes.say("first").await;
    let leased = lanes.leased().await;
    let lane = ConversationLane::of(&leased).unwrap();
    lanes.say("second").await;
    lanes.db().forget_calls();
    let open = lanes.store().open_in(&lane).await.unwrap();
    let calls = lanes.db().calls();
    assert_eq!((calls.len(), calls[0].read_units), (1, 1.0));
    assert_eq!(open.plan.map(|plan| plan.steps_left().collect::<Vec<_>>()), Some(vec![1, 2]));
    assert_eq!((open.entries.len(), open.entries[0].seq, open.entries[0].message), (1, 3, first));
    assert!(!open.more);
    let Released::HasNewWork(moved) = lanes.release(&leased, Rest::Done).await else { panic!("not moved") };
    assert_eq!(lanes.open(&ConversationLane::of(&moved).unwrap()).await, [3, 4]);
}

#[tokio::test]
async fn a_page_of_open_work_says_whether_there_is_more() {
    let lanes = Lanes::start(0).await;
    for number in 0..51 {
        lanes.say(&format!("message {number}")).await;
    }
    let open = lanes.store().open_in(&lanes.taken().await).await.unwrap();
    assert_eq!((open.entries.len(), open.more), (50, true));
    assert!(open.entries.is_sorted_by_key(|entry| entry.seq));
}

#[tokio::test]
async fn a_step_becomes_a_message_once_and_the_last_one_deletes_the_plan() {
    let lanes = Lanes::start(2).await;
    let mut lane = lanes.taken().await;
    let plan = lanes.store().open_in(&lane).await.unwrap().plan.unwrap();
    let next = |plan: &OnboardingPlan| {
        plan.next_message(MessageId::generate(lanes.store().ids()), lanes.store().now()).unwrap()
    };
    let (message, after) = next(&plan);
    lanes.db().forget_calls();
    let made = lanes.store().make_step(&mut lane, &message, &after).await.unwrap().unwrap();
    assert_eq!((trips(&lanes.db().calls()), &made.message), (1, &message));
    assert_eq!(lanes.message(message.id).await, message);

    let (again, once_more) = next(&plan);
    assert_eq!(
        lanes.store().make_step(&mut lane, &again, &once_more).await.unwrap(),
        None,
        "somebody else has"
    );
    assert_eq!(lanes.open(&lane).await, [1]);

    let (last, used_up) = next(&after);
    assert!(lanes.store().make_step(&mut lane, &last, &used_up).await.unwrap().is_some());
    let (again_last, used_up) = next(&after);
    assert_eq!(lanes.store().make_step(&mut lane, &again_last, &used_up).await.unwrap(), None);
    let open = lanes.store().open_in(&lane).await.unwrap();
    assert_eq!((open.plan, open.entries.len()), (None, 2));
    let made = lanes.store().make_step(&mut lane, &again, &once_more).await.unwrap();
    assert_eq!(made, None, "there is no plan any more");
}

#[tokio::test]
async fn a_message_is_recorded_step_by_step_and_its_entry_is_deleted_with_the_last_part() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let lane = lanes.taken().await;
    let outbound = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    lanes.db().forget_calls();
    let one = record(&lanes, &outbound, begun(&lane)).await.unwrap();
    let one = record(&lanes, &one, sent("wamid.1")).await.unwrap();
    assert_eq!(lanes.open(&lane).await, [1]);
    let two = record(&lanes, &one, begun(&lane)).await.unwrap();
    let two = record(&lanes, &two, sent("wamid.2")).await.unwrap();
    assert_eq!(lanes.open(&lane).await, Vec::<u64>::new());
    let stored = lanes.message(id).await;
    assert_eq!(stored, two.message);
    assert_eq!((stored.status(), stored.version), (MessageStatus::Sent, 5));
    let writes: Vec<(String, f64)> = lanes
        .db()
        .calls()
        .into_iter()
        .filter(|call| call.write_units > 0.0)
        .map(|call| (call.operation, call.write_units))
        .collect();
    let wrote = |operation: &str, units| (operation.to_owned(), units);
    let update = wrote("UpdateItem", 1.0);
    assert_eq!(writes, [update.clone(), update.clone(), update, wrote("TransactWriteItems", 4.0)]);
}

#[tokio::test]
async fn only_one_of_two_senders_that_assume_the_lease_starts_a_call() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let (late, lane) = (lanes.taken().await, {
        lanes.db().clock().advance(LEASE + Duration::from_millis(1));
        lanes.taken().await
    });
    let seen_late = lanes.store().outbound(&late, id).await.unwrap().unwrap();
    let seen = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    let mine = record(&lanes, &seen, begun(&lane)).await.unwrap();
    assert_eq!(record(&lanes, &seen_late, begun(&late)).await, None);

    // A late sender does not start a part that was tried meanwhile and looks unchanged.
    let tried = record(&lanes, &mine, ended(End::NotTaken)).await.unwrap();
    assert_eq!(tried.message.version, 2);
    assert_eq!(record(&lanes, &mine, sent("wamid.1")).await, None);
    assert_eq!(record(&lanes, &seen_late, begun(&late)).await, None);
    assert_eq!(lanes.message(id).await, tried.message);

    // Nor the next part, whose progress looks as that of the first part did.
    let again = record(&lanes, &tried, begun(&lane)).await.unwrap();
    let done = record(&lanes, &again, sent("wamid.1")).await.unwrap();
    assert_eq!(done.message.progress, seen_late.message.progress);
    assert_eq!(record(&lanes, &seen_late, begun(&late)).await, None);
    assert_eq!(lanes.message(id).await, done.message);
}

#[tokio::test]
async fn reports_about_other_parts_are_kept() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let lane = lanes.taken().await;
    let outbound = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    let one = record(&lanes, &outbound, begun(&lane)).await.unwrap();
    let one = record(&lanes, &one, sent("wamid.1")).await.unwrap();
    let two = record(&lanes, &one, begun(&lane)).await.unwrap();
    // The first part is delivered while the second is being sent.
    delivered(&lanes, &two).await;
    lanes.db().forget_calls();
    let end = record(&lanes, &two, ended(End::Failed(PartError::of("131026")))).await.unwrap();
    assert_eq!(lanes.db().calls().len(), 2, "as it was seen, and as it is");
    assert_eq!(
        end.message.parts.iter().map(|part| part.status).collect::<Vec<_>>(),
        [MessageStatus::Delivered, MessageStatus::Failed]
    );
    assert_eq!((end.message.version, lanes.message(id).await), (6, end.message.clone()));
    assert_eq!(lanes.open(&lane).await, Vec::<u64>::new());
}

#[tokio::test]
async fn a_record_whose_answer_is_lost_is_recognised_in_a_single_write_and_in_a_transaction() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let lane = lanes.taken().await;
    let mut outbound = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    for operation in ["UpdateItem", "UpdateItem", "UpdateItem", "TransactWriteItems"] {
        // Three attempts of the SDK, then a retry by the store.
        lanes.db().fail(operation, Fault::AnswerLost, 4);
        let step: Box<dyn Fn(&Message) -> Message> = match outbound.message.progress.calling {
            Some(_) => Box::new(sent("wamid.1")),
            None => Box::new(begun(&lane)),
        };
        outbound = lanes.store().record(&outbound, Duration::from_secs(5), step).await.unwrap().unwrap();
        lanes.db().heal();
    }
    assert_eq!((outbound.message.status(), outbound.message.version), (MessageStatus::Sent, 5));
    assert_eq!(lanes.message(id).await, outbound.message);
}

/// The provider reports that the first part was delivered.
async fn delivered(lanes: &Lanes, seen: &Outbound) {
    let report = Report {
        provider_message_id: "wamid.1".to_owned(),
        kind: ReportKind::Delivered,
        pricing: None,
        at: TestClock::START,
    };
    assert!(lanes.store().record_report(&seen.message, 0, &report).await.unwrap());
}

async fn undo(lanes: &Lanes, seen: &Outbound, lease: Uuid) -> Option<Outbound> {
    lanes.store().take_back_begin(seen, lease, RETRY_FOR).await.unwrap()
}

#[tokio::test]
async fn the_start_of_a_call_is_taken_back_whether_it_was_recorded_or_arrives_late() {
    for recorded in [true, false] {
        let lanes = Lanes::start(0).await;
        let id = lanes.say("hello").await;
        let lane = lanes.taken().await;
        let before = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
        if recorded {
            record(&lanes, &before, begun(&lane)).await.unwrap();
        }
        lanes.db().forget_calls();
        let undone = undo(&lanes, &before, lane.lease).await.unwrap();
        assert_eq!(lanes.db().calls().len(), 1 + usize::from(recorded));
        assert_eq!(undone.message.progress.calling, None);
        let status = if recorded { MessageStatus::Sending } else { MessageStatus::Queued };
        assert_eq!(undone.message.parts[0].status, status);
        assert_eq!(lanes.message(id).await, undone.message);
        // A start that was in flight all that time finds a changed row.
        assert_eq!(lanes.store().record(&before, RETRY_FOR, begun(&lane)).await.unwrap(), None);
        let again = record(&lanes, &undone, begun(&lane)).await.unwrap();
        assert!(record(&lanes, &again, sent("wamid.1")).await.is_some());
    }
}

#[tokio::test]
async fn a_start_that_arrives_after_it_was_taken_back_is_refused() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let lane = lanes.taken().await;
    let before = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    // The start is held in flight: it is sent before it is taken back, and arrives after that.
    let held = lanes.db().hold("UpdateItem");
    lanes.db().forget_calls();
    let late = lanes.store().record(&before, RETRY_FOR, begun(&lane));
    let undone = async {
        while lanes.db().calls().is_empty() {
            tokio::task::yield_now().await;
        }
        let undone = undo(&lanes, &before, lane.lease).await.unwrap();
        assert_eq!(undone.message, before.message);
        let row =
            lanes.db().rows(Table::Messages).into_iter().find(|row| row["sk"]["S"] == format!("M#{id}"));
        drop(held);
        row
    };
    let (late, row) = tokio::join!(late, undone);
    assert_eq!(late.unwrap(), None);
    let now = lanes.db().rows(Table::Messages).into_iter().find(|row| row["sk"]["S"] == format!("M#{id}"));
    assert_eq!(now, row);
}

#[tokio::test]
async fn a_sender_cannot_take_back_the_start_or_end_of_another_sender() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let late = lanes.taken().await;
    let seen_late = lanes.store().outbound(&late, id).await.unwrap().unwrap();
    lanes.db().clock().advance(LEASE + Duration::from_millis(1));
    let lane = lanes.taken().await;
    let seen = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    let mine = record(&lanes, &seen, begun(&lane)).await.unwrap();
    assert_eq!(undo(&lanes, &seen_late, late.lease).await, None);
    assert_eq!(lanes.message(id).await, mine.message);
    let waits = record(&lanes, &mine, ended(End::NotTaken)).await.unwrap();
    assert_eq!(undo(&lanes, &seen_late, late.lease).await, None);
    assert_eq!(lanes.message(id).await, waits.message);
}

#[tokio::test]
async fn a_start_is_taken_back_although_another_part_was_reported() {
    let lanes = Lanes::start(0).await;
    let id = lanes.say("hello").await;
    let lane = lanes.taken().await;
    let outbound = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
    let one = record(&lanes, &outbound, begun(&lane)).await.unwrap();
    let before = record(&lanes, &one, sent("wamid.1")).await.unwrap();
    let begun = record(&lanes, &before, begun(&lane)).await.unwrap();
    delivered(&lanes, &begun).await;
    let undone = undo(&lanes, &before, lane.lease).await.unwrap();
    let statuses: Vec<MessageStatus> = undone.message.parts.iter().map(|part| part.status).collect();
    assert_eq!(statuses, [MessageStatus::Delivered, MessageStatus::Sending]);
    assert_eq!((undone.message.progress.calling, lanes.message(id).await), (None, undone.message.clone()));
}

#[tokio::test]
async fn taking_back_a_start_is_recognised_when_the_answer_is_lost() {
    for recorded in [true, false] {
        let lanes = Lanes::start(0).await;
        let id = lanes.say("hello").await;
        let lane = lanes.taken().await;
        let before = lanes.store().outbound(&lane, id).await.unwrap().unwrap();
        if recorded {
            record(&lanes, &before, begun(&lane)).await.unwrap();
        }
        lanes.db().fail("UpdateItem", Fault::AnswerLost, 4);
        let undone =
            lanes.store().take_back_begin(&before, lane.lease, Duration::from_secs(5)).await.unwrap();
        assert_eq!(undone.unwrap().message, lanes.message(id).await);
        assert_eq!(lanes.message(id).await.progress.calling, None);
    }
}

#[tokio::test]
async fn a_lane_is_released_only_if_no_work_was_added_meanwhile() {
    let lanes = Lanes::start(0).await;
    lanes.say("first").await;
    let leased = lanes.leased().await;
    lanes.say("second").await;
    let Released::HasNewWork(moved) = lanes.release(&leased, Rest::Done).await else { panic!("not moved") };
    assert_eq!((moved.lease, lanes.lease().await), (leased.lease, Lease::Held));
    assert_eq!(lanes.release(&moved, Rest::Done).await, Released::Done);
    lanes.db().clock().advance(FIRST_DUE + LEASE);
    assert_eq!(lanes.due().await, 0, "the release says that nothing is left");

    lanes.leased().await;
    assert_eq!(lanes.release(&moved, Rest::Done).await, Released::Lost, "it is somebody else's");
    assert_eq!(lanes.lease().await, Lease::Held);
}

#[tokio::test]
async fn a_closed_lane_is_due_at_its_moment_even_if_work_was_added() {
    let lanes = Lanes::start(0).await;
    let leased = lanes.leased().await;
    lanes.say("it waits behind another").await;
    let at = TestClock::START.plus(Duration::from_secs(1_800));
    assert_eq!(lanes.release(&leased, Rest::Closed(at)).await, Released::Done);
    lanes.db().clock().set(at.minus(Duration::from_millis(1)));
    assert_eq!(lanes.due().await, 0);
    lanes.db().clock().set(at);
    assert_eq!(lanes.due().await, 1);
    assert_eq!(lanes.open(&lanes.taken().await).await, [1]);
}

#[tokio::test]
async fn a_new_message_or_plan_raises_the_mark_and_keeps_an_earlier_due_time() {
    for steps in [0, 1] {
        let lanes = Lanes::start(steps).await;
        let marks = || {
            let rows = lanes.db().rows(Table::Messages);
            let lane = rows.into_iter().find(|row| row["sk"]["S"] == "L").unwrap();
            let due: Option<i64> = lane["dueAt"]["N"].as_str().map(|at| at.parse().unwrap());
            (lane["mark"]["N"].as_str().unwrap().parse::<u64>().unwrap(), due)
        };
        let first = TestClock::START.plus(FIRST_DUE).as_millis();
        assert_eq!(marks(), (1, (steps > 0).then_some(first)));
        lanes.say("first").await;
        assert_eq!(marks(), (2, Some(first)));
        lanes.db().clock().advance(LEASE);
        lanes.say("second").await;
        assert_eq!(marks(), (3, Some(first)));
    }
}
