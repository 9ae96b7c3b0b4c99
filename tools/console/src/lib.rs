//! The operator's command line, for AWS and for the local stack.
//!
//! ```text
//! console [--json] [--stack S] <noun> <verb> --workspace <id> [...]
//! ```
//!
//! Each noun has one file. A verb reads its arguments, applies the rules of `domain`, calls `store`, and shows the
//! result: one JSON value on standard output with `--json`, otherwise a table for people. Exit status 0 means
//! success, 1 a refusal (one sentence on standard error, or one JSON value), and 2 an invalid command line.

mod arguments;
mod attribute;
mod audit;
mod beside;
mod brand;
mod capture;
mod changed;
mod colour;
mod completions;
mod connect;
mod console;
mod contacts;
mod conversation;
mod cursor_key;
mod delivery;
mod escape;
mod events;
mod export;
mod failure;
mod inbound;
mod irreversible;
mod jobs;
mod key;
mod layout;
mod lead;
mod line;
mod message;
mod moment;
mod onboarding;
mod opt_out;
mod output;
mod paging;
mod person;
mod poll;
mod portal;
mod private;
mod progress;
mod provider;
mod refusal;
mod team;
mod template;
mod unsent;
mod usage;
mod user;
mod view;
mod webhook;
mod workspace;

use std::ffi::OsString;
use std::io::Write;

use clap::{ArgMatches, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use beside::{Beside, KnownStack};
pub use connect::to_stack;
pub use console::{Console, Graph};
pub use output::Terminal;
pub use refusal::Refusal;
pub(crate) use refusal::Result;

use completions::Completions;
use escape::printable;
use failure::Failure;
use output::{Output, Report};

/// The version and, in a release build, the git revision of the checkout from which the console was built.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("CONSOLE_REVISION"), ")");

/// Operate the workspaces of the messaging service: keys, users, contacts, lines, templates, leads, webhooks.
#[derive(Parser)]
#[command(name = "console", version = VERSION, max_term_width = 110)]
struct Cli {
    /// Print one JSON value instead of tables.
    #[arg(long, global = true)]
    json: bool,
    /// The CloudFormation stack [default: the environment variable STACK].
    #[arg(long, global = true)]
    stack: Option<String>,
    /// When tables have colours. `auto`: at a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    #[command(flatten)]
    Noun(Box<Noun>),
    /// Print the completion script of a shell, which needs no stack. bash: `source <(console completions bash)`.
    Completions(Completions),
}

/// Makes the enum of the nouns and runs the verb of each. The comment of a noun is its help.
macro_rules! nouns {
    ($($(#[$attribute:meta])* $noun:ident($module:ident);)*) => {
        #[derive(Subcommand)]
        enum Noun {$(
            $(#[$attribute])*
            #[command(subcommand)]
            $noun($module::Verb),
        )*}

        impl Console {
            async fn carry_out(&self, noun: Noun, output: &mut Output<'_>) -> Result<Report> {
                match noun {$(
                    Noun::$noun(verb) => verb.run(self, output).await,
                )*}
            }
        }
    };
}

nouns! {
    /// Tenants' workspaces.
    Workspace(workspace);
    /// What a tenant may manage by the API and in the portal, and who is signed in there.
    Portal(portal);
    /// API keys.
    Key(key);
    /// The audit log: who changed what.
    Audit(audit);
    /// What happened in a workspace, in numbers.
    Usage(usage);
    /// Internal users (human agents).
    User(user);
    /// Teams of internal users.
    Team(team);
    /// Custom attributes of contacts.
    Attribute(attribute);
    /// Contacts: lists, search, CSV files.
    Contacts(contacts);
    /// Brands in whose names workspaces send messages.
    Brand(brand);
    /// Lines: the messaging provider's numbers from which workspaces send messages.
    Line(line);
    /// The messaging provider's apps, whose webhooks the service accepts.
    Provider(provider);
    /// The messaging provider's webhooks that could not be processed.
    Inbound(inbound);
    /// Message templates, of a workspace or of the platform.
    Template(template);
    /// The templates that open a workspace's conversations.
    Onboarding(onboarding);
    /// Conversations, and the messages that are still to be sent in them.
    Conversation(conversation);
    /// Messages and their progress.
    Message(message);
    /// Lead capture: how a workspace's landing pages send leads.
    Capture(capture);
    /// Leads and what became of them.
    Lead(lead);
    /// Opt-outs: numbers that get no templates, neither as leads nor at the start of a conversation.
    OptOut(opt_out);
    /// What is kept of a person: erase it or export it.
    Person(person);
    /// Customers' webhook endpoints.
    Webhook(webhook);
    /// Deliveries of events to webhook endpoints.
    Delivery(delivery);
    /// Recorded events, and changes whose events were not recorded. (Also: `event`.)
    #[command(alias = "event")]
    Events(events);
    /// The key that seals the cursors of all workspaces.
    CursorKey(cursor_key);
}

/// The nouns, verbs and arguments, as `docs/console.md` lists them.
pub fn command() -> clap::Command {
    let mut command = irreversible::with_flags(Cli::command());
    command.build();
    command
}

/// Executes one command line and returns its exit status. `connect` gets the name given with `--stack`.
pub async fn run(
    command_line: impl IntoIterator<Item = OsString>,
    connect: impl AsyncFnOnce(Option<String>) -> Result<Console>,
    terminal: &mut Terminal,
) -> u8 {
    let line: Vec<OsString> = command_line.into_iter().collect();
    let (cli, matches) = match parse(&line) {
        Ok(parsed) => parsed,
        Err(usage) => return explain(&usage, &line, terminal),
    };
    let is_json = cli.json;
    match execute(cli, &matches, connect, terminal).await {
        Ok(()) => return 0,
        Err(refusal) if is_json => Failure::from(&refusal).write(terminal),
        Err(refusal) => {
            // If standard error is closed, the sentence cannot be reported elsewhere.
            let _ = writeln!(terminal.err, "{}", printable(&refusal.to_string()));
        }
    }
    1
}

fn parse(line: &[OsString]) -> Result<(Cli, ArgMatches), clap::Error> {
    let mut command = template::without_default_workspace(command(), line);
    let matches = command.try_get_matches_from_mut(line)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, matches))
}

/// Prints requested help on standard output (success) and a usage error on standard error.
fn explain(usage: &clap::Error, line: &[OsString], terminal: &mut Terminal) -> u8 {
    if usage.use_stderr() && failure::asks_for_json(line) {
        Failure::from(usage).write(terminal);
    } else {
        let to = if usage.use_stderr() { &mut terminal.err } else { &mut terminal.out };
        let _ = write!(to, "{usage}");
    }
    u8::try_from(usage.exit_code()).unwrap_or(2)
}

async fn execute(
    cli: Cli,
    matches: &ArgMatches,
    connect: impl AsyncFnOnce(Option<String>) -> Result<Console>,
    terminal: &mut Terminal,
) -> Result {
    match cli.what {
        What::Completions(completions) => {
            completions.write(command(), &mut Output::new(cli.json, cli.color, terminal))
        }
        What::Noun(noun) => {
            let console = connect(cli.stack).await?;
            irreversible::confirm(&console, matches, terminal).await?;
            let mut output = Output::new(cli.json, cli.color, terminal);
            // The future is boxed. Otherwise the compiler would build one very deep type from the states of all verbs.
            let report = Box::pin(console.carry_out(*noun, &mut output)).await?;
            output.report(report)
        }
    }
}
