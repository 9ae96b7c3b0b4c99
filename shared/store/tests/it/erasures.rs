//! Erasures: each step is stored by one visitor, and what goes with a target is counted once.

use std::time::Duration;

use domain::{ContactId, Erasure, LaneId, WorkspaceId};
use harness::{TestClock, TestDb};
use store::{Lease, LeasedJob, Target, TargetKind};
use uuid::Uuid;

fn erasure(db: &TestDb) -> Erasure {
    let contacts = [ContactId::generate(&**db.ids())].into();
    let workspace = WorkspaceId::from_uuid(Uuid::from_u128(1));
    Erasure::of_contacts(contacts, workspace, false, "operator", TestClock::START)
}

#[tokio::test]
async fn a_repeat_of_a_request_finds_the_job_and_only_its_visitor_changes_it() {
    let db = TestDb::start().await;
    let store = db.store();
    let asked = erasure(&db);
    assert_eq!(store.ask_erasure(&asked, None, None).await.unwrap(), asked);
    let later = Erasure { asked_at: asked.asked_at.plus(Duration::from_secs(60)), ..asked.clone() };
    assert_eq!(store.ask_erasure(&later, None, None).await.unwrap(), asked);
    let lane = LaneId::Person(asked.workspace_id, asked.id.into());
    let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(330)).await.unwrap() else {
        panic!("the job is new")
    };
    let (mine, read) = LeasedJob::of(&leased).unwrap();
    assert_eq!(read.erasure(), Some(asked.clone()));
    let next = store.keep_erasure(&mine, &asked, asked.finding(), None).await.unwrap().unwrap();
    // What was read before cannot be changed.
    assert_eq!(store.keep_erasure(&mine, &asked, asked.finding(), None).await.unwrap(), None);
    assert_eq!(store.erasures(asked.workspace_id).await.unwrap(), [next]);
}

#[tokio::test]
async fn a_target_that_is_found_again_keeps_its_counts() {
    use TargetKind::{Contact, Conversation, Events, Failure, File, Lead, Numbers};
    let db = TestDb::start().await;
    let store = db.store();
    let of = erasure(&db);
    for kind in [Lead, Conversation, File, Contact, Numbers, Failure, Events] {
        let target = Target::new(1, kind, Uuid::from_u128(2));
        store.add_target(&of, &target).await.unwrap();
        store.count_target(&of, &target, &[("rows", 3)]).await.unwrap();
        store.add_target(&of, &target).await.unwrap();
        let found = store.targets(&of).await.unwrap();
        let found = found.into_iter().find(|found| found.kind == kind).unwrap();
        assert_eq!(found.counts, Some([("rows".to_owned(), 3)].into()), "{kind:?}");
    }
}
