//! The Python environment with the emulator and the AWS command line, inside the checkout.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::Problem;
use crate::checkout::{Checkout, cannot_write};
use crate::process_group::ProcessGroup;
use crate::progress::{Progress, Step};

const REQUIREMENTS: &str = "tools/local/requirements.lock";

/// Installs the requirements, unless this exact list is already installed.
pub(crate) async fn ready(progress: &Progress, checkout: &Checkout) -> Result<(), Problem> {
    let wanted = fs::read_to_string(checkout.file(REQUIREMENTS))
        .map_err(|error| Problem::of(&format!("{REQUIREMENTS} cannot be read"), error))?;
    let _lock = lock(checkout)?;
    // `installed.txt` is written last, so it exists only after a complete installation.
    let installed = checkout.shared("venv/installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let step = progress.step("Installing the emulator into .local/venv (about half a minute, once)");
    let folder = checkout.shared("venv");
    make(&folder).await?;
    install(checkout, &step).await?;
    fs::write(&installed, wanted).map_err(|error| cannot_write(&installed, error))?;
    step.done();
    Ok(())
}

/// Locks the environment. If several stacks of one checkout start at once, the first one installs and the others
/// wait.
fn lock(checkout: &Checkout) -> Result<File, Problem> {
    let path = checkout.shared("venv.lock");
    let file = fs::create_dir_all(checkout.shared(""))
        .and_then(|()| File::create(&path))
        .map_err(|error| cannot_write(&path, error))?;
    file.lock().map_err(|error| Problem::of(&format!("{} cannot be locked", path.display()), error))?;
    Ok(file)
}

async fn make(folder: &Path) -> Result<(), Problem> {
    let mut command = Command::new("python3");
    command.args(["-m", "venv", "--clear"]).arg(folder);
    let output = ProcessGroup::output(&mut command)
        .await
        .map_err(|error| Problem::of("python3 cannot start", error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Problem::of(
        "The virtual environment cannot be created",
        String::from_utf8_lossy(&output.stderr).trim(),
    ))
}

async fn install(checkout: &Checkout, step: &Step) -> Result<(), Problem> {
    let log = checkout.state("logs/pip.log");
    let mut command = Command::new(checkout.venv("python"));
    command
        .args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--progress-bar",
            "off",
            "-r",
        ])
        .arg(checkout.file(REQUIREMENTS))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let mut group =
        ProcessGroup::spawn(&mut command).map_err(|error| Problem::of("pip cannot start", error))?;
    let mut kept = tokio::fs::File::create(&log).await.map_err(|error| cannot_write(&log, error))?;
    if let Some(printed) = group.child().and_then(|child| child.stdout.take()) {
        let mut lines = BufReader::new(printed).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = kept.write_all(format!("{line}\n").as_bytes()).await;
            if line.starts_with("Collecting") || line.starts_with("Installing") {
                step.note(line.split('(').next().unwrap_or_default().trim_end());
            }
        }
    }
    match group.wait().await {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Problem::new(format!(
            "The emulator cannot be installed: see pip's errors above and in {}.",
            log.display()
        ))),
    }
}
