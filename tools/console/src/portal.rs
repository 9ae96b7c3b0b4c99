//! `console portal ...`

use clap::{Args, Subcommand};
use domain::access::kind::Visitor;
use domain::access::session::portal_url;
use domain::text::operator_name;
use domain::{ApiKey, ApiKeyToken, KeyId, Role, SelfService};
use serde_json::json;
use store::Revoked;

use crate::arguments::{InWorkspace, one_of};
use crate::moment::Moment;
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit};
use crate::view::View;
use crate::workspace::{change, view};
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Let the tenant manage the workspace by the API: with keys that have the scopes `keys:read`, `keys:write`, `audit:read`, `portal:write`,
    /// `webhooks:read`, `webhooks:write`, `deliveries:read`, `deliveries:write`, `events:read`,
    /// `settings:write`, `leads:read`, `leads:write`, `users:write` and `usage:read`, and in the portal.
    ///
    /// It is on in a new workspace. Functions that have the workspace in memory accept these scopes within 30 seconds.
    On(InWorkspace),
    /// Keep the management of the workspace to operators. These scopes, links to the portal and its sessions get 403; keys keep their other scopes.
    ///
    /// Functions that have the workspace in memory refuse these scopes within 30 seconds.
    Off(InWorkspace),
    /// Make a link that signs a person of the tenant in to the portal, once. The link is shown only once.
    Link(MakeLink),
    /// List the sessions of the portal, also those that ended within the last day.
    Sessions(InWorkspace),
    /// End a session of the portal, or all of them. Functions that have it in memory refuse it within 30 seconds.
    SignOut {
        #[command(flatten)]
        within: InWorkspace,
        /// The session's id.
        #[arg(long, value_name = "ID", value_parser = KeyId::parse, required_unless_present = "all")]
        session: Option<KeyId>,
        /// All sessions of the workspace.
        #[arg(long, conflicts_with = "session")]
        all: bool,
    },
}

#[derive(Args)]
pub(crate) struct MakeLink {
    #[command(flatten)]
    within: InWorkspace,
    /// What the person may do. An ADMIN has every scope but `contacts:erase`.
    #[arg(long, value_parser = one_of(Role::NAMES, Role::parse))]
    role: Role,
    /// Who the person is, for lists of sessions and the audit log: an e-mail address, for example.
    #[arg(long, value_parser = operator_name)]
    subject: Option<String>,
    /// Until when the link can be used: a time from now (10m to 24h), or a date-time.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse, default_value = "10m")]
    valid: Moment,
    /// The URL of the stack's Integrations API: the output `ApiUrl` of the stack.
    #[arg(long, value_name = "URL", env = "API_URL")]
    api_url: String,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        match self {
            Self::On(within) => switch(console, &within, SelfService::On).await,
            Self::Off(within) => switch(console, &within, SelfService::Off).await,
            Self::Link(wanted) => link(console, wanted).await,
            Self::Sessions(within) => {
                let workspace = console.workspace(&within).await?;
                let sessions = console.store.sessions(workspace.id).await?;
                Ok(sessions.iter().map(session_view).collect())
            }
            Self::SignOut { within, session, all: _ } => sign_out(console, &within, session).await,
        }
    }
}

async fn switch(console: &Console, within: &InWorkspace, wanted: SelfService) -> Result<Report> {
    let changed = change(console, within, "selfService", |workspace| Ok(workspace.with_self_service(wanted)));
    Ok(view(&changed.await?).into())
}

async fn link(console: &Console, wanted: MakeLink) -> Result<Report> {
    let (store, now) = (&console.store, console.store.now());
    let workspace = console.workspace(&wanted.within).await?;
    let by = console.beside.operator().await?;
    let visitor = Visitor { role: Some(wanted.role), subject: wanted.subject, return_url: None };
    let (id, until) = (KeyId::generate(store.ids()), wanted.valid.ahead(now));
    let link = ApiKey::operators_link(id, workspace.id, visitor, (wanted.role, until), by.actor.clone(), now)
        .map_err(unfit("The link cannot be created"))?;
    let token = ApiKeyToken::from_entropy(console.numbers());
    store.create_link(&token.sha256_hex(), &link, &by).await?;
    let url = portal_url(wanted.api_url.trim_end_matches('/'), workspace.id, &token, true);
    let view = View::new()
        .text("url", "link", url)
        .text("linkId", "id", link.id)
        .text("role", "role", wanted.role.as_str())
        .optional("expiresAt", "expires", link.expires_at);
    Ok(Report::from(view).remark("Send the link now: only its hash is stored, and it is not shown again."))
}

async fn sign_out(console: &Console, within: &InWorkspace, session: Option<KeyId>) -> Result<Report> {
    let workspace = console.workspace(within).await?;
    let by = console.beside.operator().await?;
    let ended = match session {
        None => console.store.end_sessions(workspace.id, None, &by).await?,
        Some(id) => match console.store.end_session(workspace.id, id, &by).await? {
            Revoked::Done => 1,
            Revoked::Already => 0,
            Revoked::Unknown => return Err(Named::Session.unknown(id)),
        },
    };
    Ok(View::new().value("ended", "sessions ended", ended).into())
}

fn session_view(session: &ApiKey) -> View {
    View::new()
        .text("sessionId", "session", session.id)
        .optional("role", "role", session.kind.role().map(Role::as_str))
        .optional("subject", "who", session.kind.subject())
        .text("createdAt", "created", session.created_at)
        .optional("expiresAt", "expires", session.expires_at)
        .optional("revokedAt", "ended", session.revoked_at)
        .json("createdBy", json!({"type": session.created_by.kind(), "id": session.created_by.id()}))
        .cell("created by", format!("{} {}", session.created_by.kind(), session.created_by.id()))
}
