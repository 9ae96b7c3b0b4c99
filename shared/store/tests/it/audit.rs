//! The audit logs of workspaces.

use std::time::Duration;

use domain::access::api_key::{Grant, RateLimit};
use domain::{
    Actor, ApiKey, AuditAction, AuditEntry, AuditFilter, Author, KeyId, Scopes, Timestamp, Workspace,
    WorkspaceId,
};
use harness::{Death, Fault, TestDb, trips};
use store::{Store, Table, audit_position};

const MINUTE: Duration = Duration::from_secs(60);

async fn with_workspace() -> (TestDb, Workspace) {
    let db = TestDb::start().await;
    let workspace = another(&db).await;
    (db, workspace)
}

async fn another(db: &TestDb) -> Workspace {
    let store = db.store();
    let workspace = Workspace::new(WorkspaceId::generate(store.ids()), "Test", store.now()).unwrap();
    assert!(store.create_workspace(&workspace).await.unwrap());
    workspace
}

fn operator(name: &str) -> Author {
    Author { actor: Actor::Operator(name.to_owned()), request_id: None }
}

async fn create_key(db: &TestDb, workspace: &Workspace, sha256: &str) -> KeyId {
    let store = db.store();
    let grant = Grant {
        scopes: Scopes::parse(["contacts:read"]).unwrap(),
        rate: RateLimit::DEFAULT,
        expires_at: None,
    };
    let id = KeyId::generate(store.ids());
    let by = operator("ana").actor;
    let key = ApiKey::new(id, workspace.id, "key", grant, by, store.now()).unwrap();
    store.create_api_key(sha256, &key, Some("request")).await.unwrap();
    id
}

/// All entries, newest first: the action, the actor and the fields.
async fn entries(store: &Store, workspace: WorkspaceId, only: &AuditFilter) -> Vec<AuditEntry> {
    store.audit_log(workspace, only, 100, None).await.unwrap().items
}

#[tokio::test]
async fn a_change_and_its_entry_are_written_together_or_not_at_all() {
    for death in [Death::Before, Death::After] {
        let (db, workspace) = with_workspace().await;
        let store = db.store();
        let next = workspace.renamed("Other").unwrap().unwrap();
        let (mut dead, by) = (db.die_after(0, death), operator("ana"));
        tokio::select! {
            _ = store.update_workspace(&next, &["name"], &by) => panic!("nobody died"),
            _ = &mut dead => {}
        }
        db.revive();
        let renamed = store.workspace(workspace.id).await.unwrap().unwrap().name == "Other";
        assert_eq!(renamed, matches!(death, Death::After));
        let log = entries(store, workspace.id, &AuditFilter::default()).await;
        assert_eq!(log.len(), usize::from(renamed), "{death:?}");
    }
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let next = workspace.renamed("Other").unwrap().unwrap();
    db.forget_calls();
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    assert!(store.update_workspace(&next, &["name"], &operator("ana")).await.unwrap());
    assert_eq!(trips(&db.calls()), 2, "the repeat of a lost response");
    assert!(!store.update_workspace(&next, &["name"], &operator("jo")).await.unwrap());
    let log = entries(store, workspace.id, &AuditFilter::default()).await;
    assert_eq!(log.len(), 1, "neither the repeat nor the loser of a race has an entry");
    assert_eq!(log[0].author, operator("ana"));
    assert_eq!(
        (log[0].action, log[0].fields.as_slice()),
        (AuditAction::WorkspaceUpdate, &["name".to_owned()][..])
    );
    assert_eq!(log[0].subject, workspace.id.to_string());
}

#[tokio::test]
async fn entries_are_listed_newest_first_page_by_page_and_filtered() {
    let (db, workspace) = with_workspace().await;
    let (store, start) = (db.store(), db.store().now());
    let after = |minutes: u32| start.plus(minutes * MINUTE);
    let first = create_key(&db, &workspace, "aaa").await;
    db.clock().advance(MINUTE);
    let second = create_key(&db, &workspace, "bbb").await;
    db.clock().advance(MINUTE);
    store.revoke_api_key(workspace.id, first, &operator("jo")).await.unwrap();
    store.revoke_api_key(workspace.id, first, &operator("jo")).await.unwrap();
    let foreign = another(&db).await;
    create_key(&db, &foreign, "ccc").await;

    let of = async |only: AuditFilter| {
        let log = entries(store, workspace.id, &only).await;
        log.into_iter().map(|entry| (entry.action.as_str(), entry.subject)).collect::<Vec<_>>()
    };
    let (first, second) = (first.to_string(), second.to_string());
    let [revoked, later, sooner] = [
        ("api_key.revoke", first.clone()),
        ("api_key.create", second.clone()),
        ("api_key.create", first.clone()),
    ];
    let any = AuditFilter::default;
    let id = |actor: &str| Some(actor.to_owned());
    let (since, until) = (|minutes| Some(after(minutes)), |minutes| Some(after(minutes)));
    let created = Some(AuditAction::ApiKeyCreate);
    let rows: Vec<(AuditFilter, Vec<_>)> = vec![
        (any(), vec![revoked.clone(), later.clone(), sooner.clone()]),
        (AuditFilter { action: created, ..any() }, vec![later.clone(), sooner.clone()]),
        (AuditFilter { actor: id("jo"), ..any() }, vec![revoked.clone()]),
        (AuditFilter { actor: id("nobody"), ..any() }, vec![]),
        (AuditFilter { subject: id(&first), ..any() }, vec![revoked.clone(), sooner.clone()]),
        (AuditFilter { subject: id(&first), action: created, ..any() }, vec![sooner.clone()]),
        (AuditFilter { since: since(1), ..any() }, vec![revoked.clone(), later.clone()]),
        (AuditFilter { until: until(1), ..any() }, vec![sooner.clone()]),
        (AuditFilter { since: since(1), until: until(2), ..any() }, vec![later.clone()]),
        (AuditFilter { since: since(2), until: until(1), ..any() }, vec![]),
        (
            AuditFilter { since: Some(Timestamp::from_millis(0)), until: until(9), ..any() },
            vec![revoked, later, sooner],
        ),
    ];
    for (only, expected) in rows {
        db.forget_calls();
        assert_eq!(of(only.clone()).await, expected, "{only:?}");
        assert!(trips(&db.calls()) <= 1);
        // Page by page, and from the last entry of the previous page.
        let (mut found, mut position) = (vec![], None);
        loop {
            let page = store.audit_log(workspace.id, &only, 1, position.as_deref()).await.unwrap();
            assert!(page.items.len() <= 1);
            if let (Some(last), Some(next)) = (page.items.last(), &page.next) {
                assert_eq!(&audit_position(last), next);
            }
            found.extend(page.items.into_iter().map(|entry| (entry.action.as_str(), entry.subject)));
            position = page.next;
            if position.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "{only:?}");
    }
    let log = entries(store, workspace.id, &any()).await;
    assert_eq!(log[1].author, Author { request_id: Some("request".to_owned()), ..operator("ana") });
}

#[tokio::test]
async fn an_entry_ends_after_400_days() {
    let (db, workspace) = with_workspace().await;
    create_key(&db, &workspace, "aaa").await;
    let count = async || entries(db.store(), workspace.id, &AuditFilter::default()).await.len();
    db.clock().advance(AuditEntry::KEPT);
    assert_eq!(count().await, 1);
    db.clock().advance(Duration::from_secs(1));
    assert_eq!((count().await, db.rows(Table::Audit).len()), (0, 1), "DynamoDB deletes it later");
}

#[tokio::test]
async fn a_filtered_page_reads_at_most_a_thousand_entries_and_says_how_to_continue() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let only = AuditFilter { action: Some(AuditAction::ApiKeyCreate), ..AuditFilter::default() };
    create_key(&db, &workspace, "aaa").await;
    let mut seen = workspace.clone();
    for number in 0..1_000 {
        db.clock().advance(Duration::from_millis(1));
        let next = seen.renamed(&format!("Name {number}")).unwrap().unwrap();
        assert!(store.update_workspace(&next, &["name"], &operator("ana")).await.unwrap());
        seen = next;
    }
    db.forget_calls();
    let page = store.audit_log(workspace.id, &only, 20, None).await.unwrap();
    assert_eq!((page.items.len(), trips(&db.calls())), (0, 1));
    let page = store.audit_log(workspace.id, &only, 20, page.next.as_deref()).await.unwrap();
    assert_eq!((page.items.len(), page.next), (1, None));
}
