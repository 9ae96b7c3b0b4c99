//! What operators make and change: versions, races, lost answers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use domain::api_key::{Grant, RateLimit};
use domain::attribute::NewAttribute;
use domain::webhook::{DisabledReason, ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    ApiKey, AttributeCategory, AttributeDefinition, AttributeType, Email, EndpointId, EndpointSecrets,
    EndpointState, EndpointUrl, EventFilter, Ids, KeyId, Scopes, Team, TeamId, TrustedReceivers, User,
    UserId, UserRef, WebhookEndpoint, Workspace, WorkspaceId,
};
use harness::{Fault, TestClock, TestDb, trips};
use store::{Store, StoreError, Table, UserCreated};

async fn with_workspace() -> (TestDb, Workspace) {
    let db = TestDb::start().await;
    let id = WorkspaceId::generate(db.store().ids());
    let workspace = Workspace::new(id, "Aster", TestClock::START).unwrap();
    assert!(db.store().create_workspace(&workspace).await.unwrap());
    (db, workspace)
}

fn user(workspace: &Workspace, ids: &dyn Ids, email: &str) -> User {
    User::new(UserId::generate(ids), workspace.id, Email::parse(email).unwrap(), TestClock::START)
}

fn endpoint(workspace: &Workspace, ids: &dyn Ids) -> (WebhookEndpoint, EndpointSecrets) {
    let endpoint = WebhookEndpoint {
        id: EndpointId::generate(ids),
        workspace_id: workspace.id,
        url: EndpointUrl::parse("https://hooks.example.com/in", &TrustedReceivers::none()).unwrap(),
        state: EndpointState::Enabled,
        filter: EventFilter::parse(["contact.updated"]).unwrap(),
        created_at: TestClock::START,
        version: 1,
    };
    let secret = |byte| SigningSecret::from_entropy([byte; 32]);
    let signing = SigningSecrets {
        active: secret(1),
        next: Some(secret(2)),
        previous: Some((secret(3), TestClock::START)),
    };
    (endpoint, EndpointSecrets { api_key: ReceiverKey::parse("customer-key").unwrap(), signing })
}

#[tokio::test]
async fn a_stale_version_is_not_put_over_a_newer_one() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let team = Team::new(TeamId::generate(store.ids()), workspace.id, "Sales", TestClock::START).unwrap();
    assert!(store.create_team(&team).await.unwrap());
    assert!(!store.create_team(&team).await.unwrap());
    let member = |_| UserId::generate(store.ids());
    let all: Vec<UserId> = (0..Team::MAX_MEMBERS).map(member).collect();
    let full = team.with(&all).unwrap().unwrap();
    assert!(store.replace_team(&full).await.unwrap());
    assert!(!store.replace_team(&team.with(&all[..1]).unwrap().unwrap()).await.unwrap());
    assert_eq!(store.team(workspace.id, team.id).await.unwrap(), Some(full.clone()));
    assert_eq!(store.teams(workspace.id).await.unwrap(), [full]);
}

#[tokio::test]
async fn a_change_whose_answer_was_lost_is_known_by_its_own_row() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let team = Team::new(TeamId::generate(store.ids()), workspace.id, "Sales", TestClock::START).unwrap();
    db.fail("PutItem", Fault::AnswerLost, 1);
    assert!(store.create_team(&team).await.unwrap());
    let next = team.with(&[UserId::generate(store.ids())]).unwrap().unwrap();
    db.fail("PutItem", Fault::AnswerLost, 1);
    assert!(store.replace_team(&next).await.unwrap());
}

#[tokio::test]
async fn two_users_of_one_address_made_at_once_end_with_one() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let (one, other) =
        (user(&workspace, store.ids(), "ada@example.com"), user(&workspace, store.ids(), "ADA@example.com"));
    let made = tokio::join!(store.create_user(&one), store.create_user(&other));
    let made = [made.0.unwrap(), made.1.unwrap()];
    assert_eq!(made.iter().filter(|made| **made == UserCreated::Done).count(), 1);
    assert_eq!(store.users(workspace.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_user_is_found_in_one_trip_by_either_name_and_only_in_the_own_workspace() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let ada = user(&workspace, store.ids(), "Ada@example.com");
    store.create_user(&ada).await.unwrap();
    let by_email = UserRef::Email(Email::parse("ada@EXAMPLE.com").unwrap());
    for named in [UserRef::Id(ada.id), by_email.clone()] {
        db.forget_calls();
        assert_eq!(store.user_by_ref(workspace.id, &named).await.unwrap().as_ref(), Some(&ada));
        assert_eq!(trips(&db.calls()), 1);
        let foreign = WorkspaceId::generate(store.ids());
        assert_eq!(store.user_by_ref(foreign, &named).await.unwrap(), None);
    }
    let disabled = ada.disabled(TestClock::START).unwrap();
    assert!(store.replace_user(&disabled).await.unwrap());
    assert!(!store.replace_user(&disabled).await.unwrap());
    assert_eq!(store.user_by_ref(workspace.id, &by_email).await.unwrap(), Some(disabled));
}

#[tokio::test]
async fn a_hundred_definitions_are_one_read_and_an_addition_unseen_by_another_is_refused() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let definition = |n: usize| {
        let wanted = NewAttribute {
            category: AttributeCategory::Open,
            attribute_type: AttributeType::Text,
            key_name: &format!("key{n}"),
            is_required: n == 0,
            values: &[],
        };
        AttributeDefinition::new(workspace.id, &wanted, store.ids(), TestClock::START).unwrap()
    };
    let mut seen = workspace.clone();
    for n in 0..100 {
        assert!(store.create_definition(&seen, &definition(n)).await.unwrap());
        assert!(!store.create_definition(&seen, &definition(n)).await.unwrap());
        seen = store.workspace(workspace.id).await.unwrap().unwrap();
    }
    db.forget_calls();
    let definitions = store.definitions(workspace.id).await.unwrap();
    assert_eq!((definitions.iter().count(), trips(&db.calls())), (100, 1));
    let first = definitions.iter().next().unwrap();
    assert!(store.replace_definition(&first.archived(TestClock::START).unwrap()).await.unwrap());
    let archived = store.definitions(workspace.id).await.unwrap();
    assert_eq!(archived.active(TestClock::START).count(), 99);
    assert!(archived.version() > definitions.version());
}

#[tokio::test]
async fn an_endpoint_and_its_secrets_come_and_go_together() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let (made, secrets) = endpoint(&workspace, store.ids());
    assert!(store.create_endpoint(&workspace, &made, &secrets).await.unwrap());
    assert_eq!(store.endpoints(workspace.id).await.unwrap(), std::slice::from_ref(&made));
    assert_eq!(store.endpoint(workspace.id, made.id).await.unwrap(), Some(made.clone()));
    assert_eq!(store.endpoint_secrets(workspace.id, made.id).await.unwrap(), Some(secrets));

    assert!(store.delete_endpoint(workspace.id, made.id).await.unwrap());
    assert!(!store.delete_endpoint(workspace.id, made.id).await.unwrap());
    assert_eq!(store.endpoint(workspace.id, made.id).await.unwrap(), None);
    assert_eq!(store.endpoint_secrets(workspace.id, made.id).await.unwrap(), None);
    let since = |at| store.endpoints_deleted_since(workspace.id, at);
    assert_eq!(since(TestClock::START).await.unwrap(), [made.id]);
    let later = TestClock::START.plus(std::time::Duration::from_millis(1));
    assert_eq!(since(later).await.unwrap(), []);
}

#[tokio::test]
async fn an_endpoint_is_disabled_once_and_keeps_the_first_reason() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let (made, secrets) = endpoint(&workspace, store.ids());
    store.create_endpoint(&workspace, &made, &secrets).await.unwrap();
    let gone = made.disabled(DisabledReason::Gone, TestClock::START).unwrap();
    let both = tokio::join!(store.replace_endpoint(&gone), store.replace_endpoint(&gone));
    assert_eq!([both.0.unwrap(), both.1.unwrap()].iter().filter(|done| **done).count(), 1);
    let disabled = store.endpoint(workspace.id, made.id).await.unwrap().unwrap();
    assert_eq!(disabled, gone);
    assert_eq!(disabled.disabled(DisabledReason::Operator, TestClock::START), None);
}

#[tokio::test]
async fn a_key_is_read_back_whole_and_its_row_outlives_its_expiry_by_30_days() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let grant = Grant {
        scopes: Scopes::parse(["contacts:read"]).unwrap(),
        rate: RateLimit { per_second: 7, burst: 8 },
        expires_at: Some(TestClock::START.plus(std::time::Duration::from_millis(1))),
    };
    let key =
        ApiKey::new(KeyId::generate(store.ids()), workspace.id, "CRM", grant, TestClock::START).unwrap();
    store.create_api_key("abc", &key).await.unwrap();
    db.forget_calls();
    assert_eq!(store.api_key("abc").await.unwrap(), Some(key.clone()));
    assert_eq!(trips(&db.calls()), 1);
    assert_eq!(store.api_key("abd").await.unwrap(), None);
    assert_eq!(store.api_keys(workspace.id).await.unwrap(), [key]);
    assert!(store.create_api_key("abc", &store.api_keys(workspace.id).await.unwrap()[0]).await.is_err());

    let get = db.client().get_item().table_name(db.table(Table::ApiKeys));
    let (pk, sk) = ("abc".to_owned(), "K".to_owned());
    let row = get
        .key("pk", aws_sdk_dynamodb::types::AttributeValue::S(pk))
        .key("sk", aws_sdk_dynamodb::types::AttributeValue::S(sk))
        .send()
        .await
        .unwrap()
        .item
        .unwrap();
    let ttl: i64 = row["expiresAt"].as_n().unwrap().parse().unwrap();
    assert_eq!(ttl, TestClock::START.as_seconds() + 30 * 24 * 3600);
}

#[tokio::test]
async fn a_row_of_a_later_schema_is_not_read() {
    let (db, workspace) = with_workspace().await;
    let update = db.client().update_item().table_name(db.table(Table::Workspaces));
    let value = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
    update
        .key("pk", value(&format!("{}#W", workspace.id)))
        .key("sk", value("W"))
        .update_expression("SET sv = :later")
        .expression_attribute_values(":later", aws_sdk_dynamodb::types::AttributeValue::N("2".to_owned()))
        .send()
        .await
        .unwrap();
    let read = db.store().workspace(workspace.id).await;
    assert!(matches!(read, Err(StoreError::Unreadable { .. })), "{read:?}");
}

#[tokio::test]
async fn a_missing_table_is_told_from_other_failures() {
    let (db, workspace) = with_workspace().await;
    let gone =
        |store: Store| async move { store.workspace(workspace.id).await.unwrap_err().is_missing_table() };
    db.fail("GetItem", Fault::Throttled, 3);
    assert!(!gone(db.store().clone()).await);
    db.client().delete_table().table_name(db.table(Table::Workspaces)).send().await.unwrap();
    assert!(gone(db.store().clone()).await);
}
