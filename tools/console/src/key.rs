//! `console key ...`

use clap::{Args, Subcommand};
use domain::access::api_key::{Grant, RateLimit};
use domain::{ApiKey, ApiKeyToken, KeyId, Scope, Scopes, Timestamp};
use serde_json::json;
use store::Revoked;

use crate::arguments::InWorkspace;
use crate::moment::Moment;
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit};
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create an API key. The key is shown only once.
    Create(Create),
    /// List the keys, newest first, without their secret values, with the minute of their last use.
    List(InWorkspace),
    /// Revoke a key and end the sessions of the portal that began with it. Functions that have cached them refuse them within 30
    /// seconds. Lists show the key for 400 days.
    Revoke {
        #[command(flatten)]
        within: InWorkspace,
        /// The key's id.
        #[arg(long, value_name = "ID", value_parser = KeyId::parse)]
        key: KeyId,
    },
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InWorkspace,
    /// Name shown to operators.
    #[arg(long)]
    name: String,
    /// A scope of the key; repeat for several; `*` allows everything.
    #[arg(long, required = true, value_parser = clap::builder::PossibleValuesParser::new(Scope::NAMES))]
    scope: Vec<String>,
    /// When the key expires: a day (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time from now (12h, 90d).
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    expires: Option<Moment>,
    /// The rate limit in requests per second.
    #[arg(long, default_value_t = RateLimit::DEFAULT.per_second)]
    rate: u32,
    /// The burst: how many requests are accepted at once after a pause.
    #[arg(long, default_value_t = RateLimit::DEFAULT.burst)]
    burst: u32,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => create(console, &wanted).await?,
            Self::List(within) => {
                let workspace = console.workspace(&within).await?;
                let keys = console.store.api_keys(workspace.id).await?;
                let ids: Vec<KeyId> = keys.iter().map(|key| key.id).collect();
                let uses = console.store.last_uses(workspace.id, &ids).await?;
                let used = |used: Option<Timestamp>| View::new().optional("lastUsedAt", "last used", used);
                keys.iter().zip(uses).map(|(key, at)| view(key).and(used(at))).collect()
            }
            Self::Revoke { within, key } => revoke(console, &within, key).await?.into(),
        })
    }
}

async fn create(console: &Console, wanted: &Create) -> Result<Report> {
    let store = &console.store;
    let workspace = console.workspace(&wanted.within).await?;
    let grant = Grant {
        scopes: Scopes::parse(wanted.scope.iter().map(String::as_str))
            .map_err(unfit("The key cannot be created"))?,
        rate: RateLimit::new(wanted.rate, wanted.burst).map_err(unfit("The key cannot be created"))?,
        expires_at: wanted.expires.map(|expires| expires.ahead(store.now())),
    };
    let id = KeyId::generate(store.ids());
    let by = console.beside.operator().await?.actor;
    let key = ApiKey::new(id, workspace.id, &wanted.name, grant, by, store.now())
        .map_err(unfit("The key cannot be created"))?;
    let token = ApiKeyToken::from_entropy(console.numbers());
    store.create_api_key(&token.sha256_hex(), &key, None).await?;
    let view = View::new().text("apiKey", "API key", token.expose()).and(view(&key));
    Ok(Report::from(view).remark("Save the API key now: only its hash is stored, and it is not shown again."))
}

async fn revoke(console: &Console, within: &InWorkspace, key: KeyId) -> Result<View> {
    let workspace = console.workspace(within).await?;
    let by = console.beside.operator().await?;
    match console.store.revoke_api_key(workspace.id, key, &by).await? {
        Revoked::Done | Revoked::Already => {
            console.store.end_sessions(workspace.id, Some(key), &by).await?;
            Ok(View::new().text("keyId", "revoked key", key).json("revoked", true))
        }
        Revoked::Unknown => Err(Named::Key.unknown(key)),
    }
}

fn view(key: &ApiKey) -> View {
    View::new()
        .text("keyId", "key", key.id)
        .text("name", "name", &key.name)
        .json("scopes", key.scopes.names())
        .cell("scopes", key.scopes.names().join(" "))
        .json("rate", key.rate.per_second)
        .json("burst", key.rate.burst)
        .cell("rate", format!("{}/s, {} at once", key.rate.per_second, key.rate.burst))
        .text("createdAt", "created", key.created_at)
        .optional("expiresAt", "expires", key.expires_at)
        .optional("revokedAt", "revoked", key.revoked_at)
        .json("createdBy", json!({"type": key.created_by.kind(), "id": key.created_by.id()}))
        .cell("created by", format!("{} {}", key.created_by.kind(), key.created_by.id()))
}
