//! The programs that must be installed, each with a helpful sentence.

use tokio::process::Command;

use crate::Problem;
use crate::process_group::ProcessGroup;

/// Python checks itself. The exit status says what is missing.
const PYTHON_CHECK: &str = "\
import sys
if sys.version_info < (3, 11): sys.exit(3)
try: import ensurepip, venv
except ImportError: sys.exit(4)
";

pub(crate) async fn check(builds: bool) -> Result<(), Problem> {
    match status("python3", &["-c", PYTHON_CHECK]).await {
        None => return Err(Problem::new("python3 is missing: install Python 3.11 or later.")),
        Some(3) => return Err(Problem::new("python3 is too old: install Python 3.11 or later.")),
        Some(4) => {
            return Err(Problem::new(
                "python3 cannot create virtual environments: install its venv module (Debian: apt install python3-venv).",
            ));
        }
        Some(_) => {}
    }
    if status("strip", &["--version"]).await.is_none() {
        return Err(Problem::new("strip is missing: install binutils (Debian: apt install binutils)."));
    }
    if builds && status("cargo", &["--version"]).await.is_none() {
        return Err(Problem::new("cargo is missing: install Rust with rustup, or give --no-build."));
    }
    Ok(())
}

/// The exit status, or `None` if the program does not exist.
async fn status(program: &str, arguments: &[&str]) -> Option<i32> {
    let mut command = Command::new(program);
    command.args(arguments);
    ProcessGroup::output(&mut command).await.ok()?.status.code()
}
