//! `console line ...`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::text::operator_name;
use domain::{BrandId, BusinessAccountId, ChannelId, Line, Lines, Secret, Workspace, used_by};
use futures::try_join;
use store::{ConversationQuery, LineCreated, StoreError};

use crate::arguments::{InWorkspace, one, secret_text};
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit, unused};
use crate::view::View;
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a line. A line belongs to one workspace of the deployment. The workspace's first line becomes its default; a brand's first line becomes the brand's line.
    Create(Create),
    /// List the lines, oldest first.
    List(InWorkspace),
    /// Make a line the workspace's default line, or the line from which its brand sends.
    Default {
        #[command(flatten)]
        one: OneLine,
        /// Make it the line from which its brand sends. The workspace's default line stays.
        #[arg(long)]
        of_brand: bool,
    },
    /// Change the name of a line that operators see. Its id at the provider stays.
    Rename {
        #[command(flatten)]
        one: OneLine,
        /// The new name, unique among the workspace's lines.
        #[arg(long)]
        name: String,
    },
    /// Delete a line with its token. Another workspace can create it then.
    ///
    /// Refused if the workspace or the line's brand would have to send from another line: `line default` chooses that line
    /// first, and the last line can be deleted. Also refused while enabled lead capture answers from the line, and
    /// while one of the workspace's newest 100 conversations uses it and is not released. Older conversations are not
    /// looked at: messages in them fail with NO_LINE.
    Delete(OneLine),
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
    /// Name shown to operators, unique among the workspace's lines [default: none].
    #[arg(long)]
    name: Option<String>,
    /// Make it the workspace's default line, even if there is another one.
    #[arg(long = "default")]
    is_default: bool,
}

one!(OneLine {
    /// The line's id at the provider: WhatsApp's phone number id.
    channel: ChannelId = "ID", ChannelId::parse
});

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
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => create(console, &wanted, output).await?.into(),
            Self::List(within) => {
                let (workspace, lines) = lines_of(console, &within).await?;
                lines.lines.iter().map(|line| view(line, &workspace)).collect()
            }
            Self::Default { one, of_brand: false } => one.make_default(console).await?.into(),
            Self::Default { one, of_brand: true } => one.make_brands_line(console).await?.into(),
            Self::Rename { one, name } => one.rename(console, &name).await?.into(),
            Self::Delete(one) => one.delete(console).await?.into(),
            Self::Token { one, token } => {
                let token = token.read(output)?;
                one.set_token(console, &token).await?.into()
            }
        })
    }
}

/// Reads the workspace first: an addition after this read changes its version, and the write fails.
pub(crate) async fn lines_of(console: &Console, within: &InWorkspace) -> Result<(Workspace, Lines)> {
    let workspace = console.workspace(within).await?;
    let lines = console.store.lines(workspace.id).await?;
    let lines = Lines { default: workspace.default_line.clone(), ..lines };
    Ok((workspace, lines))
}

impl OneLine {
    fn of<'a>(&self, lines: &'a Lines) -> Result<&'a Line> {
        Named::Line.found(lines.line(&self.channel), self.channel.as_str())
    }
}

async fn create(console: &Console, wanted: &Create, output: &mut Output<'_>) -> Result<View> {
    let store = &console.store;
    let OneLine { within, channel } = &wanted.one;
    let (brand, account) = (wanted.brand.clone(), wanted.business_account.clone());
    let workspace = console.workspace(within).await?.id;
    let nameless = Line::new(workspace, channel.clone(), brand, account, store.now())
        .map_err(unfit("The channel is invalid"))?;
    let name = wanted.name.as_deref().map(operator_name).transpose().map_err(unfit("The name is invalid"))?;
    let line = Line { name, ..nameless };
    let token = wanted.token.read(output)?;
    let (_, next) = changed(
        async || lines_of(console, within).await,
        |(workspace, lines)| {
            let brand = lines.admit_line(&line)?;
            Ok(Decision::Changed((brand, workspace.with_line(channel, wanted.is_default))))
        },
        async |_, (brand, next)| match store.create_line(next, &line, brand.as_ref(), &token).await? {
            LineCreated::Done => Ok(true),
            LineCreated::Changed => Ok(false),
            LineCreated::OfWorkspace(workspace) => {
                Err(Refusal::LineOfWorkspace { line: channel.clone(), workspace })
            }
        },
    )
    .await?;
    Ok(view(&line, &next))
}

impl OneLine {
    async fn change(
        &self,
        console: &Console,
        change: impl Fn(&Line, &Workspace, &Lines) -> Result<Option<(Line, Workspace)>>,
        write: impl AsyncFn(&Line, &Workspace) -> Result<bool, StoreError>,
    ) -> Result<View> {
        let (line, workspace) = changed(
            async || lines_of(console, &self.within).await,
            |(workspace, lines)| {
                let line = self.of(lines)?;
                let next = change(line, workspace, lines)?;
                Ok(Decision::of(&(line.clone(), workspace.clone()), next))
            },
            async |_, (line, workspace)| write(line, workspace).await,
        )
        .await?;
        Ok(view(&line, &workspace))
    }

    async fn make_default(&self, console: &Console) -> Result<View> {
        let default = |line: &Line, workspace: &Workspace, _: &Lines| {
            Ok(workspace.with_default_line(&line.channel).map(|next| (line.clone(), next)))
        };
        let write = async |_: &_, next: &_| console.store.replace_workspace(next).await;
        self.change(console, default, write).await
    }

    async fn make_brands_line(&self, console: &Console) -> Result<View> {
        let (_, line, workspace) = changed(
            async || lines_of(console, &self.within).await,
            |(workspace, lines)| {
                let line = self.of(lines)?;
                let brand = Named::Brand.found(lines.brand(&line.brand), line.brand.as_str())?;
                let with = |brand| (brand, line.clone(), workspace.clone());
                Ok(match brand.with_line(Some(&line.channel)) {
                    Some(next) => Decision::Changed(with(next)),
                    None => Decision::Unchanged(with(brand.clone())),
                })
            },
            async |_, (brand, _, workspace)| console.store.change_brand(workspace, brand).await,
        )
        .await?;
        Ok(view(&line, &workspace))
    }

    async fn rename(&self, console: &Console, name: &str) -> Result<View> {
        let rename = |line: &Line, workspace: &Workspace, lines: &Lines| {
            let next = line.renamed(name).map_err(unfit("The name is invalid"))?;
            next.iter().try_for_each(|next| lines.check_line_name(next))?;
            Ok(next.map(|next| (next, workspace.clone())))
        };
        let write = async |next: &_, workspace: &_| console.store.rename_line(workspace, next).await;
        self.change(console, rename, write).await
    }

    async fn set_token(&self, console: &Console, token: &Secret) -> Result<View> {
        let set = |line: &Line, workspace: &Workspace, _: &Lines| {
            Ok(Some((line.with_new_token(), workspace.clone())))
        };
        let write = async |next: &_, _: &_| console.store.set_line_token(next, token).await;
        self.change(console, set, write).await
    }

    async fn delete(&self, console: &Console) -> Result<View> {
        let store = &console.store;
        changed(
            async || {
                let (workspace, lines) = lines_of(console, &self.within).await?;
                let (capture, newest) = try_join!(
                    store.capture(workspace.id),
                    store.conversations_page(workspace.id, newest_conversations()),
                )?;
                Ok((workspace, lines, capture, newest.items))
            },
            |(_, lines, capture, newest)| {
                let line = self.of(lines)?;
                unused("line", used_by::of_line(line, lines, capture.as_ref(), newest))?;
                Ok(Decision::Changed(line.clone()))
            },
            async |(workspace, lines, _, _), line| {
                let next = workspace.without_line(&line.channel);
                let sending = lines.brands.iter().find(|brand| brand.line.as_ref() == Some(&line.channel));
                let brand = sending.and_then(|brand| brand.with_line(None));
                let is_of_account = |other: &&Line| other.business_account == line.business_account;
                let is_last = lines.lines.iter().filter(is_of_account).count() == 1;
                store.delete_line(&next, line, brand.as_ref(), is_last).await
            },
        )
        .await?;
        Ok(View::deleted("providerChannelId", self.channel.as_str()))
    }
}

/// One page of conversations with any status, which is one query for each shard.
fn newest_conversations() -> ConversationQuery {
    ConversationQuery { status: None, external: None, internal: None, page_size: 100, after: None }
}

impl Token {
    fn read(&self, output: &mut Output<'_>) -> Result<Secret> {
        let text = secret_text(self.token.as_deref(), self.token_file.as_deref(), output)?;
        // One of the two is required.
        Line::token(&text.unwrap_or_default()).map_err(unfit("The token is invalid"))
    }
}

/// A line, without its token.
fn view(line: &Line, workspace: &Workspace) -> View {
    View::new()
        .text("providerChannelId", "line", line.channel.as_str())
        .optional("name", "name", line.name.as_ref())
        .text("brandId", "brand", line.brand.as_str())
        .text("businessAccountId", "business account", line.business_account.as_str())
        .value("isDefault", "default", workspace.default_line.as_ref() == Some(&line.channel))
        .text("createdAt", "created", line.created_at)
}
