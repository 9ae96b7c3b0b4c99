//! A workspace with an API key, and functions that create test data in it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::conversation::{ContactRef, Opening};
use domain::lead::captcha::Score;
use domain::lead::{ConsentClaim, LandingUri, LeadName, Utm, VisitorSeen};
use domain::media::{Attached, Declared, FileName};
use domain::message::{Content, Draft};
use domain::settings::template::{Form, NewTemplate, Parameters, Requested, Shown, TemplateContent};
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    Actor, ApiKey, ApiKeyToken, AttributeCategory, AttributeDefinition, AttributeId, AttributeType,
    AuditFilter, Author, Brand, BrandId, BusinessAccountId, Capture, CaptureKey, Cellphone, ChannelId,
    ClosedValue, ClosedValueId, Contact, ContactId, Conversation, ConversationId, Email, EndpointCaps,
    EndpointId, EndpointSecrets, EndpointState, EndpointUrl, EventFilter, External, FileType, KeyId, KeyKind,
    Lead, LeadRequest, Line, Lines, Media, MediaDigest, Message, MessageBody, MessageId, Onboarding,
    OnboardingPlan, Override, Provider, ProviderApp, ProviderAppId, ProviderUserId, Recipient, Scopes,
    Secret, Team, TeamId, Template, TemplateId, TemplateScope, TrustedReceivers, User, UserId, UserIds,
    WebOrigin, WebhookEndpoint, Workspace, WorkspaceId,
};
use edge::Api;
use runtime::Metrics;
use runtime::metrics::{ApiFunction, Dimension};
use serde_json::json;
use store::{
    Created, EndpointCreated, LeadAccepted, LeadOpening, LineCreated, MediaCreated, MessageStored,
    NewEndpoint, NewMessage, Opened, SettingCreated, Table, TemplateCreated, TemplateOwner,
};

use crate::{GatewayEvent, TestClock, TestDb};

/// How long after new work the sweeper queues its lane.
const FIRST_DUE: Duration = Duration::from_secs(120);

/// Who made what no test looks at.
pub fn operator() -> &'static Author {
    static OPERATOR: LazyLock<Author> =
        LazyLock::new(|| Author { actor: Actor::Operator("test".to_owned()), request_id: None });
    &OPERATOR
}

/// A database with one workspace and an API key with every scope.
pub struct World {
    /// The database with its clock and ids.
    pub db: TestDb,
    /// The workspace of the events in `events/`.
    pub workspace: WorkspaceId,
    /// An API key with every scope.
    pub key: String,
    entropy: AtomicU64,
}

impl World {
    /// The workspace id in the events in `events/`.
    pub const WORKSPACE: &str = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    /// The brand of all lines, unless a test says otherwise.
    pub const BRAND: &str = "brand";
    /// The business account of all lines and template approvals, unless a test says otherwise.
    pub const ACCOUNT: &str = "2055500001";

    /// Starts a database and creates the workspace and the key.
    pub async fn start() -> Self {
        Self::over(TestDb::start().await).await
    }

    /// Creates the workspace and the key in this database.
    pub async fn over(db: TestDb) -> Self {
        let workspace = done(WorkspaceId::parse(Self::WORKSPACE));
        let mut world = Self { db, workspace, key: String::new(), entropy: AtomicU64::new(1) };
        world.workspace(workspace).await;
        world.key = world.key_with(workspace, &["*"], |_| ()).await;
        done(world.db.store().ensure_cursor_key([7; 32]).await);
        done(world.db.store().ensure_person_key([9; 32]).await);
        done(world.db.store().person_key().await);
        world
    }

    /// Creates a workspace.
    pub async fn workspace(&self, id: WorkspaceId) -> WorkspaceId {
        let workspace = done(Workspace::new(id, "Test", self.db.store().now()));
        assert!(done(self.db.store().create_workspace(&workspace).await));
        id
    }

    /// Changes the workspace.
    pub async fn change_workspace(&self, change: impl FnOnce(&Workspace) -> Option<Workspace>) {
        let store = self.db.store();
        let seen = done(store.workspace(self.workspace).await);
        let next = seen.and_then(|seen| change(&seen)).ok_or("the workspace does not change");
        assert!(done(store.replace_workspace(&done(next)).await));
    }

    /// The entries of the audit log that keys made, newest first: action, subject and fields. Each is of the request `r`.
    pub async fn audited(&self) -> Vec<(String, String, Vec<String>)> {
        let log = self.db.store().audit_log(self.workspace, &AuditFilter::default(), 100, None).await;
        let by_keys = done(log).items.into_iter().filter(|entry| entry.author.actor.kind() == "KEY");
        let shown = by_keys.map(|entry| {
            assert_eq!(entry.author.request_id.as_deref(), Some("r"));
            (entry.action.as_str().to_owned(), entry.subject, entry.fields)
        });
        shown.collect()
    }

    /// Creates a second workspace and a key for it.
    pub async fn second_workspace(&self) -> (WorkspaceId, String) {
        let workspace = self.workspace(WorkspaceId::generate(self.db.store().ids())).await;
        (workspace, self.key_with(workspace, &["*"], |_| ()).await)
    }

    /// Creates an API key with these scopes. `change` adjusts it before it is stored.
    pub async fn key_with(
        &self,
        workspace: WorkspaceId,
        scopes: &[&str],
        change: impl FnOnce(&mut ApiKey),
    ) -> String {
        let token = ApiKeyToken::from_entropy([self.entropy.fetch_add(1, Ordering::SeqCst); 8]);
        let id = KeyId::generate(self.db.store().ids());
        let mut key = ApiKey {
            id,
            workspace_id: workspace,
            name: "test".to_owned(),
            kind: KeyKind::Key,
            scopes: done(Scopes::parse(scopes.iter().copied())),
            rate: RateLimit::DEFAULT,
            bucket: id,
            created_at: self.db.store().now(),
            created_by: Actor::Operator("test".to_owned()),
            expires_at: None,
            revoked_at: None,
        };
        change(&mut key);
        key.bucket = key.id;
        done(self.db.store().create_api_key(&token.sha256_hex(), &key, None).await);
        token.expose().to_owned()
    }

    /// Creates an internal user. `change` adjusts it before it is stored.
    pub async fn user(&self, email: &str, change: impl FnOnce(&mut User)) -> User {
        self.user_of(self.workspace, email, change).await
    }

    /// Creates an internal user in another workspace.
    pub async fn user_of(&self, workspace: WorkspaceId, email: &str, change: impl FnOnce(&mut User)) -> User {
        let store = self.db.store();
        let mut user =
            User::new(UserId::generate(store.ids()), workspace, done(Email::parse(email)), store.now());
        change(&mut user);
        done(store.create_user(&user, operator(), None).await);
        user
    }

    /// Creates a team of these users.
    pub async fn team(&self, users: &[UserId]) -> Team {
        self.team_of(self.workspace, users).await
    }

    /// Creates a team in another workspace.
    pub async fn team_of(&self, workspace: WorkspaceId, users: &[UserId]) -> Team {
        let store = self.db.store();
        let empty = done(Team::new(TeamId::generate(store.ids()), workspace, "Test", store.now()));
        let team = done(empty.with(users)).map_or(empty, |team| Team { version: 1, ..team });
        let (seen, _) = self.settings(workspace).await;
        let created = done(store.create_team(&seen, &team, operator(), None).await);
        assert_eq!(created, SettingCreated::Done);
        team
    }

    /// Creates a brand. `change` adjusts it before it is stored.
    pub async fn brand(&self, id: &str, change: impl FnOnce(&mut Brand)) -> Brand {
        self.brand_of(self.workspace, id, change).await
    }

    /// Creates a brand in another workspace.
    pub async fn brand_of(&self, workspace: WorkspaceId, id: &str, change: impl FnOnce(&mut Brand)) -> Brand {
        let store = self.db.store();
        let mut brand = done(Brand::new(done(BrandId::parse(id)), workspace, id, store.now()));
        change(&mut brand);
        let (workspace, lines) = self.settings(workspace).await;
        done(lines.admit_brand(&brand));
        assert!(done(store.create_brand(&workspace, &brand).await));
        brand
    }

    /// Creates a line with a token, and its brand if the workspace does not have it. `change` adjusts the line before
    /// it is stored. As with the console, the first line becomes the default of the workspace, and the first line of a
    /// brand becomes the one the brand sends from.
    pub async fn line(&self, channel: &str, change: impl FnOnce(&mut Line)) -> Line {
        self.line_of(self.workspace, channel, change).await
    }

    /// Creates a line in another workspace.
    pub async fn line_of(
        &self,
        workspace: WorkspaceId,
        channel: &str,
        change: impl FnOnce(&mut Line),
    ) -> Line {
        let store = self.db.store();
        let mut line = done(Line::new(
            workspace,
            done(ChannelId::parse(channel)),
            done(BrandId::parse(Self::BRAND)),
            done(BusinessAccountId::parse(Self::ACCOUNT)),
            store.now(),
        ));
        change(&mut line);
        let (mut seen, mut lines) = self.settings(workspace).await;
        if lines.brand(&line.brand).is_none() {
            self.brand_of(workspace, line.brand.as_str(), |_| ()).await;
            (seen, lines) = self.settings(workspace).await;
        }
        let brand = done(lines.admit_line(&line));
        let next = seen.with_line(&line.channel, false);
        let token = Secret::new(Self::token(&line.channel));
        let written = done(store.create_line(&next, &line, brand.as_ref(), &token).await);
        assert_eq!(written, LineCreated::Done);
        line
    }

    /// The access token of a line that this type created.
    pub fn token(channel: &ChannelId) -> String {
        format!("token-of-{}", channel.as_str())
    }

    /// The business account of the lines.
    pub fn account() -> BusinessAccountId {
        done(BusinessAccountId::parse(Self::ACCOUNT))
    }

    /// A customer's user id for this account; none if the text is none.
    pub fn user_ids(id: &str) -> UserIds {
        ProviderUserId::parse(id).map(|id| UserIds::one(Self::account(), id)).unwrap_or_default()
    }

    /// Creates a template of the workspace, without variables and approved for [`World::ACCOUNT`]. `change` adjusts it
    /// before it is stored.
    pub async fn template(&self, change: impl FnOnce(&mut Template)) -> Template {
        self.template_of(TemplateScope::Workspace(self.workspace), change).await
    }

    /// Creates a template of the platform.
    pub async fn platform_template(&self, change: impl FnOnce(&mut Template)) -> Template {
        self.template_of(TemplateScope::Platform, change).await
    }

    /// Creates a template of any scope.
    pub async fn template_of(&self, scope: TemplateScope, change: impl FnOnce(&mut Template)) -> Template {
        let store = self.db.store();
        let wanted = NewTemplate {
            scope,
            provider: Provider::WhatsApp,
            name: "welcome",
            language: "es",
            category: None,
            form: Form::of_names(vec![]),
            sources: [].into(),
            approved_by: [Self::account()].into(),
        };
        let mut template = done(Template::new(wanted, store.ids(), store.now()));
        // News of the provider are newer, whatever time a test gives them.
        for state in template.states.values_mut() {
            state.at = domain::Timestamp::from_millis(0);
        }
        change(&mut template);
        let owner = match scope {
            TemplateScope::Workspace(id) => TemplateOwner::Workspace(Box::new(self.settings(id).await.0)),
            TemplateScope::Platform => done(store.platform_templates().await),
        };
        let created = done(store.create_template(&owner, &template).await);
        if let TemplateCreated::NameTaken(_) = created {
            // Tests need several templates and rarely their names.
            template.name = format!("{}_{}", template.name, template.id.as_uuid().simple());
            let again = done(store.create_template(&owner, &template).await);
            assert_eq!(again, TemplateCreated::Done);
        }
        assert_ne!(created, TemplateCreated::Stale);
        template
    }

    /// Deletes a template of the workspace.
    pub async fn delete_template(&self, template: &Template) {
        let owner = TemplateOwner::Workspace(Box::new(self.settings(self.workspace).await.0));
        assert!(done(self.db.store().delete_template(&owner, template).await));
    }

    /// Sets up the workspace's onboarding.
    pub async fn onboarding(&self, overriding: Override, sequence: &[TemplateId]) {
        let (workspace, _) = self.settings(self.workspace).await;
        let onboarding = done(Onboarding::new(overriding, sequence.to_vec()));
        if let Some(next) = workspace.with_onboarding(onboarding) {
            assert!(done(self.db.store().replace_workspace(&next).await));
        }
    }

    async fn settings(&self, workspace: WorkspaceId) -> (Workspace, Lines) {
        let store = self.db.store();
        let Some(seen) = done(store.workspace(workspace).await) else { panic!("no workspace {workspace}") };
        (seen, done(store.lines(workspace).await))
    }

    /// Defines an OPEN attribute. `change` adjusts it before it is stored.
    pub async fn open_attribute(
        &self,
        key_name: &str,
        attribute_type: AttributeType,
        change: impl FnOnce(&mut AttributeDefinition),
    ) -> AttributeDefinition {
        self.attribute(key_name, AttributeCategory::Open, attribute_type, &[], change).await
    }

    /// Defines a CLOSED attribute with these values. `change` adjusts it before it is stored.
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
        let (workspace, _) = self.settings(self.workspace).await;
        let created = done(store.create_definition(&workspace, &definition, operator(), None).await);
        assert_eq!(created, SettingCreated::Done);
        definition
    }

    /// Creates an empty contact. `change` fills it before it is stored.
    pub async fn contact(&self, change: impl FnOnce(&mut Contact)) -> Contact {
        self.contact_of(self.workspace, change).await
    }

    /// Creates a contact in another workspace.
    pub async fn contact_of(&self, workspace: WorkspaceId, change: impl FnOnce(&mut Contact)) -> Contact {
        let store = self.db.store();
        let mut contact = Contact::blank(ContactId::generate(store.ids()), workspace, store.now());
        change(&mut contact);
        assert_eq!(done(store.create_contact(&contact, "seed").await), Created::Done);
        contact
    }

    /// Creates an ACTIVE conversation with one customer, whose contact it creates too. `change` adjusts it before it is
    /// stored.
    pub async fn conversation(&self, change: impl FnOnce(&mut Conversation)) -> Conversation {
        self.conversation_of(self.workspace, change).await
    }

    /// Creates a conversation in another workspace.
    pub async fn conversation_of(
        &self,
        workspace: WorkspaceId,
        change: impl FnOnce(&mut Conversation),
    ) -> Conversation {
        self.opened(workspace, vec![], change).await
    }

    /// Creates a conversation that starts with these templates, sent to all customers in it.
    pub async fn onboarded_conversation(
        &self,
        steps: Vec<Requested>,
        change: impl FnOnce(&mut Conversation),
    ) -> Conversation {
        self.opened(self.workspace, steps, change).await
    }

    /// The content of a message of this request, whose template has no text and need not exist.
    pub fn content(Requested { template, parameters }: Requested) -> TemplateContent {
        let (name, language) = ("welcome".to_owned(), "es".to_owned());
        let shown = Shown { name, language, category: None, text: None };
        TemplateContent { template, parameters, files: [].into(), shown }
    }

    async fn opened(
        &self,
        workspace: WorkspaceId,
        steps: Vec<Requested>,
        change: impl FnOnce(&mut Conversation),
    ) -> Conversation {
        let store = self.db.store();
        let customer = self.contact_of(workspace, |_| ()).await;
        let mut conversation = Conversation {
            externals: vec![Self::external(customer.id, "line")],
            ..Conversation::blank(ConversationId::generate(store.ids()), workspace, store.now())
        };
        change(&mut conversation);
        let recipient =
            |external: &External| Recipient { contact: external.contact, channel: external.channel.clone() };
        let plan = (!steps.is_empty()).then(|| OnboardingPlan {
            workspace_id: workspace,
            conversation: conversation.id,
            recipients: conversation.externals.iter().map(recipient).collect(),
            steps: steps.into_iter().map(Self::content).collect(),
            done: 0,
            created_at: conversation.created_at,
        });
        let opening = Opening { conversation, new_contacts: vec![], plan };
        let opened = store.open_conversation(&opening, Duration::ZERO, None, "seed").await;
        assert_eq!(done(opened), Opened::Done);
        opening.conversation
    }

    /// Adds a text message to a conversation, as the API does.
    pub async fn say(&self, conversation: &Conversation, text: &str) -> Message {
        self.message(conversation, Some(text), vec![], |_| ()).await
    }

    /// Adds a message with these files, of which each was sent before. `change` adjusts it before it is stored.
    pub async fn message(
        &self,
        conversation: &Conversation,
        text: Option<&str>,
        files: Vec<Attached>,
        change: impl FnOnce(&mut Draft),
    ) -> Message {
        let store = self.db.store();
        let mut draft = Draft {
            conversation: conversation.id,
            body: text.map(|text| done(MessageBody::parse(text))),
            media: files.iter().map(|file| file.media).collect(),
            broadcast: true,
            reply_to: None,
        };
        change(&mut draft);
        let seq = done(store.last_seq(conversation.workspace_id, conversation.id).await) + 1;
        let message = draft.message(MessageId::generate(store.ids()), conversation, seq, files, store.now());
        self.keep_message(message).await
    }

    /// What a lead creates, from the workspace's first line, and the lead afterwards. `found` is the contact with its number.
    pub async fn opening(&self, lead: &Lead, found: Option<&Contact>) -> (Lead, LeadOpening) {
        let store = self.db.store();
        let (lines, now) = (done(store.lines(lead.workspace_id).await), store.now());
        let template = TemplateId::from_uuid(uuid::Uuid::from_u128(7));
        let content = Self::content(Requested { template, parameters: Parameters::new() });
        let contact = lead.contact_of(found, now);
        let conversation =
            lead.new_conversation(lead.conversation, &contact, (&lines.lines[0], lead.brand.clone()), 1, now);
        let message = lead.message_in(&conversation, &contact, content, 1, now);
        let next = lead.opened_for(contact.id, Some(conversation.id), None, now);
        let contact = Some((found.cloned(), contact));
        (next, LeadOpening { contact, conversation: Some(conversation), message })
    }

    /// Adds a message of a template to a conversation, as the API does.
    pub async fn template_message(&self, conversation: &Conversation, requested: Requested) -> Message {
        let store = self.db.store();
        let seq = done(store.last_seq(conversation.workspace_id, conversation.id).await) + 1;
        let draft = Draft {
            conversation: conversation.id,
            body: None,
            media: vec![],
            broadcast: true,
            reply_to: None,
        };
        let id = MessageId::generate(store.ids());
        let mut message = draft.message(id, conversation, seq, vec![], store.now());
        message.content = Content::Template(Self::content(requested));
        message.parts = message.content.parts_for(&message.recipients);
        self.keep_message(message).await
    }

    async fn keep_message(&self, message: Message) -> Message {
        let store = self.db.store();
        let new = NewMessage { message: &message, first_references: &[], conversation: None, kept: None };
        let taken = store.store_message(&new, FIRST_DUE, &format!("take {}", message.id)).await;
        assert_eq!(done(taken), MessageStored::Done);
        message
    }

    /// Creates an endpoint with one slot that gets all events. `change` adjusts it before it is stored.
    pub async fn endpoint_of(
        &self,
        workspace: WorkspaceId,
        change: impl FnOnce(&mut WebhookEndpoint),
    ) -> WebhookEndpoint {
        let store = self.db.store();
        let mut endpoint = Self::endpoint(workspace, EndpointId::generate(store.ids()));
        endpoint.created_at = store.now();
        change(&mut endpoint);
        self.keep_endpoint(&endpoint, &Self::endpoint_secrets()).await;
        endpoint
    }

    /// Stores an endpoint with these secrets.
    pub async fn keep_endpoint(&self, endpoint: &WebhookEndpoint, secrets: &EndpointSecrets) {
        let (workspace, _) = self.settings(endpoint.workspace_id).await;
        let new = NewEndpoint { endpoint, secrets, by: operator(), kept: None };
        assert_eq!(done(self.db.store().create_endpoint(&workspace, &new).await), EndpointCreated::Done);
    }

    /// An endpoint with one slot that gets all events.
    pub fn endpoint(workspace: WorkspaceId, id: EndpointId) -> WebhookEndpoint {
        WebhookEndpoint {
            id,
            workspace_id: workspace,
            url: done(EndpointUrl::parse("https://hooks.example.com/in", &TrustedReceivers::none())),
            description: None,
            state: EndpointState::Enabled,
            filter: EventFilter::All,
            caps: EndpointCaps::default(),
            slots: 1,
            forgets_before: None,
            failing_since: None,
            created_at: TestClock::START,
            version: 1,
        }
    }

    /// The secrets of the endpoints that this type creates.
    pub fn endpoint_secrets() -> EndpointSecrets {
        EndpointSecrets {
            api_key: done(ReceiverKey::parse("customer-key")),
            signing: SigningSecrets::only(SigningSecret::from_entropy([7; 32])),
        }
    }

    /// A customer in a conversation, reached on this line.
    pub fn external(contact: ContactId, channel: &str) -> External {
        External {
            contact,
            shown: ContactRef::Id(contact),
            channel: done(ChannelId::parse(channel)),
            brand: done(BrandId::parse(Self::BRAND)),
            joined_at: TestClock::START,
            last_seen_at: None,
        }
    }

    /// The app that signs the webhooks in `events/`.
    pub const APP: &str = "1042000000001";
    /// Its secret.
    pub const APP_SECRET: &str = "0123456789abcdef0123456789abcdef";

    /// Creates an app of the provider with the secret and the verify token of the events.
    pub async fn provider_app(db: &TestDb, id: &str, workspace: Option<WorkspaceId>) -> ProviderApp {
        let app = ProviderApp {
            id: done(ProviderAppId::parse(id)),
            workspace,
            secret: Secret::new(Self::APP_SECRET),
            previous: None,
            verify_token: Secret::new("verify-token-0001"),
            created_at: db.store().now(),
            version: 1,
        };
        assert!(done(db.store().create_provider_app(&app).await));
        app
    }

    /// The origin of the page that sends leads, unless a test says otherwise.
    pub const PAGE: &str = "https://www.example.com";
    /// The captcha secret of every capture that this type creates.
    pub const CAPTCHA_SECRET: &str = "captcha-secret";

    /// Sets up lead capture with its captcha secret: enabled, from [`World::PAGE`], with [`World::BRAND`] for leads
    /// that name no brand, and without a template. `change` adjusts it before it is stored.
    pub async fn capture(&self, change: impl FnOnce(&mut Capture)) -> Capture {
        self.capture_of(self.workspace, change).await
    }

    /// Sets up lead capture in another workspace.
    pub async fn capture_of(&self, workspace: WorkspaceId, change: impl FnOnce(&mut Capture)) -> Capture {
        let store = self.db.store();
        let key = CaptureKey::from_entropy([self.entropy.fetch_add(1, Ordering::SeqCst); 6]);
        let mut capture = Capture {
            enabled: true,
            origins: vec![done(WebOrigin::parse(Self::PAGE))],
            brand: Some(done(BrandId::parse(Self::BRAND))),
            has_secret: true,
            ..Capture::new(workspace, key, store.now())
        };
        change(&mut capture);
        let (seen, _) = self.settings(workspace).await;
        let secret = Secret::new(Self::CAPTCHA_SECRET);
        assert!(done(store.save_capture(&seen, (&capture, Some(&secret)), &[], operator()).await));
        capture
    }

    /// Changes the settings of lead capture, whose version must be the next one.
    pub async fn save_capture(&self, next: &Capture) {
        let store = self.db.store();
        let (seen, _) = self.settings(next.workspace_id).await;
        assert!(done(store.save_capture(&seen, (next, None), &[], operator()).await));
    }

    /// Replaces the captcha secret past the service.
    pub fn set_captcha_secret(&self, workspace: WorkspaceId, secret: &str) {
        let row = json!({
            "pk": {"S": format!("{workspace}#K")},
            "sk": {"S": "S"},
            "kind": {"S": "captchaSecret"},
            "sv": {"N": "1"},
            "secret": {"S": secret},
        });
        self.db.put_row(Table::Secrets, &row);
    }

    /// Accepts a lead with this phone number and a captcha token that no other lead uses. `change` adjusts it before it
    /// is stored.
    pub async fn lead(&self, cellphone: &str, change: impl FnOnce(&mut Lead)) -> Lead {
        let store = self.db.store();
        let request = LeadRequest {
            workspace_id: self.workspace,
            capture_key: Secret::new(""),
            cellphone: done(Cellphone::parse(cellphone)),
            name: done(LeadName::read("Ana Pérez")),
            brand: None,
            landing_uri: done(LandingUri::parse("https://www.example.com/spring?utm_source=search")),
            utm: done(Utm::of([("utm_source".to_owned(), "search".to_owned())].into())),
            consent: ConsentClaim::default(),
            captcha: Secret::new("token"),
        };
        let seen = VisitorSeen {
            brand: done(BrandId::parse(Self::BRAND)),
            score: done(Score::from_hundredths(90).ok_or("no score")),
            address: "203.0.113.7",
            user_agent: Some("Browser/1.0"),
        };
        let mut lead = request.accepted(seen, store.ids(), store.now());
        change(&mut lead);
        let accepted = done(store.accept_lead(&lead, &lead.id.to_string(), FIRST_DUE).await);
        assert_eq!(accepted, LeadAccepted::Done);
        lead
    }

    /// Creates a picture that is ready for upload. `change` adjusts it before it is stored.
    pub async fn media(&self, change: impl FnOnce(&mut Media)) -> Media {
        self.media_of(self.workspace, change).await
    }

    /// Creates a picture that is ready for upload in another workspace.
    pub async fn media_of(&self, workspace: WorkspaceId, change: impl FnOnce(&mut Media)) -> Media {
        let store = self.db.store();
        let picture = Declared {
            name: done(FileName::parse("picture.png")),
            file_type: FileType::Image,
            content_type: "image/png",
            digest: done(MediaDigest::parse("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")),
            size: None,
        };
        let mut media = Media::ready(&picture, workspace, store.ids(), store.now());
        change(&mut media);
        let made = store.create_media(std::slice::from_ref(&media), None, "seed").await;
        assert_eq!(done(made), MediaCreated::Done);
        media
    }

    /// A new process of a function of the Integrations API, with the rights of its role and nothing remembered.
    pub fn api(&self, function: ApiFunction) -> Api {
        let metrics = Metrics::kept(self.db.clock().clone()).0;
        Api::new(self.db.store_of(function.value()), metrics, function)
    }

    /// The event in a file of `events/`, with this world's API key and a new request id.
    pub fn event(&self, file: &str) -> GatewayEvent {
        let request_id = self.db.store().ids().next().to_string();
        GatewayEvent::of(file).header("x-api-key", &self.key).request_id(&request_id)
    }
}

fn done<T, E: std::fmt::Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("cannot create the test data: {error:?}"),
    }
}
