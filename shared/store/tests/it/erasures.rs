//! Erasures: each step is stored by one command, and what goes with a target is counted once.

use domain::{ContactId, Erasure, Person, WorkspaceId};
use harness::{TestClock, TestDb};
use store::{Target, TargetKind};
use uuid::Uuid;

fn erasure(db: &TestDb) -> Erasure {
    let person = Person { contacts: [ContactId::generate(&**db.ids())].into(), ..Person::default() };
    Erasure::of(person, WorkspaceId::from_uuid(Uuid::from_u128(1)), TestClock::START)
}

#[tokio::test]
async fn of_two_commands_at_the_same_time_one_stores_the_next_step() {
    let db = TestDb::start().await;
    let store = db.store();
    let asked = erasure(&db);
    let counted = |count| Erasure { counts: [("leads".to_owned(), count)].into(), ..asked.clone() };
    assert!(store.keep_erasure(&asked).await.unwrap());
    assert!(!store.keep_erasure(&counted(1)).await.unwrap(), "another command began it");
    assert_eq!(store.erasures(asked.workspace_id).await.unwrap(), std::slice::from_ref(&asked));
    let next = |count| Erasure { version: 2, ..counted(count) };
    assert!(store.keep_erasure(&next(2)).await.unwrap());
    assert!(!store.keep_erasure(&next(1)).await.unwrap(), "another command counted more");
    assert_eq!(store.erasures(asked.workspace_id).await.unwrap(), [next(2)]);
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
