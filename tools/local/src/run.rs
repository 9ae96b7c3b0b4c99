//! The steps of `make run`, in order.

use std::fs::File;
use std::io::Write;

use reference::Deployed;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::checkout::Checkout;
use crate::console::Console;
use crate::deployment::{self, Deployment, Urls};
use crate::emulator::{self, Emulator};
use crate::landing::{Landing, Settings};
use crate::options::Options;
use crate::ports::Ports;
use crate::progress::Progress;
use crate::simulator::{Captcha, Provider, Receiver, SimulatedApp};
use crate::stack_file::{Office, ProviderApp, Sending, StackFile, Work, Workspace, text};
use crate::validator::Validator;
use crate::{Problem, build, demo, prerequisites, provider_app, venv};

/// Starts the stack, prints its summary, and waits for Ctrl-C or SIGTERM. When it returns, everything that it started
/// has ended.
///
/// # Errors
/// If a step fails or the emulator ends by itself.
pub async fn run(options: &Options) -> Result<(), Problem> {
    let told_to_end = end_signal()?;
    // `select!` drops the branch that loses. The drop ends everything that this branch started.
    let outcome = tokio::select! {
        outcome = stand(options) => outcome,
        () = told_to_end => Ok(()),
    };
    if outcome.is_ok() {
        Progress::say("\nThe stack has stopped.");
    }
    outcome
}

async fn stand(options: &Options) -> Result<(), Problem> {
    let progress = Progress::begin();
    let checkout = Checkout::find(&options.state_dir)?;
    let _lock = lock(&checkout)?;
    let files = StackFiles(checkout.clone());
    files.remove();

    prerequisites::check(options.build).await?;
    let ports = Ports::claim(options.base_port)?;
    venv::ready(&progress, &checkout).await?;
    if options.build {
        build::functions_and_console(&progress, &checkout).await?;
    }

    let step = progress.step("Starting the emulator and the simulators");
    let validator =
        if options.validate { Some(Validator::start(&checkout, ports.emulator).await?) } else { None };
    let aws_url = validator.as_ref().map(|validator| validator.url().to_owned());
    let mut emulator = Emulator::start(&checkout, ports.emulator, aws_url).await?;
    // The last of these variables is dropped first: while the validator judges the last calls, the emulator still runs.
    let _validator = validator;
    let receiver = Receiver::start(ports.receiver, ports.receiver_ledger).await.map_err(no_simulator)?;
    let captcha = Captcha::start(ports.captcha).await.map_err(no_simulator)?;
    let provider = Provider::start(ports.provider).await.map_err(no_simulator)?;
    // The landing page starts before the demo, because its address is one of the demo's allowed origins.
    let landing = Landing::start(ports.landing, ports.foreign_landing).await.map_err(no_simulator)?;
    checkout.write("receiver-ca.pem", receiver.ca_pem())?;
    step.done();

    let deployment = Deployment::of(options, &provider, &captcha, &receiver);
    let urls = deployment::deploy(&progress, &checkout, emulator.url(), &deployment).await?;
    let console =
        Console::of(&checkout, emulator.aws_url(), &options.stack_name, &receiver, &provider, &urls.api_url)?;
    let app = connected_app(&console, &provider, &urls).await?;
    let mut workspaces = Vec::new();
    if options.demo {
        workspaces = demo::provision(&progress, &checkout, &console, &receiver, &provider, &landing).await?;
        demo::work(&progress, &mut workspaces, &urls.api_url, &receiver).await?;
        demo::go_wrong(&progress, &mut workspaces, &urls.capture_url, &console, &receiver, &provider).await?;
    }
    open(&landing, &urls, &workspaces);

    let stack = StackFile {
        base_url: urls.api_url,
        capture_url: urls.capture_url,
        emulator_url: emulator.url().to_owned(),
        aws_url: emulator.aws_url().to_owned(),
        region: emulator::REGION.to_owned(),
        captcha_url: captcha.url(),
        provider_url: provider.url(),
        provider_events_url: urls.provider_events_url,
        receiver_url: receiver.url(),
        receiver_ledger_url: receiver.ledger_url(),
        receiver_ca_file: checkout.path_text("receiver-ca.pem"),
        landing_url: landing.url(),
        foreign_landing_url: landing.foreign_url(),
        reference_url: landing.reference_url(),
        console: console.command_line(),
        provider_apps: vec![app],
        workspaces,
    };
    stack.write(&checkout)?;
    progress.finished();
    print(&stack.summary(&checkout));

    emulator.ended().await
}

/// The app whose webhooks the simulated provider posts.
async fn connected_app(console: &Console, provider: &Provider, urls: &Urls) -> Result<ProviderApp, Problem> {
    let app = provider_app::create(console).await?;
    provider.set_app(SimulatedApp {
        app_id: app.app_id.clone(),
        app_secret: app.app_secret.clone(),
        webhook_url: format!("{}/api/v1/whatsapp/{}", urls.provider_events_url, app.app_id),
    });
    Ok(app)
}

/// Lets the landing page send its leads to the first workspace, and the API reference show its ids.
fn open(landing: &Landing, urls: &Urls, workspaces: &[Workspace]) {
    landing.describe(Deployed {
        api_url: urls.api_url.clone(),
        capture_url: urls.capture_url.clone(),
        ids: workspaces.first().map(ids_of_examples).unwrap_or_default(),
    });
    let Some(workspace) = workspaces.first() else { return };
    let capture = &workspace.sending.capture;
    landing.open(Settings {
        capture_url: urls.capture_url.clone(),
        workspace_id: workspace.workspace_id.clone(),
        capture_key: text(capture, "captureKey"),
        brand_id: capture["brandId"].as_str().map(str::to_owned),
        captcha: "simulated",
    });
}

/// Ids in the examples of `openapi.yaml`, each with an id of this workspace.
fn ids_of_examples(workspace: &Workspace) -> Vec<(&'static str, String)> {
    let Office { users, team_id, attributes, contacts, .. } = &workspace.office;
    let made =
        |pick: fn(&Work) -> &Value, field: &str| workspace.work.as_ref().map(|work| text(pick(work), field));
    let attribute = |category: &str| {
        attributes.iter().find(|found| found["category"] == category && found["archived"] == false)
    };
    let Sending { templates, capture, .. } = &workspace.sending;
    let first = |list: &[Value], field: &str| list.first().map(|found| text(found, field));
    let closed = attribute("CLOSED");
    let is_plain = |template: &&Value| template["callerParameters"].as_array().is_some_and(Vec::is_empty);
    let plain = templates.iter().find(is_plain);
    let all = [
        ("3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90", Some(workspace.workspace_id.clone())),
        ("a18eabcd-ae14-4325-9568-1c361b76a862", first(contacts, "id")),
        ("5d7f9b1c-3e5a-4c7d-8f9b-1d3e5f7a9c2b", contacts.last().map(|last| text(last, "id"))),
        ("2f24fcc0-e1da-40d4-a496-7dcd00f4546d", first(users, "id")),
        ("fe11e2ad-b5fe-4e2e-a27b-5e386b841374", Some(team_id.clone())),
        ("0d5fb9d1-2f0e-4f52-9d57-0c1c5f8f6f10", made(|work| &work.conversation, "id")),
        ("5a7d9f0e-41b2-4b3f-9d0e-8c6c7f1e2d3c", made(|work| &work.message, "messageId")),
        ("9c1b1f0a-0d5e-4f43-8a55-6c2c1f1f4b77", made(|work| &work.file, "mediaId")),
        ("6a2d6111-2c1d-4b20-bd86-57b6194c8d0b", first(templates, "templateId")),
        ("8d2e6a4c-1f7b-4c93-a5d0-3b9e7f1c5a28", plain.map(|template| text(template, "templateId"))),
        ("2b6f0c4e-8d1a-5e37-9c5b-7a1d3f5e9b0c", made(|work| &work.erasure, "erasureId")),
        ("ada.okafor@example.com", first(users, "email")),
        ("711f90e5-3baa-43bc-a891-271ec7772b40", attribute("OPEN").map(|open| text(open, "id"))),
        ("1a6d1c0e-5a41-4a39-8f3e-5b1d5f0f7a55", closed.map(|closed| text(closed, "id"))),
        ("5b1f7d52-93cf-4a5d-8d5d-1d3f5a7e9b11", closed.map(|closed| text(&closed["values"][0], "id"))),
        ("lck_xafPsoYw0V1s2O7SQsm7paFZ", Some(text(capture, "captureKey"))),
        ("https://www.example.com", capture["origins"][0].as_str().map(str::to_owned)),
    ];
    all.into_iter().filter_map(|(example, id)| Some((example, id?))).collect()
}

/// Resolves at the first Ctrl-C, SIGTERM or SIGHUP (closed terminal) from now on.
fn end_signal() -> Result<impl Future<Output = ()>, Problem> {
    let listen =
        |kind| signal(kind).map_err(|error| Problem::of("The signal handlers cannot be installed", error));
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut terminated = listen(SignalKind::terminate())?;
    let mut hung_up = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
            _ = hung_up.recv() => {}
        }
    })
}

/// Locks the state folder, because two runs in it would overwrite each other's files.
fn lock(checkout: &Checkout) -> Result<File, Problem> {
    let path = checkout.state("lock");
    let file =
        File::create(&path).map_err(|error| Problem::of("The state folder cannot be written to", error))?;
    file.try_lock().map_err(|_| {
        Problem::new(format!(
            "Another local stack of this checkout is running in {}: stop it, or give --state-dir.",
            checkout.state_text()
        ))
    })?;
    Ok(file)
}

/// The files that describe a running stack. They are removed before the start and at the end.
struct StackFiles(Checkout);

impl StackFiles {
    fn remove(&self) {
        self.0.remove("stack.json");
        self.0.remove("receiver-ca.pem");
        self.0.remove("console");
        let _ = std::fs::remove_dir_all(self.0.state("emulator"));
    }
}

impl Drop for StackFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn no_simulator(error: std::io::Error) -> Problem {
    Problem::of("A simulator cannot start", error)
}
