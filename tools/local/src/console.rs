//! The operator's console with the settings of this stack.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use tokio::process::Command;

use crate::Problem;
use crate::checkout::{Checkout, cannot_write};
use crate::emulator::{ACCESS_KEY, REGION, SECRET_KEY};
use crate::process_group::ProcessGroup;
use crate::simulator::{Provider, Receiver};

/// A script that runs the console with this stack's settings. People and programs use the same script.
pub(crate) struct Console {
    script: PathBuf,
}

impl Console {
    pub(crate) fn of(
        checkout: &Checkout,
        aws_url: &str,
        stack_name: &str,
        receiver: &Receiver,
        provider: &Provider,
        api_url: &str,
    ) -> Result<Self, Problem> {
        let settings = [
            ("AWS_ENDPOINT_URL", aws_url),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
            ("AWS_SDK_UA_APP_ID", "console"),
            ("STACK", stack_name),
            ("TRUSTED_RECEIVERS", &receiver.url()),
            ("GRAPH_URL", &provider.url()),
            ("API_URL", api_url),
        ];
        let mut script = "#!/bin/sh\n# The console of the local stack that runs now.\n".to_owned();
        for (name, value) in settings {
            script.push_str(&format!("export {name}={}\n", quoted(value)));
        }
        script.push_str("unset AWS_PROFILE AWS_SESSION_TOKEN\n");
        let program = checkout.binaries().join("console");
        script.push_str(&format!("exec {} \"$@\"\n", quoted(&program.display().to_string())));

        checkout.write("console", &script)?;
        let path = checkout.state("console");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .map_err(|error| cannot_write(&path, error))?;
        Ok(Self { script: path })
    }

    /// The command as you type it in a shell: the script's path, quoted if necessary.
    pub(crate) fn command_line(&self) -> String {
        let path = self.script.display().to_string();
        if path.contains(|c: char| c.is_whitespace() || c == '\'') { quoted(&path) } else { path }
    }

    /// Runs one command with `--json` and returns the value it prints.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Value, Problem> {
        let mut command = Command::new(&self.script);
        command.arg("--json").args(arguments);
        let what = || format!("The demo cannot be provisioned: console {}", arguments.join(" "));
        let output = ProcessGroup::output(&mut command).await.map_err(|error| Problem::of(&what(), error))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(Problem::of(&what(), reason.trim()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| Problem::of(&what(), error))
    }
}

/// Quotes a text as one word of a shell's command line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_inside_a_word_is_kept() {
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
    }
}
