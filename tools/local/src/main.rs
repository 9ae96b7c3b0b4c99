//! `local run`: the command behind `make run`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use local::{Options, Ports};

#[derive(Parser)]
#[command(name = "local", about = "The local stack of this checkout.", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts the stack and runs it until Ctrl-C or SIGTERM, then stops everything that it started.
    Run(RunArguments),
}

#[derive(clap::Args)]
struct RunArguments {
    /// First of the seven ports used, in this order: emulator (APIs), receiver (HTTPS), receiver's ledger, captcha,
    /// provider, landing page, foreign landing page. 0 selects free ports.
    #[arg(long, env = "PORT", default_value_t = Ports::DEFAULT_BASE, value_name = "PORT")]
    port: u16,
    /// The folder of stack.json, the logs and all other files of this run; relative to the checkout.
    #[arg(long, default_value = ".local", value_name = "FOLDER")]
    state_dir: PathBuf,
    /// Name of the CloudFormation stack.
    #[arg(long, default_value = "messaging", value_name = "NAME")]
    stack_name: String,
    /// A parameter of template.yaml, for instance `--param RetrySchedule=1,2`; repeat for several.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// Leaves the stack empty: no workspaces, keys or contacts.
    #[arg(long)]
    no_demo: bool,
    /// Uses the last build of the functions and the console.
    #[arg(long)]
    no_build: bool,
    /// Holds every call of DynamoDB, SQS and S3 against AWS's rules (tests/wire), and prints what AWS would refuse.
    #[arg(long)]
    validate: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Command::Run(run) = CommandLine::parse().command;
    let options = Options {
        base_port: run.port,
        state_dir: run.state_dir,
        stack_name: run.stack_name,
        parameters: run.parameters,
        demo: !run.no_demo,
        build: !run.no_build,
        validate: run.validate,
    };
    match local::run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "\n{problem}");
            ExitCode::FAILURE
        }
    }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
