//! DELETE /webhook-endpoints/{endpointId}.

use domain::Timestamp;
use harness::{Death, trips};

use crate::{Endpoints, code};

#[tokio::test]
async fn a_deletion_removes_the_endpoint_and_its_secrets_and_a_repeat_changes_nothing() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    let answer = f.send(f.of("delete", id)).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    let (store, workspace) = (f.world.db.store(), f.world.workspace);
    assert_eq!(store.endpoint(workspace, id).await.unwrap(), None);
    assert_eq!(store.endpoint_secrets(workspace, id).await.unwrap(), None);
    let left = store.endpoints_deleted_since(workspace, Timestamp::from_millis(0)).await.unwrap();
    assert_eq!(left.len(), 1, "its deliveries stay");
    let again = f.send(f.of("delete", id)).await;
    assert_eq!((again.status, again.text), (204, String::new()));
    assert_eq!(f.audit().await, [("webhook_endpoint.delete".to_owned(), id.to_string(), vec![])]);
    for file in ["get", "update", "enable", "disable", "rotate-secret", "activate-secret"] {
        assert_eq!(code(&f.send(f.of(file, id)).await), (404, "SERVICE_WEBHOOK_0404"), "{file}");
    }
}

#[tokio::test]
async fn a_deletion_and_its_entry_are_one() {
    for calls in 0..6 {
        for death in [Death::Before, Death::After] {
            let f = Endpoints::start().await;
            let id = f.endpoint().await.id;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.send(f.of("delete", id)) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let found = f.world.db.store().endpoint(f.world.workspace, id).await.unwrap();
            assert_eq!(f.audit().await.len(), usize::from(found.is_none()), "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn a_deletion_takes_two_round_trips() {
    let f = Endpoints::start().await;
    let [first, second] = [f.endpoint().await.id, f.endpoint().await.id];
    f.send(f.of("delete", first)).await;
    f.world.db.forget_calls();
    f.send(f.of("delete", second)).await;
    assert_eq!(trips(&f.world.db.calls()), 2);
}
