//! `webhook listen` beside a developer's server, which verifies the requests with the program of the webhooks page.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::stack::{Stack, root};

/// A program and its lines. Dropping it ends the program.
struct Program {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let lines = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_developers_server_verifies_forwarded_events_and_ctrl_c_ends_the_command() {
    let stack = Stack::start("listen", &[]).await;
    let workspace = stack.workspace("Listen");
    let contact = stack.contact(&workspace, "Ana", "ana@example.com", "+12025550101");

    let mut server = Program::start(Command::new("python3").arg(root().join("tests/receivers/serve.py")));
    let url = format!("http://localhost:{}/hook", server.line());
    let listen = ["webhook", "listen", "--workspace", &workspace.id, "--forward-to", &url];
    let script = format!("exec {} --json \"$@\"", stack.text("console"));
    let mut command = Command::new("sh");
    let mut listener = Program::start(command.args(["-c", &script, "console"]).args(listen));
    let hello = listener.json();
    let secret = hello["secret"].as_str().expect("the signing secret");
    writeln!(server.process.stdin.take().expect("its input"), "{secret}")
        .expect("the server reads the secret");

    stack.rename(&workspace, &contact, "Bea").await;
    let first = listener.json();
    assert_eq!((&first["eventType"], &first["status"]), (&json!("contact.updated"), &json!(204)), "{first}");

    // With an endpoint, the same events are delivered under the same ids.
    stack.webhook(&workspace, "/ok/listen", &["contact.updated"]);
    stack.rename(&workspace, &contact, "Cleo").await;
    let second = listener.json();
    let delivered = stack.wait_for("/ok/listen", 1).await.remove(0);
    assert_eq!(second["eventId"], delivered.json["eventId"]);
    assert_eq!(
        (&second["eventType"], &second["status"]),
        (&first["eventType"], &first["status"]),
        "{second}"
    );

    let process = listener.process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().expect("kill runs").success());
    assert!(listener.process.wait().expect("the command ends").success());
    assert_eq!(listener.line(), "", "there must be no further line");
}
