//! The counts in lanes, compared with the messages themselves.

use std::time::Duration;

use domain::message::Draft;
use domain::message::summary::{Direction, Tally};
use domain::settings::template::{Parameters, Requested};
use domain::{
    Cellphone, Conversation, ConversationId, LaneId, Message, MessageBody, MessageId, Rest, TemplateId,
    Timestamp,
};
use harness::{TestClock, World};
use serde_json::Value;
use store::{ConversationLane, Lease, Leased, LeasedLead, MessageStored, NewMessage, Released, Store, Table};
use uuid::Uuid;

use crate::support::Dice;

const LEASE: Duration = Duration::from_secs(90);
const FIRST_DUE: Duration = Duration::from_secs(120);

struct Talk {
    world: World,
    conversation: Conversation,
}

struct Visit {
    leased: Leased,
    lane: ConversationLane,
}

impl Talk {
    /// A conversation with this number of templates to send.
    async fn start(steps: usize) -> Self {
        let world = World::start().await;
        let contact =
            world.contact(|contact| contact.cellphone = Cellphone::parse("+12025550101").ok()).await;
        let step = |n| Requested {
            template: TemplateId::from_uuid(Uuid::from_u128(n as u128)),
            parameters: Parameters::new(),
        };
        let conversation = world
            .onboarded_conversation((0..steps).map(step).collect(), |conversation| {
                conversation.id = ConversationId::from_uuid(Uuid::from_u128(0xc));
                conversation.externals = vec![World::external(contact.id, "line")];
            })
            .await;
        Self { world, conversation }
    }

    fn store(&self) -> &Store {
        self.world.db.store()
    }

    fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// Stores a message in the conversation. It is created `skew` milliseconds from now, because clocks
    /// differ, by a request that read the lane `behind` numbers ago.
    async fn say(&self, broadcast: bool, skew: i64, behind: u64) -> MessageStored {
        let store = self.store();
        let draft = Draft {
            conversation: self.conversation.id,
            body: MessageBody::parse("hello").ok(),
            media: vec![],
            broadcast,
            reply_to: None,
        };
        let seq = store.last_seq(self.world.workspace, self.conversation.id).await.unwrap();
        let id = MessageId::generate(store.ids());
        let at = Timestamp::from_millis(self.now().as_millis() + skew);
        let message = draft.message(id, &self.conversation, seq.saturating_sub(behind) + 1, vec![], at);
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        store.store_message(&new, FIRST_DUE, &format!("take {id}")).await.unwrap()
    }

    async fn said(&self, broadcast: bool) {
        assert_eq!(self.say(broadcast, 0, 0).await, MessageStored::Done);
    }

    async fn lease(&self) -> Option<Visit> {
        let lane = LaneId::Conversation(self.world.workspace, self.conversation.id);
        match self.store().lease_lane(lane, LEASE).await.unwrap() {
            Lease::Taken(leased) => {
                Some(Visit { lane: ConversationLane::of(&leased).unwrap(), leased: *leased })
            }
            _ => None,
        }
    }

    /// Releases a lane. Returns the visit if work was added meanwhile.
    async fn release(&self, visit: Visit, rest: Rest) -> Option<Visit> {
        let mut leased = visit.leased;
        leased.state = visit.lane.state();
        match self.store().release_lane(&leased, rest, FIRST_DUE).await.unwrap() {
            Released::Done => None,
            Released::HasNewWork(leased) => {
                Some(Visit { lane: ConversationLane::of(&leased).unwrap(), leased: *leased })
            }
            Released::Lost => panic!("the lease is over"),
        }
    }

    /// Releases a lane for good, even if work was added meanwhile.
    async fn finish(&self, visit: Visit) {
        if let Some(visit) = self.release(visit, Rest::Done).await {
            assert!(self.release(visit, Rest::Done).await.is_none());
        }
    }

    /// Makes up to `most` steps of the plan messages under a lease.
    async fn make(&self, visit: &mut Visit, most: usize) {
        let lane = &mut visit.lane;
        let mut plan = self.store().open_in(lane).await.unwrap().plan;
        for _ in 0..most {
            let id = MessageId::generate(self.store().ids());
            let Some((message, next)) = plan.as_ref().and_then(|plan| plan.next_message(id, self.now()))
            else {
                return;
            };
            self.store().make_step(lane, &message, &next).await.unwrap().unwrap();
            self.world.db.clock().advance(Duration::from_millis(3));
            plan = Some(next);
        }
    }

    async fn tally(&self, until: Timestamp) -> Tally {
        self.store().tally(self.world.workspace, self.conversation.id, until).await.unwrap()
    }

    /// The counts of the messages created up to a moment, from their rows.
    fn counted(&self, until: Timestamp) -> Tally {
        let mut tally = Tally::default();
        for row in self.rows("M#") {
            let at = Timestamp::parse(row["createdAt"]["S"].as_str().unwrap()).unwrap();
            let note = row["content"]["M"]["written"]["M"]["broadcast"]["BOOL"] == false;
            if at <= until {
                tally.count(if note { Direction::Internal } else { Direction::Outbound }, at);
            }
        }
        tally
    }

    fn rows(&self, prefix: &str) -> Vec<Value> {
        let rows = self.world.db.rows(Table::Messages).into_iter();
        rows.filter(|row| row["sk"]["S"].as_str().unwrap().starts_with(prefix)).collect()
    }

    /// The reads of a summary at this moment. Checks that the summary is correct.
    async fn read_by(&self, until: Timestamp) -> Vec<(String, f64)> {
        self.world.db.forget_calls();
        assert_eq!(self.tally(until).await, self.counted(until));
        self.world.db.calls().into_iter().map(|call| (call.operation, call.read_units)).collect()
    }

    async fn is_read_from_the_lane(&self) -> bool {
        match self.read_by(self.now()).await.as_slice() {
            [(lane, units)] => lane == "GetItem" && *units <= 1.0,
            [(lane, _), (messages, _)] => {
                assert_eq!((lane.as_str(), messages.as_str()), ("GetItem", "Query"));
                false
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_summary_is_one_read_of_the_lane_for_any_number_of_messages() {
    let talk = Talk::start(0).await;
    assert!(talk.is_read_from_the_lane().await, "none");
    for number in 0..40 {
        talk.world.db.clock().advance(Duration::from_millis(7));
        talk.said(number % 3 > 0).await;
    }
    assert!(talk.is_read_from_the_lane().await);
    let all = talk.tally(talk.now()).await;
    assert_eq!((all.inbound, all.outbound, all.internal), (0, 26, 14));
}

#[tokio::test]
async fn a_summary_counts_only_the_messages_up_to_its_moment() {
    let talk = Talk::start(0).await;
    talk.said(true).await;
    let released = talk.now();
    talk.world.db.clock().advance(Duration::from_millis(1));
    talk.said(true).await;
    let reads = talk.read_by(released).await;
    assert_eq!(
        reads.iter().map(|(operation, _)| operation.as_str()).collect::<Vec<_>>(),
        ["GetItem", "Query"]
    );
    assert_eq!(talk.tally(released).await.outbound, 1);
}

#[tokio::test]
async fn steps_are_counted_when_the_lane_is_released_under_which_they_became_messages() {
    let talk = Talk::start(2).await;
    assert!(!talk.is_read_from_the_lane().await, "two numbers are taken, and nothing is said");
    let mut lane = talk.lease().await.unwrap();
    talk.make(&mut lane, 2).await;
    assert!(!talk.is_read_from_the_lane().await, "they are not counted yet");
    // A message is stored before the release, and the release reports it.
    talk.said(false).await;
    let lane = talk.release(lane, Rest::Done).await.expect("a number was taken");
    assert!(talk.release(lane, Rest::Done).await.is_none());
    assert!(talk.is_read_from_the_lane().await);
    talk.said(true).await;
    assert!(talk.is_read_from_the_lane().await);
}

#[tokio::test]
async fn counting_costs_no_write_and_no_unit() {
    let units = |talk: &Talk| -> Vec<f64> {
        talk.world.db.calls().iter().map(|call| call.write_units).filter(|units| *units > 0.0).collect()
    };
    let (plain, onboarded) = (Talk::start(0).await, Talk::start(2).await);
    plain.said(true).await;
    let (mut made, mut given_back) = (vec![], vec![]);
    for talk in [&plain, &onboarded] {
        let mut lane = talk.lease().await.unwrap();
        talk.world.db.forget_calls();
        talk.make(&mut lane, 2).await;
        made.push(units(talk));
        talk.world.db.forget_calls();
        assert!(talk.release(lane, Rest::Done).await.is_none());
        given_back.push(units(talk));
    }
    assert_eq!(
        made,
        [vec![], vec![7.0, 7.0]],
        "message, entry and plan, two units each, and the place in the list"
    );
    assert_eq!(
        given_back,
        [vec![2.0], vec![2.0]],
        "with steps as without: the lane, and its place in the index"
    );
}

#[tokio::test]
async fn the_messages_are_read_if_the_lane_has_not_counted_all() {
    // A sender died, and the step it made is not counted.
    let talk = Talk::start(2).await;
    let mut lane = talk.lease().await.unwrap();
    talk.make(&mut lane, 1).await;
    talk.world.db.clock().advance(LEASE + Duration::from_millis(1));
    let mut lane = talk.lease().await.unwrap();
    talk.make(&mut lane, 1).await;
    talk.finish(lane).await;
    talk.said(true).await;
    assert!(!talk.is_read_from_the_lane().await);

    // A conversation without a lane.
    let talk = Talk::start(0).await;
    let nobody = ConversationId::from_uuid(Uuid::from_u128(1));
    let tally = talk.store().tally(talk.world.workspace, nobody, talk.now()).await.unwrap();
    assert_eq!(tally, Tally::default());
}

#[tokio::test]
async fn the_first_and_last_message_are_right_although_clocks_differ() {
    let talk = Talk::start(0).await;
    for (skew, behind) in [(0, 0), (-5, 0), (5, 0), (-9, 0), (3, 1), (9, 1)] {
        assert_eq!(talk.say(true, skew, behind).await, MessageStored::Done, "{skew}");
    }
    talk.world.db.clock().advance(Duration::from_millis(9));
    assert!(talk.is_read_from_the_lane().await);
    let tally = talk.tally(talk.now()).await;
    let at = |skew: i64| Some(Timestamp::from_millis(TestClock::START.as_millis() + skew));
    // A message is never before the one that was stored before it.
    assert_eq!((tally.outbound, tally.first, tally.last), (6, at(0), at(9)));
}

#[tokio::test]
async fn the_last_message_is_right_if_a_lane_with_a_later_step_is_released_meanwhile() {
    let talk = Talk::start(1).await;
    let db = &talk.world.db;
    assert_eq!(talk.say(true, 5, 0).await, MessageStored::Done);
    let mut lane = talk.lease().await.unwrap();
    db.clock().advance(Duration::from_millis(9));
    talk.make(&mut lane, 1).await;
    db.forget_calls();
    // The message is older than the last one, so its first write is refused.
    let meanwhile = async {
        db.begun("TransactWriteItems", 1).await;
        let held = db.hold("TransactWriteItems");
        db.begun("TransactWriteItems", 2).await;
        assert!(talk.release(lane, Rest::Done).await.is_none());
        drop(held);
    };
    let (said, ()) = tokio::join!(talk.say(true, -9, 0), meanwhile);
    assert_eq!(said, MessageStored::Done);
    assert_eq!(talk.say(true, -9, 0).await, MessageStored::Done);
    assert!(talk.is_read_from_the_lane().await);
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// A message is stored by a process whose clock differs by `skew`, and that read the lane `behind`
    /// numbers ago.
    Said { broadcast: bool, skew: i64, behind: u64 },
    /// A sender makes this many steps and then releases the lane for good or until later, or dies. Meanwhile
    /// a message may be stored.
    Sends { steps: usize, ends: Ends, said: Option<bool> },
    /// Time passes.
    Later(u64),
}

#[derive(Clone, Copy, Debug)]
enum Ends {
    Done,
    Waits,
    Dies,
}

fn happens(dice: &mut Dice) -> Happens {
    match dice.below(9) {
        0..4 => Happens::Said {
            broadcast: dice.one_in(2),
            skew: i64::try_from(dice.below(40)).unwrap() - 20,
            behind: dice.below(3) as u64,
        },
        4..6 => Happens::Sends {
            steps: dice.below(4),
            ends: dice.pick(&[Ends::Done, Ends::Done, Ends::Waits, Ends::Dies]),
            said: dice.pick(&[None, Some(true), Some(false)]),
        },
        _ => Happens::Later(dice.pick(&[1, 5, 30, 91_000])),
    }
}

impl Talk {
    async fn happens(&self, happens: Happens) {
        match happens {
            Happens::Said { broadcast, skew, behind } => {
                self.say(broadcast, skew, behind).await;
            }
            Happens::Sends { steps, ends, said } => {
                let Some(mut lane) = self.lease().await else { return };
                self.make(&mut lane, steps).await;
                if let Some(broadcast) = said {
                    self.said(broadcast).await;
                }
                match ends {
                    Ends::Done => self.finish(lane).await,
                    Ends::Waits => {
                        assert!(self.release(lane, Rest::Closed(self.now())).await.is_none());
                    }
                    Ends::Dies => {}
                }
            }
            Happens::Later(millis) => self.world.db.clock().advance(Duration::from_millis(millis)),
        }
    }
}

#[tokio::test]
async fn after_any_history_a_summary_equals_the_count_of_its_messages() {
    let (mut from_lanes, mut from_messages) = (0, 0);
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let talk = Talk::start(dice.below(4)).await;
        let mut moments = vec![talk.now()];
        for _ in 0..dice.below(20) {
            let happens = happens(&mut dice);
            talk.happens(happens).await;
            moments.push(talk.now());
            for until in &moments {
                assert_eq!(talk.tally(*until).await, talk.counted(*until), "{seed}: {happens:?}, by {until}");
            }
        }
        talk.world.db.clock().advance(Duration::from_millis(20));
        match talk.is_read_from_the_lane().await {
            true => from_lanes += 1,
            false => from_messages += 1,
        }
    }
    assert!(from_lanes > 9 && from_messages > 4, "both came about: {from_lanes} {from_messages}");
}

#[tokio::test]
async fn the_message_of_a_lead_is_counted_with_its_lane() {
    let world = World::start().await;
    world.line("1", |_| ()).await;
    let lead = world.lead("+12025550101", |_| ()).await;
    let store = world.db.store();
    let lane = LaneId::Lead(lead.workspace_id, lead.id);
    let Lease::Taken(leased) = store.lease_lane(lane, LEASE).await.unwrap() else { panic!("it is free") };
    let leased = LeasedLead::of(&leased).unwrap();
    let (next, opening) = world.opening(&lead, None).await;
    store.open_lead(&leased, &next, &opening, LEASE, LEASE).await.unwrap();
    world.db.forget_calls();
    let tally = store.tally(lead.workspace_id, lead.conversation, store.now()).await.unwrap();
    let Message { created_at, .. } = opening.message.unwrap();
    let one = Tally { outbound: 1, first: Some(created_at), last: Some(created_at), ..Tally::default() };
    assert_eq!((tally, world.db.calls().len()), (one, 1));
}
