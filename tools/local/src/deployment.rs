//! Deploys the template that AWS gets into the emulator.

use std::process::Stdio;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::Problem;
use crate::checkout::Checkout;
use crate::emulator::client;
use crate::options::Options;
use crate::process_group::ProcessGroup;
use crate::progress::{Progress, Step};
use crate::simulator::{Captcha, Provider, Receiver};

/// The stack's name and its parameters.
pub(crate) struct Deployment {
    stack_name: String,
    parameters: Vec<(String, String)>,
}

/// The URLs of the APIs at the emulator.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Urls {
    pub(crate) api_url: String,
    pub(crate) capture_url: String,
    pub(crate) provider_events_url: String,
}

impl Deployment {
    /// The local stack's parameters. If the command line gives a parameter, that value wins.
    pub(crate) fn of(options: &Options, provider: &Provider, captcha: &Captcha, receiver: &Receiver) -> Self {
        let mut parameters = vec![
            ("Architecture".to_owned(), architecture().to_owned()),
            ("CaptchaUrl".to_owned(), captcha.url()),
            ("GraphUrl".to_owned(), provider.url()),
            // No invocation of a local stack lasts longer.
            ("ErasureSettleSeconds".to_owned(), "20".to_owned()),
            ("TemplateLookSeconds".to_owned(), "5".to_owned()),
            // The emulator repeats only whole batches of stream records.
            ("PartialBatches".to_owned(), "false".to_owned()),
            ("TrustedReceivers".to_owned(), receiver.url()),
            ("SelfServiceTrustedReceivers".to_owned(), "yes".to_owned()),
            ("TrustedCaPem".to_owned(), receiver.ca_pem().to_owned()),
        ];
        parameters.retain(|(name, _)| options.parameters.iter().all(|(given, _)| given != name));
        parameters.extend(options.parameters.iter().cloned());
        Self { stack_name: options.stack_name.clone(), parameters }
    }
}

/// The architecture for which the functions were built: that of this machine.
const fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" }
}

pub(crate) async fn deploy(
    progress: &Progress,
    checkout: &Checkout,
    emulator_url: &str,
    deployment: &Deployment,
) -> Result<Urls, Problem> {
    let step = progress.step("Deploying template.yaml");
    let mut command = command(checkout, emulator_url, deployment);
    let mut group = ProcessGroup::spawn(&mut command)
        .map_err(|error| Problem::of("The deployment cannot start", error))?;
    let (said, printed) = streams(&mut group, &step).await;
    if !group.wait().await.is_ok_and(|status| status.success()) {
        return Err(Problem::new(format!("The template cannot be deployed: {}", said.trim_end())));
    }
    let urls = serde_json::from_str(&printed)
        .map_err(|error| Problem::of("The deployment's outputs cannot be read", error))?;
    step.done();
    Ok(urls)
}

fn command(checkout: &Checkout, emulator_url: &str, deployment: &Deployment) -> Command {
    let mut command = client(checkout, "tools/local/deploy.py");
    command
        .arg("--template")
        .arg(checkout.file("template.yaml"))
        .arg("--binaries")
        .arg(checkout.binaries())
        .arg("--artifacts")
        .arg(checkout.shared("artifacts"))
        .args(["--endpoint", emulator_url, "--stack", &deployment.stack_name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in &deployment.parameters {
        command.arg("--parameter").arg(format!("{name}={value}"));
    }
    command
}

/// Shows the lines of standard error while the program runs. Returns standard error and standard output.
async fn streams(group: &mut ProcessGroup, step: &Step) -> (String, String) {
    let Some(child) = group.child() else { return Default::default() };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let printed = async {
        let mut printed = String::new();
        if let Some(mut stdout) = stdout {
            let _ = stdout.read_to_string(&mut printed).await;
        }
        printed
    };
    let said = async {
        let mut said = String::new();
        if let Some(stderr) = stderr {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                step.note(&line);
                said.push_str(&line);
                said.push('\n');
            }
        }
        said
    };
    futures::join!(said, printed)
}
