//! Statuses of sent messages: in any order, repeated, early, of other workspaces, and their cost.

use std::time::Duration;

use domain::message::PricedBy;
use domain::retry::Jitter;
use domain::sending::{End, PartError, SendSchedule};
use domain::{Contact, Conversation, LaneId, Message, MessageId, MessageStatus, Part, PartId, Timestamp};
use harness::{Death, Fault, trips};
use queue::Inbound;
use serde_json::{Value, json};
use store::{ConversationLane, Lease, Outbound, Table};

use crate::{LINE, Site};

const WAMID: &str = "wamid.HBgLMTIwMjU1NTAxMDEVAgARGBI5";
const LEASE: Duration = Duration::from_secs(90);
/// The time of the first status: seconds since 1970.
const AT: i64 = 1_767_300_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis((AT + seconds) * 1_000)
}

/// A conversation with two customers, and a message to both that is being sent.
struct Scene {
    site: Site,
    conversation: Conversation,
    lane: ConversationLane,
    outbound: Outbound,
}

impl Scene {
    /// A message whose parts ended like this; the parts after them are QUEUED.
    async fn with(ends: &[End]) -> Self {
        let mut scene = Self::start().await;
        for end in ends {
            scene.begin().await;
            scene.end(end).await;
        }
        scene.site.world.db.forget_calls();
        scene
    }

    async fn start() -> Self {
        let site = Site::start().await;
        let customers: [Contact; 2] = [site.world.contact(|_| ()).await, site.world.contact(|_| ()).await];
        let conversation = site.conversation(&[&customers[0], &customers[1]]).await;
        let store = site.store();
        let message = site.world.say(&conversation, "hello").await;
        let lane = LaneId::Conversation(conversation.workspace_id, conversation.id);
        let Lease::Taken(leased) = store.lease_lane(lane, LEASE).await.unwrap() else { panic!("held") };
        let lane = ConversationLane::of(&leased).unwrap();
        let outbound = store.outbound(&lane, message.id).await.unwrap().unwrap();
        Self { site, conversation, lane, outbound }
    }

    async fn begin(&mut self) {
        let (store, lease) = (self.site.store(), self.lane.lease);
        let begun = store.record(&self.outbound, LEASE, |message| message.begun(lease, store.now())).await;
        self.outbound = begun.unwrap().unwrap();
    }

    async fn end(&mut self, end: &End) {
        let (store, schedule) = (self.site.store(), SendSchedule::recommended());
        let part = self.outbound.message.part_at_hand().unwrap();
        let step = |message: &Message| message.ended(end.clone(), &schedule, Jitter::NONE, store.now());
        store.keep_provider_id(&self.outbound.message, part, end).await;
        let ended = store.record(&self.outbound, LEASE, step).await;
        self.outbound = ended.unwrap().unwrap();
    }

    async fn message(&self) -> Message {
        let Conversation { workspace_id, id, .. } = &self.conversation;
        self.site.store().message(*workspace_id, *id, self.outbound.message.id).await.unwrap().unwrap()
    }

    async fn part(&self) -> Part {
        self.message().await.parts[0].clone()
    }

    fn part_id(&self, part: usize) -> String {
        PartId { conversation: self.conversation.id, message: self.outbound.message.id, part }.to_string()
    }

    /// A status of part 0.
    fn status(&self, word: &str, seconds: i64) -> Value {
        json!({
            "id": WAMID, "status": word, "timestamp": (AT + seconds).to_string(),
            "recipient_id": "12025550101", "biz_opaque_callback_data": self.part_id(0),
            "errors": [{ "code": 131_049, "title": "Not delivered" }],
        })
    }

    async fn process(&self, statuses: &[Value]) {
        let piece = self.site.piece(LINE, "statuses", statuses);
        assert_eq!(self.site.process(&[piece]).await, Vec::<String>::new());
    }

    async fn last_seen(&self) -> [Option<Timestamp>; 2] {
        let Conversation { workspace_id, id, externals, .. } = &self.conversation;
        let found = self.site.store().conversation_and_seen(*workspace_id, *id).await.unwrap();
        let (conversation, seen) = found.unwrap();
        assert_eq!(conversation.version, self.conversation.version);
        [0, 1].map(|at: usize| seen.get(&externals[at].contact).copied())
    }

    /// The calls since the last time: round trips, and write units.
    fn cost(&self) -> (usize, f64) {
        let db = &self.site.world.db;
        let calls = db.calls();
        db.forget_calls();
        (trips(&calls), calls.iter().map(|call| call.write_units).sum())
    }

    /// How many items were dropped since the last time.
    fn dropped(&self) -> u64 {
        counted(&self.site, "InboxItemsDropped")
    }
}

fn counted(site: &Site, name: &str) -> u64 {
    let told = site.counted.values();
    site.counted.lines();
    told.get(name).into_iter().flatten().sum()
}

fn sent() -> End {
    End::Sent(WAMID.to_owned())
}

fn unknown() -> End {
    End::Unknown(PartError::of(PartError::INTERRUPTED))
}

fn state(part: &Part) -> (MessageStatus, Option<&str>, Option<Timestamp>, Option<Timestamp>) {
    (part.status, part.error.as_ref().map(PartError::as_str), part.delivered_at, part.read_at)
}

/// All orders of three items.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[tokio::test]
async fn each_order_of_the_statuses_ends_in_the_same_part_and_seen_time() {
    for before in [sent(), unknown()] {
        for order in ORDERS {
            let scene = Scene::with(std::slice::from_ref(&before)).await;
            let all = [scene.status("sent", 0), scene.status("delivered", 2), scene.status("read", 5)];
            for status in order {
                scene.process(&[all[status].clone(), all[status].clone()]).await;
            }
            let part = scene.part().await;
            let expected = (MessageStatus::Read, None, Some(at(2)), Some(at(5)));
            assert_eq!(state(&part), expected, "{before:?} {order:?}");
            assert_eq!(part.provider_message_id.as_deref(), Some(WAMID), "{before:?} {order:?}");
            assert_eq!(scene.last_seen().await, [Some(at(5)), None], "{before:?} {order:?}");
            assert_eq!(scene.message().await.parts[1].status, MessageStatus::Queued);
            assert_eq!((scene.dropped(), scene.site.queued()), (0, vec![]));
        }
    }
}

#[tokio::test]
async fn a_failure_after_sent_makes_the_part_failed_with_the_code_and_a_delivery_makes_it_delivered_again() {
    for before in [sent(), unknown()] {
        let scene = Scene::with(&[before]).await;
        scene.process(&[scene.status("failed", 3), scene.status("sent", 1)]).await;
        assert_eq!(state(&scene.part().await), (MessageStatus::Failed, Some("131049"), None, None));
        scene.process(&[scene.status("delivered", 2), scene.status("failed", 3)]).await;
        assert_eq!(state(&scene.part().await), (MessageStatus::Delivered, None, Some(at(2)), None));
    }
    let scene = Scene::with(&[sent()]).await;
    let mut status = scene.status("failed", 3);
    status["errors"] = json!([]);
    scene.process(&[status]).await;
    assert_eq!(state(&scene.part().await).1, Some(PartError::NOT_DELIVERED), "a failure without a code");
}

#[tokio::test]
async fn a_status_resolves_an_unknown_part_and_its_id_finds_the_message_from_then_on() {
    let scene = Scene::with(&[unknown()]).await;
    let (store, workspace) = (scene.site.store(), scene.conversation.workspace_id);
    assert_eq!(store.provider_message(workspace, WAMID).await.unwrap(), None);
    scene.process(&[scene.status("sent", 0)]).await;
    let part = scene.part().await;
    assert_eq!((part.status, part.provider_message_id.as_deref()), (MessageStatus::Sent, Some(WAMID)));
    let found = store.provider_message(workspace, WAMID).await.unwrap();
    assert_eq!(found, Some((scene.conversation.id, scene.outbound.message.id, Some(0))));
}

#[tokio::test]
async fn a_status_that_does_not_name_its_part_is_found_by_the_provider_s_id() {
    let scene = Scene::with(&[sent()]).await;
    for name in [None, Some("another system's data")] {
        let mut status = scene.status("delivered", 1);
        status["biz_opaque_callback_data"] = json!(name);
        scene.process(&[status]).await;
    }
    assert_eq!(state(&scene.part().await), (MessageStatus::Delivered, None, Some(at(1)), None));
    assert_eq!(scene.dropped(), 0);
}

#[tokio::test]
async fn a_status_costs_at_most_two_round_trips_and_three_write_units() {
    let rows = [
        (sent(), "delivered", 1.0),
        (sent(), "read", 2.0),
        (sent(), "failed", 1.0),
        (sent(), "sent", 0.0),
        // The row of the provider's id, too.
        (unknown(), "sent", 2.0),
        (unknown(), "read", 3.0),
    ];
    for (before, word, units) in rows {
        let scene = Scene::with(std::slice::from_ref(&before)).await;
        // The claim of the line is in memory from now on.
        scene.process(&[json!({ "id": WAMID, "status": "sent", "timestamp": "1" })]).await;
        scene.cost();
        let status = scene.status(word, 1);
        let (trips, write) = {
            scene.process(std::slice::from_ref(&status)).await;
            scene.cost()
        };
        assert!(trips <= 2 && write <= 3.0, "{before:?} {word}: {trips} {write}");
        assert_eq!(write, units, "{before:?} {word}");
        // A repeat changes nothing; the write of the time is refused, which costs a unit.
        scene.process(&[status]).await;
        let (trips, write) = scene.cost();
        assert!(trips <= 2 && write <= 1.0, "{before:?} {word}: {trips} {write}");
    }
}

#[tokio::test]
async fn the_claim_of_the_line_is_one_more_round_trip_in_half_a_minute() {
    let scene = Scene::with(&[sent()]).await;
    let mut trips = vec![];
    for seconds in [0, 29, 1, 30] {
        scene.site.world.db.clock().advance(Duration::from_secs(seconds));
        scene.process(&[scene.status("delivered", 0)]).await;
        trips.push(scene.cost().0);
    }
    // The first changes the part, the others only read it.
    assert_eq!(trips, [3, 1, 2, 2]);
}

#[tokio::test]
async fn a_read_sets_when_the_customer_was_seen_at_most_once_a_minute_and_never_back() {
    let scene = Scene::with(&[sent()]).await;
    for (seconds, expected) in
        [(100, 100), (159, 100), (160, 160), (130, 160), (0, 160), (219, 160), (220, 220)]
    {
        scene.process(&[scene.status("read", seconds)]).await;
        assert_eq!(scene.last_seen().await, [Some(at(expected)), None], "{seconds}");
    }
    assert_eq!(state(&scene.part().await), (MessageStatus::Read, None, Some(at(0)), Some(at(0))));
}

#[tokio::test]
async fn a_status_before_the_record_of_its_send_waits_and_is_not_lost() {
    for (before, ended) in [(true, MessageStatus::Queued), (false, MessageStatus::Sending)] {
        let mut scene = Scene::start().await;
        if !before {
            scene.begin().await;
        }
        let other = json!({ "id": "wamid.other", "status": "sent", "timestamp": "1" });
        let early = scene.status("read", 5);
        scene.process(&[other, early.clone()]).await;
        assert_eq!((scene.part().await.status, scene.last_seen().await), (ended, [None, None]));
        let queued = scene.site.queued();
        let [(piece, delay)] = &queued[..] else { panic!("{queued:?}") };
        assert_eq!(*delay, 5);
        assert_eq!(piece.value["statuses"], json!([early]), "only what must wait is queued again");

        scene.site.world.db.clock().advance(Duration::from_secs(5));
        if before {
            scene.begin().await;
        }
        scene.end(&sent()).await;
        assert_eq!(scene.site.process(std::slice::from_ref(piece)).await, Vec::<String>::new());
        assert_eq!(state(&scene.part().await), (MessageStatus::Read, None, Some(at(5)), Some(at(5))));
        assert_eq!((scene.last_seen().await, scene.site.queued()), ([Some(at(5)), None], vec![]));
    }
}

#[tokio::test]
async fn a_status_waits_for_fifteen_minutes_and_is_then_dropped_and_counted() {
    let mut scene = Scene::start().await;
    scene.begin().await;
    let mut piece = scene.site.piece(LINE, "statuses", &[scene.status("sent", 5)]);
    scene.site.world.db.clock().advance(Duration::from_secs(15 * 60 - 1));
    assert_eq!(scene.site.process(&[piece]).await, Vec::<String>::new());
    piece = scene.site.queued().remove(0).0;
    scene.site.world.db.clock().advance(Duration::from_secs(1));
    assert_eq!((scene.dropped(), scene.site.process(&[piece]).await), (0, vec![]));
    assert_eq!((scene.dropped(), scene.site.queued()), (1, vec![]));
}

#[tokio::test]
async fn a_status_that_waits_in_vain_is_queued_again_fourteen_times() {
    let mut scene = Scene::start().await;
    scene.begin().await;
    let piece = scene.site.piece(LINE, "statuses", &[scene.status("sent", 5)]);
    let clock = scene.site.world.db.clock();
    let invoke = async |body: String| {
        let piece = Inbound::read(&body).unwrap();
        assert_eq!(scene.site.process(&[piece]).await, Vec::<String>::new());
    };
    let until = scene.site.store().now().plus(Duration::from_secs(86_400));
    let chain = scene.site.queue.chain(clock, until, piece.body(), invoke).await;
    assert_eq!((chain.len(), chain.iter().sum::<u64>(), scene.dropped()), (14, 15 * 60, 1), "{chain:?}");
}

#[tokio::test]
async fn a_part_that_became_unknown_is_resolved_by_the_status_that_waited() {
    let mut scene = Scene::start().await;
    scene.begin().await;
    scene.process(&[scene.status("delivered", 5)]).await;
    let piece = scene.site.queued().remove(0).0;
    // The sender died. The next visitor records that the outcome is unknown.
    scene.site.world.db.clock().advance(Duration::from_secs(10 * 60));
    scene.end(&unknown()).await;
    scene.site.process(&[piece]).await;
    let part = scene.part().await;
    assert_eq!(state(&part), (MessageStatus::Delivered, None, Some(at(5)), None));
    assert_eq!(part.provider_message_id.as_deref(), Some(WAMID));
}

#[tokio::test]
async fn a_status_of_no_known_part_is_dropped_and_counted() {
    let scene = Scene::with(&[sent()]).await;
    let mut statuses = vec![];
    for name in [
        json!(null),
        json!(scene.part_id(2)),
        json!(scene.part_id(0).replace('.', ".1")),
        json!(PartId { message: MessageId::generate(scene.site.store().ids()), ..id(&scene) }.to_string()),
    ] {
        let mut status = scene.status("read", 1);
        status["id"] = json!("wamid.unknown");
        status["biz_opaque_callback_data"] = name;
        statuses.push(status);
    }
    let mut long = scene.status("read", 1);
    long["id"] = json!("w".repeat(2_000));
    statuses.push(long);
    scene.process(&statuses).await;
    // The one whose id is too long is not read.
    assert_eq!((scene.dropped(), scene.site.queued()), (4, vec![]));
    assert_eq!((scene.part().await.status, scene.last_seen().await), (MessageStatus::Sent, [None, None]));
}

fn id(scene: &Scene) -> PartId {
    PartId::parse(&scene.part_id(0)).unwrap()
}

#[tokio::test]
async fn a_status_on_the_line_of_another_workspace_never_touches_this_one() {
    let scene = Scene::with(&[sent()]).await;
    scene.site.other_workspace("2045551234567").await;
    let (messages, conversations) = rows(&scene);
    let mut by_id = scene.status("read", 1);
    by_id["biz_opaque_callback_data"] = json!(null);
    let piece = scene.site.piece("2045551234567", "statuses", &[scene.status("read", 1), by_id]);
    assert_eq!(scene.site.process(&[piece]).await, Vec::<String>::new());
    assert_eq!((scene.dropped(), rows(&scene)), (2, (messages, conversations)));
}

#[tokio::test]
async fn a_status_of_a_line_that_nobody_claims_or_of_an_app_of_another_workspace_is_dropped() {
    let scene = Scene::with(&[sent()]).await;
    let other = scene.site.other_workspace("2045551234567").await;
    let unclaimed = scene.site.piece("3045551234567", "statuses", &[scene.status("read", 1)]);
    let foreign =
        Inbound { workspace: Some(other), ..scene.site.piece(LINE, "statuses", &[scene.status("read", 1)]) };
    scene.site.process(&[unclaimed, foreign]).await;
    assert_eq!((scene.dropped(), scene.part().await.status), (2, MessageStatus::Sent));
}

fn rows(scene: &Scene) -> (Vec<Value>, Vec<Value>) {
    let db = &scene.site.world.db;
    (db.rows(Table::Messages), db.rows(Table::Conversations))
}

#[tokio::test]
async fn a_death_at_any_call_is_made_good_by_the_next_delivery() {
    for death in [Death::Before, Death::After] {
        for before in [sent(), unknown()] {
            for calls in 0.. {
                let scene = Scene::with(std::slice::from_ref(&before)).await;
                let db = &scene.site.world.db;
                let statuses = [scene.status("read", 5), scene.status("delivered", 2)];
                let mut dead = db.die_after(calls, death);
                let survived = tokio::select! {
                    () = scene.process(&statuses) => true,
                    _ = &mut dead => false,
                };
                db.revive();
                scene.process(&statuses).await;
                let expected = (MessageStatus::Read, None, Some(at(2)), Some(at(5)));
                assert_eq!(state(&scene.part().await), expected, "{death:?} {before:?} {calls}");
                assert_eq!(scene.last_seen().await, [Some(at(5)), None], "{death:?} {before:?} {calls}");
                // SENDING and the outcome of the send, then the two statuses: each change is told once.
                assert_eq!(scene.message().await.version, 5, "{death:?} {before:?} {calls}");
                if survived {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_lost_answer_of_the_database_repeats_nothing_and_a_failure_repeats_the_piece() {
    let scene = Scene::with(&[sent()]).await;
    let db = &scene.site.world.db;
    db.fail("UpdateItem", Fault::AnswerLost, 2);
    db.fail("PutItem", Fault::AnswerLost, 2);
    scene.process(&[scene.status("read", 5)]).await;
    assert_eq!((scene.message().await.version, scene.last_seen().await[0]), (4, Some(at(5))));

    db.fail("UpdateItem", Fault::Throttled, 3);
    let piece = scene.site.piece(LINE, "statuses", &[scene.status("delivered", 2)]);
    assert_eq!(scene.site.process(std::slice::from_ref(&piece)).await, ["0"]);
    assert_eq!(scene.site.process(&[piece]).await, Vec::<String>::new());
    assert_eq!(scene.part().await.delivered_at, Some(at(2)));
}

#[tokio::test]
async fn an_erased_message_gets_no_rows_from_a_status() {
    let scene = Scene::with(&[unknown()]).await;
    let (store, db) = (scene.site.store(), &scene.site.world.db);
    let release = db.hold("UpdateItem");
    let statuses = [scene.status("read", 5)];
    let erase = async {
        db.begun("UpdateItem", 1).await;
        let id = scene.conversation.id;
        let whole = store.whole_conversation(scene.conversation.workspace_id, id).await.unwrap();
        store.erase_messages(&whole, store::ErasedMessages::All).await.unwrap();
        drop(release);
    };
    tokio::join!(scene.process(&statuses), erase);
    let (messages, conversations) = rows(&scene);
    assert_eq!(messages, Vec::<Value>::new());
    assert_eq!(conversations.iter().filter(|row| row["kind"]["S"] == "seen").count(), 0);
    assert_eq!(scene.dropped(), 1);
}

#[tokio::test]
async fn a_time_of_the_future_counts_as_the_moment_at_which_the_status_was_received() {
    let scene = Scene::with(&[sent()]).await;
    let now = scene.site.store().now();
    let ahead = now.as_seconds() - AT + 3_600;
    scene.process(&[scene.status("read", ahead)]).await;
    let part = scene.part().await;
    assert_eq!((part.delivered_at, part.read_at), (Some(now), Some(now)));
    assert_eq!(scene.last_seen().await[0], Some(now));
}

/// A status of part 0 with a price.
fn priced(scene: &Scene, word: &str, seconds: i64, billable: bool) -> Value {
    let mut status = scene.status(word, seconds);
    status["pricing"] =
        json!({ "billable": billable, "pricing_model": "PMP", "category": "utility", "type": "regular" });
    status
}

#[tokio::test]
async fn the_price_comes_with_a_write_that_happens_anyway() {
    let scene = Scene::with(&[sent()]).await;
    scene.process(&[priced(&scene, "sent", 0, true)]).await;
    assert_eq!((scene.part().await.pricing, scene.cost().1), (None, 0.0));
    scene.process(&[priced(&scene, "delivered", 1, true)]).await;
    let delivered = scene.part().await.pricing.unwrap();
    assert_eq!((delivered.by, delivered.pricing.billable), (PricedBy::Delivered, Some(true)));
    assert_eq!(scene.cost().1, 1.0, "one unit, as without a price");
    scene.process(&[priced(&scene, "read", 2, false)]).await;
    let read = scene.part().await.pricing.unwrap();
    assert_eq!((read.by, read.pricing.billable), (PricedBy::Read, Some(false)));
    let version = scene.message().await.version;
    scene.process(&[priced(&scene, "delivered", 1, true), priced(&scene, "read", 2, false)]).await;
    assert_eq!(scene.message().await.version, version, "a repeat");
}

#[tokio::test]
async fn statuses_with_different_prices_end_alike_in_every_order() {
    let mut ends = vec![];
    for order in ORDERS {
        let scene = Scene::with(&[sent()]).await;
        let all = [
            priced(&scene, "delivered", 1, true),
            priced(&scene, "delivered", 1, false),
            scene.status("read", 2),
        ];
        for at in order {
            scene.process(std::slice::from_ref(&all[at])).await;
        }
        let priced = scene.part().await.pricing.unwrap();
        ends.push((priced.by, priced.pricing.billable));
    }
    assert_eq!(ends, [(PricedBy::Delivered, Some(false)); 6]);
}

#[tokio::test]
async fn a_held_part_is_sent_and_fails_with_the_words_of_the_provider_if_its_template_is_paused() {
    let held = End::Held(WAMID.to_owned());
    let scene = Scene::with(std::slice::from_ref(&held)).await;
    let part = scene.part().await;
    assert_eq!(
        (part.status, part.is_held, part.provider_message_id.as_deref()),
        (MessageStatus::Sent, true, Some(WAMID))
    );
    let mut paused = scene.status("failed", 1);
    let details = "x".repeat(PartError::MAX_DETAIL + 1);
    paused["errors"] = json!([{ "code": 132_015, "error_data": { "details": details } }]);
    // It is found by the id of the answer, too.
    paused.as_object_mut().unwrap().remove("biz_opaque_callback_data");
    scene.process(&[paused]).await;
    let part = scene.part().await;
    let error = part.error.unwrap();
    assert_eq!((part.status, part.is_held, error.as_str()), (MessageStatus::Failed, false, "132015"));
    assert_eq!(error.detail().unwrap().len(), PartError::MAX_DETAIL);

    let scene = Scene::with(&[held]).await;
    scene.process(&[scene.status("sent", 1)]).await;
    let part = scene.part().await;
    assert_eq!((part.status, part.is_held), (MessageStatus::Sent, false));
}
