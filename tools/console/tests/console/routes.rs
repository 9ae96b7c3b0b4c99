//! Which route of the management API does what a verb of the console does, or why none does.

use std::collections::BTreeSet;

/// What a tenant has in place of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    /// This route below the workspace.
    Route(&'static str),
    /// Nothing: the verb stays with the operator, for this reason.
    Nothing(&'static str),
}

use Has::{Nothing, Route};

const DEPLOYMENT: &str = "about the whole deployment";
const PROVIDER: &str = "about an account at the provider, which the operator holds";
const PERSONS: &str = "about persons: a key that erases is named for it, the rest stays with the operator";

/// Each verb. `opt-out add` is the verb `add` of the noun `opt-out`.
const VERBS: &[(&str, Has)] = &[
    ("attribute add-value", Route("POST /settings/attributes/{attributeId}/values")),
    ("attribute archive", Route("PATCH /settings/attributes/{attributeId}")),
    ("attribute create", Route("POST /settings/attributes")),
    ("attribute list", Route("GET /settings/attributes")),
    ("attribute rename", Route("PATCH /settings/attributes/{attributeId}")),
    ("attribute rename-value", Route("PATCH /settings/attributes/{attributeId}/values/{valueId}")),
    ("attribute unarchive", Route("PATCH /settings/attributes/{attributeId}")),
    ("audit list", Route("GET /audit-log")),
    ("brand create", Nothing(PROVIDER)),
    ("brand delete", Nothing(PROVIDER)),
    ("brand list", Route("GET /settings/brands")),
    ("brand rename", Nothing(PROVIDER)),
    ("capture disable", Route("PATCH /settings/capture")),
    ("capture enable", Route("PATCH /settings/capture")),
    ("capture rotate-key", Route("POST /settings/capture/rotate-key")),
    ("capture set", Route("PATCH /settings/capture")),
    ("capture show", Route("GET /settings/capture")),
    ("completions", Nothing("about the command line")),
    ("contacts export", Route("GET /contacts")),
    ("contacts import", Nothing("imports stay with the operator")),
    ("contacts list", Route("GET /contacts")),
    ("contacts merge", Route("POST /contacts/{contactId}/merge")),
    ("contacts search", Route("GET /contacts")),
    ("contacts show", Route("GET /contacts/{contactId}")),
    ("conversation list", Route("GET /conversations")),
    ("conversation show", Route("GET /conversations/{conversationId}")),
    ("cursor-key rotate", Nothing(DEPLOYMENT)),
    ("delivery list", Route("GET /deliveries")),
    ("delivery replay", Route("POST /webhook-endpoints/{endpointId}/jobs")),
    ("delivery retry", Route("POST /deliveries/{deliveryId}/retry")),
    ("delivery show", Route("GET /deliveries/{deliveryId}")),
    ("events list", Route("GET /events")),
    ("events redrive", Nothing(DEPLOYMENT)),
    ("events show", Route("GET /events/{eventId}")),
    ("inbound delete", Nothing(DEPLOYMENT)),
    ("inbound list", Nothing(DEPLOYMENT)),
    ("inbound redrive", Nothing(DEPLOYMENT)),
    ("inbound show", Nothing(DEPLOYMENT)),
    ("key create", Route("POST /api-keys")),
    ("key list", Route("GET /api-keys")),
    ("key revoke", Route("DELETE /api-keys/{keyId}")),
    ("lead export", Route("GET /leads")),
    ("lead list", Route("GET /leads")),
    ("lead retry", Route("POST /leads/{requestId}/retry")),
    ("lead show", Route("GET /leads/{requestId}")),
    ("line create", Nothing(PROVIDER)),
    ("line default", Nothing(PROVIDER)),
    ("line delete", Nothing(PROVIDER)),
    ("line list", Route("GET /settings/lines")),
    ("line rename", Nothing(PROVIDER)),
    ("line token", Nothing(PROVIDER)),
    ("message list", Route("GET /conversations/{conversationId}/messages")),
    ("message show", Route("GET /messages/{messageId}")),
    ("onboarding set", Route("PUT /settings/onboarding")),
    ("onboarding show", Route("GET /settings/onboarding")),
    ("opt-out add", Route("POST /opt-outs")),
    ("opt-out keywords", Route("GET /settings/opt-out-keywords")),
    ("opt-out list", Route("GET /opt-outs")),
    ("opt-out remove", Route("DELETE /opt-outs/{optOutId}")),
    ("opt-out reset-keywords", Route("DELETE /settings/opt-out-keywords")),
    ("opt-out set-keywords", Route("PUT /settings/opt-out-keywords")),
    ("person erase", Route("POST /contacts/{contactId}/erasure")),
    ("person erasures", Route("GET /erasures/{erasureId}")),
    ("person export", Nothing(PERSONS)),
    ("person verify", Nothing(PERSONS)),
    ("portal link", Route("POST /portal-links")),
    ("portal off", Nothing("the operator's switch")),
    ("portal on", Nothing("the operator's switch")),
    ("portal sessions", Route("GET /sessions")),
    ("portal sign-out", Route("DELETE /sessions/{sessionId}")),
    ("provider create", Nothing(PROVIDER)),
    ("provider delete", Nothing(PROVIDER)),
    ("provider list", Nothing(PROVIDER)),
    ("provider rotate", Nothing(PROVIDER)),
    ("team add", Route("PATCH /teams/{teamId}")),
    ("team create", Route("POST /teams")),
    ("team delete", Route("DELETE /teams/{teamId}")),
    ("team list", Route("GET /teams")),
    ("team remove", Route("PATCH /teams/{teamId}")),
    ("team rename", Route("PATCH /teams/{teamId}")),
    ("template approve", Nothing(PROVIDER)),
    ("template create", Nothing(PROVIDER)),
    ("template delete", Nothing(PROVIDER)),
    ("template list", Route("GET /templates")),
    ("template prune", Nothing(PROVIDER)),
    ("template revoke", Nothing(PROVIDER)),
    ("template set-source", Nothing(PROVIDER)),
    ("template show", Route("GET /templates/{templateId}")),
    ("template sync", Nothing(PROVIDER)),
    ("usage show", Route("GET /usage")),
    ("user create", Route("POST /users")),
    ("user disable", Route("PATCH /users/{userId}")),
    ("user enable", Route("PATCH /users/{userId}")),
    ("user list", Route("GET /users")),
    ("user update", Route("PATCH /users/{userId}")),
    ("webhook activate", Route("POST /webhook-endpoints/{endpointId}/activate-secret")),
    ("webhook cancel", Route("POST /webhook-endpoints/{endpointId}/jobs/{jobId}/cancel")),
    ("webhook create", Route("POST /webhook-endpoints")),
    ("webhook delete", Route("DELETE /webhook-endpoints/{endpointId}")),
    ("webhook disable", Route("POST /webhook-endpoints/{endpointId}/disable")),
    ("webhook enable", Route("POST /webhook-endpoints/{endpointId}/enable")),
    ("webhook list", Route("GET /webhook-endpoints")),
    ("webhook listen", Nothing("forwards events to this machine")),
    ("webhook recover", Route("POST /webhook-endpoints/{endpointId}/jobs")),
    ("webhook rotate", Route("POST /webhook-endpoints/{endpointId}/rotate-secret")),
    ("webhook show", Route("GET /webhook-endpoints/{endpointId}")),
    ("webhook test", Route("POST /webhook-endpoints/{endpointId}/test")),
    ("webhook update", Route("PATCH /webhook-endpoints/{endpointId}")),
    ("workspace create", Nothing(DEPLOYMENT)),
    ("workspace disable", Nothing("the operator's switch")),
    ("workspace enable", Nothing("the operator's switch")),
    ("workspace key-rate", Nothing("the operator's limit")),
    ("workspace list", Nothing(DEPLOYMENT)),
    ("workspace rename", Nothing("the operator names workspaces")),
    ("workspace show", Route("GET /session")),
];

#[test]
fn each_verb_has_a_route_or_a_reason_to_stay_with_the_operator() {
    let mut verbs = BTreeSet::new();
    for noun in console::command().get_subcommands().filter(|noun| noun.get_name() != "help") {
        let name = noun.get_name();
        if !noun.has_subcommands() {
            verbs.insert(name.to_owned());
        }
        let of_noun = noun.get_subcommands().filter(|verb| verb.get_name() != "help");
        verbs.extend(of_noun.map(|verb| format!("{name} {}", verb.get_name())));
    }
    let listed: Vec<String> = VERBS.iter().map(|(verb, _)| (*verb).to_owned()).collect();
    assert_eq!(verbs.into_iter().collect::<Vec<_>>(), listed, "left: the command line, right: this table");
}

#[test]
fn each_route_of_the_table_is_in_the_template() {
    let routes = routes();
    assert!(routes.len() > 50, "the template cannot have been read: {routes:?}");
    for (verb, has) in VERBS {
        match has {
            Route(route) => assert!(routes.contains(*route), "{verb}: the template has no route {route}"),
            Nothing(reason) => assert!(!reason.is_empty(), "{verb}"),
        }
    }
}

/// The routes of the template below a workspace: the method, and the path.
fn routes() -> BTreeSet<String> {
    let template = include_str!("../../../../template.yaml");
    let after = |line: &'static str, name: &str| line.trim().strip_prefix(name);
    let mut routes = BTreeSet::new();
    for (method, path) in template.lines().zip(template.lines().skip(1)) {
        let path = after(path, "Path: /service/api/v1/workspaces/{workspaceId}");
        routes.extend(after(method, "Method: ").zip(path).map(|(method, path)| format!("{method} {path}")));
    }
    routes
}
