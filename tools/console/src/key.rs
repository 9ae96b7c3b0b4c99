//! `console key ...`

use clap::{Args, Subcommand};
use domain::access::api_key::{Grant, RateLimit};
use domain::{ApiKey, ApiKeyToken, KeyId, Scope, Scopes};
use serde::Serialize;
use store::Revoked;

use crate::arguments::InWorkspace;
use crate::moment::Moment;
use crate::output::{Output, Shown, or_dash};
use crate::refusal::{Named, unfit};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create an API key. The key is shown only once.
    Create(Create),
    /// List the keys, newest first, without their secret values.
    List(InWorkspace),
    /// Revoke a key. Functions that have cached it refuse it within 30 seconds.
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
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create(wanted) => create(console, &wanted, output).await,
            Self::List(within) => {
                let workspace = console.workspace(within.workspace).await?;
                let keys = console.store.api_keys(workspace.id).await?;
                output.list_as::<KeyView, _>(&keys)
            }
            Self::Revoke { within, key } => revoke(console, &within, key, output).await,
        }
    }
}

async fn create(console: &Console, wanted: &Create, output: &mut Output<'_>) -> Result<(), Refusal> {
    let store = &console.store;
    let workspace = console.workspace(wanted.within.workspace).await?;
    let grant = Grant {
        scopes: Scopes::parse(wanted.scope.iter().map(String::as_str))
            .map_err(unfit("The key cannot be created"))?,
        rate: RateLimit::new(wanted.rate, wanted.burst).map_err(unfit("The key cannot be created"))?,
        expires_at: wanted.expires.map(|expires| expires.ahead(store.now())),
    };
    let id = KeyId::generate(store.ids());
    let key = ApiKey::new(id, workspace.id, &wanted.name, grant, store.now())
        .map_err(unfit("The key cannot be created"))?;
    let token = ApiKeyToken::from_entropy(entropy(console));
    store.create_api_key(&token.sha256_hex(), &key).await?;
    output.one(&NewKeyView { api_key: token.expose().to_owned(), key: KeyView::from(&key) })?;
    output.remark("Save the API key now: only its hash is stored, and it is not shown again.")
}

fn entropy(console: &Console) -> [u64; 8] {
    let mut numbers = [0; 8];
    for number in &mut numbers {
        let mut bytes = [0; 8];
        console.random.fill(&mut bytes);
        *number = u64::from_le_bytes(bytes);
    }
    numbers
}

async fn revoke(
    console: &Console,
    within: &InWorkspace,
    key: KeyId,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let workspace = console.workspace(within.workspace).await?;
    match console.store.revoke_api_key(workspace.id, key).await? {
        Revoked::Done | Revoked::Already => {
            output.one(&RevokedView { key_id: key.to_string(), revoked: true })
        }
        Revoked::Unknown => Err(Named::Key.unknown(key)),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyView {
    key_id: String,
    name: String,
    scopes: Vec<&'static str>,
    rate: u32,
    burst: u32,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
}

impl From<&ApiKey> for KeyView {
    fn from(key: &ApiKey) -> Self {
        Self {
            key_id: key.id.to_string(),
            name: key.name.clone(),
            scopes: key.scopes.names(),
            rate: key.rate.per_second,
            burst: key.rate.burst,
            created_at: key.created_at.to_string(),
            expires_at: key.expires_at.map(|at| at.to_string()),
            revoked_at: key.revoked_at.map(|at| at.to_string()),
        }
    }
}

impl Shown for KeyView {
    const HEADINGS: &'static [&'static str] =
        &["key", "name", "scopes", "rate", "created", "expires", "revoked"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.key_id.clone(),
            self.name.clone(),
            self.scopes.join(" "),
            format!("{}/s, {} at once", self.rate, self.burst),
            self.created_at.clone(),
            or_dash(&self.expires_at),
            or_dash(&self.revoked_at),
        ]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewKeyView {
    api_key: String,
    #[serde(flatten)]
    key: KeyView,
}

impl Shown for NewKeyView {
    const HEADINGS: &'static [&'static str] =
        &["API key", "key", "name", "scopes", "rate", "created", "expires"];

    fn cells(&self) -> Vec<String> {
        std::iter::once(self.api_key.clone()).chain(self.key.cells().into_iter().take(6)).collect()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RevokedView {
    key_id: String,
    revoked: bool,
}

impl Shown for RevokedView {
    const HEADINGS: &'static [&'static str] = &["revoked key"];

    fn cells(&self) -> Vec<String> {
        vec![self.key_id.clone()]
    }
}
