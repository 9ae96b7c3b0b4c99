//! A stack for one test, and functions to use it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::command_line::CommandLine;
use crate::judgement::Judgement;

/// How long a test waits for a condition on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A schedule with short waits, so that a test sees several attempts.
pub(crate) const QUICK_RETRIES: &str = "RetrySchedule=1,1,1,1";

/// A running local stack. It holds all calls of AWS against AWS's rules. When it is dropped, a call that AWS would refuse
/// fails the test.
pub(crate) struct Stack {
    process: Child,
    is_judged: bool,
    /// The content of `stack.json`.
    pub(crate) file: Value,
    folder: PathBuf,
    http: reqwest::Client,
    command_line: OnceLock<Mutex<CommandLine>>,
}

/// A workspace that a test created.
#[derive(Clone)]
pub(crate) struct Workspace {
    pub(crate) id: String,
    pub(crate) key: String,
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) json: Value,
}

/// A request that the receiver got.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) headers: Value,
    pub(crate) body: Vec<u8>,
    pub(crate) json: Value,
}

impl Stack {
    /// Starts a stack without a demo and with these template parameters.
    pub(crate) async fn start(name: &str, parameters: &[&str]) -> Self {
        let mut arguments = vec!["--no-demo"];
        for parameter in parameters {
            arguments.extend(["--param", parameter]);
        }
        Self::start_with(name, &arguments).await
    }

    /// Starts a stack with these arguments of `local run`.
    pub(crate) async fn start_with(name: &str, arguments: &[&str]) -> Self {
        let folder = target().join("stacks").join(name);
        std::fs::create_dir_all(&folder).expect("the stack's folder");
        let binary = target().join("debug/local");
        assert!(
            binary.exists(),
            "{} is missing: build the binaries of the workspace first",
            binary.display()
        );
        let mut process = Command::new(binary)
            .args(["run", "--no-build", "--validate", "--port", "0", "--stack-name", name, "--state-dir"])
            .arg(&folder)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the local stack starts");
        let mut said = String::new();
        for line in BufReader::new(process.stdout.take().expect("its output")).lines() {
            let line = line.expect("a line of its output");
            said.push_str(&line);
            said.push('\n');
            if line.contains("The stack is up.") {
                break;
            }
        }
        let file = std::fs::read_to_string(folder.join("stack.json"))
            .unwrap_or_else(|error| panic!("the stack did not start ({error}). Its output:\n{said}"));
        let file = serde_json::from_str(&file).expect("stack.json is JSON");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (http, command_line) = (reqwest::Client::new(), OnceLock::new());
        Self { process, is_judged: false, file, folder, http, command_line }
    }

    /// Ends the stack. Returns what its validator found, which is then no failure.
    pub(crate) fn end(mut self) -> Judgement {
        self.is_judged = true;
        self.stop();
        Judgement::of(&self.folder)
    }

    fn stop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            terminate(self.process.id());
            let _ = self.process.wait();
        }
    }

    /// The process that ends the rest of the stack when it ends.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// The processes that run a function.
    pub(crate) fn processes_of(&self, function: &str) -> Vec<u32> {
        let name = format!("AWS_LAMBDA_FUNCTION_NAME={}-{function}", self.stack_name());
        let runs_it = |process: &u32| {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == name.as_bytes())
        };
        descendants(self.process_id()).into_iter().filter(runs_it).collect()
    }

    /// A string in `stack.json`.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.file[field].as_str().unwrap_or_else(|| panic!("stack.json has no {field}"))
    }

    /// Writes a file into the folder of this stack. Returns its path.
    pub(crate) fn file_with(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).expect("the file can be written");
        path.to_string_lossy().into_owned()
    }

    /// The logs of the functions and of the emulator so far.
    pub(crate) fn logs(&self) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(self.folder.join("logs")).expect("the folder of logs") {
            let bytes = std::fs::read(entry.expect("a log").path()).expect("the log can be read");
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
        text
    }

    /// The same number within a day: a repeat after a lost response, and a new request.
    pub(crate) fn console(&self, arguments: &[&str]) -> Value {
        let output = self.console_output(arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "console {arguments:?}: {err}");
        serde_json::from_str(&out)
            .unwrap_or_else(|error| panic!("console {arguments:?} printed {out:?}: {error}"))
    }

    /// Runs the console with `--json`, whether it succeeds or not.
    pub(crate) fn console_output(&self, arguments: &[&str]) -> std::process::Output {
        let script = format!("{} --json \"$@\"", self.text("console"));
        Command::new("sh")
            .args(["-c", &script, "console"])
            .args(arguments)
            .output()
            .expect("the console runs")
    }

    /// Creates a workspace with a key that has every scope.
    pub(crate) fn workspace(&self, name: &str) -> Workspace {
        let made = self.console(&["workspace", "create", "--name", name]);
        let id = made["workspaceId"].as_str().expect("workspaceId").to_owned();
        let key = self.key(&id, "*");
        Workspace { id, key }
    }

    /// Creates a key with one scope.
    pub(crate) fn key(&self, workspace: &str, scope: &str) -> String {
        let made =
            self.console(&["key", "create", "--workspace", workspace, "--name", "test", "--scope", scope]);
        made["apiKey"].as_str().expect("apiKey").to_owned()
    }

    /// Imports one contact and returns its id.
    pub(crate) fn contact(
        &self,
        workspace: &Workspace,
        first_name: &str,
        email: &str,
        cellphone: &str,
    ) -> String {
        let csv = self.folder.join(format!("{}-{}.csv", workspace.id, cellphone.trim_start_matches('+')));
        let text = format!("firstName,lastName,email,cellphone\n{first_name},Sample,{email},{cellphone}\n");
        std::fs::write(&csv, text).expect("a CSV file");
        let path = csv.to_string_lossy().into_owned();
        let counts = self.console(&["contacts", "import", "--workspace", &workspace.id, &path]);
        assert_eq!(counts["created"], 1, "{counts}");
        let all = self.console(&["contacts", "export", "--workspace", &workspace.id]);
        let found = all.as_array().expect("a list").iter().find(|contact| contact["email"] == email);
        found.expect("the contact was imported")["id"].as_str().expect("its id").to_owned()
    }

    /// Creates a webhook endpoint at a path of the receiver. Returns the console's output.
    pub(crate) fn webhook(&self, workspace: &Workspace, path: &str, events: &[&str]) -> Value {
        let url = format!("{}{path}", self.text("receiverUrl"));
        let mut arguments = vec![
            "webhook",
            "create",
            "--workspace",
            &workspace.id,
            "--url",
            &url,
            "--api-key",
            "customer-key",
        ];
        for event in events {
            arguments.extend(["--event", event]);
        }
        self.console(&arguments)
    }

    /// Sends a request to the Integrations API. `path` is the part after the workspace id.
    pub(crate) async fn api(
        &self,
        method: Method,
        workspace: &Workspace,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let url = format!("{}/service/api/v1/workspaces/{}{path}", self.text("baseUrl"), workspace.id);
        let request = self.http.request(method, url).header("x-api-key", &workspace.key);
        Self::answer(match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        })
        .await
    }

    /// Sends a request to any URL.
    pub(crate) async fn request(&self, method: Method, url: &str, headers: &[(&str, &str)]) -> Answer {
        let request = self.http.request(method, url);
        Self::answer(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)))
            .await
    }

    /// Sends a prepared request.
    pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let header =
            |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers =
            response.headers().iter().map(|(name, value)| (name.to_string(), header(value))).collect();
        let text = response.text().await.expect("a body");
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status, headers, text, json }
    }

    /// Changes the first name of a contact.
    pub(crate) async fn rename(&self, workspace: &Workspace, contact: &str, first_name: &str) {
        let answer = self
            .api(
                Method::PATCH,
                workspace,
                &format!("/contacts/{contact}"),
                Some(json!({"firstName": first_name})),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// The requests that the receiver got at paths that start with `path`, oldest first.
    pub(crate) async fn received(&self, path: &str) -> Vec<Received> {
        let ledger =
            self.request(Method::GET, &format!("{}/ledger", self.text("receiverLedgerUrl")), &[]).await;
        let entries = ledger.json.as_array().expect("the ledger is a list").clone();
        entries
            .into_iter()
            .filter(|entry| entry["path"].as_str().is_some_and(|known| known.starts_with(path)))
            .map(|entry| {
                let body = STANDARD.decode(entry["body"].as_str().expect("a body")).expect("base64");
                Received {
                    headers: entry["headers"].clone(),
                    json: serde_json::from_slice(&body).unwrap_or(Value::Null),
                    body,
                }
            })
            .collect()
    }

    /// Waits until the receiver got `count` requests at a path.
    pub(crate) async fn wait_for(&self, path: &str, count: usize) -> Vec<Received> {
        self.wait_until(&format!("{count} requests at {path}"), async || {
            let received = self.received(path).await;
            (received.len() >= count).then_some(received)
        })
        .await
    }

    /// Repeats `look` until it returns a value.
    pub(crate) async fn wait_until<T>(&self, what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
        self.wait_longer(Duration::ZERO, what, look).await
    }

    /// The same for something that may begin only after `waits`.
    pub(crate) async fn wait_longer<T>(
        &self,
        waits: Duration,
        what: &str,
        mut look: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + waits + PATIENCE;
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(
                Instant::now() < deadline,
                "timed out waiting for {what}. The end of the logs:\n{}",
                tail(&self.logs())
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until all deliveries of a workspace are in one state. Returns them.
    pub(crate) async fn deliveries_in(&self, workspace: &Workspace, state: &str) -> Vec<Value> {
        self.wait_until(&format!("all deliveries to be {state}"), async || {
            let list = self.console(&["delivery", "list", "--workspace", &workspace.id]);
            let list = list.as_array().expect("a list").clone();
            (!list.is_empty() && list.iter().all(|delivery| delivery["state"] == state)).then_some(list)
        })
        .await
    }

    /// Calls the emulator with the AWS command line interface.
    pub(crate) fn aws(&self, arguments: &[&str]) -> Value {
        let place = ["--endpoint-url", self.text("emulatorUrl"), "--region", self.text("region")];
        let mut command_line = self
            .command_line
            .get_or_init(|| Mutex::new(CommandLine::start(&root())))
            .lock()
            .expect("its turn");
        command_line.run(&[&place[..], &["--output", "json"], arguments].concat())
    }

    /// Invokes the sweeper, as its schedule does every minute.
    pub(crate) fn sweep(&self) {
        self.invoke("sweeper", "events/sweeper.json");
    }

    /// Invokes a function with an event of the repository. Panics if it crashes; returns its answer.
    pub(crate) fn invoke(&self, function: &str, event: &str) -> Value {
        let name = format!("{}-{function}", self.stack_name());
        let event = format!("fileb://{}", root().join(event).display());
        let path = self.folder.join(format!("{function}.json"));
        let answer = path.to_string_lossy();
        let done = self.aws(&["lambda", "invoke", "--function-name", &name, "--payload", &event, &answer]);
        let answer = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(done["FunctionError"].is_null(), "{function}: {answer}");
        serde_json::from_str(&answer).unwrap_or(Value::Null)
    }

    /// The name of the CloudFormation stack, which is the name of the folder.
    pub(crate) fn stack_name(&self) -> String {
        self.folder.file_name().expect("a name").to_string_lossy().into_owned()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.stop();
        // The findings of a test that already fails are in its output.
        if !self.is_judged && !std::thread::panicking() {
            Judgement::of(&self.folder).hold();
        }
    }
}

impl Answer {
    /// The value of a header that occurs once.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => value,
            other => panic!("header {name}: {other:?}"),
        }
    }
}

/// Sends SIGTERM to a process.
pub(crate) fn terminate(process: u32) {
    signal("TERM", process);
}

/// Sends SIGKILL to a process.
pub(crate) fn kill(process: u32) {
    signal("KILL", process);
}

fn signal(name: &str, process: u32) {
    let _ =
        Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).stderr(Stdio::null()).status();
}

/// The children of a process and all their descendants.
pub(crate) fn descendants(of: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .expect("the list of processes")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, parent(id)?)))
        .collect();
    let mut found = vec![];
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|(_, known)| *known == parent).map(|(id, _)| *id);
        parents.extend(children.clone());
        found.extend(children);
    }
    found
}

/// The parent of a running process. The name in `/proc/<id>/stat` may contain any character; state and parent follow
/// it.
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut rest = stat.rsplit(')').next()?.split_whitespace();
    // A zombie has ended, but its parent has not collected it yet.
    (rest.next()? != "Z").then(|| rest.next()?.parse().ok())?
}

/// Whether a process is running.
pub(crate) fn runs(process: u32) -> bool {
    parent(process).is_some()
}

/// The root folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the root folder of the repository")
}

/// The target folder in which this test was built.
fn target() -> PathBuf {
    let test = std::env::current_exe().expect("this test's file");
    test.ancestors().nth(3).expect("target/debug/deps").to_owned()
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
