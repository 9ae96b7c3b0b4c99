//! Settings that operators make and change: versions, races, lost answers.

use domain::access::api_key::{Grant, RateLimit};
use domain::attribute::NewAttribute;
use domain::settings::line::Provider;
use domain::settings::template::{
    AccountState, Button, ButtonKind, Card, ContactField, FileKind, Form, Header, NewTemplate, Offer,
    ParameterFormat, ParameterValue, SaidBy, Source, Text,
};
use domain::webhook::{DisabledReason, ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    Actor, ApiKey, AttributeCategory, AttributeDefinition, AttributeType, AuditAction, Author, Brand,
    BrandId, BusinessAccountId, ChannelId, Email, EndpointCaps, EndpointId, EndpointSecrets, EventFilter,
    Ids, KeyId, Line, Lines, Onboarding, Override, ProviderApp, ProviderAppId, Scopes, Secret, Slot, Team,
    TeamId, Template, TemplateId, TemplateScope, User, UserId, UserRef, WebhookEndpoint, Workspace,
    WorkspaceId,
};
use domain::{TemplateCategory, TemplateStatus};
use harness::{Death, Fault, TestClock, TestDb, World, operator as author, trips};
use store::{
    EndpointCreated, LineCreated, NewEndpoint, Revoked, SettingCreated, Store, StoreError, Table, Tables,
    TemplateCreated, TemplateOwner, UserCreated,
};

async fn with_workspace() -> (TestDb, Workspace) {
    let db = TestDb::start().await;
    let id = WorkspaceId::generate(db.store().ids());
    let workspace = Workspace::new(id, "Aster", TestClock::START).unwrap();
    assert!(db.store().create_workspace(&workspace).await.unwrap());
    (db, workspace)
}

fn operator() -> Actor {
    Actor::Operator("AKIDOPERATOR".to_owned())
}

fn by() -> Author {
    Author { actor: operator(), request_id: None }
}

fn user(workspace: &Workspace, ids: &dyn Ids, email: &str) -> User {
    User::new(UserId::generate(ids), workspace.id, Email::parse(email).unwrap(), TestClock::START)
}

fn endpoint(workspace: &Workspace, ids: &dyn Ids) -> (WebhookEndpoint, EndpointSecrets) {
    let endpoint = WebhookEndpoint {
        filter: EventFilter::parse(["contact.updated"]).unwrap(),
        caps: EndpointCaps { concurrency: Some(4), per_second: None },
        slots: 2,
        ..World::endpoint(workspace.id, EndpointId::generate(ids))
    };
    let secret = |byte| SigningSecret::from_entropy([byte; 32]);
    let signing = SigningSecrets {
        active: secret(1),
        next: Some(secret(2)),
        previous: Some((secret(3), TestClock::START)),
    };
    (endpoint, EndpointSecrets { api_key: ReceiverKey::parse("customer-key").unwrap(), signing })
}

fn fresh<'a>(endpoint: &'a WebhookEndpoint, secrets: &'a EndpointSecrets) -> NewEndpoint<'a> {
    NewEndpoint { endpoint, secrets, by: harness::operator(), kept: None }
}

fn brand(workspace: &Workspace, id: &str) -> Brand {
    Brand::new(BrandId::parse(id).unwrap(), workspace.id, "A brand", TestClock::START).unwrap()
}

fn line(workspace: &Workspace, channel: &str, brand: &Brand) -> Line {
    let (channel, account) =
        (ChannelId::parse(channel).unwrap(), BusinessAccountId::parse("2055500001").unwrap());
    Line::new(workspace.id, channel, brand.id.clone(), account, TestClock::START).unwrap()
}

/// A form with a component of each kind. No template of the provider has them all.
fn every_component() -> Form {
    let text = |text: &str| Text::parse(text, ParameterFormat::Positional);
    let kinds = [
        ButtonKind::QuickReply,
        ButtonKind::Url("https://a.example/{{1}}".to_owned()),
        ButtonKind::PhoneNumber("+34600111222".to_owned()),
        ButtonKind::VoiceCall,
        ButtonKind::CopyCode,
        ButtonKind::Flow,
        ButtonKind::Otp,
    ];
    let buttons: Vec<Button> = kinds.into_iter().map(|kind| Button { text: "b".to_owned(), kind }).collect();
    Form {
        format: ParameterFormat::Positional,
        header: Some(Header::Text(text("Hello {{1}}"))),
        body: text("{{1}} {{2}} {{3}}"),
        footer: Some("footer".to_owned()),
        buttons: buttons.clone(),
        offer: Some(Offer { text: "offer".to_owned(), expires: true }),
        cards: vec![Card { header: FileKind::Video, body: text("{{1}}"), buttons }],
        ttl_seconds: Some(60),
        unsupported: Some("[]".to_owned()),
    }
}

fn template(scope: TemplateScope, ids: &dyn Ids) -> Template {
    let of_contact = |field, fallback: Option<&str>| {
        let fallback = fallback.map(|text| ParameterValue::parse(text).unwrap());
        Source::Contact { field, fallback }
    };
    let wanted = NewTemplate {
        scope,
        provider: Provider::WhatsApp,
        name: "welcome",
        language: "en_US",
        category: Some(TemplateCategory::Authentication),
        form: every_component(),
        sources: [
            ("2".to_owned(), of_contact(ContactField::FirstName, Some("friend"))),
            ("3".to_owned(), of_contact(ContactField::Email, None)),
            ("header.1".to_owned(), Source::Fixed(ParameterValue::parse("x").unwrap())),
            ("button.1.url".to_owned(), Source::CallerOr(ParameterValue::parse("y").unwrap())),
        ]
        .into(),
        approved_by: ["1", "2"].map(|id| BusinessAccountId::parse(id).unwrap()).into(),
    };
    Template::new(wanted, ids, TestClock::START).unwrap()
}

/// The current workspace.
async fn now(db: &TestDb, workspace: &Workspace) -> Workspace {
    db.store().workspace(workspace.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_stale_version_does_not_replace_a_newer_one() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let team = Team::new(TeamId::generate(store.ids()), workspace.id, "Sales", TestClock::START).unwrap();
    assert_eq!(store.create_team(&workspace, &team, author(), None).await.unwrap(), SettingCreated::Done);
    let seen = now(&db, &workspace).await;
    assert_eq!(store.create_team(&seen, &team, author(), None).await.unwrap(), SettingCreated::Stale);
    let member = |_| UserId::generate(store.ids());
    let all: Vec<UserId> = (0..Team::MAX_MEMBERS).map(member).collect();
    let full = team.with(&all).unwrap().unwrap();
    assert!(store.replace_team(&full, &["members"], author()).await.unwrap());
    let other = team.with(&all[..1]).unwrap().unwrap();
    assert!(!store.replace_team(&other, &["members"], author()).await.unwrap());
    assert_eq!(store.team(workspace.id, team.id).await.unwrap(), Some(full.clone()));
    assert_eq!(store.teams(workspace.id).await.unwrap(), [full]);
}

#[tokio::test]
async fn a_change_whose_answer_was_lost_is_recognised_in_its_row() {
    let (db, workspace) = with_workspace().await;
    let next = workspace.renamed("Other").unwrap().unwrap();
    db.fail("PutItem", Fault::AnswerLost, 1);
    assert!(db.store().replace_workspace(&next).await.unwrap());
}

#[tokio::test]
async fn of_two_concurrent_users_with_one_address_one_is_created() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let (one, other) =
        (user(&workspace, store.ids(), "ada@example.com"), user(&workspace, store.ids(), "ADA@example.com"));
    let made =
        tokio::join!(store.create_user(&one, author(), None), store.create_user(&other, author(), None));
    let made = [made.0.unwrap(), made.1.unwrap()];
    assert_eq!(made.iter().filter(|made| **made == UserCreated::Done).count(), 1);
    assert_eq!(store.users(workspace.id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_user_is_replaced_only_by_the_next_version_and_by_nobody_with_the_same_id() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let ada = user(&workspace, store.ids(), "ada@example.com");
    assert_eq!(store.create_user(&ada, author(), None).await.unwrap(), UserCreated::Done);
    let other = User { id: ada.id, ..user(&workspace, store.ids(), "bob@example.com") };
    store.create_user(&other, author(), None).await.unwrap_err();
    assert_eq!(store.users(workspace.id).await.unwrap(), std::slice::from_ref(&ada));

    let disabled = ada.disabled(TestClock::START).unwrap();
    assert!(store.replace_user(&disabled, &["status"], author()).await.unwrap());
    let stale = User { version: 2, ..ada.clone() };
    assert!(!store.replace_user(&stale, &["status"], author()).await.unwrap());
    for named in [UserRef::Id(ada.id), UserRef::Email(ada.email.clone())] {
        assert_eq!(store.user_by_ref(workspace.id, &named).await.unwrap(), Some(disabled.clone()));
    }
}

#[tokio::test]
async fn a_user_is_found_by_id_and_e_mail_in_one_round_trip_and_only_in_its_workspace() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let ada = user(&workspace, store.ids(), "Ada@example.com");
    store.create_user(&ada, author(), None).await.unwrap();
    let by_email = UserRef::Email(Email::parse("ada@EXAMPLE.com").unwrap());
    for named in [UserRef::Id(ada.id), by_email.clone()] {
        db.forget_calls();
        assert_eq!(store.user_by_ref(workspace.id, &named).await.unwrap().as_ref(), Some(&ada));
        assert_eq!(trips(&db.calls()), 1);
        let foreign = WorkspaceId::generate(store.ids());
        assert_eq!(store.user_by_ref(foreign, &named).await.unwrap(), None);
    }
    let disabled = ada.disabled(TestClock::START).unwrap();
    assert!(store.replace_user(&disabled, &["status"], author()).await.unwrap());
    assert!(!store.replace_user(&disabled, &["status"], author()).await.unwrap());
    assert_eq!(store.user_by_ref(workspace.id, &by_email).await.unwrap(), Some(disabled));
}

#[tokio::test]
async fn a_hundred_definitions_are_one_read_and_a_concurrent_addition_is_refused() {
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
    let create = async |seen: &Workspace, definition: &AttributeDefinition| {
        store.create_definition(seen, definition, author(), None).await.unwrap()
    };
    for n in 0..100 {
        assert_eq!(create(&seen, &definition(n)).await, SettingCreated::Done);
        assert_eq!(create(&seen, &definition(n)).await, SettingCreated::Stale);
        seen = store.workspace(workspace.id).await.unwrap().unwrap();
    }
    db.forget_calls();
    let definitions = store.definitions(workspace.id).await.unwrap();
    assert_eq!((definitions.iter().count(), trips(&db.calls())), (100, 1));
    let first = definitions.iter().next().unwrap();
    assert_eq!(create(&seen, first).await, SettingCreated::Stale, "its id is taken");
    let archived = first.archived(TestClock::START).unwrap();
    let stale = Workspace { version: seen.version - 1, ..seen.clone() };
    let change = async |seen: &Workspace| {
        store.change_definition(seen, &archived, &["archived"], author()).await.unwrap()
    };
    assert!(!change(&stale).await);
    assert!(change(&seen).await);
    assert!(!change(&now(&db, &workspace).await).await);
    let archived = store.definitions(workspace.id).await.unwrap();
    assert_eq!(archived.active(TestClock::START).count(), 99);
    assert!(archived.version() > definitions.version());
}

#[tokio::test]
async fn an_endpoint_and_its_secrets_are_created_and_deleted_together() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let (made, secrets) = endpoint(&workspace, store.ids());
    assert_eq!(
        store.create_endpoint(&workspace, &fresh(&made, &secrets)).await.unwrap(),
        EndpointCreated::Done
    );
    assert_eq!(store.endpoints(workspace.id).await.unwrap(), std::slice::from_ref(&made));
    assert_eq!(store.endpoint(workspace.id, made.id).await.unwrap(), Some(made.clone()));
    assert_eq!(store.endpoint_secrets(workspace.id, made.id).await.unwrap(), Some(secrets.clone()));

    let seen = now(&db, &workspace).await;
    let again = WebhookEndpoint { caps: EndpointCaps::default(), ..made.clone() };
    let stored = store.create_endpoint(&seen, &fresh(&again, &secrets)).await.unwrap();
    assert_eq!(stored, EndpointCreated::Stale, "its id is taken");
    assert_eq!(store.endpoint(workspace.id, made.id).await.unwrap(), Some(made.clone()));

    let changed = WebhookEndpoint { version: 2, ..made.clone() };
    assert!(
        !store.delete_endpoint(&changed, &by()).await.unwrap(),
        "it is not as it was read: it may have other slots"
    );
    assert!(store.delete_endpoint(&made, &by()).await.unwrap());
    assert!(!store.delete_endpoint(&made, &by()).await.unwrap());
    assert_eq!(store.endpoint(workspace.id, made.id).await.unwrap(), None);
    assert_eq!(store.endpoint_secrets(workspace.id, made.id).await.unwrap(), None);
    let since = |at| store.endpoints_deleted_since(workspace.id, at);
    let slot = |number| Slot { workspace: workspace.id, endpoint: made.id, number };
    assert_eq!(since(TestClock::START).await.unwrap(), [slot(0), slot(1)], "their deliveries are kept");
    let later = TestClock::START.plus(std::time::Duration::from_millis(1));
    assert_eq!(since(later).await.unwrap(), []);
}

#[tokio::test]
async fn an_endpoint_is_disabled_once_and_keeps_the_first_reason() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let (made, secrets) = endpoint(&workspace, store.ids());
    store.create_endpoint(&workspace, &fresh(&made, &secrets)).await.unwrap();
    let gone = made.disabled(DisabledReason::Gone, TestClock::START).unwrap();
    let both = tokio::join!(store.replace_endpoint(&gone), store.replace_endpoint(&gone));
    assert_eq!([both.0.unwrap(), both.1.unwrap()].iter().filter(|done| **done).count(), 1);
    let disabled = store.endpoint(workspace.id, made.id).await.unwrap().unwrap();
    assert_eq!(disabled, gone);
    assert_eq!(disabled.disabled(DisabledReason::Operator, TestClock::START), None);
}

#[tokio::test]
async fn signing_secrets_are_replaced_only_if_neither_changed_since() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let secret = |byte| SigningSecret::from_entropy([byte; 32]);
    let of = |active, next: Option<u8>| SigningSecrets {
        active: secret(active),
        next: next.map(secret),
        previous: None,
    };
    let action = AuditAction::WebhookEndpointRotateSecret;
    // What was read, what another command stored meanwhile, and what the late command stores.
    for (seen, meanwhile, late) in
        [(of(1, None), of(2, None), of(1, Some(3))), (of(1, Some(2)), of(1, Some(3)), of(2, None))]
    {
        let (made, secrets) = endpoint(&workspace, store.ids());
        let secrets = EndpointSecrets { signing: seen.clone(), ..secrets };
        let workspace = now(&db, &workspace).await;
        store.create_endpoint(&workspace, &fresh(&made, &secrets)).await.unwrap();
        let replace = async |next| {
            store.replace_signing_secrets((workspace.id, made.id), &seen, next, action, &by()).await.unwrap()
        };
        assert!(replace(&meanwhile).await);
        assert!(!replace(&late).await);
        let stored = store.endpoint_secrets(workspace.id, made.id).await.unwrap().unwrap();
        assert_eq!(stored.signing, meanwhile);
    }
}

#[tokio::test]
async fn an_app_of_the_provider_is_created_once_and_replaced_only_by_its_next_version() {
    let db = TestDb::start().await;
    let store = db.store();
    let made = ProviderApp {
        id: ProviderAppId::parse("1042").unwrap(),
        workspace: None,
        secret: ProviderApp::secret("first-secret-0123456789abcdef").unwrap(),
        previous: None,
        verify_token: ProviderApp::new_verify_token(&[7; 32]),
        created_at: TestClock::START,
        version: 1,
    };
    let rotated = |secret| made.rotated(ProviderApp::secret(secret).unwrap(), TestClock::START);
    assert!(store.create_provider_app(&made).await.unwrap());
    let (one, other) = (rotated("second-secret-0123456789abcdef"), rotated("third-secret-0123456789abcdef"));
    assert!(!store.create_provider_app(&one).await.unwrap());
    assert_eq!(store.provider_apps().await.unwrap(), std::slice::from_ref(&made));
    assert!(store.replace_provider_app(&one).await.unwrap());
    assert!(!store.replace_provider_app(&other).await.unwrap(), "the second secret signs already");
    assert_eq!(store.provider_apps().await.unwrap(), [one]);
}

#[tokio::test]
async fn a_key_is_read_back_unchanged_and_its_row_outlives_its_expiry_by_30_days() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let grant = Grant {
        scopes: Scopes::parse(["contacts:read"]).unwrap(),
        rate: RateLimit { per_second: 7, burst: 8 },
        expires_at: Some(TestClock::START.plus(std::time::Duration::from_millis(1))),
    };
    let key =
        ApiKey::new(KeyId::generate(store.ids()), workspace.id, "CRM", grant, operator(), TestClock::START)
            .unwrap();
    store.create_api_key("abc", &key, None).await.unwrap();
    db.forget_calls();
    assert_eq!(store.api_key("abc").await.unwrap(), Some(key.clone()));
    assert_eq!(trips(&db.calls()), 1);
    assert_eq!(store.api_key("abd").await.unwrap(), None);
    assert_eq!(store.api_keys(workspace.id).await.unwrap(), [key]);
    assert!(
        store.create_api_key("abc", &store.api_keys(workspace.id).await.unwrap()[0], None).await.is_err()
    );

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

fn key_named(store: &Store, workspace: &Workspace, name: &str) -> ApiKey {
    let grant = Grant {
        scopes: Scopes::parse(["contacts:read"]).unwrap(),
        rate: RateLimit { per_second: 7, burst: 8 },
        expires_at: None,
    };
    let id = KeyId::generate(store.ids());
    ApiKey::new(id, workspace.id, name, grant, operator(), store.now()).unwrap()
}

#[tokio::test]
async fn a_key_is_revoked_once_and_not_after_its_row_was_deleted() {
    for is_deleted in [false, true] {
        let (db, workspace) = with_workspace().await;
        let store = db.store();
        let key = key_named(store, &workspace, "CRM");
        store.create_api_key("abc", &key, None).await.unwrap();
        let held = db.hold("TransactWriteItems");
        let meanwhile = async {
            db.begun("TransactWriteItems", 1).await;
            if is_deleted {
                db.remove_row(Table::ApiKeys, "abc", "K");
                db.remove_row(Table::ApiKeys, &format!("{}#I", workspace.id), &key.id.to_string());
            } else {
                assert_eq!(store.revoke_api_key(workspace.id, key.id, &by()).await.unwrap(), Revoked::Done);
                db.clock().advance(std::time::Duration::from_secs(1));
            }
            drop(held);
            db.rows(Table::ApiKeys)
        };
        let by = by();
        let (revoked, rows) = tokio::join!(store.revoke_api_key(workspace.id, key.id, &by), meanwhile);
        let expected = if is_deleted { Revoked::Unknown } else { Revoked::Already };
        assert_eq!(revoked.unwrap(), expected);
        assert_eq!(db.rows(Table::ApiKeys), rows);
    }
}

/// The row of each key of the table without its key and kind, and that of its copy.
fn keys_and_copies(db: &TestDb, workspace: &Workspace) -> [Vec<serde_json::Value>; 2] {
    ["apiKey", "apiKeyCopy"].map(|kind| {
        let mut rows = db.rows_of(Table::ApiKeys, kind);
        for row in &mut rows {
            let fields = row.as_object_mut().unwrap();
            fields.remove("kind");
            let (pk, sk) = (fields.remove("pk").unwrap(), fields.remove("sk").unwrap());
            if kind == "apiKeyCopy" {
                assert_eq!((&pk["S"], &sk), (&format!("{}#I", workspace.id).into(), &fields["keyId"]));
            } else {
                fields.insert("sha256".to_owned(), pk);
            }
        }
        rows.sort_by_key(|row| row["sha256"].to_string());
        rows
    })
}

#[tokio::test]
async fn a_key_and_its_copy_never_differ() {
    for death in [Death::Before, Death::After] {
        // One call makes a key; two revoke it.
        for (calls, is_revoked) in [(0, false), (0, true), (1, true)] {
            let (db, workspace) = with_workspace().await;
            let store = db.store();
            let (first, key) = (key_named(store, &workspace, "first"), key_named(store, &workspace, "CRM"));
            store.create_api_key("aaa", &first, None).await.unwrap();
            if is_revoked {
                store.create_api_key("abc", &key, None).await.unwrap();
            }
            let act = async || match is_revoked {
                true => {
                    assert_ne!(
                        store.revoke_api_key(workspace.id, key.id, &by()).await.unwrap(),
                        Revoked::Unknown
                    )
                }
                false => drop(store.create_api_key("abc", &key, None).await),
            };
            let mut dead = db.die_after(calls, death);
            tokio::select! {
                () = act() => panic!("nobody died"),
                _ = &mut dead => {}
            }
            db.revive();
            let [keys, copies] = keys_and_copies(&db, &workspace);
            assert_eq!(keys, copies, "{calls} {death:?}");
            let revocations = keys.iter().filter(|key| !key["revokedAt"].is_null()).count();
            let entries = db.rows(Table::Audit).len();
            assert_eq!(entries, keys.len() + revocations, "one entry for each change: {calls} {death:?}");
            act().await;
            let [keys, copies] = keys_and_copies(&db, &workspace);
            assert_eq!((keys.len(), &keys), (2, &copies), "{calls} {death:?}");
            let listed = store.api_keys(workspace.id).await.unwrap();
            let found = store.api_key("abc").await.unwrap().unwrap();
            assert!(listed.contains(&found) && listed.contains(&first));
            assert_eq!(found.revoked_at.is_some(), is_revoked);
        }
    }
}

#[tokio::test]
async fn keys_are_listed_at_once_and_newest_first_and_a_revoked_one_for_400_days() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let day = std::time::Duration::from_secs(24 * 3600);
    let (old, new) = (key_named(store, &workspace, "old"), {
        db.clock().advance(std::time::Duration::from_secs(1));
        key_named(store, &workspace, "new")
    });
    db.forget_calls();
    store.create_api_key("aaa", &old, None).await.unwrap();
    assert_eq!((trips(&db.calls()), db.calls()[0].write_units), (1, 6.0));
    store.create_api_key("bbb", &new, None).await.unwrap();
    db.forget_calls();
    assert_eq!(store.api_keys(workspace.id).await.unwrap(), [new.clone(), old.clone()]);
    assert_eq!(db.operations(), ["Query api-keys"]);
    db.forget_calls();
    assert_eq!(store.revoke_api_key(workspace.id, old.id, &by()).await.unwrap(), Revoked::Done);
    assert_eq!(db.operations(), ["GetItem api-keys", "TransactWriteItems api-keys+audit"]);
    let other = WorkspaceId::generate(store.ids());
    assert_eq!(store.revoke_api_key(other, new.id, &by()).await.unwrap(), Revoked::Unknown);
    assert_eq!(store.api_keys(other).await.unwrap(), []);
    let names = async || -> Vec<String> {
        store.api_keys(workspace.id).await.unwrap().into_iter().map(|key| key.name).collect()
    };
    db.clock().advance(400 * day);
    assert_eq!(names().await, ["new", "old"]);
    assert!(!store.api_key("aaa").await.unwrap().unwrap().is_good(store.now()));
    db.clock().advance(std::time::Duration::from_secs(1));
    assert_eq!((names().await, store.api_key("aaa").await.unwrap()), (vec!["new".to_owned()], None));
}

#[tokio::test]
async fn a_row_of_a_later_schema_is_not_read() {
    let (db, workspace) = with_workspace().await;
    let later = |row: &mut serde_json::Value| row["sv"] = serde_json::json!({ "N": "2" });
    db.change_row(Table::Workspaces, &format!("{}#W", workspace.id), "W", later);
    let read = db.store().workspace(workspace.id).await;
    assert!(matches!(read, Err(StoreError::Unreadable { .. })), "{read:?}");
}

#[tokio::test]
async fn a_missing_table_is_distinguished_from_other_failures() {
    let (db, workspace) = with_workspace().await;
    let gone =
        |store: Store| async move { store.workspace(workspace.id).await.unwrap_err().is_missing_table() };
    db.fail("GetItem", Fault::Throttled, 3);
    assert!(!gone(db.store().clone()).await);
    db.client().delete_table().table_name(db.table(Table::Workspaces)).send().await.unwrap();
    assert!(gone(db.store().clone()).await);
}

#[tokio::test]
async fn lines_and_brands_are_one_query_and_a_line_is_stored_with_its_token_and_as_default() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let alpha = brand(&workspace, "alpha");
    assert!(store.create_brand(&workspace, &alpha).await.unwrap());
    let (first, token) = (line(&workspace, "1055500001", &alpha), Secret::new("token-1"));
    let alphas_next = Lines { brands: vec![alpha], ..Lines::default() }.admit_line(&first).unwrap().unwrap();
    let next = now(&db, &workspace).await.with_line(&first.channel, false);
    let written = store.create_line(&next, &first, Some(&alphas_next), &token).await.unwrap();
    assert_eq!(written, LineCreated::Done);
    assert_eq!(now(&db, &workspace).await, next);
    let (second, next) =
        (line(&workspace, "0055500002", &alphas_next), next.with_line(&first.channel, false));
    assert_eq!(store.create_line(&next, &second, None, &token).await.unwrap(), LineCreated::Done);

    db.forget_calls();
    let found = store.lines(workspace.id).await.unwrap();
    assert_eq!((db.calls().len(), trips(&db.calls())), (1, 1));
    // Lines created at the same moment are sorted by id.
    let expected = Lines { lines: vec![second, first.clone()], brands: vec![alphas_next], default: None };
    assert_eq!(found, expected);
    assert_eq!(store.line(workspace.id, &first.channel).await.unwrap(), Some(first.clone()));
    assert_eq!(store.line_token(workspace.id, &first.channel).await.unwrap(), Some(token));

    let foreign = WorkspaceId::generate(store.ids());
    assert_eq!(store.lines(foreign).await.unwrap(), Lines::default());
    assert_eq!(store.line(foreign, &first.channel).await.unwrap(), None);
    assert_eq!(store.line_token(foreign, &first.channel).await.unwrap(), None);
}

#[tokio::test]
async fn a_concurrent_brand_or_line_is_refused_and_writes_nothing() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let alpha = brand(&workspace, "alpha");
    assert!(store.create_brand(&workspace, &alpha).await.unwrap());
    assert!(!store.create_brand(&workspace, &brand(&workspace, "beta")).await.unwrap());
    let one = line(&workspace, "1", &alpha);
    let token = Secret::new("token-1");
    let stale = workspace.with_line(&one.channel, false);
    assert_eq!(store.create_line(&stale, &one, None, &token).await.unwrap(), LineCreated::Changed);

    let seen = now(&db, &workspace).await;
    assert!(!store.create_brand(&seen, &alpha).await.unwrap());
    // The brand got its first line since it was read.
    let other_brand = Brand { version: 3, line: Some(one.channel.clone()), ..alpha.clone() };
    let next = seen.with_line(&one.channel, false);
    let written = store.create_line(&next, &one, Some(&other_brand), &token).await.unwrap();
    assert_eq!(written, LineCreated::Changed);
    assert_eq!(store.lines(workspace.id).await.unwrap(), Lines { brands: vec![alpha], ..Lines::default() });
    assert_eq!(store.line_token(workspace.id, &one.channel).await.unwrap(), None);
    assert_eq!(now(&db, &workspace).await, seen);

    assert_eq!(store.create_line(&next, &one, None, &token).await.unwrap(), LineCreated::Done);
    let again = next.with_line(&one.channel, false);
    let written = store.create_line(&again, &one, None, &Secret::new("token-2")).await.unwrap();
    assert_eq!(written, LineCreated::Changed);
    assert_eq!(store.line_token(workspace.id, &one.channel).await.unwrap(), Some(token));
}

#[tokio::test]
async fn a_token_is_remembered_for_five_minutes_and_a_missing_one_is_not() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let alpha = brand(&workspace, "alpha");
    assert!(store.create_brand(&workspace, &alpha).await.unwrap());
    let line = line(&workspace, "1055500001", &alpha);
    let token = || async { store.line_token(workspace.id, &line.channel).await.unwrap() };
    assert_eq!(token().await, None);
    let (old, new) = (Secret::new("token-1"), Secret::new("token-2"));
    let next = now(&db, &workspace).await.with_line(&line.channel, false);
    assert_eq!(store.create_line(&next, &line, None, &old).await.unwrap(), LineCreated::Done);
    assert_eq!(token().await, Some(old.clone()));

    // Another process replaces the token.
    let tables = Tables::of_stack("test");
    let another = Store::new(db.client().clone(), tables, db.clock().clone(), db.ids().clone());
    let second = line.with_new_token();
    assert!(another.set_line_token(&second, &new).await.unwrap());
    assert!(!another.set_line_token(&second, &old).await.unwrap());
    db.forget_calls();
    db.clock().advance(std::time::Duration::from_millis(299_999));
    assert_eq!((token().await, trips(&db.calls())), (Some(old), 0));
    db.clock().advance(std::time::Duration::from_millis(1));
    assert_eq!((token().await, trips(&db.calls())), (Some(new), 1));
    // A process uses its own change at once.
    let third = second.with_new_token();
    assert!(store.set_line_token(&third, &Secret::new("token-3")).await.unwrap());
    assert_eq!(token().await, Some(Secret::new("token-3")));
}

#[tokio::test]
async fn the_settings_of_a_workspace_are_read_back_and_absent_ones_have_their_defaults() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let sequence = vec![TemplateId::generate(store.ids()), TemplateId::generate(store.ids())];
    let onboarding = Onboarding { overriding: Override::FirstOnly, sequence };
    let channel = ChannelId::parse("1").unwrap();
    let next = workspace.with_onboarding(onboarding).unwrap();
    assert!(store.replace_workspace(&next).await.unwrap());
    assert!(!store.replace_workspace(&next).await.unwrap());
    let next = next.with_default_line(&channel).unwrap();
    assert!(store.replace_workspace(&next).await.unwrap());
    assert_eq!(now(&db, &workspace).await, next);

    let value = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
    let update = db.client().update_item().table_name(db.table(Table::Workspaces));
    let update = update.key("pk", value(&format!("{}#W", workspace.id))).key("sk", value("W"));
    update.update_expression("REMOVE defaultLine").send().await.unwrap();
    assert_eq!(now(&db, &workspace).await, Workspace { default_line: None, ..next });
}

#[tokio::test]
async fn templates_of_both_scopes_are_one_batch_without_those_of_other_workspaces() {
    let (db, workspace) = with_workspace().await;
    let store = db.store();
    let own_scope = TemplateScope::Workspace(workspace.id);
    let foreign = WorkspaceId::generate(store.ids());
    let own = template(own_scope, store.ids());
    let platforms = template(TemplateScope::Platform, store.ids());
    let others = template(TemplateScope::Workspace(foreign), store.ids());
    // No operation creates the same id in both scopes. If there were such an id, the workspace's own template
    // would win.
    let hidden = Template { scope: TemplateScope::Platform, name: "hidden".to_owned(), ..own.clone() };
    let theirs = Workspace::new(foreign, "Other", TestClock::START).unwrap();
    assert!(store.create_workspace(&theirs).await.unwrap());
    for template in [&own, &platforms, &others, &hidden] {
        for is_first in [true, false] {
            let owner = match template.scope {
                TemplateScope::Workspace(id) => {
                    TemplateOwner::Workspace(Box::new(store.workspace(id).await.unwrap().unwrap()))
                }
                TemplateScope::Platform => store.platform_templates().await.unwrap(),
            };
            let created = store.create_template(&owner, template).await.unwrap();
            // The second one is the same: an attempt whose answer was lost.
            assert_eq!(created, TemplateCreated::Done, "{is_first}");
        }
    }

    let unknown = TemplateId::generate(store.ids());
    db.forget_calls();
    let asked = [own.id, platforms.id, others.id, unknown, own.id];
    let found = store.templates(workspace.id, &asked).await.unwrap();
    assert_eq!((db.calls().len(), trips(&db.calls())), (1, 1));
    let expected = [(own.id, own.clone()), (platforms.id, platforms.clone())];
    assert_eq!(found, expected.into());
    assert_eq!(store.template(own_scope, own.id).await.unwrap(), Some(own));
    assert_eq!(store.template(own_scope, platforms.id).await.unwrap(), None);

    // As many as a caller can request and a workspace can have in its onboarding.
    let most: Vec<TemplateId> = (0..2 * Onboarding::MAX).map(|_| TemplateId::generate(store.ids())).collect();
    db.forget_calls();
    assert_eq!(store.templates(workspace.id, &most).await.unwrap(), [].into());
    assert_eq!(db.calls().len(), 1);
    db.forget_calls();
    assert_eq!(store.templates(workspace.id, &[]).await.unwrap(), [].into());
    assert_eq!(db.calls().len(), 0);
}

#[tokio::test]
async fn an_approval_replaces_only_the_version_that_was_read() {
    let (db, _) = with_workspace().await;
    let store = db.store();
    let made = template(TemplateScope::Platform, store.ids());
    let owner = async || store.platform_templates().await.unwrap();
    assert_eq!(store.create_template(&owner().await, &made).await.unwrap(), TemplateCreated::Done);
    db.clock().advance(std::time::Duration::from_secs(1));
    let later = template(TemplateScope::Platform, store.ids());
    let later = Template { created_at: store.now(), name: "later".to_owned(), ..later };
    assert_eq!(store.create_template(&owner().await, &later).await.unwrap(), TemplateCreated::Done);

    let approved = made.said(&BusinessAccountId::parse("3").unwrap(), true, store.now()).unwrap().unwrap();
    assert!(store.replace_template(&approved).await.unwrap());
    let revoked = made.said(&BusinessAccountId::parse("1").unwrap(), false, store.now()).unwrap().unwrap();
    assert!(!store.replace_template(&revoked).await.unwrap());
    assert_eq!(store.templates_of(TemplateScope::Platform).await.unwrap(), [approved.clone(), later]);

    let (account, text) = (BusinessAccountId::parse("4").unwrap(), |text: &str| Some(text.to_owned()));
    let whole = AccountState {
        meta_id: text("168"),
        quality: text("GREEN"),
        category: Some(TemplateCategory::Utility),
        reason: text("NONE"),
        shape: text("s"),
        ..AccountState::of(TemplateStatus::Paused, store.now(), SaidBy::Sync)
    };
    let mut bare = Template {
        states: [(account.clone(), whole)].into(),
        taken_from: Some(account),
        version: 3,
        ..approved
    };
    bare.set_variables(vec![]);
    assert!(store.replace_template(&bare).await.unwrap());
    assert_eq!(store.template(TemplateScope::Platform, bare.id).await.unwrap(), Some(bare));
}
