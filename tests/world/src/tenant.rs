//! A tenant: its settings, and what it knows about its own requests.

use std::cell::RefCell;

use domain::access::api_key::RateLimit;
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    EndpointId, EndpointSecrets, EndpointUrl, TeamId, Template, TemplateCategory, TemplateScope,
    TrustedReceivers, WebhookEndpoint, WorkspaceId,
};
use harness::{GatewayEvent, World};
use serde_json::Value;

use crate::ledger::Ledger;
use crate::random::Random;
use crate::receivers::Receivers;
use crate::rows::text;
use crate::templates::{HELLO, RECEIPT, as_listed};

/// What a tenant's second key permits.
pub(crate) const FLOOD: RateLimit = RateLimit { per_second: 1, burst: 3 };

/// A workspace with a line, an endpoint and a landing page.
pub(crate) struct Tenant {
    pub(crate) number: usize,
    pub(crate) workspace: WorkspaceId,
    key: String,
    /// A key with the rate [`FLOOD`].
    pub(crate) flood_key: String,
    pub(crate) capture_key: String,
    pub(crate) line: String,
    pub(crate) endpoint: EndpointId,
    /// Its templates: one whose category is not known, which counts as marketing, and one that does not advertise.
    pub(crate) templates: [String; 2],
    /// A team of two users.
    pub(crate) team: TeamId,
    /// Whether its endpoint is disabled at times.
    pub(crate) is_switched: bool,
    pub(crate) url: String,
    /// The customers' numbers. Both tenants have the same customers.
    pub(crate) customers: Vec<String>,
    pub(crate) ledger: RefCell<Ledger>,
}

impl Tenant {
    /// The first tenant has the workspace of the fixtures, the second one another.
    pub(crate) async fn new(number: usize, world: &World, receivers: &Receivers, random: &Random) -> Self {
        let (workspace, key) = match number {
            0 => (world.workspace, world.key.clone()),
            _ => world.second_workspace().await,
        };
        let line = Self::line(number);
        world.line_of(workspace, &line, |_| ()).await;
        let scope = TemplateScope::Workspace(workspace);
        let template = world.template_of(scope, |template| as_listed(template, HELLO, None)).await;
        let of_receipt =
            |template: &mut Template| as_listed(template, RECEIPT, Some(TemplateCategory::Utility));
        let receipt = world.template_of(scope, of_receipt).await;
        let capture = world.capture_of(workspace, |capture| capture.template = Some(template.id)).await;
        let url = format!("https://hooks{number}.example.com/in");
        let endpoint = WebhookEndpoint {
            url: EndpointUrl::parse(&url, &TrustedReceivers::none()).expect("a URL"),
            slots: *random.one_of(&[1, 1, 2]),
            created_at: world.db.store().now(),
            ..World::endpoint(workspace, EndpointId::generate(world.db.store().ids()))
        };
        let entropy = [u8::try_from(number + 7).unwrap_or(7); 32];
        let secrets = EndpointSecrets {
            api_key: ReceiverKey::parse(&format!("customer-key-{number}")).expect("a key"),
            signing: SigningSecrets::only(SigningSecret::from_entropy(entropy)),
        };
        world.keep_endpoint(&endpoint, &secrets).await;
        let flood_key = world.key_with(workspace, &["*"], |key| key.rate = FLOOD).await;
        let mut users = vec![];
        for user in 0..2 {
            users.push(world.user_of(workspace, &format!("agent{user}@example.com"), |_| ()).await.id);
        }
        let team = world.team_of(workspace, &users).await.id;
        let is_switched = random.happens(200);
        receivers.add(&url, workspace, secrets, is_switched);
        Self {
            number,
            workspace,
            key,
            flood_key,
            templates: [template.id, receipt.id].map(|id| id.to_string()),
            team,
            capture_key: capture.key.as_str().to_owned(),
            line,
            endpoint: endpoint.id,
            is_switched,
            url,
            customers: (0..random.within(2, 4)).map(|customer| format!("+3460011122{customer}")).collect(),
            ledger: RefCell::default(),
        }
    }

    /// The line of the tenant with this number.
    pub(crate) fn line(number: usize) -> String {
        format!("104555123456{number}")
    }

    /// A request of this tenant, as the file in `events/` without its idempotency key.
    pub(crate) fn event(&self, file: &str) -> GatewayEvent {
        GatewayEvent::of(file)
            .without_header("idempotency-key")
            .header("x-api-key", &self.key)
            .path("workspaceId", self.workspace)
    }
}

/// Whether a row belongs to a tenant.
pub(crate) fn is_of(row: &Value, tenant: &Tenant) -> bool {
    text(&row["pk"]).is_some_and(|pk| pk.starts_with(&tenant.workspace.to_string()))
}
