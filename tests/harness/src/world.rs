//! A workspace with a key, and what tests put into it.

use std::sync::atomic::{AtomicU64, Ordering};

use domain::api_key::RateLimit;
use domain::{
    ApiKey, ApiKeyToken, AttributeCategory, AttributeDefinition, AttributeId, AttributeType, ClosedValue,
    ClosedValueId, Contact, ContactId, Email, KeyId, Scopes, User, UserId, Workspace, WorkspaceId,
};
use store::Created;

use crate::{GatewayEvent, TestDb};

/// A database with one workspace and one key that may do everything in it.
pub struct World {
    /// The database, its clock and ids.
    pub db: TestDb,
    /// The workspace of the events of `events/`.
    pub workspace: WorkspaceId,
    /// A key with every scope.
    pub key: String,
    entropy: AtomicU64,
}

impl World {
    /// The workspace id in the events of `events/`.
    pub const WORKSPACE: &str = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";

    /// Starts a database and makes the workspace and the key.
    pub async fn start() -> Self {
        let workspace = done(WorkspaceId::parse(Self::WORKSPACE));
        let mut world =
            Self { db: TestDb::start().await, workspace, key: String::new(), entropy: AtomicU64::new(1) };
        world.workspace(workspace).await;
        world.key = world.key_with(workspace, &["*"], |_| ()).await;
        done(world.db.store().ensure_cursor_key([7; 32]).await);
        world
    }

    /// Makes a workspace.
    pub async fn workspace(&self, id: WorkspaceId) -> WorkspaceId {
        let workspace = done(Workspace::new(id, "Test", self.db.store().now()));
        assert!(done(self.db.store().create_workspace(&workspace).await));
        id
    }

    /// Makes a second workspace and a key of it.
    pub async fn second_workspace(&self) -> (WorkspaceId, String) {
        let workspace = self.workspace(WorkspaceId::generate(self.db.store().ids())).await;
        (workspace, self.key_with(workspace, &["*"], |_| ()).await)
    }

    /// Makes a key with these scopes, changed as the test likes.
    pub async fn key_with(
        &self,
        workspace: WorkspaceId,
        scopes: &[&str],
        change: impl FnOnce(&mut ApiKey),
    ) -> String {
        let token = ApiKeyToken::from_entropy([self.entropy.fetch_add(1, Ordering::SeqCst); 8]);
        let mut key = ApiKey {
            id: KeyId::generate(self.db.store().ids()),
            workspace_id: workspace,
            name: "test".to_owned(),
            scopes: done(Scopes::parse(scopes.iter().copied())),
            rate: RateLimit::DEFAULT,
            created_at: self.db.store().now(),
            expires_at: None,
            revoked_at: None,
        };
        change(&mut key);
        done(self.db.store().create_api_key(&token.sha256_hex(), &key).await);
        token.expose().to_owned()
    }

    /// Makes an internal user, changed as the test likes.
    pub async fn user(&self, email: &str, change: impl FnOnce(&mut User)) -> User {
        let store = self.db.store();
        let mut user =
            User::new(UserId::generate(store.ids()), self.workspace, done(Email::parse(email)), store.now());
        change(&mut user);
        done(store.create_user(&user).await);
        user
    }

    /// Defines an OPEN attribute, changed as the test likes.
    pub async fn open_attribute(
        &self,
        key_name: &str,
        attribute_type: AttributeType,
        change: impl FnOnce(&mut AttributeDefinition),
    ) -> AttributeDefinition {
        self.attribute(key_name, AttributeCategory::Open, attribute_type, &[], change).await
    }

    /// Defines a CLOSED attribute with these values, changed as the test likes.
    pub async fn closed_attribute(
        &self,
        key_name: &str,
        values: &[&str],
        change: impl FnOnce(&mut AttributeDefinition),
    ) -> AttributeDefinition {
        self.attribute(key_name, AttributeCategory::Closed, AttributeType::Text, values, change).await
    }

    async fn attribute(
        &self,
        key_name: &str,
        category: AttributeCategory,
        attribute_type: AttributeType,
        values: &[&str],
        change: impl FnOnce(&mut AttributeDefinition),
    ) -> AttributeDefinition {
        let store = self.db.store();
        let mut definition = AttributeDefinition {
            id: AttributeId::generate(store.ids()),
            workspace_id: self.workspace,
            category,
            is_required: false,
            key_name: key_name.to_owned(),
            attribute_type,
            closed_values: values
                .iter()
                .map(|value| ClosedValue {
                    id: ClosedValueId::generate(store.ids()),
                    value: (*value).to_owned(),
                })
                .collect(),
            created_at: store.now(),
            deleted_at: None,
            version: 1,
        };
        change(&mut definition);
        let workspace = done(store.workspace(self.workspace).await);
        let Some(workspace) = workspace else { panic!("the world has no workspace") };
        assert!(done(store.create_definition(&workspace, &definition).await));
        definition
    }

    /// Makes a contact that holds nothing but what the test puts into it.
    pub async fn contact(&self, change: impl FnOnce(&mut Contact)) -> Contact {
        self.contact_of(self.workspace, change).await
    }

    /// Makes a contact of another workspace.
    pub async fn contact_of(&self, workspace: WorkspaceId, change: impl FnOnce(&mut Contact)) -> Contact {
        let store = self.db.store();
        let mut contact = Contact::blank(ContactId::generate(store.ids()), workspace, store.now());
        change(&mut contact);
        assert_eq!(done(store.create_contact(&contact, "seed").await), Created::Done);
        contact
    }

    /// The event of a file of `events/`, sent with this world's key as a request of its own.
    pub fn event(&self, file: &str) -> GatewayEvent {
        let request_id = self.db.store().ids().next().to_string();
        GatewayEvent::of(file).header("x-api-key", &self.key).request_id(&request_id)
    }
}

fn done<T, E: std::fmt::Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the world cannot be made: {error:?}"),
    }
}
