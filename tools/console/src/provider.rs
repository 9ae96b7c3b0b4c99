//! `console provider ...`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::{ProviderApp, ProviderAppId, Secret};
use serde_json::Value;

use crate::arguments::{WorkspaceRef, secret_text, workspace_ref};
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit};
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create an app: from now on the service accepts webhooks that its secret signs.
    ///
    /// Enter the callback URL and the verify token at the provider, then subscribe the app to the business accounts of
    /// the lines. The callback URL is the stack's output ProviderEventsUrl and the path that this verb prints.
    Create(Create),
    /// List the apps. Secrets are not shown.
    List,
    /// Set a new app secret. The service also accepts signatures of the previous secret for 7 days.
    Rotate {
        #[command(flatten)]
        one: OneApp,
        #[command(flatten)]
        secret: AppSecret,
    },
    /// Delete an app. Within 10 minutes no function accepts its webhooks any more.
    Delete(OneApp),
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    one: OneApp,
    #[command(flatten)]
    secret: AppSecret,
    /// Accept webhooks for the lines of this workspace only. Use it for an app that a tenant owns.
    #[arg(long = "only-workspace", value_name = "ID|NAME", value_parser = workspace_ref)]
    only: Option<WorkspaceRef>,
    /// The verify token, 16 to 128 letters, digits, `_` and `-` [default: a random one].
    #[arg(long, value_name = "TOKEN")]
    verify_token: Option<String>,
}

#[derive(Args)]
pub(crate) struct OneApp {
    /// The app's id at the provider.
    #[arg(long = "app", value_name = "ID", value_parser = ProviderAppId::parse)]
    app: ProviderAppId,
}

/// A file hides the secret. Other users of a machine can see the arguments of a process.
#[derive(Args)]
#[group(id = "the_app_secret", required = true, multiple = false)]
pub(crate) struct AppSecret {
    /// The app secret.
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// A file that contains only the app secret; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => create(console, wanted, output).await?,
            Self::List => console.store.provider_apps().await?.iter().map(view).collect(),
            Self::Rotate { one, secret } => view(&rotate(console, &one, secret.read(output)?).await?).into(),
            Self::Delete(one) => {
                // A repeated command finds no app, and has the requested effect.
                let deleted = console.store.delete_provider_app(&one.app).await?;
                let said = if deleted { "yes" } else { "there is no such app" };
                let view = View::new().text("appId", "app", one.app.as_str());
                view.json("deleted", deleted).cell("deleted", said).into()
            }
        })
    }
}

async fn create(console: &Console, wanted: Create, output: &mut Output<'_>) -> Result<Report> {
    let store = &console.store;
    let only = match &wanted.only {
        Some(named) => Some(console.workspace_named(named).await?.id),
        None => None,
    };
    let verify_token = match &wanted.verify_token {
        Some(token) => ProviderApp::verify_token(token).map_err(unfit("The verify token is invalid"))?,
        None => ProviderApp::new_verify_token(&console.entropy()),
    };
    let app = ProviderApp {
        id: wanted.one.app,
        workspace: only,
        secret: wanted.secret.read(output)?,
        previous: None,
        verify_token,
        created_at: store.now(),
        version: 1,
    };
    let apps = store.provider_apps().await?;
    if apps.iter().any(|existing| existing.id == app.id) {
        return Err(Refusal::AppExists(app.id));
    }
    if apps.len() >= ProviderApp::MAX {
        return Err(Refusal::TooManyApps);
    }
    if !store.create_provider_app(&app).await? {
        return Err(Refusal::AppExists(app.id));
    }
    Ok(Report::from(created_view(&app)).remark("Save the verify token now: it is not shown again."))
}

async fn rotate(console: &Console, one: &OneApp, secret: Secret) -> Result<ProviderApp> {
    let store = &console.store;
    changed(
        async || Ok(store.provider_apps().await?),
        |apps| {
            let seen = apps.iter().find(|app| app.id == one.app);
            let seen = Named::App.found(seen, one.app.as_str())?;
            Ok(Decision::Changed(seen.rotated(secret.clone(), store.now())))
        },
        async |_, next| store.replace_provider_app(next).await,
    )
    .await
}

impl AppSecret {
    fn read(&self, output: &mut Output<'_>) -> Result<Secret> {
        let text = secret_text(self.secret.as_deref(), self.secret_file.as_deref(), output)?;
        // One of the two is required.
        ProviderApp::secret(&text.unwrap_or_default()).map_err(unfit("The app secret is invalid"))
    }
}

fn view(app: &ProviderApp) -> View {
    identity(app)
        .optional(
            "previousSecretUntil",
            "previous secret until",
            app.previous.as_ref().map(|(_, until)| until),
        )
        .text("createdAt", "created", app.created_at)
}

fn created_view(app: &ProviderApp) -> View {
    identity(app)
        .json("previousSecretUntil", Value::Null)
        .json("createdAt", app.created_at.to_string())
        .text("verifyToken", "verify token", app.verify_token.expose())
        .text("path", "path", format!("/api/v1/whatsapp/{}", app.id.as_str()))
}

fn identity(app: &ProviderApp) -> View {
    let workspace = app.workspace.map(|workspace| workspace.to_string());
    View::new()
        .text("appId", "app", app.id.as_str())
        .json("workspaceId", workspace.clone())
        .cell("workspace", workspace.unwrap_or_else(|| "all".to_owned()))
}
