//! Builds the functions and the console in the development profile.

use std::process::Stdio;

use tokio::process::Command;

use crate::Problem;
use crate::checkout::Checkout;
use crate::process_group::ProcessGroup;
use crate::progress::Progress;

/// Builds every program of the workspace. A build of fewer packages would select fewer features and compile the
/// dependencies a second time. Cargo shows its own progress.
pub(crate) async fn functions_and_console(progress: &Progress, checkout: &Checkout) -> Result<(), Problem> {
    let step = progress.talkative_step("Building the functions and the console");
    let mut command = Command::new("cargo");
    command
        .args(["build", "--locked", "--workspace", "--bins"])
        .current_dir(checkout.root())
        .stdout(Stdio::null());
    let status =
        ProcessGroup::status(&mut command).await.map_err(|error| Problem::of("cargo cannot start", error))?;
    if !status.success() {
        return Err(Problem::new("The functions cannot be built: see cargo's errors above."));
    }
    step.done();
    Ok(())
}
