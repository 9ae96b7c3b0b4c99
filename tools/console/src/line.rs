//! `console line ...`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::{BrandId, BusinessAccountId, ChannelId, Line, Lines, Secret, Workspace, WorkspaceId};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, yes_or_no};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a line. The workspace's first line becomes its default; a brand's first line becomes the brand's line.
    Create(Create),
    /// List the lines, oldest first.
    List(InWorkspace),
    /// Make a line the workspace's default line.
    Default(OneLine),
    /// Set a new token for a line. Functions may use the previous token for up to 5 more minutes: revoke it after that.
    Token {
        #[command(flatten)]
        one: OneLine,
        #[command(flatten)]
        token: Token,
    },
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    one: OneLine,
    /// The brand that sends messages from this line.
    #[arg(long, value_name = "ID", value_parser = BrandId::parse)]
    brand: BrandId,
    /// The business account at the provider to which the line belongs.
    #[arg(long, value_name = "ID", value_parser = BusinessAccountId::parse)]
    business_account: BusinessAccountId,
    #[command(flatten)]
    token: Token,
    /// Make it the workspace's default line, even if there is another one.
    #[arg(long = "default")]
    is_default: bool,
}

#[derive(Args)]
pub(crate) struct OneLine {
    #[command(flatten)]
    within: InWorkspace,
    /// The line's id at the provider: WhatsApp's phone number id.
    #[arg(long, value_name = "ID", value_parser = ChannelId::parse)]
    channel: ChannelId,
}

/// A file hides the token. Other users of a machine can see the arguments of a process.
#[derive(Args)]
#[group(id = "the_token", required = true, multiple = false)]
pub(crate) struct Token {
    /// The provider's access token for the line.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// A file that contains only the token; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create(wanted) => create(console, &wanted, output).await,
            Self::List(within) => {
                let (workspace, lines) = read(console, within.workspace).await?;
                let view = |line: &Line| LineView::of(line, &workspace);
                output.list(&lines.lines.iter().map(view).collect::<Vec<_>>())
            }
            Self::Default(one) => make_default(console, &one, output).await,
            Self::Token { one, token } => {
                let (workspace, lines) = read(console, one.within.workspace).await?;
                let line = lines.line(&one.channel).ok_or(Refusal::UnknownLine(one.channel))?;
                let token = token.read(output)?;
                console.store.set_line_token(workspace.id, &line.channel, &token).await?;
                output.one(&LineView::of(line, &workspace))
            }
        }
    }
}

/// Reads the workspace first: an addition after this read changes its version, and the write fails.
async fn read(console: &Console, id: WorkspaceId) -> Result<(Workspace, Lines), Refusal> {
    let workspace = console.workspace(id).await?;
    let lines = console.store.lines(id).await?;
    Ok((workspace, lines))
}

async fn create(console: &Console, wanted: &Create, output: &mut Output<'_>) -> Result<(), Refusal> {
    let store = &console.store;
    let OneLine { within, channel } = &wanted.one;
    let (brand, account) = (wanted.brand.clone(), wanted.business_account.clone());
    let line = Line::new(within.workspace, channel.clone(), brand, account, store.now())
        .map_err(|reason| Refusal::Unfit { what: "The channel is invalid", reason })?;
    let token = wanted.token.read(output)?;
    for _ in 0..TRIES {
        let (workspace, lines) = read(console, within.workspace).await?;
        let brand = lines.admit_line(&line)?;
        let next = workspace.with_line(channel, wanted.is_default);
        if store.create_line(&next, &line, brand.as_ref(), &token).await? {
            return output.one(&LineView::of(&line, &next));
        }
    }
    Err(Refusal::Contended)
}

/// A change without effect succeeds, so you can repeat the command.
async fn make_default(console: &Console, one: &OneLine, output: &mut Output<'_>) -> Result<(), Refusal> {
    for _ in 0..TRIES {
        let (workspace, lines) = read(console, one.within.workspace).await?;
        let unknown = || Refusal::UnknownLine(one.channel.clone());
        let line = lines.line(&one.channel).ok_or_else(unknown)?;
        let Some(next) = workspace.with_default_line(&line.channel) else {
            return output.one(&LineView::of(line, &workspace));
        };
        if console.store.replace_workspace(&next).await? {
            return output.one(&LineView::of(line, &next));
        }
    }
    Err(Refusal::Contended)
}

impl Token {
    fn read(&self, output: &mut Output<'_>) -> Result<Secret, Refusal> {
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => token.clone(),
            (None, Some(file)) => output.read(file)?.trim_end_matches(['\r', '\n']).to_owned(),
            // This does not occur: the command line requires one of the two.
            (None, None) => String::new(),
        };
        Line::token(&text).map_err(|reason| Refusal::Unfit { what: "The token is invalid", reason })
    }
}

/// A line, without its token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineView {
    provider_channel_id: String,
    brand_id: String,
    business_account_id: String,
    is_default: bool,
    created_at: String,
}

impl LineView {
    fn of(line: &Line, workspace: &Workspace) -> Self {
        Self {
            provider_channel_id: line.channel.as_str().to_owned(),
            brand_id: line.brand.as_str().to_owned(),
            business_account_id: line.business_account.as_str().to_owned(),
            is_default: workspace.default_line.as_ref() == Some(&line.channel),
            created_at: line.created_at.to_string(),
        }
    }
}

impl Shown for LineView {
    const HEADINGS: &'static [&'static str] = &["line", "brand", "business account", "default", "created"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.provider_channel_id.clone(),
            self.brand_id.clone(),
            self.business_account_id.clone(),
            yes_or_no(self.is_default),
            self.created_at.clone(),
        ]
    }
}
