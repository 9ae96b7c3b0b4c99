//! A signing secret is rotated while a receiver verifies requests with third-party libraries in Python and JavaScript.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::stack::{Received, Stack, root};

#[tokio::test]
async fn receivers_with_the_old_or_the_new_secret_verify_during_a_rotation() {
    let stack = Stack::start("rotation", &[]).await;
    let workspace = stack.workspace("Rotation");
    let contact = stack.contact(&workspace, "Ana", "ana@example.com", "+12025550101");
    let webhook = stack.webhook(&workspace, "/ok/rotation", &["contact.updated"]);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let endpoint = text(&webhook["endpointId"]);
    let verb = |verb: &str, more: &[&str]| {
        let command = ["webhook", verb, "--workspace", &workspace.id, "--endpoint", &endpoint];
        stack.console(&[&command[..], more].concat())
    };
    let mut delivered = 0;
    let mut next_delivery = async |name: &str| {
        stack.rename(&workspace, &contact, name).await;
        delivered += 1;
        stack.wait_for("/ok/rotation", delivered).await.remove(delivered - 1)
    };

    let first = text(&webhook["secret"]);
    let request = next_delivery("Bea").await;
    assert_eq!(who_verifies(&request, &[&first]), verdicts(&[true], &[true]));

    let second = text(&verb("rotate", &[])["secret"]);
    let request = next_delivery("Cleo").await;
    let secrets = [first.as_str(), &second];
    assert_eq!(
        who_verifies(&request, &secrets),
        verdicts(&[true, true], &[true, false]),
        "after the rotation started"
    );

    assert_eq!(verb("activate", &[])["activated"], true);
    let request = next_delivery("Dora").await;
    assert_eq!(
        who_verifies(&request, &secrets),
        verdicts(&[true, true], &[false, true]),
        "after the activation"
    );
    assert_eq!(verb("activate", &[])["activated"], false, "a second activation changes nothing");

    let third = text(&verb("rotate", &[])["secret"]);
    let request = next_delivery("Emma").await;
    let secrets = [first.as_str(), &second, &third];
    let three = verdicts(&[true, true, true], &[false, true, false]);
    assert_eq!(who_verifies(&request, &secrets), three, "the first secret still overlaps with the second");

    let fourth = text(&verb("rotate", &["--replace"])["secret"]);
    let request = next_delivery("Fay").await;
    let secrets = [first.as_str(), &second, &third, &fourth];
    let given_up = verdicts(&[true, true, false, true], &[false, true, false, false]);
    assert_eq!(who_verifies(&request, &secrets), given_up, "a replaced next secret does not sign");
}

fn verdicts(standard: &[bool], legacy: &[bool]) -> Value {
    json!({ "standard": standard, "legacy": legacy })
}

/// Whether each secret verifies the request. The libraries of both languages must agree.
fn who_verifies(request: &Received, secrets: &[&str]) -> Value {
    let given = json!({
        "body": STANDARD.encode(&request.body),
        "headers": request.headers,
        "secrets": secrets,
    });
    let folder = root().join("tests/rotation");
    let python = run_verifier(root().join(".venv/bin/python"), &folder.join("verify.py"), &given);
    let javascript = run_verifier("node".into(), &folder.join("verify.js"), &given);
    assert_eq!(python, javascript);
    python
}

fn run_verifier(program: PathBuf, script: &PathBuf, given: &Value) -> Value {
    let mut verifier = Command::new(program)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the verifier starts");
    verifier
        .stdin
        .take()
        .expect("the verifier's input")
        .write_all(given.to_string().as_bytes())
        .expect("the verifier reads its input");
    let output = verifier.wait_with_output().expect("the verifier's output");
    serde_json::from_slice(&output.stdout).expect("the verdicts as JSON")
}
